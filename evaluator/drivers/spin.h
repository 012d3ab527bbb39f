/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spin.h - bounded polling: it reads the clock sometimes, asks the host about every millisecond
 * whether to stop, and has an optional time limit.
 *
 *      struct spin spin = spin_start(host, loss_timeout_ns);
 *      while (!arrived()) {
 *          int error = spin_turn(&spin);   // -ECANCELED, -ETIMEDOUT, or 0: continue
 *          ...
 *      }
 *
 * A wait of less than SPIN_TURNS turns costs one counter only.
 */
#ifndef BEOWIRE_DRIVERS_SPIN_H
#define BEOWIRE_DRIVERS_SPIN_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "driver.h"

/** Turns between two clock reads. */
#define SPIN_TURNS 256

/** Time between two calls of the host. */
#define SPIN_ASK_NS UINT64_C(1000000)

/** No time limit. */
#define SPIN_FOREVER UINT64_MAX

struct spin {
    const struct driver_host *host;
    uint64_t limit_ns;   /* longest wait without progress */
    uint64_t since_ns;   /* its start; 0 until the clock was read */
    uint64_t ask_at_ns;  /* of the next call of the host */
    uint32_t turns_left; /* until the clock is read */
};

static inline struct spin spin_start(const struct driver_host *host, uint64_t limit_ns)
{
    return (struct spin){.host = host, .limit_ns = limit_ns, .turns_left = SPIN_TURNS};
}

/* Not inlined, because it is not on the path of a message that arrives soon. */
__attribute__((noinline, cold, unused)) static int spin_look(struct spin *spin)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    uint64_t now_ns = (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
    spin->turns_left = SPIN_TURNS;
    if (spin->ask_at_ns == 0) {
        spin->ask_at_ns = now_ns + SPIN_ASK_NS;
    }
    if (spin->since_ns == 0) {
        spin->since_ns = now_ns;
    }
    if (now_ns >= spin->ask_at_ns) {
        spin->ask_at_ns = now_ns + SPIN_ASK_NS;
        if (spin->host->stopped(spin->host->context)) {
            return -ECANCELED;
        }
        if (now_ns - spin->since_ns >= spin->limit_ns) {
            return -ETIMEDOUT;
        }
    }
    return 0;
}

/** To be called once in each turn of the wait. */
static inline int spin_turn(struct spin *spin)
{
    return --spin->turns_left == 0 ? spin_look(spin) : 0;
}

/** Something arrived: the limit counts from now. */
static inline void spin_progress(struct spin *spin)
{
    spin->since_ns = 0;
}

/** Tells the CPU that this is a polling loop. */
static inline void spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

#endif
