/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * av.h - address vectors: map fi_addr_t to addresses of endpoints.
 *
 * A fi_addr_t is an index, for both types of address vectors. Several endpoints may share an
 * address vector, so each has its own numbers of peers (beowire_peer; endpoint.h).
 */
#ifndef BEOWIRE_FABRIC_AV_H
#define BEOWIRE_FABRIC_AV_H

#include "beowire.h"
#include "domain.h"

struct endpoint;

struct av_entry {
    struct beowire_address address;
    bool used;
    uint32_t next; /**< used: the next of its bucket; free: the next free one */
};

struct av {
    struct fid_av fid;
    struct domain *domain;
    enum fi_av_type type;
    struct av_entry *entries;
    uint32_t count;             /**< entries ever used */
    uint32_t capacity;          /**< of entries, and of buckets: a power of two */
    uint32_t wanted;            /**< number that the user announced */
    uint32_t *buckets;          /**< hash table of addresses: first entry of each bucket */
    uint32_t free;              /**< first removed entry */
    struct endpoint *endpoints; /**< bound to it */
};

/** fi_av_open(). */
int av_open(struct fid_domain *domain, struct fi_av_attr *attributes, struct fid_av **fid,
            void *context);

/** The address of a fi_addr_t; NULL: none. Valid until the next insertion. */
const struct beowire_address *av_address(const struct av *av, fi_addr_t address);

/** The fi_addr_t of an address; FI_ADDR_NOTAVAIL: none. If it was inserted several times, any of
 *  them. */
fi_addr_t av_find(const struct av *av, const struct beowire_address *address);

#endif /* BEOWIRE_FABRIC_AV_H */
