/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of remote memory finds what it is there to find: each of its rules is broken here. */
#include "simulation/remote_oracle.h"

#include "lane/sim/sim_join.h"
#include "simulation/oracle.h"
#include "simulation/run.h"
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>

#define SECOND UINT64_C(1000000000)
#define OPERATIONS 400

struct fixture {
    struct cluster cluster;
    struct workload workload;
    struct remote_work work;
};

/** Two nodes, and operations of every kind that have all ended as they should. */
static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct workload_options options = WORKLOAD_OPTIONS_DEFAULT;
    const struct remote_options remote = {.operations = OPERATIONS, .duration_ns = 1000000};

    if (fixture == NULL) {
        return -1;
    }
    options.messages = 1;
    cluster_open(&fixture->cluster, &wire);
    cluster_start(&fixture->cluster, 0);
    cluster_start(&fixture->cluster, 1);
    workload_open(&fixture->workload, &fixture->cluster, &options, 1);
    remote_work_open(&fixture->work, &fixture->workload, &remote, 1);
    *state = fixture;
    if (!workload_run(&fixture->workload, wire.start_ns + SECOND)) {
        return -1;
    }
    while (cluster_now(&fixture->cluster) < wire.start_ns + 2 * SECOND) {
        (void)workload_step(&fixture->workload, wire.start_ns + 2 * SECOND);
    }
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    workload_close(&fixture->workload);
    remote_work_close(&fixture->work);
    cluster_close(&fixture->cluster);
    free(fixture);
    return 0;
}

#define JUDGE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, teardown)

static void assert_blamed(const struct fixture *fixture, const uint64_t *counter)
{
    const struct workload_verdict *verdict = &fixture->workload.verdict;

    assert_int_not_equal(*counter, 0);
    assert_int_equal(verdict->lost + verdict->duplicated + verdict->corrupted + verdict->hung +
                         verdict->disordered + verdict->wrong,
                     *counter);
    assert_int_not_equal(verdict->first[0], '\0');
}

/** One of this kind that has a byte to be wrong; of the sound ones, one that is told of. */
static struct remote_operation *some(struct fixture *fixture, enum remote_work_kind kind,
                                     enum remote_work_flaw flaw)
{
    for (uint32_t i = 0; i < fixture->work.count; i++) {
        struct remote_operation *operation = &fixture->work.operations[i];
        if (operation->kind == kind && operation->flaw == flaw && operation->bytes > 1 &&
            (operation->notify || flaw != REMOTE_WORK_SOUND)) {
            return operation;
        }
    }
    fail();
    return NULL;
}

static struct remote_operation *some_sound(struct fixture *fixture, enum remote_work_kind kind)
{
    return some(fixture, kind, REMOTE_WORK_SOUND);
}

/** What an operation's end would be, and that it has not come yet. */
static struct beowire_completion end_again(struct fixture *fixture,
                                           struct remote_operation *operation)
{
    static const enum beowire_operation operations[REMOTE_WORK_KINDS] = {
        BEOWIRE_PUT, BEOWIRE_GET, BEOWIRE_ATOMIC, BEOWIRE_ATOMIC, BEOWIRE_ATOMIC};

    operation->ended = false;
    for (uint64_t at = 0; operation->kind == REMOTE_WORK_GET && at < operation->bytes; at++) {
        operation->data[at] =
            remote_work_before(operation, operation->to_generation, operation->offset + at);
    }
    return (struct beowire_completion){
        .context = operation,
        .operation = operations[operation->kind],
        .status = operation->status,
        .peer = cluster_peer(&fixture->cluster, operation->from, operation->to)->message.index,
        .bytes = operation->bytes,
    };
}

static struct beowire_completion notice_of(struct fixture *fixture,
                                           const struct remote_operation *put)
{
    return (struct beowire_completion){
        .operation = BEOWIRE_PUT_ARRIVED,
        .peer = cluster_peer(&fixture->cluster, put->to, put->from)->message.index,
        .immediate = put->index,
        .tag = put->key,
        .bytes = put->bytes,
    };
}

static void restore(struct remote_operation *operation)
{
    for (uint64_t at = 0; at < operation->region_bytes; at++) {
        operation->memory[at] = remote_work_before(operation, operation->to_generation, at);
    }
}

JUDGE_TEST(remote_oracle__all_is_well)
{
    const struct remote_counters *counters = &fixture->work.counters;

    remote_oracle_close(&fixture->work);
    assert_true(oracle_is_well(&fixture->workload.verdict));
    assert_int_equal(counters->puts + counters->gets + counters->atomics + counters->refused,
                     OPERATIONS);
    assert_true(counters->puts > 0 && counters->gets > 0 && counters->atomics > 0);
    assert_true(counters->refused > 0 && counters->notices > 0);
}

