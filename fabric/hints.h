/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hints.h - compares the user's hints with an offer, and narrows the offer to them.
 *
 * The rules are those of libfabric's own providers (fi_getinfo(3), fi_domain(3), fi_endpoint(3)).
 */
#ifndef BEOWIRE_FABRIC_HINTS_H
#define BEOWIRE_FABRIC_HINTS_H

#include <rdma/fabric.h>

/** Compares the hints (NULL: none) with the full offer of an interface. @return NULL: they match;
 *  or what does not, in a few words. */
const char *hints_refuse(const struct fi_info *offer, const struct fi_info *hints,
                         uint32_t version);

/** Narrows a matching offer to what was requested. */
void hints_apply(struct fi_info *offer, const struct fi_info *hints, uint32_t version);

#endif /* BEOWIRE_FABRIC_HINTS_H */
