/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame.h"
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

/** Room for a head and some payload. */
struct buffer {
    uint8_t bytes[1500];
    size_t length;
};

static struct frame_header *header_of(struct buffer *buffer)
{
    return (struct frame_header *)(void *)buffer->bytes;
}

static void *body_of(struct buffer *buffer)
{
    return buffer->bytes + sizeof(struct frame_header);
}

/** A frame of this type that is right in all points. */
static struct buffer valid(enum frame_type type, uint16_t payload_bytes)
{
    struct buffer buffer = {.length = frame_head_bytes(type) + payload_bytes};

    if (type == FRAME_DATA) {
        struct frame_data data = frame_encode_data(0x0102, 0x05060708, 0x090A0B0C);
        frame_data_set_segment(&data, 0x0D0E0F10);
        memcpy(buffer.bytes, &data, sizeof data);
        return buffer;
    }
    frame_encode(buffer.bytes, &(struct frame_fields){.type = type,
                                                      .destination = 0x0102,
                                                      .source = 0x0304,
                                                      .key = type == FRAME_CONNECT ? 0 : 0x05060708,
                                                      .sequence = 0x090A0B0C,
                                                      .payload_bytes = payload_bytes});
    if (type == FRAME_CONNECT || type == FRAME_ACCEPT) {
        struct frame_connect *connect = body_of(&buffer);
        connect->incarnation = to_le64(1);
        connect->key = to_le32(2);
        connect->frame_bytes = to_le16((uint16_t)(FRAME_BYTES_MIN + 1));
    } else if (type == FRAME_CHALLENGE || type == FRAME_RESPONSE) {
        struct frame_challenge *challenge = body_of(&buffer);
        challenge->number = to_le64(1);
    } else if (type == FRAME_SACK) {
        struct frame_sack *sack = body_of(&buffer);
        sack->upto = to_le32(1);
    } else if (type == FRAME_EAGER) {
        struct frame_eager *eager = body_of(&buffer);
        eager->message_bytes = to_le32(payload_bytes);
    } else if (type == FRAME_ANNOUNCE) {
        struct frame_announce *announce = body_of(&buffer);
        announce->segment_bytes = to_le16(1);
        announce->message_bytes = to_le64(payload_bytes);
    } else if (type == FRAME_PULL) {
        struct frame_pull *pull = body_of(&buffer);
        pull->wanted = to_le64(1);
    } else if (type == FRAME_PUT) {
        struct frame_put *put = body_of(&buffer);
        put->bytes = to_le32(payload_bytes);
    } else if (type == FRAME_OFFER) {
        struct frame_offer *offer = body_of(&buffer);
        offer->segment_bytes = to_le16(1);
        offer->bytes = to_le64(1);
    } else if (type == FRAME_GRANT) {
        struct frame_grant *grant = body_of(&buffer);
        grant->segment_bytes = to_le16(1);
    }
    return buffer;
}

static enum frame_verdict decode(const struct buffer *buffer, struct frame *frame)
{
    /* Of the exact length, so that a sanitizer sees whoever reads beyond. */
    uint8_t *copy = malloc(buffer->length > 0 ? buffer->length : 1);

    assert_non_null(copy);
    memcpy(copy, buffer->bytes, buffer->length);
    enum frame_verdict verdict = frame_decode(copy, buffer->length, frame);
    free(copy);
    return verdict;
}

static const enum frame_type all_types[] = {
#define TYPE(number, ...) number,
    FRAME_TYPE_LIST(TYPE)
#undef TYPE
};

#define TYPES (sizeof all_types / sizeof *all_types)

static uint16_t some_payload(enum frame_type type)
{
    return type == FRAME_EAGER || type == FRAME_FRAGMENT || type == FRAME_ANNOUNCE ||
                   type == FRAME_DATA || type == FRAME_BUNDLE || type == FRAME_PUT ||
                   type == FRAME_ATOMIC || type == FRAME_RESULT || type == FRAME_REPLY
               ? 104
               : 0;
}

TEST(frame_encode__header_is_as_documented)
{
    struct buffer buffer = valid(FRAME_FRAGMENT, 0x0102);
    frame_stamp(buffer.bytes, FRAME_ACK_REQUEST, 0x11121314, 0x1516);
    const uint8_t expected[28] = {0x37, 17,   1,    0,    2,    1,    4,    3,    8,    7,
                                  6,    5,    0x0C, 0x0B, 0x0A, 0x09, 0x14, 0x13, 0x12, 0x11,
                                  0x16, 0x15, 0x02, 0x01, 0,    0,    0,    0};
    assert_memory_equal(buffer.bytes, expected, sizeof expected);
}

