/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.h - which lanes an endpoint has: those that its options allow and its host grants.
 */
#ifndef BEOWIRE_ENDPOINT_LANES_H
#define BEOWIRE_ENDPOINT_LANES_H

#include "beowire.h"
#include "endpoint/path.h"

/** Opens what `options->interface` and `options->lanes` ask for, in order of preference. A lane
 * that this process may not open (no CAP_NET_RAW), or that has nothing to stand on (no IP address),
 * is left out if there is another.
 *
 * @param incarnation of the endpoint, new for each
 * @param number of the endpoint
 * @param lanes on success, at least one; lanes_close() is the caller's
 * @return 0; -EINVAL: an interface or a lane is named twice or not at all, is unknown, or there are
 * too many; why the first lane could not be opened, if none could; -ENODEV, -ENETDOWN, -ENOMEM or
 * another negative errno. */
int lanes_open(const struct beowire_options *options, uint64_t incarnation, uint16_t number,
               struct path_lanes *lanes);

/** Has the kernel look into the network card's queue itself, for at most so long, when a lane that
 *  is looked at, or slept on, has nothing (SO_BUSY_POLL; 0: it does not). Where it does not allow
 *  that, it stays as the host has it. */
void lanes_busy_poll(const struct path_lanes *lanes, uint32_t time_us);

void lanes_close(struct path_lanes *lanes);

#endif /* BEOWIRE_ENDPOINT_LANES_H */
