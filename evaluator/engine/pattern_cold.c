/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_cold.c - a ping-pong whose buffers move through much memory (walk.h), so that no message
 * is in memory that a cache still holds.
 */
#include "pattern.h"
#include "pattern_pingpong.h"
#include "walk.h"

static void place_on_walk(struct run *run)
{
    run->outgoing = walk_next(run->request->walk);
    run->incoming = walk_next(run->request->walk);
}

static int prepare(const struct measure_request *request)
{
    return walk_begin(request->walk, request->size);
}

static void begin(struct run *run)
{
    run->place = place_on_walk;
    run->result->walk_bytes = run->request->walk->bytes;
    run->result->cache_bytes = run->request->walk->cache_bytes;
}

static int initiate(struct run *run)
{
    begin(run);
    return pingpong_initiate(run);
}

static int respond(struct run *run)
{
    begin(run);
    return pingpong_respond(run);
}

const struct pattern PATTERN_COLD = {
    .name = "cold",
    .summary = "a ping-pong whose buffers move through twice the last-level cache",
    .reports = PATTERN_TIMES,
    .needs = PATTERN_NEEDS_ANYWHERE,
    .prepare = prepare,
    .initiate = initiate,
    .respond = respond,
};
