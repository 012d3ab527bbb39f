/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spin.h - waiting by spinning, that still ends: looks at the clock now and then, asks the host
 * about every millisecond whether to stop, and gives up after a time where one is set.
 *
 *      struct spin spin = spin_start(host, loss_timeout_ns);
 *      while (!arrived()) {
 *          int error = spin_turn(&spin);   // -ECANCELED, -ETIMEDOUT, or 0: go on
 *          ...
 *      }
 *
 * A wait that ends within SPIN_TURNS turns costs a counter and nothing else.
 */
#ifndef BEOWIRE_DRIVERS_SPIN_H
#define BEOWIRE_DRIVERS_SPIN_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "driver.h"

/** Turns between two looks at the clock. */
#define SPIN_TURNS 256

/** Time between two questions to the host. */
#define SPIN_ASK_NS UINT64_C(1000000)

/** No limit to the wait. */
#define SPIN_FOREVER UINT64_MAX

struct spin {
    const struct driver_host *host;
    uint64_t limit_ns;   /* longest wait without progress */
    uint64_t since_ns;   /* start of it; 0 until the clock was read */
    uint64_t ask_at_ns;  /* when to ask the host next */
    uint32_t turns_left; /* until the clock is read */
};

static inline struct spin spin_start(const struct driver_host *host, uint64_t limit_ns)
{
    return (struct spin){.host = host, .limit_ns = limit_ns, .turns_left = SPIN_TURNS};
}

/* Out of line in the sense that matters: not on the path of a message that arrives soon. */
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

/** One turn of the wait. */
static inline int spin_turn(struct spin *spin)
{
    return --spin->turns_left == 0 ? spin_look(spin) : 0;
}

/** Something arrived, if not all: the limit counts from now. */
static inline void spin_progress(struct spin *spin)
{
    spin->since_ns = 0;
}

/** Tells the CPU that this is a spin loop. */
static inline void spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

#endif
