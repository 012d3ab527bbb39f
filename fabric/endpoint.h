/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint.h - an endpoint of libfabric, on an endpoint of the transport.
 *
 *   fi_tsend, fi_send ...        transmit.c   a request, or at once a completion if it is short
 *   fi_trecv, fi_recv ...        receive.c    a request; multi-receive buffers; peek and claim
 *   fi_read, fi_write ...        rma.c        a request; memory that peers may use is in mr.c
 *   fi_atomic ...                atomic.c     the same
 *   fi_cq_read ... progress      complete.c   the transport's completions -> queues and counters
 *
 * The two upper bits of the transport's tag hold libfabric's kind of message. The transport does
 * all matching, so it keeps tagged and other messages apart, and nothing is queued here.
 *
 *   63: not tagged     62: immediate data was sent (receives ignore this bit)     61 .. 0: the tag
 *
 * All functions expect the domain to be locked.
 */
#ifndef BEOWIRE_FABRIC_ENDPOINT_H
#define BEOWIRE_FABRIC_ENDPOINT_H

#include "av.h"
#include "beowire.h"
#include "counter.h"
#include "cq.h"
#include "domain.h"
#include "info.h"
#include "interfaces.h"
#include "requests.h"

#include <assert.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#define TAG_MESSAGE (UINT64_C(1) << 63)
#define TAG_DATA (UINT64_C(1) << 62)
static_assert(INFO_TAG_BITS == 62, "the bits above it are ours");

/** Kinds of operations that a counter can be bound for: send, receive, read, write, and being read
 *  and written. */
#define ENDPOINT_COUNTERS 6
#define ENDPOINT_READS 2
#define ENDPOINT_WRITES 3
#define ENDPOINT_BY_PEERS 4 /**< the first of the last two */

/** Completions taken from the transport in one call. */
#define ENDPOINT_BATCH 16

struct parking {
    struct parked *first; /**< the oldest; NULL: none */
    struct parked *last;
};

/** The address vector's number of a peer. */
struct source {
    fi_addr_t address;
    beowire_peer peer; /**< BEOWIRE_ANY_PEER: free */
};

struct endpoint {
    struct fid_ep fid;
    struct domain *domain;
    struct av *av;
    struct eq *eq; /**< or NULL; gets no events */
    struct endpoint *next_of_av;
    struct endpoint *next_of_domain;
    struct cq *tx_cq;
    struct cq *rx_cq;
    bool tx_selective; /**< only operations with FI_COMPLETION are reported */
    bool rx_selective;
    struct counter *tx_counter;
    struct counter *rx_counter;
    /** All bound counters, by kind of operation, to release them. */
    struct counter *counters[ENDPOINT_COUNTERS];
    /** For operations of peers: the transport's counter, and its value so far. */
    struct {
        unsigned index;
        uint64_t counted;
    } by_peers[ENDPOINT_COUNTERS - ENDPOINT_BY_PEERS];
    uint64_t caps;
    uint64_t tx_flags; /**< of operations without flags */
    uint64_t rx_flags;
    beowire_endpoint *transport;       /**< NULL until fi_enable() */
    char interfaces[INTERFACES_BYTES]; /**< that it was opened on, separated by commas */
    size_t inject_limit;               /**< promised to the user */
    size_t inject_bytes;               /**< what the transport injects */
    size_t multi_receive_min;          /**< a buffer with less room left is returned */
    beowire_peer *peers;               /**< by fi_addr_t; BEOWIRE_ANY_PEER: not met yet */
    size_t peers_count;
    struct source *sources; /**< by BEOWIRE_PEER_SLOT() */
    size_t sources_count;
    struct requests requests;
    struct request *line_head;  /**< the buffer that holds up the others, or NULL */
    struct request *line_first; /**< of those that wait for it */
    struct request *line_last;
    struct parking tx_parking;
    struct parking rx_parking;
    struct parked arrivals[ENDPOINT_BATCH]; /**< of peers' puts, for the receive queue */
    unsigned arrivals_parked; /**< of these; no more are taken until all were reported */
    unsigned arrivals_left;
    bool said_full;      /**< has reported that there is no room for more peers */
    bool answers_claims; /**< synchronous sends whose messages were claimed (openmpi.h) */
};

extern struct fi_ops_msg endpoint_msg_ops;
extern struct fi_ops_tagged endpoint_tagged_ops;
extern struct fi_ops_rma endpoint_rma_ops;
extern struct fi_ops_atomic endpoint_atomic_ops;

/** fi_endpoint(). */
int endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **fid,
                  void *context);

static inline struct endpoint *endpoint_of(struct fid_ep *fid)
{
    return (struct endpoint *)(void *)fid;
}

/** Takes completions from the transport, as many as the queues have room for. In complete.c.
 *  @return 0, or -FI_ENETDOWN. */
int complete_poll(struct endpoint *endpoint);

/** Waits for the transport at most so long. @return true: there are completions to take. */
bool complete_wait(struct endpoint *endpoint, uint64_t timeout_ns);

/** The transport's number of a peer, which is added to it if necessary.
 *  @return 0; -FI_EINVAL: no such address; -FI_ENOSPC; -FI_ENOMEM. */
int endpoint_peer(struct endpoint *endpoint, fi_addr_t address, beowire_peer *peer);

/** The fi_addr_t of a peer; FI_ADDR_NOTAVAIL: not in the address vector. */
fi_addr_t endpoint_source(struct endpoint *endpoint, beowire_peer peer);

/** The address of a peer. @return false: no such peer. */
bool endpoint_peer_address(const struct endpoint *endpoint, beowire_peer peer,
                           struct beowire_address *address);

#endif /* BEOWIRE_FABRIC_ENDPOINT_H */
