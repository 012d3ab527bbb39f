/* SPDX-License-Identifier: BSD-3-Clause */
#include "interfaces.h"

#include "libfabric.h"
#include "namespace.h"
#include "unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct libfabric libfabric;
struct fi_provider fabric_provider;

static void run(const char *command)
{
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): constants */
}

static const struct nic some[] = {
    {.name = "eth0", .has_ip = true},
    {.name = "eth1", .has_ip = true},
    {.name = "docker0", .has_ip = true, .kind = NIC_INNER},
    {.name = "eth2"},
    {.name = "lo", .has_ip = true, .loopback = true},
};

/** Which of them are offered, as bits. */
static unsigned offered(const char *names, bool named)
{
    const struct parameters parameters = {.interfaces = names};
    unsigned bits = 0;

    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        bits |= (unsigned)interfaces_offer(&parameters, some, sizeof some / sizeof *some, i, named)
                << i;
    }
    return bits;
}

TEST(interfaces_offer__as_good_as_the_best)
{
    const struct parameters parameters = {.interfaces = NULL};

    assert_int_equal(offered(NULL, false), 3);
    assert_int_equal(offered(NULL, true), 31);
    /* What there is, if there is nothing better. */
    assert_true(interfaces_offer(&parameters, some + 2, 3, 0, false));
    assert_false(interfaces_offer(&parameters, some + 2, 3, 1, false));
    assert_true(interfaces_offer(&parameters, some + 4, 1, 0, false));
}

TEST(interfaces_offer__those_that_the_user_names)
{
    assert_int_equal(offered("docker0,eth1", false), 6);
    assert_int_equal(offered("lo", true), 16);
    assert_int_equal(offered("wlan0", true), 0);
}

/** What an endpoint of a domain uses, if the user names these interfaces. */
static const char *used(const char *interface, const char *names)
{
    static char list[INTERFACES_BYTES];
    const struct parameters parameters = {.interfaces = names};

    interfaces_of_endpoint(&parameters, interface, list);
    return list;
}

TEST(interfaces_of_endpoint__another_one_beside_it)
{
    assert_string_equal(used("end0", NULL), "end0,end1");
    assert_string_equal(used("end1", NULL), "end1,end0");
    assert_string_equal(used("end1", "end1"), "end1");
    assert_string_equal(used("lo", NULL), "lo");
    assert_string_equal(used("lo", "lo,end0"), "lo");
    assert_string_equal(used("no-such", NULL), "no-such");
}

TEST(interfaces_of_endpoint__none_that_only_this_host_knows)
{
    run("ip link add docker0 type bridge && ip link add port type veth peer name plug && "
        "ip link set port master docker0 && ip link set port up && ip link set plug up && "
        "ip link set docker0 up && ip address add 172.17.0.1/16 dev docker0");
    namespace_wait_until_running("docker0");
    assert_string_equal(used("end0", NULL), "end0,end1");
    assert_string_equal(used("docker0", NULL), "docker0"); /* the program has asked for it */
    assert_string_equal(used("docker0", "docker0,end1"), "docker0,end1");
    assert_string_equal(used("end1", "docker0,end1"), "end1,docker0");
    run("ip link delete docker0 && ip link delete port");
}

/** Frames of a connection are as long as all of its ways can carry. */
TEST(interfaces_of_endpoint__none_with_shorter_frames)
{
    run("ip link set end1 mtu 1400");
    assert_string_equal(used("end0", NULL), "end0");
    assert_string_equal(used("end1", NULL), "end1,end0");
    run("ip link set end1 mtu 1500");
}