TEST(frame_encode_data__header_is_as_documented)
{
    struct buffer buffer = valid(FRAME_DATA, 1);
    const uint8_t expected[16] = {0x34, 11, 0x10, 0x0F, 2,    1,    0x0E, 0x0D,
                                  8,    7,  6,    5,    0x0C, 0x0B, 0x0A, 0x09};
    assert_memory_equal(buffer.bytes, expected, sizeof expected);
}

TEST(frame_data_segment__is_what_was_set)
{
    const uint32_t segments[] = {0, 1, 0xFFFF, 0x10000, 0x12345678, UINT32_MAX};
    struct frame_data data = frame_encode_data(1, 2, 3);

    for (size_t i = 0; i < sizeof segments / sizeof *segments; i++) {
        frame_data_set_segment(&data, segments[i]);
        assert_int_equal(frame_data_segment(&data), segments[i]);
    }
    assert_int_equal(from_le16(data.destination), 1);
    assert_int_equal(from_le32(data.key), 2);
    assert_int_equal(from_le32(data.message), 3);
}

TEST(frame_decode__data)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_DATA, 100);

    memset(&frame, 0xFF, sizeof frame);
    assert_int_equal(frame_decode(buffer.bytes, buffer.length, &frame), FRAME_OK);
    assert_int_equal(frame.type, FRAME_DATA);
    assert_int_equal(frame.destination, 0x0102);
    assert_int_equal(frame.key, 0x05060708);
    assert_int_equal(frame_data_segment(frame.data), 0x0D0E0F10);
    assert_int_equal(from_le32(frame.data->message), 0x090A0B0C);
    assert_ptr_equal(frame.payload, buffer.bytes + 16);
    assert_int_equal(frame.payload_bytes, 100); /* all that is there */
    assert_int_equal(frame.flags, 0);
    assert_int_equal(frame.source, 0);
    assert_int_equal(frame.sequence, 0);
    assert_int_equal(frame.acknowledgement, 0);
    assert_int_equal(frame.credit, 0);
}

TEST(frame_decode__data_is_not_empty)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_DATA, 0);

    assert_int_equal(decode(&buffer, &frame), FRAME_BAD_FIELD);
    buffer.length = 17;
    assert_int_equal(decode(&buffer, &frame), FRAME_OK);
    assert_int_equal(frame.payload_bytes, 1);
}

TEST(frame_decode__each_type_has_its_header)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_DATA, 100);

    buffer.bytes[0] = 0x37; /* the long one */
    assert_int_equal(decode(&buffer, &frame), FRAME_BAD_TYPE);
    for (unsigned type = 0; type < 256; type++) {
        buffer = valid(FRAME_DATA, 100);
        buffer.bytes[1] = (uint8_t)type;
        assert_int_equal(decode(&buffer, &frame), type == FRAME_DATA ? FRAME_OK : FRAME_BAD_TYPE);
    }
}

TEST(frame_data_has__padding_up_to_the_minimum)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_DATA, 30); /* 46 bytes */

    assert_int_equal(frame_decode(buffer.bytes, buffer.length, &frame), FRAME_OK);
    for (uint64_t bytes = 1; bytes <= 30; bytes++) {
        assert_true(frame_data_has(&frame, bytes));
    }
    assert_false(frame_data_has(&frame, 31));
    buffer = valid(FRAME_DATA, 31);
    assert_int_equal(frame_decode(buffer.bytes, buffer.length, &frame), FRAME_OK);
    assert_true(frame_data_has(&frame, 31));
    assert_false(frame_data_has(&frame, 30));
    assert_false(frame_data_has(&frame, 32));
}

TEST(frame_decode__all_types)
{
    for (size_t i = 0; i < TYPES; i++) {
        struct frame frame;
        struct buffer buffer = valid(all_types[i], some_payload(all_types[i]));
        assert_int_equal(decode(&buffer, &frame), FRAME_OK);
        assert_int_equal(frame.type, all_types[i]);
        assert_int_equal(frame.destination, 0x0102);
        if (all_types[i] != FRAME_DATA) {
            assert_int_equal(frame.source, 0x0304);
            assert_int_equal(frame.sequence, 0x090A0B0C);
        }
        assert_int_equal(frame.payload_bytes, some_payload(all_types[i]));
    }
}

