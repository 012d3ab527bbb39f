/* SPDX-License-Identifier: BSD-3-Clause */
/* route.h - the answer to `route`: which way this node reaches another, as the kernel decides. */
#ifndef BEOWIRE_ENGINE_ROUTE_H
#define BEOWIRE_ENGINE_ROUTE_H

#include "command.h"

/** Resolves `to`, asks the kernel's routing table (RTM_GETROUTE, rtnetlink(7)), sends nothing over
 *  the network but what resolving the name takes, and writes the answer. */
void route_answer(struct command *command);

#endif
