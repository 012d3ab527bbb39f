/* SPDX-License-Identifier: BSD-3-Clause */
/* The target of puts, gets and atomic operations; who asks is the test. */
#include "remote/remote.h"

#include "unit/transport/message/fixture.h"

#define KEY 42
#define ALL ((unsigned)BEOWIRE_MEMORY_READ | (unsigned)BEOWIRE_MEMORY_WRITE)

struct puts {
    uint64_t key;
    uint64_t address;
    uint32_t bytes;
    uint32_t offset;
    uint32_t request;
    uint16_t flags;
};

static int arrive_put(struct fixture *fixture, unsigned from, const struct puts *puts,
                      const void *data, uint32_t bytes)
{
    const struct frame_put put = {
        .key = to_le64(puts->key),
        .address = to_le64(puts->address),
        .request = to_le32(puts->request),
        .immediate = to_le32(99),
        .bytes = to_le32(puts->bytes),
        .offset = to_le32(puts->offset),
        .flags = to_le16(puts->flags),
    };

    return arrive(
        fixture, from,
        &(struct frame){.type = FRAME_PUT, .put = &put, .payload = data, .payload_bytes = bytes});
}

static int arrive_offer(struct fixture *fixture, uint64_t key, uint64_t address, uint64_t bytes,
                        uint32_t name, uint16_t segment_bytes)
{
    const struct frame_offer offer = {
        .key = to_le64(key),
        .remote_address = to_le64(address),
        .bytes = to_le64(bytes),
        .message = to_le32(name),
        .immediate = to_le32(98),
        .segment_bytes = to_le16(segment_bytes),
        .flags = to_le16(FRAME_PUT_NOTIFY),
    };

    return arrive(fixture, 0, &(struct frame){.type = FRAME_OFFER, .offer = &offer});
}

static int arrive_get(struct fixture *fixture, uint64_t key, uint64_t address, uint64_t bytes,
                      uint32_t request)
{
    const struct frame_get get = {
        .key = to_le64(key),
        .address = to_le64(address),
        .bytes = to_le64(bytes),
        .request = to_le32(request),
    };

    return arrive(fixture, 0, &(struct frame){.type = FRAME_GET, .get = &get});
}

static int arrive_atomic(struct fixture *fixture, uint8_t operation, uint8_t type, uint16_t count,
                         uint16_t flags, const void *payload, uint32_t bytes)
{
    const struct frame_atomic atomic = {
        .key = to_le64(KEY),
        .request = to_le32(7),
        .count = to_le16(count),
        .operation = operation,
        .type = type,
        .flags = to_le16(flags),
    };

    return arrive(
        fixture, 0,
        &(struct frame){
            .type = FRAME_ATOMIC, .atomic = &atomic, .payload = payload, .payload_bytes = bytes});
}

/** The next frame that answers peer 0; acknowledged. */
static struct frame answered(struct fixture *fixture)
{
    message_pump(&fixture->layer, &fixture->peers[0]);
    struct frame frame = pushed_frame(fixture, 0, 0);
    acknowledge(fixture, 0, 1);
    return frame;
}

/** That is RESULT, of one request. */
static void assert_result(struct fixture *fixture, uint32_t request, uint32_t status)
{
    struct frame frame = answered(fixture);
    const struct frame_result *result = (const struct frame_result *)(const void *)frame.payload;

    assert_int_equal(frame.type, FRAME_RESULT);
    assert_int_equal(frame.payload_bytes, sizeof *result);
    assert_int_equal(from_le32(result->request), request);
    assert_int_equal(from_le32(result->status), status);
}

/** So many requests have written, and read, and are over. */
static void assert_ended(const struct fixture *fixture, uint64_t written, uint64_t read)
{
    assert_int_equal(fixture->layer.counters.remote_written, written);
    assert_int_equal(fixture->layer.counters.remote_read, read);
}

