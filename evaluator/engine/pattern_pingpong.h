/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_pingpong.h - the loop of a ping-pong, for patterns that differ in where messages lie, or
 * in how long those of each end are.
 *
 * An unreliable driver may deliver an answer after its loss timeout, when the next message is
 * already on its way. Messages of unreliable drivers therefore carry a running number in their
 * first (up to 8) bytes, and an answer with another number is thrown away.
 */
#ifndef BEOWIRE_ENGINE_PATTERN_PINGPONG_H
#define BEOWIRE_ENGINE_PATTERN_PINGPONG_H

#include "run.h"

/** The two ends of a pattern. Where `run->place` is set, it is called before each message, and puts
 *  `run->outgoing` and `run->incoming` where the next ones are. What the one end has for
 *  `run->send_bytes` the other has for `run->receive_bytes`; an answer begins as the request. */
int pingpong_initiate(struct run *run);
int pingpong_respond(struct run *run);

#endif
