/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

PAIR_TEST(fi_tinject__before_there_is_a_connection)
{
    const struct side *sender = &pair->sides[0];
    char buffer[8] = "first";
    char got[8] = "";

    assert_int_equal(fi_tinject(sender->ep, buffer, sizeof buffer, sender->other, 1), 0);
    memset(buffer, 'x', sizeof buffer); /* it is ours again */
    assert_int_equal(fi_trecv(pair->sides[1].ep, got, sizeof got, NULL, FI_ADDR_UNSPEC, 1, 0, NULL),
                     0);
    (void)completed(pair, 1);
    assert_string_equal(got, "first");
}

TEST(fi_tinject__as_long_as_promised)
{
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];
    size_t most = sender->info->tx_attr->inject_size;
    uint8_t *data = pattern(most + 1, 3);
    uint8_t *got = calloc(1, most);

    assert_non_null(got);
    assert_int_equal(fi_trecv(pair->sides[1].ep, got, most, NULL, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
    assert_int_equal(fi_tinject(sender->ep, data, most, sender->other, 1), 0);
    assert_int_equal(completed(pair, 1).len, most);
    assert_memory_equal(got, data, most);
    assert_int_equal(fi_tinject(sender->ep, data, most + 1, sender->other, 1), -FI_EMSGSIZE);
    close_pair(pair);
    free(data);
    free(got);
}

TEST(fi_tsend__keeps_the_order_whatever_the_length)
{
    enum { MESSAGES = 60 };
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];
    const size_t lengths[] = {4, 40000, 1000, 5000, 0, 100000};
    uint8_t *data = pattern(100000, 5);
    uint8_t *got = calloc(1, 100000);

    assert_non_null(got);
    for (unsigned i = 0; i < MESSAGES; i++) {
        assert_int_equal(fi_tsend(sender->ep, data, lengths[i % 6], NULL, sender->other, 1, NULL),
                         0);
    }
    for (unsigned i = 0; i < MESSAGES; i++) {
        assert_int_equal(fi_trecv(pair->sides[1].ep, got, 100000, NULL, FI_ADDR_UNSPEC, 1, 0, NULL),
                         0);
        assert_int_equal(completed(pair, 1).len, lengths[i % 6]);
        assert_memory_equal(got, data, lengths[i % 6]);
    }
    for (unsigned i = 0; i < MESSAGES; i++) {
        assert_int_equal(completed(pair, 0).flags, FI_SEND | FI_TAGGED);
    }
    close_pair(pair);
    free(data);
    free(got);
}

TEST(fi_tsend__more_than_fit_are_refused_not_lost)
{
    assert_int_equal(setenv("FI_BEOWIRE_OPERATIONS", "4", 1), 0);
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];
    uint8_t *data = pattern(100000, 5);
    uint8_t *got = calloc(1, 100000);
    unsigned posted = 0;

    assert_non_null(got);
    while (fi_tsend(sender->ep, data, 100000, NULL, sender->other, 1, NULL) == 0) {
        posted++;
    }
    assert_int_equal(posted, 4);
    assert_int_equal(fi_tsend(sender->ep, data, 100000, NULL, sender->other, 1, NULL), -FI_EAGAIN);
    for (unsigned i = 0; i < posted; i++) {
        assert_int_equal(fi_trecv(pair->sides[1].ep, got, 100000, NULL, FI_ADDR_UNSPEC, 1, 0, NULL),
                         0);
        assert_int_equal(completed(pair, 1).len, 100000);
        (void)completed(pair, 0);
    }
    close_pair(pair);
    free(data);
    free(got);
    assert_int_equal(unsetenv("FI_BEOWIRE_OPERATIONS"), 0);
}

PAIR_TEST(fi_tsend__to_nobody)
{
    assert_int_equal(fi_tsend(pair->sides[0].ep, "a", 1, NULL, 99, 1, NULL), -FI_EINVAL);
    assert_int_equal(fi_tinject(pair->sides[0].ep, "a", 1, FI_ADDR_UNSPEC, 1), -FI_EINVAL);
}

/** A peer that closes with our message unmatched: the operation ends, with an error that names it.
 */
TEST(fi_tsend__to_a_peer_that_leaves)
{
    struct pair *pair = open_default_pair();
    struct side *sender = &pair->sides[0];
    uint8_t *data = pattern(1000000, 5);
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    ssize_t count = 0;
    time_t start = time(NULL);

    let_arrive(pair, 0);
    assert_int_equal(fi_tsend(sender->ep, data, 1000000, NULL, sender->other, 1, data), 0);
    close_side(&pair->sides[1]);
    while ((count = fi_cq_read(sender->cq, &entry, 1)) == -FI_EAGAIN) {
        assert_false(is_late(start));
    }
    assert_int_equal(count, -FI_EAVAIL);
    assert_int_equal(fi_cq_readerr(sender->cq, &error, 0), 1);
    assert_int_equal(error.err, FI_ECONNRESET);
    assert_ptr_equal(error.op_context, data);
    assert_non_null(strstr(error.err_data, " (beowire:"));
    close_side(sender);
    free(pair);
    free(data);
}

