/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core_internal.h - what the files of core/ and peers/ share, and their order: each may call those
 * above it in this list, and none below.
 *
 *      map, hold, patience, crowd  know nothing of peers
 *      core.h                  struct core and struct core_peer, on which all following files work
 *      counters, peers/witness, peers/doubt  counters; peers that may have ended
 *      sealing                 whether frames are sealed; checks seals
 *      checking                checksums of frames, and which links damage them
 *      control                 frames that carry no message
 *      peers/ask               CONNECT and PROBE
 *      one_sided               long messages that lanes read from peers' memory
 *      lengths, bulk           lengths of frames; the data of long messages
 *      peers/reach             which lanes work, which are proven, and which is used
 *      peers/peers             peers are added, fail, and are freed
 *      peers/suspicion, peers/silence  peers that the network reports as ended, or that are silent
 *      core                    services a peer; timers; start and end of the core
 *      rest, receive           received frames
 *      look                    which lanes are polled, and when
 *      post                    messages that the application posts
 *
 * scripts/check_layers.py checks this.
 */
#ifndef BEOWIRE_CORE_CORE_INTERNAL_H
#define BEOWIRE_CORE_CORE_INTERNAL_H

#include "core/core.h"

/* ---- core.h: functions of its structs -------------------------------------------------------- */

/** Do these features of a CONNECT allow a connection, as far as seals are concerned? */
static inline bool core_may_seal(const struct core *core, uint32_t features)
{
    return !core->options.authenticate || (features & FRAME_FEATURE_SEAL) != 0;
}

/** So many bytes were received from a peer. Three times as many may be sent to its addresses that
 * are not proven (RFC 9000, section 8.1). There is no such limit if the application has named it.
 */
static inline void core_allow(struct core_peer *peer, uint32_t bytes)
{
    uint32_t most = 3 * (uint32_t)FRAME_BYTES_MAX;

    if (peer->challenge_at_ns != UINT64_MAX || peer->connection.state == CONNECTION_ANSWERED) {
        peer->allowance_bytes += 3 * bytes;
        peer->allowance_bytes = peer->allowance_bytes < most ? peer->allowance_bytes : most;
    }
}

/** May so many bytes be sent to an address of the peer that is not proven? If so, counts them. */
static inline bool core_spend(struct core_peer *peer, uint32_t bytes)
{
    if (peer->announced) {
        return true;
    }
    if (peer->allowance_bytes < bytes) {
        return false;
    }
    peer->allowance_bytes -= bytes;
    return true;
}

/** May the peer be asked over the lane? By CONNECT over all lanes that should reach it, by PROBE
 *  over those that are proven. */
static inline bool core_may_ask_over(const struct core *core, const struct core_peer *peer,
                                     unsigned lane_index)
{
    const struct path_lanes *lanes = &core->options.lanes;

    return peer->connection.asks ? paths_may_ask(&peer->route.paths, lanes, lane_index)
                                 : paths_is_usable(&peer->route.paths, lanes, lane_index);
}

/** Counts an ACCEPT that is sent, or not sent because the CONNECT was shorter. */
static inline void core_count_accept(struct core_peer *peer)
{
    if (peer->accepts_sent < UINT8_MAX) {
        peer->accepts_sent++;
    }
}

static inline bool core_is_suspected(const struct core_peer *peer)
{
    return core_is_doubted(peer) && peer->doubt->suspicion.since_ns != 0;
}

/** Has somebody who has seen our frames reported that the peer has ended? */
static inline bool core_is_refused_by_host(const struct core_peer *peer)
{
    return core_is_doubted(peer) && peer->doubt->suspicion.refused_ns != 0;
}

/** Timers are due at that time at the latest. */
static inline void core_note_deadline(struct core *core, uint64_t deadline_ns)
{
    if (deadline_ns < core->deadline_ns) {
        core->deadline_ns = deadline_ns;
    }
}

/** Sends frames to a peer over the lane `lane_index`. @return how many were taken; if none, the
 *  next core_timers() asks whether the lane works. */
static inline unsigned core_send(struct core *core, struct core_peer *peer, unsigned lane_index,
                                 const struct lane_outgoing *frames, unsigned count)
{
    unsigned taken = route_send(&core->routes, &peer->route, lane_index, frames, count);

    if (core->routes.refusing != 0) {
        core_note_deadline(core, 0);
    }
    return taken;
}

