/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/checksum.h"

#include "frame/crc32c.h"
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#define PAYLOAD_BYTES 100

/** A frame with a checksum, and what may follow it. */
struct sent {
    uint8_t bytes[256];
    uint32_t head_bytes;
    uint32_t length; /**< without padding */
};

static const uint8_t payload[PAYLOAD_BYTES] = {1, 2, 3, [50] = 4, [99] = 5};

static struct sent eager(void)
{
    struct sent sent = {.head_bytes = (uint32_t)frame_head_bytes(FRAME_EAGER)};
    const struct frame_eager body = {.tag = to_le64(7), .message_bytes = to_le32(PAYLOAD_BYTES)};

    frame_encode(sent.bytes, &(struct frame_fields){.type = FRAME_EAGER,
                                                    .destination = 1,
                                                    .source = 2,
                                                    .key = 3,
                                                    .sequence = 4,
                                                    .payload_bytes = PAYLOAD_BYTES});
    memcpy(sent.bytes + sizeof(struct frame_header), &body, sizeof body);
    frame_stamp(sent.bytes, FRAME_ACK_REQUEST, 5, 6);
    checksum_write(sent.bytes, sent.head_bytes, payload, PAYLOAD_BYTES);
    memcpy(sent.bytes + sent.head_bytes, payload, PAYLOAD_BYTES);
    sent.length = sent.head_bytes + PAYLOAD_BYTES;
    return sent;
}

static struct sent data(void)
{
    struct sent sent = {.head_bytes = sizeof(struct frame_data) + sizeof(le32)};
    struct frame_data head = frame_encode_data(1, 3, 9);

    frame_data_has_checksum(&head);
    memcpy(sent.bytes, &head, sizeof head);
    checksum_write(sent.bytes, sent.head_bytes, payload, PAYLOAD_BYTES);
    memcpy(sent.bytes + sent.head_bytes, payload, PAYLOAD_BYTES);
    sent.length = sent.head_bytes + PAYLOAD_BYTES;
    return sent;
}

static struct sent challenge(void)
{
    struct sent sent = {.head_bytes = (uint32_t)frame_head_bytes(FRAME_CHALLENGE)};
    const struct frame_challenge body = {.number = to_le64(77)};

    frame_encode(sent.bytes, &(struct frame_fields){.type = FRAME_CHALLENGE, .key = 3});
    memcpy(sent.bytes + sizeof(struct frame_header), &body, sizeof body);
    checksum_write(sent.bytes, sent.head_bytes, payload, PAYLOAD_BYTES); /* not its own */
    sent.length = sent.head_bytes;
    return sent;
}

/** Is it let in, as one whose checksum is right? */
static bool is_taken(const struct sent *sent, uint32_t bytes)
{
    struct frame frame;

    return frame_decode(sent->bytes, bytes, &frame) == FRAME_OK && frame.checksum != NULL &&
           checksum_is_right(sent->bytes, &frame);
}

/** No bit of the frame can be another one, wherever it is. */
static void assert_no_bit_is_overlooked(struct sent sent)
{
    assert_true(is_taken(&sent, sent.length));
    for (uint32_t at = 0; at < sent.length; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            sent.bytes[at] ^= (uint8_t)(1u << bit);
            assert_false(is_taken(&sent, sent.length));
            sent.bytes[at] ^= (uint8_t)(1u << bit);
        }
    }
}

TEST(checksum_is_right__no_flipped_bit_is_overlooked)
{
    assert_no_bit_is_overlooked(eager());
    assert_no_bit_is_overlooked(data());
    assert_no_bit_is_overlooked(challenge());
}

/** What is behind the frame does not belong to it: Ethernet pads, trains are evened, and CHALLENGE
 *  is followed by zeros. */
TEST(checksum_is_right__whatever_follows_the_frame)
{
    struct sent sent = challenge();

    memset(sent.bytes + sent.length, 0xEE, sizeof sent.bytes - sent.length);
    assert_true(is_taken(&sent, sizeof sent.bytes));
    sent = eager();
    memset(sent.bytes + sent.length, 0xEE, FRAME_EVENED_BYTES);
    assert_true(is_taken(&sent, sent.length + FRAME_EVENED_BYTES));
}

TEST(checksum_is_right__payload_that_lies_elsewhere)
{
    struct sent sent = data();
    struct frame frame;
    uint8_t elsewhere[PAYLOAD_BYTES];

    assert_int_equal(frame_decode(sent.bytes, sent.length, &frame), FRAME_OK);
    memcpy(elsewhere, payload, sizeof elsewhere);
    frame.payload = elsewhere;
    assert_true(checksum_is_right(sent.bytes, &frame));
    elsewhere[PAYLOAD_BYTES - 1] ^= 0x80;
    assert_false(checksum_is_right(sent.bytes, &frame));
}

/** As the document has it: CRC-32C over all but the field. */
TEST(checksum_write__where_the_document_has_it)
{
    struct sent sent = eager();
    uint8_t covered[256];

    memcpy(covered, sent.bytes, 24);
    memcpy(covered + 24, sent.bytes + 28, sent.length - 28);
    uint32_t crc = ~crc32c_add(CRC32C_BEGIN, covered, sent.length - 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(sent.bytes[24 + i], crc >> 8 * i & 0xFF);
    }
    assert_int_equal(sent.bytes[3], 1); /* the flag */
    sent = data();
    memcpy(covered, sent.bytes, 16);
    memcpy(covered + 16, sent.bytes + 20, sent.length - 20);
    crc = ~crc32c_add(CRC32C_BEGIN, covered, sent.length - 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(sent.bytes[16 + i], crc >> 8 * i & 0xFF);
    }
    assert_int_equal(sent.bytes[0], 0x35); /* a header of five words */
}

/** A frame that goes out again over another lane. */
TEST(checksum_clear__nothing_says_that_there_is_one)
{
    struct sent sent = eager();
    struct frame frame;

    checksum_clear(sent.bytes);
    assert_int_equal(frame_decode(sent.bytes, sent.length, &frame), FRAME_OK);
    assert_null(frame.checksum);
    assert_int_equal(frame.flags, FRAME_ACK_REQUEST);
    checksum_write(sent.bytes, sent.head_bytes, payload, PAYLOAD_BYTES);
    assert_true(is_taken(&sent, sent.length));
}

/** In the header; or, of DATA, behind it: the payload begins there. */
TEST(frame_decode__a_checksum)
{
    const struct sent frames[] = {eager(), data()};
    const size_t places[] = {24, 16};
    struct frame frame;

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(frame_decode(frames[i].bytes, frames[i].length, &frame), FRAME_OK);
        assert_ptr_equal(frame.checksum, frames[i].bytes + places[i]);
        assert_ptr_equal(frame.payload, frames[i].bytes + frames[i].head_bytes);
        assert_int_equal(frame.payload_bytes, PAYLOAD_BYTES);
    }
    assert_int_equal(frame_decode(frames[1].bytes, 19, &frame), FRAME_BAD_LENGTH);
}

/** A seal says more. */
TEST(frame_decode__a_checksum_and_a_seal)
{
    const struct sent plain = eager();
    uint8_t sealed[256];
    struct frame frame;

    struct frame_seal *seal = frame_copy_for_seal(sealed, plain.bytes);
    memset(seal, 0, sizeof *seal);
    memcpy(seal + 1, plain.bytes + sizeof(struct frame_header),
           plain.length - sizeof(struct frame_header));
    assert_int_equal(frame_decode(sealed, plain.length + sizeof *seal, &frame), FRAME_BAD_FLAGS);
}
