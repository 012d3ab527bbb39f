/* SPDX-License-Identifier: BSD-3-Clause */
/* What is posted leaves, whatever sender and receiver do besides: in simulated nodes; and,
 * whichever call is the last, over the veth pair of a network namespace of the test's own. */
#include "endpoint/endpoint.h"
#include "simulation/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "unit/test.h"
#include "unit/transport/endpoint/endpoints.h"

#define MILLISECOND UINT64_C(1000000)
#define FOR_EVER (UINT64_C(1) << 40)

/** Two nodes that are connected; node 0 sends. A third is not started. */
struct pair {
    struct cluster cluster;
    struct core *from;
    struct core_peer *to;
};

static void let_pass(struct pair *pair, uint64_t time_ns)
{
    cluster_run(&pair->cluster, cluster_now(&pair->cluster) + time_ns);
}

static int setup(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    if (pair == NULL) {
        return -1;
    }
    wire.nodes = 3;
    cluster_open(&pair->cluster, &wire);
    cluster_start(&pair->cluster, 0);
    cluster_start(&pair->cluster, 1);
    pair->from = &pair->cluster.nodes[0].core;
    pair->to = cluster_peer(&pair->cluster, 0, 1);
    assert_int_equal(cluster_send(&pair->cluster, 0, pair->to, 0, 0, NULL, 0, NULL), 0);
    let_pass(pair, 10 * MILLISECOND);
    *state = pair;
    return 0;
}

static int teardown(void **state)
{
    struct pair *pair = *state;

    cluster_close(&pair->cluster);
    free(pair);
    return 0;
}

#define POST_TEST(name) TEST_WITH(struct pair *pair, name, setup, teardown)

static void inject(struct pair *pair)
{
    assert_int_equal(cluster_inject(&pair->cluster, 0, pair->to, 1, 0, "row", 3), 0);
}

static uint32_t unsent(const struct pair *pair)
{
    const struct flow *flow = &pair->to->message.flow;

    return flow->next - flow->highest;
}

/** Its acknowledgements, and the credit in them, are taken by its sends. */
POST_TEST(core_post__whoever_only_sends_hears_of_credit)
{
    cluster_pause(&pair->cluster, 0, FOR_EVER);
    for (unsigned i = 0; i < 10 * FLOW_INITIAL_CREDIT_FRAMES; i++) {
        inject(pair);
        assert_int_equal(unsent(pair), 0);
        assert_int_equal(cluster_receive(&pair->cluster, 1, NULL, 1, 0, NULL, 0, NULL), 0);
        let_pass(pair, 100000);
    }
    assert_int_equal(pair->from->messages.counters.eager_messages,
                     10 * FLOW_INITIAL_CREDIT_FRAMES + 1);
}

/** Nor does what others say wait while much is sent, though there is credit for it. */
POST_TEST(core_post__whoever_sends_much_hears_of_others)
{
    static uint8_t data[POST_LOOK_BYTES];
    struct core_peer *back = cluster_peer(&pair->cluster, 1, 0);

    cluster_pause(&pair->cluster, 0, FOR_EVER);
    assert_int_equal(cluster_send(&pair->cluster, 0, pair->to, 2, 0, data, sizeof data, data), 0);
    assert_int_equal(cluster_send(&pair->cluster, 1, back, 3, 0, "word", 4, NULL), 0);
    let_pass(pair, MILLISECOND);
    uint64_t before = pair->to->message.flow.expected;
    inject(pair);
    assert_int_equal(pair->to->message.flow.expected, before + 1);
    assert_int_equal(cluster_send(&pair->cluster, 1, back, 3, 0, "word", 4, NULL), 0);
    let_pass(pair, MILLISECOND);
    inject(pair); /* who has sent little does not look */
    assert_int_equal(pair->to->message.flow.expected, before + 1);
}

POST_TEST(core_post__in_a_run_some_go_together)
{
    for (unsigned i = 0; i < HOLD_RUN_MIN; i++) {
        inject(pair);
        assert_int_equal(unsent(pair), 0);
    }
    for (unsigned i = 0; i < 5; i++) {
        inject(pair);
        assert_int_equal(unsent(pair), 1); /* a bundle */
        assert_true(core_has_held(pair->from));
    }
    let_pass(pair, 10 * HOLD_GAP_NS);
    assert_int_equal(unsent(pair), 0);
    assert_false(core_has_held(pair->from));
}

POST_TEST(core_post__after_a_run_sends_what_was_held_as_well)
{
    cluster_pause(&pair->cluster, 0, FOR_EVER); /* nobody looks */
    for (unsigned i = 0; i <= HOLD_RUN_MIN; i++) {
        inject(pair);
    }
    assert_true(core_has_held(pair->from));
    let_pass(pair, 5 * HOLD_GAP_NS);
    inject(pair);
    assert_int_equal(unsent(pair), 0);
    assert_false(core_has_held(pair->from));
}

