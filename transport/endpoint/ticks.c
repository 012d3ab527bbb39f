/* SPDX-License-Identifier: BSD-3-Clause */
#include "ticks.h"

#include "lane/clock.h"

#include <stdio.h>
#include <string.h>

/** Two reads of both clocks give no rate if they are closer than this (a read is right to about 20
 *  ns) or farther apart: the kernel's clock stops while the machine is suspended. */
#define LEARN_NS_MIN (TICKS_INTERVAL_NS / 2)
#define LEARN_NS_MAX (UINT64_C(1) << 30)

/** A rate outside 0.4 to 10 GHz is wrong: one of the clocks was stopped or set. A wrong rate within
 *  is used for about 20 ms at most. */
#define RATE_MIN ((UINT64_C(1) << 32) / 10)
#define RATE_MAX ((UINT64_C(1) << 32) * 5 / 2)

/** Number of reads, of which the least disturbed one is used. */
#define LOOKS 3

#if defined(__x86_64__)
/** Does the kernel use the processor's counter? `source` is the file with its clock source. */
static bool is_tsc(const char *source)
{
    char name[16] = "";
    FILE *file = fopen(source, "re");

    if (file == NULL) {
        return false;
    }
    bool read = fgets(name, sizeof name, file) != NULL;
    (void)fclose(file);
    return read && strcmp(name, "tsc\n") == 0;
}
#endif

void ticks_open(struct ticks *ticks, const char *source)
{
    *ticks = (struct ticks){0};
#if defined(__x86_64__)
    ticks->usable = is_tsc(source);
#else
    (void)source;
#endif
}

void ticks_learn(struct ticks *ticks, uint64_t count, uint64_t kernel_ns)
{
    uint64_t counted = count - ticks->base;
    uint64_t passed_ns = kernel_ns - ticks->base_ns;

    if (passed_ns < LEARN_NS_MIN) {
        ticks->rate = 0; /* with the right rate there is no reason to read so soon */
    } else if (ticks->base_ns != 0 && counted > 0 && passed_ns < LEARN_NS_MAX) {
        uint64_t rate = (passed_ns << 32) / counted;
        ticks->rate = rate >= RATE_MIN && rate <= RATE_MAX ? rate : 0;
    }
    ticks->base = count;
    ticks->base_ns = kernel_ns;
    ticks->believable = ticks->rate != 0 ? (TICKS_INTERVAL_NS << 32) / ticks->rate : 0;
}

#if defined(__x86_64__)
/** Reads both clocks. @return the counter at the kernel's time */
static uint64_t look(uint64_t *kernel_ns)
{
    uint64_t best = UINT64_MAX;
    uint64_t count = 0;

    for (unsigned i = 0; i < LOOKS; i++) {
        uint64_t before = __rdtsc();
        uint64_t ns = clock_now_ns();
        uint64_t took = __rdtsc() - before;
        if (took < best) {
            best = took;
            count = before + took / 2;
            *kernel_ns = ns;
        }
    }
    return count;
}
#endif

uint64_t ticks_ask(struct ticks *ticks)
{
    uint64_t now_ns = clock_now_ns();

#if defined(__x86_64__)
    if (ticks->usable && (ticks->rate != 0 || now_ns - ticks->base_ns >= LEARN_NS_MIN)) {
        uint64_t count = look(&now_ns);
        ticks_learn(ticks, count, now_ns);
    }
#endif
    ticks->told_ns = now_ns > ticks->told_ns ? now_ns : ticks->told_ns;
    return ticks->told_ns;
}
