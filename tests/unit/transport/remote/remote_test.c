/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator of puts, gets and atomic operations; its peer is the test. */
#include "remote/atomic.h"
#include "remote/remote.h"

#include "unit/transport/message/fixture.h"

static const struct beowire_remote there = {.key = 0x1122334455667788, .address = 0x99AABBCCDDEEFF};

static int put(struct fixture *fixture, const void *data, uint64_t bytes, unsigned flags,
               void *context)
{
    return remote_put(&fixture->layer, &fixture->peers[0], &there, data, bytes, flags, 55, context);
}

static int get(struct fixture *fixture, void *data, uint64_t bytes, void *context)
{
    return remote_get(&fixture->layer, &fixture->peers[0], &there, data, bytes, context);
}

static int arrive_result(struct fixture *fixture, uint32_t request, uint32_t status)
{
    const struct frame_result result = {.request = to_le32(request), .status = to_le32(status)};

    return arrive(fixture, 0,
                  &(struct frame){.type = FRAME_RESULT,
                                  .payload = (const uint8_t *)&result,
                                  .payload_bytes = sizeof result});
}

static int arrive_reply(struct fixture *fixture, uint32_t request, uint32_t offset,
                        const void *data, uint32_t bytes)
{
    const struct frame_reply reply = {.request = to_le32(request), .offset = to_le32(offset)};

    return arrive(
        fixture, 0,
        &(struct frame){
            .type = FRAME_REPLY, .reply = &reply, .payload = data, .payload_bytes = bytes});
}

static int arrive_grant(struct fixture *fixture, uint32_t request, uint32_t name,
                        uint16_t segment_bytes)
{
    const struct frame_grant grant = {.request = to_le32(request),
                                      .message = to_le32(name),
                                      .segment_bytes = to_le16(segment_bytes)};

    return arrive(fixture, 0, &(struct frame){.type = FRAME_GRANT, .grant = &grant});
}

FIXTURE_TEST(remote_put__short_in_as_many_frames_as_it_takes)
{
    size_t bytes = 2 * PUT_ROOM + 7;
    uint8_t *data = pattern(bytes);
    uint8_t *gathered = calloc(1, bytes);

    assert_int_equal(put(fixture, data, bytes, BEOWIRE_PUT_NOTIFY, data), 0);
    assert_int_equal(pushed(fixture, 0), 3);
    uint32_t request = 0;
    for (uint32_t i = 0; i < 3; i++) {
        struct frame frame = pushed_frame(fixture, 0, i);
        assert_int_equal(frame.type, FRAME_PUT);
        assert_int_equal(from_le64(frame.put->key), there.key);
        assert_int_equal(from_le64(frame.put->address), there.address);
        assert_int_equal(from_le32(frame.put->bytes), bytes);
        assert_int_equal(from_le32(frame.put->immediate), 55);
        assert_int_equal(from_le16(frame.put->flags), FRAME_PUT_NOTIFY);
        assert_int_equal(from_le32(frame.put->offset), i * PUT_ROOM);
        memcpy(gathered + i * PUT_ROOM, frame.payload, frame.payload_bytes);
        request = from_le32(frame.put->request);
    }
    assert_memory_equal(gathered, data, bytes);
    acknowledge(fixture, 0, 3);
    assert_true(nothing_completed(fixture)); /* it may have been refused */
    assert_int_equal(arrive_result(fixture, request, FRAME_STATUS_OK), 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.operation, BEOWIRE_PUT);
    assert_int_equal(done.status, 0);
    assert_ptr_equal(done.context, data);
    assert_int_equal(done.bytes, bytes);
    assert_int_equal(done.tag, there.key);
    free(gathered);
    free(data);
}

FIXTURE_TEST(remote_put__result_before_the_acknowledgement)
{
    uint8_t *data = pattern(100);

    assert_int_equal(put(fixture, data, 100, 0, data), 0);
    uint32_t request = from_le32(pushed_frame(fixture, 0, 0).put->request);
    assert_int_equal(arrive_result(fixture, request, FRAME_STATUS_REFUSED), 0);
    assert_true(nothing_completed(fixture)); /* a frame still refers to the data */
    acknowledge(fixture, 0, 1);
    assert_int_equal(completed(fixture).status, -EACCES);
    free(data);
}

