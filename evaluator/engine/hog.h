/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hog.h - one thread of background load (load.h). It keeps a CPU or the memory busy, counts its
 * work, and can be paused.
 *
 * hogs_*() and hog_*() are for the thread that started the hogs; be_hog() is the function of their
 * threads.
 */
#ifndef BEOWIRE_ENGINE_HOG_H
#define BEOWIRE_ENGINE_HOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hog_kind {
    HOG_COMPUTES, /**< without waiting */
    HOG_DUTY,     /**< computes `percent` of the time, in periods of HOG_PERIOD_NS */
    HOG_MEMORY,   /**< copies more memory than any cache holds */
};

#define HOG_PERIOD_NS UINT64_C(10000000)

/** Shared by all hogs of a process. */
struct hogs {
    enum hog_kind kind;
    bool idle;     /**< SCHED_IDLE: runs only when no other thread wants the CPU */
    int nice;      /**< unless `idle` */
    int percent;   /**< of HOG_DUTY */
    size_t memory; /**< of HOG_MEMORY: bytes of each hog's buffer */
    uint64_t ends_at_ns;

    atomic_bool ended; /**< they must end */
    atomic_bool paused;
    atomic_int failure; /**< the errno with which one could not begin */
    pthread_mutex_t lock;
    pthread_cond_t changed; /**< `begun`, `resting`, `paused` or `ended` has changed */
    size_t begun;
    size_t resting; /**< paused or ended */
};

struct hog {
    struct hogs *hogs;
    int cpu;
    pthread_t thread;
    /** Iterations of its loop, or bytes read and written. */
    atomic_uint_least64_t work;
    atomic_uint_least64_t last_cpu_ns; /**< its CPU time; 0 until it has ended */
};

/** The thread's function. The last three members of its `struct hog` need not be set. */
void *be_hog(void *argument);

/** Waits until all `count` of them have begun. 0, or a negative errno. */
int hogs_wait_begun(struct hogs *hogs, size_t count);

/** Pauses all `count` of them, or lets them continue. Returns when they do. */
void hogs_pause(struct hogs *hogs, size_t count, bool paused);

/** Tells all of them to end, without waiting. */
void hogs_end(struct hogs *hogs);

/** CPU time of a hog so far, in ns. */
uint64_t hog_cpu_ns(const struct hog *hog);

#endif
