/* SPDX-License-Identifier: BSD-3-Clause */
/* route.h - the answer to `route`: the kernel's route from this node to another. */
#ifndef BEOWIRE_ENGINE_ROUTE_H
#define BEOWIRE_ENGINE_ROUTE_H

#include "command.h"

/** Resolves `to`, asks the kernel's routing table (RTM_GETROUTE, rtnetlink(7)), and writes the
 *  answer. Only resolving the name may use the network. */
void route_answer(struct command *command);

#endif
