/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fence.h - two BPF programs, by which the kernel limits granted sockets to what was granted. They
 * work without the broker, also after it has ended.
 *
 * The broker marks each granted socket (SO_MARK): FENCE_MARK in the high half, the endpoint's
 * number in the low one. Changing a mark takes CAP_NET_ADMIN, or since Linux 5.17 CAP_NET_RAW, in
 * the grant's network namespace, which nobody has there. All frames of the socket have its mark,
 * whatever the process does with the socket. A process with one of these capabilities on the host
 * can mark its frames, and so send as any endpoint that has a grant.
 *
 * *Egress* is attached to the network card (egress.h), through which all frames of the
 * grant's interface leave:
 *
 *      marked frame                    passes if it has our EtherType, the source address that
 *                                      follows from card and number, a single destination, no
 *                                      segmentation, no checksum that the card is to write, and
 *                                      this number as sender in its header
 *      not marked, from such a source  dropped: the source is forged
 *      all others                      pass
 *
 * *Options* is attached to the broker's control group, to which all sockets belong that it makes.
 * It refuses options of packet(7) on marked sockets. Otherwise a process could put the card into
 * promiscuous mode (and read nothing by it), and have the kernel reserve memory without bound. The
 * kernel does not run it in system calls of 32 bits, so nothing else may depend on it.
 */
#ifndef BEOWIRE_BROKER_FENCE_H
#define BEOWIRE_BROKER_FENCE_H

#include <net/ethernet.h>
#include <stdint.h>

/** The high half of a mark. */
#define FENCE_MARK 0xBE03u

static inline uint32_t fence_mark(uint16_t number)
{
    return FENCE_MARK << 16 | number;
}

/** The address of the endpoint with this number on the card with that address. For the same number
 *  it differs between all cards of a manufacturer, and nearly always between other cards. */
void fence_address(const uint8_t card[ETH_ALEN], uint16_t number, uint8_t address[ETH_ALEN]);

/** Loads the program for the egress of a card with this address.
 *  @return a descriptor or a negative errno. */
int fence_load_egress(const uint8_t card[ETH_ALEN], uint16_t ethertype);

/** Attaches the program for options to the control group with that descriptor.
 *  @return 0 or a negative errno. */
int fence_close_options(int group);

#endif /* BEOWIRE_BROKER_FENCE_H */
