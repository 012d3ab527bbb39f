/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Received packets. The ring has the beginning of each. A packet of one frame is in its slot, and
 * needs no system call. A longer one is also in the socket's queue, in the same order: its headers,
 * which the slot has, tell where its payload belongs before recvmsg() copies it there.
 */
#include "tso_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/** An error of the socket is returned in place of a packet, once. More than so many in succession
 *  do not happen. */
#define ERRORS_MAX 8

/** A packet. */
struct landing {
    const struct tso_head *head; /* in the slot */
    uint32_t bytes;              /* of payload */
    uint8_t *payload;
};

/** Is this what was expected next? */
static bool is_expected(const struct lane_expectation *expected,
                        const struct tso_segments *segments, const struct lane_address *from)
{
    return expected->frames > 0 && segments->key == expected->key &&
           segments->message == expected->message && segments->offset == expected->offset &&
           segments->segment_bytes == expected->payload_bytes &&
           segments->bytes <= expected->bytes && memcmp(from, &expected->from, sizeof *from) == 0;
}

/** Receives a packet that does not fit into its slot. @return false: it is lost */
static bool receive_long(struct tso_lane *tso, const struct landing *landing)
{
    struct tso_head head;
    struct iovec parts[2] = {{&head, sizeof head}, {landing->payload, landing->bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    for (unsigned errors = 0; errors < ERRORS_MAX;) {
        ssize_t received = recvmsg(tso->socket, &message, MSG_DONTWAIT | MSG_TRUNC);
        if (received < 0 && errno == EAGAIN) {
            return false;
        }
        /* Otherwise it is one that an earlier slot announced, and an error hid. */
        if (received == (ssize_t)(sizeof head + landing->bytes) &&
            memcmp(&head, landing->head, sizeof head) == 0) {
            return true;
        }
        errors += received < 0;
    }
    return false;
}

/** Does its checksum show that it was damaged? */
static bool is_damaged(const struct tso_lane *tso, const struct landing *landing, uint32_t bytes)
{
    const struct iovec payload = {landing->payload, bytes};

    return tso->lane.verify && !tso_head_is_verified(landing->head) &&
           !tso_head_is_whole(landing->head, &payload, 1);
}

static void hand_out_data(struct tso_lane *tso, const struct landing *landing,
                          const struct tso_segments *segments, const struct lane_address *from,
                          struct frame_data *head, struct lane_incoming *incoming)
{
    struct lane_expectation *expected = &tso->expectation;

    *head = frame_encode_data(segments->destination, segments->key, segments->message);
    frame_data_set_segment(head, (uint32_t)(segments->offset / segments->segment_bytes));
    *incoming = (struct lane_incoming){
        .data = (const uint8_t *)head,
        .bytes = (uint32_t)sizeof *head + segments->bytes,
        .payload = landing->payload,
        .segment_bytes = segments->segment_bytes,
        .from = *from,
    };
    if (!is_expected(expected, segments, from)) {
        expected->frames = 0; /* another frame may be at its place now */
        return;
    }
    if (landing->payload == expected->target) {
        tso->lane.placed_frames += lane_segments(segments->bytes, segments->segment_bytes);
    }
    expected->target += segments->bytes;
    expected->offset += segments->bytes;
    expected->bytes -= segments->bytes;
    expected->frames = expected->bytes > 0;
}

/** @param taken frames returned before @return the number of further ones, at most `count`. */
static unsigned hand_out(struct tso_lane *tso, const struct landing *landing,
                         const struct tso_segments *segments, const struct lane_address *from,
                         unsigned taken, struct lane_incoming *frames, unsigned count)
{
    if (is_damaged(tso, landing, segments->bytes)) {
        *frames = (struct lane_incoming){.data = landing->payload, .damaged = true, .from = *from};
        return 1;
    }
    if (segments->kind == TSO_DATA) {
        hand_out_data(tso, landing, segments, from, &tso->heads[taken], frames);
        return 1;
    }
    return tso_run_split(segments, landing->payload, from, &tso->run_heads[taken], frames, count);
}

/** Where to receive a packet that does not fit into its slot; NULL: there is no room now. */
static uint8_t *place_for(struct tso_lane *tso, const struct tso_segments *segments,
                          const struct lane_address *from, uint32_t bytes)
{
    if (segments->kind == TSO_DATA && bytes == segments->bytes &&
        is_expected(&tso->expectation, segments, from)) {
        return tso->expectation.target;
    }
    if (tso->room_used + bytes > TSO_ROOM_BYTES) {
        return NULL;
    }
    uint8_t *place = tso->room + tso->room_used;
    tso->room_used += (bytes + 7) & ~(size_t)7; /* the heads of frames are read in place */
    return place;
}

/** How many frames it is handed out as. */
static unsigned frames_in(const struct tso_segments *segments)
{
    return segments->kind == TSO_DATA ? 1 : lane_segments(segments->bytes, segments->segment_bytes);
}

/** Takes the packet of a slot. @return the number of frames; -1: there is no room for it now, so
 *  the slot was not taken */
static int take(struct tso_lane *tso, struct tpacket2_hdr *slot, unsigned taken,
                struct lane_incoming *frames, unsigned count)
{
    struct lane *lane = &tso->lane;
    struct tso_segments segments;
    struct lane_address from = {0};
    bool is_long = (slot->tp_status & TP_STATUS_COPY) != 0;
    uint8_t *ethernet = (uint8_t *)slot + slot->tp_mac;
    struct landing landing = {
        .head = (const struct tso_head *)(const void *)(ethernet - sizeof(struct virtio_net_hdr)),
        .bytes = slot->tp_len - TSO_HEADERS_BYTES,
        .payload = ethernet + TSO_HEADERS_BYTES,
    };

    if (slot->tp_len <= TSO_HEADERS_BYTES || landing.bytes > TSO_PAYLOAD_BYTES_MAX ||
        !tso_head_read(landing.head, landing.bytes, &segments) ||
        segments.ethertype != tso->ethertype) {
        lane->foreign_frames++;
        slot_ring_take(&tso->ring);
        if (is_long) {
            (void)recv(tso->socket, NULL, 0, MSG_DONTWAIT | MSG_TRUNC);
        }
        return 0;
    }
    memcpy(from.bytes, segments.from, ETH_ALEN);
    if (taken > 0 && frames_in(&segments) > count) {
        return -1;
    }
    if (is_long) {
        landing.payload = place_for(tso, &segments, &from, landing.bytes);
        if (landing.payload == NULL) {
            return -1;
        }
    }
    slot_ring_take(&tso->ring);
    if (is_long ? !receive_long(tso, &landing) : slot->tp_snaplen != slot->tp_len) {
        lane->dropped_frames++;
        return 0;
    }
    uint32_t came = lane_segments(segments.bytes, segments.segment_bytes);
    lane->received_frames += came;
    lane->received_bytes += segments.bytes + (uint64_t)came * TSO_OVERHEAD_BYTES;
    return (int)hand_out(tso, &landing, &segments, &from, taken, frames, count);
}

unsigned tso_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct tso_lane *tso = tso_of(lane);
    unsigned taken = 0;
    bool expected = tso->expectation.frames > 0;

    count = count < ENDPOINT_RECEIVE_FRAMES ? count : ENDPOINT_RECEIVE_FRAMES;
    while (taken < count) {
        struct tpacket2_hdr *slot = slot_ring_look(&tso->ring);
        int more = slot == NULL ? -1 : take(tso, slot, taken, &frames[taken], count - taken);
        if (more < 0) {
            break;
        }
        taken += (unsigned)more;
        /* When all expected data is here, the next expectation is set before the next receive(). */
        if (expected && tso->expectation.bytes == 0) {
            break;
        }
    }
    return taken;
}
