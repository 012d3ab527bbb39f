/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_incast.c - one of many senders: sends messages to an end to which others send at the same
 * times (schedule.h); each is answered. The senders do not know of one another. The evaluator
 * starts them together and combines their completion times.
 */
#include "clock.h"
#include "pattern.h"
#include "run.h"
#include "schedule.h"

static int send_next(struct run *run, const struct schedule *schedule, bool measured)
{
    struct measure_result *result = run->result;
    int error = run_send(run);
    if (error == 0) {
        error = run_receive_answer(run);
    }
    if (error != 0 || !measured) {
        return error;
    }
    const uint64_t took_ns = clock_now_ns() - schedule->due_ns;
    histogram_add(run->samples, took_ns);
    if (result->finished < MEASURE_FINISHED_MAX) {
        result->finished_ns[result->finished++] = took_ns;
    }
    result->late += schedule_is_late(schedule) ? 1 : 0;
    result->sent++;
    result->received++;
    return 0;
}

static int initiate(struct run *run)
{
    return schedule_run(run, send_next);
}

static int respond(struct run *run)
{
    const struct measure_request *request = run->request;
    const uint64_t wanted = request->skip + request->count;
    struct pace pace = pace_start();
    uint64_t arrived = 0;
    int error = 0;
    run_begin_measured(run);
    while (error == 0 && arrived < wanted && !run->stop) {
        error = run_receive(run);
        if (error == 0) {
            error = run_send_answer(run);
        }
        if (error == 0 && ++arrived == request->skip) {
            run_begin_measured(run);
        }
        pace_message(&pace, run);
    }
    run_end_measured(run, clock_now_ns());
    run->result->received = arrived > request->skip ? arrived - request->skip : 0;
    run->result->stopped = arrived < wanted;
    return error; /* in step: the initiator stops only between messages */
}

const struct pattern PATTERN_INCAST = {
    .name = "incast",
    .summary = "messages to an end to which others send at the same time, each answered",
    .reports = PATTERN_TIMES,
    .needs = PATTERN_NEEDS_PEER | PATTERN_NEEDS_RELIABLE,
    .initiate = initiate,
    .respond = respond,
};
