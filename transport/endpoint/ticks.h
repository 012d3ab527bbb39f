/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ticks.h - the time, by the processor's time stamp counter between looks at the kernel's clock.
 *
 * A message within a host takes 150 ns, and each end reads the clock for it: clock_gettime() takes
 * 21 ns where the counter takes 9. So the kernel's clock is asked once in TICKS_INTERVAL_NS, and
 * the counter tells what has passed since, at the rate that it had before. That is off the kernel's
 * clock by what both drift apart in one interval (a rate learnt over 1 ms is right to 1 in 10,000:
 * 0.1 us). Should the counter jump or change its rate (a virtual machine that moves to another
 * host), it is off by an interval, 1 ms, for 20 ms or so. What is told never goes back.
 *
 * Only where the kernel itself lives by the counter (its clock source is "tsc": the counters of all
 * cores agree, and do not stop): elsewhere, and on other processors, this is clock_gettime().
 *
 * One thread at a time, whichever.
 */
#ifndef BEOWIRE_ENDPOINT_TICKS_H
#define BEOWIRE_ENDPOINT_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/** How long the counter is believed. About 1 ms. */
#define TICKS_INTERVAL_NS (UINT64_C(1) << 20)

/** Where Linux says what its clocks live by. */
#define TICKS_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

struct ticks {
    bool usable;         /**< the counter can be used */
    uint64_t base;       /**< the counter, when the kernel's clock was last asked */
    uint64_t base_ns;    /**< and what that said; 0: never */
    uint64_t rate;       /**< nanoseconds a tick, times 2^32; 0: not known */
    uint64_t believable; /**< ticks from `base` on that the rate may be used for */
    uint64_t told_ns;    /**< what was told last */
};

/** @param source the file that names the kernel's clock source: TICKS_SOURCE. */
void ticks_open(struct ticks *ticks, const char *source);

/** What time is it at this count? @return false: it is too far from the last look at the kernel's
 *  clock, or nothing is known about the rate. */
static inline bool ticks_tell(struct ticks *ticks, uint64_t count, uint64_t *now_ns)
{
    uint64_t passed = count - ticks->base;

    if (passed >= ticks->believable) {
        return false;
    }
    uint64_t ns = ticks->base_ns + (passed * ticks->rate >> 32); /* the product is below 2^52 */
    ticks->told_ns = ns > ticks->told_ns ? ns : ticks->told_ns;
    *now_ns = ticks->told_ns;
    return true;
}

/** At this count it was this time by the kernel's clock: learns the rate. */
void ticks_learn(struct ticks *ticks, uint64_t count, uint64_t kernel_ns);

/** Asks the kernel. @return CLOCK_MONOTONIC, or what was told last if that is later. ns */
uint64_t ticks_ask(struct ticks *ticks);

/** @return CLOCK_MONOTONIC, nearly. ns */
static inline uint64_t ticks_now(struct ticks *ticks)
{
#if defined(__x86_64__)
    uint64_t now_ns;

    if (ticks->believable != 0 && ticks_tell(ticks, __rdtsc(), &now_ns)) {
        return now_ns;
    }
#endif
    return ticks_ask(ticks);
}

#endif /* BEOWIRE_ENDPOINT_TICKS_H */
