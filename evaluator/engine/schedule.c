/* SPDX-License-Identifier: BSD-3-Clause */
#include "schedule.h"

#include <time.h>

#include "clock.h"
#include "run.h"

/* Sleeping ends late, by the timer's slack and the scheduler, which would count as the protocol's
 * time. So sleep ends this much early, and the thread polls the clock for the rest. */
#define WAKE_EARLY_NS UINT64_C(200000)

/* Reading probes takes time at both ends, so measured messages are due this much later. */
#define PROBES_NS UINT64_C(1000000)

static void sleep_until(uint64_t when_ns)
{
    const struct timespec when = {
        .tv_sec = (time_t)(when_ns / NS_PER_SECOND),
        .tv_nsec = (long)(when_ns % NS_PER_SECOND),
    };
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

/* Returns the time once it is `when_ns`. `look_at_ns`: of the next check whether to end. */
static uint64_t wait_until(struct run *run, uint64_t when_ns, uint64_t *look_at_ns)
{
    uint64_t now_ns = clock_now_ns();
    while (!run->stop && (now_ns < when_ns || now_ns >= *look_at_ns)) {
        if (now_ns >= *look_at_ns) {
            run->stop = run_should_end(run, now_ns);
            *look_at_ns = now_ns + RUN_LOOK_INTERVAL_NS;
        } else if (when_ns - now_ns > 2 * WAKE_EARLY_NS) {
            const uint64_t until_ns = when_ns - WAKE_EARLY_NS;
            sleep_until(until_ns < *look_at_ns ? until_ns : *look_at_ns);
        }
        now_ns = clock_now_ns();
    }
    return now_ns;
}

struct schedule schedule_begin(const struct run *run)
{
    const struct measure_request *request = run->request;
    const uint64_t now_ns = clock_now_ns();
    return (struct schedule){
        .next_ns = request->start_ns > 0 ? request->start_ns : now_ns,
        .interval_ns = request->interval_ns,
        .look_at_ns = now_ns + RUN_LOOK_INTERVAL_NS,
    };
}

void schedule_wait(struct schedule *schedule, struct run *run)
{
    const uint64_t when_ns = schedule->next_ns;
    schedule->now_ns = wait_until(run, when_ns, &schedule->look_at_ns);
    schedule->due_ns = schedule->interval_ns > 0 ? when_ns : schedule->now_ns;
    schedule->next_ns = schedule->interval_ns > 0 ? when_ns + schedule->interval_ns : when_ns;
}

void schedule_wait_until(struct run *run, uint64_t when_ns)
{
    uint64_t look_at_ns = clock_now_ns() + RUN_LOOK_INTERVAL_NS;
    (void)wait_until(run, when_ns, &look_at_ns);
}

bool schedule_is_late(const struct schedule *schedule)
{
    return schedule->interval_ns > 0 && schedule->now_ns - schedule->due_ns > schedule->interval_ns;
}

/* Between skipped and measured messages. */
static void begin_probes(struct schedule *schedule, struct run *run)
{
    run_begin_probes(run);
    if (schedule->interval_ns > 0) {
        schedule->next_ns += PROBES_NS;
    }
}

int schedule_run(struct run *run,
                 int (*send)(struct run *run, const struct schedule *schedule, bool measured))
{
    const struct measure_request *request = run->request;
    const uint64_t wanted = request->skip + request->count;
    struct schedule schedule = schedule_begin(run);
    uint64_t done = 0;
    int error = 0;
    run_begin_measured(run);
    while (error == 0 && done < wanted) {
        if (done == request->skip && done > 0) {
            begin_probes(&schedule, run);
        }
        schedule_wait(&schedule, run);
        if (run->stop) {
            break;
        }
        if (done == request->skip) {
            run_begin_clock(run);
        }
        error = send(run, &schedule, done >= request->skip);
        done += error == 0 ? 1 : 0;
    }
    run_end_measured(run, clock_now_ns());
    run->result->stopped = done < wanted;
    run->result->in_step = error == 0;
    return error;
}
