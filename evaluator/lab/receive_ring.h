/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receive_ring.h - every frame that arrives at an interface, whole, with its time of arrival.
 *
 * An AF_PACKET socket with a ring (slot_ring.h). So the memory for a burst is as large as we
 * choose; without privilege, the receive buffer of a plain socket would be too small.
 *
 * The kernel takes a VLAN tag out of the frame and keeps it beside; received_frame_copy() puts it
 * back, so that what is copied is what was on the wire (without the frame check sequence).
 */
#ifndef BEOWIRE_LAB_RECEIVE_RING_H
#define BEOWIRE_LAB_RECEIVE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lane/slot_ring.h"

struct receive_ring {
    int socket; /**< readable (POLLIN) when a frame is there */
    struct slot_ring ring;
};

struct received_frame {
    const uint8_t *bytes; /**< valid until receive_ring_release() */
    size_t length_bytes;  /**< of `bytes`: without a VLAN tag that was taken out */
    uint64_t realtime_ns; /**< CLOCK_REALTIME when it arrived */
    bool whole;           /**< false: larger than a slot, and cut off */
    bool tagged;
    uint16_t tag_protocol; /**< with `tagged`: 0x8100 or 0x88a8 */
    uint16_t tag_control;  /**< with `tagged`: priority and VLAN number */
};

/** Opens a ring for frames of up to `max_frame_bytes`, header and tag included.
 *  Returns 0 or a negative errno, after which the caller ends. */
int receive_ring_open(struct receive_ring *ring, const char *interface, size_t max_frame_bytes);

/** The oldest frame that was not released. False: there is none now. */
bool receive_ring_peek(const struct receive_ring *ring, struct received_frame *frame);

/** Gives the slot of the oldest frame back to the kernel. */
void receive_ring_release(struct receive_ring *ring);

/** Bytes that the frame has on the wire, tag included. */
size_t received_frame_wire_bytes(const struct received_frame *frame);

/** Writes the frame as it was on the wire: received_frame_wire_bytes() bytes. */
void received_frame_copy(const struct received_frame *frame, uint8_t *wire);

/** Frames that were lost since the last call because all slots were full. */
uint64_t receive_ring_take_lost(struct receive_ring *ring);

#endif /* BEOWIRE_LAB_RECEIVE_RING_H */
