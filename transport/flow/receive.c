/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiving half of flow.h. */
#include "flow.h"

#include <assert.h>

/** The peer has sent the sequences before `end`. */
static void note_seen(struct flow *flow, uint32_t end)
{
    if (sequence_before(flow->seen, end)) {
        flow->seen = end;
    }
}

/** Go-back-N: notes the gap before `sequence`, unless that has just been reported. */
static void note_gap(struct flow *flow, uint32_t sequence, uint64_t now_ns)
{
    uint64_t patience_ns = 2 * flow->rtt.smoothed_ns;

    patience_ns = patience_ns > FLOW_GAP_REPEAT_NS ? patience_ns : FLOW_GAP_REPEAT_NS;
    if (!flow->gap_reported || flow->gap_sequence != flow->expected ||
        now_ns - flow->gap_ns >= patience_ns) {
        note_seen(flow, sequence + 1);
        flow->acknowledge_now = true;
    }
}

enum flow_verdict flow_check(struct flow *flow, const struct frame *frame, uint64_t now_ns)
{
    uint32_t sequence = frame->sequence;

    if (sequence_before(sequence, flow->expected)) {
        flow->duplicates++;
        flow->acknowledge_now = true; /* our acknowledgement was lost, or crossed it */
        return FLOW_DUPLICATE;
    }
    if (!sequence_before(sequence, flow->granted)) {
        /* No memory is reserved for it, so it cannot be kept, only handled if it needs none. */
        return frame_is_exempt(frame->type) && sequence == flow->expected ? FLOW_NEXT
                                                                          : FLOW_OVERRUN;
    }
    if (sequence == flow->expected) {
        return FLOW_NEXT;
    }
    if (flow->go_back_n) {
        note_gap(flow, sequence, now_ns);
        return FLOW_GAP;
    }
    if (window_set_has(&flow->kept, sequence)) {
        flow->duplicates++;
        flow->acknowledge_now = true;
        return FLOW_DUPLICATE;
    }
    /* Only the next frame of a row behind the gap leaves the missing frames as they are. */
    flow->acknowledge_now = flow->acknowledge_now || sequence != flow->seen;
    window_set_add(&flow->kept, sequence);
    note_seen(flow, sequence + 1);
    assert(flow->seen - flow->expected <= FLOW_WINDOW_FRAMES); /* or two would share a bit */
    flow->kept_frames++;
    flow_count_unacknowledged(flow, frame, now_ns);
    return FLOW_KEEP;
}

void flow_probed(struct flow *flow, const struct frame *frame)
{
    uint32_t number = from_le32(frame->probe->number);

    flow->acknowledge_now = true;
    if (sequence_before(flow->probe_seen, number)) {
        flow->probe_seen = number;
    }
    /* Exempt frames may exceed the credit, but never the window. */
    if (!sequence_before(flow->expected + FLOW_WINDOW_FRAMES, frame->sequence)) {
        note_seen(flow, frame->sequence);
    }
}

static void told(struct flow *flow)
{
    flow->unacknowledged = 0;
    flow->acknowledge_now = false;
}

void flow_stamp(struct flow *flow, uint8_t *head, uint16_t flags)
{
    frame_stamp(head, flags, flow->expected, (uint16_t)(flow->granted & 0xFFFFu));
    flow->granted_sent = flow->granted;
    if (!flow_has_gap(flow)) {
        told(flow);
    }
}

void flow_stamp_sack(struct flow *flow, uint8_t *head, struct frame_sack *sack, uint64_t now_ns)
{
    flow_stamp(flow, head, 0);
    sack->upto = to_le32(flow->seen);
    sack->probe = to_le32(flow->probe_seen);
    window_set_to_wire(&flow->kept, flow->expected + 1, sack->received);
    told(flow);
    flow->gaps++;
    if (flow->go_back_n) {
        flow->gap_reported = true;
        flow->gap_sequence = flow->expected;
        flow->gap_ns = now_ns;
        flow->seen =
            flow->expected; /* report it once: frames that fill the gap are no new evidence */
    }
}
