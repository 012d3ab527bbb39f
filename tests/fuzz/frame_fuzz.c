/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a frame: what frame_decode() lets in is whole, and can be written again. */
#include "frame/frame.h"

#include "fuzz.h"

/** The same header from the fields that were read. */
static void require_same_header(const uint8_t *data, const struct frame *frame)
{
    uint8_t again[sizeof(struct frame_header)];
    struct frame_header expected;

    memcpy(&expected, data, sizeof expected);
    expected.reserved = to_le32(0); /* ignored on receipt */
    frame_encode(again, &(struct frame_fields){.type = frame->type,
                                               .destination = frame->destination,
                                               .source = frame->source,
                                               .key = frame->key,
                                               .sequence = frame->sequence,
                                               .payload_bytes = (uint16_t)frame->payload_bytes});
    frame_stamp(again, frame->flags, frame->acknowledgement, frame->credit);
    require(memcmp(again, &expected, sizeof again) == 0);
}

/** DATA has all that is there behind its own header. */
static void check_data(const uint8_t *data, size_t size, struct frame *frame)
{
    struct frame_data again =
        frame_encode_data(frame->destination, frame->key, from_le32(frame->data->message));

    frame_data_set_segment(&again, frame_data_segment(frame->data));
    require((const uint8_t *)frame->data == data && memcmp(data, &again, sizeof again) == 0);
    require(frame->payload == data + sizeof again);
    require(frame->payload_bytes > 0 && sizeof again + frame->payload_bytes == size);
    require(frame_data_has(frame, frame->payload_bytes));
    require(!frame_data_has(frame, frame->payload_bytes + UINT64_C(1)));
    require(frame_decode(data, sizeof again, frame) == FRAME_BAD_FIELD);
    require(frame_decode(data, sizeof again - 1, frame) == FRAME_BAD_LENGTH);
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
        check_data(data, size, &frame);
        return 0;
    }
    size_t head = sizeof(struct frame_header) + frame_operation_bytes(frame.type);
    require((const uint8_t *)frame.connect == data + sizeof(struct frame_header));
    require(frame.payload == data + head && head + frame.payload_bytes <= size);
    bool padded =
        frame.type == FRAME_CONNECT || frame.type == FRAME_ACCEPT || frame.type == FRAME_CHALLENGE;
    size_t evened = frame.type >= FRAME_SEQUENCED ? FRAME_EVENED_BYTES : 0;
    require(padded || size - (head + frame.payload_bytes) <= evened || size <= FRAME_PADDED_BYTES);
    require((frame.flags & 0xFF00) == 0);
    require_same_header(data, &frame);
    /* Any shorter, and it is refused. */
    require(frame_decode(data, head + frame.payload_bytes - 1, &frame) == FRAME_BAD_LENGTH);
    return 0;
}
