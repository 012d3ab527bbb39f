/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cq.h - completion queues.
 *
 * A queue is a ring of completions to which endpoints add, and from which fi_cq_read() takes.
 * Nothing is lost when it is full: an endpoint takes no more completions from the transport than
 * there is room for. Errors keep their place in the order: while one is the oldest, reading returns
 * -FI_EAVAIL, and fi_cq_readerr() takes it.
 */
#ifndef BEOWIRE_FABRIC_CQ_H
#define BEOWIRE_FABRIC_CQ_H

#include "domain.h"
#include "error_text.h"
#include "progress.h"

#include <rdma/fi_eq.h>

/** One completion. Each of libfabric's formats is a prefix of the widest, which is first. */
struct cq_slot {
    struct fi_cq_tagged_entry entry;
    fi_addr_t source;          /**< of a message received; FI_ADDR_NOTAVAIL: not known */
    size_t overflow;           /**< bytes of a message that its buffer had no room for */
    int32_t status;            /**< 0, or the transport's (negative) error */
    beowire_peer peer;         /**< error: the peer, or BEOWIRE_ANY_PEER */
    struct endpoint *endpoint; /**< error: its endpoint */
};

struct cq {
    struct fid_cq fid;
    struct domain *domain;
    uint32_t sets;      /**< number of poll sets that contain it */
    size_t entry_bytes; /**< of the user's format */
    struct cq_slot *ring;
    uint32_t capacity; /**< a power of two */
    uint32_t head;     /**< the oldest; runs freely */
    uint32_t tail;     /**< after the newest; runs freely */
    struct progress progress;
    atomic_bool signalled;       /**< fi_cq_signal(): waiting threads must return */
    char text[ERROR_TEXT_BYTES]; /**< of the error read last */
};

/** fi_cq_open(). */
int cq_open(struct fid_domain *domain, struct fi_cq_attr *attributes, struct fid_cq **fid,
            void *context);

/** Makes progress. @return true: there is something to read. The domain is locked. */
bool cq_has_news(const struct cq *cq);

/** Removes an endpoint; its unread errors name no peer from now on. */
void cq_forget(struct cq *cq, const struct endpoint *endpoint);

static inline uint32_t cq_room(const struct cq *cq)
{
    return cq->capacity - (cq->tail - cq->head);
}

/** The slot of the next completion, which the caller fills; there must be room. */
static inline struct cq_slot *cq_add(struct cq *cq)
{
    return &cq->ring[cq->tail++ & (cq->capacity - 1)];
}

#endif /* BEOWIRE_FABRIC_CQ_H */
