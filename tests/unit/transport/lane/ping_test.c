/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts that are asked whether they are there; through the UDP lane, which asks them. */
#include "lane/ping.h"

#include "udp_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>

#define MARK 4711

/** Lets groups have ping sockets in this namespace, or nobody. */
static void let_ping(bool anybody)
{
    FILE *range = fopen("/proc/sys/net/ipv4/ping_group_range", "w");

    assert_non_null(range);
    assert_true(fputs(anybody ? "0 2147483647" : "1 0", range) >= 0);
    assert_int_equal(fclose(range), 0);
}

/** Waits for an answer with this mark. */
static enum lane_host wait_for_answer(struct lane *lane)
{
    enum lane_host answer = LANE_HOST_ASKED;
    uint32_t mark = 0;

    while (answer == LANE_HOST_ASKED) { /* the test has a timeout */
        assert_int_equal(lane->operations->receive(lane, incoming, 1), 0);
        answer = lane->operations->host_answer(lane, &mark);
    }
    assert_int_equal(mark, MARK);
    return answer;
}

static enum lane_host ask(struct udp_pair *pair, bool vouch)
{
    assert_int_equal(pair->a->operations->ask_host(pair->a, &pair->at_b, MARK, vouch),
                     LANE_HOST_ASKED);
    return wait_for_answer(pair->a);
}

/** Asked for both, it says both, in whatever order. Nobody is said to have ended. */
static void ask_for_both(void)
{
    struct udp_pair pair = open_pair();
    struct lane_loss lost;

    assert_int_equal(ask(&pair, false), LANE_HOST_ANSWERS);
    unsigned said = 1u << ask(&pair, true);
    said |= 1u << wait_for_answer(pair.a);
    assert_int_equal(said, 1u << LANE_HOST_ANSWERS | 1u << LANE_HOST_VOUCHES);
    assert_false(pair.a->operations->lost(pair.a, &lost));
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    close_pair(&pair);
}

TEST(ping__over_a_raw_socket)
{
    let_ping(false);
    ask_for_both();
}

TEST(ping__over_a_ping_socket)
{
    let_ping(true);
    ask_for_both();
    let_ping(false);
}

TEST(ping__over_ipv6)
{
    switch_to_ipv6(true);
    ask_for_both();
    switch_to_ipv6(false);
}

/** A process of the other host does not answer for it. */
TEST(ping__nobody_runs_there)
{
    struct udp_pair pair = open_pair();
    struct lane_loss lost;

    close_lane(pair.b);
    assert_int_equal(ask(&pair, false), LANE_HOST_ANSWERS);
    add_frame(&outbox, DATA, 1, 0, 100);
    send_outbox(&outbox, pair.a, &pair.at_b);
    assert_int_equal(pair.a->operations->receive(pair.a, incoming, 1), 0);
    assert_true(pair.a->operations->lost(pair.a, &lost));
    assert_memory_equal(&lost.address, &pair.at_b, sizeof lost.address);
    close_lane(pair.a);
}

static int open_both(void **state)
{
    static struct udp_pair pair;

    pair = open_pair();
    *state = &pair;
    return 0;
}

static int close_both(void **state)
{
    close_pair(*state);
    return 0;
}

/** A host whose cable is pulled says nothing, and is asked in vain without harm. */
TEST(ping__a_host_that_is_gone)
{
    struct udp_pair pair = open_pair();
    uint32_t mark;

    set_interface_there(far, "end1", SIOCSIFFLAGS, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pair.a->operations->ask_host(pair.a, &pair.at_b, MARK, true),
                         LANE_HOST_ASKED);
        assert_int_equal(pair.a->operations->host_answer(pair.a, &mark), LANE_HOST_ASKED);
    }
    set_interface_there(far, "end1", SIOCSIFFLAGS, IFF_UP);
    while (pair.a->operations->status(pair.a) != 0) {
    }
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    close_pair(&pair);
}

