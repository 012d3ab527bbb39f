/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_peers.h - the other processes, and which of their rings are polled. Beneath shm.c.
 *
 * A peer has two connections (shm_socket.h): `outbound`, made by us, over which it got the ring
 * that we write; `inbound`, made by it, over which we got the ring that we read. Each may be there
 * without the other. An inbound connection is a peer without a name until it has said HELLO.
 *
 * A ring that we read is *polled* (in `polled`, looked at in each receive()) or *quiet* (its
 * producer rings the bell).
 */
#ifndef BEOWIRE_LANE_SHM_PEERS_H
#define BEOWIRE_LANE_SHM_PEERS_H

#include "shm_bell.h"
#include "shm_ring.h"

#include <sys/types.h>

/** Frames handed out at once at most. */
#define SHM_RECEIVE_FRAMES 64

struct shm_peer {
    struct lane_address address; /**< its incarnation and its index here */
    uint64_t incarnation;        /**< 0: it has not said yet */
    uint32_t index;

    int outbound;                  /**< -1: none */
    pid_t process;                 /**< behind `outbound`; 0: not to be seen from here */
    struct shm_producer *producer; /**< NULL: nothing has been sent */
    struct shm_bell *bell;         /**< the peer's; NULL: it has not replied, or had no room here */
    uint32_t bell_number;
    bool replied;       /**< the peer has our ring */
    uint32_t rung;      /**< the attention (shm_ring.h) for which it has been woken */
    bool no_reading;    /**< the kernel does not let us read its memory */
    bool wanted;        /**< somebody has asked to reach it */
    bool ended;         /**< its endpoint is gone */
    bool ended_is_told; /**< and lost() has said so */

    int inbound;                  /**< -1: none */
    struct shm_consumer consumer; /**< ring NULL: it has not said HELLO */
    bool left;                    /**< there was a ring, and it has closed it */
    bool polled;
    uint32_t active_at; /**< value of shm_lane.polls when it last had something */
};

struct shm_lane {
    struct lane lane; /* first: the layers above know only this */
    uint64_t host;
    uint64_t incarnation;
    int listener;
    int events; /**< epoll of all sockets */
    struct shm_bell *bell;
    int bell_file;
    struct shm_peer **peers; /**< by index; with holes */
    uint32_t peers_max;
    uint32_t peers_end; /**< one after the highest index in use */
    uint32_t *polled;   /**< indices of peers */
    uint32_t polled_count;
    uint32_t polled_first; /**< where the next receive() begins, so that all get their turn */
    uint32_t quiet_count;
    uint32_t ended_count;        /**< peers that lost() has not told yet */
    pid_t process;               /**< that opened it */
    bool forked;                 /**< this is its child's copy, so the rings are not ours to end */
    bool untidy;                 /**< something waits for shm_peers_tidy() */
    bool is_unready;             /**< lost() has not told yet that nothing can be sent to ... */
    struct lane_address unready; /**< ... this peer, since no ring could be made */
    bool armed;
    uint32_t polls;    /**< calls of receive() */
    uint32_t swept_at; /**< value of `polls` */
    uint32_t polls_to_look;
    uint32_t polls_between_looks;
    uint64_t looked_ns;
    uint64_t kept_house_ns;
    uint32_t held; /**< copies in use, until release() */
    struct shm_copy copies[SHM_RECEIVE_FRAMES];
};

/** The peer with this address, or NULL: it is gone. */
struct shm_peer *shm_peers_at(const struct shm_lane *shm, const struct lane_address *address);

/** The peer with this incarnation, or NULL. */
struct shm_peer *shm_peers_find(const struct shm_lane *shm, uint64_t incarnation);

/** Adds a peer; incarnation 0: it has not said yet.
 *  @return 0, and `added` is written; -ENOSPC; -ENOMEM. */
int shm_peers_add(struct shm_lane *shm, uint64_t incarnation, struct shm_peer **added);

/** The peer has said who it is. */
void shm_peers_name(struct shm_peer *peer, uint64_t incarnation);

/** The peer has ended: what was made for sending to it goes. */
void shm_peers_end(struct shm_lane *shm, struct shm_peer *peer);

/** The peer will write no more: its connection is closed, and its ring goes when it is empty. */
void shm_peers_close_inbound(struct shm_lane *shm, struct shm_peer *peer);

/** Begins to poll a ring that is new. */
void shm_peers_poll_new(struct shm_lane *shm, struct shm_peer *peer);

/** Polls a quiet ring again. */
void shm_peers_poll(struct shm_lane *shm, struct shm_peer *peer);

/** Polls those quiet rings whose bells have rung. @return are there any? */
bool shm_peers_heed_bell(struct shm_lane *shm);

/** Stops polling all rings of which `is_idle` is true. @return true: all that were asked for are
 *  quiet now; false: one was not empty after all, and is still polled. */
bool shm_peers_quieten(struct shm_lane *shm,
                       bool (*is_idle)(const struct shm_lane *shm, const struct shm_peer *peer));

/** Frees what nobody uses any more. Not while frames are handed out. */
void shm_peers_tidy(struct shm_lane *shm);

/** Names a peer that has ended and whose frames have all been taken, each once. */
bool shm_peers_take_ended(struct shm_lane *shm, struct lane_address *address);

/** Closes and frees all peers. */
void shm_peers_close(struct shm_lane *shm);

#endif /* BEOWIRE_LANE_SHM_PEERS_H */
