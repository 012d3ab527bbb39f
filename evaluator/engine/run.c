/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include <string.h>

#include "clock.h"

/* A loop that reads no clock aims at one clock read in this time. */
#define PACE_INTERVAL_NS NS_PER_MS
#define PACE_MESSAGES_MAX 4096

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_usec * 1000;
}

static uint64_t softirq_now_ns(const struct run *run)
{
    return run->request->softirq == NULL ? 0 : softirq_ns(run->request->softirq);
}

void run_begin_usage(struct run *run)
{
    run->softirq_before_ns = softirq_now_ns(run);
    getrusage(RUSAGE_SELF, &run->before);
}

void run_begin_clock(struct run *run)
{
    run->started_ns = clock_now_ns();
}

void run_begin_measured(struct run *run)
{
    run_begin_usage(run);
    run_begin_clock(run);
}

void run_end_measured(struct run *run, uint64_t end_ns)
{
    struct rusage after;
    getrusage(RUSAGE_SELF, &after);
    run->result->started_ns = run->started_ns;
    run->result->elapsed_ns = end_ns - run->started_ns;
    run->result->cpu = (struct measure_cpu){
        .user_ns = timeval_ns(after.ru_utime) - timeval_ns(run->before.ru_utime),
        .system_ns = timeval_ns(after.ru_stime) - timeval_ns(run->before.ru_stime),
        .softirq_ns = softirq_now_ns(run) - run->softirq_before_ns,
        .voluntary_switches = (uint64_t)(after.ru_nvcsw - run->before.ru_nvcsw),
        .involuntary_switches = (uint64_t)(after.ru_nivcsw - run->before.ru_nivcsw),
    };
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
