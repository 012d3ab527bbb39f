/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_pipeline.c - the sender computes between messages, and the receiver computes as long on
 * each, as programs do whose ranks pass on rows, such as LU of the NAS benchmarks. Neither waits
 * for the network: messages leave and arrive while both ends compute.
 *
 *      initiator   work  send  work  send  work  send             wait for the answer
 *      responder         receive  work  receive  work  receive  work  answer
 *
 * A sweep is a batch of messages. The cost of a message is the time of a sweep beyond the work of
 * the initiator and the last work of the responder, divided by the number of messages. This needs
 * no common clock, and a cost that overlaps with work does not count, as in a program.
 */
#include <assert.h>
#include <errno.h>

#include "clock.h"
#include "pattern.h"
#include "run.h"
#include "work.h"

/* The work between two messages: about a row of LU, class A, and long compared with sending a short
 * message. */
#define PIECE_NS UINT64_C(20000)

/* Sends `messages`, computing `steps` before each. `cost_ns`: of each, beyond the work. */
static int sweep(const struct run *run, uint64_t messages, uint64_t steps, uint64_t *cost_ns)
{
    const uint64_t start_ns = clock_now_ns();
    uint64_t worked_ns = 0;
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < messages; i++) {
        const uint64_t work_ns = clock_now_ns();
        work_do(steps);
        worked_ns += clock_now_ns() - work_ns;
        error = run_send(run);
    }
    if (error == 0) {
        error = run_receive_answer(run);
    }
    const uint64_t took_ns = clock_now_ns() - start_ns;
    const uint64_t work_ns = worked_ns + worked_ns / messages; /* with the responder's last work */
    const uint64_t cost = took_ns > work_ns ? (took_ns - work_ns) / messages : 0;
    *cost_ns = cost == 0 ? 1 : cost; /* all overlapped, as far as measurable */
    return error;
}

static int sweep_all(struct run *run, uint64_t count, uint64_t steps, bool measured)
{
    const uint64_t batch = run->request->batch;
    uint64_t look_at_ns = clock_now_ns() + RUN_LOOK_INTERVAL_NS;
    uint64_t done = 0;
    int error = 0;
    assert(batch > 0);
    while (done < count && !run->stop) {
        const uint64_t messages = count - done < batch ? count - done : batch;
        uint64_t cost_ns;
        error = sweep(run, messages, steps, &cost_ns);
        if (error != 0) {
            break;
        }
        done += messages;
        if (measured) {
            histogram_add(run->samples, cost_ns);
        }
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= look_at_ns || now_ns >= run->request->deadline_ns) {
            run->stop = run_should_end(run, now_ns);
            look_at_ns = now_ns + RUN_LOOK_INTERVAL_NS;
        }
    }
    if (measured) {
        run->result->sent = run->result->received = done;
        run_end_measured(run, clock_now_ns());
    }
    run->result->stopped = done < count;
    run->result->in_step = error == 0;
    return error;
}

static int initiate(struct run *run)
{
    const struct work work = work_calibrate();
    const uint64_t steps = work_steps(&work, PIECE_NS);
    int error = sweep_all(run, run->request->skip, steps, false);
    if (error == 0 && !run->stop) {
        run_begin_measured(run);
        error = sweep_all(run, run->request->count, steps, true);
    }
    return error;
}

static int take_sweep(const struct run *run, uint64_t messages, uint64_t steps)
{
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < messages; i++) {
        error = run_receive(run);
        if (error == 0) {
            work_do(steps);
        }
    }
    return error == 0 ? run_send_answer(run) : error;
}

static int take_all(struct run *run, uint64_t count, uint64_t steps, uint64_t *done)
{
    struct pace pace = pace_start();
    int error = 0;
    for (uint64_t left = count; error == 0 && left > 0 && !run->stop;) {
        const uint64_t batch = run->request->batch;
        const uint64_t messages = left < batch ? left : batch;
        error = take_sweep(run, messages, steps);
        left -= messages;
        *done += error == 0 ? messages : 0;
        pace_message(&pace, run);
    }
    return error;
}

static int respond(struct run *run)
{
    const struct measure_request *request = run->request;
    const struct work work = work_calibrate();
    const uint64_t steps = work_steps(&work, PIECE_NS);
    uint64_t skipped = 0;
    uint64_t done = 0;
    int error = take_all(run, request->skip, steps, &skipped);
    run_begin_measured(run);
    if (error == 0) {
        error = take_all(run, request->count, steps, &done);
    }
    run_end_measured(run, clock_now_ns());
    run->result->received = done;
    run->result->stopped = done < request->count;
    return error; /* in step: the initiator stops only between sweeps */
}

const struct pattern PATTERN_PIPELINE = {
    .name = "pipeline",
    .summary = "messages one by one between pieces of work, to an end that works as long on each",
    .reports = PATTERN_TIMES,
    .needs = PATTERN_NEEDS_PEER | PATTERN_NEEDS_RELIABLE,
    .initiate = initiate,
    .respond = respond,
};