FIXTURE_TEST(remote_request__put_that_is_refused)
{
    uint8_t memory[8] = {0};
    static const struct {
        struct puts puts;
        uint32_t status;
    } rows[] = {
        {{.key = KEY + 1, .bytes = 8, .request = 1}, FRAME_STATUS_REFUSED},
        {{.key = KEY, .bytes = 8, .address = 1, .request = 2}, FRAME_STATUS_REFUSED},
        {{.key = KEY, .bytes = 8, .address = UINT64_MAX - 3, .request = 3}, FRAME_STATUS_REFUSED},
        {{.key = KEY - 1, .bytes = 8, .request = 4}, FRAME_STATUS_REFUSED}, /* may be read only */
    };

    offer_memory(fixture, KEY, memory, sizeof memory, BEOWIRE_MEMORY_WRITE);
    offer_memory(fixture, KEY - 1, memory, sizeof memory, BEOWIRE_MEMORY_READ);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct puts puts = rows[i].puts;
        puts.flags = FRAME_PUT_NOTIFY;
        assert_int_equal(arrive_put(fixture, 0, &puts, "abcdefgh", 8), 0);
        assert_result(fixture, puts.request, rows[i].status);
        assert_memory_equal(memory, "\0\0\0\0\0\0\0\0", 8);
    }
    assert_true(nothing_completed(fixture));
    assert_true(nothing_remembered(fixture));
    assert_int_equal(fixture->layer.counters.remote_refused, 4);
    assert_ended(fixture, 0, 0);
}

/** A later frame that could be carried out does not make good what was refused. */
FIXTURE_TEST(remote_request__put_of_which_a_part_is_refused)
{
    uint8_t memory[8] = {0};
    struct puts puts = {.key = KEY, .bytes = 8, .request = 1, .flags = FRAME_PUT_NOTIFY};

    assert_int_equal(arrive_put(fixture, 0, &puts, "abcd", 4), 0); /* not registered yet */
    offer_memory(fixture, KEY, memory, sizeof memory, BEOWIRE_MEMORY_WRITE);
    puts.offset = 4;
    assert_int_equal(arrive_put(fixture, 0, &puts, "efgh", 4), 0);
    assert_result(fixture, 1, FRAME_STATUS_REFUSED);
    assert_memory_equal(memory, "\0\0\0\0\0\0\0\0", 8);
    puts.offset = 0; /* and the next is a put like any other */
    puts.request = 2;
    assert_int_equal(arrive_put(fixture, 0, &puts, "abcd", 4), 0);
    puts.offset = 4;
    assert_int_equal(arrive_put(fixture, 0, &puts, "efgh", 4), 0);
    assert_result(fixture, 2, FRAME_STATUS_OK);
    assert_memory_equal(memory, "abcdefgh", 8);
    assert_int_equal(completed(fixture).bytes, 8);
    /* The memory goes half-way. */
    puts.offset = 0;
    assert_int_equal(arrive_put(fixture, 0, &puts, "ABCD", 4), 0);
    assert_int_equal(remote_unregister(&fixture->layer, KEY), 0);
    puts.offset = 4;
    assert_int_equal(arrive_put(fixture, 0, &puts, "EFGH", 4), 0);
    assert_result(fixture, 2, FRAME_STATUS_REFUSED);
    assert_memory_equal(memory, "ABCDefgh", 8);
    assert_true(nothing_completed(fixture));
    assert_true(nothing_remembered(fixture));
}

