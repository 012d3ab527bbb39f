/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso_internal.h - shared by the files of this lane. For lane/tso*.c only.
 */
#ifndef BEOWIRE_LANE_TSO_INTERNAL_H
#define BEOWIRE_LANE_TSO_INTERNAL_H

#include "frame/frame.h"
#include "lane/lane.h"
#include "lane/slot_ring.h"
#include "lane/socket.h"
#include "lane/tso/tso_head.h"
#include "lane/tso/tso_run.h"
#include "tuning.h"

#include <net/ethernet.h>
#include <stddef.h>

/** Packets for which there is memory for unexpected data; each may have 64 KB. */
#define TSO_ROOM_PACKETS 4
#define TSO_ROOM_PACKET_BYTES (sizeof(struct tso_head) + (size_t)TSO_PAYLOAD_BYTES_MAX)
#define TSO_ROOM_BYTES (TSO_ROOM_PACKETS * TSO_ROOM_PACKET_BYTES)

struct tso_lane {
    struct lane lane; /* first: the layers above know only this */
    int socket;
    uint32_t uncut_calls; /* remaining calls without trying whether the kernel cuts */
    uint8_t mac[ETH_ALEN];
    uint16_t ethertype;
    uint16_t endpoint;
    int index; /* of the interface */
    struct lane_expectation expectation;
    struct slot_ring ring; /* packets, of longer ones the beginning */
    uint32_t slots_first;  /* remaining packets that are looked for in the ring first */
    uint32_t slots_ahead;  /* long packets that were received before their slots were taken */
    uint8_t *room;
    size_t room_used;
    struct frame_data heads[ENDPOINT_RECEIVE_FRAMES];
    struct tso_run_head run_heads[ENDPOINT_RECEIVE_FRAMES];
};

static_assert(ENDPOINT_RECEIVE_FRAMES >= TSO_RUN_FRAMES_MAX, "a receive() has room for a run");

static inline struct tso_lane *tso_of(struct lane *lane)
{
    return (struct tso_lane *)(void *)lane;
}

/** As in struct lane_operations: tso_send.c, ... */
unsigned tso_send(struct lane *lane, const struct lane_address *to,
                  const struct lane_outgoing *frames, unsigned count);

/** ... and tso_receive.c. */
unsigned tso_receive(struct lane *lane, struct lane_incoming *frames, unsigned count);

#endif /* BEOWIRE_LANE_TSO_INTERNAL_H */
