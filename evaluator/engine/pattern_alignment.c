/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_alignment.c - a ping-pong in which every message begins at another place of a page, at
 * each end: what a protocol makes of buffers that applications have, and not benchmarks.
 */
#include "pattern.h"
#include "pattern_pingpong.h"

/* From place to place. It is prime to the size of a page, so a message begins at each byte of one
 * once in 4096, and long messages never begin twice in a row at the same place of a cache line. */
#define STEP_BYTES 1091

/* Both ends walk alike; what is sent goes half a page before what is received. */
static void place_anywhere(struct run *run)
{
    const uint64_t at = ++run->placed * STEP_BYTES;
    run->outgoing = run->request->outgoing + at % MEASURE_SLACK_BYTES;
    run->incoming = run->request->incoming + (at + MEASURE_SLACK_BYTES / 2) % MEASURE_SLACK_BYTES;
}

static int initiate(struct run *run)
{
    run->place = place_anywhere;
    return pingpong_initiate(run);
}

static int respond(struct run *run)
{
    run->place = place_anywhere;
    return pingpong_respond(run);
}

const struct pattern PATTERN_ALIGNMENT = {
    .name = "alignment",
    .summary = "a ping-pong whose messages begin at another place of a page each time",
    .reports = PATTERN_TIMES,
    .initiate = initiate,
    .respond = respond,
};