JUDGE_TEST(remote_oracle__the_same_end_again_is_well)
{
    for (uint32_t i = 0; i < fixture->work.count; i++) {
        struct remote_operation *operation = &fixture->work.operations[i];
        struct beowire_completion done = end_again(fixture, operation);
        remote_oracle_ended(&fixture->work, operation, &done);
        assert_true(oracle_is_well(&fixture->workload.verdict));
    }
}

JUDGE_TEST(remote_oracle__ended_twice)
{
    struct remote_operation *get = some_sound(fixture, REMOTE_WORK_GET);
    struct beowire_completion done = end_again(fixture, get);

    get->ended = true;
    remote_oracle_ended(&fixture->work, get, &done);
    assert_blamed(fixture, &fixture->workload.verdict.wrong);
}

JUDGE_TEST(remote_oracle__ended_as_another)
{
    struct remote_operation *put = some_sound(fixture, REMOTE_WORK_PUT);
    struct beowire_completion done = end_again(fixture, put);

    done.bytes++;
    remote_oracle_ended(&fixture->work, put, &done);
    assert_blamed(fixture, &fixture->workload.verdict.wrong);
}

JUDGE_TEST(remote_oracle__a_byte_that_was_got_is_wrong)
{
    struct remote_operation *get = some_sound(fixture, REMOTE_WORK_GET);
    struct beowire_completion done = end_again(fixture, get);

    get->data[get->bytes - 1] ^= 1;
    remote_oracle_ended(&fixture->work, get, &done);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}

JUDGE_TEST(remote_oracle__more_came_than_the_buffer_holds)
{
    struct remote_operation *get = some_sound(fixture, REMOTE_WORK_GET);

    get->data[get->bytes] ^= 1;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}

JUDGE_TEST(remote_oracle__a_put_that_was_not_done)
{
    restore(some_sound(fixture, REMOTE_WORK_PUT));
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.lost);
}

JUDGE_TEST(remote_oracle__a_byte_beside_is_touched)
{
    struct remote_operation *put = some_sound(fixture, REMOTE_WORK_PUT);

    put->memory[put->region_bytes - 1] ^= 1;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}

JUDGE_TEST(remote_oracle__a_flawed_put_is_done)
{
    some(fixture, REMOTE_WORK_PUT, REMOTE_WORK_BAD_ACCESS)->memory[0] ^= 1;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}

JUDGE_TEST(remote_oracle__errors_of_flaws)
{
    static const struct {
        enum remote_work_flaw flaw;
        int status;
    } wrong[] = {
        {REMOTE_WORK_SOUND, -EACCES},     {REMOTE_WORK_SOUND, -ETIMEDOUT},
        {REMOTE_WORK_BAD_KEY, 0},         {REMOTE_WORK_BAD_KEY, -ERANGE},
        {REMOTE_WORK_BAD_RANGE, -ERANGE}, {REMOTE_WORK_BAD_ACCESS, 0},
    };

    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct remote_operation *put = some(fixture, REMOTE_WORK_PUT, wrong[i].flaw);
        struct beowire_completion done = end_again(fixture, put);
        done.status = wrong[i].status;
        fixture->workload.verdict = (struct workload_verdict){0};
        remote_oracle_ended(&fixture->work, put, &done);
        assert_blamed(fixture, &fixture->workload.verdict.wrong);
    }
}

JUDGE_TEST(remote_oracle__a_sum_counted_twice)
{
    struct remote_operation *sum = some_sound(fixture, REMOTE_WORK_ADD);
    const uint64_t twice = sum->compare + 2 * sum->value;

    memcpy(sum->memory + sum->offset, &twice, sizeof twice);
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}

JUDGE_TEST(remote_oracle__a_swap_done_twice)
{
    struct remote_operation *swap = some_sound(fixture, REMOTE_WORK_SWAP);
    struct beowire_completion done = end_again(fixture, swap);

    swap->old = swap->value;
    remote_oracle_ended(&fixture->work, swap, &done);
    assert_blamed(fixture, &fixture->workload.verdict.duplicated);
}

JUDGE_TEST(remote_oracle__a_ticket_drawn_twice)
{
    struct remote_operation *first = some_sound(fixture, REMOTE_WORK_TICKET);

    first->old = first->old == 0 ? 1 : first->old - 1;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.duplicated);
}

JUDGE_TEST(remote_oracle__tickets_counted_wrongly)
{
    fixture->work.tickets[1]++;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.duplicated);
    fixture->workload.verdict = (struct workload_verdict){0};
    fixture->work.tickets[1] -= 2;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.lost);
}

