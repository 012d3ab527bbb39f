/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame.h"

#include <string.h>

/** Unknown bits of the high byte. */
#define FRAME_FLAGS_UNKNOWN (0xFF00u & ~(unsigned)FRAME_CHECKED)

/** Shape of each type but DATA, which has another header: decode_data(). */
struct shape {
    uint8_t known;
    uint8_t operation_bytes;
    uint8_t may_have_payload;
};

static const struct shape shapes[] = {
#define SHAPE(number, capitals, name, operation_bytes, payload)                                    \
    [number] = {(number) != FRAME_DATA, operation_bytes, payload},
    FRAME_TYPE_LIST(SHAPE)
#undef SHAPE
};

static_assert(sizeof shapes / sizeof *shapes <= FRAME_TYPES, "counters have room for each type");

/** Separate from the shapes, which each frame needs. */
static const char *const names[] = {
#define NAME(number, capitals, name, operation_bytes, payload) [number] = #name,
    FRAME_TYPE_LIST(NAME)
#undef NAME
};

#define HEADER_WORDS (sizeof(struct frame_header) / 4)
#define SEAL_WORDS (sizeof(struct frame_seal) / 4)
#define VERSION_WORDS (FRAME_VERSION << 4 | HEADER_WORDS)
#define DATA_VERSION_WORDS (FRAME_VERSION << 4 | sizeof(struct frame_data) / 4)
#define SEALED_VERSION_WORDS (VERSION_WORDS + SEAL_WORDS)
#define SEALED_DATA_VERSION_WORDS (DATA_VERSION_WORDS + SEAL_WORDS)
#define CHECKED_DATA_VERSION_WORDS (DATA_VERSION_WORDS + sizeof(le32) / 4)
static_assert(HEADER_WORDS + SEAL_WORDS < 16, "four bits for the length of a header");

const char *frame_type_name(unsigned type)
{
    return type < sizeof names / sizeof *names ? names[type] : NULL;
}

size_t frame_operation_bytes(enum frame_type type)
{
    return (size_t)type < sizeof shapes / sizeof *shapes ? shapes[type].operation_bytes : 0;
}

/** A gap begins at the acknowledgement, and no frame at or after `upto` is reported. */
static bool sack_valid(const struct frame *frame)
{
    uint32_t known = from_le32(frame->sack->upto) - frame->acknowledgement;

    if (known == 0 || known > FRAME_SACK_FRAMES) {
        return false;
    }
    for (uint32_t bit = known - 1; bit < FRAME_SACK_FRAMES; bit++) {
        if (bit % 8 == 0 && frame->sack->received[bit / 8] == 0) {
            bit += 7;
        } else if ((frame->sack->received[bit / 8] >> bit % 8 & 1) != 0) {
            return false;
        }
    }
    return true;
}

/** Does the payload belong to the put? Only an empty put has none. */
static bool put_valid(const struct frame *frame)
{
    uint32_t bytes = from_le32(frame->put->bytes);
    uint32_t offset = from_le32(frame->put->offset);

    return offset <= bytes && frame->payload_bytes <= bytes - offset &&
           (frame->payload_bytes > 0 || bytes == 0);
}

/** The rules of a type that concern its own fields only. */
static bool fields_valid(const struct frame *frame)
{
    switch (frame->type) {
    case FRAME_CONNECT:
        return frame->key == 0 && from_le32(frame->connect->key) != 0 &&
               from_le64(frame->connect->incarnation) != 0 &&
               from_le16(frame->connect->frame_bytes) > FRAME_BYTES_MIN;
    case FRAME_ACCEPT:
        return frame->key != 0 && from_le32(frame->connect->key) != 0 &&
               from_le64(frame->connect->incarnation) != 0 &&
               from_le16(frame->connect->frame_bytes) > FRAME_BYTES_MIN;
    case FRAME_CHALLENGE:
    case FRAME_RESPONSE:
        return from_le64(frame->challenge->number) != 0;
    case FRAME_EAGER:
        return frame->payload_bytes <= from_le32(frame->eager->message_bytes);
    case FRAME_FRAGMENT:
    case FRAME_DATA:
    case FRAME_BUNDLE:
    case FRAME_REPLY:
        return frame->payload_bytes > 0;
    case FRAME_SACK:
        return sack_valid(frame);
    case FRAME_PULL:
        return from_le64(frame->pull->wanted) != 0;
    case FRAME_ANNOUNCE:
        return from_le16(frame->announce->segment_bytes) != 0 &&
               frame->payload_bytes <= from_le64(frame->announce->message_bytes);
    case FRAME_OFFER:
        return from_le16(frame->offer->segment_bytes) != 0 && from_le64(frame->offer->bytes) != 0;
    case FRAME_GRANT:
        return from_le16(frame->grant->segment_bytes) != 0;
    case FRAME_PUT:
        return put_valid(frame);
    case FRAME_RESULT:
        return frame->payload_bytes > 0 && frame->payload_bytes % sizeof(struct frame_result) == 0;
    case FRAME_GET:
    case FRAME_ATOMIC:
    case FRAME_RESET:
    case FRAME_CLOSE:
    case FRAME_ACK:
    case FRAME_PROBE:
    case FRAME_DONE:
        return true;
    }
    return false;
}

static enum frame_verdict decode_data(const uint8_t *data, size_t bytes, struct frame *frame)
{
    const struct frame_data *header = (const struct frame_data *)(const void *)data;
    bool sealed = *data == SEALED_DATA_VERSION_WORDS;
    bool checked = *data == CHECKED_DATA_VERSION_WORDS;
    size_t head_bytes =
        sizeof *header + (sealed ? sizeof(struct frame_seal) : 0) + (checked ? sizeof(le32) : 0);

