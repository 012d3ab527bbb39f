/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hints.h - does what we have fit what the user wants, and what exactly does the user get?
 *
 * The rules are those of libfabric's own providers (fi_getinfo(3), fi_domain(3), fi_endpoint(3)).
 */
#ifndef BEOWIRE_FABRIC_HINTS_H
#define BEOWIRE_FABRIC_HINTS_H

#include <rdma/fabric.h>

/** Compares the hints (NULL: none) with all that one interface offers.
 *  @return NULL: it fits; or what does not, in a few words. */
const char *hints_refuse(const struct fi_info *offer, const struct fi_info *hints,
                         uint32_t version);

/** Narrows an offer that fits down to what was asked for. */
void hints_apply(struct fi_info *offer, const struct fi_info *hints, uint32_t version);

#endif /* BEOWIRE_FABRIC_HINTS_H */
