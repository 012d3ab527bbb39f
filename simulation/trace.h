/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h - what happens to frames, a line each:
 *
 *      TIME EVENT FROM>TO rail RAIL TYPE sequence N acknowledgement N credit N flags X bytes N
 *
 * TIME is virtual, in nanoseconds. Nothing in it depends on anything but the seed, so the traces of
 * two runs are the same, byte for byte.
 */
#ifndef BEOWIRE_SIMULATION_TRACE_H
#define BEOWIRE_SIMULATION_TRACE_H

#include "lane/sim/sim.h"

/** A sim_observer; `context` is the FILE. */
void trace_frame(void *context, const struct sim_event *event);

#endif /* BEOWIRE_SIMULATION_TRACE_H */
