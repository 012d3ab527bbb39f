/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * environment.h - the answer to `environment`: what is needed to judge or repeat a measurement on
 * this node. A flat map; unknown values are null.
 */
#ifndef BEOWIRE_ENGINE_ENVIRONMENT_H
#define BEOWIRE_ENGINE_ENVIRONMENT_H

#include "command.h"
#include "output.h"

/** Collects everything and writes the answer. */
void environment_answer(const struct command *command);

/** The parts, each in a file of its own; they add members to an open object. */
void environment_host(struct json *json);
void environment_kernel_network(struct json *json);
void environment_interface(struct json *json, const char *interface);

#endif
