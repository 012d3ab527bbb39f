/* SPDX-License-Identifier: BSD-3-Clause */
/* Who gets a shortcut, and that nobody can tell: what is sent, what comes, and what goes wrong. */
#include "udp_pair.h"

#include "lane/udp/udp_internal.h"

#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>

/** @return the socket of the shortcut to an address, or -1. */
static int shortcut_to(struct lane *lane, const struct lane_address *to)
{
    const struct udp_lane *udp = udp_of(lane);

    for (unsigned i = 0; i < UDP_SHORTCUTS; i++) {
        if (memcmp(&udp->shortcuts[i].to, to, sizeof *to) == 0) {
            return udp->shortcuts[i].socket;
        }
    }
    return -1;
}

static unsigned shortcuts_of(struct lane *lane)
{
    unsigned count = 0;

    for (unsigned i = 0; i < UDP_SHORTCUTS; i++) {
        count += udp_of(lane)->shortcuts[i].socket >= 0;
    }
    return count;
}

/** The next send to an address opens its shortcut, however long it was to wait. */
static void open_at_next_send(struct lane *lane, const struct lane_address *to)
{
    struct udp_lane *udp = udp_of(lane);

    for (unsigned i = 0; i < UDP_SHORTCUTS; i++) {
        if (memcmp(&udp->shortcuts[i].to, to, sizeof *to) == 0) {
            udp->shortcuts[i].wait = 1;
        }
    }
}

static void send_one(struct lane *from, struct lane *to, const struct lane_address *at_from,
                     const struct lane_address *at_to)
{
    add_frame(&outbox, DATA, 1, 0, 100);
    send_outbox(&outbox, from, at_to);
    receive_all(to, incoming, 1);
    check_frame(&incoming[0], DATA, 1, 0, 100);
    assert_memory_equal(&incoming[0].from, at_from, sizeof *at_from);
    to->operations->release(to);
}

/** As many as it takes to get a shortcut, if that is possible. */
static void send_much(struct lane *from, struct lane *to, const struct lane_address *at_from,
                      const struct lane_address *at_to)
{
    for (unsigned i = 0; i < UDP_SHORTCUT_SENDS; i++) {
        send_one(from, to, at_from, at_to);
    }
}

/** A pair, and a shortcut from the one end to the other. */
static struct udp_pair open_short(void)
{
    struct udp_pair pair = open_pair();

