/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_pair.h - Ethernet frames between two lanes on the veth pair of the test's own namespace.
 */
#ifndef BEOWIRE_TESTS_LANE_PACKET_PAIR_H
#define BEOWIRE_TESTS_LANE_PACKET_PAIR_H

#include "frame/frame.h"
#include "lane/packet/packet.h"
#include "lanes.h"
#include "tuning.h"
#include "unit/test.h"

#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ETHERTYPE 0x88B5
#define PATIENCE_NS UINT64_C(10000000000)
#define HEAD_BYTES 60

static inline void close_lane(struct lane *lane)
{
    lane->operations->close(lane);
}

/** Sends `count` frames to an endpoint at a MAC; byte 28 is `first`, `first` + 1, ... and the last
 * byte too.
 *  @return how many the lane took. */
static inline unsigned send_frames_to(struct lane *from, struct lane_address to, uint16_t endpoint,
                                      unsigned count, uint8_t first, uint32_t payload_bytes)
{
    static uint8_t rooms[FLOW_BATCH_FRAMES][LANE_HEADROOM + HEAD_BYTES];
    static uint8_t payload[65536];
    struct lane_outgoing outgoing[FLOW_BATCH_FRAMES];

    for (unsigned i = 0; i < count; i++) {
        uint8_t *head = rooms[i] + LANE_HEADROOM;
        memset(head, 0, HEAD_BYTES);
        frame_encode(head, &(struct frame_fields){.type = FRAME_CLOSE, .destination = endpoint});
        head[28] = head[HEAD_BYTES - 1] = (uint8_t)(first + i);
        outgoing[i] = (struct lane_outgoing){.head = head,
                                             .head_bytes = HEAD_BYTES,
                                             .payload = payload,
                                             .payload_bytes = payload_bytes};
    }
    return from->operations->send(from, &to, outgoing, count);
}

static inline unsigned send_frames(struct lane *from, const struct lane *to, uint16_t endpoint,
                                   unsigned count, uint8_t first, uint32_t payload_bytes)
{
    return send_frames_to(from, mac_of(to), endpoint, count, first, payload_bytes);
}

/** Waits for a frame. @return its number, -1: none came in `patience_ns`. */
static inline int receive_frame(struct lane *lane, uint64_t patience_ns, uint32_t *bytes)
{
    struct lane_incoming incoming;

    while (lane->operations->receive(lane, &incoming, 1) == 0) {
        if (wait_for(lane, patience_ns) == 0) {
            return -1;
        }
    }
    int number = incoming.bytes > 28 ? incoming.data[28] : -2;
    if (bytes != NULL) {
        *bytes = incoming.bytes;
    }
    lane->operations->release(lane);
    return number;
}

static inline void set_interface(const char *name, unsigned long request, int value)
{
    struct ifreq interface = {0};
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)snprintf(interface.ifr_name, sizeof interface.ifr_name, "%s", name);
    if (request == SIOCSIFMTU) {
        interface.ifr_mtu = value;
    } else {
        interface.ifr_flags = (short)value;
    }
    assert_true(control >= 0);
    assert_int_equal(ioctl(control, request, &interface), 0);
    close(control);
}

/** What holds for a packet lane and for one over AF_XDP, as the lane `b`; it closes them. */
static inline void frames_arrive_whole_and_in_order(struct lane *a, struct lane *b)
{
    uint32_t bytes = 0;

    assert_int_equal(b->frame_bytes, 1500);
    assert_int_equal(send_frames(a, b, 2, 20, 1, 0), 20);
    assert_int_equal(send_frames(a, b, 2, 1, 21, 1500 - HEAD_BYTES), 1);
    for (int i = 1; i <= 21; i++) {
        assert_int_equal(receive_frame(b, PATIENCE_NS, &bytes), i);
        assert_int_equal(bytes, i <= 20 ? HEAD_BYTES : 1500);
    }
    assert_int_equal(a->sent_frames, 21);
    assert_int_equal(b->received_frames, 21);
    assert_int_equal(b->received_bytes, 20 * HEAD_BYTES + 1500);
    close_lane(a);
    close_lane(b);
}

static inline void goes_round_its_rings(struct lane *a, struct lane *b, uint32_t frame_bytes)
{
    uint32_t bytes = 0;

    for (unsigned i = 0; i < 3 * LANE_RING_FRAMES; i += 8) {
        assert_int_equal(send_frames(a, b, 2, 8, (uint8_t)i, frame_bytes - HEAD_BYTES), 8);
        for (unsigned j = 0; j < 8; j++) {
            assert_int_equal(receive_frame(b, PATIENCE_NS, &bytes), (uint8_t)(i + j));
            assert_int_equal(bytes, frame_bytes);
        }
    }
    assert_int_equal(b->operations->status(b), 0);
    assert_int_equal(b->dropped_frames, 0);
    close_lane(a);
    close_lane(b);
}

static inline void counts_what_did_not_fit(struct lane *a, struct lane *b)
{
    unsigned taken = 0;
    unsigned arrived = 0;

    for (unsigned i = 0; i < 4 * MESSAGE_CHUNKS; i += 16) {
        taken += send_frames(a, b, 2, 16, (uint8_t)i, 100);
    }
    while (receive_frame(b, 100000000, NULL) >= 0) {
        arrived++;
    }
    assert_int_equal(b->operations->status(b), 0);
    assert_true(b->dropped_frames > 0);
    assert_int_equal(arrived + b->dropped_frames, taken);
    close_lane(a);
    close_lane(b);
}

/** `b` is endpoint 0x0102, `other` at the same interface 0x0201. */
static inline void gets_only_frames_for_its_endpoint(struct lane *a, struct lane *b,
                                                     struct lane *other)
{
    assert_int_equal(send_frames(a, b, 0x0103, 1, 1, 0), 1);
    assert_int_equal(send_frames(a, b, 0x0201, 1, 2, 0), 1);
    assert_int_equal(send_frames(a, b, 0x0102, 1, 3, 0), 1);
    assert_int_equal(receive_frame(b, PATIENCE_NS, NULL), 3);
    assert_int_equal(receive_frame(other, PATIENCE_NS, NULL), 2);
    assert_int_equal(b->received_frames, 1);
    close_lane(a);
    close_lane(b);
    close_lane(other);
}

/** A packet lane. */
static inline struct lane *open_packet(const char *interface, uint16_t endpoint)
{
    struct packet_lane_options options = {
        .interface = interface, .ethertype = ETHERTYPE, .endpoint = endpoint};
    struct lane *lane = NULL;

    assert_int_equal(packet_lane_open(&options, &lane), 0);
    return lane;
}

#endif /* BEOWIRE_TESTS_LANE_PACKET_PAIR_H */
