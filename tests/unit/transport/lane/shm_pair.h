/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_pair.h - what tests of the lane between processes of one host have in common.
 */
#ifndef BEOWIRE_TESTS_LANE_SHM_PAIR_H
#define BEOWIRE_TESTS_LANE_SHM_PAIR_H

#include "frame/address_layout.h"
#include "lane/clock.h"
#include "lane/shm/shm.h"
#include "lane/shm/shm_meet.h"

#include "descriptors.h"
#include "lanes.h"
#include "unit/test.h"

#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(20000000000)
#define HEAD_BYTES 46u
#define PEERS 64

/** The `number`th incarnation of this process: others of the test suite run at the same time. */
static inline uint64_t incarnation_of(pid_t process, unsigned number)
{
    return (uint64_t)process << 16 | number;
}

static inline struct lane *open_shm_as(uint64_t incarnation)
{
    struct shm_lane_options options = {.incarnation = incarnation, .peers = PEERS};
    struct lane *lane = NULL;

    assert_int_equal(shm_lane_open(&options, &lane), 0);
    return lane;
}

static inline struct lane *open_shm(unsigned number)
{
    return open_shm_as(incarnation_of(getpid(), number));
}

static inline void close_shm(struct lane *lane)
{
    lane->operations->close(lane);
}

static inline const struct shm_lane *inside(const struct lane *lane)
{
    return (const struct shm_lane *)(const void *)lane;
}

static inline struct address_layout address_layout_of(const struct lane *lane)
{
    struct address_layout address = {.incarnation = to_le64(inside(lane)->incarnation)};

    lane->operations->publish(lane, &address);
    return address;
}

/** Where `to` is, for `from`. */
static inline struct lane_address reach(struct lane *from, uint64_t incarnation)
{
    struct address_layout address = address_layout_of(from);
    struct lane_address to;

    address.incarnation = to_le64(incarnation);
    assert_int_equal(from->operations->reach(from, &address, &to), 0);
    return to;
}

static inline struct lane_address reach_lane(struct lane *from, const struct lane *to)
{
    return reach(from, inside(to)->incarnation);
}

/** Sends a frame whose first data byte and last byte are `number`. @return was it taken? */
static inline bool send_number(struct lane *from, const struct lane_address *to, uint8_t number,
                               uint32_t data_bytes)
{
    static _Thread_local struct {
        uint8_t headroom[LANE_HEADROOM];
        uint8_t head[HEAD_BYTES];
    } room;
    static _Thread_local uint8_t data[SHM_FRAME_BYTES];

    room.head[1] = FRAME_EAGER;
    data[0] = number;
    data[data_bytes - 1] = number;
    return from->operations->send(from, to,
                                  &(struct lane_outgoing){.head = room.head,
                                                          .head_bytes = HEAD_BYTES,
                                                          .payload = data,
                                                          .payload_bytes = data_bytes},
                                  1) == 1;
}

/** Polls until a frame comes, and gives it back. @return its number; -1: none came in time. */
static inline int receive_number(struct lane *lane, struct lane_address *from)
{
    struct lane_incoming frame;
    uint64_t end_ns = clock_now_ns() + PATIENCE_NS;

    while (lane->operations->receive(lane, &frame, 1) == 0) {
        if (clock_now_ns() > end_ns) {
            return -1;
        }
    }
    uint32_t last = frame.bytes - 1;
    int number = frame.payload != NULL ? frame.payload[0] : frame.data[HEAD_BYTES];
    assert_int_equal(number,
                     frame.payload != NULL ? frame.payload[last - HEAD_BYTES] : frame.data[last]);
    if (from != NULL) {
        *from = frame.from;
    }
    lane->operations->release(lane);
    return number;
}

/** Polls until lost() names somebody. */
static inline void wait_for_loss(struct lane *lane, const struct lane_address *expected)
{
    struct lane_loss lost;
    struct lane_incoming frame;
    uint64_t end_ns = clock_now_ns() + PATIENCE_NS;

    while (!lane->operations->lost(lane, &lost)) {
        assert_int_equal(lane->operations->receive(lane, &frame, 1), 0);
        assert_true(clock_now_ns() < end_ns);
    }
    assert_memory_equal(&lost.address, expected, sizeof lost.address);
}

/** Polls so often that what has come over sockets has been heard. */
static inline void settle(struct lane *lane)
{
    struct shm_lane *shm = (struct shm_lane *)(void *)lane;

    shm_meet_keep_house(shm);
    shm_peers_tidy(shm);
}

/** A test with two lanes, and the second as the first reaches it; they are closed afterwards. */
#define MET_TEST(name)                                                                             \
    static void name(struct lane *a, struct lane *b, struct lane_address to_b);                    \
    static void name##__with(void **state)                                                         \
    {                                                                                              \
        struct lane *a = open_shm(1);                                                              \
        struct lane *b = open_shm(2);                                                              \
        (void)state;                                                                               \
        name(a, b, reach_lane(a, b));                                                              \
        close_shm(a);                                                                              \
        close_shm(b);                                                                              \
    }                                                                                              \
    TEST_LISTED(name, name##__with, NULL, NULL);                                                   \
    static void name(struct lane *a, struct lane *b, struct lane_address to_b)

#endif /* BEOWIRE_TESTS_LANE_SHM_PAIR_H */
