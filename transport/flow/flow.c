/* SPDX-License-Identifier: BSD-3-Clause */
/* The sending half of flow.h, and what is due when. */
#include "flow.h"

#include <assert.h>

static_assert(FLOW_WINDOW_FRAMES < 0x8000, "credit is 16 bits of a sequence");

void flow_start(struct flow *flow, uint32_t granted, uint32_t limit)
{
    *flow = (struct flow){.granted = granted, .granted_sent = granted, .limit = limit};
    /* A receiver adds its delayed acknowledgement to what the network adds. */
    congestion_init(&flow->congestion, FLOW_WINDOW_FRAMES, FLOW_WINDOW_FLOOR_FRAMES,
                    FLOW_WINDOW_FRAMES, FLOW_QUEUE_SLACK_NS + FLOW_ACK_DELAY_NS);
}

/* ---- time ---------------------------------------------------------------------------------- */

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/** Time from the last progress until a probe of the tail. */
static uint64_t tail_ns(const struct flow *flow)
{
    if (flow->rtt.smoothed_ns == 0) {
        return FLOW_RTO_MIN_NS; /* nothing is known */
    }
    bool few = flow->highest - flow->first < FLOW_ACK_EVERY_FRAMES;
    return within(2 * flow->rtt.smoothed_ns + (few ? FLOW_ACK_DELAY_NS : 0), FLOW_PROBE_MIN_NS,
                  FLOW_RTO_MAX_NS);
}

static uint64_t timeout_ns(const struct flow *flow)
{
    uint64_t first_ns = tail_ns(flow);

    if (flow->backoff == 0) {
        return first_ns;
    }
    uint64_t timeout = within(flow->rtt.smoothed_ns + 4 * flow->rtt.deviation_ns, FLOW_RTO_MIN_NS,
                              FLOW_RTO_MAX_NS);
    timeout = timeout > first_ns ? timeout : first_ns;
    timeout <<= flow->backoff < 16 ? flow->backoff - 1 : 15;
    return timeout < FLOW_BACKOFF_MAX_NS ? timeout : FLOW_BACKOFF_MAX_NS;
}

static void restart_timer(struct flow *flow, uint64_t now_ns)
{
    flow->watching = false;
    flow->timeout_at_ns = flow_awaits_answer(flow) ? now_ns + timeout_ns(flow) : 0;
}

/* ---- frames out ---------------------------------------------------------------------------- */

/** How many frames the congestion window has room for. */
static uint32_t allowance(const struct flow *flow)
{
    uint64_t window = congestion_window(&flow->congestion);
    uint32_t in_flight = flow->highest - flow->first - flow->delivered_frames - flow->lost_frames;

    if (window >= FLOW_WINDOW_FRAMES) {
        return FLOW_WINDOW_FRAMES;
    }
    return in_flight < window ? (uint32_t)window - in_flight : 0;
}

/** One past the last new frame that may be sent. */
static uint32_t sendable_end(const struct flow *flow)
{
    uint32_t end = sequence_before(flow->limit, flow->next) ? flow->limit : flow->next;

    while (end != flow->next && flow_ring_at(flow, end)->exempt) {
        end++;
    }
    return end == flow->next && flow->held ? end - 1 : end;
}

bool flow_waits_for_lane(const struct flow *flow)
{
    return (flow->lost_frames > 0 || sequence_before(flow->highest, sendable_end(flow))) &&
           allowance(flow) > 0;
}

/** The way out during one flow_transmit(). */
struct way_out {
    struct routes *routes;
    struct route *route;
    uint64_t now_ns;
    uint32_t left; /**< frames that may still be sent */
};

/** Passes frames to the route. @return how many it took. */
__attribute__((always_inline)) static inline unsigned
send_batch(struct flow *flow, struct flow_frame *const *batch, unsigned count, struct way_out *out)
{
    count = count < out->left ? count : out->left;
    if (count == 0) {
        return 0;
    }
    unsigned taken =
        route_send_sequenced(out->routes, out->route, batch, count, flow->first, flow->highest);

    out->left -= taken;
    for (unsigned i = 0; i < taken; i++) {
        batch[i]->sent_ns = out->now_ns;
        batch[i]->transmissions++;
    }
    flow->sent_frames += taken;
    return taken;
}

