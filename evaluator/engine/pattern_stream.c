/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_stream.c - messages one way, many under way at once. Drivers whose sends and receives can
 * be posted in advance have functions for that (driver.h).
 *
 * Over a reliable driver, the skipped messages are answered before the clock starts, and all are
 * answered before it stops: so exactly the measured messages are timed. Over an unreliable one, the
 * messages that arrive at the responder count.
 */
#include <errno.h>

#include "clock.h"
#include "pattern.h"
#include "run.h"

/* Sends one message; `more` follow. */
static int stream_out(const struct run *run, uint64_t more)
{
    const struct measure_request *request = run->request;
    return request->driver->stream_send == NULL
               ? run_send(run)
               : request->driver->stream_send(request->session, run->outgoing, request->size, more);
}

static int stream_in(const struct run *run, uint64_t more)
{
    const struct measure_request *request = run->request;
    return request->driver->stream_receive == NULL
               ? run_receive(run)
               : request->driver->stream_receive(request->session, run->incoming, request->size,
                                                 more);
}

static int initiate(struct run *run)
{
    const struct measure_request *request = run->request;
    const struct driver *driver = request->driver;
    struct pace pace = pace_start();
    const uint64_t wanted = request->skip + request->count;
    uint64_t done = 0;
    int error = 0;
    run_stamp(run);
    while (done < request->skip && !run->stop &&
           (error = stream_out(run, request->skip - done - 1)) == 0) {
        done++;
        pace_message(&pace, run);
    }
    /* Skipped messages must have arrived before the measured time begins. */
    if (error == 0 && done > 0 && done == request->skip && run_is_answered(run)) {
        error = run_receive_answer(run);
    }
    run_begin_measured(run);
    while (error == 0 && done < wanted && !run->stop &&
           (error = stream_out(run, wanted - done - 1)) == 0) {
        done++;
        pace_message(&pace, run);
    }
    bool answered = false;
    if (error == 0 && done == wanted && run_is_answered(run)) {
        error = run_receive_answer(run);
        answered = error == 0;
    }
    run_end_measured(run, clock_now_ns());
    run->result->sent = done > request->skip ? done - request->skip : 0;
    run->result->received = driver->receive == NULL ? run->result->sent : 0;
    run->result->stopped = done < wanted;
    run->result->in_step = answered || driver->receive == NULL;
    return error;
}

/* The clock starts at the last skipped message, or at the first message if none are skipped. */
static int begin_at(struct run *run, uint64_t arrived)
{
    /* Probes first, because reading them takes time, and the other end waits for this answer. */
    run_begin_probes(run);
    int error = arrived == run->request->skip && run_is_answered(run) ? run_send_answer(run) : 0;
    run_begin_clock(run);
    return error;
}

static int receive_all(struct run *run)
{
    const struct measure_request *request = run->request;
    const bool reliable = request->driver->reliable;
    const uint64_t wanted = request->skip + request->count;
    const uint64_t first = request->skip == 0 ? 1 : request->skip;
    struct pace pace = pace_start();
    uint64_t arrived = 0;
    uint64_t last_ns = 0;
    int error = 0;
    while (arrived < wanted && !run->stop) {
        error = stream_in(run, wanted - arrived - 1);
        if (error == -ETIMEDOUT && !reliable) {
            error = 0;
            run->stop = run_should_end(run, clock_now_ns());
            continue;
        }
        if (error != 0) {
            break;
        }
        arrived++;
        if (arrived == first) {
            error = begin_at(run, arrived);
            if (error != 0) {
                break;
            }
            last_ns = run->started_ns;
        } else if (!reliable) {
            last_ns = clock_now_ns(); /* any message may be the last */
        }
        pace_message(&pace, run);
    }
    if (arrived >= first && run->started_ns != 0) {
        run_end_measured(run, reliable ? clock_now_ns() : last_ns);
    }
    run->result->received = arrived > request->skip ? arrived - request->skip : 0;
    run->result->stopped = arrived < wanted;
    run->result->in_step = arrived == wanted;
    return error;
}

static int respond(struct run *run)
{
    int error = receive_all(run);
    if (error == 0 && !run->result->stopped && run->request->driver->reliable) {
        error = run_send_answer(run);
        run->result->in_step = error == 0;
    }
    return error;
}

const struct pattern PATTERN_STREAM = {
    .name = "stream",
    .summary = "messages one way, many under way at once; the last is answered",
    .reports = PATTERN_RATES,
    .needs = PATTERN_NEEDS_PEER,
    .initiate = initiate,
    .respond = respond,
};
