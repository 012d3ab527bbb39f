/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include <string.h>

#include "clock.h"

/* Intended time between two clock reads of a loop that does not read it for each message. */
#define PACE_INTERVAL_NS NS_PER_MS
#define PACE_MESSAGES_MAX 4096

void run_begin_probes(struct run *run)
{
    if (run->request->probes != NULL) {
        probes_read_before(run->request->probes, &run->result->before);
    }
}

void run_begin_clock(struct run *run)
{
    run->started_ns = clock_now_ns();
}

void run_begin_measured(struct run *run)
{
    run_begin_probes(run);
    run_begin_clock(run);
}

void run_end_measured(struct run *run, uint64_t end_ns)
{
    run->result->started_ns = run->started_ns;
    if (run->request->probes != NULL) {
        probes_read_after(run->request->probes, &run->result->after);
    }
    run->result->elapsed_ns = end_ns - run->started_ns;
}

bool run_should_end(const struct run *run, uint64_t now_ns)
{
    return now_ns >= run->request->deadline_ns || run->request->interrupted(run->request->context);
}

void run_stamp(struct run *run)
{
    run->stamp++;
    memcpy(run->outgoing, &run->stamp, run->stamp_bytes);
}

bool run_is_answered(const struct run *run)
{
    return run->request->driver->reliable && run->request->driver->receive != NULL;
}

uint64_t run_answer_bytes(const struct run *run)
{
    const struct measure_request *request = run->request;
    uint64_t bytes = request->size < RUN_STAMP_BYTES ? request->size : RUN_STAMP_BYTES;
    return bytes < request->driver->min_size ? request->driver->min_size : bytes;
}

int run_send_answer(const struct run *run)
{
    const struct measure_request *request = run->request;
    return request->driver->send(request->session, run->outgoing, run_answer_bytes(run));
}

int run_receive_answer(const struct run *run)
{
    const struct measure_request *request = run->request;
    return request->driver->receive(request->session, run->incoming, run_answer_bytes(run));
}

struct pace pace_start(void)
{
    uint64_t now = clock_now_ns();
    return (struct pace){.left = 1, .messages = 1, .last_read_ns = now, .last_look_ns = now};
}

void pace_look(struct pace *pace, struct run *run)
{
    uint64_t now = clock_now_ns();
    uint64_t passed = now - pace->last_read_ns;
    if (passed < PACE_INTERVAL_NS / 2 && pace->messages < PACE_MESSAGES_MAX) {
        pace->messages *= 2;
    } else if (passed > PACE_INTERVAL_NS * 2) {
        pace->messages = pace->messages > 1 ? pace->messages / 2 : 1;
    }
    pace->left = pace->messages;
    pace->last_read_ns = now;
    if (now - pace->last_look_ns >= RUN_LOOK_INTERVAL_NS || now >= run->request->deadline_ns) {
        run->stop = run_should_end(run, now);
        pace->last_look_ns = now;
    }
}
