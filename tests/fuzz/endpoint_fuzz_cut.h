/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint_fuzz_cut.h - the second lane of endpoint_fuzz.c: one that cuts (lane.h). Frames wait in
 * it until the endpoint looks, so several can be handed out at once; joined DATA is put where it is
 * expected, and what turns out to belong elsewhere has been written there all the same.
 */
#ifndef BEOWIRE_TESTS_ENDPOINT_FUZZ_CUT_H
#define BEOWIRE_TESTS_ENDPOINT_FUZZ_CUT_H

#include "frame/frame.h"
#include "fuzz.h"
#include "lane/lane.h"

#include <stdlib.h>
#include <string.h>

#define CUT_FRAMES 256     /* that wait at once; more are lost */
#define CUT_MISPLACED 0xA5 /* what is written where something else was expected */

/** Each part has exactly its length, so that a sanitizer sees what is outside. */
struct cut_frame {
    struct lane_incoming incoming;
    uint8_t *head;
    uint8_t *payload; /* NULL: behind the head */
    uint32_t payload_bytes;
    uint32_t sequence;
    bool sequenced; /* and may be believed */
};

struct cut_lane {
    struct lane lane; /* first: the endpoint knows only this */
    struct lane_expectation expectation;
    struct cut_frame frames[CUT_FRAMES];
    unsigned count;
    unsigned given; /* of these, handed out until release() */
};

static struct cut_lane *cut_of(struct lane *lane)
{
    return (struct cut_lane *)(void *)lane;
}

static uint8_t *copy_of(const uint8_t *bytes, uint32_t count)
{
    uint8_t *copy = malloc(count > 0 ? count : 1);

    require(copy != NULL);
    return memcpy(copy, bytes, count);
}

/** Lets a frame wait: `incoming` says all but where its bytes are kept, which are copied.
 *  @param head_bytes at incoming->data; the others follow them or are at incoming->payload
 *  @param believable false: whoever takes it is wrong */
static void cut_add(struct cut_lane *cut, const struct lane_incoming *incoming, uint32_t head_bytes,
                    bool believable)
{
    if (cut->count == CUT_FRAMES) {
        return;
    }
    struct cut_frame *frame = &cut->frames[cut->count++];
    *frame = (struct cut_frame){.incoming = *incoming};
    if (incoming->payload == NULL) {
        frame->head = copy_of(incoming->data, incoming->bytes);
    } else {
        frame->head = copy_of(incoming->data, head_bytes);
        frame->payload_bytes = incoming->bytes - head_bytes;
        frame->payload = copy_of(incoming->payload, frame->payload_bytes);
    }
    struct frame decoded;
    if (frame_decode(frame->head, incoming->bytes, &decoded) == FRAME_OK) {
        frame->sequenced = believable && decoded.type >= FRAME_SEQUENCED;
        frame->sequence = decoded.sequence;
    }
    frame->incoming.data = frame->head;
    frame->incoming.payload = frame->payload;
}

/** Is there a frame of this sequence that comes first? */
static bool cut_waits(const struct cut_lane *cut, uint32_t sequence)
{
    for (unsigned i = 0; i < cut->count; i++) {
        if (cut->frames[i].sequenced && cut->frames[i].sequence == sequence) {
            return true;
        }
    }
    return false;
}

static bool cut_is_expected(const struct lane_expectation *expected, const struct cut_frame *frame)
{
    const struct frame_data *head = (const struct frame_data *)(const void *)frame->head;
    const struct lane_incoming *incoming = &frame->incoming;

    return from_le32(head->key) == expected->key && from_le32(head->message) == expected->message &&
           frame_data_segment(head) * (uint64_t)incoming->segment_bytes == expected->offset &&
           incoming->segment_bytes == expected->payload_bytes &&
           frame->payload_bytes <= expected->bytes &&
           memcmp(&incoming->from, &expected->from, sizeof incoming->from) == 0;
}

/** Puts joined DATA where it is expected; if it is something else, it was put there, too. */
static void cut_place(struct cut_lane *cut, const struct cut_frame *frame,
                      struct lane_incoming *incoming)
{
    struct lane_expectation *expected = &cut->expectation;

    if (incoming->segment_bytes == 0 || expected->frames == 0 || frame->payload == NULL) {
        return;
    }
    if (!cut_is_expected(expected, frame)) {
        memset(expected->target, CUT_MISPLACED, (size_t)expected->bytes);
        expected->frames = 0;
        return;
    }
    incoming->payload = memcpy(expected->target, frame->payload, frame->payload_bytes);
    expected->target += frame->payload_bytes;
    expected->offset += frame->payload_bytes;
    expected->bytes -= frame->payload_bytes;
    expected->frames = expected->bytes > 0;
}

static unsigned cut_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct cut_lane *cut = cut_of(lane);

    require(cut->given == 0);
    for (; cut->given < count && cut->given < cut->count; cut->given++) {
        frames[cut->given] = cut->frames[cut->given].incoming;
        cut_place(cut, &cut->frames[cut->given], &frames[cut->given]);
    }
    return cut->given;
}

static void cut_release(struct lane *lane)
{
    struct cut_lane *cut = cut_of(lane);

    for (unsigned i = 0; i < cut->given; i++) {
        free(cut->frames[i].head);
        free(cut->frames[i].payload);
    }
    cut->count -= cut->given;
    memmove(cut->frames, cut->frames + cut->given, cut->count * sizeof cut->frames[0]);
    cut->given = 0;
}

static void cut_expect(struct lane *lane, const struct lane_expectation *expectation)
{
    cut_of(lane)->expectation = *expectation;
}

#endif /* BEOWIRE_TESTS_ENDPOINT_FUZZ_CUT_H */
