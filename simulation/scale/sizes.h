/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sizes.h - how long messages of data centres are: the five distributions of Homa's paper
 * (Montazeri et al., SIGCOMM 2018, figure 1).
 */
#ifndef BEOWIRE_SIMULATION_SCALE_SIZES_H
#define BEOWIRE_SIMULATION_SCALE_SIZES_H

#include "lane/random.h"

#include <stdint.h>

#define SIZES_COUNT 5

/** A length of the distribution 0 .. SIZES_COUNT - 1. */
uint64_t sizes_draw(unsigned distribution, struct random *random);

/** Mean over all messages of `amount` of their length, such as of their bytes on the wire. */
double sizes_mean(unsigned distribution, double (*amount)(void *context, uint64_t bytes),
                  void *context);

uint64_t sizes_longest(unsigned distribution);

#endif /* BEOWIRE_SIMULATION_SCALE_SIZES_H */
