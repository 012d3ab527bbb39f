/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_frame.h - a sequenced frame to send. The message layer makes it, the flow keeps it until it
 * is acknowledged, and the route sends it.
 */
#ifndef BEOWIRE_ROUTE_FLOW_FRAME_H
#define BEOWIRE_ROUTE_FLOW_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/** Frames on one way stay in order unless the network reorders them. Frames on different ways often
 *  overtake one another, so loss is detected on each way separately. */
enum flow_way {
    FLOW_WAY_USUAL,
    FLOW_WAY_OTHER, /**< a second lane, or the previous usual one */
    FLOW_WAY_CUT,   /**< a lane with segmentation offload */
    FLOW_WAYS,
};

/** A frame to send: a contiguous head, and perhaps data in the user's buffer. */
struct flow_frame {
    struct flow_frame *next; /**< for the owner; not used by the flow */
    void *owner;             /**< handed back with it */
    const uint8_t *payload;  /**< follows the head on the wire; valid until acknowledged */
    uint32_t payload_bytes;  /**< of `payload`, 0 if all is in the head */
    uint32_t head_bytes;     /**< header, operation header, and copied data */
    uint8_t *head;           /**< with LANE_HEADROOM writable bytes in front */
    uint64_t sent_ns;        /**< set by the flow: when it was last sent */
    bool exempt;             /**< may be sent without credit; set before it is pushed */
    bool lent;               /**< set by the owner: `payload` will soon be copied behind the head */
    uint8_t way;             /**< set by the route: enum flow_way, on which it was last sent */
    uint8_t first_way;       /**< set by the route: on which it was first sent */
    uint32_t transmissions;  /**< set by the flow: how often it was sent */
};

#endif /* BEOWIRE_ROUTE_FLOW_FRAME_H */
