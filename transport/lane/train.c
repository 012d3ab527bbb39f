/* SPDX-License-Identifier: BSD-3-Clause */
#include "train.h"

#include "frame/frame.h"

#include <string.h>

bool train_can_expect(const struct lane_expectation *expectation)
{
    return expectation->frames > 0 && expectation->target != NULL &&
           expectation->head_bytes >= sizeof(struct frame_data) &&
           expectation->head_bytes <= TRAIN_HEAD_BYTES_MAX && expectation->payload_bytes > 0 &&
           expectation->head_bytes + expectation->payload_bytes <= TRAIN_BYTES_MAX &&
           expectation->bytes > 0;
}

/** Payload of the next expected frame. */
static uint32_t payload_of_next(const struct lane_expectation *expectation)
{
    return expectation->bytes < expectation->payload_bytes ? (uint32_t)expectation->bytes
                                                           : expectation->payload_bytes;
}

/** Moves the expectation on by `by` bytes; at the end nothing is expected. */
static void move_on(struct lane_expectation *expectation, uint64_t by)
{
    if (by >= expectation->bytes) {
        expectation->frames = 0;
        return;
    }
    expectation->bytes -= by;
    expectation->offset += by;
    expectation->target += by;
}

unsigned train_lay_out(struct train *train, const struct lane_expectation *expectation,
                       unsigned frames, uint8_t *room, struct iovec *parts)
{
    struct lane_expectation left = *expectation;
    unsigned count = 0;

    train->expected = left;
    train->expected.frames = 0;
    train->laid_out_bytes = 0;
    train->heads = room;
    while (left.frames > 0 && train->expected.frames < frames &&
           train->expected.frames < TRAIN_FRAMES_MAX && train->laid_out_bytes < TRAIN_BYTES_MAX) {
        uint32_t payload_bytes = payload_of_next(&left);
        parts[count++] = (struct iovec){room, left.head_bytes};
        parts[count++] = (struct iovec){left.target, payload_bytes};
        room += left.head_bytes;
        train->expected.frames++;
        train->laid_out_bytes += left.head_bytes + payload_bytes;
        move_on(&left, payload_bytes);
    }
    train->rest = room;
    train->copies = room + TRAIN_BYTES_MAX + 1;
    parts[count++] = (struct iovec){train->rest, TRAIN_BYTES_MAX};
    return count;
}

/** Is this the head of a frame of the expected message? */
static bool is_of_message(const uint8_t *data, const struct lane_expectation *expectation)
{
    const struct frame_data *head = (const struct frame_data *)(const void *)data;

    return head->type == FRAME_DATA && from_le32(head->message) == expectation->message;
}

/** The offset in the message of the frame with this head. */
static uint64_t offset_of(const uint8_t *data, const struct lane_expectation *expectation)
{
    const struct frame_data *head = (const struct frame_data *)(const void *)data;

    return (uint64_t)frame_data_segment(head) * expectation->payload_bytes;
}

/** Takes the frames at the front of the train that are exactly as expected. @return their bytes in
 *  the train. */
static uint32_t take_placed(const struct train *train, uint32_t bytes, uint32_t frame_bytes,
                            const struct lane_address *from, struct lane_expectation *expectation,
                            struct lane_incoming *frames, unsigned *placed)
{
    uint32_t at = 0;

    while (at < bytes && *placed < train->expected.frames) {
        const uint8_t *head = train->heads + (size_t)*placed * train->expected.head_bytes;
        uint32_t payload_bytes = payload_of_next(expectation);
        uint32_t length = bytes - at < frame_bytes ? bytes - at : frame_bytes;

        /* It has the expected length, as have all before it, so its head is at the expected
         * place. */
        if (length != expectation->head_bytes + payload_bytes ||
            !is_of_message(head, expectation) ||
            offset_of(head, expectation) != expectation->offset) {
            break;
        }
        frames[*placed] = (struct lane_incoming){
            .data = head, .bytes = length, .payload = expectation->target, .from = *from};
        ++*placed;
        at += length;
        move_on(expectation, payload_bytes);
    }
    return at;
}