FIXTURE_TEST(remote_put__injected_is_copied)
{
    uint8_t *data = pattern(PUT_ROOM);

    assert_int_equal(put(fixture, data, PUT_ROOM, BEOWIRE_PUT_INJECT, NULL), 0);
    uint8_t first = data[0];
    data[0] = (uint8_t)~first;
    assert_int_equal(pushed_frame(fixture, 0, 0).payload[0], first);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(arrive_result(fixture, from_le32(frame.put->request), 0), 0);
    assert_int_equal(completed(fixture).status, 0);
    fixture->peers[0].flow.limit = fixture->peers[0].flow.next; /* no credit */
    assert_int_equal(put(fixture, data, 8, BEOWIRE_PUT_INJECT, NULL), -EAGAIN);
    assert_int_equal(pushed(fixture, 0), 1);
    free(data);
}

FIXTURE_TEST(remote_put__injected_in_several_frames)
{
    struct message_peer *peer = &fixture->peers[0];
    const uint64_t bytes = 2 * PUT_ROOM + 1;
    uint8_t *data = pattern(MESSAGE_INJECT_BYTES_MAX + 1);
    uint8_t *same = pattern(bytes);
    uint64_t offset = 0;

    assert_int_equal(put(fixture, data, MESSAGE_INJECT_BYTES_MAX + 1, BEOWIRE_PUT_INJECT, NULL),
                     -EMSGSIZE);
    peer->flow.limit = peer->flow.next + 2;
    assert_int_equal(put(fixture, data, bytes, BEOWIRE_PUT_INJECT, NULL), -EMSGSIZE);
    assert_int_equal(pushed(fixture, 0), 0);
    peer->flow.limit = LIMIT;
    fixture->layer.limits.eager_bytes = PUT_ROOM;
    assert_int_equal(put(fixture, data, bytes, BEOWIRE_PUT_INJECT, NULL), -EMSGSIZE);
    fixture->layer.limits.eager_bytes = (uint32_t)bytes;
    assert_int_equal(put(fixture, data, bytes, BEOWIRE_PUT_INJECT, data), 0);
    message_take_back(&fixture->layer, peer);
    memset(data, 0, bytes); /* it is ours again */
    assert_int_equal(pushed(fixture, 0), 3);
    uint32_t request = from_le32(pushed_frame(fixture, 0, 0).put->request);
    for (uint32_t i = 0; i < 3; i++) {
        struct frame frame = pushed_frame(fixture, 0, i);
        assert_int_equal(frame.type, FRAME_PUT);
        assert_int_equal(from_le32(frame.put->offset), offset);
        assert_memory_equal(frame.payload, same + offset, frame.payload_bytes);
        offset += frame.payload_bytes;
    }
    assert_int_equal(offset, bytes);
    assert_true(nothing_completed(fixture)); /* the peer has to answer */
    assert_int_equal(arrive_result(fixture, request, 0), 0);
    assert_ptr_equal(completed(fixture).context, data);
    free(data);
    free(same);
}

FIXTURE_TEST(remote_put__empty)
{
    assert_int_equal(put(fixture, NULL, 0, 0, NULL), 0);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(frame.payload_bytes, 0);
    assert_int_equal(arrive_result(fixture, from_le32(frame.put->request), 0), 0);
    assert_int_equal(completed(fixture).status, 0);
}

FIXTURE_TEST(remote_get__replies_in_order)
{
    uint8_t *data = pattern(1000);
    uint8_t got[1000] = {0};

    assert_int_equal(get(fixture, got, 1000, got), 0);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(frame.type, FRAME_GET);
    assert_int_equal(from_le64(frame.get->key), there.key);
    assert_int_equal(from_le64(frame.get->address), there.address);
    assert_int_equal(from_le64(frame.get->bytes), 1000);
    uint32_t request = from_le32(frame.get->request);
    assert_int_equal(arrive_reply(fixture, request, 0, data, 400), 0);
    assert_int_equal(arrive_reply(fixture, request, 399, data, 400), -EPROTO);
    assert_int_equal(arrive_reply(fixture, request, 401, data, 400), -EPROTO);
    assert_int_equal(arrive_reply(fixture, request, 400, data, 601), -EPROTO);
    assert_int_equal(arrive_reply(fixture, request + 1, 400, data, 600), -EPROTO);
    assert_int_equal(arrive_result(fixture, request, FRAME_STATUS_OK), -EPROTO);
    assert_true(nothing_completed(fixture));
    assert_int_equal(arrive_reply(fixture, request, 400, data + 400, 600), 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.operation, BEOWIRE_GET);
    assert_int_equal(done.status, 0);
    assert_memory_equal(got, data, 1000);
    assert_int_equal(arrive_reply(fixture, request, 1000, data, 1), -EPROTO);
    free(data);
}

