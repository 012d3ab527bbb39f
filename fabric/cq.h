/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cq.h - completion queues.
 *
 * A queue is a ring of completions that endpoints add to and fi_cq_read() takes from. Nothing is
 * lost when it is full: an endpoint takes no more completions from the transport than there is room
 * for. The user sees errors at their place in the order: as long as one is the oldest, reading says
 * -FI_EAVAIL, and fi_cq_readerr() takes it.
 */
#ifndef BEOWIRE_FABRIC_CQ_H
#define BEOWIRE_FABRIC_CQ_H

#include "domain.h"
#include "error_text.h"
#include "progress.h"

#include <rdma/fi_eq.h>

/** One completion. Each of libfabric's formats is a beginning of the widest, which is first. */
struct cq_slot {
    struct fi_cq_tagged_entry entry;
    fi_addr_t source;          /**< of a message received; FI_ADDR_NOTAVAIL: not known */
    size_t overflow;           /**< bytes of a message that found no room in its buffer */
    int32_t status;            /**< 0, or the transport's (negative) error */
    beowire_peer peer;         /**< error: with whom, or BEOWIRE_ANY_PEER */
    struct endpoint *endpoint; /**< error: of whom */
};

struct cq {
    struct fid_cq fid;
    struct domain *domain;
    uint32_t sets;      /**< poll sets that it is in */
    size_t entry_bytes; /**< of the user's format */
    struct cq_slot *ring;
    uint32_t capacity; /**< a power of two */
    uint32_t head;     /**< the oldest; runs freely */
    uint32_t tail;     /**< behind the newest; runs freely */
    struct progress progress;
    atomic_bool signalled;       /**< fi_cq_signal(): whoever waits is to return */
    char text[ERROR_TEXT_BYTES]; /**< of the error read last */
};

/** fi_cq_open(). */
int cq_open(struct fid_domain *domain, struct fi_cq_attr *attributes, struct fid_cq **fid,
            void *context);

/** Makes progress. @return is there something to read? The domain is locked. */
bool cq_has_news(const struct cq *cq);

/** Drives an endpoint no more; errors of it that nobody has read name no peer from now on. */
void cq_forget(struct cq *cq, const struct endpoint *endpoint);

static inline uint32_t cq_room(const struct cq *cq)
{
    return cq->capacity - (cq->tail - cq->head);
}

/** The place of the next completion, which is added by filling it; there has to be room. */
static inline struct cq_slot *cq_add(struct cq *cq)
{
    return &cq->ring[cq->tail++ & (cq->capacity - 1)];
}

#endif /* BEOWIRE_FABRIC_CQ_H */