/** The frames of a put say the same of it, and come in order; no other put is between them. */
TEST(remote_request__put_whose_parts_do_not_fit)
{
    uint8_t memory[16] = {0};
    const struct puts first = {.key = KEY, .address = 1, .bytes = 12, .request = 5};
    const struct puts wrong[] = {
        {.key = KEY, .address = 1, .bytes = 12, .request = 5, .offset = 5},     /* a gap */
        {.key = KEY, .address = 1, .bytes = 12, .request = 5, .offset = 3},     /* again */
        {.key = KEY, .address = 1, .bytes = 12, .request = 5, .offset = 0},     /* from the start */
        {.key = KEY, .address = 1, .bytes = 12, .request = 6, .offset = 0},     /* another put */
        {.key = KEY, .address = 1, .bytes = 12, .request = 6, .offset = 4},     /* of another */
        {.key = KEY + 1, .address = 1, .bytes = 12, .request = 5, .offset = 4}, /* elsewhere */
        {.key = KEY, .address = 2, .bytes = 12, .request = 5, .offset = 4},
        {.key = KEY, .address = 1, .bytes = 11, .request = 5, .offset = 4},
    };

    for (unsigned i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
        void *again = NULL;
        assert_int_equal(fixture_setup(&again), 0);
        struct fixture *fixture = again;
        offer_memory(fixture, KEY, memory, sizeof memory, BEOWIRE_MEMORY_WRITE);
        offer_memory(fixture, KEY + 1, memory, sizeof memory, BEOWIRE_MEMORY_WRITE);
        if (i == sizeof wrong / sizeof *wrong) { /* and none begins in the middle */
            assert_int_equal(arrive_put(fixture, 0, &wrong[0], "efgh", 4), -EPROTO);
        } else {
            assert_int_equal(arrive_put(fixture, 0, &first, "abcd", 4), 0);
            assert_int_equal(arrive_put(fixture, 1, &first, "abcd", 4), 0); /* of another peer */
            assert_int_equal(arrive_put(fixture, 0, &wrong[i], "efgh", 4), -EPROTO);
        }
        assert_int_equal(fixture_teardown(&again), 0);
    }
}

FIXTURE_TEST(remote_request__guesses_end_the_connection)
{
    uint8_t memory[8] = {0};

    offer_memory(fixture, KEY, memory, sizeof memory, ALL);
    for (uint32_t i = 1; i < REMOTE_GUESSES_MAX; i++) {
        assert_int_equal(arrive_get(fixture, KEY + i, 0, 8, i), 0);
        assert_result(fixture, i, FRAME_STATUS_REFUSED);
        assert_int_equal(arrive_get(fixture, KEY, 0, 0, i),
                         0); /* who has a key may guess no more */
        assert_result(fixture, i, FRAME_STATUS_OK);
    }
    assert_int_equal(fixture->layer.counters.remote_guesses, REMOTE_GUESSES_MAX - 1);
    assert_int_equal(arrive_get(fixture, KEY - 1, 0, 8, 1), -EPROTO);
    assert_int_equal(fixture->layer.counters.remote_guesses, REMOTE_GUESSES_MAX);
    fail_peer(fixture, 0, -EPROTO);
    assert_true(nothing_remembered(fixture));
    /* Others may still be wrong. */
    struct puts puts = {.key = KEY + 1, .bytes = 8, .request = 1};
    assert_int_equal(arrive_put(fixture, 1, &puts, "abcdefgh", 8), 0);
}

FIXTURE_TEST(remote_request__without_the_feature)
{
    fixture->peers[0].remote_memory = false;
    assert_int_equal(arrive_get(fixture, KEY, 0, 8, 1), -EPROTO);
}

/** Requests that end by themselves do not show that the application takes what has piled up. */
FIXTURE_TEST(remote_take_notice__is_taking_what_has_piled_up)
{
    uint8_t memory[8];
    struct puts puts = {.key = KEY, .bytes = 3, .request = 1};

    offer_memory(fixture, KEY, memory, sizeof memory, BEOWIRE_MEMORY_WRITE);
    assert_int_equal(arrive_put(fixture, 0, &puts, "abc", 3), 0);
    assert_result(fixture, 1, FRAME_STATUS_OK);
    assert_true(nothing_completed(fixture));
    assert_false(fixture->peers[0].drained);
    puts.flags = FRAME_PUT_NOTIFY;
    assert_int_equal(arrive_put(fixture, 0, &puts, "abc", 3), 0);
    assert_result(fixture, 1, FRAME_STATUS_OK);
    assert_false(fixture->peers[0].drained);
    assert_int_equal(completed(fixture).operation, BEOWIRE_PUT_ARRIVED);
    assert_true(fixture->peers[0].drained);
}