static struct sockaddr_in host_of(const char *ip)
{
    struct sockaddr_in host = {.sin_family = AF_INET};

    assert_int_equal(inet_pton(AF_INET, ip, &host.sin_addr), 1);
    return host;
}

static bool is_refused(struct ping *ping, const struct ping_question *question, size_t bytes,
                       const struct sockaddr_in *host, bool by_itself)
{
    return ping_is_refused(ping, (const uint8_t *)question, bytes,
                           (const struct sockaddr *)(const void *)host, by_itself);
}

/** What does not show the secret is no answer; nor is what somebody between has refused. */
TEST(ping_is_refused__only_what_was_asked)
{
    struct ping ping = {.begun = true, .socket = -1, .can_ask = true, .secret = {7}};
    const struct sockaddr_in host = host_of("10.0.0.1");
    const struct ping_question question =
        ping_ask(&ping, (const struct sockaddr *)(const void *)&host, MARK);
    struct ping_question guess = question;
    uint32_t mark = 0;

    guess.secret++;
    assert_false(is_refused(&ping, &guess, sizeof guess, &host, true));
    assert_false(is_refused(&ping, &question, sizeof question - 1, &host, true));
    assert_true(is_refused(&ping, &question, sizeof question, &host, false));
    assert_int_equal(ping_answer(&ping, &mark), LANE_HOST_ASKED);
    assert_true(is_refused(&ping, &question, sizeof question, &host, true));
    assert_int_equal(ping_answer(&ping, &mark), LANE_HOST_VOUCHES);
    assert_int_equal(mark, MARK);
    for (unsigned i = 0; i < 2 * PING_REFUSALS_MAX; i++) {
        assert_true(is_refused(&ping, &question, sizeof question, &host, true));
    }
    assert_int_equal(ping.refused_count, PING_REFUSALS_MAX);
}

/** A host that was asked about one process answers for no other one, nor for another host. */
TEST(ping_is_right__only_from_whom_was_asked)
{
    struct ping ping = {.begun = true, .socket = -1, .can_ask = true, .secret = {7}};
    const struct sockaddr_in host = host_of("10.0.0.1");
    const struct sockaddr_in other = host_of("10.0.0.2");
    const struct ping_question question =
        ping_ask(&ping, (const struct sockaddr *)(const void *)&host, MARK);
    struct ping_question changed = question;

    changed.mark++;
    assert_true(ping_is_right(&ping, &question, (const struct sockaddr *)(const void *)&host));
    assert_false(ping_is_right(&ping, &question, (const struct sockaddr *)(const void *)&other));
    assert_false(ping_is_right(&ping, &changed, (const struct sockaddr *)(const void *)&host));
    assert_false(is_refused(&ping, &changed, sizeof changed, &host, true));
    assert_false(is_refused(&ping, &question, sizeof question, &other, true));
}

/** Who may not send an echo is vouched for even if it does not ask for that. */
TEST_AROUND(ping__without_privilege, open_both, close_both)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        if (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 ||
            setresuid(65534, 65534, 65534) != 0) {
            _exit(3);
        }
        struct udp_lane_options options = {.interface = "end0"};
        struct lane *lane = NULL;
        uint32_t mark = 0;
        struct udp_pair *pair = *state;
        if (udp_lane_open(&options, &lane) != 0 ||
            lane->operations->ask_host(lane, &pair->at_b, MARK, false) != LANE_HOST_ASKED) {
            _exit(4);
        }
        enum lane_host answer = LANE_HOST_ASKED;
        while (answer == LANE_HOST_ASKED) {
            (void)lane->operations->receive(lane, incoming, 1);
            answer = lane->operations->host_answer(lane, &mark);
        }
        _exit(answer == LANE_HOST_VOUCHES && mark == MARK ? 0 : 5);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    udp_pair_far();
    return run_listed_tests(NULL, NULL);
}
