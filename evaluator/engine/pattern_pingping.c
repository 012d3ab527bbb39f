/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_pingping.c - both ends send a message, then each receives the other's: the cost of a
 * message that arrives while another is sent. As in IMB's PingPing, the time of an exchange is not
 * halved.
 *
 * Only the initiator knows when to end. The first byte of each of its messages says whether this
 * exchange is the last one, so that both ends stop after the same one, also before the count.
 */
#include <assert.h>
#include <errno.h>

#include "clock.h"
#include "pattern.h"
#include "posts.h"

#define MORE_FOLLOW 0
#define LAST_ONE 1

/* One message each way, at the same time. */
static int exchange(struct posts *posts)
{
    const struct run *run = posts->run;
    int error = posts_receive(posts, run->incoming, run->request->size);
    if (error == 0) {
        error = posts_send(posts, run->outgoing, run->request->size);
    }
    return error == 0 ? posts_settle(posts) : error;
}

/* The exchanges of a sample. `left` is the number of remaining exchanges, including these. */
static int exchange_batch(struct posts *posts, uint64_t batch, uint64_t left)
{
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < batch; i++) {
        posts->run->outgoing[0] = left - i == 1 ? LAST_ONE : MORE_FOLLOW;
        error = exchange(posts);
    }
    return error;
}

/* `after` exchanges follow these. */
static int exchange_all(struct posts *posts, uint64_t count, uint64_t after, bool measured)
{
    struct run *run = posts->run;
    assert(run->request->batch > 0);
    uint64_t start_ns = measured ? run->started_ns : clock_now_ns();
    uint64_t end_ns = start_ns;
    uint64_t look_at_ns = start_ns + RUN_LOOK_INTERVAL_NS;
    uint64_t done = 0;
    int error = 0;
    while (done < count && !run->stop) {
        uint64_t batch = run->request->batch;
        batch = count - done < batch ? count - done : batch;
        error = exchange_batch(posts, batch, count + after - done);
        if (error != 0) {
            break;
        }
        end_ns = clock_now_ns();
        done += batch;
        if (measured) {
            histogram_add(run->samples, (end_ns - start_ns + batch / 2) / batch);
        }
        start_ns = end_ns;
        if (end_ns >= look_at_ns || end_ns >= run->request->deadline_ns) {
            run->stop = run_should_end(run, end_ns);
            start_ns = clock_now_ns();
            look_at_ns = start_ns + RUN_LOOK_INTERVAL_NS;
        }
    }
    if (measured) {
        run->result->sent = run->result->received = done;
        run_end_measured(run, end_ns);
    }
    run->result->stopped = done < count || (run->stop && after > 0);
    return error;
}

static int initiate(struct run *run)
{
    const struct measure_request *request = run->request;
    struct posts posts = {.run = run};
    int error = exchange_all(&posts, request->skip, request->count, false);
    if (error == 0 && !run->stop) {
        run_begin_measured(run);
        error = exchange_all(&posts, request->count, 0, true);
    }
    if (error == 0 && run->result->stopped) {
        error = exchange_batch(&posts, 1, 1);
    }
    run->result->in_step = error == 0;
    return error;
}

static int respond(struct run *run)
{
    const struct measure_request *request = run->request;
    struct posts posts = {.run = run};
    uint64_t done = 0;
    int error = 0;
    run->incoming[0] = MORE_FOLLOW;
    do {
        if (done == request->skip) {
            run_begin_measured(run);
        }
        error = exchange(&posts);
        done += error == 0 ? 1 : 0;
    } while (error == 0 && run->incoming[0] == MORE_FOLLOW);
    if (run->started_ns != 0) {
        run_end_measured(run, clock_now_ns());
    }
    run->result->sent = run->result->received = done > request->skip ? done - request->skip : 0;
    run->result->stopped = done < request->skip + request->count;
    run->result->in_step = error == 0;
    return error;
}

const struct pattern PATTERN_PINGPING = {
    .name = "pingping",
    .summary = "both ends send a message at the same time, then each receives the other's",
    .reports = PATTERN_TIMES,
    .needs = PATTERN_NEEDS_PEER | PATTERN_NEEDS_RELIABLE | PATTERN_NEEDS_POSTING,
    .initiate = initiate,
    .respond = respond,
};
