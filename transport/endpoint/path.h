/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.h - the ways to one peer: a lane of ours each, and the peer's address there.
 *
 * The lanes of an endpoint are in order of preference for what has to be quick (sequenced frames
 * and control); the first that reaches the peer and works is its *fast* path. Reliability is above
 * the lanes, so a flow may change its path at any time: when the lane says that it is down, or when
 * the peer has not answered twice on it.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_ENDPOINT_PATH_H
#define BEOWIRE_ENDPOINT_PATH_H

#include "frame/address_layout.h"
#include "lane/lane.h"

/** `lane` of a peer that cannot be reached at all. */
#define PATH_NONE UINT8_MAX

struct path {
    struct lane_address to;
    bool reachable;
};

/** The lanes of an endpoint, and which of them work. */
struct path_lanes {
    struct lane *lanes[LANES_MAX]; /**< in order of preference; they stay the caller's */
    unsigned count;
    bool down[LANES_MAX]; /**< said so when last asked */
};

/** The paths to a peer, by lane. */
struct paths {
    struct path at[LANES_MAX];
    uint8_t fast; /**< the lane for sequenced frames, or PATH_NONE */
};

/** Finds out over which lanes an address is reached. If memory is shared, nothing else is used. */
void paths_find(struct paths *paths, const struct path_lanes *lanes,
                const struct address_layout *address);

/** Does the lane reach the peer, and work? */
static inline bool paths_is_usable(const struct paths *paths, const struct path_lanes *lanes,
                                   unsigned lane)
{
    return paths->at[lane].reachable && !lanes->down[lane];
}

/** Sets `fast` to the first lane that reaches the peer and is not down; if all are down, to the
 *  first that reaches it. */
void paths_choose(struct paths *paths, const struct path_lanes *lanes);

/** Sets `fast` to the next lane after it, round and round, that reaches the peer and is not down.
 *  @return true: it is another one now. */
bool paths_next(struct paths *paths, const struct path_lanes *lanes);

/** Writes into our own address how the lanes are reached. */
void paths_publish(const struct path_lanes *lanes, struct address_layout *address);

/** Longest frame that every lane to the peer can carry; 0 if there is none. */
uint32_t paths_frame_bytes(const struct paths *paths, const struct path_lanes *lanes);

#endif /* BEOWIRE_ENDPOINT_PATH_H */
