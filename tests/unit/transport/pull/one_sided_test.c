/* SPDX-License-Identifier: BSD-3-Clause */
#include "pull/one_sided.h"

#include "pull_rig.h"
#include "remote/remote.h"

#define KEY UINT64_C(0x1234567890)
#define BYTES (7 * BLOCK + 5)

/** The lane, in the test. */
static struct {
    uint64_t gives;     /**< for what is lent next; 0: refuses */
    unsigned lent;      /**< and not taken back */
    const void *memory; /**< lent last */
    uint64_t bytes;
    int refuses;         /**< to read */
    void *read;          /**< under way, or NULL */
    uint64_t reads_what; /**< begun last, and the next two */
    uint8_t *target;
    uint64_t reads_bytes;
    unsigned begun;
    unsigned stopped;
} lane;

static uint64_t lend(void *context, const struct message_peer *peer, const void *memory,
                     uint64_t bytes)
{
    assert_true(peer->one_sided);
    lane.lent += lane.gives != 0;
    lane.memory = memory;
    lane.bytes = bytes;
    return lane.gives;
}

static void take_back(void *context, uint64_t lent)
{
    assert_int_equal(lent, lane.gives);
    assert_true(lane.lent > 0);
    lane.lent--;
}

static int begin_read(void *context, const struct message_peer *peer, uint64_t lent, void *target,
                      uint64_t bytes, void *read)
{
    assert_true(peer->one_sided);
    assert_null(lane.read);
    lane.reads_what = lent;
    lane.target = target;
    lane.reads_bytes = bytes;
    lane.begun++;
    lane.read = lane.refuses == 0 ? read : NULL;
    return lane.refuses;
}

static void stop_read(void *context, void *read)
{
    assert_ptr_equal(read, lane.read);
    lane.read = NULL;
    lane.stopped++;
}

static int setup(void **state)
{
    static const struct one_sided_operations operations = {
        .lend = lend, .take_back = take_back, .begin_read = begin_read, .stop_read = stop_read};
    int status = fixture_setup(state);

    if (status == 0) {
        struct fixture *fixture = *state;
        memset(&lane, 0, sizeof lane);
        lane.gives = UINT64_C(0x700000001);
        fixture->layer.one_sided = &operations;
        fixture->layer.limits.one_sided_bytes = BYTES;
        fixture->layer.now_ns = START_NS;
        fixture->peers[0].one_sided = true;
    }
    return status;
}

#define LENT_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, fixture_teardown)

/** The read that is under way ends. */
static void end_read(struct fixture *fixture, int status)
{
    void *read = lane.read;

    assert_non_null(read);
    lane.read = NULL;
    assert_ptr_equal(message_read_ended(&fixture->layer, read, status, START_NS + 5),
                     &fixture->peers[0]);
}

/** Announces a message of peer 0 that is lent. */
static struct transfer begin_lent(struct fixture *fixture, uint64_t bytes, uint64_t capacity)
{
    struct transfer transfer = expect(fixture, 0, 1, bytes, capacity);
    struct frame_announce announce = announcement(1, bytes, 1);

    announce.address = to_le64(4711);
    announce_it(&transfer, &announce);
    return transfer;
}

/** It comes as frames after all. */
static void check_pulled(struct transfer *transfer)
{
    struct pull_ask ask;
    uint64_t now_ns = START_NS + 10;

    while (ask_next(&transfer->fixture->layer, now_ns, &ask)) {
        bring_all(transfer, &ask, 0, ++now_ns);
    }
    check_complete(transfer);
    check_nothing_outstanding(transfer->fixture);
    assert_false(message_reads(&transfer->fixture->layer));
    end(transfer);
}

/* ---- the sender ----------------------------------------------------------------------------- */

LENT_TEST(one_sided_offer__until_the_peer_is_done)
{
    uint8_t *data = pattern(BYTES);

    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, BYTES, data), 0);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(frame.type, FRAME_ANNOUNCE);
    assert_int_equal(from_le64(frame.announce->address), lane.gives);
    assert_int_equal(from_le32(frame.announce->unasked_bytes), 0);
    assert_ptr_equal(lane.memory, data);
    assert_int_equal(lane.bytes, BYTES);
    assert_false(serve_is_needed(&fixture->layer));
    uint32_t name = from_le32(frame.announce->message);
    acknowledge(fixture, 0, 1);
    assert_int_equal(lane.lent, 1);
    assert_int_equal(arrive_done(fixture, 0, name), 0);
    assert_int_equal(lane.lent, 0);
    assert_int_equal(completed(fixture).status, 0);
    assert_int_equal(fixture->layer.counters.lent_messages, 1);
    free(data);
}

/** Shorter ones, those of others, and what the lane refuses. */
LENT_TEST(one_sided_offer__not_for_all)
{
    uint8_t *data = pattern(BYTES);

    (void)announce_long(fixture, 0, 1, data, BYTES - 1);
    (void)announce_long(fixture, 1, 1, data, BYTES);
    assert_null(lane.memory);
    lane.gives = 0;
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, BYTES, data), 0);
    assert_int_equal(from_le64(pushed_frame(fixture, 0, 0).announce->address), 0);
    assert_int_equal(fixture->layer.counters.lent_messages, 0);
    assert_int_equal(fixture->layer.counters.lend_refused, 1);
    fail_peer(fixture, 0, -ETIMEDOUT);
    fail_peer(fixture, 1, -ETIMEDOUT);
    free(data);
}

/* ---- the receiver --------------------------------------------------------------------------- */

