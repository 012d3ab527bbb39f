/* SPDX-License-Identifier: BSD-3-Clause */
#include "checksum.h"

#include "crc32c.h"

#define FIELD_AT offsetof(struct frame_header, checksum)
#define BEHIND_FIELD (FIELD_AT + sizeof(le32))

static_assert(BEHIND_FIELD == sizeof(struct frame_header), "the header ends with it");

/** @param before bytes at `head` that come before the field @param head_bytes those behind it,
 *  too */
static uint32_t sum_of(const uint8_t *head, size_t before, size_t head_bytes,
                       const uint8_t *payload, size_t payload_bytes)
{
    uint32_t state = crc32c_add(CRC32C_BEGIN, head, before);
    size_t behind = before + sizeof(le32);

    if (head_bytes > behind) {
        state = crc32c_add(state, head + behind, head_bytes - behind);
    }
    if (payload_bytes > 0) {
        state = crc32c_add(state, payload, payload_bytes);
    }
    return ~state;
}

void checksum_write(uint8_t *head, uint32_t head_bytes, const uint8_t *payload,
                    uint32_t payload_bytes)
{
    if (frame_type_of(head) == FRAME_DATA) {
        le32 sum =
            to_le32(sum_of(head, sizeof(struct frame_data), head_bytes, payload, payload_bytes));
        memcpy(head + sizeof(struct frame_data), &sum, sizeof sum);
        return;
    }
    struct frame_header *header = (struct frame_header *)(void *)head;
    uint32_t owned = frame_payload_bytes(head) > 0 ? payload_bytes : 0;

    header->flags = to_le16((uint16_t)(from_le16(header->flags) | FRAME_CHECKED));
    header->checksum = to_le32(sum_of(head, FIELD_AT, head_bytes, payload, owned));
}

void checksum_clear(uint8_t *head)
{
    struct frame_header *header = (struct frame_header *)(void *)head;

    if (frame_type_of(head) != FRAME_DATA) {
        header->flags = to_le16((uint16_t)(from_le16(header->flags) & ~(unsigned)FRAME_CHECKED));
        header->checksum = to_le32(0);
    }
}

bool checksum_is_right(const uint8_t *data, const struct frame *frame)
{
    bool is_data = frame->type == FRAME_DATA;
    size_t before = is_data ? sizeof(struct frame_data) : FIELD_AT;
    size_t head_bytes = frame_head_bytes(frame->type) + (is_data ? sizeof(le32) : 0);

    if (frame->payload == data + head_bytes) { /* in one piece */
        return sum_of(data, before, head_bytes + frame->payload_bytes, NULL, 0) ==
               from_le32(*frame->checksum);
    }
    return sum_of(data, before, head_bytes, frame->payload, frame->payload_bytes) ==
           from_le32(*frame->checksum);
}
