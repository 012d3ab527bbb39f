/* SPDX-License-Identifier: BSD-3-Clause */
#include "pull_rig.h"

#define LONG_READ (20 * BLOCK + 5)
static_assert(7 * BLOCK > PULL_READ_BYTES_MAX, "not read in one go, unless that is configured");

/** How long a sender is waited for that has so many bytes left to send. */
static uint64_t patience_ns(uint64_t bytes)
{
    uint64_t lost_ns = bytes / PULL_READ_BYTES_PER_NS;

    return lost_ns > PULL_READ_PATIENCE_NS ? lost_ns : PULL_READ_PATIENCE_NS;
}

/** The kernel, in the test. */
struct memory {
    int status;
    unsigned calls;
    uint64_t bytes; /**< that were read last */
};

static int read_memory(void *context, const struct message_peer *peer, uint64_t address,
                       void *target, uint64_t bytes)
{
    struct memory *memory = context;

    assert_true(peer->shares_memory);
    memory->calls++;
    memory->bytes = bytes;
    if (memory->status == 0) {
        memcpy(target, (const void *)(uintptr_t)address, bytes);
    }
    return memory->status;
}

/** Announces a message of peer 0 that lies in memory which can be read. */
static struct transfer begin_readable(struct fixture *fixture, struct memory *memory,
                                      uint64_t bytes, uint64_t capacity)
{
    struct transfer transfer = expect(fixture, 0, 1, bytes, capacity);
    struct frame_announce announce = announcement(1, bytes, 1);

    announce.address = to_le64((uint64_t)(uintptr_t)transfer.data);
    fixture->layer.read_memory = read_memory;
    fixture->layer.read_context = memory;
    fixture->layer.now_ns = START_NS;
    fixture->peers[0].shares_memory = true;
    announce_it(&transfer, &announce);
    return transfer;
}

/** All that is asked for now. */
static unsigned ask_all(struct fixture *fixture, uint64_t now_ns, struct pull_ask *asks)
{
    unsigned count = 0;

    while (count < PULL_BLOCKS && ask_next(&fixture->layer, now_ns, &asks[count])) {
        count++;
    }
    return count;
}

FIXTURE_TEST(pull_read__in_one_go_what_is_configured)
{
    struct memory memory = {0};

    fixture->layer.limits.read_bytes = LONG_READ;
    struct transfer transfer = begin_readable(fixture, &memory, LONG_READ, LONG_READ);
    assert_int_equal(memory.calls, 1);
    assert_int_equal(memory.bytes, LONG_READ);
    assert_int_equal(fixture->layer.counters.messages_read, 1);
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
    fixture->layer.limits.read_bytes = LONG_READ - 1;
    transfer = begin_readable(fixture, &memory, LONG_READ, LONG_READ);
    assert_int_equal(memory.calls, 1);
    end(&transfer);
}