TEST(frame_decode__pointers_are_into_the_frame)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_EAGER, 10);

    assert_int_equal(frame_decode(buffer.bytes, buffer.length, &frame), FRAME_OK);
    assert_ptr_equal(frame.eager, buffer.bytes + 28);
    assert_ptr_equal(frame.payload, buffer.bytes + 46);
}

TEST(frame_decode__at_any_alignment)
{
    struct buffer buffer = valid(FRAME_ANNOUNCE, 0);
    uint8_t room[200];

    for (size_t shift = 0; shift < 16; shift++) {
        struct frame frame;
        memcpy(room + shift, buffer.bytes, buffer.length);
        assert_int_equal(frame_decode(room + shift, buffer.length, &frame), FRAME_OK);
        assert_int_equal(from_le64(frame.announce->tag), 0);
    }
}

TEST(frame_decode__every_shorter_length_is_refused)
{
    for (size_t i = 0; i < TYPES; i++) {
        struct frame frame;
        struct buffer buffer = valid(all_types[i], some_payload(all_types[i]));
        size_t length = all_types[i] == FRAME_DATA ? 16 : buffer.length; /* it says none */
        for (buffer.length = 0; buffer.length < length; buffer.length++) {
            assert_int_equal(decode(&buffer, &frame), FRAME_BAD_LENGTH);
        }
    }
}

TEST(frame_decode__padding_to_the_minimum_is_ignored)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_ACK, 0);

    buffer.length = FRAME_PADDED_BYTES;
    memset(buffer.bytes + 28, 0xFF, FRAME_PADDED_BYTES - 28);
    assert_int_equal(decode(&buffer, &frame), FRAME_OK);
    assert_int_equal(frame.payload_bytes, 0);
}

TEST(frame_decode__bytes_beyond_padding_are_refused)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_ACK, 0);

    buffer.length = FRAME_PADDED_BYTES + 1;
    assert_int_equal(decode(&buffer, &frame), FRAME_BAD_LENGTH);
    buffer = valid(FRAME_EAGER, 1);
    buffer.length += FRAME_EVENED_BYTES + 1;
    assert_int_equal(decode(&buffer, &frame), FRAME_BAD_LENGTH);
}

TEST(frame_decode__what_opens_a_connection_tries_out_a_length)
{
    const enum frame_type types[] = {FRAME_CONNECT, FRAME_ACCEPT, FRAME_CHALLENGE};
    struct frame frame;

    for (unsigned i = 0; i < 3; i++) {
        struct buffer buffer = valid(types[i], 0);
        buffer.length = sizeof buffer.bytes;
        assert_int_equal(decode(&buffer, &frame), FRAME_OK);
        assert_int_equal(frame.payload_bytes, 0);
    }
}

TEST(frame_decode__a_little_more_makes_it_as_long_as_its_neighbours)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_EAGER, 100);
    size_t length = buffer.length;

    memset(buffer.bytes + length, 0, FRAME_EVENED_BYTES + 1);
    buffer.length = length + 1;
    assert_int_equal(decode(&buffer, &frame), FRAME_OK);
    buffer.length = length + FRAME_EVENED_BYTES;
    assert_int_equal(decode(&buffer, &frame), FRAME_OK);
    assert_int_equal(frame.payload_bytes, 100);
    assert_int_equal(frame_length(&frame), length);
    buffer.length++;
    assert_int_equal(decode(&buffer, &frame), FRAME_BAD_LENGTH);
}

TEST(frame_decode__other_version_or_header_length)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_ACK, 0);

    for (unsigned value = 0; value < 256; value++) {
        header_of(&buffer)->version_words = (uint8_t)value;
        /* 0x34 is that of DATA, 0x35 with a checksum, 0x3A and 0x3D are those with a seal. */
        enum frame_verdict otherwise = value == 0x34   ? FRAME_BAD_TYPE
                                       : value == 0x35 ? FRAME_BAD_TYPE
                                       : value == 0x3A ? FRAME_BAD_LENGTH
                                       : value == 0x3D ? FRAME_BAD_LENGTH
                                                       : FRAME_BAD_VERSION;
        assert_int_equal(decode(&buffer, &frame), value == 0x37 ? FRAME_OK : otherwise);
    }
}

