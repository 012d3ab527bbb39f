/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counters.h - the counters of an endpoint, by name: what beowire_counter() reads, and what is
 * published for other processes (stats.h).
 *
 * Names are made of a group and a word. Those of some groups mean more than themselves:
 *
 *      sent_TYPE, received_TYPE   frames of a type (frame_type_name())
 *      dropped_REASON             frames that were dropped, by reason; each in one group only
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

/** The share of one peer in a counter that is a sum over all. */
uint64_t counters_read_flow(const struct flow *flow, unsigned index);

#endif /* BEOWIRE_CORE_COUNTERS_H */
