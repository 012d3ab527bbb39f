/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.h - the paths to one peer: each is one of our lanes with the peer's address on it.
 *
 * The lanes of an endpoint are in order of preference for urgent frames (sequenced frames and
 * control). The first that reaches the peer and works is its *fast* path. Reliability is above the
 * lanes, so a flow may change its path at any time: when the lane is down, or when the peer has not
 * answered twice on it.
 *
 * An address may be false. So a path is used only when it is *proven*: the peer has shown that it
 * receives what is sent there. Until then only requests for that proof are sent.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_ROUTE_PATH_H
#define BEOWIRE_ROUTE_PATH_H

#include "frame/address_layout.h"
#include "lane/lane.h"
#include "route/rails.h"
#include "tuning.h"

#include <string.h>

/** `lane` of a peer that cannot be reached at all. */
#define PATH_NONE UINT8_MAX

/** The lanes of an endpoint, and which of them work. */
struct path_lanes {
    struct lane *lanes[LANES_MAX]; /**< in order of preference; owned by the caller */
    unsigned count;
    bool down[LANES_MAX];                        /**< reported so when last asked */
    struct rail_network networks[ADDRESS_RAILS]; /**< of the rails */
};

/** The paths to a peer, by lane. */
struct paths {
    uint16_t reachable;   /**< bit i: over lane i, by the peer's address */
    uint16_t proven;      /**< bit i: the peer has received frames over lane i */
    uint8_t fast;         /**< the lane for sequenced frames, or PATH_NONE */
    uint8_t crossing;     /**< which rail of the peer each of ours leads to, rails_match() */
    bool astray;          /**< a preferred lane did not answer, and will be tried again */
    uint16_t heard;       /**< bits: lanes over which frames of the connection came, or whose
                               ask_host() has shown that the peer's end would be reported */
    uint64_t left_ns;     /**< when that one was left, ... */
    uint64_t wait_ns;     /**< ... for how long at least, ... */
    uint64_t returned_ns; /**< ... and when it was returned to last */
    struct lane_address to[LANES_MAX]; /**< the peer's address there, if it is reachable */
};

static_assert(LANES_MAX <= 16, "a bit each: for more lanes widen paths.reachable, .proven, .heard "
                               "and core_peer.answered_by, .asked_by, .refused_by");

/** Does the lane reach the peer's address? */
static inline bool paths_reaches(const struct paths *paths, unsigned lane)
{
    return (paths->reachable >> lane & 1) != 0;
}

/** Is the path over the lane proven? */
static inline bool paths_has_proven(const struct paths *paths, unsigned lane)
{
    return (paths->proven >> lane & 1) != 0;
}

/** Does the path lead to this address? */
static inline bool paths_is_to(const struct paths *paths, unsigned lane,
                               const struct lane_address *address)
{
    return paths_reaches(paths, lane) && memcmp(&paths->to[lane], address, sizeof *address) == 0;
}

/** Finds out over which lanes an address is reached. If memory is shared, nothing else is used.
 *  @param memory may it be? */
void paths_find(struct paths *paths, const struct path_lanes *lanes,
                const struct address_layout *address, bool memory);

/** Is memory shared with the peer? */
static inline bool paths_share_memory(const struct paths *paths, const struct path_lanes *lanes)
{
    return paths->fast != PATH_NONE && lanes->lanes[paths->fast]->shares_memory;
}

/** Is this the address, on a lane, of the endpoint at that place? */
bool path_leads_to(const struct path_lanes *lanes, unsigned lane,
                   const struct address_layout *address, const struct lane_address *at);

/** May it be the fast path? */
static inline bool paths_is_for_all(const struct path_lanes *lanes, unsigned lane)
{
    return !lanes->lanes[lane]->cuts;
}

/** May the peer be asked over the lane? That is, it should reach the peer, and works. */
static inline bool paths_may_ask(const struct paths *paths, const struct path_lanes *lanes,
                                 unsigned lane)
{
    return paths_reaches(paths, lane) && !lanes->down[lane];
}