/** A message whose sender sends nothing: its blocks are read. */
static void read_blocks(struct fixture *fixture, struct memory *memory)
{
    struct pull_ask asks[PULL_BLOCKS];
    struct transfer transfer = begin_readable(fixture, memory, 7 * BLOCK, 7 * BLOCK);

    assert_int_equal(ask_all(fixture, START_NS, asks), 7);
    for (unsigned i = 0; i < 7; i++) {
        assert_true(nothing_asked(fixture, START_NS + patience_ns(7 * BLOCK)));
    }
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

/** A message that is read in one go. */
static void read_whole(struct fixture *fixture, struct memory *memory)
{
    unsigned calls = memory->calls;
    struct transfer transfer = begin_readable(fixture, memory, 7 * BLOCK, 7 * BLOCK);

    assert_int_equal(memory->calls, calls + 1);
    check_complete(&transfer);
    end(&transfer);
}

/** A message whose sender sends all of it. */
static void pull_whole(struct fixture *fixture, struct memory *memory)
{
    unsigned calls = memory->calls;
    struct pull_ask asks[PULL_BLOCKS];
    struct transfer transfer = begin_readable(fixture, memory, 7 * BLOCK, 7 * BLOCK);

    assert_int_equal(ask_all(fixture, START_NS, asks), 7);
    for (unsigned i = 0; i < 7; i++) {
        bring_all(&transfer, &asks[i], 0, START_NS);
    }
    assert_int_equal(memory->calls, calls);
    check_complete(&transfer);
    end(&transfer);
}

FIXTURE_TEST(pull_read__the_more_the_longer_the_sender_is_absent)
{
    struct memory memory = {0};
    unsigned most = 1u << PULL_READ_DOUBLINGS;

    for (unsigned next = 1; next <= 2 * most; next *= 2) {
        read_blocks(fixture, &memory);
        for (unsigned i = 0; i < (next < most ? next : most); i++) {
            read_whole(fixture, &memory);
        }
    }
    pull_whole(fixture, &memory); /* there it is */
    read_blocks(fixture, &memory);
    read_whole(fixture, &memory);
    pull_whole(fixture, &memory);
}

FIXTURE_TEST(pull_read__what_is_very_long_is_asked_for_each_time)
{
    struct memory memory = {0};

    read_blocks(fixture, &memory);
    unsigned calls = memory.calls;
    struct transfer transfer = begin_readable(fixture, &memory, PULL_READ_ABSENT_BYTES_MAX + 1,
                                              PULL_READ_ABSENT_BYTES_MAX + 1);
    assert_int_equal(memory.calls, calls);
    end(&transfer);
}

FIXTURE_TEST(pull_read__all_of_a_silent_sender)
{
    struct memory memory = {0};
    struct transfer transfer = begin_readable(fixture, &memory, LONG_READ, LONG_READ);
    struct pull_ask asks[PULL_BLOCKS];
    uint64_t due_ns = START_NS + patience_ns(21 * BLOCK);

    assert_int_equal(ask_all(fixture, START_NS, asks), PULL_BLOCKS);
    assert_true(nothing_asked(fixture, due_ns - 1));
    assert_int_equal(pull_deadline(&fixture->layer), due_ns);
    assert_int_equal(memory.calls, 0);
    for (unsigned i = 1; i <= 21; i++) {
        struct pull_ask ask;
        /* A block in each turn, so that something else can have its own; others are asked for. */
        assert_int_equal(ask_next(&fixture->layer, due_ns, &ask), i <= 21 - PULL_BLOCKS);
        assert_int_equal(memory.calls, i);
        assert_int_equal(memory.bytes, i < 21 ? BLOCK : 5);
        check_balance(fixture);
    }
    assert_int_equal(fixture->layer.counters.blocks_read, 21);
    assert_int_equal(fixture->layer.counters.pulls_repeated, 0);
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

FIXTURE_TEST(pull_read__goes_on_with_what_the_sender_sends)
{
    struct memory memory = {0};
    struct transfer transfer = begin_readable(fixture, &memory, 7 * BLOCK + 5, 7 * BLOCK + 1);
    struct pull_ask asks[PULL_BLOCKS];
    uint64_t now_ns = START_NS + patience_ns(8 * BLOCK);

    transfer.data[0] ^= 1; /* whoever reads it sees this */
    assert_int_equal(ask_all(fixture, START_NS, asks), 8);
    assert_true(nothing_asked(fixture, now_ns));
    assert_int_equal(memory.calls, 1);
    /* The sender was late: what it sends of that block is not wanted any more. */
    assert_int_equal(bring(&transfer, 0, 0, now_ns), PULL_DUPLICATE);
    bring_all(&transfer, &asks[1], 0, now_ns);
    assert_true(nothing_asked(fixture, now_ns + patience_ns(6 * BLOCK) - 1));
    assert_int_equal(memory.calls, 1);
    /* Half of a block has come: it is read whole. */
    bring_all(&transfer, &asks[2], UINT64_C(0xFFFF0000), now_ns);
    now_ns += patience_ns(6 * BLOCK);
    assert_true(nothing_asked(fixture, now_ns));
    assert_int_equal(memory.calls, 2);
    for (unsigned i = 3; i < 7; i++) {
        bring_all(&transfer, &asks[i], 0, now_ns);
    }
    now_ns += PULL_READ_PATIENCE_NS;
    assert_true(nothing_asked(fixture, now_ns));
    assert_int_equal(memory.bytes, 1); /* not what the buffer has no room for */
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

FIXTURE_TEST(pull_read__not_allowed)
{
    struct memory memory = {.status = -EPERM};
    struct transfer transfer = begin_readable(fixture, &memory, 7 * BLOCK + 5, 7 * BLOCK + 5);
    struct pull_ask asks[PULL_BLOCKS];
    uint64_t now_ns = START_NS + patience_ns(8 * BLOCK);

    assert_int_equal(ask_all(fixture, START_NS, asks), 8);
    assert_true(nothing_asked(fixture, now_ns));
    assert_true(nothing_asked(fixture, now_ns + patience_ns(8 * BLOCK)));
    assert_int_equal(memory.calls, 1);
    assert_int_equal(fixture->layer.counters.blocks_read, 0);
    for (unsigned i = 0; i < 8; i++) {
        bring_all(&transfer, &asks[i], 0, now_ns);
    }
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}
