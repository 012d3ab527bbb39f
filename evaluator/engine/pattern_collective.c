/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_collective.c - the driver's collective operations: barrier, broadcast, allreduce and
 * alltoall are a pattern each. As in IMB, operations follow one another without pause, in batches:
 *
 *      initiator   "more"            one operation   clock   a batch of them   clock
 *      responder           answer    one operation           a batch of them
 *
 * The first operation of a batch is not measured: it brings both ends into the same state as
 * between any two operations. The root of broadcasts alternates, because a single root would only
 * fill the queues towards the other end. "More" is the first byte of an answer. "No more" ends the
 * run, so both ends stop after the same batch even if they stop early.
 *
 * Both ends contribute the same contents, so each knows the right result. The initiator checks the
 * last operation of a run, the responder that of each batch.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "fill.h"
#include "pattern.h"
#include "run.h"

#define NO_MORE 0
#define MORE 1

static int operate(const struct run *run, enum driver_collective what, uint64_t number)
{
    const struct measure_request *request = run->request;
    return request->driver->collective(request->session, what,
                                       number % 2 == 0 ? DRIVER_INITIATOR : DRIVER_RESPONDER,
                                       run->outgoing, run->incoming, request->size);
}

/* The measured operations of a batch. */
static int operate_batch(const struct run *run, enum driver_collective what, uint64_t batch)
{
    int error = 0;
    for (uint64_t i = 1; error == 0 && i <= batch; i++) {
        error = operate(run, what, i);
    }
    return error;
}

/* Announces whether another batch follows. */
static int announce(const struct run *run, uint8_t what)
{
    const uint8_t content = run->outgoing[0];
    run->outgoing[0] = what;
    int error = run_send_answer(run);
    run->outgoing[0] = content;
    return error != 0 || what == NO_MORE ? error : run_receive_answer(run);
}

/* An alltoall has a message for each end. */
static uint64_t whole_bytes(const struct run *run, enum driver_collective what)
{
    return run->request->size * (what == DRIVER_ALLTOALL ? 2 : 1);
}

/* The right byte at `i` of the result. */
static uint8_t due(const struct run *run, enum driver_collective what, uint64_t i)
{
    const uint64_t size = run->request->size;
    switch (what) {
    case DRIVER_ALLREDUCE:
        return (uint8_t)(2U * run->outgoing[i]);
    case DRIVER_ALLTOALL: /* from each end, the part for this end */
        return run->outgoing[(run->request->role == DRIVER_INITIATOR ? 0 : size) + i % size];
    default:
        return run->outgoing[i];
    }
}

/* Both ends contribute the same bytes, whose sums fit into a byte: Open MPI with AVX saturates at
 * 255. The result buffer gets other contents. */
static void lay_out(const struct run *run, enum driver_collective what)
{
    fill_content(run->outgoing,
                 (whole_bytes(run, what) + 7) / 8 * 8); /* the buffer has room to round up */
    for (uint64_t i = 0; i < whole_bytes(run, what); i++) {
        run->outgoing[i] &= 0x7F;
    }
    for (uint64_t i = 0; i < whole_bytes(run, what); i++) {
        run->incoming[i] = (uint8_t)~due(run, what, i);
    }
}

static int verify(const struct run *run, enum driver_collective what)
{
    const struct measure_request *request = run->request;
    for (uint64_t i = 0; what != DRIVER_BARRIER && i < whole_bytes(run, what); i++) {
        if (run->incoming[i] != due(run, what, i)) {
            (void)snprintf(run->result->fault, sizeof run->result->fault,
                           "byte %llu of the result of %s is %u, not %u", (unsigned long long)i,
                           request->pattern->name, run->incoming[i], due(run, what, i));
            return -EBADMSG;
        }
    }
    return 0;
}

static int initiate_batch(struct run *run, enum driver_collective what, uint64_t batch,
                          bool measured)
{
    int error = announce(run, MORE);
    if (error == 0) {
        error = operate(run, what, 0);
    }
    const uint64_t start_ns = clock_now_ns();
    if (error == 0) {
        error = operate_batch(run, what, batch);
    }
    if (error == 0 && measured) {
        histogram_add(run->samples, (clock_now_ns() - start_ns + batch / 2) / batch);
    }
    return error;
}

