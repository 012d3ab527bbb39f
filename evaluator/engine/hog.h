/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hog.h - one thread of background load (load.h): it keeps a CPU, or the memory, busy, says how
 * much it has done, and can be told to rest.
 *
 * hogs_*() and hog_*() are for the thread that has started them; be_hog() is the thread.
 */
#ifndef BEOWIRE_ENGINE_HOG_H
#define BEOWIRE_ENGINE_HOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hog_kind {
    HOG_COMPUTES, /**< and never waits */
    HOG_DUTY,     /**< computes `percent` of the time, in periods of HOG_PERIOD_NS */
    HOG_MEMORY,   /**< copies memory that no cache holds */
};

#define HOG_PERIOD_NS UINT64_C(10000000)

/** What all hogs of a process share. */
struct hogs {
    enum hog_kind kind;
    bool idle;     /**< SCHED_IDLE: only what nobody else wants */
    int nice;      /**< without `idle` */
    int percent;   /**< of HOG_DUTY */
    size_t memory; /**< of HOG_MEMORY: bytes that one hog copies to and fro in */
    uint64_t ends_at_ns;

    atomic_bool ended; /**< they are to end */
    atomic_bool paused;
    atomic_int failure; /**< an errno: one of them could not begin */
    pthread_mutex_t lock;
    pthread_cond_t changed; /**< what is below, or `paused` or `ended` */
    size_t begun;
    size_t resting; /**< they wait, or have ended */
};

struct hog {
    struct hogs *hogs;
    int cpu;
    pthread_t thread;
    /** Turns of its loop, or bytes that it has read and written. */
    atomic_uint_least64_t work;
    atomic_uint_least64_t last_cpu_ns; /**< once it has ended; before: 0 */
};

/** The thread's function, for a `struct hog` that is filled in but for its last three members. */
void *be_hog(void *argument);

/** Waits until all `count` of them have begun. 0, or a negative errno. */
int hogs_wait_begun(struct hogs *hogs, size_t count);

/** Has all `count` of them rest, or go on. Returns when they do. */
void hogs_pause(struct hogs *hogs, size_t count, bool paused);

/** Has all of them end, without waiting for it. */
void hogs_end(struct hogs *hogs);

/** CPU time that a hog has had, in ns. */
uint64_t hog_cpu_ns(const struct hog *hog);

#endif
