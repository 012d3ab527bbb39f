/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core_internal.h - what the files of the core share among themselves, and the order that they are
 * in: each may call those above it, and none below.
 *
 *      address, map, rails, hold, patience, crowd, trace      know nothing of peers
 *      path, convoy            the lanes to one peer, and which of them bursts take
 *      core.h                  struct core, struct core_peer: what all from here on work on
 *      counters, witness, doubt  what is counted, and of whom it is not known whether it is there
 *      sealing                 frames sealed, and their seals checked
 *      checking                checksums of frames, and which links damage them
 *      outgoing                core_send(): the place that all frames to a peer pass on their way
 * out wire                    sequenced frames: what the flow sends with, and which lane they take
 *      control                 frames that carry no message
 *      ask                     CONNECT and PROBE: is somebody there?
 *      one_sided               long messages that lanes read from peers' memory
 *      lengths, bulk           how long frames are; the data of long messages
 *      reach                   which lanes work, which are proven, and which is used
 *      peers                   peers come, fail, and are given back
 *      suspicion, silence      peers that the network says have ended, or that say nothing
 *      core                    a peer is serviced; timers; the beginning and the end of it all
 *      rest, receive           frames that have come
 *      look                    at which lanes it is looked for them, and when
 *      post                    what the application posts
 *
 * scripts/check_layers.py sees to it.
 */
#ifndef BEOWIRE_CORE_CORE_INTERNAL_H
#define BEOWIRE_CORE_CORE_INTERNAL_H

#include "core/core.h"

/* ---- core.h: what follows from it ------------------------------------------------------------ */

/** Of a connection that is about to begin by CONNECT with these features: may it, as far as seals
 *  are concerned? */
static inline bool core_may_seal(const struct core *core, uint32_t features)
{
    return !core->options.authenticate || (features & FRAME_FEATURE_SEAL) != 0;
}

/** How many bytes of each frame to the peer are its seal, but in memory that is shared. */
static inline uint32_t core_seal_bytes(const struct core_peer *peer)
{
    return peer->seal != NULL ? (uint32_t)sizeof(struct frame_seal) : 0;
}

/** So many bytes have come of a peer: as long as some of its places are not proven, three times as
 *  many may be sent there (RFC 9000, section 8.1). Whom the application has named is believed. */
static inline void core_allow(struct core_peer *peer, uint32_t bytes)
{
    uint32_t most = 3 * (uint32_t)FRAME_BYTES_MAX;

    if (peer->challenge_at_ns != UINT64_MAX || peer->connection.state == CONNECTION_ANSWERED) {
        peer->allowance_bytes += 3 * bytes;
        peer->allowance_bytes = peer->allowance_bytes < most ? peer->allowance_bytes : most;
    }
}

/** May so many bytes be sent to a place of the peer that is not proven? If so notes it. */
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

/** May it be asked over the lane whether it is there? By CONNECT over all by which it should be
 *  reached, by PROBE over those that are proven. */
static inline bool core_may_ask_over(const struct core *core, const struct core_peer *peer,
                                     unsigned by)
{
    const struct path_lanes *lanes = &core->options.lanes;

    return peer->connection.asks ? paths_may_ask(&peer->paths, lanes, by)
                                 : paths_is_usable(&peer->paths, lanes, by);
}

/** An ACCEPT is sent, or left out because the CONNECT was shorter. */
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

/** Has somebody who has seen our frames said that it has ended? */
static inline bool core_is_refused_by_host(const struct core_peer *peer)
{
    return core_is_doubted(peer) && peer->doubt->suspicion.refused_ns != 0;
}

/** Timers have to be looked at from then on. */
static inline void core_note_deadline(struct core *core, uint64_t deadline_ns)
{
    if (deadline_ns < core->deadline_ns) {
        core->deadline_ns = deadline_ns;
    }
}

/* ---- witness.c ------------------------------------------------------------------------------- */

