/* SPDX-License-Identifier: BSD-3-Clause */
#include "mr.h"

#include "libfabric.h"
#include "unsupported.h"

#include <stdlib.h>

struct region {
    struct fid_mr fid;
    struct domain *domain;
};

static int mr_close(struct fid *fid)
{
    struct region *region = (struct region *)(void *)fid;

    (void)atomic_fetch_sub(&region->domain->references, 1);
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

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attributes, uint64_t flags,
                      struct fid_mr **mr)
{
    if (fid->fclass != FI_CLASS_DOMAIN || attributes == NULL || attributes->iov_count == 0) {
        return -FI_EINVAL;
    }
    if (flags != 0) {
        return -FI_EBADFLAGS;
    }
    /* Nobody else could reach it: the transport has no remote memory access. */
    if ((attributes->access & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0) {
        return -FI_EOPNOTSUPP;
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
    region->fid.key = attributes->requested_key;
    region->domain = (struct domain *)(void *)fid;
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
