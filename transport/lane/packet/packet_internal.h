/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_internal.h - the parts of the lane over AF_PACKET that the lane over AF_XDP, which takes
 * its place, uses, too: all but how most frames are received. For lane/packet/packet.c and
 * lane/xdp/xdp.c only.
 */
#ifndef BEOWIRE_LANE_PACKET_INTERNAL_H
#define BEOWIRE_LANE_PACKET_INTERNAL_H

#include "lane/lane.h"
#include "lane/lane_type.h"
#include "lane/packet/packet.h"
#include "lane/queue_poll.h"
#include "lane/slot_ring.h"

#include <net/ethernet.h>
#include <stdbool.h>
#include <stddef.h>

/** Bytes of a frame before ours, and the place of the EtherType in them. */
#define PACKET_ENVELOPE_BYTES ETH_HLEN
#define PACKET_TYPE_AT 12u

struct packet_lane {
    struct lane lane; /* first: the layers above know only this */
    int socket;
    int holder; /* of the endpoint's number, or -1 */
    bool loops; /* the interface is loopback, which returns frames to ourselves */
    uint8_t mac[ETH_ALEN];
    uint8_t ethertype[2]; /* as on the wire */
    struct slot_ring ring;
    int index;              /* of the interface */
    struct queue_poll poll; /* through a socket of another lane */
};

static inline struct packet_lane *packet_of(struct lane *lane)
{
    return (struct packet_lane *)(void *)lane;
}

/** Opens the resources of `packet`, which is all 0. @return as packet_lane_open(); after an error
 *  nothing is open. */
int packet_set_up(struct packet_lane *packet, const struct packet_lane_options *options);

/** Closes it; may be repeated. The caller frees `packet`. */
void packet_take_down(struct packet_lane *packet);

/** Receives from the ring, as in struct lane_operations; polls the card's queue. */
unsigned packet_take(struct packet_lane *packet, struct lane_incoming *frames, unsigned count);

/** As in struct lane_operations. */
void packet_release(struct lane *lane);
unsigned packet_send(struct lane *lane, const struct lane_address *to,
                     const struct lane_outgoing *frames, unsigned count);
int packet_status(struct lane *lane);
void packet_publish(const struct lane *lane, struct address_layout *address);
int packet_reach(struct lane *lane, const struct address_layout *address, struct lane_address *to);
void packet_busy_poll(struct lane *lane, uint32_t time_us, int by);
unsigned packet_part_with(struct lane *lane, int sockets[LANE_SLOW_SOCKETS_MAX]);

/** `explain` in lane_type.h, for errors of packet(7) sockets. */
bool packet_explain(int status, const struct lane_opening *opening, char *text, size_t bytes);

#endif /* BEOWIRE_LANE_PACKET_INTERNAL_H */
