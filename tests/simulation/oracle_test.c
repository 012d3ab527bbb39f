/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The judge of simulations is no use if it finds nothing: each rule that it knows is broken here.
 */
#include "simulation/oracle.h"
#include "simulation/run.h"
#include "simulation/scenario.h"
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>

#define MILLISECOND UINT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

struct fixture {
    struct cluster cluster;
    struct workload workload;
};

/** Two nodes, and messages that have all been sent and received as they should. */
static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct workload_options options = WORKLOAD_OPTIONS_DEFAULT;

    if (fixture == NULL) {
        return -1;
    }
    cluster_open(&fixture->cluster, &wire);
    cluster_start(&fixture->cluster, 0);
    cluster_start(&fixture->cluster, 1);
    options.tags = 1;
    options.any_peer_ppm = options.any_tag_ppm = options.short_ppm = 0;
    /* This seed leaves receives over. */
    workload_open(&fixture->workload, &fixture->cluster, &options, 5);
    *state = fixture;
    return workload_run(&fixture->workload, wire.start_ns + SECOND) ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    workload_close(&fixture->workload);
    cluster_close(&fixture->cluster);
    free(fixture);
    return 0;
}

#define ORACLE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, teardown)

/** Has exactly this counter been raised, and said why? */
static void assert_blamed(const struct fixture *fixture, const uint64_t *counter)
{
    const struct workload_verdict *verdict = &fixture->workload.verdict;

    assert_int_not_equal(*counter, 0);
    assert_int_equal(verdict->lost + verdict->duplicated + verdict->corrupted + verdict->hung +
                         verdict->disordered + verdict->wrong,
                     *counter);
    assert_false(oracle_is_well(verdict));
    assert_int_not_equal(verdict->first[0], '\0');
}

/** A receive of the node that has not ended; NULL: there is none. */
static struct workload_receive *find_waiting(struct fixture *fixture, uint32_t node)
{
    struct workload *workload = &fixture->workload;

    for (uint32_t i = 0; i < workload->receive_count; i++) {
        struct workload_receive *receive = &workload->receives[i];
        if (receive->at == node && receive->posted && !receive->ended) {
            return receive;
        }
    }
    return NULL;
}

/** The same where `message` went, with a buffer that holds what that sent. */
static struct workload_receive *waiting_receive(struct fixture *fixture,
                                                const struct workload_message *message)
{
    struct workload_receive *receive = find_waiting(fixture, message->to);

    assert_non_null(receive);
    for (uint64_t at = 0; at < message->bytes; at++) {
        receive->data[at] = workload_content(message, at);
    }
    return receive;
}

static struct beowire_completion completion_of(struct fixture *fixture,
                                               const struct workload_message *message)
{
    struct cluster *cluster = &fixture->cluster;

    return (struct beowire_completion){
        .operation = BEOWIRE_RECEIVE,
        .peer = cluster_peer(cluster, message->to, message->from)->message.index,
        .immediate = message->index,
        .tag = message->tag,
        .bytes = message->bytes,
    };
}

/** One to a node that has receives left. */
static struct workload_message *some_message(struct fixture *fixture)
{
    for (uint32_t i = 0; i < fixture->workload.message_count; i++) {
        struct workload_message *message = &fixture->workload.messages[i];
        if (message->bytes > 100 && find_waiting(fixture, message->to) != NULL) {
            return message;
        }
    }
    fail();
    return NULL;
}

ORACLE_TEST(oracle__all_is_well)
{
    workload_check_all(&fixture->workload);
    assert_true(oracle_is_well(&fixture->workload.verdict));
    assert_int_equal(fixture->workload.counters.delivered, fixture->workload.message_count);
}

ORACLE_TEST(oracle__received_twice)
{
    struct workload_message *message = some_message(fixture);
    struct beowire_completion done = completion_of(fixture, message);

    oracle_received(&fixture->workload, waiting_receive(fixture, message), &done);
    assert_blamed(fixture, &fixture->workload.verdict.duplicated);
}

