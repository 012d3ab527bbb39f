/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim_wires.h - a simulated wire with a lane of each node, for tests. Include cmocka's needs first.
 */
#ifndef BEOWIRE_TESTS_LANE_SIM_WIRES_H
#define BEOWIRE_TESTS_LANE_SIM_WIRES_H

#include "lane/sim/sim.h"
#include "lanes.h"
#include "unit/test.h"

#include <stddef.h>
#include <string.h>

#define HEAD_BYTES 32

static inline struct sim_wire *open_wire(const struct sim_options *options, struct lane **lanes)
{
    struct sim_wire *wire = NULL;

    assert_int_equal(sim_wire_open(options, &wire), 0);
    for (uint32_t i = 0; i < options->nodes; i++) {
        assert_int_equal(sim_lane_open(wire, i, 0, &lanes[i]), 0);
    }
    return wire;
}

static inline void close_wire(struct sim_wire *wire, struct lane **lanes, uint32_t nodes)
{
    for (uint32_t i = 0; i < nodes; i++) {
        if (lanes[i] != NULL) {
            lanes[i]->operations->close(lanes[i]);
        }
    }
    sim_wire_close(wire);
}

/** Sends one frame: a head and three bytes of payload, all `value`. @return what the lane took. */
static inline unsigned send_frame(struct lane *from, const struct lane *to, uint8_t value)
{
    uint8_t room[LANE_HEADROOM + HEAD_BYTES];
    const uint8_t payload[3] = {value, value, value};
    struct lane_outgoing outgoing = {.head = room + LANE_HEADROOM,
                                     .head_bytes = HEAD_BYTES,
                                     .payload = payload,
                                     .payload_bytes = sizeof payload};

    memset(room, value, sizeof room);
    const struct lane_address address = mac_of(to);
    return from->operations->send(from, &address, &outgoing, 1);
}

/** Takes one frame. @return its value, or -1. */
static inline int receive_frame(struct lane *lane)
{
    struct lane_incoming incoming;

    if (lane->operations->receive(lane, &incoming, 1) == 0) {
        return -1;
    }
    int value = incoming.data[0];
    assert_int_equal(incoming.bytes, HEAD_BYTES + 3);
    lane->operations->release(lane);
    return value;
}

#endif /* BEOWIRE_TESTS_LANE_SIM_WIRES_H */
