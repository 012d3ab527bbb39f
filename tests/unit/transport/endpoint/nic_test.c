/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/nic.h"

#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void run(const char *command)
{
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): constants */
}

TEST(nic_list__best_first)
{
    static struct nic nics[NIC_MAX];

    run("ip link add plain type veth peer name other && ip link set plain up && "
        "ip link set other up && ip link add down0 type veth peer name down1");
    /* The kernel notices a moment after "up" that a link is running. */
    size_t count = nic_list(nics);
    for (int tries = 0; count < 5 && tries < 10000; tries++) {
        (void)nanosleep(&(const struct timespec){.tv_nsec = 1000000}, NULL);
        count = nic_list(nics);
    }
    assert_int_equal(count, 5);
    /* With IP addresses; without; the loopback. What is down is not there. */
    assert_string_equal(nics[0].name, "end0");
    assert_string_equal(nics[1].name, "end1");
    assert_string_equal(nics[2].name, "other");
    assert_string_equal(nics[3].name, "plain");
    assert_string_equal(nics[4].name, "lo");
    assert_true(nics[0].has_ip);
    assert_false(nics[2].has_ip);
    assert_string_equal(nics[0].network, "10.77.0.0/24");
    assert_string_equal(nics[2].network, "");
    assert_string_equal(nics[4].network, "127.0.0.0/8");
    assert_true(nics[4].loopback);
    assert_int_equal(nics[0].mtu_bytes, 1500);
    assert_memory_not_equal(nics[0].mac, nics[1].mac, sizeof nics[0].mac);
    run("ip link delete plain && ip link delete down0");
}

/** Waits until as many are running, which the kernel notices a moment after "up". */
static void list_all(struct nic nics[NIC_MAX], size_t wanted)
{
    size_t count = 0;

    for (int tries = 0; count < wanted && tries < 10000; tries++) {
        (void)nanosleep(&(const struct timespec){.tv_nsec = 1000000}, NULL);
        count = nic_list(nics);
    }
    assert_int_equal(count, wanted);
}

/** A bridge of containers has an address, and the speed of what is plugged into it; a card, or as
 *  here what shares one, goes before, and so does a cable, which is a container's card. */
TEST(nic_list__what_leaves_the_host_first)
{
    static struct nic nics[NIC_MAX];

    run("ip link add a-bridge type bridge && ip link add port type veth peer name plug && "
        "ip link set port master a-bridge && ip link set port up && ip link set plug up && "
        "ip link set a-bridge up && ip address add 172.17.0.1/16 dev a-bridge && "
        "ip link add z-card link end0 type macvlan && ip link set z-card up && "
        "ip address add 10.78.0.1/24 dev z-card");
    list_all(nics, 7);
    assert_string_equal(nics[0].name, "z-card");
    assert_int_equal(nics[0].kind, NIC_CARD);
    assert_string_equal(nics[1].name, "end0");
    assert_int_equal(nics[1].kind, NIC_CABLE);
    assert_string_equal(nics[3].name, "a-bridge");
    assert_int_equal(nics[3].kind, NIC_INNER);
    /* Over a card it leads out, and has an address like one. */
    run("ip address flush dev z-card && ip link set z-card master a-bridge");
    (void)nic_list(nics);
    assert_string_equal(nics[0].name, "a-bridge");
    assert_int_equal(nics[0].kind, NIC_CARD);
    run("ip link delete z-card && ip link delete port && ip link delete a-bridge");
}

/** What a host has for itself, or may have by the same address as every other, is last. */
TEST(nic_list__tunnels_and_link_local_addresses_last)
{
    static struct nic nics[NIC_MAX];

    if (system("ip link add a-tunnel type vxlan id 5 dstport 4789 local 10.77.0.1 2>&1") != 0) {
        skip(); /* this kernel has none */
    }
    run("ip link add a-usb type veth peer name b-usb && ip link set a-usb up && "
        "ip link set b-usb up && ip address add 169.254.3.1/16 dev a-usb && "
        "ip link set a-tunnel up && ip address add 10.244.0.0/32 dev a-tunnel");
    list_all(nics, 6);
    assert_string_equal(nics[0].name, "end0");
    assert_string_equal(nics[1].name, "end1");
    assert_string_equal(nics[2].name, "a-tunnel");
    assert_int_equal(nics[2].kind, NIC_INNER);
    assert_string_equal(nics[3].name, "a-usb");
    assert_false(nics[3].has_ip);
    assert_string_equal(nics[3].network, "");
    run("ip link delete a-usb && ip link delete a-tunnel");
}

