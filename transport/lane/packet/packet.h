/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet.h - the lane over AF_PACKET: Ethernet frames with our own EtherType, on any network card,
 * at the same time as TCP/IP, with its usual driver. Needs CAP_NET_RAW in the network namespace, or
 * a broker on this host (grant.h).
 *
 * Receiving: a TPACKET_V2 ring (packet(7), kernel Documentation/networking/packet_mmap.rst),
 * mapped into this process. The kernel is the producer of a slot, we are its consumer:
 *
 *      kernel: fills the slot, then   tp_status = TP_STATUS_USER      (release)
 *      we:     see TP_STATUS_USER     (acquire), read the frame in place,
 *              then                   tp_status = TP_STATUS_KERNEL    (release)
 *
 * so an arriving frame is found without a system call, and copied once, by the kernel.
 * Sending: send() or sendmmsg() with PACKET_QDISC_BYPASS; the kernel has copied the frame when it
 * returns. A locked classic BPF filter accepts only frames for this endpoint's number. Before it is
 * set no frame is accepted, so foreign frames never are.
 *
 * The first packet lane of an endpoint also reserves its number (packet_number.h).
 */
#ifndef BEOWIRE_LANE_PACKET_H
#define BEOWIRE_LANE_PACKET_H

#include "lane/lane.h"

#include <stdbool.h>

struct packet_lane_options {
    const char *interface;
    uint16_t ethertype;
    uint16_t endpoint; /**< its number, which another of its lanes has reserved */
    /** Not NULL: this lane reserves this number, or any if it is 0, and writes it here. */
    uint16_t *reserves;
    uint8_t rail;
    /** Not NULL: without CAP_NET_RAW the broker is asked (grant.h). If it opens the lane, `granted`
     *  is set; if it refuses, `why` gets the reason. */
    bool *granted;
    char *why;
};

/** Opens the lane.
 *  @return 0; -EADDRINUSE: the number is in use; -ENODEV, -ENETDOWN, -EPERM, -ENOMEM or another
 *  negative errno. */
int packet_lane_open(const struct packet_lane_options *options, struct lane **lane);

#endif /* BEOWIRE_LANE_PACKET_H */
