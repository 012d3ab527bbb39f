/* SPDX-License-Identifier: BSD-3-Clause */
#include "av.h"

#include "endpoint.h"
#include "hash.h"
#include "libfabric.h"
#include "name.h"
#include "openmpi_persistent.h"
#include "unsupported.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define HASHED_BYTES 32
#define CAPACITY_MIN 64
#define CAPACITY_MAX (1u << 24)

static struct av *av_of(struct fid_av *fid)
{
    return (struct av *)(void *)fid;
}

static uint32_t *bucket_of(const struct av *av, const struct beowire_address *address)
{
    /* The incarnation is part of them. */
    uint64_t hash = hash_bytes(address->bytes, HASHED_BYTES);

    return &av->buckets[(hash ^ hash >> 32) & (av->capacity - 1)];
}

const struct beowire_address *av_address(const struct av *av, fi_addr_t address)
{
    return address < av->count && av->entries[address].used ? &av->entries[address].address : NULL;
}

fi_addr_t av_find(const struct av *av, const struct beowire_address *address)
{
    if (av->capacity == 0) {
        return FI_ADDR_NOTAVAIL;
    }
    for (uint32_t i = *bucket_of(av, address); i != NONE; i = av->entries[i].next) {
        if (beowire_address_same(&av->entries[i].address, address)) {
            return i;
        }
    }
    return FI_ADDR_NOTAVAIL;
}

static void link_entry(struct av *av, uint32_t index)
{
    uint32_t *bucket = bucket_of(av, &av->entries[index].address);

    av->entries[index].next = *bucket;
    *bucket = index;
}

static void unlink_entry(struct av *av, uint32_t index)
{
    uint32_t *link = bucket_of(av, &av->entries[index].address);

    while (*link != index) {
        link = &av->entries[*link].next;
    }
    *link = av->entries[index].next;
}

/** Doubles the capacity until there is room for one more. @return 0, or -FI_ENOMEM. */
static int make_room(struct av *av)
{
    if (av->free != NONE || av->count < av->capacity) {
        return 0;
    }
    uint32_t capacity = av->capacity == 0 ? CAPACITY_MIN : av->capacity * 2;
    while (capacity < av->wanted) {
        capacity *= 2;
    }
    if (capacity > CAPACITY_MAX) {
        return -FI_ENOMEM;
    }
    struct av_entry *entries = realloc(av->entries, capacity * sizeof *entries);
    if (entries == NULL) {
        return -FI_ENOMEM;
    }
    av->entries = entries;
    uint32_t *buckets = realloc(av->buckets, capacity * sizeof *buckets);
    if (buckets == NULL) {
        return -FI_ENOMEM;
    }
    av->buckets = buckets;
    av->capacity = capacity;
    memset(buckets, 0xFF, capacity * sizeof *buckets); /* NONE */
    for (uint32_t i = 0; i < av->count; i++) {
        if (entries[i].used) {
            link_entry(av, i);
        }
    }
    return 0;
}

static int insert_one(struct av *av, const void *name, fi_addr_t *result)
{
    struct beowire_address address;

    *result = FI_ADDR_NOTAVAIL;
    if (!name_to_address(name, &address)) {
        return -FI_EINVAL;
    }
    int status = make_room(av);
    if (status != 0) {
        return status;
    }
    uint32_t index = av->free;
    if (index != NONE) {
        av->free = av->entries[index].next;
    } else {
        index = av->count++;
    }
    av->entries[index] = (struct av_entry){.address = address, .used = true};
    link_entry(av, index);
    *result = index;
    return 0;
}

static int av_insert(struct fid_av *fid, const void *names, size_t count, fi_addr_t *results,
                     uint64_t flags, void *context)
{
    struct av *av = av_of(fid);
    int *errors = (flags & FI_SYNC_ERR) != 0 ? context : NULL;
    int inserted = 0;

    if ((flags & ~(FI_MORE | FI_SYNC_ERR)) != 0) {
        return -FI_EBADFLAGS;
    }
    openmpi_mend_persistent_sends();
    domain_lock(av->domain);
    for (size_t i = 0; i < count; i++) {
        fi_addr_t result = FI_ADDR_NOTAVAIL;
        int status = insert_one(av, (const uint8_t *)names + i * NAME_BYTES, &result);
        if (results != NULL) {
            results[i] = result;
        }
        if (errors != NULL) {
            errors[i] = -status;
        }
        inserted += status == 0;
    }
    domain_unlock(av->domain);
    return inserted;
}

/** The node is an endpoint's address as text; the service is ignored. */
static int av_insertsvc(struct fid_av *fid, const char *node, const char *service,
                        fi_addr_t *result, uint64_t flags, void *context)
{
    struct beowire_address address;
    uint8_t name[NAME_BYTES];

    (void)service;
    if (node == NULL || beowire_address_parse(node, &address) != 0 ||
        !name_from_address(&address, name)) {
        return -FI_EINVAL;
    }
    return av_insert(fid, name, 1, result, flags, context);
}

static int av_insertsym(struct fid_av *fid, const char *node, size_t nodes, const char *service,
                        size_t services, fi_addr_t *result, uint64_t flags, void *context)
{
    (void)fid;
    (void)node;
    (void)nodes;
    (void)service;
    (void)services;
    (void)result;
    (void)flags;
    (void)context;
    return -FI_ENOSYS; /* addresses are not consecutive */
}