ORACLE_TEST(oracle__a_byte_is_wrong)
{
    struct workload_message *message = some_message(fixture);
    struct beowire_completion done = completion_of(fixture, message);
    struct workload_receive *receive = waiting_receive(fixture, message);

    message->received = false;
    receive->data[message->bytes - 1] ^= 1;
    oracle_received(&fixture->workload, receive, &done);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}

ORACLE_TEST(oracle__more_than_the_buffer_holds)
{
    struct workload_message *message = some_message(fixture);
    struct beowire_completion done = completion_of(fixture, message);
    struct workload_receive *receive = waiting_receive(fixture, message);

    message->received = false;
    receive->data[receive->capacity] ^= 1;
    oracle_received(&fixture->workload, receive, &done);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}

ORACLE_TEST(oracle__another_tag)
{
    struct workload_message *message = some_message(fixture);
    struct beowire_completion done = completion_of(fixture, message);

    message->received = false;
    done.tag++;
    oracle_received(&fixture->workload, waiting_receive(fixture, message), &done);
    assert_blamed(fixture, &fixture->workload.verdict.wrong);
}

ORACLE_TEST(oracle__a_message_that_nobody_sent)
{
    struct workload_message *message = some_message(fixture);
    struct beowire_completion done = completion_of(fixture, message);

    done.immediate = fixture->workload.message_count;
    oracle_received(&fixture->workload, waiting_receive(fixture, message), &done);
    assert_blamed(fixture, &fixture->workload.verdict.wrong);
}

ORACLE_TEST(oracle__a_message_for_an_earlier_endpoint)
{
    struct workload_message *message = some_message(fixture);
    struct beowire_completion done = completion_of(fixture, message);

    message->received = false;
    message->to_generation--;
    oracle_received(&fixture->workload, waiting_receive(fixture, message), &done);
    assert_blamed(fixture, &fixture->workload.verdict.wrong);
}

ORACLE_TEST(oracle__out_of_order)
{
    struct workload *workload = &fixture->workload;

    for (uint32_t i = 0; i < workload->receive_count; i++) {
        struct workload_receive *first = &workload->receives[i];
        for (uint32_t j = i + 1; first->got != NULL && j < workload->receive_count; j++) {
            struct workload_receive *second = &workload->receives[j];
            if (second->got != NULL && second->at == first->at) {
                struct workload_message *got = first->got;
                first->got = second->got;
                second->got = got;
                oracle_order(workload);
                assert_blamed(fixture, &workload->verdict.disordered);
                return;
            }
        }
    }
    fail();
}

ORACLE_TEST(oracle__lost)
{
    some_message(fixture)->received = false;
    workload_cancel(&fixture->workload);
    oracle_close(&fixture->workload);
    assert_blamed(fixture, &fixture->workload.verdict.lost);
}

ORACLE_TEST(oracle__lost_is_excused_only_between_those_who_lost_each_other)
{
    struct workload_message *message = some_message(fixture);

    /* Of a short one: of a long one, the sender was told that it had arrived. */
    message->received = false;
    message->bytes = 100;
    workload_cancel(&fixture->workload);
    workload_excuse(&fixture->workload, 0, 1, EXCUSE_PARTED);
    oracle_close(&fixture->workload);
    assert_true(oracle_is_well(&fixture->workload.verdict));
    message->bytes = MESSAGE_EAGER_BYTES_MAX + 1;
    oracle_close(&fixture->workload);
    assert_blamed(fixture, &fixture->workload.verdict.lost);
}

ORACLE_TEST(oracle__hangs)
{
    struct workload_message *message = some_message(fixture);

    message->ended = false;
    workload_cancel(&fixture->workload);
    oracle_close(&fixture->workload);
    assert_blamed(fixture, &fixture->workload.verdict.hung);
}

ORACLE_TEST(oracle__a_receive_hangs)
{
    /* They were not taken back. */
    oracle_close(&fixture->workload);
    assert_blamed(fixture, &fixture->workload.verdict.hung);
}

