/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow.h"

#include <assert.h>

static_assert((FLOW_WINDOW_FRAMES & (FLOW_WINDOW_FRAMES - 1)) == 0, "used as a mask");
static_assert(FLOW_WINDOW_FRAMES < 0x8000, "credit is 16 bits of a sequence");

static struct flow_frame *ring_at(const struct flow *flow, uint32_t sequence)
{
    return flow->ring[sequence % FLOW_WINDOW_FRAMES];
}

void flow_start(struct flow *flow, uint32_t granted, uint32_t limit)
{
    *flow = (struct flow){.granted = granted, .granted_sent = granted, .limit = limit};
}

static uint64_t timeout_ns(const struct flow *flow)
{
    uint64_t timeout = flow->srtt_ns + 4 * flow->rttvar_ns;

    if (timeout < FLOW_RTO_MIN_NS) {
        timeout = FLOW_RTO_MIN_NS;
    }
    if (timeout > FLOW_RTO_MAX_NS) {
        timeout = FLOW_RTO_MAX_NS;
    }
    unsigned doublings = flow->backoff < 16 ? flow->backoff : 16;
    timeout <<= doublings;
    return timeout < FLOW_BACKOFF_MAX_NS ? timeout : FLOW_BACKOFF_MAX_NS;
}

/** Is there anything that only an answer of the peer can move on? */
static bool awaits_answer(const struct flow *flow)
{
    return flow->first != flow->highest || flow->cursor != flow->next;
}

static void restart_timer(struct flow *flow, uint64_t now_ns)
{
    flow->watching = false;
    flow->timeout_at_ns = awaits_answer(flow) ? now_ns + timeout_ns(flow) : 0;
}

void flow_transmit(struct flow *flow, uint64_t now_ns, const struct flow_wire *wire)
{
    struct flow_frame *batch[FLOW_BATCH_FRAMES];

    while (flow->cursor != flow->next && sequence_before(flow->cursor, flow->limit)) {
        unsigned count = 0;
        uint32_t sequence = flow->cursor;

        while (count < FLOW_BATCH_FRAMES && sequence != flow->next &&
               sequence_before(sequence, flow->limit)) {
            struct flow_frame *frame = ring_at(flow, sequence);
            bool again = sequence_before(sequence, flow->highest);
            flow_stamp(flow, frame->head, again ? FRAME_RETRANSMITTED : 0);
            batch[count++] = frame;
            sequence++;
        }
        unsigned taken = wire->send(wire->context, batch, count);
        if (taken == 0) {
            break;
        }
        uint32_t end = flow->cursor + taken;
        flow->sent_frames += taken;
        if (sequence_before(flow->cursor, flow->highest)) {
            uint32_t again =
                sequence_before(end, flow->highest) ? taken : flow->highest - flow->cursor;
            flow->retransmitted_frames += again;
        }
        if (sequence_before(flow->highest, end)) {
            if (flow->timed_ns == 0) {
                flow->timed_ns = now_ns;
                flow->timed_sequence = flow->highest;
            }
            flow->highest = end;
        }
        flow->cursor = end;
        if (taken < count) {
            break;
        }
    }
    if (awaits_answer(flow)) {
        if (flow->waiting_since_ns == 0) {
            flow->waiting_since_ns = now_ns;
        }
        if (flow->timeout_at_ns == 0 || flow->watching) {
            restart_timer(flow, now_ns);
        }
    }
}

/** RFC 6298, section 2, with the gains of Jacobson. */
static void measure_round_trip(struct flow *flow, uint64_t sample_ns)
{
    if (flow->srtt_ns == 0) {
        flow->srtt_ns = sample_ns > 0 ? sample_ns : 1;
        flow->rttvar_ns = sample_ns / 2;
        return;
    }
    uint64_t deviation =
        sample_ns > flow->srtt_ns ? sample_ns - flow->srtt_ns : flow->srtt_ns - sample_ns;
    flow->rttvar_ns = (3 * flow->rttvar_ns + deviation) / 4;
    flow->srtt_ns = (7 * flow->srtt_ns + sample_ns) / 8;
    if (flow->srtt_ns == 0) {
        flow->srtt_ns = 1;
    }
}

static void go_back(struct flow *flow, uint64_t now_ns)
{
    uint64_t patience_ns = flow->srtt_ns > FLOW_GAP_REPEAT_NS ? flow->srtt_ns : FLOW_GAP_REPEAT_NS;

    if (flow->first == flow->highest) {
        return; /* nothing is missing that we have sent */
    }
    if (flow->went_back_ns != 0 && flow->went_back_to == flow->first &&
        now_ns - flow->went_back_ns < patience_ns) {
        return; /* that gap is being filled */
    }
    flow->went_back_ns = now_ns;
    flow->went_back_to = flow->first;
    flow->cursor = flow->first;
    flow->timed_ns = 0; /* Karn: an answer may be to either copy */
    restart_timer(flow, now_ns);
}

