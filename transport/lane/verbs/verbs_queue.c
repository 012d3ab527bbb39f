/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting, and completions. */
#include "lane/verbs/verbs_internal.h"
#include "lane/verbs/verbs_link.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* ---- frames out ----------------------------------------------------------------------------- */

/** Frees the slots of sent frames. */
static void reclaim(struct verbs_lane *verbs)
{
    struct ibv_wc done[VERBS_POLLED_MAX];
    int count = 0;

    do {
        count = ibv_poll_cq(verbs->sent, VERBS_POLLED_MAX, done);
        for (int i = 0; i < count; i++) {
            if (done[i].status == IBV_WC_SUCCESS) {
                verbs->gone = done[i].wr_id; /* with all before it */
            } else {
                verbs->broken = true;
            }
        }
        verbs->broken = verbs->broken || count < 0;
    } while (count == VERBS_POLLED_MAX);
}

static uint32_t copy_frame(uint8_t *slot, const struct lane_outgoing *frame)
{
    memcpy(slot, frame->head, frame->head_bytes);
    if (frame->payload_bytes > 0) {
        memcpy(slot + frame->head_bytes, frame->payload, frame->payload_bytes);
    }
    return frame->head_bytes + frame->payload_bytes;
}

/** Posts frames, for which there are slots, by one call. @return the number posted. */
static unsigned post(struct verbs_lane *verbs, const struct verbs_place *place, struct ibv_ah *host,
                     const struct lane_outgoing *frames, unsigned count)
{
    struct ibv_send_wr requests[FLOW_BATCH_FRAMES];
    struct ibv_sge parts[FLOW_BATCH_FRAMES];
    struct ibv_send_wr *refused = NULL;

    for (unsigned i = 0; i < count; i++) {
        uint8_t *slot = verbs_slot_out(verbs, verbs->posted + i);
        uint32_t bytes = copy_frame(slot, &frames[i]);
        uint64_t number = verbs->posted + i + 1;
        bool reported = i + 1 == count || number % VERBS_REPORTED_EACH == 0;
        parts[i] =
            (struct ibv_sge){.addr = (uintptr_t)slot, .length = bytes, .lkey = verbs->region->lkey};
        requests[i] = (struct ibv_send_wr){
            .wr_id = number,
            .next = i + 1 < count ? &requests[i + 1] : NULL,
            .sg_list = &parts[i],
            .num_sge = 1,
            .opcode = IBV_WR_SEND,
            .send_flags = (reported ? IBV_SEND_SIGNALED : 0u) |
                          (bytes <= verbs->inline_bytes ? IBV_SEND_INLINE : 0u),
            .wr.ud = {.ah = host, .remote_qpn = place->queue_pair, .remote_qkey = VERBS_QKEY},
        };
    }
    verbs->lane.sent_calls++;
    unsigned taken = count;
    if (ibv_post_send(verbs->pair, requests, &refused) != 0) {
        taken = refused != NULL ? (unsigned)(refused - requests) : 0;
    }
    for (unsigned i = 0; i < taken; i++) {
        verbs->lane.sent_bytes += parts[i].length;
    }
    verbs->posted += taken;
    return taken;
}

void verbs_send_note(struct verbs_lane *verbs, const struct verbs_place *to, uint32_t immediate,
                     const void *bytes, uint32_t count)
{
    struct ibv_ah *host = NULL;
    struct ibv_send_wr *refused = NULL;

    reclaim(verbs);
    if (verbs->broken || verbs->posted - verbs->gone == LANE_VERBS_SEND_FRAMES ||
        verbs_hosts_find(&verbs->hosts, to->ipv4, false, &host) != 0) {
        return;
    }
    uint8_t *slot = verbs_slot_out(verbs, verbs->posted);
    memcpy(slot, bytes, count);
    struct ibv_sge part = {.addr = (uintptr_t)slot, .length = count, .lkey = verbs->region->lkey};
    struct ibv_send_wr request = {
        .wr_id = verbs->posted + 1,
        .sg_list = &part,
        .num_sge = 1,
        .opcode = IBV_WR_SEND_WITH_IMM,
        .imm_data = htobe32(immediate),
        .send_flags = IBV_SEND_SIGNALED,
        .wr.ud = {.ah = host, .remote_qpn = to->queue_pair, .remote_qkey = VERBS_QKEY},
    };
    verbs->posted += ibv_post_send(verbs->pair, &request, &refused) == 0 ? 1 : 0;
}

