/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * route.h - the route to one peer: which lane a frame uses, and its checksum or seal. All frames to
 * a peer pass through route_send().
 *
 *      rails, address, proof     whose an address is, and how it is reached
 *      path, convoy              the lanes to a peer, and those for bursts
 *      seal, sealing             sealing of frames
 *      outgoing                  sending
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_ROUTE_ROUTE_H
#define BEOWIRE_ROUTE_ROUTE_H

#include "frame/frame.h"
#include "route/convoy.h"
#include "route/path.h"
#include "route/seal.h"
#include "route/trace.h"

/** Shared by the routes of an endpoint. */
struct routes {
    const struct path_lanes *lanes;
    uint64_t *sent;      /**< counters of frames taken by lanes, by type */
    struct trace *trace; /**< NULL: no trace; owned by the caller */
    uint32_t refusing;   /**< bits: lanes that have taken nothing; cleared by the caller */
};

/** The route to a peer. */
struct route {
    struct convoy convoy;
    bool gathers; /**< convoy_gathers() when sequenced frames were last sent, or lanes changed */
    bool checked; /**< frames of this connection have a checksum on lanes that need one */
    struct seal *seal; /**< NULL: frames of this connection are not sealed */
    struct paths paths;
};

/** Bytes of the seal in each frame to the peer, except in shared memory. */
static inline uint32_t route_seal_bytes(const struct route *route)
{
    return route->seal != NULL ? (uint32_t)sizeof(struct frame_seal) : 0;
}

/** Bytes of the checksum in each DATA frame to the peer over a lane. */
static inline uint32_t route_checksum_bytes(const struct route *route, const struct lane *lane)
{
    return route->checked && lane->needs_checksum ? (uint32_t)sizeof(le32) : 0;
}

/** Sends frames over lane `lane_index`, if their types may be sent there before it is proven.
 *  @return the number taken; if 0, the lane is marked as refusing. */
unsigned route_send(struct routes *routes, struct route *route, unsigned lane_index,
                    const struct lane_outgoing *frames, unsigned count);

/** Sends sequenced frames of a flow in order over the best lane, and records the way of each. Those
 *  from sequence `first` to before `highest` are in flight.
 *  @param count at least 1, at most FLOW_BATCH_FRAMES. @return the number taken */
unsigned route_send_sequenced(struct routes *routes, struct route *route,
                              struct flow_frame *const *frames, unsigned count, uint32_t first,
                              uint32_t highest);

/** Adds checksums to frames of a connection that has them, if this lane needs them: for
 *  route_send(). */
void route_write_checksums(const struct lane *lane, const struct lane_outgoing *frames,
                           unsigned count);

/** Sends frames over a lane of a route that has a seal: for route_send(). @return as there */
unsigned route_send_sealed(struct routes *routes, struct route *route, unsigned lane_index,
                           const struct lane_outgoing *frames, unsigned count);

#endif /* BEOWIRE_ROUTE_ROUTE_H */
