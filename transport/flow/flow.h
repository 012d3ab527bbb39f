/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow.h - reliability between two endpoints: each sequenced frame is handed up exactly once and
 * in order, whatever the wire loses, doubles or reorders.
 *
 * Sending. Frames get rising sequence numbers and stay in a ring until they are acknowledged:
 *
 *      first            cursor          highest         next            limit
 *        |----------------|---------------|---------------|               |
 *        | on the wire, not acknowledged  | not yet sent  |               |
 *                         ^ the next to be sent: `highest`, or less after going back
 *
 *   first <= cursor <= highest <= next <= first + FLOW_WINDOW_FRAMES, and nothing at or after
 *   `limit` (credit, granted by the receiver, never taken back) is sent.
 *
 * Receiving. Only the frame `expected` is accepted; it moves `expected` on. Acknowledgement is
 * cumulative (it is `expected`), rides on any frame that leaves, and otherwise is sent after
 * FLOW_ACK_EVERY_FRAMES frames, after FLOW_ACK_DELAY_NS, or at once when asked.
 *
 * Loss. A frame after `expected` shows a gap: the receiver says so once (ACK with FRAME_GAP), and
 * the sender goes back to it. When the last frames are lost nothing shows a gap: after the
 * retransmission timeout (RFC 6298: srtt + 4 rttvar, bounds in tuning.h, doubling) the sender
 * sends PROBE, which carries the sequence it would use next; if that is not what the receiver
 * expects, the answer is a gap. So data is sent twice only on evidence. A sender that has run out
 * of credit probes likewise, so a lost grant cannot stall it.
 *
 * Credit. `granted` is the first sequence that the peer may not send; whoever owns the memory
 * raises it with flow_grant().
 *
 * Pure: time and frames come in, frames go out through `struct flow_wire`. One thread.
 * Sources: go-back-N as in GigaE PM (Sumimoto et al., ICS'99); probe instead of data on timeout
 * as in RACK-TLP (RFC 8985); Karn's rule.
 */
#ifndef BEOWIRE_FLOW_FLOW_H
#define BEOWIRE_FLOW_FLOW_H

#include "frame/frame.h"
#include "tuning.h"

/** A frame to be sent: a contiguous head, and perhaps data that stays where the user has it. */
struct flow_frame {
    struct flow_frame *next; /**< for whoever owns it; the flow does not touch it */
    void *owner;             /**< handed back with it */
    const uint8_t *payload;  /**< follows the head on the wire; valid until acknowledged */
    uint32_t payload_bytes;  /**< of `payload`, 0 if all is in the head */
    uint32_t head_bytes;     /**< header, operation header, and data copied behind them */
    uint8_t *head;           /**< with LANE_HEADROOM writable bytes in front */
};

/** The way out. `context` is the one given to the call. */
struct flow_wire {
    /** Sends frames in order; returns how many were taken (0 .. count). What was not taken is
     *  offered again later. */
    unsigned (*send)(void *context, struct flow_frame *const *frames, unsigned count);
    /** `frame` has been acknowledged (or given up): it is its owner's again. */
    void (*released)(void *context, struct flow_frame *frame);
    void *context;
};

struct flow {
    /* sending */
    uint32_t first;
    uint32_t cursor;
    uint32_t highest;
    uint32_t next;
    uint32_t limit;

    /* receiving */
    uint32_t expected;
    uint32_t granted;
    uint32_t granted_sent;      /**< `granted` as the peer last saw it */
    uint32_t unacknowledged;    /**< frames accepted since an acknowledgement left */
    bool acknowledge_now;       /**< one is owed without delay */
    bool report_gap;            /**< and it has to say that there is a gap */
    bool gap_seen;              /**< gap_sequence, gap_ns are valid */
    uint32_t gap_sequence;      /**< `expected` at the last report */
    uint64_t gap_ns;            /**< when that was */
    uint64_t acknowledge_at_ns; /**< when a delayed one is due; meaningful if unacknowledged > 0 */

    /* time */
    uint64_t srtt_ns;          /**< smoothed round trip, 0: none measured yet */
    uint64_t rttvar_ns;        /**< its mean deviation */
    uint32_t timed_sequence;   /**< the frame whose round trip is being measured */
    uint64_t timed_ns;         /**< when it left; 0: none is */
    uint64_t timeout_at_ns;    /**< retransmission timeout; 0: not running */
    bool watching;             /**< the timeout is flow_watch()'s: nothing is outstanding */
    unsigned backoff;          /**< times it has run out in a row */
    uint64_t waiting_since_ns; /**< since when the peer owes us an answer; 0: it does not */
    uint64_t went_back_ns;     /**< when we last went back, to ... */
    uint32_t went_back_to;

    /* counters, for good */
    uint64_t sent_frames;
    uint64_t retransmitted_frames;
    uint64_t probes;
    uint64_t gaps;
    uint64_t duplicates;

    /* Last, so that what every frame touches lies together. */
    struct flow_frame *ring[FLOW_WINDOW_FRAMES]; /**< sequence s is at s % FLOW_WINDOW_FRAMES */
};

/** What flow_check() says of a sequenced frame. */
enum flow_verdict {
    FLOW_NEXT,      /**< the one expected: handle it, then flow_accept() */
    FLOW_DUPLICATE, /**< seen before: drop it */
    FLOW_GAP,       /**< frames before it are missing: drop it */
    FLOW_OVERRUN,   /**< sent without credit: drop it */
};

/** Starts at sequence 0 in both directions. `granted` and `limit`: frames either may send. */
void flow_start(struct flow *flow, uint32_t granted, uint32_t limit);

/** May another frame be pushed? (The ring has room; it may have to wait there for credit.) */
static inline bool flow_has_room(const struct flow *flow)
{
    return flow->next - flow->first < FLOW_WINDOW_FRAMES;
}

/** Is everything pushed also acknowledged? */
static inline bool flow_is_idle(const struct flow *flow)
{
    return flow->first == flow->next;
}

/** Takes the next sequence number for a frame whose head is encoded with it, and queues it.
 *  Needs flow_has_room(). @return nothing; flow_transmit() sends it. */
static inline void flow_push(struct flow *flow, struct flow_frame *frame)
{
    flow->ring[flow->next % FLOW_WINDOW_FRAMES] = frame;
    flow->next++;
}

/** Sends what may be sent. */
void flow_transmit(struct flow *flow, uint64_t now_ns, const struct flow_wire *wire);

/** Takes acknowledgement, credit and gap report from any frame of the peer.
 *  @return false: they make no sense (the frame should be dropped, nothing has changed). */
bool flow_acknowledged(struct flow *flow, const struct frame *frame, uint64_t now_ns,
                       const struct flow_wire *wire);

/** Judges a sequenced frame, and notes what has to be answered. */
enum flow_verdict flow_check(struct flow *flow, const struct frame *frame, uint64_t now_ns);

/** The frame that was FLOW_NEXT has been handled. */
static inline void flow_accept(struct flow *flow, const struct frame *frame, uint64_t now_ns)
{
    flow->expected++;
    if (flow->unacknowledged++ == 0) {
        flow->acknowledge_at_ns = now_ns + FLOW_ACK_DELAY_NS;
    }
    if ((frame->flags & FRAME_ACK_REQUEST) != 0 || flow->unacknowledged >= FLOW_ACK_EVERY_FRAMES) {
        flow->acknowledge_now = true;
    }
}

/** The peer sent PROBE: an answer is owed. */
void flow_probed(struct flow *flow, const struct frame *frame);

/** Lets the peer send up to, not including, `granted`; never takes back. */
static inline void flow_grant(struct flow *flow, uint32_t granted)
{
    if (sequence_before(flow->granted, granted)) {
        flow->granted = granted;
    }
}

/** Stamps acknowledgement and credit on a frame that is about to leave: none is owed after it.
 *  `flags`: more flags for it. */
void flow_stamp(struct flow *flow, uint8_t *head, uint16_t flags);

enum flow_due {
    FLOW_DUE_NOTHING = 0,
    FLOW_DUE_ACK = 1 << 0,   /**< send ACK, with flow_stamp() and the flags of flow_ack_flags() */
    FLOW_DUE_PROBE = 1 << 1, /**< send PROBE with sequence = `highest` */
};

/** What has to be sent now, besides flow_transmit(). Call flow_timeout() after a probe. */
unsigned flow_due(const struct flow *flow, uint64_t now_ns);

/** FRAME_GAP if a gap is to be reported; forgets it. */
uint16_t flow_ack_flags(struct flow *flow, uint64_t now_ns);

/** A probe has been sent: doubles the timeout and starts it again. */
void flow_timeout(struct flow *flow, uint64_t now_ns);

/** An operation depends on the peer although nothing is outstanding (a message was announced, or is
 *  half there): if `wanted`, it is probed every FLOW_WATCH_NS, so that its death is noticed. */
void flow_watch(struct flow *flow, bool wanted, uint64_t now_ns);

/** When flow_due() may next say something; UINT64_MAX: not before a frame comes. */
uint64_t flow_deadline(const struct flow *flow);

/** Gives up: releases every frame. */
void flow_abandon(struct flow *flow, const struct flow_wire *wire);

#endif /* BEOWIRE_FLOW_FLOW_H */