/** The same frame with a seal behind its header. */
static struct buffer with_seal(const struct buffer *plain)
{
    struct buffer sealed = {.length = plain->length + sizeof(struct frame_seal)};
    size_t header_bytes = frame_header_bytes((enum frame_type)frame_type_of(plain->bytes));
    struct frame_seal *seal = frame_copy_for_seal(sealed.bytes, plain->bytes);

    memset(seal, 0x5E, sizeof *seal);
    memcpy(seal + 1, plain->bytes + header_bytes, plain->length - header_bytes);
    return sealed;
}

TEST(frame_decode__with_a_seal)
{
    uint8_t head[FRAME_HEAD_BYTES_MAX];
    struct frame frame;

    for (size_t i = 0; i < TYPES; i++) {
        struct buffer plain = valid(all_types[i], some_payload(all_types[i]));
        struct buffer sealed = with_seal(&plain);
        size_t header_bytes = frame_header_bytes(all_types[i]);
        if (frame_is_never_sealed(all_types[i])) {
            assert_int_equal(decode(&sealed, &frame), FRAME_BAD_TYPE);
            continue;
        }
        assert_int_equal(frame_decode(sealed.bytes, sealed.length, &frame), FRAME_OK);
        assert_ptr_equal(frame.seal, sealed.bytes + header_bytes);
        assert_int_equal(frame.type, all_types[i]);
        assert_int_equal(frame.payload_bytes, some_payload(all_types[i]));
        assert_ptr_equal(frame.payload, sealed.bytes + sealed.length - frame.payload_bytes);
        assert_int_equal(frame_length(&frame), plain.length);
        if (all_types[i] != FRAME_DATA) {
            frame_copy_head(&frame, head); /* leaves it out */
            assert_memory_equal(head, plain.bytes, frame_head_bytes(all_types[i]));
        }
        for (size_t length = 0; length < header_bytes + sizeof(struct frame_seal); length++) {
            struct buffer shorter = sealed;
            shorter.length = length;
            assert_int_equal(decode(&shorter, &frame), FRAME_BAD_LENGTH);
        }
    }
}

TEST(frame_decode__unknown_types)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_ACK, 0);
    unsigned known = 0;

    for (unsigned type = 0; type < 256; type++) {
        header_of(&buffer)->type = (uint8_t)type;
        known += decode(&buffer, &frame) != FRAME_BAD_TYPE;
    }
    assert_int_equal(known, TYPES - 1); /* DATA has another header */
}

TEST(frame_decode__payload_where_none_belongs)
{
    for (size_t i = 0; i < TYPES; i++) {
        struct frame frame;
        struct buffer buffer = valid(all_types[i], 8); /* the shortest RESULT */
        enum frame_verdict expected = some_payload(all_types[i]) > 0 ? FRAME_OK : FRAME_BAD_LENGTH;
        assert_int_equal(decode(&buffer, &frame), expected);
    }
}

/** Where a field of a header begins, and its length: of all frames, of a type. */
#define HEADER(field)                                                                              \
    offsetof(struct frame_header, field), sizeof(((struct frame_header *)0)->field)
