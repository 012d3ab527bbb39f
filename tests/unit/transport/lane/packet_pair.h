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

#endif /* BEOWIRE_TESTS_LANE_PACKET_PAIR_H */
