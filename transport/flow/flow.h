/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow.h - reliability between two endpoints: each sequenced frame is handed up exactly once and
 * in order, whatever the wire loses, doubles or reorders.
 *
 * Sending. Frames get rising sequence numbers and stay in a ring until they are acknowledged:
 *
 *      first                            highest         next            limit
 *        |--------------------------------|---------------|               |
 *        | sent, not acknowledged         | not yet sent  |               |
 *
 *   first <= highest <= next <= first + FLOW_WINDOW_FRAMES, and nothing at or after `limit`
 * (credit, granted by the receiver, never taken back) is sent. Of those sent, some have arrived
 * behind a gap (`delivered`), and some are lost and wait to be sent again (`lost`); both are sets
 * of bits.
 *
 * Receiving. The frame `expected` is handed up. One that is later, within credit, is kept (by
 * whoever owns the memory) until the gap before it is filled. Acknowledgement is cumulative (it is
 * `expected`), rides on any frame that leaves, and otherwise is sent after FLOW_ACK_EVERY_FRAMES
 * frames, after FLOW_ACK_DELAY_NS, or at once when asked. While there is a gap, what is sent is
 * SACK, which tells what is kept; at once when the gap opens, or when a part of it is filled.
 *
 * Loss (loss.h). A frame is lost when one that was sent later is known to have arrived. If the last
 * frames are lost, nothing is sent later; so after two round trips without an acknowledgement PROBE
 * is sent, a small frame that serves as the later one. Data is retransmitted only on such evidence.
 * Further probes follow at the retransmission timeout (RFC 6298: srtt + 4 rttvar, bounds in
 * tuning.h, doubling). A sender without credit probes likewise, so a lost grant cannot stall it.
 *
 * Go-back-N (`go_back_n`, both ends alike): the receiver keeps nothing, and its SACK only reports a
 * gap; the sender then retransmits everything from the gap on. This is for comparison with papers
 * (GigaE PM, Sumimoto et al., ICS '99).
 *
 * Credit. `granted` is the first sequence that the peer may not send; whoever owns the memory
 * raises it with flow_grant().
 *
 * Pure: time and frames come in. Frames leave by the peer's route (route/route.h), and return to
 * their owner by flow_take_released(). One thread.
 * Files: flow.c sends, receive.c receives, loss.c decides what is lost.
 */
#ifndef BEOWIRE_FLOW_FLOW_H
#define BEOWIRE_FLOW_FLOW_H

#include "flow/congestion.h"
#include "flow/loss.h"
#include "flow/rtt.h"
#include "flow/window_set.h"
#include "frame/frame.h"
#include "route/route.h"
#include "tuning.h"

static_assert(FLOW_WINDOW_FRAMES == FRAME_SACK_FRAMES, "one SACK tells of the whole window");

struct flow {
    /* sending */
    uint32_t first;
    uint32_t highest;
    uint32_t next;
    uint32_t limit;
    uint32_t released; /**< frames before this were returned to their owner; at most `first` */
    uint32_t reported; /**< frames from `first` to before this may be missing or retransmitted */
    bool starved;      /**< flow_starve() */
    bool held;         /**< flow_hold() */
    uint32_t delivered_frames; /**< in `delivered`, */
    uint32_t lost_frames;      /**< and in `lost` */

    /* receiving */
    uint32_t expected;
    uint32_t seen; /**< one past the last sequence known to have been sent; `expected`: no gap */
    uint32_t granted;
    uint32_t granted_sent;      /**< `granted` as the peer last saw it */
    uint32_t unacknowledged;    /**< frames accepted or kept since the last acknowledgement */
    uint32_t probe_seen;        /**< number of the latest PROBE received */
    bool acknowledge_now;       /**< an acknowledgement is due at once */
    bool go_back_n;             /**< set once, before the first frame */
    bool gap_reported;          /**< go-back-N: `gap_sequence`, gap_ns are valid */
    uint64_t gap_ns;            /**< when that was */
    uint64_t acknowledge_at_ns; /**< when a delayed acknowledgement is due, if unacknowledged > 0 */

    /* time */
    struct rtt rtt;
    uint64_t timeout_at_ns;    /**< the next probe; 0: none */
    unsigned backoff;          /**< timeouts in a row */
    bool watching;             /**< the timeout is of flow_watch(); nothing is outstanding */
    uint8_t unanswered;        /**< PROBEs sent since the peer was heard; 255: or more */
    uint64_t waiting_since_ns; /**< since when an answer is awaited; 0: none is */
    uint64_t stuck_since_ns;   /**< when the frame `first` was first retransmitted; 0: it was not */
    uint64_t probed_ns;        /**< when the latest PROBE left, */
    uint32_t probed_highest;   /**< and what `highest` was, */
    uint8_t probed_ways;       /**< and the ways for which its answer is evidence (bits); */
    bool probed_news;          /**< no earlier PROBE told of the frame before probed_highest, */
                               /**< and repeats of this one do not overtake frames */
    uint64_t went_back_ns;     /**< go-back-N: when we last went back, to ... */
    uint32_t went_back_to;
    uint32_t gap_sequence;        /**< go-back-N, receiving: `expected` at the last report */
    struct congestion congestion; /**< in frames */
    struct loss loss;

    /* counters that never decrease */
    uint64_t sent_frames;
    uint64_t retransmitted_frames;
    uint64_t probes;
    uint64_t gaps;
    uint64_t duplicates;
    uint64_t kept_frames;

    /* Last, so that the fields that every frame needs share cache lines. */
    struct window_set delivered; /**< of first .. highest */
    struct window_set lost;
    struct window_set kept;                      /**< of expected .. granted: came early */
    struct flow_frame *ring[FLOW_WINDOW_FRAMES]; /**< sequence s is at s % FLOW_WINDOW_FRAMES */
};

/** What to do with a sequenced frame. */
enum flow_verdict {
    FLOW_NEXT,      /**< the one expected: handle it, then flow_accept() */
    FLOW_KEEP,      /**< came early: keep it, and treat it as FLOW_NEXT when it is expected */
    FLOW_DUPLICATE, /**< seen before: drop it */
    FLOW_GAP,       /**< go-back-N, and frames before it are missing: drop it */
    FLOW_OVERRUN,   /**< sent without credit: drop it */
};

/** Starts at sequence 0 in both directions. `granted` and `limit`: frames either may send. */
void flow_start(struct flow *flow, uint32_t granted, uint32_t limit);

/* ---- sending ------------------------------------------------------------------------------- */

static inline struct flow_frame *flow_ring_at(const struct flow *flow, uint32_t sequence)
{
    return flow->ring[sequence % FLOW_WINDOW_FRAMES];
}

/** Does the ring have room for another frame? (It may wait there for credit.) */
static inline bool flow_has_room(const struct flow *flow)
{
    return flow->next - flow->first < FLOW_WINDOW_FRAMES;
}

/** Is everything pushed also acknowledged? */
static inline bool flow_is_idle(const struct flow *flow)
{
    return flow->first == flow->next;
}

/** Is an answer of the peer awaited? */
static inline bool flow_awaits_answer(const struct flow *flow)
{
    return flow->first != flow->next || flow->starved;
}

/** Since when a frame has been retransmitted without success; 0: none has. */
static inline uint64_t flow_stuck_since(const struct flow *flow)
{
    return flow->stuck_since_ns != 0 &&
                   flow_ring_at(flow, flow->first)->transmissions >= FLOW_STUCK_TRANSMISSIONS
               ? flow->stuck_since_ns
               : 0;
}

/** Frames from sequence `begin` on that the peer has room for. */
static inline uint32_t flow_window(const struct flow *flow, uint32_t begin)
{
    return sequence_before(begin, flow->limit) ? flow->limit - begin : 0;
}

/** Is there credit to send another frame at once? */
static inline bool flow_has_credit(const struct flow *flow)
{
    return sequence_before(flow->next, flow->limit);
}

/** There is more to push, now or when the application tries again, and no credit: the peer is
 * probed until it grants some. */
static inline void flow_starve(struct flow *flow, bool starved)
{
    flow->starved = starved;
}

/** While held, the last frame pushed is not sent, so that more can be put into it. */
static inline void flow_hold(struct flow *flow, bool held)
{
    flow->held = held;
}

/** Takes the next sequence number for a frame whose head is encoded with it, and queues it.
 *  Needs flow_has_room(). @return nothing; flow_transmit() sends it. */
static inline void flow_push(struct flow *flow, struct flow_frame *frame)
{
    frame->transmissions = 0;
    frame->way = FLOW_WAY_USUAL;
    frame->first_way = FLOW_WAY_USUAL;
    flow->ring[flow->next % FLOW_WINDOW_FRAMES] = frame;
    flow->next++;
}

/** Sends up to `most` frames: lost ones first, then new ones. @return how many of `most` are left
 */
uint32_t flow_transmit(struct flow *flow, struct routes *routes, struct route *route, uint32_t most,
                       uint64_t now_ns);

/** Instead of flow_transmit(), for a peer to which nothing may be sent before it is heard: probes
 * the peer as if frames had been sent. */
void flow_hold_back(struct flow *flow, uint64_t now_ns);

/** Does flow_transmit() wait for nothing but the lane? */
bool flow_waits_for_lane(const struct flow *flow);

/** A frame came from the peer, so it is alive. */
void flow_heard(struct flow *flow);

/** Takes acknowledgement and credit from a frame of the peer (any but DATA, which has neither), and
 *  from SACK the missing frames. Then call flow_take_released().
 *  @return false: they are invalid; drop the frame. Nothing has changed. */
bool flow_acknowledged(struct flow *flow, struct route *route, const struct frame *frame,
                       uint64_t now_ns);

/** Returns the oldest frame that was acknowledged, or given up, to its owner. NULL: there is none.
 *  Take all before pushing another. */
static inline struct flow_frame *flow_take_released(struct flow *flow)
{
    return flow->released != flow->first ? flow_ring_at(flow, flow->released++) : NULL;
}

/** A probe was sent, with the number flow_probe_number(): restarts the timeout. */
void flow_timeout(struct flow *flow, uint64_t now_ns);

/** An additional PROBE was sent: its answer counts, and nothing else changes. */
static inline void flow_asked(struct flow *flow, uint64_t now_ns)
{
    flow->probes++;
    flow->probed_ns = now_ns;
    flow->probed_highest = flow->highest;
    flow->probed_ways = 1u << FLOW_WAY_USUAL;
    flow->probed_news = false;
}

/** The way of the next PROBE. The first one after progress takes the way of the frames it asks
 * about, so as not to overtake them. Later ones take the usual way, and are evidence for all ways.
 */
static inline enum flow_way flow_probe_way(const struct flow *flow)
{
    return flow->backoff == 0 && flow->first != flow->highest
               ? (enum flow_way)flow_ring_at(flow, flow->first)->way
               : FLOW_WAY_USUAL;
}

/** Frames take another way from now on, of which nothing has been measured. */
static inline void flow_change_way(struct flow *flow)
{
    flow->backoff = 0;
    for (uint32_t sequence = flow->first; sequence != flow->highest; sequence++) {
        flow_ring_at(flow, sequence)->way = FLOW_WAY_OTHER;
    }
}

/** The number of the next PROBE. */
static inline uint32_t flow_probe_number(const struct flow *flow)
{
    return (uint32_t)(flow->probes + 1);
}

/** An operation depends on the peer although no frame is outstanding (a message was announced, or
 * has come in part): if `wanted`, probes the peer every FLOW_WATCH_NS, to notice its death. */
void flow_watch(struct flow *flow, bool wanted, uint64_t now_ns);

/** Gives up: take every frame back with flow_take_released(). */
void flow_abandon(struct flow *flow);

/* ---- receiving ----------------------------------------------------------------------------- */

/** @return what to do with a sequenced frame. Notes what to acknowledge. */
enum flow_verdict flow_check(struct flow *flow, const struct frame *frame, uint64_t now_ns);

/** Are frames missing before others that are known to have been sent? */
static inline bool flow_has_gap(const struct flow *flow)
{
    return flow->seen != flow->expected;
}

/** Counts a frame that is not acknowledged yet. */
static inline void flow_count_unacknowledged(struct flow *flow, const struct frame *frame,
                                             uint64_t now_ns)
{
    if (flow->unacknowledged++ == 0) {
        flow->acknowledge_at_ns = now_ns + FLOW_ACK_DELAY_NS;
    }
    if (frame_asks_now(frame)) {
        flow->acknowledge_now = true;
    }
}

/** The frame that was FLOW_NEXT has been handled. */
static inline void flow_accept(struct flow *flow, const struct frame *frame, uint64_t now_ns)
{
    uint32_t accepted = flow->expected++;

    if (sequence_before(flow->granted, flow->expected)) {
        flow->granted = flow->expected; /* it needed no credit */
    }
    if (flow->seen == accepted) {
        flow->seen++;
    } else {
        /* Part of a gap is filled: tell the sender (RFC 5681, section 4.2). */
        window_set_remove(&flow->kept, accepted);
        flow->acknowledge_now = true;
    }
    flow_count_unacknowledged(flow, frame, now_ns);
}

/** Consecutive frames were handled, within the credit, without flags and without a gap after the
 * last one seen. */
static inline void flow_accept_run(struct flow *flow, uint32_t frames, uint64_t now_ns)
{
    flow->expected += frames;
    flow->seen = flow->expected;
    if (flow->unacknowledged == 0) {
        flow->acknowledge_at_ns = now_ns + FLOW_ACK_DELAY_NS;
    }
    flow->unacknowledged += frames;
}

/** The peer sent a PROBE, which must be answered. */
void flow_probed(struct flow *flow, const struct frame *frame);

/** Should the peer be told of more credit? */
bool flow_grant_is_due(const struct flow *flow);

/** Lets the peer send up to, but not including, `granted`. Never reduces the credit. */
static inline void flow_grant(struct flow *flow, uint32_t granted)
{
    if (sequence_before(flow->granted, granted)) {
        flow->granted = granted;
    }
}

/** Writes acknowledgement and credit into a frame about to be sent. Afterwards no acknowledgement
 * is due, unless there is a gap, which only SACK reports. `flags`: further flags of the frame. */
void flow_stamp(struct flow *flow, uint8_t *head, uint16_t flags);

/** The frame stamped last did not leave: what it said is due again, after some time, because the
 *  lane may refuse for long. */
static inline void flow_not_told(struct flow *flow, uint64_t now_ns)
{
    flow->unacknowledged += flow->unacknowledged == 0;
    flow->acknowledge_at_ns = now_ns + FLOW_PROBE_MIN_NS;
}

/** Fills in a SACK and stamps its head. Needs flow_has_gap(). */
void flow_stamp_sack(struct flow *flow, uint8_t *head, struct frame_sack *sack, uint64_t now_ns);

/* ---- both ---------------------------------------------------------------------------------- */

enum flow_due {
    FLOW_DUE_NOTHING = 0,
    FLOW_DUE_ACK = 1 << 0,   /**< send SACK with flow_stamp_sack() if there is a gap, else ACK */
    FLOW_DUE_PROBE = 1 << 1, /**< send PROBE with sequence = `highest` */
};

/** What has to be sent now, besides flow_transmit(). Call flow_timeout() after a probe. */
unsigned flow_due(const struct flow *flow, uint64_t now_ns);

/** When to call flow_transmit() or flow_due() next; UINT64_MAX: not before a frame comes. */
uint64_t flow_deadline(const struct flow *flow);

#endif /* BEOWIRE_FLOW_FLOW_H */
