/* SPDX-License-Identifier: BSD-3-Clause */
#include "mr.h"

#include "endpoint.h"
#include "lane/entropy.h"
#include "libfabric.h"
#include "unsupported.h"

#include <stdlib.h>
#include <time.h>

struct region {
    struct fid_mr fid;
    struct domain *domain;
    struct region *next; /**< of the domain, if peers may use it */
    void *base;
    size_t bytes;
    unsigned flags; /**< enum beowire_memory_flag; without permissions, peers do not know it */
};

/** Interval of checks whether a closing endpoint still serves memory being withdrawn. */
#define CLOSING_PAUSE_NS 1000000

#define FOR_PEERS (BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_WRITE)

/** Offers a region to the peers of an endpoint. */
static int offer(const struct endpoint *endpoint, const struct region *region)
{
    uint64_t key = region->fid.key;

    return beowire_memory_register(endpoint->transport, region->base, region->bytes, region->flags,
                                   &key);
}

int mr_offer_all(const struct endpoint *endpoint)
{
    int status = 0;

    for (const struct region *region = endpoint->domain->regions; region != NULL && status == 0;
         region = region->next) {
        status = offer(endpoint, region);
    }
    return status;
}

/** Withdraws it from all endpoints up to `end`, which may be NULL. */
static void take_back(const struct region *region, const struct endpoint *end)
{
    for (struct endpoint *endpoint = region->domain->endpoints; endpoint != end;
         endpoint = endpoint->next_of_domain) {
        if (endpoint->transport != NULL) {
            (void)beowire_memory_unregister(endpoint->transport, region->fid.key);
        }
    }
}

static bool is_taken(const struct domain *domain, uint64_t key)
{
    const struct region *region = domain->regions;

    while (region != NULL && region->fid.key != key) {
        region = region->next;
    }
    return region != NULL;
}

/** Makes a region known to peers. The domain is locked. */
static int publish(struct region *region)
{
    struct domain *domain = region->domain;

    if (is_taken(domain, region->fid.key)) {
        return -FI_ENOKEY;
    }
    for (struct endpoint *endpoint = domain->endpoints; endpoint != NULL;
         endpoint = endpoint->next_of_domain) {
        int status = endpoint->transport != NULL ? offer(endpoint, region) : 0;
        if (status != 0) {
            take_back(region, endpoint);
            return status;
        }
    }
    region->next = domain->regions;
    domain->regions = region;
    return 0;
}

static void withdraw(struct region *region)
{
    struct region **link = &region->domain->regions;

    take_back(region, NULL);
    while (*link != region) {
        link = &(*link)->next;
    }
    *link = region->next;
}

static int mr_close(struct fid *fid)
{
    struct region *region = (struct region *)(void *)fid;
    struct domain *domain = region->domain;

    if ((region->flags & FOR_PEERS) != 0) {
        domain_lock(domain);
        withdraw(region);
        while (domain->closing > 0) {
            domain_unlock(domain);
            (void)nanosleep(&(struct timespec){.tv_nsec = CLOSING_PAUSE_NS}, NULL);
            domain_lock(domain);
        }
        domain_unlock(domain);
    }
    (void)atomic_fetch_sub(&domain->references, 1);
    free(region);
    return 0;
}

static struct fi_ops mr_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = mr_close,
    .bind = unsupported_bind,
    .control = unsupported_control,
    .ops_open = unsupported_ops_open,
};

static unsigned flags_of(const struct domain *domain, uint64_t access)
{
    return ((access & FI_REMOTE_READ) != 0 ? BEOWIRE_MEMORY_READ : 0u) |
           ((access & FI_REMOTE_WRITE) != 0 ? BEOWIRE_MEMORY_WRITE : 0u) |
           (domain->mr_virtual ? BEOWIRE_MEMORY_VIRTUAL : 0u) | BEOWIRE_MEMORY_KEY;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attributes, uint64_t flags,
                      struct fid_mr **mr)
{
    if (fid->fclass != FI_CLASS_DOMAIN || attributes == NULL || attributes->iov_count == 0) {
        return -FI_EINVAL;
    }
    if (flags != 0) {
        return -FI_EBADFLAGS;
    }
    if (attributes->iov_count > 1 || attributes->iface != FI_HMEM_SYSTEM) {
        return -FI_EINVAL;
    }
    struct region *region = calloc(1, sizeof *region);
    if (region == NULL) {
        return -FI_ENOMEM;
    }
    region->fid.fid.fclass = FI_CLASS_MR;
    region->fid.fid.context = attributes->context;
    region->fid.fid.ops = &mr_fid_ops;
    region->fid.mem_desc = region;
    region->domain = (struct domain *)(void *)fid;
    region->fid.key = attributes->requested_key;
    region->base = attributes->mr_iov[0].iov_base;
    region->bytes = attributes->mr_iov[0].iov_len;
    region->flags = flags_of(region->domain, attributes->access);
    /* A key that nobody can guess. */
    int status =
        region->domain->mr_own_keys ? entropy_fill(&region->fid.key, sizeof region->fid.key) : 0;
    if (status == 0 && (region->flags & FOR_PEERS) != 0) {
        domain_lock(region->domain);
        status = publish(region);
        domain_unlock(region->domain);
    }
    if (status != 0) {
        free(region);
        return status;
    }
    (void)atomic_fetch_add(&region->domain->references, 1);
    *mr = &region->fid;
    return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
                   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
                   void *context)
{
    const struct fi_mr_attr attributes = {
        .mr_iov = iov,
        .iov_count = count,
        .access = access,
        .offset = offset,
        .requested_key = requested_key,
        .context = context,
    };
    return mr_regattr(fid, &attributes, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buffer, size_t bytes, uint64_t access,
                  uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
                  void *context)
{
    const struct iovec part = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = bytes};

    return mr_regv(fid, &part, 1, access, offset, requested_key, flags, mr, context);
}

struct fi_ops_mr mr_ops = {
    .size = sizeof(struct fi_ops_mr),
    .reg = mr_reg,
    .regv = mr_regv,
    .regattr = mr_regattr,
};
