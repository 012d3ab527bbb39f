/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rails.h - which rail of a peer each of our rails leads to.
 *
 * Hosts name and order their interfaces differently, so rails are matched by network, not by
 * number. Both ends find the same pairs independently. First, among our rails and the peer's rails
 * with an IPv4 address in their network, the first of ours leads to the first of the peer's, the
 * second to the second, and so on. Then the remaining ones are paired in order.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_ROUTE_RAILS_H
#define BEOWIRE_ROUTE_RAILS_H

#include "frame/address_layout.h"

#include <stdbool.h>
#include <stdint.h>

/** The IPv4 network of one of our rails, host order. */
struct rail_network {
    uint32_t address;
    uint32_t mask; /**< 0: none */
};

/** Finds the pairs.
 *  @param own the networks of our rails
 *  @param matched gets the peer's address with its rails in our order: our rail i leads to rail i,
 *  which is 0 if there is none
 *  @return two bits for each of our rails, from the lowest on: its number exclusive-or that of the
 *  peer's rail. Each leads to a different number, which may have no rail. */
uint8_t rails_match(const struct rail_network own[ADDRESS_RAILS],
                    const struct address_layout *address, struct address_layout *matched);

#endif /* BEOWIRE_ROUTE_RAILS_H */