FIXTURE_TEST(remote_get__granted_is_pulled)
{
    uint8_t *data = pattern(LONG_BYTES);
    uint8_t *got = calloc(1, LONG_BYTES);
    const uint32_t name = 0x18003;

    assert_int_equal(get(fixture, got, LONG_BYTES, got), 0);
    uint32_t request = from_le32(pushed_frame(fixture, 0, 0).get->request);
    acknowledge(fixture, 0, 1);
    assert_int_equal(arrive_grant(fixture, request, name, PULL_SEGMENT_BYTES_MIN - 1), -EPROTO);
    assert_int_equal(arrive_grant(fixture, request, name, SEGMENT + 1), -EPROTO);
    assert_int_equal(arrive_grant(fixture, request, name, SEGMENT), 0);
    assert_int_equal(arrive_grant(fixture, request, name + 1, SEGMENT), -EPROTO); /* twice */
    assert_true(message_depends_on(&fixture->peers[0]));
    assert_int_equal(asked(fixture, 1).message, name);
    for (size_t offset = 0; offset < LONG_BYTES; offset += SEGMENT) {
        size_t left = LONG_BYTES - offset;
        assert_int_equal(arrive_data(fixture, 0, name, offset, data + offset,
                                     (uint32_t)(left < SEGMENT ? left : SEGMENT), 0, 2),
                         PULL_PLACED);
    }
    /* The peer takes its memory back while our DONE is not yet on its way: all is here. */
    assert_int_equal(arrive_result(fixture, request, FRAME_STATUS_REFUSED), 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.status, 0);
    assert_int_equal(pushed_frame(fixture, 0, 0).type, FRAME_DONE);
    assert_int_equal(from_le32(pushed_frame(fixture, 0, 0).done->message), name);
    assert_memory_equal(got, data, LONG_BYTES);
    assert_true(message_is_flushed(&fixture->peers[0]) == false); /* DONE */
    /* Another RESULT that crosses our DONE names nothing any more. */
    assert_int_equal(arrive_result(fixture, request, FRAME_STATUS_REFUSED), 0);
    assert_true(nothing_completed(fixture));
    free(data);
    free(got);
}

FIXTURE_TEST(remote_get__withdrawn_while_it_is_pulled)
{
    uint8_t *got = calloc(1, LONG_BYTES);
    uint8_t *data = pattern(SEGMENT);

    assert_int_equal(get(fixture, got, LONG_BYTES, got), 0);
    uint32_t request = from_le32(pushed_frame(fixture, 0, 0).get->request);
    assert_int_equal(arrive_grant(fixture, request, 0x8001, SEGMENT), 0);
    (void)asked(fixture, 1);
    assert_int_equal(arrive_result(fixture, request, FRAME_STATUS_OK), -EPROTO);
    assert_int_equal(arrive_result(fixture, request, FRAME_STATUS_REFUSED), 0);
    assert_int_equal(completed(fixture).status, -EACCES);
    assert_int_equal(arrive_data(fixture, 0, 0x8001, 0, data, SEGMENT, 0, 2), PULL_UNKNOWN);
    assert_true(nothing_asked(fixture, UINT64_C(10000000000)));
    assert_false(message_depends_on(&fixture->peers[0]));
    free(got);
    free(data);
}

