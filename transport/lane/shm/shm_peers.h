/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_peers.h - the other processes, and which of their rings are polled. For shm.c.
 *
 * A peer has two connections (shm_socket.h): `outbound`, made by us, over which it got the ring
 * that we write; and `inbound`, made by it, over which we got the ring that we read. Each may exist
 * without the other. An inbound connection is a peer without a name until it has sent HELLO.
 *
 * A ring that we read is *polled* (in `polled`, in each receive()) or *quiet* (its producer rings
 * the bell).
 */
#ifndef BEOWIRE_LANE_SHM_PEERS_H
#define BEOWIRE_LANE_SHM_PEERS_H

#include "shm_bell.h"
#include "shm_ring.h"

#include <sys/types.h>

/** The most frames returned at once. */
#define SHM_RECEIVE_FRAMES 64

struct shm_peer {
    struct lane_address address; /**< its incarnation and its index here */
    uint64_t incarnation;        /**< 0: not known yet */
    uint32_t index;

    int outbound;                  /**< -1: none */
    pid_t process;                 /**< at the other end of `outbound`; 0: invisible from here */
    struct shm_producer *producer; /**< NULL: nothing was sent */
    struct shm_bell *bell;         /**< the peer's; NULL: it has not replied, or had no room here */
    uint32_t bell_number;
    bool replied;       /**< the peer has our ring */
    uint32_t rung;      /**< the attention (shm_ring.h) for which it has been woken */
    bool no_reading;    /**< the kernel does not let us read its memory */
    bool wanted;        /**< was requested by the application */
    bool ended;         /**< its endpoint is gone */
    bool ended_is_told; /**< reported by lost() */

    int inbound;                  /**< -1: none */
    struct shm_consumer consumer; /**< ring NULL: no HELLO yet */
    bool left;                    /**< it has closed the ring that there was */
    bool polled;
    uint32_t active_at; /**< shm_lane.polls when it last had something */
};

struct shm_lane {
    struct lane lane; /* first: the layers above know only this */
    uint64_t host;
    uint64_t incarnation;
    int listener;
    int events; /**< epoll of all sockets */
    struct shm_bell *bell;
    int bell_file;
    struct shm_peer **peers; /**< by index, with gaps */
    uint32_t peers_max;
    uint32_t peers_end; /**< one past the highest index in use */
    uint32_t *polled;   /**< indices of peers */
    uint32_t polled_count;
    uint32_t polled_first; /**< where the next receive() begins, so that all get their turn */
    uint32_t quiet_count;
    uint32_t ended_count;        /**< peers that lost() has not reported yet */
    pid_t process;               /**< that opened it */
    bool forked;                 /**< this is a child's copy, so the rings must not be ended */
    bool untidy;                 /**< shm_peers_tidy() has something to do */
    bool is_unready;             /**< lost() must report that nothing can be sent ... */
    struct lane_address unready; /**< ... to this peer, because no ring could be made */
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

/** Adds a peer; incarnation 0: not known yet. @return 0, and `added` is written; -ENOSPC;
 *  -ENOMEM. */
int shm_peers_add(struct shm_lane *shm, uint64_t incarnation, struct shm_peer **added);

/** Sets the incarnation of the peer. */
void shm_peers_name(struct shm_peer *peer, uint64_t incarnation);

/** The peer has ended: frees what is for sending to it. */
void shm_peers_end(struct shm_lane *shm, struct shm_peer *peer);

/** The peer will write no more: closes its connection, and its ring when it is empty. */
void shm_peers_close_inbound(struct shm_lane *shm, struct shm_peer *peer);

/** Begins to poll a new ring. */
void shm_peers_poll_new(struct shm_lane *shm, struct shm_peer *peer);

/** Polls a quiet ring again. */
void shm_peers_poll(struct shm_lane *shm, struct shm_peer *peer);

/** Polls those quiet rings whose bells have rung. @return whether there are any. */
bool shm_peers_heed_bell(struct shm_lane *shm);

/** Stops polling all rings for which `is_idle` is true. @return true: all of them are quiet now;
 *  false: one was not empty, and is still polled. */
bool shm_peers_quieten(struct shm_lane *shm,
                       bool (*is_idle)(const struct shm_lane *shm, const struct shm_peer *peer));

/** Frees what is no longer used. Not while frames are held. */
void shm_peers_tidy(struct shm_lane *shm);

/** Returns a peer that has ended and whose frames have all been taken, once. */
bool shm_peers_take_ended(struct shm_lane *shm, struct lane_address *address);

/** Closes and frees all peers. */
void shm_peers_close(struct shm_lane *shm);

#endif /* BEOWIRE_LANE_SHM_PEERS_H */
