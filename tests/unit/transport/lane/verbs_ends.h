/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_ends.h - two lanes over the devices of verbs_fake.h.
 */
#ifndef BEOWIRE_TESTS_LANE_VERBS_ENDS_H
#define BEOWIRE_TESTS_LANE_VERBS_ENDS_H

#include "verbs_fake.h"

#define HEAD_BYTES 16

struct verbs_ends {
    struct lane *a;
    struct lane *b;
    struct lane_address at_a;
    struct lane_address at_b;
};

static inline struct lane *open_on(uint32_t ipv4)
{
    const struct verbs_lane_options options = {.library = &fake_library};
    struct lane *lane = NULL;

    fake.ipv4 = ipv4;
    assert_int_equal(verbs_lane_open(&options, &lane), 0);
    return lane;
}

static inline void close_lane(struct lane *lane)
{
    lane->operations->close(lane);
}

static inline struct lane_address address_of(const struct lane *lane, struct lane *for_whom)
{
    struct address_layout address = {.rails = 1, .rail[0].mac = {2}}; /* of an interface */
    struct lane_address found;

    lane->operations->publish(lane, &address);
    assert_int_equal(address.rails, 2);
    assert_int_equal(for_whom->operations->reach(for_whom, &address, &found), 0);
    return found;
}

/** Returns when the thread that asks for hosts has nothing to do. */
static inline void await_hosts(struct lane *lane)
{
    struct verbs_hosts *hosts = &verbs_of(lane)->hosts;
    unsigned wanted = 1;

    while (wanted > 0) {
        (void)pthread_mutex_lock(&hosts->lock);
        wanted = hosts->wanted;
        (void)pthread_mutex_unlock(&hosts->lock);
        (void)sched_yield();
    }
}

static inline struct verbs_ends open_ends(void)
{
    struct verbs_ends ends = {.a = open_on(HOST_A), .b = open_on(HOST_B)};

    ends.at_a = address_of(ends.a, ends.b);
    ends.at_b = address_of(ends.b, ends.a);
    await_hosts(ends.a);
    await_hosts(ends.b);
    return ends;
}

static inline void close_ends(struct verbs_ends *ends)
{
    close_lane(ends->a);
    close_lane(ends->b);
}

/** Sends frames whose head's first byte counts from `first`, with so much payload, of bytes `fill`.
 *  @return as send(). */
static inline unsigned send_some(struct lane *lane, const struct lane_address *to, unsigned first,
                                 unsigned count, uint8_t fill, uint32_t payload_bytes)
{
    static uint8_t rooms[LANE_VERBS_SEND_FRAMES * 2][LANE_HEADROOM + HEAD_BYTES];
    static struct lane_outgoing frames[LANE_VERBS_SEND_FRAMES * 2];
    static uint8_t payload[4096];

    memset(payload, fill, sizeof payload);
    assert_true(count <= sizeof frames / sizeof *frames);
    for (unsigned i = 0; i < count; i++) {
        memset(rooms[i], 0, sizeof rooms[i]);
        rooms[i][LANE_HEADROOM] = (uint8_t)(first + i);
        frames[i] = (struct lane_outgoing){.head = rooms[i] + LANE_HEADROOM,
                                           .head_bytes = HEAD_BYTES,
                                           .payload = payload_bytes > 0 ? payload : NULL,
                                           .payload_bytes = payload_bytes};
    }
    unsigned taken = lane->operations->send(lane, to, frames, count);
    memset(payload, 0xDD, sizeof payload); /* it has been copied */
    memset(rooms, 0xDD, sizeof rooms);
    return taken;
}

/** Tries whether the lane can be opened, of these interfaces. @return 0, or why not. */
static inline int try_open(const char *first, const char *second)
{
    const struct verbs_lane_options options = {.library = &fake_library,
                                               .interfaces = {first, second}};
    struct lane *lane = NULL;
    int status = verbs_lane_open(&options, &lane);

    if (status == 0) {
        close_lane(lane);
    }
    return status;
}

/** Takes all that has come, which are frames as send_some() makes them. @return how many. */
static inline unsigned take_all(struct lane *lane, const struct lane_address *from, unsigned first,
                                uint8_t fill, uint32_t payload_bytes)
{
    struct lane_incoming incoming[7];
    unsigned got = 0;
    unsigned some = 0;

    do {
        some = lane->operations->receive(lane, incoming, 7);
        for (unsigned i = 0; i < some; i++, got++) {
            assert_int_equal(incoming[i].bytes, HEAD_BYTES + payload_bytes);
            assert_int_equal(incoming[i].data[0], (uint8_t)(first + got));
            for (uint32_t at = HEAD_BYTES; at < incoming[i].bytes; at++) {
                assert_int_equal(incoming[i].data[at], fill);
            }
            assert_null(incoming[i].payload);
            assert_memory_equal(&incoming[i].from, from, sizeof *from);
        }
        lane->operations->release(lane);
    } while (some > 0);
    return got;
}

#endif /* BEOWIRE_TESTS_LANE_VERBS_ENDS_H */
