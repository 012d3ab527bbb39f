/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.h - opens the lanes of an endpoint that its options and its host allow.
 */
#ifndef BEOWIRE_ENDPOINT_LANES_H
#define BEOWIRE_ENDPOINT_LANES_H

#include "beowire.h"
#include "endpoint/missing.h"
#include "route/path.h"

/** Opens the lanes of `options->interface` and `options->lanes`, in order of preference. A lane is
 *  left out, if there is another, if this process may not open it (no CAP_NET_RAW), if it lacks
 *  something (an IP address), or if the interface has its maximum number of them.
 *
 *  @param incarnation of the endpoint, new for each
 *  @param number of the endpoint, 0: any. If there is a packet lane, gets a number that is unique
 *  among the endpoints of this network namespace with a packet lane; otherwise the number is not
 *  used
 *  @param lanes on success, at least one; the caller must call lanes_close()
 *  @param missing on success, those left out
 *  @return 0; -EINVAL: an interface or a lane is named twice, missing or unknown, or there are too
 *  many; -EADDRINUSE: the number is in use; if no lane could be opened, the error of the first;
 *  -ENODEV, -ENETDOWN, -ENOMEM or another negative errno. */
int lanes_open(const struct beowire_options *options, uint64_t incarnation, uint16_t *number,
               struct path_lanes *lanes, struct lanes_missing *missing);

/** Lets the kernel poll the network card's queue for at most `time_us` when a lane that is polled
 *  or slept on has nothing, preferably only then (queue_poll.h; 0: never). Settings that the kernel
 *  does not allow stay unchanged. */
void lanes_busy_poll(const struct path_lanes *lanes, uint32_t time_us);

/** Must `options->interface` name interfaces for these `options->lanes`? Not if all are lanes of
 *  the host; yes if lanes_open() refuses the list. */
bool lanes_need_interface(const char *list);

/** Closes all lanes.
 *  @param together by threads, which end before this returns, with signals blocked. A child of
 *  fork() may not start threads, but its parent has the sockets open, so the kernel does not wait
 *  for them. */
void lanes_close(struct path_lanes *lanes, bool together);

#endif /* BEOWIRE_ENDPOINT_LANES_H */
