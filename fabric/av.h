/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * av.h - address vectors: which fi_addr_t stands for which endpoint's address.
 *
 * A fi_addr_t is an index, with either type of address vector. An endpoint's own numbers of its
 * peers (beowire_peer) are another matter, since several endpoints may share an address vector:
 * endpoint.h has them.
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
    uint32_t count;             /**< entries that have ever been used */
    uint32_t capacity;          /**< entries, and buckets: a power of two */
    uint32_t wanted;            /**< how many the user announced */
    uint32_t *buckets;          /**< first entry of each; to find an address */
    uint32_t free;              /**< first entry that has been removed */
    struct endpoint *endpoints; /**< bound to it */
};

/** fi_av_open(). */
int av_open(struct fid_domain *domain, struct fi_av_attr *attributes, struct fid_av **fid,
            void *context);

/** The address that a fi_addr_t stands for; NULL: none. Valid until the next insertion. */
const struct beowire_address *av_address(const struct av *av, fi_addr_t address);

/** The fi_addr_t of an address; FI_ADDR_NOTAVAIL: it is not in it. If it was inserted several
 *  times, one of them. */
fi_addr_t av_find(const struct av *av, const struct beowire_address *address);

#endif /* BEOWIRE_FABRIC_AV_H */