static unsigned send_to(struct verbs_lane *verbs, const struct verbs_place *place,
                        struct ibv_ah *host, const struct lane_outgoing *frames, unsigned count)
{
    unsigned taken = 0;

    while (taken < count) {
        unsigned free = LANE_VERBS_SEND_FRAMES - (unsigned)(verbs->posted - verbs->gone);
        unsigned together = count - taken < FLOW_BATCH_FRAMES ? count - taken : FLOW_BATCH_FRAMES;
        together = together < free ? together : free;
        unsigned some = together == 0 ? 0 : post(verbs, place, host, &frames[taken], together);
        taken += some;
        if (some == 0 || some < together) {
            break;
        }
    }
    return taken;
}

unsigned verbs_send(struct lane *lane, const struct lane_address *to,
                    const struct lane_outgoing *frames, unsigned count)
{
    const struct verbs_place *place = (const struct verbs_place *)(const void *)to;
    struct verbs_lane *verbs = verbs_of(lane);
    struct ibv_ah *host = NULL;
    unsigned taken = 0;

    if (verbs->posted - verbs->gone + count > LANE_VERBS_SEND_FRAMES / 2) {
        reclaim(verbs);
    }
    int status = verbs->broken ? -ENETDOWN
                               : verbs_hosts_find(&verbs->hosts, place->ipv4,
                                                  verbs->posted == verbs->gone, &host);
    if (status == 0) {
        taken = send_to(verbs, place, host, frames, count);
    } else if (status == -EHOSTUNREACH) {
        taken = count; /* the frames count as lost, which the layers above detect */
    } else if (verbs->posted != verbs->gone) {
        reclaim(verbs); /* at the next call nothing may be under way */
    }
    lane->sent_frames += taken;
    lane->refused_frames += count - taken;
    return taken;
}

/* ---- frames in ------------------------------------------------------------------------------ */

bool verbs_post_slots(struct verbs_lane *verbs, const uint32_t *slots, unsigned count)
{
    struct ibv_recv_wr requests[VERBS_POLLED_MAX];
    struct ibv_sge parts[VERBS_POLLED_MAX];
    struct ibv_recv_wr *refused = NULL;

    for (unsigned i = 0; i < count; i++) {
        parts[i] = (struct ibv_sge){.addr = (uintptr_t)verbs_slot_in(verbs, slots[i]),
                                    .length = VERBS_GRH_BYTES + verbs->lane.frame_bytes,
                                    .lkey = verbs->region->lkey};
        requests[i] = (struct ibv_recv_wr){.wr_id = slots[i],
                                           .next = i + 1 < count ? &requests[i + 1] : NULL,
                                           .sg_list = &parts[i],
                                           .num_sge = 1};
    }
    return ibv_post_recv(verbs->pair, requests, &refused) == 0;
}

void verbs_release(struct lane *lane)
{
    struct verbs_lane *verbs = verbs_of(lane);

    for (unsigned first = 0; first < verbs->held_count; first += VERBS_POLLED_MAX) {
        unsigned left = verbs->held_count - first;
        if (!verbs_post_slots(verbs, &verbs->held[first],
                              left < VERBS_POLLED_MAX ? left : VERBS_POLLED_MAX)) {
            verbs->broken = true;
        }
    }
    verbs->held_count = 0;
}

