/* SPDX-License-Identifier: BSD-3-Clause */
/* catalogue.h - the answer to `drivers`: every driver, whether it can run here, and why not. */
#ifndef BEOWIRE_ENGINE_CATALOGUE_H
#define BEOWIRE_ENGINE_CATALOGUE_H

#include "command.h"
#include "modules.h"

/** Loads every driver file, asks each driver, writes the answer. */
void catalogue_answer(struct modules *modules, const struct command *command);

#endif