TEST(nic_is_lesser__by_reach_and_not_by_speed)
{
    const struct nic card = {.has_ip = true, .kind = NIC_CARD, .bits_per_s = 1};
    const struct nic faster = {.has_ip = true, .kind = NIC_CARD, .bits_per_s = 2};
    const struct nic inner = {.has_ip = true, .kind = NIC_INNER, .bits_per_s = 3};
    const struct nic bare = {.kind = NIC_CARD, .bits_per_s = 3};
    const struct nic loopback = {.has_ip = true, .loopback = true};

    assert_false(nic_is_lesser(&card, &faster));
    assert_false(nic_is_lesser(&faster, &card));
    assert_true(nic_is_lesser(&inner, &card));
    assert_true(nic_is_lesser(&bare, &inner));
    assert_true(nic_is_lesser(&loopback, &bare));
}

TEST(nic_list__the_cable_is_out)
{
    static struct nic nics[NIC_MAX];

    run("ip link add near type veth peer name far && ip link set near up");
    size_t count = nic_list(nics);
    for (size_t i = 0; i < count; i++) {
        assert_string_not_equal(nics[i].name, "near");
    }
    run("ip link delete near");
}

TEST(nic_list__networks)
{
    static const struct {
        const char *address;
        const char *network;
    } cases[] = {
        {"10.1.2.3/31", ""},
        {"10.1.2.3/32", ""},
        {"10.1.2.3/30", "10.1.2.0/30"},
        {"255.255.255.254/30", "255.255.255.252/30"},
        {"172.17.200.1/16", "172.17.0.0/16"},
    };
    static struct nic nics[NIC_MAX];

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[100];
        (void)snprintf(command, sizeof command, "ip address add %s dev lo", cases[i].address);
        run("ip address flush dev lo");
        run(command);
        size_t count = nic_list(nics);
        assert_string_equal(nics[count - 1].name, "lo");
        assert_true(nics[count - 1].has_ip);
        assert_string_equal(nics[count - 1].network, cases[i].network);
    }
    run("ip address flush dev lo && ip address add 127.0.0.1/8 dev lo && "
        "ip address add ::1/128 dev lo");
}

TEST(nic_is_meant__by_name_and_address)
{
    const struct nic nic = {.name = "end1"};

    assert_true(nic_is_meant(&nic, "end1", true));
    assert_true(nic_is_meant(&nic, "10.77.0.2", true));
    assert_false(nic_is_meant(&nic, "10.77.0.1", true));
    assert_false(nic_is_meant(&nic, "end0", true));
    assert_false(nic_is_meant(&nic, "localhost", true));
    assert_true(nic_is_meant(&(const struct nic){.name = "lo"}, "127.0.0.1", true));
    assert_true(nic_is_meant(&(const struct nic){.name = "lo"}, "::1", true));
}

TEST(nic_list__no_descriptor_left)
{
    static struct nic nics[NIC_MAX];
    struct rlimit before;
    int next = dup(0);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (rlim_t room = 0; room < 2; room++) { /* for one socket, but not for that of getifaddrs() */
        struct rlimit few = {.rlim_cur = (rlim_t)next + 1 + room, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        errno = 0;
        size_t count = nic_list(nics);
        int error = errno;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(count, 0);
        assert_int_equal(error, EMFILE);
    }
    assert_int_equal(close(next), 0);
    assert_true(nic_list(nics) > 0);
    assert_int_equal(errno, 0);
}

TEST(nic_is_needed__not_by_lanes_of_the_host)
{
    assert_false(nic_is_needed("shm"));
    assert_false(nic_is_needed("tipc"));
    assert_false(nic_is_needed("shm,tipc"));
    assert_true(nic_is_needed(NULL)); /* all lanes */
    assert_true(nic_is_needed("shm,udp"));
    assert_true(nic_is_needed("shn")); /* none: whoever opens will hear of it */
    assert_true(nic_is_needed(""));
}
