/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_meet.h - how peers are met, woken, and seen to go: what shm.c does over sockets.
 *
 * All of it is in system calls, so none of it is on the way of a frame.
 */
#ifndef BEOWIRE_LANE_SHM_MEET_H
#define BEOWIRE_LANE_SHM_MEET_H

#include "shm_peers.h"

/** Watches the listener from now on. @return 0, or a negative errno. */
int shm_meet_watch(struct shm_lane *shm);

/** Connects to an incarnation, if that is not done yet. One that is not there counts as ended.
 *  @return 0, and `found` is written; -EHOSTUNREACH: it cannot be reached; -ENOSPC; -ENOMEM. */
int shm_meet_reach(struct shm_lane *shm, uint64_t incarnation, struct shm_peer **found);

/** Makes the ring that we write, and tells the peer.
 *  @return 0; -EAGAIN: not now; -ECONNRESET: the peer has ended. */
int shm_meet_prepare(struct shm_lane *shm, struct shm_peer *peer);

/** Wakes the peer, who has set `attention`. */
void shm_meet_wake(struct shm_lane *shm, struct shm_peer *peer, uint32_t attention);

/** Looks at all sockets: new peers, their first words, wake-ups, ends. */
void shm_meet_keep_house(struct shm_lane *shm);

#endif /* BEOWIRE_LANE_SHM_MEET_H */
