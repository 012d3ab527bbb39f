/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rails.h - which rail of a peer each of ours leads to.
 *
 * Hosts name and order their interfaces as they like, so what two ends have in common is not the
 * number of a rail but its network. Both ends find the same pairs, each by itself: of the rails
 * whose peer's IPv4 address is in our rail's network the first of ours leads to the first of the
 * peer's, the second to the second, and so on; then of what is left, in that order, too.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_ROUTE_RAILS_H
#define BEOWIRE_ROUTE_RAILS_H

#include "frame/address_layout.h"

#include <stdbool.h>
#include <stdint.h>

/** The IPv4 network that one of our rails is in, host order. */
struct rail_network {
    uint32_t address;
    uint32_t mask; /**< 0: it has none */
};

/** Finds the pairs.
 *  @param own the networks of our rails
 *  @param matched gets the peer's address with its rails in our order: rail i is what our rail i
 *  leads to, and 0 if that is none
 *  @return which these are, two bits for each of our rails, from the lowest on: its number
 *  exclusive-or that of the peer's; each leads to a number of its own, which may have no rail */
uint8_t rails_match(const struct rail_network own[ADDRESS_RAILS],
                    const struct address_layout *address, struct address_layout *matched);

#endif /* BEOWIRE_ROUTE_RAILS_H */