ORACLE_TEST(oracle__ended_twice)
{
    struct workload_message *message = some_message(fixture);
    struct beowire_completion done = {
        .operation = BEOWIRE_SEND,
        .peer = cluster_peer(&fixture->cluster, message->from, message->to)->message.index,
        .tag = message->tag,
        .bytes = message->bytes};

    oracle_sent(&fixture->workload, message, &done);
    assert_blamed(fixture, &fixture->workload.verdict.wrong);
}

ORACLE_TEST(oracle__errors_and_their_excuses)
{
    struct workload *workload = &fixture->workload;
    const struct {
        unsigned excuse;
        int status;
        bool right;
    } cases[] = {
        {0, -ETIMEDOUT, false},
        {0, -ECONNRESET, false},
        {EXCUSE_CRASHED, -ETIMEDOUT, true},
        {EXCUSE_CRASHED, -ECONNRESET, false}, /* nobody is there to say so */
        {EXCUSE_ENDED, -ECONNRESET, true},
        {EXCUSE_PARTED, -ECONNRESET, true},
        {EXCUSE_PARTED, -EPROTO, false},
        {EXCUSE_MANGLED, -EPROTO, true},
        {EXCUSE_MANGLED, -EINVAL, false},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(workload->excuses, (int)cases[i].excuse, 4);
        workload->verdict = (struct workload_verdict){0};
        oracle_refused(workload, 0, 1, cases[i].status);
        assert_int_equal(oracle_is_well(&workload->verdict), cases[i].right);
    }
}

/* ---- whole runs ---------------------------------------------------------------------------- */

/** Without any checksum there would be wrong bytes, and the judge sees them. */
TEST(run__bytes_that_no_check_sum_guards)
{
    struct run_options options = RUN_OPTIONS_DEFAULT;
    struct run_result result;
    uint64_t corrupted = 0;

    assert_true(scenario_find("wire", &options.kinds));
    options.undetected_ppm = 3000;
    options.unchecked = 1;
    for (options.seed = 1; options.seed <= 30 && corrupted == 0; options.seed++) {
        bool well = run(&options, &result);
        assert_int_equal(well, oracle_is_well(&result.verdict));
        corrupted += result.verdict.corrupted;
    }
    assert_int_not_equal(corrupted, 0);
}

/** Nothing is wrong, lost or stuck where frames have checksums: one in fifty has another byte. */
TEST(run__bytes_that_checksums_guard)
{
    struct run_options options = RUN_OPTIONS_DEFAULT;
    struct run_result result;
    uint64_t damaged = 0;

    assert_true(scenario_find("wire", &options.kinds));
    options.undetected_ppm = 20000;
    for (options.seed = 1; options.seed <= 12; options.seed++) {
        assert_true(run(&options, &result));
        damaged += result.kinds.damaged;
    }
    assert_int_not_equal(damaged, 0);
}

/** More seeds are run twice where all is run by seeds (--repeat). */
TEST(run__same_seed_same_trace)
{
    struct run_options options = RUN_OPTIONS_DEFAULT;
    struct run_result first;
    struct run_result second;

    for (options.seed = 1; options.seed <= 3; options.seed++) {
        assert_true(run(&options, &first));
        assert_true(run(&options, &second));
        assert_int_equal(first.hash, second.hash);
        options.messages = first.messages + 1;
        (void)run(&options, &second);
        assert_int_not_equal(first.hash, second.hash);
        options.messages = RUN_ANY;
    }
}

TEST(scenario_find__by_name)
{
    uint32_t kinds = 0;

    assert_true(scenario_find("all", &kinds));
    assert_int_equal(kinds, RUN_ANY);
    assert_true(scenario_find("flood", &kinds));
    assert_int_equal(kinds, FAULT_BIT(FAULT_FLOOD));
    assert_false(scenario_find("weather", &kinds));
}
