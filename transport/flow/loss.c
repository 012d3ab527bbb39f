/* SPDX-License-Identifier: BSD-3-Clause */
#include "loss.h"

#include "flow/flow.h"

#include <assert.h>

/** Frames behind a gap that prove a loss on a way that keeps the order. */
#define DUPLICATE_THRESHOLD 3

/** Round trips with losses after which the reordering window is as at first. */
#define CALM_ROUND_TRIPS 16

/** Was a frame sent after another? */
static bool sent_after(uint64_t sent_ns, uint32_t sequence, uint64_t other_ns, uint32_t other)
{
    return sent_ns > other_ns || (sent_ns == other_ns && sequence_before(other, sequence));
}

static_assert(sizeof((struct loss){0}.ways) / sizeof(struct loss_way) == FLOW_WAYS, "each way");

static void note_evidence(struct loss_way *way, uint64_t sent_ns, uint32_t sequence,
                          uint64_t now_ns)
{
    if (sent_after(sent_ns, sequence, way->evidence_ns, way->evidence_sequence)) {
        way->evidence_ns = sent_ns;
        way->evidence_sequence = sequence;
        way->evidence_rtt_ns = rtt_between(sent_ns, now_ns);
    }
}

/** A retransmission was spurious: an earlier copy was only late. */
static void note_spurious(struct flow *flow, uint64_t now_ns)
{
    struct loss *loss = &flow->loss;

    loss->spurious_frames++;
    loss->reordering = true;
    loss->calm = 0;
    if (now_ns - loss->spurious_ns >= flow->rtt.smoothed_ns && loss->quarters < UINT8_MAX) {
        loss->spurious_ns = now_ns;
        loss->quarters++;
    }
}

uint64_t loss_arrived(struct flow *flow, const struct flow_frame *frame, uint32_t sequence,
                      uint64_t now_ns)
{
    struct loss *loss = &flow->loss;
    struct loss_way *way = &loss->ways[frame->way];
    uint64_t rtt_ns = rtt_between(frame->sent_ns, now_ns);

    if (frame->transmissions > 1) {
        if (rtt_ns < flow->rtt.minimum_ns) {
            note_spurious(flow, now_ns);
            return 0; /* of an earlier copy, whose send time is lost */
        }
        rtt_ns = 0;
    } else if (sequence_before(sequence, way->forward)) {
        loss->reordering = true;
    }
    if (!sequence_before(sequence, way->forward)) {
        way->forward = sequence + 1;
    }
    note_evidence(way, frame->sent_ns, sequence, now_ns);
    return rtt_ns;
}

void loss_probe_arrived(struct flow *flow, uint64_t now_ns)
{
    for (unsigned way = 0; way < FLOW_WAYS; way++) {
        if ((flow->probed_ways >> way & 1) != 0) {
            note_evidence(&flow->loss.ways[way], flow->probed_ns, flow->probed_highest, now_ns);
        }
    }
}

static uint64_t reordering_window_ns(const struct flow *flow)
{
    const struct loss *loss = &flow->loss;

    if (!loss->reordering && flow->delivered_frames >= DUPLICATE_THRESHOLD) {
        return 0;
    }
    uint64_t quarters = loss->quarters > 0 ? loss->quarters : 1;
    uint64_t window_ns = quarters * flow->rtt.minimum_ns / 4;
    return window_ns < flow->rtt.smoothed_ns ? window_ns : flow->rtt.smoothed_ns;
}

static void count_calm(struct flow *flow, uint64_t now_ns)
{
    struct loss *loss = &flow->loss;

    if (now_ns - loss->counted_ns < flow->rtt.smoothed_ns) {
        return;
    }
    loss->counted_ns = now_ns;
    if (++loss->calm >= CALM_ROUND_TRIPS) {
        loss->calm = 0;
        loss->quarters = 1;
    }
}

uint32_t loss_detect(struct flow *flow, uint64_t now_ns)
{
    struct loss *loss = &flow->loss;
    uint32_t end = sequence_before(flow->reported, flow->highest) ? flow->reported : flow->highest;
    uint64_t window_ns = reordering_window_ns(flow);
    struct window_set missing;
    uint32_t found = 0;

    loss->check_at_ns = 0;
    if (!sequence_before(flow->first, end)) {
        return 0;
    }
    for (unsigned i = 0; i < WINDOW_SET_WORDS; i++) {
        missing.words[i] = ~(flow->delivered.words[i] | flow->lost.words[i]);
    }
    for (uint32_t sequence = window_set_next(&missing, flow->first, end); sequence != end;
         sequence = window_set_next(&missing, sequence + 1, end)) {
        const struct flow_frame *frame = flow_ring_at(flow, sequence);
        const struct loss_way *way = &loss->ways[frame->way];
        uint64_t lost_at_ns = frame->sent_ns + way->evidence_rtt_ns + window_ns;
        if (!sent_after(way->evidence_ns, way->evidence_sequence, frame->sent_ns, sequence)) {
            continue;
        }
        if (now_ns >= lost_at_ns) {
            window_set_add(&flow->lost, sequence);
            found++;
        } else if (loss->check_at_ns == 0 || lost_at_ns < loss->check_at_ns) {
            loss->check_at_ns = lost_at_ns;
        }
    }
    flow->lost_frames += found;
    assert(flow->next - flow->first <= FLOW_WINDOW_FRAMES); /* else two would share a place */
    assert(flow->delivered_frames + flow->lost_frames <= flow->highest - flow->first);
    if (found > 0) {
        count_calm(flow, now_ns);
        congestion_lost(&flow->congestion, now_ns, &flow->rtt);
    }
    return found;
}
