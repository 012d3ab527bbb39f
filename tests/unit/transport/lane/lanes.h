/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.h - what tests of lanes have in common.
 */
#ifndef BEOWIRE_TESTS_LANE_LANES_H
#define BEOWIRE_TESTS_LANE_LANES_H

#include "frame/address_layout.h"
#include "lane/lane.h"

#include <poll.h>
#include <string.h>
#include <time.h>

/** Where others send Ethernet frames to reach this lane. */
static inline struct lane_address mac_of(const struct lane *lane)
{
    struct address_layout layout = {0};
    struct lane_address address = {0};

    lane->operations->publish(lane, &layout);
    memcpy(address.bytes, layout.rail[lane->rail].mac, sizeof layout.rail[0].mac);
    return address;
}

/** Sleeps until a frame arrives or the time is over. @return as poll(2). */
static inline int wait_for(const struct lane *lane, uint64_t timeout_ns)
{
    struct pollfd readable[2] = {{.fd = lane->operations->descriptor(lane), .events = POLLIN}};
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                               .tv_nsec = (long)(timeout_ns % 1000000000u)};

    unsigned count = 1;

    if (lane->operations->other_descriptor != NULL) {
        readable[count].fd = lane->operations->other_descriptor(lane);
        readable[count++].events = POLLIN;
    }
    return ppoll(readable, count, &timeout, NULL);
}

#endif /* BEOWIRE_TESTS_LANE_LANES_H */