/** Is the path over the lane proven, and does the lane work? */
static inline bool paths_is_usable(const struct paths *paths, const struct path_lanes *lanes,
                                   unsigned lane)
{
    return paths_has_proven(paths, lane) && !lanes->down[lane];
}

/** Is the fast path proven? */
static inline bool paths_is_proven(const struct paths *paths)
{
    return paths->fast != PATH_NONE && paths_has_proven(paths, paths->fast);
}

/** The path over this lane is proven. @return true: `fast` is another one now. */
bool paths_prove(struct paths *paths, const struct path_lanes *lanes, unsigned lane);

/** Sets `fast` to the first lane that is proven and not down; if all are down, to the first that is
 *  proven; and as long as none is, likewise of those that should reach the peer. */
void paths_choose(struct paths *paths, const struct path_lanes *lanes);

/** A lane has gone down or come up (see `down`): the peer uses another, or the one that came up if
 * it is preferred. A peer that has left a lane without answers does not return there because
 * another lane changed. @return true: `fast` has changed. */
bool paths_follow_status(struct paths *paths, const struct path_lanes *lanes, unsigned lane_index);

/** Sets `fast` to the next lane, in a circle, that reaches the peer and is not down.
 *  @return true: `fast` has changed. */
bool paths_next(struct paths *paths, const struct path_lanes *lanes, uint64_t now_ns);

/** Sets `fast` to that lane, because the peer does so. */
void paths_use(struct paths *paths, const struct path_lanes *lanes, unsigned lane_index,
               uint64_t now_ns);

/** Is it time to return to the preferred lane? The peer was just heard on lane `lane_index`, so it
 * may only have been stopped. Each time the preferred lane fails again, the next return is later.
 */
static inline bool paths_may_return(const struct paths *paths, unsigned lane_index, uint64_t now_ns)
{
    return paths->astray && (now_ns - paths->left_ns >= paths->wait_ns ||
                             (lane_index < paths->fast && paths->wait_ns == PATH_RETURN_NS));
}

/** Returns to the preferred lane. */
void paths_return(struct paths *paths, const struct path_lanes *lanes, uint64_t now_ns);

/** Writes into our own address how the lanes are reached. */
void paths_publish(const struct path_lanes *lanes, struct address_layout *address);

/** An MTU that limits no lane. */
#define PATHS_ANY_MTU UINT32_MAX

/** Longest frame over a lane if the path has this MTU, or the lane's if that is less. */
static inline uint32_t path_carries(const struct lane *lane, uint32_t mtu)
{
    return lane->mtu > mtu ? lane->frame_bytes - (lane->mtu - mtu) : lane->frame_bytes;
}

/** Bytes of the headers below ours. */
static inline uint32_t path_below_bytes(const struct lane *lane)
{
    return lane->mtu > lane->frame_bytes ? lane->mtu - lane->frame_bytes : 0;
}

/** Longest frame that every lane to the peer can carry if the path has this MTU; 0: no lane. */
uint32_t paths_frame_bytes(const struct paths *paths, const struct path_lanes *lanes, uint32_t mtu);

/** The same for DATA, which has no header of ours on lanes with segmentation offload. */
uint32_t paths_data_bytes(const struct paths *paths, const struct path_lanes *lanes, uint32_t mtu);

/** Length of the longest frames of a connection with the headers below ours, on the lane to the
 * peer where it is greatest. @param data_bytes DATA @param frame_bytes other frames */
uint32_t paths_wire_bytes(const struct paths *paths, const struct path_lanes *lanes,
                          uint32_t data_bytes, uint32_t frame_bytes);

/** By how much DATA of a connection must be shorter than `data_bytes` to leave room for its
 * checksum on each lane that needs one. 0 if those lanes carry longer frames. */
uint32_t paths_lack_bytes(const struct paths *paths, const struct path_lanes *lanes,
                          uint32_t data_bytes, uint32_t frame_bytes);

#endif /* BEOWIRE_ROUTE_PATH_H */
