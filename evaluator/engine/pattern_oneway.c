/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_oneway.c - a message one way, and an answer with its time of arrival: measures the
 * one-way time, and bounds of the offset between the two ends' clocks.
 *
 * A message arrives after it was sent, and before its answer arrives. So each exchange bounds the
 * offset (the other end's clock minus ours):
 *
 *      came - done  <=  offset  <=  came - sent
 *
 * The tightest bounds of all exchanges are kept, as SKaMPI does; NTP and F. Cristian's algorithm
 * use only the quickest exchange. The evaluator decides how precise the samples are by these
 * bounds. On one kernel there is one clock, and the offset is 0.
 */
#include "pattern.h"
#include "timed.h"

#include "clock.h"

static void learn_clock(struct measure_clock *clock, const struct timed_exchange *one)
{
    const int64_t low_ns = (int64_t)(one->came_ns - one->done_ns);
    const int64_t high_ns = (int64_t)(one->came_ns - one->sent_ns);
    clock->low_ns = clock->known && clock->low_ns > low_ns ? clock->low_ns : low_ns;
    clock->high_ns = clock->known && clock->high_ns < high_ns ? clock->high_ns : high_ns;
    clock->known = true;
}

/* If the offset is hardly known, a message may seem to arrive before it was sent. */
static uint64_t one_way_ns(const struct run *run, const struct timed_exchange *one)
{
    const int64_t time_ns = (int64_t)(one->came_ns - run->request->clock_offset_ns - one->sent_ns);
    return time_ns > 0 ? (uint64_t)time_ns : 0;
}

static int exchange_all(struct run *run, uint64_t count, bool measured)
{
    struct measure_result *result = run->result;
    uint64_t look_at_ns = clock_now_ns() + RUN_LOOK_INTERVAL_NS;
    uint64_t done = 0;
    int error = 0;
    while (done < count && !run->stop) {
        struct timed_exchange one = {0};
        error = timed_exchange(run, &one);
        if (error != 0 && !timed_lost(run, error)) {
            break;
        }
        done++;
        const bool answered = error == 0;
        error = 0;
        if (answered) {
            learn_clock(&result->clock, &one);
        }
        if (measured) {
            result->sent++;
            result->received += answered ? 1 : 0;
            result->lost += answered ? 0 : 1;
        }
        if (measured && answered) {
            histogram_add(run->samples, one_way_ns(run, &one));
        }
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= look_at_ns || now_ns >= run->request->deadline_ns) {
            run->stop = run_should_end(run, now_ns);
            look_at_ns = now_ns + RUN_LOOK_INTERVAL_NS;
        }
    }
    result->stopped = done < count;
    result->in_step = error == 0;
    return error;
}

static int initiate(struct run *run)
{
    int error = exchange_all(run, run->request->skip, false);
    if (error != 0 || run->stop) {
        run->result->stopped = true;
        return error;
    }
    run_begin_measured(run);
    error = exchange_all(run, run->request->count, true);
    run_end_measured(run, clock_now_ns());
    return error;
}

const struct pattern PATTERN_ONEWAY = {
    .name = "oneway",
    .summary = "one message there, and one back with the time when the first arrived",
    .reports = PATTERN_TIMES,
    .needs = PATTERN_NEEDS_PEER,
    .min_size = TIMED_BYTES,
    .initiate = initiate,
    .respond = timed_respond,
};
