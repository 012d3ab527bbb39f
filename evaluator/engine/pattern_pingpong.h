/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_pingpong.h - the loop of a ping-pong, for patterns that differ in where messages lie.
 *
 * An unreliable driver may deliver an answer after its loss timeout, when the next message is
 * already on its way. Messages of unreliable drivers therefore carry a running number in their
 * first (up to 8) bytes, and an answer with another number is thrown away.
 */
#ifndef BEOWIRE_ENGINE_PATTERN_PINGPONG_H
#define BEOWIRE_ENGINE_PATTERN_PINGPONG_H

#include "run.h"

/** The two ends of a pattern. Where `run->place` is set, it is called before each message, and puts
 *  `run->outgoing` and `run->incoming` where the next ones are. */
int pingpong_initiate(struct run *run);
int pingpong_respond(struct run *run);

#endif
