/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contention.h - do others want the core that a thread polls on, and how much of it?
 *
 * Whoever polls on a core that others want should give it to them while nothing comes, and be put
 * on it again when something does: schedulers favour those who have slept. But that costs a wake-up
 * for each message that comes then, several times what the message itself takes; so not for the
 * sake of a daemon that looks in now and then, or a job of the lowest priority. The kernel tells
 * how long the thread was ready to run and did not (run_delay, the second number of
 * /proc/thread-self/schedstat): they are taken to want it if that is more than one part in
 * CONTENTION_PARTS of the time. Where the kernel does not tell, one involuntary switch is enough.
 *
 * One thread at a time; it may be another one each time.
 */
#ifndef BEOWIRE_ENDPOINT_CONTENTION_H
#define BEOWIRE_ENDPOINT_CONTENTION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** Where Linux says how long the calling thread has waited for a core. */
#define CONTENTION_SOURCE "/proc/thread-self/schedstat"

struct contention {
    int file;           /**< -1: the kernel does not tell */
    bool asked;         /**< the rest is known */
    pthread_t thread;   /**< which asked last */
    long switches;      /**< its involuntary ones, as of then */
    uint64_t since_ns;  /**< the share is of the time from here on: the last few windows */
    uint64_t waited_ns; /**< how long it had waited for a core by then */
    uint64_t next_ns;   /**< where it begins next, ... */
    uint64_t next_waited_ns;
};

/** Nobody has asked yet. Takes a descriptor, from the first look on, until contention_close(). */
static inline void contention_open(struct contention *contention)
{
    *contention = (struct contention){.file = -1};
}

void contention_close(struct contention *contention);

/** Do others want the core of the calling thread? @param now_ns CLOCK_MONOTONIC */
bool contention_look(struct contention *contention, uint64_t now_ns);

/** The same, of what is told. @param switches involuntary switches of the thread so far @param
 *  waited_ns how long it has waited for a core so far */
bool contention_judge(struct contention *contention, long switches, uint64_t waited_ns,
                      uint64_t now_ns);

/** Takes the second number of a line. @return false: there is none. */
bool contention_parse(const char *line, uint64_t *waited_ns);

#endif /* BEOWIRE_ENDPOINT_CONTENTION_H */
