/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp.h - a model of TCP that has always more to send, as traffic beside ours. It is simple: slow
 * start; then the window of CUBIC where that is friendly to Reno, as it is at the round trips of a
 * cluster (RFC 9438, section 4.3). Each segment is acknowledged. A segment that is not, although
 * later ones are, counts as lost (SACK and RACK, RFC 8985, on one path). Timeouts are 200 ms or
 * more. Hosts take no time.
 */
#ifndef BEOWIRE_SIMULATION_SCALE_TCP_H
#define BEOWIRE_SIMULATION_SCALE_TCP_H

#include "network.h"

/** Payload of a segment, and with its headers. */
#define TCP_SEGMENT_BYTES 1448u
#define TCP_FRAME_BYTES 1500u

#define TCP_WINDOW 2048 /**< segments in flight at most; a power of two */

struct tcp_segment {
    uint64_t sent_ns;
    bool received; /**< the receiver has reported it */
    bool lost;     /**< and not sent again */
};

struct tcp_flow {
    struct network *network;
    uint32_t number;
    uint32_t from;
    uint32_t to;
    uint32_t source; /**< of its timer, in the schedule */
    /* sender; segments are counted from 0 */
    uint64_t first; /**< first one not known to be received */
    uint64_t next;
    uint64_t recover; /**< losses before this are of one congestion */
    double window;    /**< segments */
    double threshold;
    uint32_t in_flight;
    uint64_t latest_ns; /**< when the latest segment that was received was sent */
    uint64_t srtt_ns;
    uint64_t rttvar_ns;
    uint32_t backoff;
    struct tcp_segment segments[TCP_WINDOW];
    uint64_t sent_again;
    /* receiver */
    uint64_t expected;
    bool came[TCP_WINDOW]; /**< after `expected` */
};

void tcp_start(struct tcp_flow *flow, struct network *network, uint32_t number, uint32_t from,
               uint32_t to, uint32_t source, uint64_t now_ns);

/** A frame of the flow has come, at either end. It stays the caller's. */
void tcp_frame(struct tcp_flow *flow, const struct network_frame *frame, uint64_t now_ns);

/** Its timer is due. */
void tcp_due(struct tcp_flow *flow, uint64_t now_ns);

/** The flow of a frame. */
uint32_t tcp_number(const struct network_frame *frame);

#endif /* BEOWIRE_SIMULATION_SCALE_TCP_H */
