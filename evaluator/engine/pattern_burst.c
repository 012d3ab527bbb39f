/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_burst.c - bursts of up to RUN_WINDOW messages one way. The responder posts a receive for
 * each message before the first one is sent, so no message is unexpected. Its "ready" also tells
 * the initiator that the burst before has arrived.
 *
 *      initiator                      responder
 *                                       posts receives
 *          <------------ ready ---------
 *        posts sends  ------- burst --->
 *                                       posts receives for the next burst, if there is one
 *          <------------ ready ---------
 */
#include <errno.h>

#include "clock.h"
#include "pattern.h"
#include "posts.h"

static uint64_t burst_of(uint64_t left)
{
    return left < RUN_WINDOW ? left : RUN_WINDOW;
}

static int send_burst(struct posts *posts, uint64_t messages)
{
    const struct run *run = posts->run;
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < messages; i++) {
        error = posts_send(posts, run->outgoing, run->request->size);
    }
    if (error == 0) {
        error = posts_settle(posts);
    }
    return error == 0 ? run_receive_answer(run) : error;
}

static int send_bursts(struct posts *posts, uint64_t count, struct pace *pace)
{
    int error = 0;
    for (uint64_t left = count; error == 0 && left > 0 && !posts->run->stop;) {
        error = send_burst(posts, burst_of(left));
        left -= burst_of(left);
        pace_message(pace, posts->run);
    }
    return error;
}

static int initiate(struct run *run)
{
    const struct measure_request *request = run->request;
    struct posts posts = {.run = run};
    struct pace pace = pace_start();
    run->result->in_step = false;
    int error = run_receive_answer(run);
    if (error == 0) {
        error = send_bursts(&posts, request->skip, &pace);
    }
    run_begin_measured(run);
    if (error == 0) {
        error = send_bursts(&posts, request->count, &pace);
    }
    run_end_measured(run, clock_now_ns());
    run->result->sent = posts.sent > request->skip ? posts.sent - request->skip : 0;
    run->result->stopped = posts.sent < request->skip + request->count;
    run->result->in_step = error == 0 && !run->result->stopped;
    return error;
}

static int receive_burst(struct posts *posts, uint64_t messages)
{
    const struct run *run = posts->run;
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < messages; i++) {
        error = posts_receive(posts, run->incoming, run->request->size);
    }
    if (error == 0) {
        error = posts_send(posts, run->outgoing, run_answer_bytes(run));
    }
    return error == 0 ? posts_settle(posts) : error;
}

static int receive_bursts(struct posts *posts, uint64_t count, struct pace *pace)
{
    int error = 0;
    for (uint64_t left = count; error == 0 && left > 0 && !posts->run->stop;) {
        error = receive_burst(posts, burst_of(left));
        left -= burst_of(left);
        pace_message(pace, posts->run);
    }
    return error;
}

static int respond(struct run *run)
{
    const struct measure_request *request = run->request;
    struct posts posts = {.run = run};
    struct pace pace = pace_start();
    int error = receive_bursts(&posts, request->skip, &pace);
    run_begin_measured(run);
    if (error == 0) {
        error = receive_bursts(&posts, request->count, &pace);
    }
    run->result->received = posts.received > request->skip ? posts.received - request->skip : 0;
    run->result->stopped = posts.received < request->skip + request->count;
    run->result->in_step = false;
    if (error == 0 && !run->result->stopped) {
        error = run_send_answer(run);
        run->result->in_step = error == 0;
    }
    run_end_measured(run, clock_now_ns());
    return error;
}

const struct pattern PATTERN_BURST = {
    .name = "burst",
    .summary = "bursts of 64 messages one way, each with a receive posted in advance",
    .reports = PATTERN_RATES,
    .needs = PATTERN_NEEDS_PEER | PATTERN_NEEDS_RELIABLE | PATTERN_NEEDS_POSTING,
    .initiate = initiate,
    .respond = respond,
};