/** Takes pending events, so that the descriptor is not readable. */
static void quieten(struct verbs_lane *verbs)
{
    struct ibv_cq *queue = NULL;
    void *of = NULL;
    unsigned of_frames = 0;
    unsigned of_reads = 0;

    while (verbs->library->get_cq_event(verbs->channel, &queue, &of) == 0) {
        of_reads += queue == verbs->reads_ended;
        of_frames += queue == verbs->received;
    }
    if (of_frames > 0) {
        verbs->library->ack_cq_events(verbs->received, of_frames);
    }
    if (of_reads > 0) {
        verbs->library->ack_cq_events(verbs->reads_ended, of_reads);
    }
    verbs->armed = false;
}

/** Polls for completions. @return false: none. */
static bool poll_received(struct verbs_lane *verbs)
{
    int count = ibv_poll_cq(verbs->received, VERBS_POLLED_MAX, verbs->polled);

    verbs->broken = verbs->broken || count < 0;
    verbs->polled_first = 0;
    verbs->polled_end = count > 0 ? (unsigned)count : 0;
    return count > 0;
}

/** Is this a datagram over IPv4, as ours are? */
static bool is_whole(const struct ibv_wc *completion, const uint8_t *slot)
{
    return completion->opcode == IBV_WC_RECV && (completion->wc_flags & IBV_WC_GRH) != 0 &&
           completion->byte_len > VERBS_GRH_BYTES &&
           slot[VERBS_GRH_BYTES - VERBS_IPV4_BYTES] >> 4 == 4;
}

/** Returns a received frame. @return 1; 0: it is not for us. */
static unsigned take(struct verbs_lane *verbs, const struct ibv_wc *completion,
                     struct lane_incoming *frame)
{
    /* After the header's first nine bytes and its checksum. */
    static const unsigned source_at = VERBS_GRH_BYTES - VERBS_IPV4_BYTES + 12;
    const uint32_t slot = (uint32_t)completion->wr_id;

    if (completion->status != IBV_WC_SUCCESS) {
        verbs->broken = true; /* all posted ones complete like this, one after the other */
        return 0;
    }
    const uint8_t *bytes = verbs_slot_in(verbs, slot);
    verbs->held[verbs->held_count++] = slot;
    if (!is_whole(completion, bytes)) {
        verbs->lane.foreign_frames++;
        return 0;
    }
    struct verbs_place place = {.queue_pair = completion->src_qp};
    memcpy(&place.ipv4, bytes + source_at, sizeof place.ipv4);
    if ((completion->wc_flags & IBV_WC_WITH_IMM) != 0) {
        bool known = be32toh(completion->imm_data) == VERBS_HELLO_IMMEDIATE &&
                     verbs_link_hello(verbs, &place, bytes + VERBS_GRH_BYTES,
                                      completion->byte_len - VERBS_GRH_BYTES);
        verbs->lane.foreign_frames += known ? 0 : 1;
        return 0;
    }
    *frame = (struct lane_incoming){.data = bytes + VERBS_GRH_BYTES,
                                    .bytes = completion->byte_len - VERBS_GRH_BYTES};
    memcpy(&frame->from, &place, sizeof place);
    verbs->lane.received_bytes += frame->bytes;
    return 1;
}

unsigned verbs_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct verbs_lane *verbs = verbs_of(lane);
    unsigned taken = 0;

    if (__builtin_expect(verbs->armed, 0)) {
        quieten(verbs);
    }
    while (taken < count && (verbs->polled_first < verbs->polled_end || poll_received(verbs))) {
        taken += take(verbs, &verbs->polled[verbs->polled_first++], &frames[taken]);
    }
    lane->received_frames += taken;
    return taken;
}

bool verbs_arm(struct lane *lane)
{
    struct verbs_lane *verbs = verbs_of(lane);

    if (verbs->polled_first < verbs->polled_end) {
        return false;
    }
    quieten(verbs);
    verbs->broken = verbs->broken || ibv_req_notify_cq(verbs->received, 0) != 0 ||
                    (verbs->links_open > 0 && ibv_req_notify_cq(verbs->reads_ended, 0) != 0);
    verbs->armed = true;
    /* Completions before the request for an event cause none. */
    return !poll_received(verbs) && !verbs_reads_have_ended(verbs);
}
