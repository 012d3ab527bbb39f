/* SPDX-License-Identifier: BSD-3-Clause */
#include "pull_rig.h"

#define LONG_READ (20 * BLOCK + 5)
static_assert(7 * BLOCK > PULL_READ_BYTES_MAX, "not read in one go");

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
    struct transfer transfer = {.fixture = fixture,
                                .name = 1,
                                .bytes = bytes,
                                .capacity = capacity,
                                .data = pattern(bytes),
                                .buffer = malloc(capacity + SEGMENT)};
    struct frame_announce announce = announcement(1, bytes, 1);

    assert_non_null(transfer.buffer);
    memset(transfer.buffer, GUARD, capacity + SEGMENT);
    announce.address = to_le64((uint64_t)(uintptr_t)transfer.data);
    fixture->layer.read_memory = read_memory;
    fixture->layer.read_context = memory;
    fixture->layer.now_ns = START_NS;
    fixture->peers[0].shares_memory = true;
    assert_int_equal(post(fixture, 0, 1, 0, transfer.buffer, capacity, transfer.buffer), 0);
    assert_int_equal(
        arrive(fixture, 0, &(struct frame){.type = FRAME_ANNOUNCE, .announce = &announce}), 0);
    return transfer;
}

/** All that is asked for now. */
static unsigned ask_all(struct fixture *fixture, uint64_t now_ns, struct pull_ask *asks)
{
    unsigned count = 0;

    while (count < PULL_BLOCKS && pull_ask(&fixture->layer, now_ns, &asks[count])) {
        count++;
    }
    return count;
}

