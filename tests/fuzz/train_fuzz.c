/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trains as the kernel hands them to the UDP lane: frames of a message that is expected, and of
 * anything else, of any length, from whomever. Whatever comes: what is handed out are the bytes
 * that came, in order; a frame is placed only where it belongs; and nothing that has arrived, or
 * that lies outside the target, is written again.
 */
#include "frame/frame.h"
#include "lane/train.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define TRAINS_MAX 16
#define MESSAGE 7
#define TARGET_BYTES_MAX 20000

enum {
    TRAIN_STRANGER = 0x01,
    TRAIN_ANY_LENGTH = 0x02, /* of its frames */
    TRAIN_CUT_SHORT = 0x04,  /* its last frame */
};

enum {
    HEAD_OTHER_MESSAGE = 0x80,
    HEAD_OTHER_TYPE = 0x40,
    HEAD_ANYWHERE = 0x20, /* in the message */
};

struct fuzz {
    struct script script;
    struct lane_expectation begun;       /* as it was before any train */
    struct lane_expectation expectation; /* as it is */
    uint8_t *target;                     /* exactly as long, as all memory here is */
    uint8_t *arrived;                    /* a copy of what lies there for good, ... */
    bool *here;                          /* ... and which bytes do */
    uint8_t *room;
    uint64_t next_segment;
    uint8_t noise;
};

static uint8_t take(struct fuzz *fuzz)
{
    return script_take(&fuzz->script);
}

static uint32_t take_16(struct fuzz *fuzz)
{
    return script_take_16(&fuzz->script);
}

static void *room_for(size_t bytes)
{
    void *room = calloc(1, bytes > 0 ? bytes : 1);

    require(room != NULL);
    return room;
}

static bool open_fuzz(struct fuzz *fuzz)
{
    struct lane_expectation *begun = &fuzz->begun;

    begun->head_bytes = (uint32_t)sizeof(struct frame_data) + take(fuzz) % 56;
    begun->payload_bytes = take_16(fuzz) % 3000;
    begun->frames = take(fuzz);
    begun->bytes = take_16(fuzz) % TARGET_BYTES_MAX;
    fuzz->next_segment = take(fuzz);
    begun->offset = fuzz->next_segment * begun->payload_bytes;
    begun->message = MESSAGE;
    begun->from = (struct lane_address){{1}};
    fuzz->target = room_for(begun->bytes);
    begun->target = fuzz->target;
    if (!train_can_expect(begun)) {
        free(fuzz->target);
        return false;
    }
    fuzz->expectation = *begun;
    fuzz->arrived = room_for(begun->bytes);
    fuzz->here = room_for(begun->bytes * sizeof *fuzz->here);
    fuzz->room = room_for(TRAIN_ROOM_BYTES);
    return true;
}

static void close_fuzz(struct fuzz *fuzz)
{
    free(fuzz->target);
    free(fuzz->arrived);
    free(fuzz->here);
    free(fuzz->room);
}

/* ---- what comes ---------------------------------------------------------------------------- */

/** Writes a frame of so many bytes, as far as they have room for its head. */
static void write_frame(struct fuzz *fuzz, uint8_t *frame, uint32_t bytes)
{
    uint8_t choice = take(fuzz);
    uint64_t segment = fuzz->next_segment++;
    struct frame_data head =
        frame_encode_data(1, 2, (choice & HEAD_OTHER_MESSAGE) != 0 ? MESSAGE + 1 : MESSAGE);

    if ((choice & HEAD_ANYWHERE) != 0) {
        segment = take(fuzz) + (uint64_t)(take(fuzz) % 2) * UINT32_MAX;
    }
    frame_data_set_segment(&head, (uint32_t)segment);
    if ((choice & HEAD_OTHER_TYPE) != 0) {
        head.type = FRAME_EAGER;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        frame[i] = ++fuzz->noise;
    }
    memcpy(frame, &head, bytes < sizeof head ? bytes : sizeof head);
}

/** Puts the bytes where recvmsg(2) puts them. */
static void scatter(const struct iovec *parts, unsigned count, const uint8_t *wire, uint32_t bytes)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t part = bytes < parts[i].iov_len ? bytes : (uint32_t)parts[i].iov_len;
        memcpy(parts[i].iov_base, wire, part);
        wire += part;
        bytes -= part;
    }
    require(bytes == 0);
}

/* ---- what becomes of it -------------------------------------------------------------------- */

/** From now on these bytes of the target stay as they are. */
static void note_here(struct fuzz *fuzz, uint64_t at, const uint8_t *payload, uint32_t bytes)
{
    memcpy(fuzz->target + at, payload, bytes);
    memcpy(fuzz->arrived + at, payload, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        fuzz->here[at + i] = true;
    }
}

static void check_target(const struct fuzz *fuzz)
{
    for (uint64_t i = 0; i < fuzz->begun.bytes; i++) {
        require(!fuzz->here[i] || fuzz->target[i] == fuzz->arrived[i]);
    }
}

static bool is_in_room(const struct fuzz *fuzz, const struct train_contents *contents,
                       const uint8_t *data, uint32_t bytes)
{
    return data >= fuzz->room && contents->room_bytes <= TRAIN_ROOM_BYTES &&
           data + bytes <= fuzz->room + contents->room_bytes;
}

/** Where in the target the segment of this frame belongs. @return false: it is not a whole one of
 *  the message. */