/** Does another entry of the vector have this peer's address? */
static bool is_named(const struct endpoint *endpoint, beowire_peer peer)
{
    for (size_t i = 0; i < endpoint->peers_count; i++) {
        if (endpoint->peers[i] == peer) {
            return true;
        }
    }
    return false;
}

/** An address was removed from the address vector. */
static void forget(struct endpoint *endpoint, uint32_t address)
{
    if (address < endpoint->peers_count && endpoint->peers[address] != BEOWIRE_ANY_PEER) {
        beowire_peer peer = endpoint->peers[address];
        endpoint->peers[address] = BEOWIRE_ANY_PEER;
        if (!is_named(endpoint, peer)) {
            (void)beowire_peer_forget(endpoint->transport, peer);
        }
    }
    /* A peer that only sent to us is known by its number only. */
    for (size_t i = 0; i < endpoint->sources_count; i++) {
        if (endpoint->sources[i].address == address) {
            endpoint->sources[i].peer = BEOWIRE_ANY_PEER;
        }
    }
}

static int av_remove(struct fid_av *fid, fi_addr_t *addresses, size_t count, uint64_t flags)
{
    struct av *av = av_of(fid);
    int status = 0;

    if (flags != 0) {
        return -FI_EBADFLAGS;
    }
    domain_lock(av->domain);
    for (size_t i = 0; i < count; i++) {
        if (av_address(av, addresses[i]) == NULL) {
            status = -FI_EINVAL;
            continue;
        }
        uint32_t index = (uint32_t)addresses[i];
        for (struct endpoint *one = av->endpoints; one != NULL; one = one->next_of_av) {
            forget(one, index);
        }
        unlink_entry(av, index);
        av->entries[index] = (struct av_entry){.next = av->free};
        av->free = index;
    }
    domain_unlock(av->domain);
    return status;
}

static int av_lookup(struct fid_av *fid, fi_addr_t address, void *name, size_t *bytes)
{
    struct av *av = av_of(fid);
    uint8_t found_name[NAME_BYTES];

    domain_lock(av->domain);
    const struct beowire_address *found = av_address(av, address);
    bool known = found != NULL && name_from_address(found, found_name);
    domain_unlock(av->domain);
    if (!known) {
        return -FI_EINVAL;
    }
    if (*bytes > 0) {
        memcpy(name, found_name, *bytes < NAME_BYTES ? *bytes : NAME_BYTES);
    }
    *bytes = NAME_BYTES;
    return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *name, char *buffer, size_t *bytes)
{
    struct beowire_address address;
    char text[BEOWIRE_ADDRESS_TEXT_BYTES] = "no address";

    (void)fid;
    if (name_to_address(name, &address)) {
        (void)beowire_address_describe(&address, text,
                                       sizeof text); /* the text may get into logs */
    }
    if (*bytes > 0) {
        (void)snprintf(buffer, *bytes, "%s", text);
    }
    *bytes = strlen(text) + 1;
    return buffer;
}

static int av_set(struct fid_av *fid, struct fi_av_set_attr *attributes, struct fid_av_set **set,
                  void *context)
{
    (void)fid;
    (void)attributes;
    (void)set;
    (void)context;
    return -FI_ENOSYS;
}

static int av_close(struct fid *fid)
{
    struct av *av = (struct av *)(void *)fid;

    if (av->endpoints != NULL) {
        return -FI_EBUSY;
    }
    (void)atomic_fetch_sub(&av->domain->references, 1);
    free(av->entries);
    free(av->buckets);
    free(av);
    return 0;
}

static struct fi_ops av_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = av_close,
    .bind = unsupported_bind,
    .control = unsupported_control,
    .ops_open = unsupported_ops_open,
};

static struct fi_ops_av av_ops = {
    .size = sizeof(struct fi_ops_av),
    .insert = av_insert,
    .insertsvc = av_insertsvc,
    .insertsym = av_insertsym,
    .remove = av_remove,
    .lookup = av_lookup,
    .straddr = av_straddr,
    .av_set = av_set,
};

int av_open(struct fid_domain *fid_domain, struct fi_av_attr *attributes, struct fid_av **fid,
            void *context)
{
    struct domain *domain = domain_of(fid_domain);

    if (attributes == NULL || attributes->type > FI_AV_TABLE) {
        return -FI_EINVAL;
    }
    /* Neither shared between processes, nor asynchronous, nor for scalable endpoints. */
    if (attributes->name != NULL || attributes->flags != 0 || attributes->rx_ctx_bits != 0) {
        return -FI_ENOSYS;
    }
    if (attributes->count > CAPACITY_MAX) {
        return -FI_ENOMEM;
    }
    struct av *av = calloc(1, sizeof *av);
    if (av == NULL) {
        return -FI_ENOMEM;
    }
    enum fi_av_type type = attributes->type != FI_AV_UNSPEC ? attributes->type : domain->av_type;
    av->fid.fid.fclass = FI_CLASS_AV;
    av->fid.fid.context = context;
    av->fid.fid.ops = &av_fid_ops;
    av->fid.ops = &av_ops;
    av->domain = domain;
    av->type = type != FI_AV_UNSPEC ? type : FI_AV_TABLE;
    av->wanted = (uint32_t)attributes->count;
    av->free = NONE;
    attributes->type = av->type;
    (void)atomic_fetch_add(&domain->references, 1);
    *fid = &av->fid;
    return 0;
}
