/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule.h - when the messages of a run are due: at a rate that was decided beforehand, whatever
 * becomes of those before. What is late is late because of what was measured, so its time counts
 * from when it was due: a sender that waited for the end of a stall would leave out all messages
 * that should have gone meanwhile (the coordinated omission of G. Tene, and of Treadmill, ISCA
 * '16).
 *
 * One thread. Times are CLOCK_MONOTONIC, in nanoseconds.
 */
#ifndef BEOWIRE_ENGINE_SCHEDULE_H
#define BEOWIRE_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct run;

struct schedule {
    uint64_t due_ns;      /**< of the message that schedule_wait() was called for last */
    uint64_t now_ns;      /**< when it returned: `due_ns`, or later */
    uint64_t next_ns;     /**< of the one after it */
    uint64_t interval_ns; /**< between two; 0: a message is due when it is asked for */
    uint64_t look_at_ns;  /**< when it is looked whether the run should end */
};

/** The schedule that the run's request asks for; it begins now unless the request says when. */
struct schedule schedule_begin(const struct run *run);

/** Returns when the next message is due, or sets `run->stop`. Far ahead of that it sleeps. */
void schedule_wait(struct schedule *schedule, struct run *run);

/** Did the message leave more than an interval after it was due? Then its sender does not keep to
 *  the schedule. */
bool schedule_is_late(const struct schedule *schedule);

/** Sends all messages of a run when they are due, and is the whole of its initiator: `send` is for
 *  one of them, and says with 0 that it is done, or with a negative errno why the run ends. Between
 *  those that are skipped and those that are measured there is a pause of a millisecond, in which
 *  probes are read. */
int schedule_run(struct run *run,
                 int (*send)(struct run *run, const struct schedule *schedule, bool measured));

/** Waits until this time, or sets `run->stop`. */
void schedule_wait_until(struct run *run, uint64_t when_ns);

#endif
