/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_alignment.c - a ping-pong in which each message begins at a different offset in a page,
 * at both ends, as buffers of applications do.
 */
#include "pattern.h"
#include "pattern_pingpong.h"

/* Between offsets. It is coprime to the page size, so messages begin at each byte of a page once in
 * 4096, and long messages never twice in a row at the same offset in a cache line. */
#define STEP_BYTES 1091

/* Both ends use the same offsets. The outgoing buffer is half a page before the incoming one. */
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
    .summary = "a ping-pong whose messages begin at another offset in a page each time",
    .reports = PATTERN_TIMES,
    .initiate = initiate,
    .respond = respond,
};
