/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.h - which lanes an endpoint has: those that its options allow and its host grants.
 */
#ifndef BEOWIRE_ENDPOINT_LANES_H
#define BEOWIRE_ENDPOINT_LANES_H

#include "beowire.h"
#include "endpoint/missing.h"
#include "route/path.h"

/** Opens what `options->interface` and `options->lanes` ask for, in order of preference. A lane
 * that this process may not open (no CAP_NET_RAW), that has nothing to stand on (no IP address), or
 * of which the interface has as many as it may, is left out if there is another.
 *
 * @param incarnation of the endpoint, new for each
 * @param number of the endpoint, 0: any. Gets it: if there is a packet lane, one that no other
 * endpoint of this network namespace has that has one, too; else nobody asks for it
 * @param lanes on success, at least one; lanes_close() is the caller's
 * @param missing on success, those left out
 * @return 0; -EINVAL: an interface or a lane is named twice or not at all, is unknown, or there are
 * too many; -EADDRINUSE: the number is taken; why the first lane could not be opened, if none
 * could; -ENODEV, -ENETDOWN, -ENOMEM or another negative errno. */
int lanes_open(const struct beowire_options *options, uint64_t incarnation, uint16_t *number,
               struct path_lanes *lanes, struct lanes_missing *missing);

/** Has the kernel look into the network card's queue itself, for at most so long, when a lane that
 *  is looked at, or slept on, has nothing, and by preference only then (queue_poll.h; 0: it does
 *  not). What of it the kernel does not allow stays as the host has it. */
void lanes_busy_poll(const struct path_lanes *lanes, uint32_t time_us);

/** Has `options->interface` to name some for these `options->lanes`? Not if all of them are lanes
 * of the host; yes if the list is none that lanes_open() takes. */
bool lanes_need_interface(const char *list);

/** Closes all lanes.
 *  @param together by threads, which end before this returns, and have no signals delivered. A
 * child of fork() may not start threads; but its parent has the sockets open, so the kernel waits
 * for none of them. */
void lanes_close(struct path_lanes *lanes, bool together);

#endif /* BEOWIRE_ENDPOINT_LANES_H */
