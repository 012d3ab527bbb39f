/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ticks.h - the time, by the processor's time stamp counter between reads of the kernel's clock.
 *
 * A message within a host takes 150 ns, and each end reads the clock for it: clock_gettime() takes
 * 21 ns, the counter 9 ns. So the kernel's clock is read once in TICKS_INTERVAL_NS, and the counter
 * gives the time since, at the rate measured before. The error is the drift of both in one interval
 * (a rate measured over 1 ms is right to 1 in 10,000: 0.1 us). If the counter jumps or changes its
 * rate (a virtual machine that moves to another host), the error is an interval, 1 ms, for about 20
 * ms. The time never goes back.
 *
 * This is used only if the kernel itself uses the counter (its clock source is "tsc": the counters
 * of all cores agree, and do not stop). Elsewhere, and on other processors, this is
 * clock_gettime().
 *
 * One thread at a time, any.
 */
#ifndef BEOWIRE_ENDPOINT_TICKS_H
#define BEOWIRE_ENDPOINT_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/** How long the counter is used without reading the kernel's clock: about 1 ms. */
#define TICKS_INTERVAL_NS (UINT64_C(1) << 20)

/** Where Linux names its clock source. */
#define TICKS_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

struct ticks {
    bool usable;         /**< the counter can be used */
    uint64_t base;       /**< the counter at the last read of the kernel's clock */
    uint64_t base_ns;    /**< the kernel's time then; 0: never read */
    uint64_t rate;       /**< nanoseconds per tick, times 2^32; 0: unknown */
    uint64_t believable; /**< ticks after `base` for which the rate may be used */
    uint64_t told_ns;    /**< the last returned time */
};

/** @param source the file with the kernel's clock source: TICKS_SOURCE. */
void ticks_open(struct ticks *ticks, const char *source);

/** The time at this count. @return false: too long after the last read of the kernel's clock, or
 *  the rate is unknown. */
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

/** Learns the rate from a count and the kernel's time at that count. */
void ticks_learn(struct ticks *ticks, uint64_t count, uint64_t kernel_ns);

/** Reads the kernel's clock. @return CLOCK_MONOTONIC in ns, or the last returned time if that is
 *  later. */
uint64_t ticks_ask(struct ticks *ticks);

/** @return CLOCK_MONOTONIC, approximately, in ns. */
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