/** Retransmits lost frames, up to `most`. @return how many; fewer: the lane is busy. Rare. */
__attribute__((noinline)) static uint32_t send_lost(struct flow *flow, uint32_t most,
                                                    struct way_out *out)
{
    struct flow_frame *batch[FLOW_BATCH_FRAMES];
    uint32_t sequences[FLOW_BATCH_FRAMES];
    uint32_t sent = 0;
    unsigned count = 0;
    unsigned taken = 0;

    do {
        uint32_t sequence = flow->first;
        for (count = 0; count < FLOW_BATCH_FRAMES && count < most - sent; count++, sequence++) {
            sequence = window_set_next(&flow->lost, sequence, flow->highest);
            if (sequence == flow->highest) {
                break;
            }
            batch[count] = flow_ring_at(flow, sequence);
            sequences[count] = sequence;
            flow_stamp(flow, batch[count]->head, FRAME_RETRANSMITTED);
        }
        if (count == 0) {
            break;
        }
        taken = send_batch(flow, batch, count, out);
        for (unsigned i = 0; i < count && i < taken; i++) {
            window_set_remove(&flow->lost, sequences[i]);
            if (sequences[i] == flow->first && flow->stuck_since_ns == 0) {
                flow->stuck_since_ns = out->now_ns;
            }
        }
        assert(taken <= flow->lost_frames);
        flow->lost_frames -= taken;
        flow->retransmitted_frames += taken;
        sent += taken;
    } while (taken == count);
    if (sent > 0) {
        restart_timer(flow, out->now_ns);
    }
    return sent;
}

/** Frames in the next call. The last two calls have the same number: an uneven split would not
 *  arrive sooner. */
static unsigned batch_of(uint32_t left)
{
    if (left <= FLOW_BATCH_FRAMES) {
        return left;
    }
    return left < 2 * FLOW_BATCH_FRAMES ? (left + 1) / 2 : FLOW_BATCH_FRAMES;
}

/** Sends new frames, up to `most`. Inlined: each message passes here. */
__attribute__((always_inline)) static inline void send_new(struct flow *flow, uint32_t most,
                                                           struct way_out *out)
{
    struct flow_frame *batch[FLOW_BATCH_FRAMES];
    uint32_t end = sendable_end(flow);

    if (sequence_before(flow->highest + most, end)) {
        end = flow->highest + most;
    }
    while (sequence_before(flow->highest, end)) {
        unsigned count = batch_of(end - flow->highest);
        for (unsigned i = 0; i < count; i++) {
            batch[i] = flow_ring_at(flow, flow->highest + i);
            flow_stamp(flow, batch[i]->head, 0);
        }
        unsigned taken = send_batch(flow, batch, count, out);
        flow->highest += taken;
        if (taken < count) {
            break;
        }
    }
}

/** Starts to wait for an answer, if one is owed and none is awaited. */
static void await_answer(struct flow *flow, uint64_t now_ns)
{
    if (flow_awaits_answer(flow)) {
        if (flow->waiting_since_ns == 0 && flow->first != flow->next) {
            flow->waiting_since_ns = now_ns; /* without frames, a PROBE is sent */
        }
        if (flow->timeout_at_ns == 0 || flow->watching) {
            restart_timer(flow, now_ns);
        }
    }
}

void flow_hold_back(struct flow *flow, uint64_t now_ns)
{
    if (flow->loss.check_at_ns != 0 && now_ns >= flow->loss.check_at_ns) {
        (void)loss_detect(flow, now_ns);
    }
    await_answer(flow, now_ns);
}