/** A peer that shares memory with us means an address, and one without the lane nothing. */
LENT_TEST(one_sided_begin__not_of_others)
{
    fixture->peers[0].one_sided = false;
    struct transfer transfer = begin_lent(fixture, BYTES, BYTES);
    check_pulled(&transfer);
    fixture->peers[0].one_sided = true;
    fixture->peers[0].shares_memory = true;
    transfer = begin_lent(fixture, BYTES, BYTES);
    check_pulled(&transfer);
    assert_int_equal(lane.begun, 0);
}

LENT_TEST(one_sided_begin__refused)
{
    lane.refuses = -ENOTCONN;
    struct transfer transfer = begin_lent(fixture, BYTES, BYTES);
    assert_int_equal(fixture->layer.counters.one_sided_refused, 1);
    check_pulled(&transfer);
}

LENT_TEST(message_read_ended__in_vain)
{
    struct transfer transfer = begin_lent(fixture, BYTES, BYTES);

    memset(lane.target, 0x11, BYTES / 2); /* whatever it left there */
    end_read(fixture, -EIO);
    assert_int_equal(fixture->layer.counters.one_sided_failed, 1);
    check_pulled(&transfer);
    assert_int_equal(lane.begun, 1); /* once */
}

/** The card never says how it ended. */
LENT_TEST(pull_ask__what_is_read_too_slowly_is_pulled)
{
    struct transfer transfer = begin_lent(fixture, BYTES, BYTES);
    uint64_t due_ns = START_NS + ONE_SIDED_PATIENCE_NS + BYTES * ONE_SIDED_NS_PER_BYTE;

    assert_true(nothing_asked(fixture, START_NS));
    assert_int_equal(pull_deadline(&fixture->layer), due_ns);
    assert_true(nothing_asked(fixture, due_ns - 1));
    assert_int_equal(lane.stopped, 0);
    struct pull_ask ask = asked(fixture, due_ns);
    assert_int_equal(lane.stopped, 1);
    bring_all(&transfer, &ask, 0, due_ns + 1);
    while (ask_next(&fixture->layer, due_ns + 1, &ask)) {
        bring_all(&transfer, &ask, 0, due_ns + 1);
    }
    check_complete(&transfer);
    end(&transfer);
}

/* ---- remote memory -------------------------------------------------------------------------- */

static int arrive_offer(struct fixture *fixture, uint64_t bytes, uint32_t name)
{
    const struct frame_offer offer = {.key = to_le64(KEY),
                                      .bytes = to_le64(bytes),
                                      .address = to_le64(4711),
                                      .message = to_le32(name),
                                      .segment_bytes = to_le16((uint16_t)SEGMENT)};

    return arrive(fixture, 0, &(struct frame){.type = FRAME_OFFER, .offer = &offer});
}

/** A long put: its target reads it, into memory that is taken away meanwhile. */
LENT_TEST(one_sided_begin__a_put)
{
    uint8_t *memory = calloc(1, BYTES);

    offer_memory(fixture, KEY, memory, BYTES, BEOWIRE_MEMORY_WRITE);
    assert_int_equal(arrive_offer(fixture, BYTES, 3), 0);
    assert_ptr_equal(lane.target, memory);
    end_read(fixture, 0);
    message_pump(&fixture->layer, &fixture->peers[0]);
    assert_int_equal(pushed_frame(fixture, 0, 0).type, FRAME_DONE);
    assert_int_equal(from_le32(pushed_frame(fixture, 0, 0).done->status), FRAME_STATUS_OK);
    acknowledge(fixture, 0, 1);
    assert_int_equal(arrive_offer(fixture, BYTES, 4), 0);
    assert_int_equal(remote_unregister(&fixture->layer, KEY), 0);
    assert_int_equal(lane.stopped, 1);
    message_pump(&fixture->layer, &fixture->peers[0]);
    assert_int_equal(from_le32(pushed_frame(fixture, 0, 0).done->status), FRAME_STATUS_REFUSED);
    free(memory);
}

/** A long put of ours, and a long get of a peer: lent until each has ended. */
LENT_TEST(one_sided_offer__remote_memory)
{
    uint8_t *memory = pattern(BYTES);
    const struct beowire_remote there = {.key = 99};
    const struct frame_get get = {
        .key = to_le64(KEY), .bytes = to_le64(BYTES), .request = to_le32(6)};

    assert_int_equal(
        remote_put(&fixture->layer, &fixture->peers[0], &there, memory, BYTES, 0, 0, memory), 0);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(frame.type, FRAME_OFFER);
    assert_int_equal(from_le64(frame.offer->address), lane.gives);
    uint32_t name = from_le32(frame.offer->message);
    acknowledge(fixture, 0, 1);
    assert_int_equal(arrive_done(fixture, 0, name), 0);
    assert_int_equal(lane.lent, 0);
    assert_int_equal(completed(fixture).status, 0);

    offer_memory(fixture, KEY, memory, BYTES, BEOWIRE_MEMORY_READ);
    for (unsigned withdrawn = 0; withdrawn < 2; withdrawn++) {
        assert_int_equal(arrive(fixture, 0, &(struct frame){.type = FRAME_GET, .get = &get}), 0);
        message_pump(&fixture->layer, &fixture->peers[0]);
        frame = pushed_frame(fixture, 0, 0);
        assert_int_equal(frame.type, FRAME_GRANT);
        assert_int_equal(from_le64(frame.grant->address), lane.gives);
        name = from_le32(frame.grant->message);
        assert_int_equal(lane.lent, 1);
        assert_int_equal(withdrawn == 1 ? remote_unregister(&fixture->layer, KEY)
                                        : arrive_done(fixture, 0, name),
                         0);
        assert_int_equal(lane.lent, 0);
        acknowledge(fixture, 0, 1);
    }
    free(memory);
}
