/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_open_loop.c - messages at a fixed rate (schedule.h), each timed from when it was due.
 *
 * If the two ends have one clock, each message carries its due time, and the receiving end computes
 * the one-way time; many messages may be under way at once. The last one is answered, and says that
 * it is the last:
 *
 *      bytes 0-7: due time    8-15: the run's serial number, 2 bits of its kind
 *
 * Otherwise each message is answered before the next one is sent (timed.h). Its time is its wait
 * until it could be sent, and half of its round trip.
 *
 * Without an interval every message is due as soon as it can be sent, which gives the maximum rate.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "pattern.h"
#include "schedule.h"
#include "timed.h"

enum kind {
    KIND_SKIPPED,
    KIND_MEASURED,
    KIND_END, /* no message: none follows */
};

#define KIND_BITS 2

static int send_one(const struct run *run, uint64_t due_ns, enum kind kind)
{
    const uint64_t what = run->request->serial << KIND_BITS | (uint64_t)kind;
    memcpy(run->outgoing, &due_ns, sizeof due_ns);
    memcpy(run->outgoing + sizeof due_ns, &what, sizeof what);
    return run_send(run);
}

/* Over a reliable driver: each end learns that the other has finished. */
static int settle(struct run *run)
{
    int error = run->result->stopped ? send_one(run, 0, KIND_END) : 0;
    if (error == 0) {
        error = run_receive_answer(run);
    }
    run->result->in_step = error == 0;
    return error;
}

static int send_next(struct run *run, const struct schedule *schedule, bool measured)
{
    int error = send_one(run, schedule->due_ns, measured ? KIND_MEASURED : KIND_SKIPPED);
    if (error == 0 && measured) {
        run->result->sent++;
        run->result->late += schedule_is_late(schedule) ? 1 : 0;
    }
    return error;
}

static int send_all(struct run *run)
{
    int error = schedule_run(run, send_next);
    run->result->in_step = false;
    return error == 0 && run->request->driver->reliable ? settle(run) : error;
}

/* The kind of a message; -1: it does not belong to this run. */
static int kind_of(const struct run *run)
{
    uint64_t what;
    memcpy(&what, run->incoming + sizeof(uint64_t), sizeof what);
    const uint64_t kind = what & ((1 << KIND_BITS) - 1);
    const uint64_t serial = run->request->serial << KIND_BITS >> KIND_BITS;
    return what >> KIND_BITS == serial && kind <= KIND_END ? (int)kind : -1;
}

static void take_sample(struct run *run, uint64_t now_ns)
{
    uint64_t due_ns;
    memcpy(&due_ns, run->incoming, sizeof due_ns);
    const int64_t time_ns = (int64_t)(now_ns - run->request->clock_offset_ns - due_ns);
    histogram_add(run->samples, time_ns > 0 ? (uint64_t)time_ns : 0);
    run->result->received++;
}

/* The time begins one interval before the first measured message, so that there are as many
 * intervals as messages. Without an interval it begins when the last skipped message arrived, or
 * the first of any. Probes begin when all skipped messages have arrived, for which the sender
 * waits. */
static void begin_at(struct run *run, int kind, uint64_t arrived, uint64_t now_ns)
{
    const uint64_t interval_ns = run->request->interval_ns;
    if (kind == KIND_SKIPPED && run->result->received == 0) {
        run->started_ns = now_ns;
    } else if (kind == KIND_MEASURED && run->result->received == 1 &&
               (interval_ns > 0 || arrived == 1)) {
        run->started_ns = now_ns - interval_ns;
    }
    if (kind == KIND_SKIPPED && arrived == run->request->skip) {
        run_begin_probes(run);
    }
}

static int mixed_up(struct run *run)
{
    (void)snprintf(run->result->fault, sizeof run->result->fault,
                   "a message of another run arrived");
    return -EBADMSG;
}

/* `last_ns`: when the last one arrived. */
static int take_all(struct run *run, uint64_t *arrived, uint64_t *last_ns)
{
    const struct measure_request *request = run->request;
    const uint64_t wanted = request->skip + request->count;
    struct pace pace = pace_start();
    while (*arrived < wanted && !run->stop) {
        int error = run_receive(run);
        const uint64_t now_ns = clock_now_ns();
        if (timed_lost(run, error)) {
            run->stop = run_should_end(run, now_ns);
            continue;
        }
        const int kind = error == 0 ? kind_of(run) : -1;
        if (error != 0 || (kind < 0 && request->driver->reliable)) {
            return error != 0 ? error : mixed_up(run);
        }
        if (kind == KIND_END) {
            break;
        }
        if (kind == KIND_MEASURED) {
            take_sample(run, now_ns);
            *last_ns = now_ns;
        }
        if (kind >= 0) {
            begin_at(run, kind, ++*arrived, now_ns);
        }
        pace_message(&pace, run);
    }
    return 0;
}

static int receive_all(struct run *run)
{
    const struct measure_request *request = run->request;
    uint64_t arrived = 0;
    uint64_t last_ns = 0;
    run->result->in_step = false;
    run_begin_measured(run);
    int error = take_all(run, &arrived, &last_ns);
    run_end_measured(run, last_ns > run->started_ns ? last_ns : run->started_ns);
    run->result->stopped = arrived < request->skip + request->count;
    if (error == 0 && !run->stop && request->driver->reliable) {
        error = run_send_answer(run);
        run->result->in_step = error == 0;
    }
    return error;
}

/* An answered message. `done` counts skipped ones, too. */
static int exchange_next(struct run *run, const struct schedule *schedule, bool measured)
{
    struct timed_exchange one = {0};
    int error = timed_exchange(run, &one);
    const bool lost = timed_lost(run, error);
    if ((error != 0 && !lost) || !measured) {
        return lost ? 0 : error;
    }
    run->result->sent++;
    run->result->lost += lost ? 1 : 0;
    run->result->late += schedule_is_late(schedule) ? 1 : 0;
    if (!lost) {
        run->result->received++;
        histogram_add(run->samples,
                      one.sent_ns - schedule->due_ns + (one.done_ns - one.sent_ns) / 2);
    }
    return 0;
}

static int initiate(struct run *run)
{
    return run->request->one_clock ? send_all(run) : schedule_run(run, exchange_next);
}

static int respond(struct run *run)
{
    return run->request->one_clock ? receive_all(run) : timed_respond(run);
}

const struct pattern PATTERN_OPEN_LOOP = {
    .name = "open-loop",
    .summary = "messages at a fixed rate, each timed from when it was due",
    .reports = PATTERN_TIMES,
    .needs = PATTERN_NEEDS_PEER,
    .min_size = TIMED_BYTES,
    .initiate = initiate,
    .respond = respond,
};