static void pull_read__short_messages_in_one_go(void **state)
{
    struct fixture *fixture = *state;
    struct memory memory = {0};
    struct transfer transfer =
        begin_readable(fixture, &memory, PULL_READ_BYTES_MAX, PULL_READ_BYTES_MAX);

    assert_int_equal(memory.calls, 1);
    assert_int_equal(memory.bytes, PULL_READ_BYTES_MAX);
    assert_int_equal(fixture->layer.counters.messages_read, 1);
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

static void pull_read__in_one_go_what_is_configured(void **state)
{
    struct fixture *fixture = *state;
    struct memory memory = {0};

    fixture->layer.limits.read_bytes = 2 * PULL_READ_BYTES_MAX;
    struct transfer transfer =
        begin_readable(fixture, &memory, 2 * PULL_READ_BYTES_MAX, 2 * PULL_READ_BYTES_MAX);
    assert_int_equal(memory.calls, 1);
    end(&transfer);
    fixture->layer.limits.read_bytes = 2 * PULL_READ_BYTES_MAX - 1;
    transfer = begin_readable(fixture, &memory, 2 * PULL_READ_BYTES_MAX, 2 * PULL_READ_BYTES_MAX);
    assert_int_equal(memory.calls, 1);
    end(&transfer);
}

/** The sender would need a core, too, to copy its part. */
static void pull_read__long_messages_in_one_go_where_others_want_the_core(void **state)
{
    struct fixture *fixture = *state;
    struct memory memory = {0};

    fixture->layer.crowded = true;
    struct transfer transfer =
        begin_readable(fixture, &memory, PULL_READ_CROWDED_BYTES_MAX, PULL_READ_CROWDED_BYTES_MAX);
    assert_int_equal(memory.calls, 1);
    assert_int_equal(memory.bytes, PULL_READ_CROWDED_BYTES_MAX);
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
    transfer = begin_readable(fixture, &memory, PULL_READ_CROWDED_BYTES_MAX + 1,
                              PULL_READ_CROWDED_BYTES_MAX + 1);
    assert_int_equal(memory.calls, 1); /* not too long ones */
    end(&transfer);
}

static void pull_read__not_while_the_sender_sends(void **state)
{
    struct fixture *fixture = *state;
    struct memory memory = {0};
    struct transfer transfer = begin_readable(fixture, &memory, LONG_READ, LONG_READ);
    uint64_t now_ns = START_NS;
    struct pull_ask ask;

    while (pull_ask(&fixture->layer, now_ns, &ask)) {
        now_ns += PULL_READ_PATIENCE_NS - 1;
        bring_all(&transfer, &ask, 0, now_ns);
    }
    assert_int_equal(memory.calls, 0);
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

static void pull_read__all_of_a_silent_sender(void **state)
{
    struct fixture *fixture = *state;
    struct memory memory = {0};
    struct transfer transfer = begin_readable(fixture, &memory, LONG_READ, LONG_READ);
    struct pull_ask asks[PULL_BLOCKS];
    uint64_t due_ns = START_NS + PULL_READ_PATIENCE_NS;

    assert_int_equal(ask_all(fixture, START_NS, asks), PULL_BLOCKS);
    assert_true(nothing_asked(fixture, due_ns - 1));
    assert_int_equal(pull_deadline(&fixture->layer), due_ns);
    assert_int_equal(memory.calls, 0);
    for (unsigned i = 1; i <= 21; i++) {
        struct pull_ask ask;
        /* A block in each turn, so that something else can have its own; others are asked for. */
        assert_int_equal(pull_ask(&fixture->layer, due_ns, &ask), i <= 21 - PULL_BLOCKS);
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

static void pull_read__goes_on_with_what_the_sender_sends(void **state)
{
    struct fixture *fixture = *state;
    struct memory memory = {0};
    struct transfer transfer = begin_readable(fixture, &memory, 7 * BLOCK + 5, 7 * BLOCK + 1);
    struct pull_ask asks[PULL_BLOCKS];
    uint64_t now_ns = START_NS + PULL_READ_PATIENCE_NS;

    transfer.data[0] ^= 1; /* whoever reads it sees this */
    assert_int_equal(ask_all(fixture, START_NS, asks), 8);
    assert_true(nothing_asked(fixture, now_ns));
    assert_int_equal(memory.calls, 1);
    /* The sender was late: what it sends of that block is not wanted any more. */
    assert_int_equal(bring(&transfer, 0, 0, now_ns), PULL_DUPLICATE);
    bring_all(&transfer, &asks[1], 0, now_ns);
    assert_true(nothing_asked(fixture, now_ns + PULL_READ_PATIENCE_NS - 1));
    assert_int_equal(memory.calls, 1);
    /* Half of a block has come: it is read whole. */
    bring_all(&transfer, &asks[2], UINT64_C(0xFFFF0000), now_ns);
    now_ns += PULL_READ_PATIENCE_NS;
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

static void pull_read__not_allowed(void **state)
{
    struct fixture *fixture = *state;
    struct memory memory = {.status = -EPERM};
    struct transfer transfer = begin_readable(fixture, &memory, 7 * BLOCK + 5, 7 * BLOCK + 5);
    struct pull_ask asks[PULL_BLOCKS];
    uint64_t now_ns = START_NS + PULL_READ_PATIENCE_NS;

    assert_int_equal(ask_all(fixture, START_NS, asks), 8);
    assert_true(nothing_asked(fixture, now_ns));
    assert_true(nothing_asked(fixture, now_ns + PULL_READ_PATIENCE_NS));
    assert_int_equal(memory.calls, 1);
    assert_int_equal(fixture->layer.counters.blocks_read, 0);
    for (unsigned i = 0; i < 8; i++) {
        bring_all(&transfer, &asks[i], 0, now_ns);
    }
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

static void pull_read__not_after_the_peer_has_failed(void **state)
{
    struct fixture *fixture = *state;
    struct memory memory = {0};
    struct transfer transfer = begin_readable(fixture, &memory, LONG_READ, LONG_READ);
    struct pull_ask asks[PULL_BLOCKS];

    assert_int_equal(ask_all(fixture, START_NS, asks), PULL_BLOCKS);
    fail_peer(fixture, 0, -ETIMEDOUT);
    assert_true(nothing_asked(fixture, START_NS + PULL_READ_PATIENCE_NS));
    assert_int_equal(memory.calls, 0);
    assert_int_equal(transfer.buffer[0], GUARD);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(pull_read__short_messages_in_one_go),
        FIXTURE_TEST(pull_read__in_one_go_what_is_configured),
        FIXTURE_TEST(pull_read__long_messages_in_one_go_where_others_want_the_core),
        FIXTURE_TEST(pull_read__not_while_the_sender_sends),
        FIXTURE_TEST(pull_read__all_of_a_silent_sender),
        FIXTURE_TEST(pull_read__goes_on_with_what_the_sender_sends),
        FIXTURE_TEST(pull_read__not_allowed),
        FIXTURE_TEST(pull_read__not_after_the_peer_has_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
