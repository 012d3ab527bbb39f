/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace-points-benchmark - what a place of the trace costs (route/trace.h), with a ring in a file
 * that is mapped, as BEOWIRE_TRACE makes it, and without one.
 *
 *      trace-points-benchmark DIRECTORY
 *
 * Prints one JSON object a line, of each of `loop` (the same loop without a place), `off` and `on`:
 *
 *   {"case":"on","ns":[...]}       nanoseconds to a turn of the loop, in each repetition
 *
 * The three take turns. The trace's file is in DIRECTORY, and taken away again.
 */
#include "endpoint/trace_file.h"
#include "lane/clock.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPETITIONS 201
#define TURNS 100000

enum { LOOP, OFF, ON, CASES };

static const char *const NAMES[CASES] = {"loop", "off", "on"};

static double took_ns[CASES][REPETITIONS];

/* As an endpoint has it: read anew at each place, since a call may have changed it. */
static struct trace *volatile ring;

/* The compiler has to believe that something happens in each turn. */
static inline void happens(uint64_t *value)
{
    __asm__ volatile("" : "+r"(*value) : : "memory");
}

static double turns(bool places)
{
    const uint64_t start_ns = clock_now_ns();

    for (uint64_t i = 0; i < TURNS; i++) {
        happens(&i);
        if (places) {
            trace_here(ring, TRACE_OUT, i);
        }
    }
    return (double)(clock_now_ns() - start_ns) / TURNS;
}

__attribute__((noinline)) static double turns_without(void)
{
    return turns(false);
}

__attribute__((noinline)) static double turns_with(void)
{
    return turns(true);
}

static void measure(struct trace_file *file)
{
    for (int at = 0; at < REPETITIONS; at++) {
        took_ns[LOOP][at] = turns_without();
        ring = NULL;
        took_ns[OFF][at] = turns_with();
        ring = trace_file_ring(file);
        took_ns[ON][at] = turns_with();
    }
}

static void print(void)
{
    for (int one = 0; one < CASES; one++) {
        (void)printf("{\"case\":\"%s\",\"ns\":[", NAMES[one]);
        for (int at = 0; at < REPETITIONS; at++) {
            (void)printf("%s%.3f", at > 0 ? "," : "", took_ns[one][at]);
        }
        (void)printf("]}\n");
    }
}

int main(int count, char **words)
{
    struct trace_file file = {0};
    char path[PATH_MAX];
    char made[PATH_MAX];

    if (count != 2) {
        (void)fprintf(stderr, "usage: trace-points-benchmark DIRECTORY\n");
        return 2;
    }
    int length = snprintf(path, sizeof(path), "%s/trace", words[1]);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        (void)fprintf(stderr, "trace-points-benchmark: the directory's name is too long\n");
        return 1;
    }
    int error = trace_file_open(&file, path);
    if (error != 0) {
        (void)fprintf(stderr, "trace-points-benchmark: no trace can be in %s: %s\n", words[1],
                      strerror(-error));
        return 1;
    }
    measure(&file);
    const uint64_t noted = file.header->noted;
    trace_file_close(&file);
    length = snprintf(made, sizeof(made), "%s.%d.0", path, (int)getpid());
    if (length > 0 && (size_t)length < sizeof(made)) {
        (void)unlink(made);
    }
    /* Only where it was on, and there each of them. */
    if (noted != (uint64_t)REPETITIONS * TURNS) {
        (void)fprintf(stderr, "trace-points-benchmark: %" PRIu64 " points were noted\n", noted);
        return 1;
    }
    print();
    return 0;
}