uint32_t flow_transmit(struct flow *flow, struct routes *routes, struct route *route, uint32_t most,
                       uint64_t now_ns)
{
    struct way_out out = {.routes = routes, .route = route, .now_ns = now_ns, .left = most};

    if (flow->loss.check_at_ns != 0 && now_ns >= flow->loss.check_at_ns) {
        (void)loss_detect(flow, now_ns);
    }
    uint32_t room = allowance(flow);
    if (flow->lost_frames > 0) {
        room -= send_lost(flow, room, &out);
    }
    if (flow->lost_frames == 0) { /* else the lane is busy, or the network */
        send_new(flow, room, &out);
    }
    await_answer(flow, now_ns);
    return out.left;
}

/* ---- acknowledgements in ------------------------------------------------------------------- */

/** Result of one acknowledgement. */
struct news {
    uint32_t arrived; /* frames newly known to have arrived */
    uint64_t rtt_ns;  /* round trip of the last of them that has one; 0: none has */
};

static void take_arrival(struct flow *flow, uint32_t sequence, uint64_t now_ns, struct news *news)
{
    uint64_t rtt_ns = loss_arrived(flow, flow_ring_at(flow, sequence), sequence, now_ns);

    news->rtt_ns = rtt_ns != 0 ? rtt_ns : news->rtt_ns;
    news->arrived++;
}

static void forget_lost(struct flow *flow, uint32_t sequence)
{
    if (flow->lost_frames > 0 && window_set_has(&flow->lost, sequence)) {
        window_set_remove(&flow->lost, sequence);
        flow->lost_frames--;
    }
}

/** The frame `first` has arrived: its owner may take it back. */
static void release_first(struct flow *flow, struct route *route)
{
    convoy_released(&route->convoy, flow_ring_at(flow, flow->first));
    flow->first++;
}

/** Some of the frames before `acknowledgement` were reported before, or retransmitted. */
static void take_repeated(struct flow *flow, uint32_t acknowledgement, uint64_t now_ns,
                          struct route *route, struct news *news)
{
    while (flow->first != acknowledgement) {
        if (window_set_has(&flow->delivered, flow->first)) {
            assert(flow->delivered_frames > 0 && !window_set_has(&flow->lost, flow->first));
            window_set_remove(&flow->delivered, flow->first);
            flow->delivered_frames--;
        } else {
            take_arrival(flow, flow->first, now_ns, news);
            forget_lost(flow, flow->first);
        }
        release_first(flow, route);
    }
    if (sequence_before(flow->reported, flow->first)) {
        flow->reported = flow->first; /* so that it never seems to be ahead */
    }
}

/** All before `acknowledgement` has arrived, which is later than `first`. */
static void take_acknowledgement(struct flow *flow, uint32_t acknowledgement, uint64_t now_ns,
                                 struct route *route, struct news *news)
{
    if (flow->reported != flow->first) {
        take_repeated(flow, acknowledgement, now_ns, route, news);
        return;
    }
    /* Nothing was missing: the last was sent last, and once, and is evidence of no loss. */
    news->arrived = acknowledgement - flow->first;
    news->rtt_ns = rtt_between(flow_ring_at(flow, acknowledgement - 1)->sent_ns, now_ns);
    flow->reported = acknowledgement;
    for (unsigned way = 0; way < FLOW_WAYS; way++) {
        flow->loss.ways[way].forward = acknowledgement;
    }
    while (flow->first != acknowledgement) {
        release_first(flow, route);
    }
}

/** Notes the frames that arrived behind the gap. */
static void take_sack(struct flow *flow, const struct frame *frame, uint64_t now_ns,
                      struct news *news)
{
    uint32_t upto = from_le32(frame->sack->upto);
    uint32_t begin = frame->acknowledgement + 1;
    struct window_set here = window_set_from_wire(frame->sack->received, begin);

