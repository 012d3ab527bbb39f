/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that say whether an endpoint is there; through the UDP lane, which asks them. */
#include "lane/witness.h"
#include "udp_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

static const uint8_t key[LANE_WITNESS_KEY_BYTES] = "the key of b: 16";
static const uint8_t another[LANE_WITNESS_KEY_BYTES] = "not that of b...";

struct call {
    int sockets[LANE_WITNESS_CALLS];
};

static struct call call_b(const struct udp_pair *pair, const uint8_t *with)
{
    struct call call;

    assert_int_equal(pair->a->operations->call_witness(pair->a, &pair->at_b, with, call.sockets),
                     0);
    return call;
}

static enum lane_witness said(const struct udp_pair *pair, struct call call)
{
    return pair->a->operations->witness(pair->a, call.sockets);
}

/** What is said at last; the test has a timeout. */
static void wait_for(const struct udp_pair *pair, struct call call, enum lane_witness wanted)
{
    while (said(pair, call) != wanted) {
        (void)poll(NULL, 0, 1);
    }
}

static void dismiss(const struct udp_pair *pair, struct call call)
{
    pair->a->operations->dismiss_witness(pair->a, call.sockets);
}

static void bear(const struct udp_pair *pair)
{
    namespace_go(far);
    assert_int_equal(pair->b->operations->bear_witness(pair->b, key), 0);
    namespace_go(here);
}

/** The end itself does nothing for that: it may be stopped. */
TEST(witness__proves_that_the_key_is_there_until_the_end)
{
    struct udp_pair pair = open_pair();

    bear(&pair);
    struct call called = call_b(&pair, key);
    wait_for(&pair, called, LANE_WITNESS_PROVES);
    close_lane(pair.b);
    wait_for(&pair, called, LANE_WITNESS_ENDED);
    dismiss(&pair, called);
    called = call_b(&pair, key);
    wait_for(&pair, called, LANE_WITNESS_SILENT); /* another port is refused */
    dismiss(&pair, called);
    close_lane(pair.a);
}

PAIR_TEST(witness__another_key_proves_nothing)
{
    bear(&pair);
    struct call guessed = call_b(&pair, another);
    struct call called = call_b(&pair, key);
    wait_for(&pair, called, LANE_WITNESS_PROVES); /* asked later, and answered */
    wait_for(&pair, guessed, LANE_WITNESS_SILENT);
    dismiss(&pair, guessed);
    dismiss(&pair, called);
}

static struct sockaddr_in internet_of(const struct lane_address *place)
{
    struct sockaddr_in at = {.sin_family = AF_INET};

    memcpy(&at.sin_addr, place->bytes + 12, sizeof at.sin_addr);
    memcpy(&at.sin_port, place->bytes + 16, sizeof at.sin_port);
    return at;
}

/** Sets a limit of the namespace that the program is in. @return false: /proc/sys cannot be written
 */
static bool set_limit(const char *path, const char *value)
{
    FILE *limit = fopen(path, "we");
    bool set = limit != NULL && fputs(value, limit) >= 0;

    return limit != NULL && fclose(limit) == 0 && set;
}

/** @param type SOCK_STREAM or SOCK_DGRAM @return a socket at that port of b's host */
static int take_port(int type, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};

    namespace_go(far);
    assert_int_equal(inet_pton(AF_INET, "10.77.0.2", &at.sin_addr), 1);
    int taken = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(taken, (struct sockaddr *)&at, sizeof at), 0);
    assert_true(type == SOCK_DGRAM || listen(taken, 1) == 0);
    namespace_go(here);
    return taken;
}

/** Whoever has the port of an end that is no more, and listens there, has not its key. */
TEST(witness__who_takes_the_port_proves_nothing)
{
    int taken = take_port(SOCK_STREAM, 4711);
    struct udp_pair pair = {.a = open_udp(here, "end0", 0), .b = open_udp(far, "end1", 4711)};

    pair.at_b = address_of(pair.b, pair.a);
    namespace_go(far);
    assert_int_equal(pair.b->operations->bear_witness(pair.b, key), -EADDRINUSE);
    namespace_go(here);
    struct call called = call_b(&pair, key);
    wait_for(&pair, called, LANE_WITNESS_SILENT);
    dismiss(&pair, called);
    close(taken);
    close_pair(&pair);
}