#define BODY(type, field)                                                                          \
    sizeof(struct frame_header) + offsetof(struct frame_##type, field),                            \
        sizeof(((struct frame_##type *)0)->field)

/** Frames that are right but for one field, or two. */
TEST(frame_decode__values_of_fields)
{
    static const struct {
        enum frame_type type;
        uint16_t payload_bytes;
        enum frame_verdict verdict;
        struct {
            size_t at, bytes;
            uint64_t value;
        } fields[2];
    } rows[] = {
        {FRAME_ACK, 0, FRAME_OK, {{HEADER(flags), 0x00FF}}}, /* not known here, and of no weight */
        {FRAME_ACK, 0, FRAME_BAD_FLAGS, {{HEADER(flags), 1 << 9}}},
        {FRAME_ACK, 0, FRAME_BAD_FLAGS, {{HEADER(flags), 1 << 10}}},
        {FRAME_ACK, 0, FRAME_BAD_FLAGS, {{HEADER(flags), 1 << 11}}},
        {FRAME_ACK, 0, FRAME_BAD_FLAGS, {{HEADER(flags), 1 << 12}}},
        {FRAME_ACK, 0, FRAME_BAD_FLAGS, {{HEADER(flags), 1 << 13}}},
        {FRAME_ACK, 0, FRAME_BAD_FLAGS, {{HEADER(flags), 1 << 14}}},
        {FRAME_ACK, 0, FRAME_BAD_FLAGS, {{HEADER(flags), 1 << 15}}},
        {FRAME_CONNECT, 0, FRAME_BAD_FIELD, {{HEADER(key), 1}}},
        {FRAME_CONNECT, 0, FRAME_BAD_FIELD, {{BODY(connect, key), 0}}},
        {FRAME_CONNECT, 0, FRAME_BAD_FIELD, {{BODY(connect, incarnation), 0}}},
        {FRAME_ACCEPT, 0, FRAME_BAD_FIELD, {{HEADER(key), 0}}},
        {FRAME_ACCEPT, 0, FRAME_BAD_FIELD, {{BODY(connect, key), 0}}},
        {FRAME_ACCEPT, 0, FRAME_BAD_FIELD, {{BODY(connect, incarnation), 0}}},
        {FRAME_EAGER, 10, FRAME_BAD_FIELD, {{BODY(eager, message_bytes), 9}}},
        {FRAME_EAGER, 10, FRAME_OK, {{BODY(eager, message_bytes), 11}}},
        {FRAME_FRAGMENT, 0, FRAME_BAD_FIELD, {{0}}}, /* it is empty */
        {FRAME_REPLY, 0, FRAME_BAD_FIELD, {{0}}},
    /* Up to 256 frames after what is acknowledged, and at least one. */
#define SACK HEADER(acknowledgement), 0xFFFFFFF0
        {FRAME_SACK, 0, FRAME_BAD_FIELD, {{SACK}, {BODY(sack, upto), 0xFFFFFFF0}}},
        {FRAME_SACK, 0, FRAME_BAD_FIELD, {{SACK}, {BODY(sack, upto), 0xFFFFFFEF}}},
        {FRAME_SACK, 0, FRAME_BAD_FIELD, {{SACK}, {BODY(sack, upto), 0xF1}}},
        {FRAME_SACK, 0, FRAME_BAD_FIELD, {{SACK}, {BODY(sack, upto), 0x7FFFFFF0}}},
        {FRAME_SACK, 0, FRAME_OK, {{SACK}, {BODY(sack, upto), 0xF0}}},
    /* A put lies inside itself. */
#define PUT(length, place) {{BODY(put, bytes), length}, {BODY(put, offset), place}}
        {FRAME_PUT, 100, FRAME_BAD_FIELD, PUT(99, 0)},
        {FRAME_PUT, 100, FRAME_OK, PUT(1000, 900)},
        {FRAME_PUT, 100, FRAME_BAD_FIELD, PUT(1000, 901)},
        {FRAME_PUT, 100, FRAME_BAD_FIELD, PUT(1000, UINT32_MAX)},
        {FRAME_PUT, 100, FRAME_BAD_FIELD, PUT(UINT32_MAX, UINT32_MAX - 99)},
        {FRAME_PUT, 0, FRAME_OK, PUT(0, 0)},
        {FRAME_PUT, 0, FRAME_BAD_FIELD, PUT(1, 0)},
        {FRAME_OFFER, 0, FRAME_BAD_FIELD, {{BODY(offer, bytes), 0}}},
        {FRAME_OFFER, 0, FRAME_BAD_FIELD, {{BODY(offer, segment_bytes), 0}}},
        {FRAME_GRANT, 0, FRAME_BAD_FIELD, {{BODY(grant, segment_bytes), 0}}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buffer buffer = valid(rows[i].type, rows[i].payload_bytes);
        struct frame frame;
        for (size_t field = 0; field < 2; field++) {
            const le64 value = to_le64(rows[i].fields[field].value);
            memcpy(buffer.bytes + rows[i].fields[field].at, &value, rows[i].fields[field].bytes);
        }
        if (decode(&buffer, &frame) != rows[i].verdict) {
            fail_msg("row %zu", i);
        }
        if (rows[i].verdict == FRAME_OK) {
            assert_int_equal(frame.flags, from_le16(header_of(&buffer)->flags));
        }
    }
}

TEST(frame_decode__sack_has_nothing_of_which_nothing_is_known)
{
    for (uint32_t known = 1; known <= FRAME_SACK_FRAMES; known++) {
        struct buffer buffer = valid(FRAME_SACK, 0);
        struct frame_sack *sack = body_of(&buffer);
        struct frame frame;
        header_of(&buffer)->acknowledgement = to_le32(1000);
        sack->upto = to_le32(1000 + known);
        for (uint32_t bit = 0; bit < FRAME_SACK_FRAMES; bit++) {
            memset(sack->received, 0, sizeof sack->received);
            sack->received[bit / 8] = (uint8_t)(1u << bit % 8);
            /* Bit i is sequence 1001 + i. */
            assert_int_equal(decode(&buffer, &frame), bit + 1 < known ? FRAME_OK : FRAME_BAD_FIELD);
        }
    }
}

TEST(frame_operation_bytes__of_a_type_that_does_not_exist)
{
    assert_int_equal(frame_operation_bytes(FRAME_EAGER), 18);
    assert_int_equal(frame_operation_bytes((enum frame_type)15), 0);
    assert_int_equal(frame_operation_bytes((enum frame_type)255), 0);
    assert_int_equal(frame_head_bytes(FRAME_EAGER), 46);
    assert_int_equal(frame_head_bytes(FRAME_DATA), 16);
    assert_int_equal(frame_head_bytes((enum frame_type)255), 28);
}

TEST(frame_length__without_padding)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_DONE, 0);

    buffer.length = FRAME_PADDED_BYTES;
    assert_int_equal(frame_decode(buffer.bytes, buffer.length, &frame), FRAME_OK);
    assert_ptr_equal(frame_begin(&frame), buffer.bytes);
    assert_int_equal(frame_length(&frame), 36);
    buffer = valid(FRAME_EAGER, 100);
    assert_int_equal(frame_decode(buffer.bytes, buffer.length, &frame), FRAME_OK);
    assert_int_equal(frame_length(&frame), 146);
    assert_int_equal(frame_head_length(&frame), 46);
}

TEST(frame_type_name__each_type_has_its_own)
{
    unsigned named = 0;

    for (unsigned type = 0; type < FRAME_TYPES; type++) {
        const char *name = frame_type_name(type);
        named += name != NULL;
        for (unsigned other = 0; name != NULL && other < type; other++) {
            assert_true(frame_type_name(other) == NULL ||
                        strcmp(frame_type_name(other), name) != 0);
        }
    }
    assert_int_equal(named, TYPES);
    for (size_t i = 0; i < TYPES; i++) {
        struct buffer buffer = valid(all_types[i], some_payload(all_types[i]));
        assert_non_null(frame_type_name(frame_type_of(buffer.bytes)));
        assert_int_equal(frame_type_of(buffer.bytes), all_types[i]);
    }
    assert_string_equal(frame_type_name(FRAME_BUNDLE), "bundle");
    assert_null(frame_type_name(FRAME_TYPES));
    assert_null(frame_type_name(UINT32_MAX));
}

TEST(frame_stamp__keeps_flags_set_before)
{
    struct frame frame;
    struct buffer buffer = valid(FRAME_ACK, 0);

    frame_stamp(buffer.bytes, FRAME_ACK_REQUEST, 0, 0);
    frame_stamp(buffer.bytes, FRAME_RETRANSMITTED, 7, 8);
    assert_int_equal(decode(&buffer, &frame), FRAME_OK);
    assert_int_equal(frame.flags, FRAME_ACK_REQUEST | FRAME_RETRANSMITTED);
    assert_int_equal(frame.acknowledgement, 7);
    assert_int_equal(frame.credit, 8);
}

TEST(sequence_before__around_the_wrap)
{
    assert_true(sequence_before(0xFFFFFFFF, 0));
    assert_false(sequence_before(0, 0xFFFFFFFF));
    assert_false(sequence_before(5, 5));
    assert_true(sequence_before(0x80000000, 0xFFFFFFFF));
}

TEST(frame_decode__results_are_whole)
{
    struct frame frame;

    for (uint16_t bytes = 0; bytes < 40; bytes++) {
        struct buffer buffer = valid(FRAME_RESULT, bytes);
        assert_int_equal(decode(&buffer, &frame),
                         bytes > 0 && bytes % 8 == 0 ? FRAME_OK : FRAME_BAD_FIELD);
    }
}