    for (uint32_t sequence = window_set_next(&here, begin, upto); sequence != upto;
         sequence = window_set_next(&here, sequence + 1, upto)) {
        if (!window_set_has(&flow->delivered, sequence)) {
            take_arrival(flow, sequence, now_ns, news);
            forget_lost(flow, sequence);
            window_set_add(&flow->delivered, sequence);
            flow->delivered_frames++;
        }
    }
    if (sequence_before(flow->reported, upto)) {
        flow->reported = upto;
    }
    /* No frame is both, and none is what was never sent. */
    assert(flow->delivered_frames + flow->lost_frames <= flow->highest - flow->first);
    /* Only a PROBE can have told of a frame that is missing itself. */
    bool repeat_arrived = flow->probed_news && upto == flow->probed_highest &&
                          !window_set_has(&flow->delivered, upto - 1);
    if (repeat_arrived ||
        (flow->probes > 0 && from_le32(frame->sack->probe) == (uint32_t)flow->probes)) {
        loss_probe_arrived(flow, now_ns);
    }
}

/** Go-back-N: everything from the gap on is to be sent again. */
static void go_back(struct flow *flow, uint64_t now_ns)
{
    uint64_t patience_ns = flow->rtt.smoothed_ns;

    patience_ns = patience_ns > FLOW_GAP_REPEAT_NS ? patience_ns : FLOW_GAP_REPEAT_NS;
    if (flow->went_back_ns != 0 && flow->went_back_to == flow->first &&
        now_ns - flow->went_back_ns < patience_ns) {
        return; /* that gap is being filled */
    }
    flow->went_back_ns = now_ns;
    flow->went_back_to = flow->first;
    for (uint32_t sequence = flow->first; sequence != flow->highest; sequence++) {
        window_set_add(&flow->lost, sequence);
    }
    flow->lost_frames = flow->highest - flow->first;
    flow->reported = flow->highest;
    congestion_lost(&flow->congestion, now_ns, &flow->rtt);
    restart_timer(flow, now_ns);
}

static void take_progress(struct flow *flow, const struct news *news, uint64_t now_ns)
{
    if (news->rtt_ns != 0) {
        rtt_sample(&flow->rtt, now_ns, news->rtt_ns);
    }
    congestion_acknowledged(&flow->congestion, now_ns, news->rtt_ns, &flow->rtt, news->arrived);
    flow->backoff = 0;
    restart_timer(flow, now_ns);
}

void flow_heard(struct flow *flow)
{
    flow->waiting_since_ns = 0;
    flow->unanswered = 0;
    if (!flow_awaits_answer(flow)) {
        flow->timeout_at_ns = 0;
    }
}

bool flow_acknowledged(struct flow *flow, struct route *route, const struct frame *frame,
                       uint64_t now_ns)
{
    uint32_t acknowledgement = frame->acknowledgement;
    uint32_t limit =
        acknowledgement + (uint16_t)(frame->credit - (uint16_t)(acknowledgement & 0xFFFFu));
    bool sack = frame->type == FRAME_SACK;
    struct news news = {0};

    if (sequence_before(flow->highest, acknowledgement) ||
        (sack && sequence_before(flow->highest, from_le32(frame->sack->upto)))) {
        return false; /* acknowledges frames never sent */
    }
    if (sequence_before(acknowledgement, flow->first)) {
        return true; /* overtaken by a later one */
    }
    if (sequence_before(flow->limit, limit) && limit - acknowledgement < 0x8000u) {
        flow->limit = limit;
        if (flow->starved) {
            flow->backoff = 0; /* that is progress */
            restart_timer(flow, now_ns);
        }
    }
    bool moved = acknowledgement != flow->first;
    if (moved) {
        flow->stuck_since_ns = 0;
        take_acknowledgement(flow, acknowledgement, now_ns, route, &news);
    }
    if (sack && !flow->go_back_n) {
        take_sack(flow, frame, now_ns, &news);
    }
    if (moved || news.arrived > 0) {
        take_progress(flow, &news, now_ns);
    }
    if (flow->go_back_n) {
        if (sack) {
            go_back(flow, now_ns);
        }
    } else if (flow->reported != flow->first) {
        (void)loss_detect(flow, now_ns);
    } else {
        flow->loss.check_at_ns = 0;
    }
    flow_heard(flow); /* anything the peer says now is an answer */
    return true;
}

