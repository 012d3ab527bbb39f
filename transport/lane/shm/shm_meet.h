/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_meet.h - meets and wakes peers, and detects their end: the part of shm.c that uses sockets.
 *
 * It makes system calls, so it is not used for single frames.
 */
#ifndef BEOWIRE_LANE_SHM_MEET_H
#define BEOWIRE_LANE_SHM_MEET_H

#include "shm_peers.h"

/** Watches the listener from now on. @return 0, or a negative errno. */
int shm_meet_watch(struct shm_lane *shm);

/** Connects to an incarnation, unless connected. A missing one counts as ended. @return 0, and
 *  `found` is written; -EHOSTUNREACH: it cannot be reached; -ENOSPC; -ENOMEM. */
int shm_meet_reach(struct shm_lane *shm, uint64_t incarnation, struct shm_peer **found);

/** Creates the ring that we write, and sends it to the peer. @return 0; -EAGAIN: not at present;
 *  -ECONNRESET: the peer has ended. */
int shm_meet_prepare(struct shm_lane *shm, struct shm_peer *peer);

/** Wakes the peer, who has set `attention`. */
void shm_meet_wake(struct shm_lane *shm, struct shm_peer *peer, uint32_t attention);

/** Handles all sockets: new peers, HELLOs, wake-ups, ends. */
void shm_meet_keep_house(struct shm_lane *shm);

#endif /* BEOWIRE_LANE_SHM_MEET_H */
