/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a frame: what frame_decode() lets in is whole, and can be written again; and the
 * checksum that it may have is right if it was made anew, and only then. */
#include "frame/checksum.h"

#include "fuzz.h"

/** What is between a frame's header and the rest of it: its seal, or nothing. */
static size_t seal_bytes_of(const uint8_t *data, const struct frame *frame)
{
    if (frame->seal == NULL) {
        return 0;
    }
    require(!frame_is_never_sealed(frame->type));
    require((const uint8_t *)frame->seal == data + frame_header_bytes(frame->type));
    return sizeof *frame->seal;
}

/** Bytes of the checksum behind the header of DATA. */
static size_t checksum_bytes_of(const uint8_t *data, const struct frame *frame)
{
    if (frame->checksum == NULL || frame->type != FRAME_DATA) {
        return 0;
    }
    require((const uint8_t *)frame->checksum == data + sizeof(struct frame_data));
    require(frame->seal == NULL);
    return sizeof *frame->checksum;
}

/** Made anew it is right; with a bit of the frame altered it is not. */
static void check_checksum(const uint8_t *data, const struct frame *frame)
{
    static uint8_t copy[UINT16_MAX + sizeof(struct frame_data) + sizeof(le32)];
    size_t bytes = (size_t)(frame->payload - data) + frame->payload_bytes;
    struct frame again;

    if (frame->checksum == NULL || bytes > sizeof copy) {
        return;
    }
    memcpy(copy, data, bytes);
    checksum_write(copy, (uint32_t)(frame->payload - data), copy + (frame->payload - data),
                   frame->payload_bytes);
    require(frame_decode(copy, bytes, &again) == FRAME_OK && checksum_is_right(copy, &again));
    size_t bit = (size_t)*frame->checksum->bytes * 251 % (8 * bytes);
    copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    require(frame_decode(copy, bytes, &again) != FRAME_OK || again.checksum == NULL ||
            !checksum_is_right(copy, &again));
}

/** A header that was written again is the one that came, with what says that there is a seal. */
static void require_header(const uint8_t *data, const struct frame *frame, const uint8_t *again)
{
    uint8_t sealed[sizeof(struct frame_header) + sizeof(struct frame_seal)];
    size_t bytes = frame_header_bytes(frame->type);

    if (frame->seal != NULL) {
        require((uint8_t *)frame_copy_for_seal(sealed, again) == sealed + bytes);
        again = sealed;
    }
    require(memcmp(data, again, bytes) == 0);
}

/** The same header from the fields that were read. */
static void require_same_header(const uint8_t *data, const struct frame *frame)
{
    uint8_t again[sizeof(struct frame_header)];
    struct frame_header expected;

    memcpy(&expected, data, sizeof expected);
    expected.checksum = to_le32(0); /* made later, or ignored on receipt */
    frame_encode(again, &(struct frame_fields){.type = frame->type,
                                               .destination = frame->destination,
                                               .source = frame->source,
                                               .key = frame->key,
                                               .sequence = frame->sequence,
                                               .payload_bytes = (uint16_t)frame->payload_bytes});
    frame_stamp(again, frame->flags, frame->acknowledgement, frame->credit);
    require_header((const uint8_t *)&expected, frame, again);
}

/** The headers without the seal are a frame that never had one. */
static void check_copied_head(const uint8_t *data, const struct frame *frame)
{
    uint8_t head[FRAME_HEAD_BYTES_MAX];
    const size_t header_bytes = sizeof(struct frame_header);
    size_t operation_bytes = frame_operation_bytes(frame->type);

    frame_copy_head(frame, head);
    require_header(data, frame, head);
    require(memcmp(head + header_bytes, frame->connect, operation_bytes) == 0);
    require(frame->seal != NULL || memcmp(head, data, header_bytes + operation_bytes) == 0);
}

/** DATA has all that is there behind its own header. */
static void check_data(const uint8_t *data, size_t size, struct frame *frame)
{
    struct frame_data again =
        frame_encode_data(frame->destination, frame->key, from_le32(frame->data->message));
    size_t head = sizeof again + seal_bytes_of(data, frame) + checksum_bytes_of(data, frame);

    if (frame->checksum != NULL) {
        frame_data_has_checksum(&again);
    }
    frame_data_set_segment(&again, frame_data_segment(frame->data));
    require((const uint8_t *)frame->data == data);
    require_header(data, frame, (const uint8_t *)&again);
    require(frame->payload == data + head);
    require(frame->payload_bytes > 0 && head + frame->payload_bytes == size);
    require(frame_data_has(frame, frame->payload_bytes));
    require(!frame_data_has(frame, frame->payload_bytes + UINT64_C(1)));
    require(frame_decode(data, head, frame) == FRAME_BAD_FIELD);
    require(frame_decode(data, head - 1, frame) == FRAME_BAD_LENGTH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame frame;
    enum frame_verdict verdict = frame_decode(data, size, &frame);

    require(verdict < FRAME_VERDICTS);
    if (verdict != FRAME_OK) {
        return 0;
    }
    if (frame.type == FRAME_DATA) {
        check_checksum(data, &frame);
        check_data(data, size, &frame);
        return 0;
    }
    size_t before = sizeof(struct frame_header) + seal_bytes_of(data, &frame);
    size_t head = before + frame_operation_bytes(frame.type);
    require((const uint8_t *)frame.connect == data + before);
    require(frame.payload == data + head && head + frame.payload_bytes <= size);
    bool padded =
        frame.type == FRAME_CONNECT || frame.type == FRAME_ACCEPT || frame.type == FRAME_CHALLENGE;
    size_t evened = frame.type >= FRAME_SEQUENCED ? FRAME_EVENED_BYTES : 0;
    require(padded || size - (head + frame.payload_bytes) <= evened || size <= FRAME_PADDED_BYTES);
    require((frame.flags & 0xFF00) == (frame.checksum != NULL ? FRAME_CHECKED : 0));
    check_checksum(data, &frame);
    require_same_header(data, &frame);
    check_copied_head(data, &frame);
    /* Any shorter, and it is refused. */
    require(frame_decode(data, head + frame.payload_bytes - 1, &frame) == FRAME_BAD_LENGTH);
    return 0;
}