JUDGE_TEST(remote_oracle__hangs)
{
    some_sound(fixture, REMOTE_WORK_GET)->ended = false;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.hung);
}

JUDGE_TEST(remote_oracle__told_twice_or_not_at_all)
{
    struct remote_operation *put = some_sound(fixture, REMOTE_WORK_PUT);
    struct beowire_completion done = notice_of(fixture, put);

    remote_oracle_noticed(&fixture->work, put->to, &done);
    assert_blamed(fixture, &fixture->workload.verdict.duplicated);
    fixture->workload.verdict = (struct workload_verdict){0};
    put->noticed = false;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.lost);
}

JUDGE_TEST(remote_oracle__told_too_early_or_of_another)
{
    struct remote_operation *put = some_sound(fixture, REMOTE_WORK_PUT);
    struct beowire_completion done = notice_of(fixture, put);

    done.immediate = some(fixture, REMOTE_WORK_PUT, REMOTE_WORK_BAD_KEY)->index;
    remote_oracle_noticed(&fixture->work, put->to, &done);
    assert_blamed(fixture, &fixture->workload.verdict.wrong);
    fixture->workload.verdict = (struct workload_verdict){0};
    done.immediate = fixture->work.count;
    remote_oracle_noticed(&fixture->work, put->to, &done);
    assert_blamed(fixture, &fixture->workload.verdict.wrong);
    fixture->workload.verdict = (struct workload_verdict){0};
    done.immediate = put->index;
    put->noticed = false;
    put->memory[put->offset + put->bytes - 1] ^= 1;
    remote_oracle_noticed(&fixture->work, put->to, &done);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}

/** One that failed may have been done, or a put in part; a sum not in part. */
JUDGE_TEST(remote_oracle__what_a_failed_one_may_leave)
{
    struct remote_operation *put = some_sound(fixture, REMOTE_WORK_PUT);
    struct remote_operation *sum = some_sound(fixture, REMOTE_WORK_ADD);

    workload_excuse(&fixture->workload, 0, 1, EXCUSE_PARTED);
    put->status = sum->status = -ETIMEDOUT;
    remote_oracle_close(&fixture->work);
    put->memory[put->offset] = remote_work_before(put, put->to_generation, put->offset);
    remote_oracle_close(&fixture->work);
    restore(put);
    restore(sum);
    remote_oracle_close(&fixture->work);
    assert_true(oracle_is_well(&fixture->workload.verdict));
    sum->memory[sum->offset] = remote_work_after(sum, sum->to_generation, sum->offset);
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}

/** A host may have written there before it saw that something else had come. */
JUDGE_TEST(remote_oracle__what_a_failed_put_may_leave_behind)
{
    struct remote_operation *put = some_sound(fixture, REMOTE_WORK_PUT);
    uint8_t before = remote_work_before(put, put->to_generation, put->offset);
    uint8_t after = remote_work_after(put, put->to_generation, put->offset);
    uint8_t wrong = SIM_MISPLACED;

    workload_excuse(&fixture->workload, 0, 1, EXCUSE_PARTED);
    put->status = -ETIMEDOUT;
    put->memory[put->offset] = SIM_MISPLACED;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted); /* no lane here could do that */
    fixture->workload.verdict = (struct workload_verdict){0};
    fixture->cluster.whole_rails = 0;
    remote_oracle_close(&fixture->work);
    assert_true(oracle_is_well(&fixture->workload.verdict));
    while (wrong == SIM_MISPLACED || wrong == before || wrong == after) {
        wrong++;
    }
    put->memory[put->offset] = wrong;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
    fixture->workload.verdict = (struct workload_verdict){0};
    put->memory[put->offset] = SIM_MISPLACED;
    put->status = 0;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}

/** What is there in an endpoint's place has memory of its own, which earlier puts do not touch. */
JUDGE_TEST(remote_oracle__memory_of_an_endpoint_that_took_anothers_place)
{
    struct remote_operation *put = some_sound(fixture, REMOTE_WORK_PUT);

    cluster_crash(&fixture->cluster, put->to);
    workload_node_ended(&fixture->workload, put->to);
    cluster_start(&fixture->cluster, put->to);
    workload_node_started(&fixture->workload, put->to);
    remote_oracle_close(&fixture->work);
    assert_true(oracle_is_well(&fixture->workload.verdict));
    put->memory[put->offset] ^= 1;
    remote_oracle_close(&fixture->work);
    assert_blamed(fixture, &fixture->workload.verdict.corrupted);
}
