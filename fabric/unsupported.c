/* SPDX-License-Identifier: BSD-3-Clause */
#include "unsupported.h"

#include <rdma/fi_errno.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* of all that is here */
/* NOLINTBEGIN(misc-unused-parameters) */

int unsupported_bind(struct fid *fid, struct fid *bound, uint64_t flags)
{
    return -FI_ENOSYS;
}

int unsupported_control(struct fid *fid, int command, void *argument)
{
    return -FI_ENOSYS;
}

int unsupported_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
                         void *context)
{
    return -FI_ENOSYS;
}

int unsupported_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
                           void *context)
{
    return -FI_ENOSYS;
}

int unsupported_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attributes,
                          struct fid_wait **wait)
{
    return -FI_ENOSYS;
}

int unsupported_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                            void *context)
{
    return -FI_ENOSYS;
}

int unsupported_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attributes,
                        struct fid_stx **stx, void *context)
{
    return -FI_ENOSYS;
}

int unsupported_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attributes,
                        struct fid_ep **rx, void *context)
{
    return -FI_ENOSYS;
}

int unsupported_setname(fid_t fid, void *address, size_t bytes)
{
    return -FI_ENOSYS;
}

int unsupported_getpeer(struct fid_ep *ep, void *address, size_t *bytes)
{
    return -FI_ENOSYS;
}

int unsupported_connect(struct fid_ep *ep, const void *address, const void *data, size_t bytes)
{
    return -FI_ENOSYS;
}

int unsupported_listen(struct fid_pep *pep)
{
    return -FI_ENOSYS;
}

int unsupported_accept(struct fid_ep *ep, const void *data, size_t bytes)
{
    return -FI_ENOSYS;
}

int unsupported_reject(struct fid_pep *pep, fid_t handle, const void *data, size_t bytes)
{
    return -FI_ENOSYS;
}

int unsupported_shutdown(struct fid_ep *ep, uint64_t flags)
{
    return -FI_ENOSYS;
}

int unsupported_join(struct fid_ep *ep, const void *address, uint64_t flags, struct fid_mc **mc,
                     void *context)
{
    return -FI_ENOSYS;
}

int unsupported_tx_ctx(struct fid_ep *ep, int index, struct fi_tx_attr *attributes,
                       struct fid_ep **tx, void *context)
{
    return -FI_ENOSYS;
}

int unsupported_rx_ctx(struct fid_ep *ep, int index, struct fi_rx_attr *attributes,
                       struct fid_ep **rx, void *context)
{
    return -FI_ENOSYS;
}

ssize_t unsupported_size_left(struct fid_ep *ep)
{
    return -FI_ENOSYS;
}

/* NOLINTEND(misc-unused-parameters) */
