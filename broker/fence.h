/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fence.h - two programs for the kernel (BPF), which hold who has a grant to it. They need nothing
 * of the broker while it lasts, nor after it has ended.
 *
 * The broker marks the socket of a grant (SO_MARK): FENCE_MARK above the endpoint's number. Only
 * CAP_NET_ADMIN in the grant's network namespace changes a mark, and nobody has that there. All
 * that the socket sends has its mark, whatever the process does with the socket.
 *
 * *Egress* is on the network card (clsact, egress), the one way out of the grant's interface:
 *
 *      marked frame                    passes if it has our EtherType, the source that follows from
 *                                      card and number, one destination, no segmentation, and
 *                                      says in its header that it is from this number
 *      not marked, from such a source  dropped: not from where it says
 *      all others                      pass
 *
 * *Options* is on the broker's control group, in which the sockets are counted for good: options
 * of packet(7) are refused to marked sockets. Else a process could put the card into promiscuous
 * mode (and read nothing by it), and have the kernel reserve memory without bound.
 */
#ifndef BEOWIRE_BROKER_FENCE_H
#define BEOWIRE_BROKER_FENCE_H

#include <net/ethernet.h>
#include <stdint.h>

/** In the high half of a mark. */
#define FENCE_MARK 0xBE03u

static inline uint32_t fence_mark(uint16_t number)
{
    return FENCE_MARK << 16 | number;
}

/** The address that the endpoint with this number has on a card with that address. Cards of one
 *  manufacturer never have the same for one number, and others seldom. */
void fence_address(const uint8_t card[ETH_ALEN], uint16_t number, uint8_t address[ETH_ALEN]);

/** Loads the program for the egress of a card with this address.
 *  @return a descriptor or a negative errno. */
int fence_load_egress(const uint8_t card[ETH_ALEN], uint16_t ethertype);

/** Attaches the program for options to the control group with that descriptor.
 *  @return 0 or a negative errno. */
int fence_close_options(int group);

#endif /* BEOWIRE_BROKER_FENCE_H */