FIXTURE_TEST(remote_atomic__operands_and_old_values)
{
    const uint32_t operands[3] = {1, 2, 3};
    const uint32_t compares[3] = {4, 5, 6};
    const uint32_t olds[3] = {7, 8, 9};
    uint32_t results[3] = {0};
    struct beowire_atomic atomic = {.operation = BEOWIRE_ATOMIC_SWAP_LESS,
                                    .type = BEOWIRE_UINT32,
                                    .count = 3,
                                    .operand = operands,
                                    .compare = compares,
                                    .result = results};

    assert_int_equal(remote_atomic(&fixture->layer, &fixture->peers[0], &there, &atomic, results),
                     0);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(frame.type, FRAME_ATOMIC);
    assert_int_equal(from_le64(frame.atomic->key), there.key);
    assert_int_equal(frame.atomic->operation, BEOWIRE_ATOMIC_SWAP_LESS);
    assert_int_equal(frame.atomic->type, BEOWIRE_UINT32);
    assert_int_equal(from_le16(frame.atomic->count), 3);
    assert_int_equal(from_le16(frame.atomic->flags), FRAME_ATOMIC_FETCH);
    assert_int_equal(frame.payload_bytes, 24);
    assert_memory_equal(frame.payload, operands, 12);
    assert_memory_equal(frame.payload + 12, compares, 12);
    uint32_t request = from_le32(frame.atomic->request);
    assert_int_equal(arrive_result(fixture, request, FRAME_STATUS_OK), -EPROTO);
    assert_int_equal(arrive_grant(fixture, request, 0x8000, SEGMENT), -EPROTO);
    assert_int_equal(arrive_reply(fixture, request, 0, olds, 12), 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.operation, BEOWIRE_ATOMIC);
    assert_int_equal(done.bytes, 12);
    assert_memory_equal(results, olds, 12);
}

FIXTURE_TEST(remote_atomic__without_old_values)
{
    const double operand = 1;
    struct beowire_atomic atomic = {
        .operation = BEOWIRE_ATOMIC_SUM, .type = BEOWIRE_DOUBLE, .count = 1, .operand = &operand};

    assert_int_equal(remote_atomic(&fixture->layer, &fixture->peers[0], &there, &atomic, NULL), 0);
    struct frame frame = pushed_frame(fixture, 0, 0);
    uint32_t request = from_le32(frame.atomic->request);
    assert_int_equal(from_le16(frame.atomic->flags), 0);
    assert_int_equal(arrive_reply(fixture, request, 0, &operand, 8), -EPROTO);
    assert_int_equal(arrive_result(fixture, request, FRAME_STATUS_OPERATION), 0);
    assert_int_equal(completed(fixture).status, -EOPNOTSUPP);
}

FIXTURE_TEST(remote_atomic__longer_than_the_peers_frames)
{
    uint8_t *operand = pattern(FRAME_BYTES);
    struct beowire_atomic atomic = {.operation = BEOWIRE_ATOMIC_WRITE,
                                    .type = BEOWIRE_UINT8,
                                    .count = FRAME_BYTES - 28 - 28,
                                    .operand = operand};

    assert_int_equal(remote_atomic(&fixture->layer, &fixture->peers[0], &there, &atomic, NULL), 0);
    assert_int_equal(pushed(fixture, 0), 1);
    atomic.count++;
    assert_int_equal(remote_atomic(&fixture->layer, &fixture->peers[0], &there, &atomic, NULL), 0);
    assert_int_equal(pushed(fixture, 0), 1);
    assert_int_equal(completed(fixture).status, -EMSGSIZE);
    free(operand);
}

/** The shortest that both ends can have agreed on. */
FIXTURE_TEST(remote_atomic__the_largest_count_in_the_shortest_frames)
{
    static const uint8_t operations[] = {BEOWIRE_ATOMIC_SUM, BEOWIRE_ATOMIC_SWAP_EQUAL};
    uint8_t *operand = pattern(FRAME_BYTES);

    fixture->peers[0].frame_bytes = FRAME_BYTES_MIN + 1 - sizeof(struct frame_data);
    for (unsigned type = BEOWIRE_INT8; type <= BEOWIRE_DOUBLE; type++) {
        for (unsigned i = 0; i < sizeof operations; i++) {
            struct beowire_atomic atomic = {.operation = operations[i],
                                            .type = (enum beowire_atomic_type)type,
                                            .count = atomic_count_max(operations[i], type),
                                            .operand = operand,
                                            .compare = operand};
            uint32_t before = pushed(fixture, 0);
            assert_true(atomic.count > 0);
            assert_int_equal(
                remote_atomic(&fixture->layer, &fixture->peers[0], &there, &atomic, NULL), 0);
            assert_int_equal(pushed(fixture, 0), before + 1);
        }
    }
    free(operand);
}

