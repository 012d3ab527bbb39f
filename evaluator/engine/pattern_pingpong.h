/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_pingpong.h - the loop of a ping-pong, for patterns that differ in the place of messages
 * in memory, or in the sizes of the two messages.
 *
 * An unreliable driver may deliver an answer after its loss timeout, when the next message is
 * already on its way. Messages of unreliable drivers therefore carry a running number in their
 * first (up to 8) bytes, and an answer with another number is discarded.
 */
#ifndef BEOWIRE_ENGINE_PATTERN_PINGPONG_H
#define BEOWIRE_ENGINE_PATTERN_PINGPONG_H

#include "run.h"

/** The two ends of a pattern. If `run->place` is set, it is called before each message and moves
 *  `run->outgoing` and `run->incoming`. `run->send_bytes` of each end must be `run->receive_bytes`
 *  of the other. An answer begins with the bytes of its request. */
int pingpong_initiate(struct run *run);
int pingpong_respond(struct run *run);

#endif
