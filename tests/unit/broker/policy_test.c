/* SPDX-License-Identifier: BSD-3-Clause */
#include "test.h"

#include "policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Reads a policy that says this. @return false: it is wrong, and `why` says so, from the line on.
 */
static bool read_text(const char *text, struct policy *policy, char why[POLICY_WHY_BYTES])
{
    char path[] = "/tmp/beowire-policy-XXXXXX";
    int file = mkstemp(path);

    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    (void)close(file);
    bool right = policy_read(policy, path, why);
    (void)unlink(path);
    if (!right) {
        (void)memmove(why, why + strlen(path) + 2, strlen(why + strlen(path) + 2) + 1);
    }
    return right;
}

static void assert_wrong(const char *text, const char *words)
{
    struct policy policy;
    char why[POLICY_WHY_BYTES];

    assert_false(read_text(text, &policy, why));
    assert_string_equal(why, words);
}

TEST(policy_read__nothing)
{
    struct policy policy;
    char why[POLICY_WHY_BYTES];

    assert_true(read_text("", &policy, why));
    assert_int_equal(policy.group_count, 0);
    assert_int_equal(policy.ethertype, 0x88B5);
    assert_int_equal(policy.endpoints_per_user, 128);
    assert_true(policy_has_interface(&policy, "eth0"));
}

TEST(policy_read__everything)
{
    struct policy policy;
    char why[POLICY_WHY_BYTES];

    assert_true(read_text("# who\n\ngroups = [ \"root\", ] # none else\n"
                          "\tinterfaces=[\"eth0\",\"eth1\"]\n"
                          "ethertype = 0x88b6\nendpoints_per_user = 1",
                          &policy, why));
    assert_int_equal(policy.group_count, 1);
    assert_int_equal(policy.groups[0], 0);
    assert_true(policy_has_interface(&policy, "eth0"));
    assert_true(policy_has_interface(&policy, "eth1"));
    assert_false(policy_has_interface(&policy, "eth"));
    assert_int_equal(policy.ethertype, 0x88B6);
    assert_int_equal(policy.endpoints_per_user, 1);
}

TEST(policy_read__no_interface_in_the_list)
{
    struct policy policy;
    char why[POLICY_WHY_BYTES];

    assert_true(read_text("interfaces = []", &policy, why));
    assert_false(policy_has_interface(&policy, "eth0"));
}

TEST(policy_read__what_is_wrong)
{
    assert_wrong("\nspeed = 3\n", "line 2: no such key");
    assert_wrong("groups \"root\"", "line 1: no = after the key");
    assert_wrong("groups = \"root\"", "line 1: not a list in square brackets");
    assert_wrong("groups = [root]", "line 1: not a string in double quotes");
    assert_wrong("groups = [\"root\" \"root\"]",
                 "line 1: no comma between two strings, or no bracket at the end of the line");
    assert_wrong("groups = [\"root\",\n]", "line 1: not a string in double quotes");
    assert_wrong("groups = [\"no such group\"]", "line 1: there is no such group");
    assert_wrong("interfaces = [\"a name that is too long\"]",
                 "line 1: a string that is empty, too long, or has a backslash or no end");
    assert_wrong("ethertype = 0x5DC", "line 1: not a number, or out of range");
    assert_wrong("ethertype = 0x10000", "line 1: not a number, or out of range");
    assert_wrong("ethertype = 0x0806",
                 "line 1: the EtherType of another protocol: use 0x88B5 or 0x88B6");
    assert_wrong("endpoints_per_user = -1", "line 1: not a number, or out of range");
    assert_wrong("endpoints_per_user = 3 4", "line 1: more than one value");
}

TEST(policy_read__no_file)
{
    struct policy policy;
    char why[POLICY_WHY_BYTES];

    assert_false(policy_read(&policy, "/nowhere/at/all", why));
    assert_string_equal(why, "/nowhere/at/all: No such file or directory");
}

TEST(policy_number__as_many_as_are_allowed)
{
    const struct policy policy = {.endpoints_per_user = 8};

    for (uint32_t which = 0; which < 8; which++) {
        assert_int_not_equal(policy_number(&policy, 1000, which), 0);
        assert_int_equal(policy_number(&policy, 1000, which),
                         policy_number(&policy, 1000, which + 8));
    }
    assert_int_not_equal(policy_number(&policy, 1000, 0), policy_number(&policy, 1001, 0));
}
