/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp.h"

#include <string.h>

#define RTO_MIN_NS UINT64_C(200000000)
#define DUPLICATES 3u

/** CUBIC's decrease, and the increase per round trip that makes it as strong as Reno. */
#define DECREASE 0.7
#define INCREASE (3 * (1 - DECREASE) / (1 + DECREASE))

/** Bytes of a frame that only acknowledges: IP, TCP, timestamps and SACK. */
#define ACK_BYTES 64u

struct wire {
    uint32_t number;
    bool acknowledges;
    uint64_t sequence; /**< of the segment; or of the one that is reported */
    uint64_t expected;
    uint64_t sent_ns; /**< of that segment */
};

uint32_t tcp_number(const struct network_frame *frame)
{
    struct wire wire;

    memcpy(&wire, frame->data, sizeof wire);
    return wire.number;
}

static void send(struct tcp_flow *flow, const struct wire *wire, uint64_t now_ns)
{
    struct network_frame *frame = network_take(flow->network);

    frame->from = wire->acknowledges ? flow->to : flow->from;
    frame->to = wire->acknowledges ? flow->from : flow->to;
    frame->bytes = wire->acknowledges ? ACK_BYTES : TCP_FRAME_BYTES;
    frame->of_tcp = true;
    frame->direct = false;
    memcpy(frame->data, wire, sizeof *wire);
    network_send(flow->network, frame, now_ns);
}

static struct tcp_segment *at(struct tcp_flow *flow, uint64_t sequence)
{
    return &flow->segments[sequence % TCP_WINDOW];
}

static void send_segment(struct tcp_flow *flow, uint64_t sequence, uint64_t now_ns)
{
    *at(flow, sequence) = (struct tcp_segment){.sent_ns = now_ns};
    flow->in_flight++;
    send(flow, &(struct wire){.number = flow->number, .sequence = sequence, .sent_ns = now_ns},
         now_ns);
}

static void set_timer(struct tcp_flow *flow, uint64_t now_ns)
{
    uint64_t rto_ns = flow->srtt_ns + 4 * flow->rttvar_ns;

    rto_ns = rto_ns > RTO_MIN_NS ? rto_ns : RTO_MIN_NS;
    schedule_set(flow->network->schedule, flow->source, now_ns + (rto_ns << flow->backoff));
}

/** Sends what the window and the host's queue allow: what was lost first. */
static void transmit(struct tcp_flow *flow, uint64_t now_ns)
{
    uint64_t lost = flow->first;

    while (flow->in_flight < (uint32_t)flow->window &&
           network_has_room(flow->network, flow->from, false)) {
        while (lost != flow->next && !at(flow, lost)->lost) {
            lost++;
        }
        if (lost != flow->next) {
            flow->sent_again++;
            send_segment(flow, lost, now_ns);
        } else if (flow->next - flow->first < TCP_WINDOW) {
            send_segment(flow, flow->next++, now_ns);
            lost = flow->next;
        } else {
            break;
        }
    }
}

void tcp_start(struct tcp_flow *flow, struct network *network, uint32_t number, uint32_t from,
               uint32_t to, uint32_t source, uint64_t now_ns)
{
    *flow = (struct tcp_flow){
        .network = network,
        .number = number,
        .from = from,
        .to = to,
        .source = source,
        .window = 10,
        .threshold = TCP_WINDOW,
    };
    transmit(flow, now_ns);
    set_timer(flow, now_ns);
}

static void measure(struct tcp_flow *flow, uint64_t sample_ns)
{
    uint64_t off_ns =
        sample_ns > flow->srtt_ns ? sample_ns - flow->srtt_ns : flow->srtt_ns - sample_ns;

    flow->rttvar_ns = flow->srtt_ns == 0 ? sample_ns / 2 : (3 * flow->rttvar_ns + off_ns) / 4;
    flow->srtt_ns = flow->srtt_ns == 0 ? sample_ns : (7 * flow->srtt_ns + sample_ns) / 8;
}

static void received(struct tcp_flow *flow, uint64_t sequence)
{
    struct tcp_segment *segment = at(flow, sequence);

    if (segment->received) {
        return;
    }
    flow->in_flight -= !segment->lost;
    segment->received = true;
    segment->lost = false;
    if (flow->first < flow->recover) {
        return;
    }
    flow->window += flow->window < flow->threshold ? 1 : INCREASE / flow->window;
    flow->window = flow->window < TCP_WINDOW ? flow->window : TCP_WINDOW;
}

/** A segment is lost if it was sent before the latest one that was received, and if that received
 * last is at least three segments after it. */
static void notice_losses(struct tcp_flow *flow, uint64_t highest)
{
    for (uint64_t sequence = flow->first; sequence + DUPLICATES <= highest; sequence++) {
        struct tcp_segment *segment = at(flow, sequence);
        if (segment->received || segment->lost || segment->sent_ns >= flow->latest_ns) {
            continue;
        }
        segment->lost = true;
        flow->in_flight--;
        if (sequence >= flow->recover) {
            flow->threshold = flow->window * DECREASE;
            flow->threshold = flow->threshold > 2 ? flow->threshold : 2;
            flow->window = flow->threshold;
            flow->recover = flow->next;
        }
    }
}

static void acknowledged(struct tcp_flow *flow, const struct wire *wire, uint64_t now_ns)
{
    measure(flow, now_ns - wire->sent_ns);
    flow->latest_ns = wire->sent_ns > flow->latest_ns ? wire->sent_ns : flow->latest_ns;
    if (wire->sequence >= flow->first) {
        received(flow, wire->sequence);
    }
    for (; flow->first < wire->expected; flow->first++) {
        received(flow, flow->first);
        flow->backoff = 0;
    }
    notice_losses(flow, wire->sequence);
    transmit(flow, now_ns);
    set_timer(flow, now_ns);
}

/** A segment has come to the receiver. */
static void take(struct tcp_flow *flow, const struct wire *wire, uint64_t now_ns)
{
    if (wire->sequence >= flow->expected) {
        flow->came[wire->sequence % TCP_WINDOW] = true;
    }
    while (flow->came[flow->expected % TCP_WINDOW]) {
        flow->came[flow->expected++ % TCP_WINDOW] = false;
    }
    send(flow,
         &(struct wire){.number = flow->number,
                        .acknowledges = true,
                        .sequence = wire->sequence,
                        .expected = flow->expected,
                        .sent_ns = wire->sent_ns},
         now_ns);
}

void tcp_frame(struct tcp_flow *flow, const struct network_frame *frame, uint64_t now_ns)
{
    struct wire wire;

    memcpy(&wire, frame->data, sizeof wire);
    if (wire.acknowledges) {
        acknowledged(flow, &wire, now_ns);
    } else {
        take(flow, &wire, now_ns);
    }
}

void tcp_due(struct tcp_flow *flow, uint64_t now_ns)
{
    for (uint64_t sequence = flow->first; sequence != flow->next; sequence++) {
        struct tcp_segment *segment = at(flow, sequence);
        segment->lost = !segment->received;
    }
    flow->in_flight = 0;
    flow->threshold = flow->window / 2 > 2 ? flow->window / 2 : 2;
    flow->window = 1;
    flow->recover = flow->next;
    flow->backoff += flow->backoff < 6;
    transmit(flow, now_ns);
    set_timer(flow, now_ns);
}