    if (bytes < head_bytes) {
        return FRAME_BAD_LENGTH;
    }
    if (header->type != FRAME_DATA) {
        return FRAME_BAD_TYPE;
    }
    *frame = (struct frame){
        .tacit = true,
        .type = FRAME_DATA,
        .destination = from_le16(header->destination),
        .key = from_le32(header->key),
        .payload_bytes = (uint32_t)(bytes - head_bytes),
        .payload = data + head_bytes,
        .seal = sealed ? (const void *)(header + 1) : NULL,
        .checksum = checked ? (const void *)(header + 1) : NULL,
        .data = header,
    };
    return fields_valid(frame) ? FRAME_OK : FRAME_BAD_FIELD;
}

/** How much may follow a frame that is longer than what Ethernet pads. */
static size_t padding_of(enum frame_type type)
{
    if (type == FRAME_CONNECT || type == FRAME_ACCEPT || type == FRAME_CHALLENGE) {
        return SIZE_MAX; /* it tests which lengths arrive */
    }
    return type >= FRAME_SEQUENCED ? FRAME_EVENED_BYTES : 0;
}

enum frame_verdict frame_decode(const uint8_t *data, size_t bytes, struct frame *frame)
{
    const struct frame_header *header = (const struct frame_header *)(const void *)data;

    if (bytes > 0 && (header->version_words == DATA_VERSION_WORDS ||
                      header->version_words == CHECKED_DATA_VERSION_WORDS ||
                      header->version_words == SEALED_DATA_VERSION_WORDS)) {
        return decode_data(data, bytes, frame);
    }
    if (bytes < sizeof *header) {
        return FRAME_BAD_LENGTH;
    }
    size_t head_bytes = sizeof *header;
    frame->seal = NULL;
    if (header->version_words != VERSION_WORDS) {
        if (header->version_words != SEALED_VERSION_WORDS) {
            return FRAME_BAD_VERSION;
        }
        frame->seal = (const void *)(header + 1);
        head_bytes += sizeof *frame->seal;
    }
    if (header->type >= sizeof shapes / sizeof *shapes || !shapes[header->type].known) {
        return FRAME_BAD_TYPE;
    }
    const struct shape *shape = &shapes[header->type];
    if (frame->seal != NULL && frame_is_never_sealed(header->type)) {
        return FRAME_BAD_TYPE;
    }

    frame->tacit = false;
    frame->type = (enum frame_type)header->type;
    frame->flags = from_le16(header->flags);
    frame->destination = from_le16(header->destination);
    frame->source = from_le16(header->source);
    frame->key = from_le32(header->key);
    frame->sequence = from_le32(header->sequence);
    frame->acknowledgement = from_le32(header->acknowledgement);
    frame->credit = from_le16(header->credit);
    frame->payload_bytes = from_le16(header->payload_bytes);

    frame->checksum = (frame->flags & FRAME_CHECKED) != 0 ? &header->checksum : NULL;
    if ((frame->flags & FRAME_FLAGS_UNKNOWN) != 0 ||
        (frame->checksum != NULL && frame->seal != NULL)) {
        return FRAME_BAD_FLAGS;
    }
    head_bytes += shape->operation_bytes;
    size_t length = head_bytes + frame->payload_bytes;
    if (length > bytes ||
        (bytes > FRAME_PADDED_BYTES && bytes - length > padding_of(frame->type))) {
        return FRAME_BAD_LENGTH;
    }
    if (!shape->may_have_payload && frame->payload_bytes != 0) {
        return FRAME_BAD_LENGTH;
    }
    /* One pointer serves every member of the union. */
    frame->connect =
        (const struct frame_connect *)(const void *)(data + head_bytes - shape->operation_bytes);
    frame->payload = data + head_bytes;
    return fields_valid(frame) ? FRAME_OK : FRAME_BAD_FIELD;
}

void frame_encode(uint8_t *data, const struct frame_fields *fields)
{
    struct frame_header *header = (struct frame_header *)(void *)data;

    *header = (struct frame_header){
        .version_words = VERSION_WORDS,
        .type = (uint8_t)fields->type,
        .destination = to_le16(fields->destination),
        .source = to_le16(fields->source),
        .key = to_le32(fields->key),
        .sequence = to_le32(fields->sequence),
        .payload_bytes = to_le16(fields->payload_bytes),
    };
}

struct frame_data frame_encode_data(uint16_t destination, uint32_t key, uint32_t message)
{
    return (struct frame_data){
        .version_words = DATA_VERSION_WORDS,
        .type = FRAME_DATA,
        .destination = to_le16(destination),
        .key = to_le32(key),
        .message = to_le32(message),
    };
}

void frame_copy_head(const struct frame *frame, uint8_t *head)
{
    const uint8_t *operation = (const uint8_t *)frame->connect;
    size_t operation_bytes = frame_operation_bytes(frame->type);

    if (frame->seal == NULL) {
        memcpy(head, frame_begin(frame), sizeof(struct frame_header) + operation_bytes);
        return;
    }
    memcpy(head, (const uint8_t *)frame->seal - sizeof(struct frame_header),
           sizeof(struct frame_header));
    *head = VERSION_WORDS;
    memcpy(head + sizeof(struct frame_header), operation, operation_bytes);
}

struct frame_seal *frame_copy_for_seal(uint8_t *copy, const uint8_t *head)
{
    size_t header_bytes = frame_header_bytes((enum frame_type)frame_type_of(head));

    memcpy(copy, head, header_bytes);
    *copy += SEAL_WORDS;
    return (void *)(copy + header_bytes);
}
