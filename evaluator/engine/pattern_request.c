/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_request.c - a short request, and a message of `size` bytes back, as clients of file
 * servers and key-value stores do. A ping-pong whose request has the bytes of an answer (run.h).
 */
#include "pattern.h"
#include "pattern_pingpong.h"

static int initiate(struct run *run)
{
    run->send_bytes = run_answer_bytes(run);
    return pingpong_initiate(run);
}

static int respond(struct run *run)
{
    run->receive_bytes = run_answer_bytes(run);
    return pingpong_respond(run);
}

const struct pattern PATTERN_REQUEST = {
    .name = "request",
    .summary = "a request of 8 bytes there, and a message of the size back",
    .reports = PATTERN_TIMES,
    .needs = PATTERN_NEEDS_PEER,
    .initiate = initiate,
    .respond = respond,
};
