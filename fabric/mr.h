/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mr.h - memory regions, which peers may use.
 *
 * A region belongs to a domain, so every endpoint of the domain offers it, also those enabled
 * later. Sends and receives need none, because the transport accepts any memory. But some programs
 * register all their buffers.
 *
 * With FI_MR_BASIC, or if the user accepts FI_MR_PROV_KEY, the provider chooses keys: 64 random
 * bits each. If the user also accepts FI_MR_VIRT_ADDR, peers address a region by its process's
 * addresses. Otherwise the user chooses keys, and addresses are offsets in the region.
 */
#ifndef BEOWIRE_FABRIC_MR_H
#define BEOWIRE_FABRIC_MR_H

#include "domain.h"

/** fi_mr_reg() and its variants. */
extern struct fi_ops_mr mr_ops;

struct endpoint;

/** Offers all regions of the domain to the peers of a newly enabled endpoint. The domain must be
 *  locked. @return 0, or as beowire_memory_register(). */
int mr_offer_all(const struct endpoint *endpoint);

#endif /* BEOWIRE_FABRIC_MR_H */