/* ---- sealing.c ------------------------------------------------------------------------------- */

/** A connection has just begun by `frame` (CONNECT or ACCEPT): seals its frames from now on if the
 *  settings say so. @return 0; -EPROTONOSUPPORT: the peer does not support seals; -ENOMEM. */
int core_begin_seals(struct core *core, struct core_peer *peer, const struct frame *frame);

void core_end_seals(struct core_peer *peer);

/** Has the frame, which came over the lane with one of our keys, the seal that it needs there? */
bool core_seal_is_right(struct core_peer *peer, const struct frame *frame, const struct lane *lane);

/* ---- checking.c ------------------------------------------------------------------------------ */

/** The same for checksums, after core_begin_seals(): from now on frames without a seal have them,
 * on lanes that need them, if both ends offer them. */
void core_begin_checksums(const struct core *core, struct core_peer *peer,
                          const struct frame *frame);

/** Has this frame no checksum, although frames on its lane must have one? */
static inline bool core_lacks_checksum(const struct core_peer *peer, const struct frame *frame,
                                       const struct lane *lane)
{
    return peer->route.checked && lane->needs_checksum && frame->checksum == NULL &&
           frame->type != FRAME_CONNECT && frame->type != FRAME_ACCEPT;
}

/** Counts a frame that was damaged on its way, for its link. */
void core_note_damage(struct core *core, const struct arrival *from);

/* ---- one_sided.c ----------------------------------------------------------------------------- */

/** Finds the lane that can read peers' memory, if any, and has messages use it. */
void core_open_one_sided(struct core *core);

/** Can that lane be used for the peer now? */
void core_choose_one_sided(struct core *core, struct core_peer *peer);

/** Takes the reads that have ended. @return how many; if any, `now_ns` is set. */
unsigned core_end_reads(struct core *core, uint64_t (*clock_ns)(void *), void *clock,
                        uint64_t *now_ns);

/* ---- bulk.c ---------------------------------------------------------------------------------- */

/** Chooses the lanes that carry the data of long messages to and from the peer. */
void core_choose_bulk_lanes(struct core *core, struct core_peer *peer);

/** Finds the lanes for bursts towards the peer. */
void core_find_convoy(struct core *core, struct core_peer *peer);

/** Copies from the memory of a peer's process (message_read_memory). */
int core_read_memory(void *context, const struct message_peer *peer, uint64_t address, void *target,
                     uint64_t bytes);

/** Tells a lane which data is likely to come next. */
void core_expect(struct core *core, unsigned lane_index);

/** Handles PULL or DATA of an open connection that has come over the lane `lane_index`.
 *  @return 0; -EPROTO: the peer violated the protocol. */
int core_receive_bulk(struct core *core, struct core_peer *peer, const struct frame *frame,
                      unsigned lane_index, uint64_t now_ns);

/* ---- core.c ---------------------------------------------------------------------------------- */

/** Reserves the credit that CONNECT or ACCEPT gives the peer, unless that was done before. */
void core_reserve_credit(struct core *core, struct core_peer *peer);

/** Marks the peer as waiting for core_service(). */
static inline void core_touch(struct core *core, struct core_peer *who)
{
    if (!who->touched) {
        who->touched = true;
        core->touched[core->touched_count++] = who->message.index;
    }
}

/* ---- receive.c ------------------------------------------------------------------------------- */

/** Handles a frame that has come over the lane `lane_index`.
 *  @return its sender, if the frame is sequenced and the sender will be serviced; or NULL. */
struct core_peer *core_receive_frame(struct core *core, unsigned lane_index,
                                     const struct lane_incoming *incoming, uint64_t now_ns);

/* ---- rest.c ---------------------------------------------------------------------------------- */

/** Takes frames that only continue the message of the frame just handled, and arrived with it on a
 *  lane with segmentation offload.
 *  @param frames `count` of them, from the lane `lane_index`
 *  @return how many were taken; the others are handled one by one. */
unsigned core_receive_rest(struct core *core, struct core_peer *peer, unsigned lane_index,
                           const struct lane_incoming *frames, unsigned count, uint64_t now_ns);

#endif /* BEOWIRE_CORE_CORE_INTERNAL_H */