FIXTURE_TEST(remote_take_notice__of_a_put)
{
    uint8_t memory[8];
    struct puts puts = {.key = KEY, .bytes = 3, .request = 1, .flags = FRAME_PUT_NOTIFY};

    offer_memory(fixture, KEY, memory, sizeof memory, BEOWIRE_MEMORY_WRITE);
    assert_int_equal(arrive_put(fixture, 0, &puts, "abc", 3), 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.operation, BEOWIRE_PUT_ARRIVED);
    assert_int_equal(done.status, 0);
    assert_int_equal(done.peer, 0);
    assert_int_equal(done.bytes, 3);
    assert_int_equal(done.immediate, 99);
    assert_int_equal(done.tag, KEY);
    assert_true(nothing_completed(fixture));
    assert_true(nothing_remembered(fixture));
    /* Also if the peer fails before it could be answered. */
    assert_int_equal(arrive_put(fixture, 0, &puts, "abc", 3), 0);
    fail_peer(fixture, 0, -ETIMEDOUT);
    assert_int_equal(completed(fixture).operation, BEOWIRE_PUT_ARRIVED);
    assert_true(nothing_completed(fixture));
}

FIXTURE_TEST(remote_request__long_put_is_pulled)
{
    uint8_t *data = pattern(LONG_BYTES);
    uint8_t *memory = calloc(1, LONG_BYTES + 2);

    offer_memory(fixture, KEY, memory, LONG_BYTES + 2, BEOWIRE_MEMORY_WRITE);
    assert_int_equal(arrive_offer(fixture, KEY, 1, LONG_BYTES, 3, SEGMENT), 0);
    assert_int_equal(arrive_offer(fixture, KEY, 1, LONG_BYTES, 3, SEGMENT), -EPROTO);
    assert_int_equal(asked(fixture, 1).message, 3);
    for (size_t offset = 0; offset < LONG_BYTES; offset += SEGMENT) {
        size_t left = LONG_BYTES - offset;
        assert_int_equal(arrive_data(fixture, 0, 3, offset, data + offset,
                                     (uint32_t)(left < SEGMENT ? left : SEGMENT), 0, 2),
                         PULL_PLACED);
        assert_ended(fixture, 0, 0);
    }
    struct frame frame = answered(fixture);
    assert_ended(fixture, 1, 0);
    assert_int_equal(frame.type, FRAME_DONE);
    assert_int_equal(from_le32(frame.done->message), 3);
    assert_int_equal(from_le32(frame.done->status), FRAME_STATUS_OK);
    assert_memory_equal(memory + 1, data, LONG_BYTES);
    assert_int_equal(memory[0] | memory[LONG_BYTES + 1], 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.operation, BEOWIRE_PUT_ARRIVED);
    assert_int_equal(done.immediate, 98);
    assert_int_equal(done.bytes, LONG_BYTES);
    assert_true(nothing_remembered(fixture));
    free(data);
    free(memory);
}

FIXTURE_TEST(remote_request__long_put_that_is_refused)
{
    uint8_t memory[8];

    offer_memory(fixture, KEY, memory, sizeof memory, BEOWIRE_MEMORY_WRITE);
    assert_int_equal(arrive_offer(fixture, KEY, 0, LONG_BYTES, 3, SEGMENT), 0);
    struct frame frame = answered(fixture);
    assert_int_equal(frame.type, FRAME_DONE);
    assert_int_equal(from_le32(frame.done->status), FRAME_STATUS_REFUSED);
    assert_true(nothing_asked(fixture, 1));
    assert_true(nothing_completed(fixture));
    assert_true(nothing_remembered(fixture));
    assert_int_equal(arrive_offer(fixture, KEY, 0, UINT64_MAX, 4, SEGMENT), -EPROTO);
    assert_int_equal(arrive_offer(fixture, KEY, 0, UINT64_C(1) << 40, 4, 128), -EPROTO);
    assert_int_equal(arrive_offer(fixture, KEY, 0, 8, 4, PULL_SEGMENT_BYTES_MIN - 1), -EPROTO);
    assert_int_equal(arrive_offer(fixture, KEY, 0, 8, 4, SEGMENT + 1), -EPROTO);
}