/* ---- what is due --------------------------------------------------------------------------- */

bool flow_grant_is_due(const struct flow *flow)
{
    uint32_t more = flow->granted - flow->granted_sent;
    uint32_t left = flow->granted_sent - flow->expected;

    return more >= FLOW_WINDOW_FRAMES / 2 || (more > 0 && left == 0) ||
           (more >= FLOW_INITIAL_CREDIT_FRAMES / 2 && left < FLOW_WINDOW_FRAMES / 4);
}

/** Is an acknowledgement due without delay, by its number of frames or its urgency? */
static bool acknowledgement_is_due(const struct flow *flow)
{
    return flow->acknowledge_now || flow->unacknowledged >= FLOW_ACK_EVERY_FRAMES ||
           flow_grant_is_due(flow);
}

unsigned flow_due(const struct flow *flow, uint64_t now_ns)
{
    unsigned due = FLOW_DUE_NOTHING;

    if (acknowledgement_is_due(flow) ||
        (flow->unacknowledged > 0 && now_ns >= flow->acknowledge_at_ns)) {
        due |= FLOW_DUE_ACK;
    }
    if (flow->timeout_at_ns != 0 && now_ns >= flow->timeout_at_ns) {
        due |= FLOW_DUE_PROBE;
    }
    return due;
}

void flow_timeout(struct flow *flow, uint64_t now_ns)
{
    flow->probes++;
    flow->unanswered = flow->unanswered < UINT8_MAX ? (uint8_t)(flow->unanswered + 1) : UINT8_MAX;
    flow->probed_ns = now_ns;
    flow->probed_news = flow->backoff == 0 && flow->highest != flow->probed_highest &&
                        flow_probe_way(flow) == FLOW_WAY_USUAL;
    flow->probed_highest = flow->highest;
    flow->probed_ways = flow->backoff == 0 ? (uint8_t)(1u << flow_probe_way(flow)) : UINT8_MAX;
    if (flow->waiting_since_ns == 0) {
        flow->waiting_since_ns = now_ns;
    }
    if (flow->watching) {
        flow->timeout_at_ns = now_ns + FLOW_WATCH_NS;
        return;
    }
    flow->backoff++;
    restart_timer(flow, now_ns);
}

void flow_watch(struct flow *flow, bool wanted, uint64_t now_ns)
{
    if (flow_awaits_answer(flow)) {
        return; /* it is probed anyway */
    }
    if (!wanted) {
        flow->timeout_at_ns = 0;
        flow->waiting_since_ns = 0;
        flow->unanswered = 0;
    } else if (flow->timeout_at_ns == 0 || !flow->watching) {
        flow->timeout_at_ns = now_ns + FLOW_WATCH_NS;
    }
    flow->watching = wanted;
}

uint64_t flow_deadline(const struct flow *flow)
{
    uint64_t deadline = UINT64_MAX;

    if (acknowledgement_is_due(flow)) {
        return 0;
    }
    if (flow->unacknowledged > 0) {
        deadline = flow->acknowledge_at_ns;
    }
    if (flow->timeout_at_ns != 0 && flow->timeout_at_ns < deadline) {
        deadline = flow->timeout_at_ns;
    }
    if (flow->loss.check_at_ns != 0 && flow->loss.check_at_ns < deadline) {
        deadline = flow->loss.check_at_ns;
    }
    return deadline;
}

void flow_abandon(struct flow *flow)
{
    flow->first = flow->next;
    flow->highest = flow->first;
    flow->reported = flow->first;
    flow->delivered = flow->lost = flow->kept = (struct window_set){{0}};
    flow->delivered_frames = 0;
    flow->lost_frames = 0;
    flow->seen = flow->expected;
    flow->loss.check_at_ns = 0;
    flow->timeout_at_ns = 0;
    flow->waiting_since_ns = 0;
    flow->stuck_since_ns = 0;
}
