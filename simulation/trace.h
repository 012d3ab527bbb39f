/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h - writes a line for each event of a frame:
 *
 *      TIME EVENT FROM>TO rail RAIL TYPE sequence N acknowledgement N credit N flags X bytes N
 *
 * TIME is virtual, in nanoseconds. Everything depends on the seed only, so the traces of two runs
 * are identical.
 */
#ifndef BEOWIRE_SIMULATION_TRACE_H
#define BEOWIRE_SIMULATION_TRACE_H

#include "lane/sim/sim.h"

/** A sim_observer; `context` is the FILE. */
void trace_frame(void *context, const struct sim_event *event);

#endif /* BEOWIRE_SIMULATION_TRACE_H */
