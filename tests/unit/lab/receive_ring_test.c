/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts that need no socket: a ring whose slots the test fills as the kernel does.
 * (tests/system/test_lab_link.py sends real frames through a relay.)
 */
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "receive_ring.h"
#include "unit/test.h"

/* Blocks that are larger than their two slots: a slot never spans blocks. */
enum { SLOT = SLOT_RING_BLOCK_BYTES / 5 * 2 / 64 * 64, SLOTS_PER_BLOCK = 2, SLOTS = 4 };
enum { FRAME_AT = 96 };

static alignas(64) uint8_t memory[2 * SLOT_RING_BLOCK_BYTES];
static struct receive_ring ring;

static int make_ring(void **state)
{
    memset(memory, 0, sizeof memory);
    ring.ring = (struct slot_ring){
        .memory = memory,
        .slot_bytes = SLOT,
        .slots_per_block = SLOTS_PER_BLOCK,
        .slots = SLOTS,
    };
    ring.ring.next = slot_ring_at(&ring.ring, 0);
    return 0;
}

static struct tpacket2_hdr *arrive(size_t slot, const void *frame, uint32_t length)
{
    struct tpacket2_hdr *header = slot_ring_at(&ring.ring, (uint32_t)slot);
    *header = (struct tpacket2_hdr){
        .tp_status = TP_STATUS_USER,
        .tp_len = length,
        .tp_snaplen = length,
        .tp_mac = FRAME_AT,
        .tp_sec = 7,
        .tp_nsec = 5,
    };
    memcpy((uint8_t *)header + FRAME_AT, frame, length);
    return header;
}

static const uint8_t untagged[16] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0x88, 0xb5, 9, 9};

TEST_AROUND(receive_ring_peek__nothing_there, make_ring, NULL)
{
    struct received_frame frame;
    assert_false(receive_ring_peek(&ring, &frame));
}

TEST_AROUND(receive_ring_peek__the_frame_and_its_time, make_ring, NULL)
{
    struct received_frame frame;
    (void)arrive(0, untagged, sizeof untagged);
    assert_true(receive_ring_peek(&ring, &frame));
    assert_int_equal(frame.length_bytes, sizeof untagged);
    assert_memory_equal(frame.bytes, untagged, sizeof untagged);
    assert_int_equal(frame.realtime_ns, 7000000005);
    assert_true(frame.whole);
    assert_false(frame.tagged);
}

TEST_AROUND(receive_ring_peek__a_frame_that_was_cut_off, make_ring, NULL)
{
    struct received_frame frame;
    arrive(0, untagged, sizeof untagged)->tp_len = 9000;
    assert_true(receive_ring_peek(&ring, &frame));
    assert_false(frame.whole);
}

TEST_AROUND(receive_ring_release__goes_round_all_blocks, make_ring, NULL)
{
    struct received_frame frame;
    for (unsigned int round = 0; round < 3 * SLOTS; round++) {
        const uint8_t bytes[14] = {(uint8_t)round};
        const struct tpacket2_hdr *header = arrive(round % SLOTS, bytes, sizeof bytes);
        assert_true(receive_ring_peek(&ring, &frame));
        assert_int_equal(frame.bytes[0], round);
        receive_ring_release(&ring);
        assert_int_equal(header->tp_status, TP_STATUS_KERNEL);
        assert_false(receive_ring_peek(&ring, &frame));
    }
}

TEST_AROUND(received_frame_copy__without_a_tag, make_ring, NULL)
{
    uint8_t wire[32];
    const struct received_frame frame = {.bytes = untagged, .length_bytes = sizeof untagged};
    assert_int_equal(received_frame_wire_bytes(&frame), sizeof untagged);
    received_frame_copy(&frame, wire);
    assert_memory_equal(wire, untagged, sizeof untagged);
}

TEST_AROUND(received_frame_copy__puts_the_tag_back, make_ring, NULL)
{
    uint8_t wire[32];
    struct received_frame frame;
    struct tpacket2_hdr *header = arrive(0, untagged, sizeof untagged);
    header->tp_status |= TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID;
    header->tp_vlan_tpid = ETH_P_8021AD;
    header->tp_vlan_tci = 0x6123;
    assert_true(receive_ring_peek(&ring, &frame));
    const uint8_t expected[20] = {1, 1, 1,    1,    1,    1,    2,    2,    2, 2,
                                  2, 2, 0x88, 0xa8, 0x61, 0x23, 0x88, 0xb5, 9, 9};
    assert_int_equal(received_frame_wire_bytes(&frame), sizeof expected);
    received_frame_copy(&frame, wire);
    assert_memory_equal(wire, expected, sizeof expected);
}
