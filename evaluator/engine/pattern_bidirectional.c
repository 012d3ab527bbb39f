/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_bidirectional.c - a stream each way at the same time, over one session.
 *
 * The clock starts after all skipped messages have arrived at both ends: the responder reports it,
 * and the initiator answers when it starts. The clock stops when everything has arrived at the
 * initiator, and the responder has reported that it has everything.
 */
#include <errno.h>

#include "clock.h"
#include "pattern.h"
#include "posts.h"

/* Posts as many as the window allows. 0; -EAGAIN: no room for a send; or an error. */
static int post_window(struct posts *posts, uint64_t *to_send, uint64_t *to_receive)
{
    const struct run *run = posts->run;
    int error = 0;
    while (error == 0 && *to_receive > 0 && posts->receiving < RUN_WINDOW) {
        error = posts_receive(posts, run->incoming, run->request->size);
        --*to_receive;
    }
    while (error == 0 && *to_send > 0 && posts->sending < RUN_WINDOW) {
        error = posts_try_send(posts, run->outgoing, run->request->size);
        *to_send -= error == 0 ? 1 : 0;
    }
    return error;
}

/* `count` messages each way; fewer if `run->stop` is set. */
static int stream_both(struct posts *posts, uint64_t count, struct pace *pace)
{
    struct run *run = posts->run;
    const uint64_t wanted = posts->sent + count;
    uint64_t to_send = count;
    uint64_t to_receive = count;
    int error = 0;
    while (error == 0 && !run->stop && (posts->sent < wanted || posts->received < wanted)) {
        error = post_window(posts, &to_send, &to_receive);
        if (error == 0 || error == -EAGAIN) {
            error = posts_progress(posts, error == 0);
            pace_message(pace, run);
        }
    }
    return error;
}

/* Both streams, after their skipped messages. `start` synchronises the start of both ends. */
static int run_both(struct run *run, int (*start)(const struct run *))
{
    const struct measure_request *request = run->request;
    struct posts posts = {.run = run};
    struct pace pace = pace_start();
    run->result->in_step = false;
    int error = stream_both(&posts, request->skip, &pace);
    if (error == 0 && !run->stop) {
        run_begin_probes(run);
        error = start(run);
    }
    if (error != 0 || run->stop) {
        run->result->stopped = true;
        return error;
    }
    run_begin_clock(run);
    error = stream_both(&posts, request->count, &pace);
    run->result->sent = posts.sent - request->skip;
    run->result->received = posts.received - request->skip;
    run->result->stopped =
        run->result->sent < request->count || run->result->received < request->count;
    return error;
}

static int hear_and_start(const struct run *run)
{
    int error = run_receive_answer(run);
    return error == 0 ? run_send_answer(run) : error;
}

static int say_and_start(const struct run *run)
{
    int error = run_send_answer(run);
    return error == 0 ? run_receive_answer(run) : error;
}

static int initiate(struct run *run)
{
    int error = run_both(run, hear_and_start);
    if (error == 0 && !run->result->stopped) {
        error = run_receive_answer(run);
        run->result->in_step = error == 0;
    }
    if (run->started_ns != 0) {
        run_end_measured(run, clock_now_ns());
    }
    return error;
}

static int respond(struct run *run)
{
    int error = run_both(run, say_and_start);
    if (error == 0 && !run->result->stopped) {
        error = run_send_answer(run);
        run->result->in_step = error == 0;
    }
    if (run->started_ns != 0) {
        run_end_measured(run, clock_now_ns());
    }
    return error;
}

const struct pattern PATTERN_BIDIRECTIONAL = {
    .name = "bidirectional",
    .summary = "messages both ways at the same time, many under way at once",
    .reports = PATTERN_RATES,
    .needs = PATTERN_NEEDS_PEER | PATTERN_NEEDS_RELIABLE | PATTERN_NEEDS_POSTING,
    .initiate = initiate,
    .respond = respond,
};
