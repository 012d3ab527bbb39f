/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers.h - which peers are there, over which lanes they are reached, and which have ended; for the
 * files of core/ and peers/.
 */
#ifndef BEOWIRE_PEERS_PEERS_H
#define BEOWIRE_PEERS_PEERS_H

#include "core/core.h"

/* ---- witness.c ------------------------------------------------------------------------------- */

/** Has our kernel answer for us, over all lanes that can; peers are told if it does. */
void core_bear_witness(struct core *core);

/** Asks the kernel of a silent, doubted peer whether its process is there, if the lane can ask and
 *  has not yet. */
void core_call_witness(struct core *core, struct core_peer *peer, unsigned lane_index);

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

/* ---- ask.c ----------------------------------------------------------------------------------- */

/** Asks the peer for a connection. @return false: only the peer has asked, and the application has
 *  not named it, so we cannot ask. */
bool core_ask(struct core_peer *peer, uint64_t now_ns);

/** Somebody else may have asked in the name of this peer. If we can ask the peer, its answer
 * decides.
 *  @return false: it has been heard, or cannot be asked. */
bool core_ask_who_it_is(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Sends PROBE, or CONNECT if there is no connection yet, over a lane. */
void core_ask_over(struct core *core, struct core_peer *peer, unsigned lane_index);

/** Sends CONNECT over a lane, followed by shorter ones if earlier ones got no answer. The peer
 * takes the first that arrives, which is the longest that fits. */
void core_ask_by(struct core *core, struct core_peer *peer, unsigned lane_index);

/* ---- reach.c --------------------------------------------------------------------------------- */

/** Tries the paths that are not proven, when this is due. */
void core_service_paths(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The peer answers, but frames on this path do not arrive: uses another one. */
void core_try_another_path(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The peer has received what was sent over the lane `lane_index`. With the first proven path,
 * messages may be sent, if the peer has been heard. */
void core_prove_path(struct core *core, struct core_peer *peer, unsigned lane_index);

/** Tries all paths that are not proven now, as if for the first time. */
void core_try_paths(struct core *core, struct core_peer *peer);

/** Sends sequenced frames and control over the lane `lane_index` from now on. */
void core_use_path(struct core *core, struct core_peer *peer, unsigned lane_index, uint64_t now_ns);

/** Sends to the peer over the preferred lane again. */
void core_return_to_path(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The peer does not share memory with us, whatever its address says. Before the connection is
 * open, it is reached over other lanes from now on, and posted messages are kept.
 *  @return false: the connection is open, or no other lane reaches the peer. */
bool core_leave_memory(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** Asks a lane whether it works, and moves peers to other lanes if not. */
void core_check_lane(struct core *core, unsigned lane_index);

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
void core_suspect(struct core *core, struct core_peer *peer, unsigned lane_index,
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

#endif /* BEOWIRE_PEERS_PEERS_H */