static int initiate_all(struct run *run, enum driver_collective what, uint64_t count, bool measured)
{
    uint64_t look_at_ns = clock_now_ns() + RUN_LOOK_INTERVAL_NS;
    uint64_t done = 0;
    int error = 0;
    assert(run->request->batch > 0);
    while (done < count && !run->stop) {
        uint64_t batch = run->request->batch;
        batch = count - done < batch ? count - done : batch;
        error = initiate_batch(run, what, batch, measured);
        if (error != 0) {
            break;
        }
        done += batch;
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
    return error;
}

static int initiate(struct run *run, enum driver_collective what)
{
    const struct measure_request *request = run->request;
    lay_out(run, what);
    int error = initiate_all(run, what, request->skip, false);
    if (error == 0 && !run->stop) {
        run_begin_measured(run);
        error = initiate_all(run, what, request->count, true);
    }
    if (error == 0) {
        error = verify(run, what);
    }
    if (error == 0) {
        error = announce(run, NO_MORE);
    }
    run->result->in_step = error == 0;
    return error;
}

static int respond_batch(struct run *run, enum driver_collective what, uint64_t batch)
{
    int error = run_send_answer(run);
    if (error == 0) {
        error = operate(run, what, 0);
    }
    return error == 0 ? operate_batch(run, what, batch) : error;
}

/* Takes part in as many operations as the initiator wants. Skipped ones have their own batches. */
static int respond_all(struct run *run, enum driver_collective what, uint64_t *done)
{
    const struct measure_request *request = run->request;
    for (;;) {
        int error = run_receive_answer(run);
        if (error != 0 || run->incoming[0] == NO_MORE) {
            return error;
        }
        if (*done >= request->skip && run->started_ns == 0) {
            run_begin_measured(run);
        }
        const uint64_t until =
            *done < request->skip ? request->skip : request->skip + request->count;
        const uint64_t left = until - *done;
        const uint64_t batch = left < request->batch ? left : request->batch;
        if (batch == 0) {
            return -EPROTO; /* the other end wants more than requested */
        }
        error = respond_batch(run, what, batch);
        if (error != 0) {
            return error;
        }
        *done += batch;
        error = verify(run, what);
        if (error != 0) {
            return error;
        }
    }
}

static int respond(struct run *run, enum driver_collective what)
{
    const struct measure_request *request = run->request;
    uint64_t done = 0;
    lay_out(run, what);
    int error = respond_all(run, what, &done);
    if (run->started_ns != 0) {
        run_end_measured(run, clock_now_ns());
    }
    run->result->sent = run->result->received = done > request->skip ? done - request->skip : 0;
    run->result->stopped = done < request->skip + request->count;
    run->result->in_step = error == 0;
    return error;
}

/* A pattern of one operation: its functions do not get its name. */
#define COLLECTIVE(row, what, lower, called, says)                                                 \
    static int initiate_##lower(struct run *run)                                                   \
    {                                                                                              \
        return initiate(run, what);                                                                \
    }                                                                                              \
    static int respond_##lower(struct run *run)                                                    \
    {                                                                                              \
        return respond(run, what);                                                                 \
    }                                                                                              \
    const struct pattern row = {                                                                   \
        .name = (called),                                                                          \
        .summary = (says),                                                                         \
        .reports = PATTERN_TIMES,                                                                  \
        .needs = PATTERN_NEEDS_PEER | PATTERN_NEEDS_RELIABLE | PATTERN_NEEDS_COLLECTIVE,           \
        .initiate = initiate_##lower,                                                              \
        .respond = respond_##lower,                                                                \
    };

COLLECTIVE(PATTERN_BARRIER, DRIVER_BARRIER, barrier, "barrier",
           "barriers: each end waits for all others")
COLLECTIVE(PATTERN_BROADCAST, DRIVER_BROADCAST, broadcast, "broadcast",
           "broadcasts: one end sends to all, another one each time")
COLLECTIVE(PATTERN_ALLREDUCE, DRIVER_ALLREDUCE, allreduce, "allreduce",
           "reductions: all ends get the sum, byte by byte, of their messages")
COLLECTIVE(PATTERN_ALLTOALL, DRIVER_ALLTOALL, alltoall, "alltoall",
           "exchanges: each end sends a message to each, itself included")