/* ---- completions that tell of the peer ------------------------------------------------------ */

/** A peer in a process of its own, which can be stopped: then nobody acknowledges for it. It
 *  receives nothing. */
struct remote_peer {
    pid_t process;
    struct side side; /**< ours, connected with it */
};

/** Does what a peer does, until it is killed. Never returns. */
static void be_a_peer(int name_to)
{
    struct side side = {0};
    uint8_t name[FI_NAME_MAX];
    size_t bytes = sizeof name;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_side(&side, "end1", &(struct pair_options){0});
    assert_int_equal(fi_getname(&side.ep->fid, name, &bytes), 0);
    assert_int_equal(write(name_to, name, bytes), bytes);
    for (;;) {
        drive(&side);
    }
}

static struct fi_cq_tagged_entry completed_alone(const struct side *side)
{
    struct fi_cq_tagged_entry entry;
    time_t start = time(NULL);

    while (fi_cq_read(side->cq, &entry, 1) == -FI_EAGAIN) {
        assert_false(is_late(start));
    }
    return entry;
}

static void open_remote_peer(struct remote_peer *peer, const struct pair_options *options)
{
    uint8_t name[FI_NAME_MAX];
    int ends[2];

    *peer = (struct remote_peer){0};
    assert_int_equal(pipe(ends), 0);
    peer->process = fork();
    assert_true(peer->process >= 0);
    if (peer->process == 0) {
        be_a_peer(ends[1]);
    }
    open_side(&peer->side, "end0", options);
    assert_true(read(ends[0], name, sizeof name) > 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_int_equal(fi_av_insert(peer->side.av, name, 1, &peer->side.other, 0, NULL), 1);
    assert_int_equal(fi_tsend(peer->side.ep, "x", 1, NULL, peer->side.other, 1, name), 0);
    assert_ptr_equal(completed_alone(&peer->side).op_context, name); /* connected */
}

static void stop_peer(const struct remote_peer *peer)
{
    int status = 0;

    assert_int_equal(kill(peer->process, SIGSTOP), 0);
    assert_int_equal(waitpid(peer->process, &status, WUNTRACED), peer->process);
    assert_true(WIFSTOPPED(status));
}

static void end(const struct remote_peer *peer)
{
    assert_int_equal(kill(peer->process, SIGKILL), 0);
    assert_int_equal(waitpid(peer->process, NULL, 0), peer->process);
}

static void check_nothing_completes(const struct side *side)
{
    struct fi_cq_tagged_entry entry;

    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(fi_cq_read(side->cq, &entry, 1), -FI_EAGAIN);
    }
}

/** By a call that says so, or by one that cannot, on an endpoint that says so. */
static void send_with(const struct side *side, bool flag_of_call, uint64_t flags, const void *data,
                      size_t bytes)
{
    const struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
    const struct fi_msg_tagged message = {.msg_iov = &part,
                                          .iov_count = 1,
                                          .addr = side->other,
                                          .tag = 1,
                                          .context = (void *)(uintptr_t)data};

    if (flag_of_call) {
        assert_int_equal(fi_tsendmsg(side->ep, &message, flags), 0);
    } else {
        assert_int_equal(
            fi_tsend(side->ep, data, bytes, NULL, side->other, 1, (void *)(uintptr_t)data), 0);
    }
}

static void check_waits_for_the_peer(uint64_t flags, bool flag_of_call, const char *lanes)
{
    struct pair_options options = {.tx_flags = flag_of_call ? 0 : flags, .counters = true};
    struct remote_peer peer;
    const size_t sizes[] = {0, 8, 4000, 30000};
    uint8_t *data = pattern(30000, 1);

    assert_int_equal(setenv("FI_BEOWIRE_LANES", lanes, 1), 0);
    open_remote_peer(&peer, &options);
    assert_int_equal(fi_cntr_read(peer.side.sent), 1);
    for (unsigned i = 0; i < 4; i++) {
        stop_peer(&peer);
        /* Those that need no more than the buffer end at once. */
        assert_int_equal(fi_tinject(peer.side.ep, data, 8, peer.side.other, 1), 0);
        send_with(&peer.side, true, FI_INJECT_COMPLETE, data, 8);
        assert_ptr_equal(completed_alone(&peer.side).op_context, data);
        send_with(&peer.side, flag_of_call, flags, data, sizes[i]);
        check_nothing_completes(&peer.side);
        assert_int_equal(fi_cntr_read(peer.side.sent), 3 + 3 * i);
        assert_int_equal(kill(peer.process, SIGCONT), 0);
        struct fi_cq_tagged_entry entry = completed_alone(&peer.side);
        assert_ptr_equal(entry.op_context, data);
        assert_int_equal(entry.flags, FI_SEND | FI_TAGGED);
        assert_int_equal(fi_cntr_read(peer.side.sent), 4 + 3 * i);
    }
    end(&peer);
    close_side(&peer.side);
    free(data);
    assert_int_equal(unsetenv("FI_BEOWIRE_LANES"), 0);
}

