/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core_internal.h - what the files of the core share among themselves, and the order that they are
 * in: each may call those above it, and none below.
 *
 *      map, hold, patience, crowd   know nothing of peers
 *      core.h                  struct core, struct core_peer: what all from here on work on
 *      counters, witness, doubt  what is counted, and of whom it is not known whether it is there
 *      sealing                 whether frames are sealed, and their seals checked
 *      checking                whether frames have checksums, and which links damage them
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

/* ---- core.h: functions of its structs -------------------------------------------------------- */

/** May a connection begin by CONNECT with these features, as far as seals are concerned? */
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
                                     unsigned by)
{
    const struct path_lanes *lanes = &core->options.lanes;

    return peer->connection.asks ? paths_may_ask(&peer->route.paths, lanes, by)
                                 : paths_is_usable(&peer->route.paths, lanes, by);
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

/** Sends frames to a peer over the lane with index `by`. @return how many were taken; if none, the
 *  next core_timers() asks whether the lane works. */
static inline unsigned core_send(struct core *core, struct core_peer *peer, unsigned by,
                                 const struct lane_outgoing *frames, unsigned count)
{
    unsigned taken = route_send(&core->routes, &peer->route, by, frames, count);

    if (core->routes.refusing != 0) {
        core_note_deadline(core, 0);
    }
    return taken;
}

/* ---- witness.c ------------------------------------------------------------------------------- */

/** Has our kernel answer for us, over all lanes that can; peers are told if it does. */
void core_bear_witness(struct core *core);

/** Asks the kernel of a silent, doubted peer whether its process is there, if the lane can ask and
 *  has not yet. */
void core_call_witness(struct core *core, struct core_peer *peer, unsigned by);

/** Ends the question: the peer was heard, or has failed. */
void core_dismiss_witness(struct core *core, struct stillness *stillness);

/** The peer's host answers, the peer does not. May its process still be there? Not if the kernel
 *  could have said so. */
bool core_may_be_there(struct core *core, struct core_peer *peer);

/* ---- doubt.c --------------------------------------------------------------------------------- */

/** Begins to doubt the peer, unless it is doubted already. @return NULL: no memory. */
struct doubt *core_doubt(struct core_peer *peer);

/** A frame of the connection has come from a peer that is `doubted`. */
void core_trust(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The peer has failed: its doubt is freed. */
void core_end_doubt(struct core *core, struct core_peer *peer);

/* ---- sealing.c ------------------------------------------------------------------------------- */

/** A connection has just begun by `frame` (CONNECT or ACCEPT): seals its frames from now on if the
 *  settings say so. @return 0; -EPROTONOSUPPORT: the peer does not support seals; -ENOMEM. */
int core_begin_seals(struct core *core, struct core_peer *peer, const struct frame *frame);

void core_end_seals(struct core_peer *peer);

/** Is the seal right of a frame with one of our keys that has come over the lane? */
bool core_seal_is_right(struct core_peer *peer, const struct frame *frame, const struct lane *lane);

/* ---- checking.c ------------------------------------------------------------------------------ */

/** A connection has just begun by `frame` (CONNECT or ACCEPT), and it is known whether its frames
 *  are sealed: frames have checksums from now on if they need them. */
void core_begin_checksums(const struct core *core, struct core_peer *peer,
                          const struct frame *frame);

/** Should this frame without checksum have one, by the lane over which it came? */
static inline bool core_lacks_checksum(const struct core_peer *peer, const struct frame *frame,
                                       const struct lane *lane)
{
    return peer->route.checked && lane->needs_checksum && frame->checksum == NULL &&
           frame->type != FRAME_CONNECT && frame->type != FRAME_ACCEPT;
}

/** Counts a frame that was damaged on its way, for its link. */
void core_note_damage(struct core *core, const struct arrival *from);

/* ---- ask.c ----------------------------------------------------------------------------------- */

/** Asks the peer for a connection. @return false: only the peer has asked, and the application has
 *  not named it, so we cannot ask. */
bool core_ask(struct core_peer *peer, uint64_t now_ns);

/** Somebody else may have asked in the name of this peer. If we can ask the peer, its answer
 * decides.
 *  @return false: it has been heard, or cannot be asked. */
bool core_ask_who_it_is(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Sends PROBE, or CONNECT if there is no connection yet, over a lane. */
void core_ask_over(struct core *core, struct core_peer *peer, unsigned by);

/** Sends CONNECT over a lane, followed by shorter ones if earlier ones got no answer. The peer
 * takes the first that arrives, which is the longest that fits. */
void core_ask_by(struct core *core, struct core_peer *peer, unsigned by);

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
void core_expect(struct core *core, unsigned by);

/** Handles PULL or DATA of an open connection that has come over the lane `by`.
 *  @return 0; -EPROTO: the peer violated the protocol. */
int core_receive_bulk(struct core *core, struct core_peer *peer, const struct frame *frame,
                      unsigned by, uint64_t now_ns);

/* ---- reach.c --------------------------------------------------------------------------------- */

/** Tries the paths that are not proven, when this is due. */
void core_service_paths(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The peer answers, but frames on this path do not arrive: uses another one. */
void core_try_another_path(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The peer has received what was sent over the lane `by`. With the first proven path, messages may
 *  be sent, if the peer has been heard. */
void core_prove_path(struct core *core, struct core_peer *peer, unsigned by);

/** Tries all paths that are not proven now, as if for the first time. */
void core_try_paths(struct core *core, struct core_peer *peer);

/** Sends sequenced frames and control over the lane `by` from now on. */
void core_use_path(struct core *core, struct core_peer *peer, unsigned by, uint64_t now_ns);

/** Sends to the peer over the preferred lane again. */
void core_return_to_path(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The peer does not share memory with us, whatever its address says. Before the connection is
 * open, it is reached over other lanes from now on, and posted messages are kept.
 *  @return false: the connection is open, or no other lane reaches the peer. */
bool core_leave_memory(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Asks a lane whether it works, and moves peers to other lanes if not. */
void core_check_lane(struct core *core, unsigned by);

/* ---- peers.c --------------------------------------------------------------------------------- */

/** Allocates the table of peers. @return 0, or -ENOMEM. */
int core_open_peers(struct core *core);
void core_close_peers(struct core *core);

/** A peer has failed, or the application has removed it. If both, it can be freed soon. */
void core_note_gone(struct core *core, struct core_peer *peer);

/** A peer that the application has removed, and that nothing depends on, fails: at once if it was
 * not asked for a connection, otherwise if it does not answer in time. */
void core_drop_unwanted(struct core *core, struct core_peer *peer);

/** Frees peers that have gone and are due. */
void core_forget_peers(struct core *core, uint64_t now_ns);

/** The peer has failed: all its operations end with `error`. */
void core_fail_peer(struct core *core, struct core_peer *peer, int error);

/** The peer may be about to read memory that the application gets back now (message_layer). */
void core_withdraw_memory(void *context, const struct message_peer *message);

/* ---- suspicion.c ----------------------------------------------------------------------------- */

/** RESET has no key of ours. It is believed if it echoes what only a receiver of our frames has
 * seen. This also finds the peer quickly, since anybody can send any number of them. */
void core_receive_reset(struct core *core, const struct frame *frame, const struct arrival *from,
                        uint64_t now_ns);

/** The network reports over this lane that the peer has ended: asks the peer. */
void core_suspect(struct core *core, struct core_peer *peer, unsigned by,
                  const struct lane_loss *loss, uint64_t now_ns);

/** Asks a suspected peer again, if that is due. */
void core_ask_suspect(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Has the network reported often enough that the peer has ended, without a sign of it? */
bool core_is_refused(const struct core *core, const struct core_peer *peer, uint64_t now_ns);

/** A lane that notices refusals has just sent: they are polled for soon, before the peer's own
 * timers are due. */
void core_expect_refusal(struct core *core, uint64_t now_ns);

/** Fails peers whose process has ended as a lane knows for certain, and suspects those reported as
 *  ended. `costly`: also asks lanes for which asking is expensive. */
void core_notice_lost(struct core *core, bool costly, uint64_t now_ns);

/** A frame does not arrive however often it is sent. A router may drop frames of that length, and
 *  quote too little of them for us to believe its report. So the lanes fragment long datagrams from
 *  now on, whether or not the peer answers. This does no harm, and only somebody who can drop
 * frames can cause it. */
void core_cut_stuck(struct core *core, const struct core_peer *peer, uint64_t now_ns);

/** Polls the lanes for refusals while some are expected, and once more afterwards, because the
 *  application may have been away. */
void core_look_for_refusals(struct core *core, uint64_t now_ns);

/* ---- silence.c ------------------------------------------------------------------------------- */

/** If nobody ran the timers for a while, or the clock was set, at most this much of it counts as
 *  silence of the peers, so that an application that calls rarely also notices failed peers. */
uint64_t core_counted_absence(const struct core *core);

/** Timers ran late by `absence_ns`, more than core_counted_absence(): the excess does not count as
 *  silence of the peers. */
void core_forgive_absence(struct core *core, uint64_t absence_ns, uint64_t now_ns);

/** The owner of the core calls: forgives its absence, if it was away. */
void core_attend(struct core *core, uint64_t now_ns);

/** If the peer has been silent for long, asks whether its host answers. */
void core_ask_host(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Takes the answers of hosts: a process that is stopped on a host that answers is given more time.
 */
void core_hear_hosts(struct core *core, uint64_t now_ns);

/** When the peer counts as dead: no answer for longer than we wait, or it answers but does not
 *  receive our frames or send the data that we request. UINT64_MAX: nothing is awaited. */
uint64_t core_dies_at(const struct core *core, const struct core_peer *peer);

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

/** Handles a frame that has come over the lane `by`.
 *  @return its sender, if the frame is sequenced and the sender will be serviced; or NULL. */
struct core_peer *core_receive_frame(struct core *core, unsigned by,
                                     const struct lane_incoming *incoming, uint64_t now_ns);

/* ---- rest.c ---------------------------------------------------------------------------------- */

/** Takes frames that only continue the message of the frame just handled, and arrived with it on a
 *  lane with segmentation offload.
 *  @param frames `count` of them, from the lane `by`
 *  @return how many were taken; the others are handled one by one. */
unsigned core_receive_rest(struct core *core, struct core_peer *peer, unsigned by,
                           const struct lane_incoming *frames, unsigned count, uint64_t now_ns);

#endif /* BEOWIRE_CORE_CORE_INTERNAL_H */