/** Of eight ports one is free for both, one more for TCP. */
TEST(udp_lane_open__a_port_that_no_other_has_for_tcp)
{
    enum { FIRST = 40000, PORTS = 8, FREE_FOR_TCP = FIRST + 1, FREE = FIRST + 5 };
    int taken[PORTS] = {0};

    namespace_go(far);
    bool limited = set_limit("/proc/sys/net/ipv4/ip_local_port_range", "40000 40007");
    namespace_go(here);
    if (!limited) {
        print_message("/proc/sys cannot be written\n");
        skip();
    }
    for (unsigned i = 0; i < PORTS; i++) {
        if (FIRST + i != FREE) {
            taken[i] = take_port(FIRST + i == FREE_FOR_TCP ? SOCK_DGRAM : SOCK_STREAM,
                                 (uint16_t)(FIRST + i));
        }
    }
    struct udp_pair pair = open_pair();
    assert_int_equal(ntohs(internet_of(&pair.at_b).sin_port), FREE);
    bear(&pair);
    /* If none is left, there is no witness. */
    struct lane *another_one = open_udp(far, "end1", 0);
    namespace_go(far);
    assert_int_equal(another_one->operations->bear_witness(another_one, key), -EADDRINUSE);
    assert_true(set_limit("/proc/sys/net/ipv4/ip_local_port_range", "32768 60999"));
    namespace_go(here);
    close_lane(another_one);
    for (unsigned i = 0; i < PORTS; i++) {
        if (taken[i] > 0) {
            close(taken[i]);
        }
    }
    close_pair(&pair);
}

/** Another user may listen at any port from 1,024 on, and leave whoever asks without an answer. */
PAIR_TEST(witness__who_keeps_the_next_port_silent_hides_no_end)
{
    struct lane_address next = pair.at_b;

    next.bytes[17] ^= 1; /* the lower byte of the port */
    struct sockaddr_in at = internet_of(&next);
    namespace_go(far);
    int silent = witness_reserve((struct sockaddr *)&at, sizeof at);
    assert_int_equal(witness_listen(silent, AF_INET, another), 0); /* drops what lacks it */
    namespace_go(here);
    struct call called = call_b(&pair, key);
    wait_for(&pair, called, LANE_WITNESS_SILENT);
    dismiss(&pair, called);
    close(silent);
}

/** More than one socket can have in its queue. */
PAIR_TEST(witness__many_wait_for_the_same_end)
{
    enum { MANY = 100 };
    struct call called[MANY];

    namespace_go(far);
    bool limited = set_limit("/proc/sys/net/core/somaxconn", "64");
    namespace_go(here);
    if (!limited) {
        print_message("/proc/sys cannot be written\n");
        skip();
    }
    bear(&pair);
    for (unsigned i = 0; i < MANY; i++) {
        called[i] = call_b(&pair, key);
        wait_for(&pair, called[i], LANE_WITNESS_PROVES);
    }
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(said(&pair, called[i]), LANE_WITNESS_PROVES);
        dismiss(&pair, called[i]);
    }
}

/** Nothing comes back from there, as behind a firewall. */
PAIR_TEST(witness__nothing_is_known_of_who_is_behind_a_firewall)
{
    bear(&pair);
    set_interface_there(far, "end1", SIOCSIFFLAGS, 0);
    struct call called = call_b(&pair, key);
    (void)poll(NULL, 0, 10);
    assert_int_equal(said(&pair, called), LANE_WITNESS_UNKNOWN);
    dismiss(&pair, called);
    set_interface_there(far, "end1", SIOCSIFFLAGS, IFF_UP);
    while (pair.a->operations->status(pair.a) != 0) {
    }
}

/** The kernel gives up in time (two minutes; here 3 s) what a firewall drops without a word. */
PAIR_TEST(witness__nothing_is_known_when_all_questions_have_timed_out)
{
    if (!set_limit("/proc/sys/net/ipv4/tcp_syn_retries", "1")) {
        print_message("/proc/sys cannot be written\n");
        skip();
    }
    (void)set_limit("/proc/sys/net/ipv4/tcp_syn_linear_timeouts", "0"); /* since Linux 6.5 */
    IP("neighbour", "add", "10.77.0.9", "lladdr", "02:00:00:00:00:99", "dev", "end0");
    pair.at_b.bytes[15] = 9; /* what goes to it arrives nowhere */
    struct call called = call_b(&pair, key);
    for (unsigned i = 0; i < LANE_WITNESS_CALLS - 1; i++) {
        struct pollfd asked = {.fd = called.sockets[i], .events = POLLOUT};
        assert_int_equal(poll(&asked, 1, PATIENCE_MS), 1);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pair.a->operations->witness(pair.a, called.sockets), LANE_WITNESS_UNKNOWN);
    }
    dismiss(&pair, called);
    IP("neighbour", "del", "10.77.0.9", "dev", "end0");
}

/** An end that is awake again lets go of who has asked, and can be asked again. */
PAIR_TEST(witness_clear__who_asks_again_is_answered)
{
    bear(&pair);
    struct call called = call_b(&pair, key);
    wait_for(&pair, called, LANE_WITNESS_PROVES);
    while (said(&pair, called) != LANE_WITNESS_ENDED) { /* it is there a moment later */
        assert_int_equal(pair.b->operations->status(pair.b), 0);
    }
    dismiss(&pair, called);
    called = call_b(&pair, key);
    wait_for(&pair, called, LANE_WITNESS_PROVES);
    dismiss(&pair, called);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    udp_pair_far();
    return run_listed_tests(NULL, NULL);
}