/** Has our kernel prove that we are there, over all lanes that can; if it does we say so. */
void core_bear_witness(struct core *core);

/** Asks the kernel of a silent peer, which is doubted, whether it is there, if that can be asked
 *  over the lane and has not been. */
void core_call_witness(struct core *core, struct core_peer *peer, unsigned by);

/** The peer was heard, or has failed. */
void core_dismiss_witness(struct core *core, struct stillness *stillness);

/** Its host answers. May that be silence of a process that is there? Not if it could prove it. */
bool core_may_be_there(struct core *core, struct core_peer *peer);

/* ---- doubt.c --------------------------------------------------------------------------------- */

/** Begins to doubt the peer, if that has not been. @return NULL: there is no memory for it. */
struct doubt *core_doubt(struct core_peer *peer);

/** Something of the connection has come from a peer that is `doubted`. */
void core_trust(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The peer has failed: nothing is to be told of it any more. */
void core_end_doubt(struct core *core, struct core_peer *peer);

/* ---- sealing.c ------------------------------------------------------------------------------- */

/** A connection has just begun by `frame` (CONNECT or ACCEPT): if its frames are to be sealed they
 *  are from now on. @return 0; -EPROTONOSUPPORT: they are to be, and the peer does not know how;
 *  -ENOMEM. */
int core_begin_seals(struct core *core, struct core_peer *peer, const struct frame *frame);

void core_end_seals(struct core_peer *peer);

/** Sends frames to a peer of which frames are sealed. @return how many were taken. */
unsigned core_send_sealed(struct core *core, struct core_peer *peer, unsigned by,
                          const struct lane_outgoing *frames, unsigned count);

/** Has a frame with a key of ours, that has come over the lane, what it should have of a seal? */
bool core_seal_is_right(struct core_peer *peer, const struct frame *frame, const struct lane *lane);

/* ---- checking.c ------------------------------------------------------------------------------ */

/** A connection has just begun by `frame` (CONNECT or ACCEPT), and it is known whether its frames
 *  are sealed: if they are to have checksums they have them from now on. */
void core_begin_checksums(const struct core *core, struct core_peer *peer,
                          const struct frame *frame);

/** Bytes that the checksum takes of each DATA to the peer over a lane. */
static inline uint32_t core_checksum_bytes(const struct core_peer *peer, const struct lane *lane)
{
    return peer->checked && lane->needs_checksum ? (uint32_t)sizeof(le32) : 0;
}

/** Gives frames of a connection that has checksums theirs, if they need one over this lane. */
void core_write_checksums(const struct lane *lane, const struct lane_outgoing *frames,
                          unsigned count);

/** Has this frame, which has no checksum, come over a lane where frames of the peer have one? */
static inline bool core_lacks_checksum(const struct core_peer *peer, const struct frame *frame,
                                       const struct lane *lane)
{
    return peer->checked && lane->needs_checksum && frame->checksum == NULL &&
           frame->type != FRAME_CONNECT && frame->type != FRAME_ACCEPT;
}

/** Counts a frame that was damaged on its way, and for which link. */
void core_note_damage(struct core *core, const struct arrival *from);

/* ---- wire.c ---------------------------------------------------------------------------------- */

/** The way out to a peer, as the flow sees it. */
struct core_wire {
    struct core *core;
    struct core_peer *peer;
    uint32_t left; /**< so many frames it takes in this turn */
};

unsigned core_wire_send(void *context, struct flow_frame *const *frames, unsigned count);
void core_wire_released(void *context, struct flow_frame *frame);

/** Declares `name`, the way out to `peer`, for one call. */
#define WIRE_TO(name, core_, peer_)                                                                \
    struct core_wire name##_context = {                                                            \
        .core = (core_), .peer = (peer_), .left = (core_)->turn_frames};                           \
    const struct flow_wire name = {                                                                \
        .send = core_wire_send, .released = core_wire_released, .context = &name##_context}

/* ---- ask.c ----------------------------------------------------------------------------------- */

/** Asks the peer for a connection. @return false: it has asked us, and nobody has named it, so we
 *  cannot ask. */
bool core_ask(struct core_peer *peer, uint64_t now_ns);

/** Whoever may ask us may have asked in the name of this peer. If we can ask the peer, its answer
 *  decides. @return false: it has been heard, or cannot be asked. */
bool core_ask_who_it_is(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Sends PROBE, or CONNECT if there is no connection yet, over a lane. */
void core_ask_over(struct core *core, struct core_peer *peer, unsigned by);

/** Sends CONNECT over a lane; and, if some have found no answer, shorter ones behind it. The peer
 *  takes the first that arrives: the longest that can. */
void core_ask_by(struct core *core, struct core_peer *peer, unsigned by);

/* ---- one_sided.c ----------------------------------------------------------------------------- */

/** Finds out which lane can read peers' memory, if any, and has messages use it. */
void core_open_one_sided(struct core *core);

/** Can that lane be used for the peer now? */
void core_choose_one_sided(struct core *core, struct core_peer *peer);

/** Takes the reads that have ended. @return how many; then `now_ns` is set, too. */
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

/** Tells a lane what is likely to come next. */
void core_expect(struct core *core, unsigned by);

/** Handles PULL or DATA of an open connection, that has come over the lane `by`.
 *  @return 0; -EPROTO: the peer broke a rule. */
int core_receive_bulk(struct core *core, struct core_peer *peer, const struct frame *frame,
                      unsigned by, uint64_t now_ns);

/* ---- reach.c --------------------------------------------------------------------------------- */

/** Tries the paths that are not proven, when that is due. */
void core_service_paths(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The peer answers, but what we send does not arrive: it is this path. */
void core_try_another_path(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The peer has got what was sent to it over the lane `by`. With the first of them, messages may go
 *  to it, if it has been heard. */
void core_prove_path(struct core *core, struct core_peer *peer, unsigned by);

/** Paths that are not proven are tried at once, as if for the first time. */
void core_try_paths(struct core *core, struct core_peer *peer);

/** Sequenced frames and control go to the peer over the lane `by` from now on. */
void core_use_path(struct core *core, struct core_peer *peer, unsigned by, uint64_t now_ns);

/** Sends to the peer over the preferred lane again. */
void core_return_to_path(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Memory is not shared with the peer, whatever its address says: it is reached by other lanes from
 *  now on, before the connection is open. What was to be sent to it is kept.
 *  @return false: the connection is open, or nothing else reaches it. */
bool core_leave_memory(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Asks a lane whether it works, and has peers use others if not. */
void core_check_lane(struct core *core, unsigned by);

/* ---- peers.c --------------------------------------------------------------------------------- */

/** Makes room for peers, and takes it back. @return 0, or -ENOMEM. */
int core_open_peers(struct core *core);
void core_close_peers(struct core *core);

/** A peer has failed, or nobody names it any more: if both, it can be given back soon. */
void core_note_gone(struct core *core, struct core_peer *peer);

/** A peer that nobody names any more, and on which nothing depends, fails if it has not been asked
 *  for a connection, or else if it does not answer in time. */
void core_drop_unwanted(struct core *core, struct core_peer *peer);

/** Gives back peers that have gone, whatever is due. */
void core_forget_peers(struct core *core, uint64_t now_ns);

/** The peer has failed: all of it ends with `error`. */
void core_fail_peer(struct core *core, struct core_peer *peer, int error);

/** The peer may be about to read what the application gets back now (message_layer). */
void core_withdraw_memory(void *context, const struct message_peer *message);

/* ---- suspicion.c ----------------------------------------------------------------------------- */

/** RESET carries no key of ours: it is believed if it echoes what only a receiver of our frames
 *  has seen. That finds the peer, too: anybody can send as many as he likes. */
void core_receive_reset(struct core *core, const struct frame *frame, const struct arrival *from,
                        uint64_t now_ns);

/** The network says, over this lane, that the peer has ended: it is asked. */
void core_suspect(struct core *core, struct core_peer *peer, unsigned by,
                  const struct lane_loss *loss, uint64_t now_ns);

/** Asks a peer that is suspected, if it is time. */
void core_ask_suspect(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Has the network said often enough that it has ended, and nothing been heard of it? */
bool core_is_refused(const struct core *core, const struct core_peer *peer, uint64_t now_ns);

/** What has just been sent may be refused, by a lane that notices. The peer's own timers may be
 *  further away than that. */
void core_expect_refusal(struct core *core, uint64_t now_ns);

/** Fails the peers of which a lane knows that their process has ended, and suspects those of which
 *  it is said; also asks lanes of which it is `costly` to ask. */
void core_notice_lost(struct core *core, bool costly, uint64_t now_ns);

/** A frame does not arrive however often it is sent. Perhaps a router drops what is so long, and
 *  quotes too little of it for us to believe its report. Has the lanes cut datagrams that are too
 *  long, whether or not the peer answers: that does no harm. Only whoever can drop frames can cause
 *  it. */
void core_cut_stuck(struct core *core, const struct core_peer *peer, uint64_t now_ns);

/** Asks the lanes for refusals as long as some are expected, and once more: the application may
 *  have been away meanwhile. */
void core_look_for_refusals(struct core *core, uint64_t now_ns);

/* ---- silence.c ------------------------------------------------------------------------------- */

/** Of a time for which nobody looked at the timers, or by which the clock was set, so much is
 *  silence of the peers: who looks seldom also notices at last. */
uint64_t core_counted_absence(const struct core *core);

/** Nobody has looked at the timers for so long after they were due, which is longer than
 *  core_counted_absence(): what peers may have said meanwhile is not silence. */
void core_forgive_absence(struct core *core, uint64_t absence_ns, uint64_t now_ns);

/** The owner of the core looks after it now: forgives its absence, if it has been away. */
void core_attend(struct core *core, uint64_t now_ns);

/** If the peer has been silent for long, asks its host whether that is there. */
void core_ask_host(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Takes the answers of hosts: whoever stands still on one that is there is not charged with that
 *  time. */
void core_hear_hosts(struct core *core, uint64_t now_ns);

/** When the peer will have owed us an answer for longer than we wait, or will have answered and yet
 *  not got what we send, or we what we ask for: it is dead. UINT64_MAX: nothing is waited for. */
uint64_t core_dies_at(const struct core *core, const struct core_peer *peer);

/* ---- core.c ---------------------------------------------------------------------------------- */

/** Reserves the credit that CONNECT or ACCEPT tells the peer, if that has not been done. */
void core_reserve_credit(struct core *core, struct core_peer *peer);

/** Notes that the peer waits for core_service(). */
static inline void core_touch(struct core *core, struct core_peer *who)
{
    if (!who->touched) {
        who->touched = true;
        core->touched[core->touched_count++] = who->message.index;
    }
}

/* ---- receive.c ------------------------------------------------------------------------------- */

/** Handles a frame that has come over the lane `by`.
 *  @return whose it is, if it is a sequenced frame and its sender will be serviced; or NULL. */
struct core_peer *core_receive_frame(struct core *core, unsigned by,
                                     const struct lane_incoming *incoming, uint64_t now_ns);

/* ---- rest.c ---------------------------------------------------------------------------------- */

/** Takes what follows a frame of the peer that has just been handled, as far as it came with it and
 *  only continues the same message: what a lane that cuts has brought in one.
 *  @param frames `count` of them, that came over the lane `by`
 *  @return how many were taken; the others are to be handled one by one. */
unsigned core_receive_rest(struct core *core, struct core_peer *peer, unsigned by,
                           const struct lane_incoming *frames, unsigned count, uint64_t now_ns);

#endif /* BEOWIRE_CORE_CORE_INTERNAL_H */