static bool find_place(const struct fuzz *fuzz, const uint8_t *wire, uint32_t bytes, uint64_t *at)
{
    const struct lane_expectation *begun = &fuzz->begun;
    struct frame_data head;

    if (bytes < begun->head_bytes) {
        return false;
    }
    memcpy(&head, wire, sizeof head);
    *at = (uint64_t)frame_data_segment(&head) * begun->payload_bytes - begun->offset;
    if (head.type != FRAME_DATA || from_le32(head.message) != MESSAGE || *at >= begun->bytes) {
        return false;
    }
    uint64_t left = begun->bytes - *at;
    return bytes - begun->head_bytes == (left < begun->payload_bytes ? left : begun->payload_bytes);
}

static void check_placed(struct fuzz *fuzz, const struct train_contents *contents,
                         const struct lane_incoming *frame, const uint8_t *wire)
{
    const uint32_t head_bytes = fuzz->begun.head_bytes;
    uint64_t at = 0;

    require(is_in_room(fuzz, contents, frame->data, head_bytes));
    require(memcmp(frame->data, wire, head_bytes) == 0);
    require(find_place(fuzz, wire, frame->bytes, &at));
    require(frame->payload == fuzz->target + at);
    require(memcmp(frame->payload, wire + head_bytes, frame->bytes - head_bytes) == 0);
    for (uint32_t i = 0; i < frame->bytes - head_bytes; i++) {
        require(!fuzz->here[at + i]);
    }
    note_here(fuzz, at, wire + head_bytes, frame->bytes - head_bytes);
}

/** A frame that was not placed; if it is what the message lacks, it is copied to its place, as the
 *  endpoint does. */
static void check_other(struct fuzz *fuzz, const struct train_contents *contents,
                        const struct lane_incoming *frame, const uint8_t *wire)
{
    uint64_t at = 0;

    require(frame->payload == NULL && is_in_room(fuzz, contents, frame->data, frame->bytes));
    require(memcmp(frame->data, wire, frame->bytes) == 0);
    if (memcmp(&frame->from, &fuzz->begun.from, sizeof frame->from) == 0 &&
        find_place(fuzz, wire, frame->bytes, &at) && !fuzz->here[at]) {
        note_here(fuzz, at, wire + fuzz->begun.head_bytes, frame->bytes - fuzz->begun.head_bytes);
    }
}

/** It has moved on, and not beyond its end. */
static void check_expectation(const struct fuzz *fuzz, const struct lane_expectation *before)
{
    const struct lane_expectation *after = &fuzz->expectation;
    uint64_t by = after->offset - before->offset;

    require(after->offset >= before->offset && by <= before->bytes);
    require(after->target == before->target + by && after->bytes == before->bytes - by);
    require(after->frames == 0 || (after->bytes > 0 && after->frames == before->frames));
}

static void check_contents(struct fuzz *fuzz, struct train_contents *contents,
                           const struct lane_incoming *placed, const struct lane_address *from,
                           const uint8_t *wire, uint32_t bytes, uint32_t frame_bytes)
{
    uint32_t at = 0;
    struct lane_incoming frame;

    for (unsigned i = 0; i < contents->placed; i++) {
        require(placed[i].bytes == (bytes - at < frame_bytes ? bytes - at : frame_bytes));
        check_placed(fuzz, contents, &placed[i], wire + at);
        at += placed[i].bytes;
    }
    for (unsigned run = 0; run < 2; run++) {
        require(contents->runs[run].bytes <= bytes - at);
        while (train_take(&contents->runs[run], from, &frame, 1) == 1) {
            require(frame.bytes == (bytes - at < frame_bytes ? bytes - at : frame_bytes));
            check_other(fuzz, contents, &frame, wire + at);
            at += frame.bytes;
        }
    }
    require(at == bytes);
}

static void receive_train(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    uint32_t frame_bytes = fuzz->begun.head_bytes + fuzz->begun.payload_bytes;
    uint32_t frames = 1 + take(fuzz) % 80;
    unsigned laid_out = 1 + take(fuzz) % (TRAIN_FRAMES_MAX + 1u);
    const struct lane_address from = {{(choice & TRAIN_STRANGER) != 0 ? 2 : 1}};
    const struct lane_expectation before = fuzz->expectation;
    struct lane_incoming placed[TRAIN_FRAMES_MAX];
    struct iovec parts[TRAIN_PARTS_MAX];
    struct train_contents contents;
    struct train train;

    if ((choice & TRAIN_ANY_LENGTH) != 0) {
        frame_bytes = 1 + take_16(fuzz) % TRAIN_BYTES_MAX;
    }
    frames = frames <= TRAIN_BYTES_MAX / frame_bytes ? frames : TRAIN_BYTES_MAX / frame_bytes;
    uint32_t bytes = frames * frame_bytes;
    if ((choice & TRAIN_CUT_SHORT) != 0) {
        bytes -= take_16(fuzz) % frame_bytes;
    }
    uint8_t *wire = room_for(bytes);
    for (uint32_t at = 0; at < bytes; at += frame_bytes) {
        write_frame(fuzz, wire + at, bytes - at < frame_bytes ? bytes - at : frame_bytes);
    }
    unsigned count = train_lay_out(&train, &fuzz->expectation, laid_out, fuzz->room, parts);
    require(count <= TRAIN_PARTS_MAX);
    scatter(parts, count, wire, bytes);
    train_sort(&train, bytes, frame_bytes, &from, &fuzz->expectation, placed, &contents);
    require(contents.placed <= laid_out && contents.placed <= TRAIN_FRAMES_MAX);
    check_expectation(fuzz, &before);
    check_contents(fuzz, &contents, placed, &from, wire, bytes, frame_bytes);
    check_target(fuzz);
    free(wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz fuzz = {.script = {data, size}};

    if (!open_fuzz(&fuzz)) {
        return 0;
    }
    for (unsigned i = 0; i < TRAINS_MAX && fuzz.script.left > 0; i++) {
        receive_train(&fuzz);
    }
    close_fuzz(&fuzz);
    return 0;
}
