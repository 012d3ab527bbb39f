/* SPDX-License-Identifier: BSD-3-Clause */
/* What is posted leaves, whatever sender and receiver do besides. */
#include "endpoint/core_internal.h"
#include "simulation/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MILLISECOND UINT64_C(1000000)
#define FOR_EVER (UINT64_C(1) << 40)

/** Two nodes that are connected; node 0 sends. */
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

static void inject(struct pair *pair)
{
    assert_int_equal(cluster_inject(&pair->cluster, 0, pair->to, 1, 0, "row", 3), 0);
}

static uint32_t unsent(const struct pair *pair)
{
    const struct flow *flow = &pair->to->message.flow;

    return flow->next - flow->highest;
}

/** Nothing that the peer has not acknowledged keeps back what is sent between pieces of work. */
static void core_post__leaves_at_once_though_the_peer_computes(void **state)
{
    struct pair *pair = *state;

    cluster_pause(&pair->cluster, 1, FOR_EVER);
    for (unsigned i = 0; i < FLOW_INITIAL_CREDIT_FRAMES - 2; i++) {
        let_pass(pair, 2000);
        inject(pair);
        assert_int_equal(unsent(pair), 0);
        assert_false(core_has_held(pair->from));
    }
}

/** Its acknowledgements, and the credit in them, are taken by its sends. */
static void core_post__whoever_only_sends_hears_of_credit(void **state)
{
    struct pair *pair = *state;

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

static void core_post__in_a_run_some_go_together(void **state)
{
    struct pair *pair = *state;

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

static void core_post__after_a_run_sends_what_was_held_as_well(void **state)
{
    struct pair *pair = *state;

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
static void core_post__in_a_long_run_nothing_is_held_for_long(void **state)
{
    struct pair *pair = *state;
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

/** A run that computing ended is sent late, by the keeper; but not ever again. */
static void core_post__learns_that_runs_end_in_computing(void **state)
{
    struct pair *pair = *state;
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

#define POST_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        POST_TEST(core_post__leaves_at_once_though_the_peer_computes),
        POST_TEST(core_post__whoever_only_sends_hears_of_credit),
        POST_TEST(core_post__in_a_run_some_go_together),
        POST_TEST(core_post__after_a_run_sends_what_was_held_as_well),
        POST_TEST(core_post__in_a_long_run_nothing_is_held_for_long),
        POST_TEST(core_post__learns_that_runs_end_in_computing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