FIXTURE_TEST(remote_push__to_a_peer_without_remote_memory)
{
    uint8_t data[8] = {0};

    assert_int_equal(remote_get(&fixture->layer, &fixture->peers[2], &there, data, 8, data), 0);
    make_ready(fixture, 2);
    fixture->peers[2].remote_memory = false; /* as its CONNECT says */
    message_pump(&fixture->layer, &fixture->peers[2]);
    assert_int_equal(completed(fixture).status, -EOPNOTSUPP);
    assert_int_equal(remote_get(&fixture->layer, &fixture->peers[2], &there, data, 8, data),
                     -EOPNOTSUPP);
    assert_int_equal(pushed(fixture, 2), 0);
}

FIXTURE_TEST(remote_answer__to_what_was_not_asked)
{
    uint8_t data[8] = {0};

    assert_int_equal(arrive_grant(fixture, 0, 0x8000, SEGMENT), -EPROTO);
    assert_int_equal(arrive_result(fixture, 0x8000, 1), -EPROTO);
    assert_int_equal(arrive_result(fixture, 0xFFFFFFFF, 1), -EPROTO);
    assert_int_equal(arrive_result(fixture, 3, 1), 0); /* it may have been, once */
    assert_int_equal(arrive_reply(fixture, 0, 0, data, 8), -EPROTO);
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, 8, data), 0);
    assert_int_equal(completed(fixture).status, 0);
    uint32_t name = announce_long(fixture, 0, 1, data, LONG_BYTES); /* never read here */
    assert_int_equal(arrive_result(fixture, name, 0), -EPROTO);
    assert_true(nothing_completed(fixture));
}

FIXTURE_TEST(message_peer_failed__ends_every_kind)
{
    uint8_t *data = pattern(LONG_BYTES);
    struct beowire_atomic atomic = {
        .operation = BEOWIRE_ATOMIC_READ, .type = BEOWIRE_UINT64, .count = 1, .result = data};
    unsigned ended = 0;

    assert_int_equal(get(fixture, data, LONG_BYTES, NULL), 0);
    uint32_t request = from_le32(pushed_frame(fixture, 0, 0).get->request);
    assert_int_equal(arrive_grant(fixture, request, 0x8000, SEGMENT), 0); /* being pulled */
    assert_int_equal(put(fixture, data, 100, 0, NULL), 0);
    assert_int_equal(put(fixture, data, LONG_BYTES, 0, NULL), 0);
    assert_int_equal(get(fixture, data, 8, NULL), 0);
    assert_int_equal(remote_atomic(&fixture->layer, &fixture->peers[0], &there, &atomic, NULL), 0);
    fixture->peers[0].flow.limit = fixture->peers[0].flow.next;
    assert_int_equal(put(fixture, data, 100, 0, NULL), 0); /* waits for credit */
    fail_peer(fixture, 0, -ECONNRESET);
    for (; !nothing_completed(fixture); ended++) {
        assert_int_equal(completed(fixture).status, -ECONNRESET);
    }
    assert_int_equal(ended, 6);
    assert_int_equal(put(fixture, data, 100, 0, NULL), -ECONNRESET);
    assert_true(list_is_empty(&fixture->layer.pulls));
    free(data);
}

/** Who was never asked for anything has nothing to answer. */
FIXTURE_TEST(remote_answer__without_the_feature)
{
    assert_int_equal(arrive_result(fixture, 3, FRAME_STATUS_OK), 0); /* of an earlier operation */
    fixture->peers[0].remote_memory = false;
    assert_int_equal(arrive_result(fixture, 3, FRAME_STATUS_OK), -EPROTO);
    assert_int_equal(arrive_reply(fixture, 3, 0, "x", 1), -EPROTO);
    assert_int_equal(arrive_grant(fixture, 3, 0x8000, SEGMENT), -EPROTO);
}
