/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_overlap.c - how much of a transfer proceeds while the application computes.
 *
 * The initiator begins a transfer, computes for as long as the transfer takes alone, and then waits
 * for its completion. The time beyond the computing is the cost of the message: almost nothing if
 * all of the transfer overlapped, its whole time if nothing did. It is measured for the initiator
 * as the sender (until the responder's answer) and as the receiver (of a message that it requests),
 * each first alone, without computing. The responder only answers.
 *
 *      initiator                                responder
 *        post message, compute, wait  --------->  receive
 *                                     <---------  send answer
 *        post receive, post request,  --------->  receive request
 *        compute, wait                <---------  send message
 */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "pattern.h"
#include "posts.h"
#include "work.h"

struct overlap {
    struct posts posts;
    struct work work;
    struct histogram alone[2]; /* durations of transfers: sent, received */
    struct histogram beside[2];
};

static int begin_sending(struct posts *posts)
{
    const struct run *run = posts->run;
    int error = posts_receive(posts, run->incoming, run_answer_bytes(run));
    return error == 0 ? posts_send(posts, run->outgoing, run->request->size) : error;
}

static int begin_receiving(struct posts *posts)
{
    const struct run *run = posts->run;
    int error = posts_receive(posts, run->incoming, run->request->size);
    return error == 0 ? posts_send(posts, run->outgoing, run_answer_bytes(run)) : error;
}

/* One transfer while computing `steps`. `cost_ns`: its time beyond the computing. */
static int transfer(struct overlap *overlap, bool sends, uint64_t steps, uint64_t *cost_ns)
{
    const uint64_t start_ns = clock_now_ns();
    int error = sends ? begin_sending(&overlap->posts) : begin_receiving(&overlap->posts);
    if (error == 0) {
        work_do(steps);
        error = posts_settle(&overlap->posts);
    }
    const uint64_t took_ns = clock_now_ns() - start_ns;
    const uint64_t work = work_ns(&overlap->work, steps);
    *cost_ns = took_ns > work ? took_ns - work : 1; /* all overlapped, as far as measurable */
    return error;
}

/* Both directions alone, then while computing. `cost_ns` is the sum of both. */
static int exchange(struct overlap *overlap, uint64_t *cost_ns)
{
    int error = 0;
    *cost_ns = 0;
    for (int way = 0; error == 0 && way < 2; way++) {
        uint64_t alone_ns;
        uint64_t beside_ns = 0;
        error = transfer(overlap, way == 0, 0, &alone_ns);
        if (error == 0) {
            error = transfer(overlap, way == 0, work_steps(&overlap->work, alone_ns), &beside_ns);
        }
        if (error == 0) {
            histogram_add(&overlap->alone[way], alone_ns);
            histogram_add(&overlap->beside[way], beside_ns);
        }
        *cost_ns += beside_ns;
    }
    return error;
}

/* The median, because one stall of the machine would dominate the mean. */
static uint64_t median_ns(const struct histogram *histogram)
{
    uint64_t below = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        below += histogram->counts[i];
        if (2 * below >= histogram->samples && histogram->samples > 0) {
            return histogram_lower(i);
        }
    }
    return 0;
}

static int exchange_all(struct overlap *overlap, uint64_t count, bool measured)
{
    struct run *run = overlap->posts.run;
    uint64_t look_at_ns = clock_now_ns() + RUN_LOOK_INTERVAL_NS;
    uint64_t done = 0;
    int error = 0;
    while (error == 0 && done < count && !run->stop) {
        uint64_t cost_ns;
        error = exchange(overlap, &cost_ns);
        if (error == 0) {
            done++;
        }
        if (error == 0 && measured) {
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
        for (int way = 0; way < 2; way++) {
            run->result->overlap.alone_ns[way] = median_ns(&overlap->alone[way]);
            run->result->overlap.beside_ns[way] = median_ns(&overlap->beside[way]);
        }
        run_end_measured(run, clock_now_ns());
    }
    run->result->stopped = done < count;
    run->result->in_step = error == 0;
    return error;
}

static void clear(struct overlap *overlap)
{
    for (int way = 0; way < 2; way++) {
        histogram_clear(&overlap->alone[way]);
        histogram_clear(&overlap->beside[way]);
    }
}

static int initiate(struct run *run)
{
    struct overlap *overlap = calloc(1, sizeof *overlap); /* too large for the stack */
    if (overlap == NULL) {
        return -ENOMEM;
    }
    overlap->posts.run = run;
    overlap->work = work_calibrate();
    int error = exchange_all(overlap, run->request->skip, false);
    if (error == 0 && !run->stop) {
        clear(overlap);
        run_begin_measured(run);
        error = exchange_all(overlap, run->request->count, true);
    }
    free(overlap);
    return error;
}

/* The responder's part of an exchange: twice each direction. */
static int answer(const struct run *run)
{
    int error = 0;
    for (int i = 0; error == 0 && i < 4; i++) {
        error = i < 2 ? run_receive(run) : run_receive_answer(run);
        if (error == 0) {
            error = i < 2 ? run_send_answer(run) : run_send(run);
        }
    }
    return error;
}

static int respond(struct run *run)
{
    const struct measure_request *request = run->request;
    const uint64_t wanted = request->skip + request->count;
    struct pace pace = pace_start();
    uint64_t done = 0;
    int error = 0;
    while (error == 0 && done < wanted && !run->stop) {
        if (done == request->skip) {
            run_begin_measured(run);
        }
        error = answer(run);
        done += error == 0 ? 1 : 0;
        pace_message(&pace, run);
    }
    if (run->started_ns != 0) {
        run_end_measured(run, clock_now_ns());
    }
    run->result->received = done > request->skip ? done - request->skip : 0;
    run->result->sent = run->result->received;
    run->result->stopped = done < wanted;
    return error; /* in step: the initiator stops only between exchanges */
}

const struct pattern PATTERN_OVERLAP = {
    .name = "overlap",
    .summary = "a message sent, and one received, by an end that computes meanwhile",
    .reports = PATTERN_TIMES,
    .needs = PATTERN_NEEDS_PEER | PATTERN_NEEDS_RELIABLE | PATTERN_NEEDS_POSTING,
    .initiate = initiate,
    .respond = respond,
};