FIXTURE_TEST(remote_unregister__while_a_put_is_pulled)
{
    uint8_t *data = pattern(SEGMENT);
    uint8_t *memory = calloc(1, LONG_BYTES);

    offer_memory(fixture, KEY, memory, LONG_BYTES, BEOWIRE_MEMORY_WRITE);
    for (uint32_t name = 0; name <= PULLS_PER_PEER; name++) { /* the last has to wait */
        assert_int_equal(arrive_offer(fixture, KEY, 0, LONG_BYTES, name, SEGMENT), 0);
    }
    (void)asked(fixture, 1);
    assert_int_equal(remote_unregister(&fixture->layer, KEY), 0);
    assert_int_equal(remote_unregister(&fixture->layer, KEY), -ENOENT);
    assert_int_equal(arrive_data(fixture, 0, 0, 0, data, SEGMENT, 0, 2), PULL_UNKNOWN);
    assert_int_equal(memory[1], 0);
    for (uint32_t name = 0; name <= PULLS_PER_PEER; name++) {
        struct frame frame = answered(fixture);
        assert_int_equal(frame.type, FRAME_DONE);
        assert_int_equal(from_le32(frame.done->status), FRAME_STATUS_REFUSED);
    }
    assert_true(nothing_asked(fixture, UINT64_C(10000000000)));
    assert_true(nothing_completed(fixture)); /* nobody is told of it */
    assert_true(nothing_remembered(fixture));
    free(data);
    free(memory);
}

FIXTURE_TEST(remote_request__short_get)
{
    uint8_t *memory = pattern(1000);
    uint8_t got[900] = {0};
    uint32_t at = 0;

    offer_memory(fixture, KEY, memory, 1000, BEOWIRE_MEMORY_READ);
    assert_int_equal(arrive_get(fixture, KEY, 100, 900, 6), 0);
    assert_ended(fixture, 0, 0);
    while (at < 900) {
        struct frame frame = answered(fixture);
        assert_int_equal(frame.type, FRAME_REPLY);
        assert_int_equal(from_le32(frame.reply->request), 6);
        assert_int_equal(from_le32(frame.reply->offset), at);
        memcpy(got + at, frame.payload, frame.payload_bytes);
        at += frame.payload_bytes;
    }
    assert_memory_equal(got, memory + 100, 900);
    assert_true(nothing_remembered(fixture));
    assert_int_equal(arrive_get(fixture, KEY, 1000, 0, 7), 0);
    assert_result(fixture, 7, FRAME_STATUS_OK);
    assert_int_equal(arrive_get(fixture, KEY, 1000, 1, 8), 0);
    assert_result(fixture, 8, FRAME_STATUS_REFUSED);
    assert_int_equal(arrive_get(fixture, KEY, 0, UINT64_MAX, 9), 0);
    assert_result(fixture, 9, FRAME_STATUS_REFUSED);
    assert_ended(fixture, 0, 2);
    free(memory);
}

FIXTURE_TEST(remote_unregister__before_a_get_is_answered)
{
    uint8_t memory[100];

    offer_memory(fixture, KEY, memory, sizeof memory, BEOWIRE_MEMORY_READ);
    assert_int_equal(arrive_get(fixture, KEY, 0, 100, 6), 0);
    assert_int_equal(remote_unregister(&fixture->layer, KEY), 0);
    assert_result(fixture, 6, FRAME_STATUS_REFUSED);
    assert_ended(fixture, 0, 0);
    assert_true(nothing_remembered(fixture));
}