/** Nor is it held for longer than that in a run without end. */
POST_TEST(core_post__in_a_long_run_nothing_is_held_for_long)
{
    uint64_t since_ns = 0;

    cluster_pause(&pair->cluster, 0, FOR_EVER);
    for (unsigned i = 0; i < 200; i++) {
        inject(pair);
        if (!core_has_held(pair->from)) {
            since_ns = 0;
        } else if (since_ns == 0) {
            since_ns = cluster_now(&pair->cluster);
        }
        assert_true(since_ns == 0 || cluster_now(&pair->cluster) - since_ns <= HOLD_NS);
        let_pass(pair, 500);
    }
}

/** What is held for one peer does not wait for room at another. */
POST_TEST(core_post__turned_away_sends_what_was_held_for_long)
{
    struct core_peer *full = pair->to;

    cluster_start(&pair->cluster, 2);
    pair->to = cluster_peer(&pair->cluster, 0, 2);
    assert_int_equal(cluster_send(&pair->cluster, 0, pair->to, 0, 0, NULL, 0, NULL), 0);
    cluster_pause(&pair->cluster, 1, FOR_EVER);
    do {
        let_pass(pair, 10 * HOLD_GAP_NS);
    } while (cluster_inject(&pair->cluster, 0, full, 1, 0, "row", 3) == 0);
    let_pass(pair, 10 * HOLD_GAP_NS);
    cluster_pause(&pair->cluster, 0, FOR_EVER);
    for (unsigned i = 0; i <= HOLD_RUN_MIN; i++) {
        inject(pair);
    }
    uint64_t since_ns = cluster_now(&pair->cluster);
    while (cluster_now(&pair->cluster) - since_ns <= HOLD_NS) {
        assert_int_equal(cluster_inject(&pair->cluster, 0, full, 1, 0, "row", 3), -EAGAIN);
        assert_true(core_has_held(pair->from));
        let_pass(pair, 500);
    }
    assert_int_equal(cluster_inject(&pair->cluster, 0, full, 1, 0, "row", 3), -EAGAIN);
    assert_false(core_has_held(pair->from));
    assert_int_equal(unsent(pair), 0);
}

/** A run that computing ended is sent late, by the keeper; but not ever again. */
POST_TEST(core_post__learns_that_runs_end_in_computing)
{
    unsigned late = 0;

    for (unsigned times = 0; times < 20; times++) {
        for (unsigned i = 0; i < 2 * HOLD_RUN_MIN; i++) {
            assert_int_equal(cluster_receive(&pair->cluster, 1, NULL, 1, 0, NULL, 0, NULL), 0);
            inject(pair);
        }
        cluster_pause(&pair->cluster, 0, cluster_now(&pair->cluster) + MILLISECOND);
        late += unsent(pair) > 0;
        let_pass(pair, 2 * MILLISECOND);
    }
    assert_in_range(late, 1, 5);
}

/* ---- endpoints ----------------------------------------------------------------------------- */

static uint8_t held[2000];

struct ends {
    beowire_endpoint *a;
    beowire_endpoint *b;
    beowire_peer to;         /**< b, as a knows it */
    const struct flow *flow; /**< of a to b */
};

/** As if the application had just made so many posts, one right after the other, and it were for a
 *  long time no later than that, however slow this is. */
static void be_in_a_run(beowire_endpoint *endpoint, uint32_t posts)
{
    endpoint->core.hold.run = posts;
    endpoint->core.hold.posted_ns = endpoint->core.hold.left_ns = now_ns() + SECOND;
}

/** So much is under way from `a` to `b` that what `a` sends next is held back. */
static struct ends hold_back(void)
{
    beowire_endpoint *a = open_over("packet", "end0", BEOWIRE_PROGRESS_CALLS, PATIENCE_NS);
    beowire_endpoint *b = open_over("packet", "end1", BEOWIRE_PROGRESS_KEEPER, PATIENCE_NS);
    beowire_peer to = know(a, b);

    assert_int_equal(beowire_send(a, to, 1, 0, "x", 1, NULL), 0);
    assert_int_equal(beowire_flush(a, PATIENCE_NS), 0);
    turn_enter(&b->turn); /* its keeper acknowledges nothing from here on, but has */
    for (unsigned i = 0; i < 1000; i++) {
        (void)beowire_poll(a, NULL, 0);
    }
    a->core.options.hold = true;                              /* as if it had a keeper, */
    core_peer_at(&a->core, to)->route.convoy.needless = true; /* and the lane took trains */
    const struct flow *flow = &core_peer_at(&a->core, to)->message.flow;
    do {
        be_in_a_run(a,
                    HOLD_RUN_MIN - 2); /* with the one below one too few, however long that takes */
        assert_int_equal(beowire_send(a, to, 1, 0, held, sizeof held, NULL), 0);
        assert_int_equal(flow->highest, flow->next); /* at once */
    } while (flow->highest - flow->first < 4);
    be_in_a_run(a, HOLD_RUN_MIN);
    return (struct ends){.a = a, .b = b, .to = to, .flow = flow};
}

