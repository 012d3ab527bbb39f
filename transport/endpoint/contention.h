/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contention.h - measures whether other threads want the core on which a thread polls.
 *
 * A thread that polls on such a core should sleep while nothing arrives, because schedulers favour
 * threads that have slept when something does. But each message then costs a wake-up, several times
 * its own cost. So it should not sleep because of a daemon that runs sometimes, or a job of the
 * lowest priority. The kernel measures how long the thread was ready but did not run (run_delay,
 * the second number of /proc/thread-self/schedstat). If that is more than one part in
 * CONTENTION_PARTS of the time, others want the core. If the kernel does not measure it, one
 * involuntary context switch is enough.
 *
 * One thread at a time, not always the same.
 */
#ifndef BEOWIRE_ENDPOINT_CONTENTION_H
#define BEOWIRE_ENDPOINT_CONTENTION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** Where Linux reports how long the calling thread has waited for a core. */
#define CONTENTION_SOURCE "/proc/thread-self/schedstat"

struct contention {
    int file;           /**< -1: not available */
    bool asked;         /**< the rest is valid */
    pthread_t thread;   /**< of the last call */
    long switches;      /**< its involuntary context switches at that time */
    uint64_t since_ns;  /**< beginning of the measured time: a few windows ago */
    uint64_t waited_ns; /**< its wait for a core until then */
    uint64_t next_ns;   /**< the next beginning */
    uint64_t next_waited_ns;
};

/** Before the first call. From then on it has a descriptor until contention_close(). */
static inline void contention_open(struct contention *contention)
{
    *contention = (struct contention){.file = -1};
}

void contention_close(struct contention *contention);

/** Do others want the core of the calling thread? @param now_ns CLOCK_MONOTONIC */
bool contention_look(struct contention *contention, uint64_t now_ns);

/** The same for given values. @param switches involuntary context switches of the thread so far
 *  @param waited_ns its wait for a core so far */
bool contention_judge(struct contention *contention, long switches, uint64_t waited_ns,
                      uint64_t now_ns);

/** Parses the second number of a line. @return false: there is none. */
bool contention_parse(const char *line, uint64_t *waited_ns);

#endif /* BEOWIRE_ENDPOINT_CONTENTION_H */
