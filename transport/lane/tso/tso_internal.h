/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso_internal.h - shared by the files of this lane. For lane/tso*.c only.
 */
#ifndef BEOWIRE_LANE_TSO_INTERNAL_H
#define BEOWIRE_LANE_TSO_INTERNAL_H

#include "frame/frame.h"
#include "lane/lane.h"
#include "lane/socket.h"
#include "lane/tso/tso_head.h"
#include "lane/tso/tso_run.h"
#include "tuning.h"

#include <net/ethernet.h>
#include <stddef.h>

/** Calls for which there is memory for unexpected data; each may receive 64 KB. */
#define TSO_ROOM_CALLS 4
#define TSO_ROOM_CALL_BYTES (sizeof(struct tso_head) + (size_t)TSO_PAYLOAD_BYTES_MAX)
#define TSO_ROOM_BYTES (TSO_ROOM_CALLS * TSO_ROOM_CALL_BYTES)

/** The most calls of one receive(): each may receive a segment or 45 of DATA. */
#define TSO_CALLS_MAX ENDPOINT_RECEIVE_FRAMES

struct tso_lane {
    struct lane lane; /* first: the layers above know only this */
    int socket;
    uint32_t uncut_calls; /* remaining calls without trying whether the kernel cuts */
    uint8_t mac[ETH_ALEN];
    uint16_t ethertype;
    uint16_t endpoint;
    int index; /* of the interface */
    struct lane_expectation expectation;
    uint8_t *room;
    size_t room_used;
    uint32_t unplaced_calls; /* remaining calls that ignore the expectation, because it was wrong */
    bool streaming;          /* the previous receive() found something */
    struct frame_data heads[TSO_CALLS_MAX];
    struct tso_run_head run_heads[TSO_CALLS_MAX];
};

static_assert(TSO_CALLS_MAX >= TSO_RUN_FRAMES_MAX, "a receive() has room for a run");

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