/** After turn_leave() of b. */
static void close_pair(const struct ends *pair)
{
    assert_int_equal(beowire_flush(pair->a, PATIENCE_NS), 0);
    assert_int_equal(beowire_close(pair->a, 0), 0);
    assert_int_equal(beowire_close(pair->b, 0), 0);
}

/** Whichever call is the last before the application computes, what is held back does not wait for
 *  its return. */
TEST(keeper__hurries_after_every_call_while_something_is_held_back)
{
    struct ends pair = hold_back();
    struct beowire_completion found;
    beowire_message message;
    uint64_t key = 0;
    uint64_t value;
    const char *name;
    char buffer[1];
    unsigned call = 0;

    assert_int_equal(beowire_send(pair.a, pair.to, 1, 0, held, sizeof held, NULL), 0);
    assert_true(core_has_held(&pair.a->core));
    pair.a->keeper.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pair.a->keeper.running = true; /* as if there were one */
    for (bool all = false; !all; call++) {
        pair.a->keeper.hurried = false;
        switch (call) {
        case 0:
            assert_int_equal(beowire_receive(pair.a, pair.to, 2, 0, buffer, 1, buffer), 0);
            break;
        case 1:
            assert_int_equal(beowire_cancel(pair.a, buffer), 0);
            break;
        case 2:
            assert_int_equal(beowire_peek(pair.a, pair.to, 2, 0, &found), -ENOMSG);
            break;
        case 3:
            assert_int_equal(beowire_claim(pair.a, pair.to, 2, 0, &found, &message), -ENOMSG);
            break;
        case 4:
            assert_int_equal(beowire_memory_register(pair.a, buffer, 1, BEOWIRE_MEMORY_READ, &key),
                             0);
            break;
        case 5:
            assert_int_equal(beowire_memory_unregister(pair.a, key), 0);
            break;
        case 6:
            assert_int_equal(beowire_counter(pair.a, 0, &name, &value), 0);
            break;
        default:
            assert_true(beowire_descriptor(pair.a) >= 0);
            all = true;
        }
        assert_true(core_has_held(&pair.a->core));
        assert_true(pair.a->keeper.hurried);
    }
    pair.a->keeper.running = false;
    close(pair.a->keeper.wake);
    turn_leave(&pair.b->turn);
    close_pair(&pair);
}

/** What waits for more to come does not wait in the user's memory. */
TEST(inject__several_frames_while_something_is_held_back)
{
    struct ends pair = hold_back();
    static uint8_t data[8192];
    static uint8_t got[sizeof data];
    struct beowire_completion done = {0};
    uint64_t end_ns = now_ns() + PATIENCE_NS;

    memset(data, 'x', sizeof data);
    assert_int_equal(beowire_inject(pair.a, pair.to, 9, 0, data, sizeof data), 0);
    assert_int_not_equal(pair.flow->highest, pair.flow->next);
    memset(data, 'y', sizeof data);
    turn_leave(&pair.b->turn);
    assert_int_equal(beowire_receive(pair.b, BEOWIRE_ANY_PEER, 9, 0, got, sizeof got, got), 0);
    while (done.context != got) {
        assert_true(now_ns() < end_ns);
        (void)beowire_poll(pair.a, NULL, 0);
        (void)beowire_poll(pair.b, &done, 1);
    }
    memset(data, 'x', sizeof data);
    assert_memory_equal(got, data, sizeof data);
    close_pair(&pair);
}

/** What is held back for more to come leaves when the application has looked a few times in vain.
 */
TEST(poll__sends_what_is_held_back_when_nothing_more_comes)
{
    struct ends pair = hold_back();

    for (unsigned i = 0; i < 3; i++) {
        be_in_a_run(pair.a, HOLD_RUN_MIN);
        assert_int_equal(beowire_send(pair.a, pair.to, 1, 0, held, sizeof held, NULL), 0);
        pair.a->idle_polls = 0; /* no timers, and not too late, however slow this is */
        pair.a->core.deadline_ns = UINT64_MAX;
        pair.a->core.hold.since_ns = now_ns() + SECOND;
        be_in_a_run(pair.a, pair.a->core.hold.run);
        (void)beowire_poll(pair.a, NULL, 0); /* once after each */
        assert_int_not_equal(pair.flow->highest, pair.flow->next);
    }
    for (unsigned i = 0; i < 8 && pair.flow->highest != pair.flow->next; i++) {
        (void)beowire_poll(pair.a, NULL, 0);
    }
    assert_int_equal(pair.flow->highest, pair.flow->next);
    turn_leave(&pair.b->turn);
    close_pair(&pair);
}
