/* SPDX-License-Identifier: BSD-3-Clause */
#include "local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>

#include "../engine/testing.h"

static char error[DRIVER_REASON_BYTES];

static struct driver_options options(const char *interface, const char *address)
{
    error[0] = '\0';
    return (struct driver_options){.interface = interface, .local_address = address};
}

TEST(interface__given_by_name_or_address_or_not_at_all)
{
    char name[IF_NAMESIZE];
    struct driver_options given = options("", "");
    assert_int_equal(local_interface(&given, name, error, sizeof error), 0);
    assert_string_equal(name, "lo");
    given = options("lo", "10.77.0.1");
    assert_int_equal(local_interface(&given, name, error, sizeof error), 0);
    assert_string_equal(name, "lo");
    given = options("", "127.0.0.1");
    assert_int_equal(local_interface(&given, name, error, sizeof error), 0);
    assert_string_equal(name, "lo");
}

TEST(interface__that_cannot_be)
{
    char name[IF_NAMESIZE];
    struct driver_options given = options("nonexistent0", "");
    assert_int_equal(local_interface(&given, name, error, sizeof error), -ENODEV);
    assert_non_null(strstr(error, "nonexistent0"));
    given = options("", "192.0.2.1"); /* TEST-NET-1: nobody has it */
    assert_int_equal(local_interface(&given, name, error, sizeof error), -EADDRNOTAVAIL);
    given = options("", "nonsense");
    assert_int_equal(local_interface(&given, name, error, sizeof error), -EINVAL);
}

TEST(interface__no_descriptor_left_is_no_missing_interface)
{
    char name[IF_NAMESIZE];
    struct driver_options given = options("lo", "");
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int status = local_interface(&given, name, error, sizeof error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, -EMFILE);
    assert_non_null(strstr(error, "Too many open files"));
}

TEST(address__given_or_of_the_interface_or_loopback)
{
    struct sockaddr_storage address;
    char text[LOCAL_TEXT_BYTES];
    struct driver_options given = options("", "");
    assert_int_equal(local_address(&given, &address, error, sizeof error), 0);
    assert_int_equal(local_write(&address, text, sizeof text), 0);
    assert_string_equal(text, "127.0.0.1:0");
    given = options("lo", "");
    assert_int_equal(local_address(&given, &address, error, sizeof error), 0);
    assert_int_equal(local_write(&address, text, sizeof text), 0);
    assert_string_equal(text, "127.0.0.1:0");
    given = options("nonexistent0", "fd00::1");
    assert_int_equal(local_address(&given, &address, error, sizeof error), 0);
    assert_int_equal(address.ss_family, AF_INET6);
    given = options("nonexistent0", "");
    assert_true(local_address(&given, &address, error, sizeof error) < 0);
    given = options("", "host.invalid");
    assert_int_equal(local_address(&given, &address, error, sizeof error), -EINVAL);
}

/* Reads `text` as an address of the same family as `here`, and writes it again. */
static int read_again(const char *here_text, const char *text, char *again)
{
    struct sockaddr_storage here;
    struct sockaddr_storage there;
    struct driver_options given = options("", here_text);
    assert_int_equal(local_address(&given, &here, error, sizeof error), 0);
    int result = local_read(text, &here, &there, error, sizeof error);
    if (result == 0) {
        assert_int_equal(local_write(&there, again, LOCAL_TEXT_BYTES), 0);
    }
    return result;
}

TEST(read__what_write_wrote)
{
    char again[LOCAL_TEXT_BYTES];
    assert_int_equal(read_again("127.0.0.1", "10.0.0.1:65535", again), 0);
    assert_string_equal(again, "10.0.0.1:65535");
    assert_int_equal(read_again("::1", "[fd00::2]:1", again), 0);
    assert_string_equal(again, "[fd00::2]:1");
}

TEST(read__link_local_gets_our_zone)
{
    struct sockaddr_storage there;
    struct sockaddr_in6 here = {.sin6_family = AF_INET6, .sin6_scope_id = 7};
    struct sockaddr_storage storage = {0};
    memcpy(&storage, &here, sizeof here);
    assert_int_equal(local_read("[fe80::2]:9", &storage, &there, error, sizeof error), 0);
    assert_int_equal(((struct sockaddr_in6 *)&there)->sin6_scope_id, 7);
    assert_int_equal(local_read("[fd00::2]:9", &storage, &there, error, sizeof error), 0);
    assert_int_equal(((struct sockaddr_in6 *)&there)->sin6_scope_id, 0);
}

TEST(read__what_is_no_address)
{
    static const char *const TEXTS[] = {"",          "1.2.3.4",       "1.2.3.4:",  "1.2.3.4:0",
                                        ":80",       "1.2.3.4:65536", "[::1]:80",  "x:80",
                                        "1.2.3.4:x", "1.2.3.4:-1",    "1.2.3:4:5", "]:80"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        assert_int_equal(read_again("127.0.0.1", TEXTS[i], NULL), -EINVAL);
        assert_true(error[0] != '\0');
    }
}

TEST(write__text_too_short)
{
    struct sockaddr_storage address;
    char text[8];
    struct driver_options given = options("", "127.0.0.1");
    assert_int_equal(local_address(&given, &address, error, sizeof error), 0);
    assert_int_equal(local_write(&address, text, sizeof text), -ENOSPC);
}