FIXTURE_TEST(remote_request__long_get_is_granted)
{
    uint8_t *memory = pattern(LONG_BYTES);
    struct pull_batch batch;

    fixture->peers[0].unasked_credit = 0;
    offer_memory(fixture, KEY, memory, LONG_BYTES, BEOWIRE_MEMORY_READ);
    assert_int_equal(arrive_get(fixture, KEY, 0, LONG_BYTES, 6), 0);
    struct frame frame = answered(fixture);
    assert_int_equal(frame.type, FRAME_GRANT);
    assert_int_equal(from_le32(frame.grant->request), 6);
    assert_int_equal(from_le16(frame.grant->segment_bytes), SEGMENT);
    assert_int_equal(from_le32(frame.grant->unasked_bytes), 0);
    uint32_t name = from_le32(frame.grant->message);
    assert_true((name & 0x8000) != 0);
    assert_true(message_depends_on(&fixture->peers[0]));
    assert_int_equal(serve_add(&fixture->layer, &fixture->peers[1], name, 0, 1, 0), -ENOENT);
    assert_int_equal(serve_add(&fixture->layer, &fixture->peers[0], name, SEGMENT, 1, 0), 0);
    assert_true(serve_next(&fixture->layer, 0, &batch));
    assert_ptr_equal(batch.source, memory + SEGMENT);
    serve_sent(&fixture->layer, &batch, 1);
    assert_ended(fixture, 0, 0);
    assert_int_equal(arrive_done(fixture, 0, name), 0);
    assert_ended(fixture, 0, 1);
    assert_int_equal(serve_add(&fixture->layer, &fixture->peers[0], name, 0, 1, 0), -ENOENT);
    assert_false(message_depends_on(&fixture->peers[0]));
    assert_true(nothing_remembered(fixture));
    assert_true(nothing_completed(fixture));
    free(memory);
}

FIXTURE_TEST(remote_request__more_long_gets_than_may_be_pulled_at_once)
{
    uint8_t *memory = pattern(LONG_BYTES);
    uint32_t names[REMOTE_SERVED_PER_PEER + 1];

    offer_memory(fixture, KEY, memory, LONG_BYTES, BEOWIRE_MEMORY_READ);
    for (uint32_t i = 0; i <= REMOTE_SERVED_PER_PEER; i++) {
        assert_int_equal(arrive_get(fixture, KEY, 0, LONG_BYTES, i), 0);
        message_pump(&fixture->layer, &fixture->peers[0]);
    }
    for (uint32_t i = 0; i < REMOTE_SERVED_PER_PEER; i++) {
        names[i] = from_le32(answered(fixture).grant->message);
    }
    message_pump(&fixture->layer, &fixture->peers[0]);
    assert_int_equal(pushed(fixture, 0), 0);
    /* Another answer does not wait with it. */
    assert_int_equal(arrive_get(fixture, KEY + 1, 0, 1, 4711), 0);
    assert_result(fixture, 4711, FRAME_STATUS_REFUSED);
    message_pump(&fixture->layer, &fixture->peers[0]);
    assert_int_equal(pushed(fixture, 0), 0);
    assert_int_equal(arrive_done(fixture, 0, names[3]), 0);
    assert_int_equal(from_le32(answered(fixture).grant->request), REMOTE_SERVED_PER_PEER);
    fail_peer(fixture, 0, -ECONNRESET);
    assert_true(list_is_empty(&fixture->layer.served));
    assert_true(nothing_remembered(fixture));
    free(memory);
}

static unsigned withdrawn;

static void note_withdrawn(void *context, const struct message_peer *peer)
{
    const struct fixture *fixture = context;

    assert_ptr_equal(peer, &fixture->peers[0]);
    assert_int_equal(fixture->peers[0].served, 1); /* before anybody is told */
    withdrawn++;
}

/** Whoever may be reading it just now gets something else from there as soon as this has returned.
 */
FIXTURE_TEST(remote_unregister__while_a_get_is_read)
{
    uint8_t *memory = pattern(LONG_BYTES);

    fixture->layer.withdraw_memory = note_withdrawn;
    fixture->layer.read_context = fixture;
    withdrawn = 0;
    for (unsigned shares = 0; shares < 2; shares++) {
        fixture->peers[0].shares_memory = shares == 1;
        offer_memory(fixture, KEY, memory, LONG_BYTES, BEOWIRE_MEMORY_READ);
        offer_memory(fixture, KEY + 1, memory, LONG_BYTES, BEOWIRE_MEMORY_READ);
        assert_int_equal(arrive_get(fixture, KEY, 0, LONG_BYTES, 6), 0);
        (void)answered(fixture);
        assert_int_equal(remote_unregister(&fixture->layer, KEY + 1), 0); /* that is another's */
        assert_int_equal(withdrawn, 0);
        assert_int_equal(remote_unregister(&fixture->layer, KEY), 0);
        assert_int_equal(withdrawn, shares);
        assert_result(fixture, 6, FRAME_STATUS_REFUSED);
    }
    free(memory);
}

