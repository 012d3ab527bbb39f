/* SPDX-License-Identifier: BSD-3-Clause */
#include "tso_run.h"

#define EAGER_BYTES ((uint32_t)TSO_MESSAGE_HEAD_BYTES)
#define FRAGMENT_BYTES sizeof(struct tso_run_head)

static_assert(sizeof(struct frame_header) + sizeof(struct frame_eager) == TSO_MESSAGE_HEAD_BYTES,
              "the head of EAGER");
static_assert(FRAGMENT_BYTES == sizeof(struct frame_header) + sizeof(struct frame_fragment),
              "no padding");

static uint32_t length_of(const struct lane_outgoing *frame)
{
    return frame->head_bytes + frame->payload_bytes;
}

static const struct frame_header *header_of(const struct lane_outgoing *frame)
{
    return (const struct frame_header *)(const void *)frame->head;
}

static const struct frame_fragment *fragment_of(const struct lane_outgoing *frame)
{
    return (const struct frame_fragment *)(const void *)(frame->head + sizeof(struct frame_header));
}

static const struct frame_eager *eager_of(const struct lane_outgoing *frame)
{
    return (const struct frame_eager *)(const void *)(frame->head + sizeof(struct frame_header));
}

/** Is this the first frame of a message with others? */
static bool begins_message(const struct lane_outgoing *frame)
{
    return header_of(frame)->type == FRAME_EAGER &&
           from_le32(eager_of(frame)->message_bytes) > length_of(frame) - EAGER_BYTES;
}

/** Is all of this FRAGMENT's head implied by its place? */
static bool needs_no_head(const struct lane_outgoing *frame)
{
    return header_of(frame)->type == FRAME_FRAGMENT && from_le16(header_of(frame)->flags) == 0;
}

static void add_part(struct tso_run *run, const uint8_t *data, uint32_t bytes)
{
    struct iovec *last = run->part_count > 1 ? &run->parts[run->part_count - 1] : NULL;

    if (bytes == 0) {
        return;
    }
    if (last != NULL && (const uint8_t *)last->iov_base + last->iov_len == data) {
        last->iov_len += bytes;
    } else {
        run->parts[run->part_count++] = (struct iovec){(void *)(uintptr_t)data, bytes};
    }
    run->bytes += bytes;
}

/** Adds a frame without the first `without` bytes of its head. */
static void add(struct tso_run *run, const struct lane_outgoing *frame, uint32_t without)
{
    add_part(run, frame->head + without, frame->head_bytes - without);
    add_part(run, frame->payload, frame->payload_bytes);
    run->frames++;
}

/** Are all its segments full, so that another can follow? */
static bool is_whole(const struct tso_run *run)
{
    return run->bytes == run->frames * run->segment_bytes;
}

/** Is it the next frame of the message? */
static bool follows(const struct tso_run *run, const struct lane_outgoing *frame)
{
    return needs_no_head(frame) && from_le16(fragment_of(frame)->message) == run->name &&
           from_le64(fragment_of(frame)->offset) + EAGER_BYTES == run->offset + run->bytes &&
           is_whole(run) && length_of(frame) - FRAGMENT_BYTES <= run->segment_bytes;
}

/** Begins with a message, or within one. @return false: neither, or its segments do not begin with
 *  its EAGER. */
static bool begin_message(struct tso_run *run, const struct lane_outgoing *first,
                          const struct lane_outgoing *second)
{
    run->kind = TSO_MESSAGE;
    if (begins_message(first)) {
        run->segment_bytes = length_of(first);
        run->name = from_le16(eager_of(first)->message);
        add(run, first, 0);
        return follows(run, second);
    }
    if (!needs_no_head(first)) {
        return false;
    }
    uint64_t offset = from_le64(fragment_of(first)->offset) + EAGER_BYTES;
    run->segment_bytes = length_of(first) - (uint32_t)FRAGMENT_BYTES;
    if (run->segment_bytes == 0 || offset % run->segment_bytes != 0 || offset > UINT32_MAX) {
        return false;
    }
    run->offset = (uint32_t)offset;
    run->sequence -= run->offset / run->segment_bytes;
    run->name = from_le16(fragment_of(first)->message);
    add(run, first, FRAGMENT_BYTES);
    return follows(run, second);
}

static void clear(struct tso_run *run, const struct lane_outgoing *first)
{
    const struct frame_header *header = header_of(first);

    run->kind = TSO_FRAMES;
    run->frames = 0;
    run->destination = from_le16(header->destination);
    run->key = from_le32(header->key);
    run->sequence = from_le32(header->sequence);
    run->name = 0;
    run->offset = 0;
    run->segment_bytes = length_of(first);
    run->bytes = 0;
    run->part_count = 1;
}

void tso_run_load(struct tso_run *run, const struct lane_outgoing *frames, unsigned count,
                  unsigned most)
{
    count = count < most ? count : most;
    clear(run, &frames[0]);
    if (count > 1 && begin_message(run, &frames[0], &frames[1])) {
        for (unsigned i = 1;
             i < count && follows(run, &frames[i]) &&
             run->bytes + length_of(&frames[i]) - FRAGMENT_BYTES <= TSO_SENT_BYTES_MAX;
             i++) {
            add(run, &frames[i], FRAGMENT_BYTES);
        }
        return;
    }
    clear(run, &frames[0]);
    add(run, &frames[0], 0);
    for (unsigned i = 1;
         i < count && is_whole(run) && length_of(&frames[i]) <= run->segment_bytes &&
         !begins_message(&frames[i]) && run->bytes + length_of(&frames[i]) <= TSO_SENT_BYTES_MAX;
         i++) {
        add(run, &frames[i], 0);
    }
}

/** The head that the FRAGMENT at this segment lacks. */
static void write_head(struct tso_run_head *head, const struct tso_segments *segments,
                       uint32_t index, uint32_t bytes)
{
    frame_encode((uint8_t *)head, &(struct frame_fields){
                                      .type = FRAME_FRAGMENT,
                                      .destination = segments->destination,
                                      .key = segments->key,
                                      .sequence = segments->message + index,
                                      .payload_bytes = (uint16_t)bytes,
                                  });
    head->fragment = (struct frame_fragment){
        .message = to_le16(segments->name),
        .offset = to_le64((uint64_t)index * segments->segment_bytes - EAGER_BYTES),
    };
}

unsigned tso_run_split(const struct tso_segments *segments, const uint8_t *payload,
                       const struct lane_address *from, struct tso_run_head *heads,
                       struct lane_incoming *frames, unsigned count)
{
    uint32_t index = (uint32_t)(segments->offset / segments->segment_bytes);
    unsigned made = 0;

    for (uint32_t at = 0; at < segments->bytes && made < count; made++, index++) {
        uint32_t left = segments->bytes - at;
        uint32_t bytes = left < segments->segment_bytes ? left : segments->segment_bytes;
        bool implied = segments->kind == TSO_MESSAGE && index > 0;
        frames[made] = (struct lane_incoming){
            .data = payload + at, .bytes = bytes, .tacit = implied, .from = *from};
        if (implied) {
            write_head(&heads[made], segments, index, bytes);
            frames[made].data = (const uint8_t *)&heads[made];
            frames[made].bytes = (uint32_t)FRAGMENT_BYTES + bytes;
            frames[made].payload = payload + at;
        }
        at += bytes;
    }
    return made;
}