    send_much(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_true(shortcut_to(pair.a, &pair.at_b) >= 0);
    return pair;
}

/** A socket is of the namespace in which it is opened. */
static void send_much_back(struct udp_pair *pair)
{
    namespace_go(far);
    send_much(pair->b, pair->a, &pair->at_b, &pair->at_a);
    namespace_go(here);
    assert_true(shortcut_to(pair->b, &pair->at_a) >= 0);
}

static unsigned open_files(void)
{
    unsigned count = 0;
    DIR *files = opendir("/proc/self/fd");

    assert_non_null(files);
    while (readdir(files) != NULL) {
        count++;
    }
    closedir(files);
    return count;
}

PAIR_TEST(udp_shortcut__for_who_is_sent_to_much)
{
    for (unsigned i = 1; i < UDP_SHORTCUT_SENDS; i++) {
        send_one(pair.a, pair.b, &pair.at_a, &pair.at_b);
        assert_int_equal(shortcut_to(pair.a, &pair.at_b), -1);
    }
    send_one(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_true(shortcut_to(pair.a, &pair.at_b) >= 0);
}

PAIR_TEST_OF(open_short, udp_shortcut__both_ends_have_one)
{
    send_much_back(&pair);
    for (unsigned round = 0; round < 20; round++) {
        exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
        exchange(pair.b, pair.a, &pair.at_b, &pair.at_a);
    }
    assert_true(shortcut_to(pair.a, &pair.at_b) >= 0);
    assert_true(shortcut_to(pair.b, &pair.at_a) >= 0);
}

/** Not even what is sent to all hosts, from the address and port that it is connected to. */
PAIR_TEST_OF(open_short, udp_shortcut__nothing_comes_to_it)
{
    static const uint32_t everybody[] = {0xE0000000, 0xE0000001, 0xFFFFFFFF, 0x0A4D00FF};
    int socket_b = pair.b->operations->descriptor(pair.b);
    struct ip_mreqn through = {.imr_ifindex = (int)udp_of(pair.b)->index};
    struct sockaddr_in to = {.sin_family = AF_INET};
    int on = 1;
    char byte = 0;

    memcpy(&to.sin_port, pair.at_a.bytes + 16, sizeof to.sin_port);
    assert_int_equal(setsockopt(socket_b, SOL_IP, IP_MULTICAST_IF, &through, sizeof through), 0);
    assert_int_equal(setsockopt(socket_b, SOL_SOCKET, SO_BROADCAST, &on, sizeof on), 0);
    for (unsigned i = 0; i < sizeof everybody / sizeof *everybody; i++) {
        to.sin_addr.s_addr = htonl(everybody[i]);
        assert_int_equal(sendto(socket_b, &byte, 1, 0, (struct sockaddr *)(void *)&to, sizeof to),
                         1);
    }
    assert_int_equal(recv(shortcut_to(pair.a, &pair.at_b), &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
}

TEST(udp_shortcut__over_ipv6)
{
    struct lane_loss lost;

    switch_to_ipv6(true);
    struct udp_pair pair = open_short();
    send_much_back(&pair);
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    close_lane(pair.b);
    add_frame(&outbox, DATA, 1, 0, 100);
    send_outbox(&outbox, pair.a, &pair.at_b);
    assert_int_equal(pair.a->operations->receive(pair.a, incoming, 1), 0);
    assert_true(pair.a->operations->lost(pair.a, &lost));
    assert_memory_equal(&lost.address, &pair.at_b, sizeof lost.address);
    close_lane(pair.a);
    switch_to_ipv6(false);
}

PAIR_TEST_OF(open_short, udp_shortcut__several_trains_in_a_call)
{
    uint64_t calls = pair.a->sent_calls;

    for (unsigned i = 0; i < 30; i++) {
        add_frame(&outbox, DATA, 1, i, 100 + i / 10);
    }
    send_outbox(&outbox, pair.a, &pair.at_b);
    receive_all(pair.b, incoming, 30);
    for (unsigned i = 0; i < 30; i++) {
        check_frame(&incoming[i], DATA, 1, i, 100 + i / 10);
    }
    pair.b->operations->release(pair.b);
    assert_int_equal(pair.a->sent_calls, calls + 1);
}

TEST(udp_shortcut__within_a_host)
{
    for (unsigned i = 0; i < 2; i++) {
        const char *interface = i == 0 ? "end0" : "lo";
        struct lane *a = open_udp(here, interface, 0);
        struct lane *b = open_udp(here, interface, 0);
        struct lane_address at_a = address_of(a, b);
        struct lane_address at_b = address_of(b, a);
        send_much(a, b, &at_a, &at_b);
        send_much(b, a, &at_b, &at_a);
        assert_true(shortcut_to(a, &at_b) >= 0);
        exchange(a, b, &at_a, &at_b);
        close_lane(a);
        close_lane(b);
    }
}

/** Its route leads elsewhere than through our interface, and from another address. */
TEST(udp_shortcut__none_to_another_interface_of_this_host)
{
    IP("link", "add", "two0", "type", "veth", "peer", "name", "two1");
    IP("address", "add", "10.77.0.3/24", "dev", "two0");
    IP("link", "set", "two0", "up");
    IP("link", "set", "two1", "up");
    struct udp_pair pair = open_short();
    struct lane *other = open_udp(here, "two0", 0);
    struct lane_address at_other = address_of(other, pair.a);
    struct lane_address at_a = address_of(pair.a, other);
    send_much(pair.a, other, &at_a, &at_other);
    assert_int_equal(shortcut_to(pair.a, &at_other), -1);
    for (unsigned round = 0; round < 3; round++) {
        exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
        exchange(pair.a, other, &at_a, &at_other);
    }
    /* What comes after a shortcut that has failed is pinned to our interface again. */
    udp_shortcut_give_up(udp_of(pair.a), &pair.at_b);
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    close_lane(other);
    close_pair(&pair);
    IP("link", "del", "two0");
}

/** Two interfaces on one network, of which the routes prefer the first. */
TEST(udp_shortcut__leaves_through_its_own_interface)
{
    IP("link", "add", "two0", "type", "veth", "peer", "name", "two1");
    IP("address", "add", "10.77.0.3/24", "dev", "two0");
    IP("link", "set", "two0", "up");
    IP("link", "set", "two1", "up");
    struct udp_pair pair = open_short();
    struct lane *second = open_udp(here, "two0", 0);
    for (unsigned i = 0; i <= UDP_SHORTCUT_SENDS; i++) {
        add_frame(&outbox, DATA, 1, 0, 100);
        send_outbox(&outbox, second, &pair.at_b);
    }
    assert_true(shortcut_to(second, &pair.at_b) >= 0);
    /* None of it came to the far end of the first. */
    send_one(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_int_equal(pair.b->operations->receive(pair.b, incoming, 1), 0);
    close_lane(second);
    close_pair(&pair);
    IP("link", "del", "two0");
}

PAIR_TEST(udp_shortcut__none_if_the_route_prefers_another_address)
{
    IP("address", "add", "10.77.0.9/24", "dev", "end0");
    IP("route", "add", "10.77.0.2/32", "dev", "end0", "src", "10.77.0.9");
    send_much(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_int_equal(shortcut_to(pair.a, &pair.at_b), -1);
    IP("route", "del", "10.77.0.2/32", "dev", "end0");
    /* One that is there keeps its address. */
    open_at_next_send(pair.a, &pair.at_b);
    send_one(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_true(shortcut_to(pair.a, &pair.at_b) >= 0);
    IP("route", "add", "10.77.0.2/32", "dev", "end0", "src", "10.77.0.9");
    send_one(pair.a, pair.b, &pair.at_a, &pair.at_b);
    IP("route", "del", "10.77.0.2/32", "dev", "end0");
    IP("address", "del", "10.77.0.9/24", "dev", "end0");
}

TEST(udp_shortcut__more_peers_than_shortcuts)
{
    enum { PEERS = UDP_SHORTCUTS + 3 };
    unsigned files = open_files();
    struct lane *a = open_udp(here, "end0", 0);
    struct lane *peers[PEERS];
    struct lane_address at[PEERS];

    for (unsigned i = 0; i < PEERS; i++) {
        peers[i] = open_udp(far, "end1", 0);
        at[i] = address_of(peers[i], a);
        struct lane_address at_a = address_of(a, peers[i]);
        send_much(a, peers[i], &at_a, &at[i]);
        assert_true(shortcut_to(a, &at[i]) >= 0);
        /* The first is used all the time, so it is never the oldest. */
        send_one(a, peers[0], &at_a, &at[0]);
        assert_true(shortcut_to(a, &at[0]) >= 0);
    }
    assert_int_equal(shortcuts_of(a), UDP_SHORTCUTS);
    assert_int_equal(shortcut_to(a, &at[1]), -1);
    assert_int_equal(shortcut_to(a, &at[3]), -1);
    assert_true(shortcut_to(a, &at[4]) >= 0);
    for (unsigned i = 0; i < 3 * PEERS; i++) {
        struct lane_address at_a = address_of(a, peers[i % PEERS]);
        exchange(a, peers[i % PEERS], &at_a, &at[i % PEERS]);
    }
    /* More peers in turns than are counted: none is sent to so much that it pays. */
    assert_int_equal(shortcuts_of(a), 0);
    for (unsigned i = 0; i < PEERS; i++) {
        close_lane(peers[i]);
    }
    close_lane(a);
    assert_int_equal(open_files(), files);
}

TEST(udp_shortcut__closed_with_the_lane)
{
    unsigned files = open_files();
    struct udp_pair pair = open_short();

    assert_int_equal(open_files(), files + 5); /* each lane has its port for TCP, too */
    close_pair(&pair);
    assert_int_equal(open_files(), files);
}

PAIR_TEST(udp_shortcut__no_more_files)
{
    struct rlimit before;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    send_one(pair.a, pair.b, &pair.at_a, &pair.at_b);
    open_at_next_send(pair.a, &pair.at_b);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    add_frame(&outbox, DATA, 1, 0, 100);
    send_outbox(&outbox, pair.a, &pair.at_b);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(shortcut_to(pair.a, &pair.at_b), -1);
    receive_all(pair.b, incoming, 1);
    pair.b->operations->release(pair.b);
    /* It is not tried at every send, but it is tried again. */
    send_one(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_int_equal(shortcut_to(pair.a, &pair.at_b), -1);
    for (unsigned i = 0; i < UDP_SHORTCUT_AGAIN_SENDS; i++) {
        send_one(pair.a, pair.b, &pair.at_a, &pair.at_b);
    }
    assert_true(shortcut_to(pair.a, &pair.at_b) >= 0);
}

TEST(udp_shortcut__a_peer_that_ends_is_lost)
{
    struct udp_pair pair = open_short();
    struct lane_loss lost;

    close_lane(pair.b);
    for (unsigned round = 0; round < 2; round++) {
        add_frame(&outbox, DATA, 1, 0, 100);
        send_outbox(&outbox, pair.a, &pair.at_b);
        assert_int_equal(pair.a->operations->receive(pair.a, incoming, 1), 0);
        assert_true(pair.a->operations->lost(pair.a, &lost));
        assert_memory_equal(&lost.address, &pair.at_b, sizeof lost.address);
        assert_false(pair.a->operations->lost(pair.a, &lost));
    }
    close_lane(pair.a);
}

PAIR_TEST_OF(open_short, udp_shortcut__the_interface_goes_down_and_comes_back)
{
    set_interface_there(here, "end0", SIOCSIFFLAGS, 0);
    add_frame(&outbox, DATA, 1, 0, 100);
    assert_int_equal(pair.a->operations->send(pair.a, &pair.at_b, outbox.frames, 1), 0);
    outbox.count = 0;
    assert_int_equal(pair.a->operations->status(pair.a), -ENETDOWN);
    assert_int_equal(shortcut_to(pair.a, &pair.at_b), -1);
    set_interface_there(here, "end0", SIOCSIFFLAGS, IFF_UP);
    open_at_next_send(pair.a, &pair.at_b);
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_true(shortcut_to(pair.a, &pair.at_b) >= 0);
    /* And while nothing is sent. */
    set_interface_there(here, "end0", SIOCSIFFLAGS, 0);
    set_interface_there(here, "end0", SIOCSIFFLAGS, IFF_UP);
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
}

PAIR_TEST_OF(open_short, udp_shortcut__the_cable_is_pulled)
{
    set_interface_there(far, "end1", SIOCSIFFLAGS, 0);
    while (pair.a->operations->status(pair.a) == 0) {
    }
    add_frame(&outbox, DATA, 1, 0, 100);
    (void)pair.a->operations->send(pair.a, &pair.at_b, outbox.frames, 1);
    outbox.count = 0;
    set_interface_there(far, "end1", SIOCSIFFLAGS, IFF_UP);
    while (pair.a->operations->status(pair.a) != 0) {
    }
    /* What was sent meanwhile may come first. */
    add_frame(&outbox, DATA, 1, 0, 200);
    send_outbox(&outbox, pair.a, &pair.at_b);
    for (uint32_t bytes = 0; bytes != HEAD_BYTES + 200;) {
        receive_all(pair.b, incoming, 1);
        bytes = incoming[0].bytes;
        pair.b->operations->release(pair.b);
    }
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
}

PAIR_TEST_OF(open_short, udp_shortcut__follows_the_routes)
{
    IP("route", "add", "10.77.0.2/32", "via", "10.77.0.50", "dev", "end0"); /* nobody is there */
    add_frame(&outbox, DATA, 1, 0, 100);
    send_outbox(&outbox, pair.a, &pair.at_b);
    assert_int_equal(pair.b->operations->receive(pair.b, incoming, 1), 0);
    IP("route", "del", "10.77.0.2/32", "via", "10.77.0.50", "dev", "end0");
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_true(shortcut_to(pair.a, &pair.at_b) >= 0);
}

/** Anybody can say so. */
PAIR_TEST_OF(open_short, udp_shortcut__the_path_is_said_to_get_a_shorter_mtu)
{
    IP("route", "add", "10.77.0.2/32", "dev", "end0", "mtu", "600");
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_int_equal(pair.a->refused_trains, 0);
    assert_true(shortcut_to(pair.a, &pair.at_b) >= 0);
    IP("route", "del", "10.77.0.2/32", "dev", "end0", "mtu", "600");
}

TEST(udp_shortcut__the_kernel_has_no_room)
{
    struct udp_pair pair = open_short();
    int small = 1;
    unsigned taken = 1;

    /* Nobody answers ARP any more, so what is sent stays in the send buffer. */
    IP("neighbour", "del", "10.77.0.2", "dev", "end0");
    set_interface_there(far, "end1", SIOCSIFFLAGS, IFF_UP | IFF_NOARP);
    assert_int_equal(
        setsockopt(shortcut_to(pair.a, &pair.at_b), SOL_SOCKET, SO_SNDBUF, &small, sizeof small),
        0);
    for (unsigned round = 0; round < 1000 && taken > 0; round++) {
        add_frame(&outbox, DATA, 1, 0, 1000);
        taken = pair.a->operations->send(pair.a, &pair.at_b, outbox.frames, 1);
        outbox.count = 0;
    }
    assert_int_equal(taken, 0);
    assert_int_equal(pair.a->refused_frames, 1);
    assert_true(shortcut_to(pair.a, &pair.at_b) >= 0);
    close_pair(&pair);
    set_interface_there(far, "end1", SIOCSIFFLAGS, IFF_UP);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    udp_pair_far();
    return run_listed_tests(NULL, NULL);
}
