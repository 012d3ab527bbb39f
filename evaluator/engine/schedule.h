/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule.h - when the messages of a run are due: at a fixed rate, whether or not earlier ones are
 * late. A late message is late because of the protocol that is measured, so its time counts from
 * when it was due. If the sender waited during a stall, the messages due meanwhile would be missing
 * from the result (coordinated omission: G. Tene; Treadmill, ISCA '16).
 *
 * One thread. Times are CLOCK_MONOTONIC, in nanoseconds.
 */
#ifndef BEOWIRE_ENGINE_SCHEDULE_H
#define BEOWIRE_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct run;

struct schedule {
    uint64_t due_ns;      /**< of the message of the last schedule_wait() */
    uint64_t now_ns;      /**< when it returned: `due_ns`, or later */
    uint64_t next_ns;     /**< of the one after it */
    uint64_t interval_ns; /**< between two; 0: each message is due at once */
    uint64_t look_at_ns;  /**< of the next check whether the run should end */
};

/** The schedule that the run's request asks for. It begins at the requested time, or now. */
struct schedule schedule_begin(const struct run *run);

/** Returns when the next message is due, or sets `run->stop`. Sleeps if that is far ahead. */
void schedule_wait(struct schedule *schedule, struct run *run);

/** Whether the message left more than an interval after it was due, so that the sender is behind
 *  the schedule. */
bool schedule_is_late(const struct schedule *schedule);

/** The initiator of a scheduled pattern: sends all messages of a run when they are due. `send`
 *  sends one of them, and returns 0, or a negative errno that ends the run. Probes are read in a
 *  pause of a millisecond between skipped and measured messages. */
int schedule_run(struct run *run,
                 int (*send)(struct run *run, const struct schedule *schedule, bool measured));

/** Waits until this time, or sets `run->stop`. */
void schedule_wait_until(struct run *run, uint64_t when_ns);

#endif