/** Copies bytes [begin, end) of the train from their places to contiguous memory. */
static void copy_out(const struct train *train, uint32_t begin, uint32_t end, uint8_t *copy)
{
    const struct lane_expectation *expected = &train->expected;
    uint32_t full_bytes = expected->head_bytes + expected->payload_bytes;

    while (begin < end) {
        uint32_t frame = begin / full_bytes;
        uint32_t within = begin % full_bytes;
        const uint8_t *source;
        uint32_t bytes;

        if (begin >= train->laid_out_bytes) {
            source = train->rest + (begin - train->laid_out_bytes);
            bytes = end - begin;
        } else if (within < expected->head_bytes) {
            source = train->heads + (size_t)frame * expected->head_bytes + within;
            bytes = expected->head_bytes - within;
        } else {
            uint64_t payload_at =
                (uint64_t)frame * expected->payload_bytes + (within - expected->head_bytes);
            source = expected->target + payload_at;
            bytes = full_bytes - within;
            if (bytes > train->laid_out_bytes - begin) {
                bytes = train->laid_out_bytes - begin; /* the last place is shorter */
            }
        }
        bytes = bytes < end - begin ? bytes : end - begin;
        memcpy(copy, source, bytes);
        copy += bytes;
        begin += bytes;
    }
}

/** Skips frames of the expected message that were not placed: their places must not be written any
 *  more. */
static void move_past(struct train_run run, const struct lane_address *from,
                      struct lane_expectation *expectation)
{
    struct lane_incoming frame;

    while (expectation->frames > 0 && train_take(&run, from, &frame, 1) > 0) {
        if (frame.bytes <= expectation->head_bytes || !is_of_message(frame.data, expectation)) {
            continue;
        }
        uint64_t offset = offset_of(frame.data, expectation);
        uint64_t bytes = frame.bytes - expectation->head_bytes;
        uint64_t ahead = offset - expectation->offset;
        uint64_t behind = expectation->offset - offset;
        if (ahead < expectation->bytes) {
            move_on(expectation, ahead + bytes);
        } else if (behind < bytes) {
            move_on(expectation, bytes - behind);
        }
    }
}

void train_sort(const struct train *train, uint32_t bytes, uint32_t frame_bytes,
                const struct lane_address *from, struct lane_expectation *expectation,
                struct lane_incoming *frames, struct train_contents *contents)
{
    uint32_t at = 0;
    uint32_t copied = 0;
    bool from_expected =
        train->expected.frames > 0 && memcmp(from, &train->expected.from, sizeof *from) == 0;

    *contents = (struct train_contents){0};
    if (from_expected) {
        at = take_placed(train, bytes, frame_bytes, from, expectation, frames, &contents->placed);
    }
    if (at < bytes && at < train->laid_out_bytes) {
        /* Whole frames; the last one may end in `rest`. */
        uint32_t laid_out = (train->laid_out_bytes - at + frame_bytes - 1) / frame_bytes;
        copied = bytes - at < laid_out * frame_bytes ? bytes - at : laid_out * frame_bytes;
        copy_out(train, at, at + copied, train->copies);
        contents->runs[0] = (struct train_run){train->copies, copied, frame_bytes};
    }
    if (at + copied < bytes) {
        contents->runs[1] = (struct train_run){train->rest + (at + copied - train->laid_out_bytes),
                                               bytes - at - copied, frame_bytes};
    }
    if (from_expected) {
        move_past(contents->runs[0], from, expectation);
        move_past(contents->runs[1], from, expectation);
    }
    const uint8_t *end = train->rest;
    if (bytes > train->laid_out_bytes) {
        end += bytes - train->laid_out_bytes;
    }
    if (copied > 0) {
        end = train->copies + copied;
    }
    contents->room_bytes = (size_t)(end - train->heads);
}

unsigned train_take(struct train_run *run, const struct lane_address *from,
                    struct lane_incoming *frames, unsigned count)
{
    unsigned taken = 0;

    while (taken < count && run->bytes > 0) {
        uint32_t length = run->bytes < run->frame_bytes ? run->bytes : run->frame_bytes;
        frames[taken].data = run->data;
        frames[taken].bytes = length;
        frames[taken].payload = NULL;
        frames[taken].from = *from;
        run->data += length;
        run->bytes -= length;
        taken++;
    }
    return taken;
}
