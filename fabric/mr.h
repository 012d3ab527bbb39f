/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mr.h - memory regions: what peers may use of our memory.
 *
 * A region belongs to a domain, so every endpoint of the domain offers it, those that are enabled
 * later as well. Whoever only sends and receives needs none: the transport takes any memory; but
 * some register all their buffers, whatever the provider needs.
 *
 * With FI_MR_BASIC, or where the user says FI_MR_PROV_KEY among what it can do with, keys are
 * chosen here: 64 random bits each. Then peers address a region as its process does, if the user
 * can do with FI_MR_VIRT_ADDR, too. Otherwise keys are the user's, and addresses count from the
 * region's beginning.
 */
#ifndef BEOWIRE_FABRIC_MR_H
#define BEOWIRE_FABRIC_MR_H

#include "domain.h"

/** fi_mr_reg() and its variants. */
extern struct fi_ops_mr mr_ops;

struct endpoint;

/** Offers all regions of the domain to the peers of an endpoint that is just enabled. The domain is
 *  locked. @return 0, or as beowire_memory_register(). */
int mr_offer_all(const struct endpoint *endpoint);

#endif /* BEOWIRE_FABRIC_MR_H */
