/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sim_join_open(struct sim_joiner *joiner)
{
    *joiner = (struct sim_joiner){.room = malloc((size_t)SIM_JOIN_RUNS * SIM_JOIN_BYTES_MAX)};
    return joiner->room != NULL ? 0 : -ENOMEM;
}

void sim_join_close(struct sim_joiner *joiner)
{
    free(joiner->room);
}

/** A DATA header, whatever the frame's type, because a lane that cuts transmits no type. */
static struct frame_data head_of(const struct sim_segment *segment)
{
    struct frame_data came;

    memcpy(&came, segment->frame, sizeof came);
    struct frame_data head = frame_encode_data(from_le16(came.destination), from_le32(came.key),
                                               from_le32(came.message));
    frame_data_set_segment(&head, frame_data_segment(&came));
    return head;
}

static void add(struct sim_run *run, const struct sim_segment *segment)
{
    uint32_t bytes = segment->bytes - (uint32_t)sizeof(struct frame_data);

    memcpy(run->payload + run->bytes, segment->frame + sizeof(struct frame_data), bytes);
    run->bytes += bytes;
    run->segments++;
}

void sim_join_damaged(struct sim_joiner *joiner, uint32_t bytes)
{
    const struct lane_expectation *expected = &joiner->expectation;

    if (expected->frames > 0) {
        memset(expected->target, SIM_MISPLACED,
               (size_t)(bytes < expected->bytes ? bytes : expected->bytes));
    }
}

bool sim_join_begin(struct sim_joiner *joiner, const struct sim_segment *segment)
{
    if (joiner->count == SIM_JOIN_RUNS) {
        return false;
    }
    struct sim_run *run = &joiner->runs[joiner->count];
    *run = (struct sim_run){
        .head = head_of(segment),
        .from = segment->from,
        .segment_bytes = segment->segment_bytes,
        .payload = joiner->room + (size_t)joiner->count * SIM_JOIN_BYTES_MAX,
    };
    joiner->count++;
    add(run, segment);
    return true;
}

bool sim_join_append(struct sim_joiner *joiner, const struct sim_segment *segment)
{
    struct sim_run *run = &joiner->runs[joiner->count - 1];
    struct frame_data next = run->head;
    const struct frame_data head = head_of(segment);

    frame_data_set_segment(&next, frame_data_segment(&next) + run->segments);
    if (memcmp(&next, &head, sizeof next) != 0 ||
        memcmp(&run->from, &segment->from, sizeof run->from) != 0 ||
        segment->segment_bytes != run->segment_bytes ||
        run->bytes != run->segments * run->segment_bytes || /* the last one was short */
        segment->bytes - sizeof head > run->segment_bytes ||
        run->bytes + segment->bytes - sizeof head > SIM_JOIN_BYTES_MAX) {
        return false;
    }
    add(run, segment);
    return true;
}

static bool is_expected(const struct lane_expectation *expected, const struct sim_run *run)
{
    uint64_t offset = (uint64_t)frame_data_segment(&run->head) * run->segment_bytes;

    return expected->frames > 0 && from_le32(run->head.key) == expected->key &&
           from_le32(run->head.message) == expected->message && offset == expected->offset &&
           run->segment_bytes == expected->payload_bytes && run->bytes <= expected->bytes &&
           memcmp(&run->from, &expected->from, sizeof run->from) == 0;
}

uint32_t sim_join_end(struct sim_joiner *joiner, struct lane_incoming *incoming, bool *placed)
{
    struct lane_expectation *expected = &joiner->expectation;
    const struct sim_run *run = &joiner->runs[joiner->count - 1];

    *incoming = (struct lane_incoming){
        .data = (const uint8_t *)&run->head,
        .bytes = (uint32_t)sizeof run->head + run->bytes,
        .payload = run->payload,
        .segment_bytes = run->segment_bytes,
        .from = run->from,
    };
    *placed = is_expected(expected, run);
    if (*placed) {
        incoming->payload = memcpy(expected->target, run->payload, run->bytes);
        expected->target += run->bytes;
        expected->offset += run->bytes;
        expected->bytes -= run->bytes;
        expected->frames = expected->bytes > 0;
    } else if (expected->frames > 0) {
        memset(expected->target, SIM_MISPLACED, (size_t)expected->bytes);
        expected->frames = 0;
    }
    return run->segments;
}

void sim_join_release(struct sim_joiner *joiner)
{
    joiner->count = 0;
}