TEST(fi_tsendmsg__delivery_complete)
{
    check_waits_for_the_peer(FI_DELIVERY_COMPLETE, true, "packet");
    check_waits_for_the_peer(FI_DELIVERY_COMPLETE, true, "shm");
}

TEST(fi_tsendmsg__transmit_complete)
{
    check_waits_for_the_peer(FI_TRANSMIT_COMPLETE, true, "udp");
    check_waits_for_the_peer(FI_TRANSMIT_COMPLETE | FI_INJECT, true, "packet,tso,udp");
}

TEST(fi_tsend__delivery_complete_by_default)
{
    check_waits_for_the_peer(FI_DELIVERY_COMPLETE | FI_COMPLETION, false, "packet");
    check_waits_for_the_peer(FI_TRANSMIT_COMPLETE, false, "shm");
}

/** Nothing completes at side 0, though side 1 has all that was sent. */
static void check_waits_for_receive(struct pair *pair)
{
    struct fi_cq_tagged_entry entry;

    let_arrive(pair, 0);
    for (unsigned i = 0; i < 100; i++) {
        drive(&pair->sides[1]);
        assert_int_equal(fi_cq_read(pair->sides[0].cq, &entry, 1), -FI_EAGAIN);
    }
}

TEST(fi_tsendmsg__match_complete)
{
    struct pair *pair = open_default_pair();
    const uint64_t flags = FI_COMPLETION | FI_MATCH_COMPLETE;
    const uint64_t all[] = {flags, flags | FI_DELIVERY_COMPLETE, flags | FI_INJECT};
    const size_t sizes[] = {0, 8, 4000, 30000, 300000};
    uint8_t *data = pattern(300000, 1);
    uint8_t *got = calloc(1, 300000);

    for (unsigned i = 0; i < 5; i++) {
        for (unsigned j = 0; j < (i < 4 ? 3 : 2); j++) {
            send_with(&pair->sides[0], true, all[j], data, sizes[i]);
            check_waits_for_receive(pair);
            assert_int_equal(
                fi_trecv(pair->sides[1].ep, got, 300000, NULL, FI_ADDR_UNSPEC, 1, 0, got), 0);
            assert_int_equal(completed(pair, 1).len, sizes[i]);
            assert_memory_equal(got, data, sizes[i]);
            assert_ptr_equal(completed(pair, 0).op_context, data);
        }
    }
    close_pair(pair);
    free(data);
    free(got);
}

/** Who throws a message away has matched it. */
TEST(fi_tsend__match_of_what_is_thrown_away)
{
    struct pair *pair = open_pair(&(struct pair_options){.tx_flags = FI_MATCH_COMPLETE});
    struct fi_context context;
    struct fi_msg_tagged message = {.addr = FI_ADDR_UNSPEC, .tag = 1, .context = &context};

    send_with(&pair->sides[0], false, 0, "x", 1);
    check_waits_for_receive(pair);
    assert_int_equal(fi_trecvmsg(pair->sides[1].ep, &message, FI_PEEK | FI_DISCARD), 0);
    assert_ptr_equal(completed(pair, 1).op_context, &context);
    (void)completed(pair, 0);
    close_pair(pair);
}

TEST(fi_tsend__delivery_to_a_peer_that_dies)
{
    const struct pair_options options = {.tx_flags = FI_DELIVERY_COMPLETE, .counters = true};
    const size_t sizes[] = {8, 4000, 30000};
    uint8_t *data = pattern(30000, 1);

    for (unsigned i = 0; i < 3; i++) {
        struct remote_peer peer;
        struct fi_cq_err_entry error = {0};
        struct fi_cq_tagged_entry entry;
        ssize_t count = 0;
        time_t start = time(NULL);
        open_remote_peer(&peer, &options);
        stop_peer(&peer);
        send_with(&peer.side, false, 0, data, sizes[i]);
        check_nothing_completes(&peer.side);
        end(&peer);
        while ((count = fi_cq_read(peer.side.cq, &entry, 1)) == -FI_EAGAIN) {
            assert_false(is_late(start));
        }
        assert_int_equal(count, -FI_EAVAIL);
        assert_int_equal(fi_cq_readerr(peer.side.cq, &error, 0), 1);
        assert_int_equal(error.err, FI_ECONNRESET);
        assert_ptr_equal(error.op_context, data);
        assert_int_equal(fi_cntr_readerr(peer.side.sent), 1);
        close_side(&peer.side);
    }
    free(data);
}
