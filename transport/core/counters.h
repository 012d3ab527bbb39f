/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counters.h - the counters of an endpoint, by name, for beowire_counter() and for publishing to
 * other processes (stats.h).
 *
 * Names consist of a group and a word. Some groups have a meaning:
 *
 *      sent_TYPE, received_TYPE   frames of a type (frame_type_name())
 *      dropped_REASON             dropped frames by reason; each frame counts in one only
 *      flow_...                   sums over all peers: reading one costs O(peers)
 *
 * One thread at a time, in the endpoint's turn.
 */
#ifndef BEOWIRE_CORE_COUNTERS_H
#define BEOWIRE_CORE_COUNTERS_H

#include "core/core.h"

/** How many there are. */
unsigned counters_count(void);

/** The name of one, by index below counters_count(); static storage. */
const char *counters_name(unsigned index);

/** Is it a sum over all peers? */
bool counters_is_of_flows(unsigned index);

/** Its value since the endpoint was opened. */
uint64_t counters_read(const struct core *core, unsigned index);

/** One peer's part of a counter that is a sum over all. */
uint64_t counters_read_flow(const struct flow *flow, unsigned index);

#endif /* BEOWIRE_CORE_COUNTERS_H */