FIXTURE_TEST(remote_request__atomic)
{
    uint32_t memory[4] = {10, 20, 30, 40};
    const uint32_t payload[4] = {1, 2, 10, 21};

    offer_memory(fixture, KEY, memory, sizeof memory, ALL);
    assert_int_equal(arrive_atomic(fixture, BEOWIRE_ATOMIC_SUM, BEOWIRE_UINT32, 4, 0, payload, 16),
                     0);
    assert_result(fixture, 7, FRAME_STATUS_OK);
    assert_int_equal(memory[0], 11);
    assert_int_equal(memory[3], 61);
    /* The first two are operands, the others are compared. */
    assert_int_equal(arrive_atomic(fixture, BEOWIRE_ATOMIC_SWAP_LESS, BEOWIRE_UINT32, 2,
                                   FRAME_ATOMIC_FETCH, payload, 16),
                     0);
    assert_int_equal(memory[0], 1);
    assert_int_equal(memory[1], 2);
    struct frame frame = answered(fixture);
    assert_int_equal(frame.type, FRAME_REPLY);
    assert_int_equal(frame.payload_bytes, 8);
    const uint32_t olds[2] = {11, 22};
    assert_memory_equal(frame.payload, olds, 8);
    assert_int_equal(
        arrive_atomic(fixture, BEOWIRE_ATOMIC_READ, BEOWIRE_UINT32, 1, FRAME_ATOMIC_FETCH, NULL, 0),
        0);
    assert_memory_equal(answered(fixture).payload, memory, 4);
    assert_true(nothing_remembered(fixture));
    assert_int_equal(fixture->layer.counters.remote_atomics, 3);
    assert_ended(fixture, 1, 2);
}

FIXTURE_TEST(remote_request__atomic_that_is_refused)
{
    uint8_t memory[4] = {0};
    const uint64_t one = 1;

    offer_memory(fixture, KEY, memory, sizeof memory, BEOWIRE_MEMORY_WRITE);
    assert_int_equal(arrive_atomic(fixture, BEOWIRE_ATOMIC_SUM, BEOWIRE_UINT64, 1, 0, &one, 8), 0);
    assert_result(fixture, 7, FRAME_STATUS_REFUSED);
    assert_int_equal(
        arrive_atomic(fixture, BEOWIRE_ATOMIC_SUM, BEOWIRE_UINT32, 1, FRAME_ATOMIC_FETCH, &one, 4),
        0);
    assert_result(fixture, 7, FRAME_STATUS_REFUSED); /* it must not be read */
    assert_int_equal(arrive_atomic(fixture, 200, BEOWIRE_UINT32, 1, 0, &one, 4), 0);
    assert_result(fixture, 7, FRAME_STATUS_OPERATION);
    assert_int_equal(arrive_atomic(fixture, BEOWIRE_ATOMIC_SUM, 200, 1, 0, &one, 4), 0);
    assert_result(fixture, 7, FRAME_STATUS_OPERATION);
    assert_int_equal(arrive_atomic(fixture, BEOWIRE_ATOMIC_BIT_OR, BEOWIRE_FLOAT, 1, 0, &one, 4),
                     0);
    assert_result(fixture, 7, FRAME_STATUS_OPERATION);
    assert_int_equal(arrive_atomic(fixture, BEOWIRE_ATOMIC_READ, BEOWIRE_UINT64, UINT16_MAX,
                                   FRAME_ATOMIC_FETCH, NULL, 0),
                     0);
    assert_result(fixture, 7, FRAME_STATUS_REFUSED);
    assert_int_equal(arrive_atomic(fixture, BEOWIRE_ATOMIC_SUM, BEOWIRE_UINT32, 1, 0, &one, 8),
                     -EPROTO);
    assert_memory_equal(memory, "\0\0\0\0", 4);
}