bool flow_acknowledged(struct flow *flow, const struct frame *frame, uint64_t now_ns,
                       const struct flow_wire *wire)
{
    uint32_t acknowledgement = frame->acknowledgement;
    uint32_t limit =
        acknowledgement + (uint16_t)(frame->credit - (uint16_t)(acknowledgement & 0xFFFFu));

    if (sequence_before(flow->highest, acknowledgement)) {
        return false; /* acknowledges what was never sent */
    }
    if (sequence_before(acknowledgement, flow->first)) {
        return true; /* overtaken by a later one */
    }
    /* Anything the peer says now is an answer. */
    flow->waiting_since_ns = 0;
    if (sequence_before(flow->limit, limit) && limit - acknowledgement < 0x8000u) {
        flow->limit = limit;
    }
    if (flow->timed_ns != 0 && sequence_before(flow->timed_sequence, acknowledgement)) {
        measure_round_trip(flow, now_ns - flow->timed_ns);
        flow->timed_ns = 0;
    }
    if (acknowledgement != flow->first) {
        while (flow->first != acknowledgement) {
            struct flow_frame *done = ring_at(flow, flow->first);
            flow->first++;
            wire->released(wire->context, done);
        }
        if (sequence_before(flow->cursor, flow->first)) {
            flow->cursor = flow->first;
        }
        flow->backoff = 0;
        restart_timer(flow, now_ns);
    }
    if ((frame->flags & FRAME_GAP) != 0) {
        go_back(flow, now_ns);
    }
    if (!awaits_answer(flow)) {
        flow->timeout_at_ns = 0;
    }
    return true;
}

enum flow_verdict flow_check(struct flow *flow, const struct frame *frame, uint64_t now_ns)
{
    if (frame->sequence == flow->expected) {
        if (!sequence_before(frame->sequence, flow->granted)) {
            return FLOW_OVERRUN;
        }
        return FLOW_NEXT;
    }
    if (sequence_before(frame->sequence, flow->expected)) {
        flow->duplicates++;
        flow->acknowledge_now = true; /* our acknowledgement was lost, or crossed it */
        return FLOW_DUPLICATE;
    }
    uint64_t patience_ns =
        2 * flow->srtt_ns > FLOW_GAP_REPEAT_NS ? 2 * flow->srtt_ns : FLOW_GAP_REPEAT_NS;
    if (!flow->gap_seen || flow->gap_sequence != flow->expected ||
        now_ns - flow->gap_ns >= patience_ns) {
        flow->report_gap = true;
        flow->acknowledge_now = true;
    }
    return FLOW_GAP;
}

void flow_probed(struct flow *flow, const struct frame *frame)
{
    flow->acknowledge_now = true;
    if (sequence_before(flow->expected, frame->sequence)) {
        flow->report_gap = true;
    }
}

void flow_stamp(struct flow *flow, uint8_t *head, uint16_t flags)
{
    frame_stamp(head, flags, flow->expected, (uint16_t)(flow->granted & 0xFFFFu));
    flow->granted_sent = flow->granted;
    flow->unacknowledged = 0;
    if (!flow->report_gap) {
        flow->acknowledge_now = false;
    }
}

/** Does the peer, as far as it knows, run short of credit that it could have? */
static bool grant_is_due(const struct flow *flow)
{
    uint32_t more = flow->granted - flow->granted_sent;
    uint32_t left = flow->granted_sent - flow->expected;

    return more >= FLOW_WINDOW_FRAMES / 2 || (more > 0 && left == 0) ||
           (more >= FLOW_INITIAL_CREDIT_FRAMES / 2 && left < FLOW_WINDOW_FRAMES / 4);
}

unsigned flow_due(const struct flow *flow, uint64_t now_ns)
{
    unsigned due = FLOW_DUE_NOTHING;

    if (flow->acknowledge_now || (flow->unacknowledged > 0 && now_ns >= flow->acknowledge_at_ns) ||
        grant_is_due(flow)) {
        due |= FLOW_DUE_ACK;
    }
    if (flow->timeout_at_ns != 0 && now_ns >= flow->timeout_at_ns) {
        due |= FLOW_DUE_PROBE;
    }
    return due;
}

uint16_t flow_ack_flags(struct flow *flow, uint64_t now_ns)
{
    if (!flow->report_gap) {
        return 0;
    }
    flow->report_gap = false;
    flow->gap_seen = true;
    flow->gap_sequence = flow->expected;
    flow->gap_ns = now_ns;
    flow->gaps++;
    return FRAME_GAP;
}

void flow_timeout(struct flow *flow, uint64_t now_ns)
{
    flow->probes++;
    flow->timed_ns = 0;
    if (flow->watching) {
        flow->timeout_at_ns = now_ns + FLOW_WATCH_NS;
        if (flow->waiting_since_ns == 0) {
            flow->waiting_since_ns = now_ns;
        }
        return;
    }
    flow->backoff++;
    restart_timer(flow, now_ns);
}

void flow_watch(struct flow *flow, bool wanted, uint64_t now_ns)
{
    if (awaits_answer(flow)) {
        return; /* it is probed anyway */
    }
    if (!wanted) {
        flow->timeout_at_ns = 0;
        flow->waiting_since_ns = 0;
    } else if (flow->timeout_at_ns == 0) {
        flow->timeout_at_ns = now_ns + FLOW_WATCH_NS;
    }
    flow->watching = wanted;
}

uint64_t flow_deadline(const struct flow *flow)
{
    uint64_t deadline = UINT64_MAX;

    if (flow->acknowledge_now || grant_is_due(flow)) {
        return 0;
    }
    if (flow->unacknowledged > 0) {
        deadline = flow->acknowledge_at_ns;
    }
    if (flow->timeout_at_ns != 0 && flow->timeout_at_ns < deadline) {
        deadline = flow->timeout_at_ns;
    }
    return deadline;
}

void flow_abandon(struct flow *flow, const struct flow_wire *wire)
{
    while (flow->first != flow->next) {
        struct flow_frame *frame = ring_at(flow, flow->first);
        flow->first++;
        wire->released(wire->context, frame);
    }
    flow->cursor = flow->first;
    flow->highest = flow->first;
    flow->timeout_at_ns = 0;
    flow->waiting_since_ns = 0;
}
