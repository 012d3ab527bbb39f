/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unsupported.h - answers for calls of libfabric that this provider does not support.
 *
 * Programs call the entries of objects' tables unchecked, so none may be empty (fi_provider(7)).
 */
#ifndef BEOWIRE_FABRIC_UNSUPPORTED_H
#define BEOWIRE_FABRIC_UNSUPPORTED_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

int unsupported_bind(struct fid *fid, struct fid *bound, uint64_t flags);
int unsupported_control(struct fid *fid, int command, void *argument);
int unsupported_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
                         void *context);

int unsupported_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
                           void *context);
int unsupported_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attributes,
                          struct fid_wait **wait);

int unsupported_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                            void *context);
int unsupported_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attributes,
                        struct fid_stx **stx, void *context);
int unsupported_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attributes,
                        struct fid_ep **rx, void *context);

/** Connection setup, which endpoints of type FI_EP_RDM do not need. */
int unsupported_setname(fid_t fid, void *address, size_t bytes);
int unsupported_getpeer(struct fid_ep *ep, void *address, size_t *bytes);
int unsupported_connect(struct fid_ep *ep, const void *address, const void *data, size_t bytes);
int unsupported_listen(struct fid_pep *pep);
int unsupported_accept(struct fid_ep *ep, const void *data, size_t bytes);
int unsupported_reject(struct fid_pep *pep, fid_t handle, const void *data, size_t bytes);
int unsupported_shutdown(struct fid_ep *ep, uint64_t flags);
int unsupported_join(struct fid_ep *ep, const void *address, uint64_t flags, struct fid_mc **mc,
                     void *context);

int unsupported_tx_ctx(struct fid_ep *ep, int index, struct fi_tx_attr *attributes,
                       struct fid_ep **tx, void *context);
int unsupported_rx_ctx(struct fid_ep *ep, int index, struct fi_rx_attr *attributes,
                       struct fid_ep **rx, void *context);
ssize_t unsupported_size_left(struct fid_ep *ep);

#endif /* BEOWIRE_FABRIC_UNSUPPORTED_H */
