/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Received packets. The ring has the beginning of each. A packet of one frame is in its slot, and
 * needs no system call. A longer one is also in the socket's queue, in the same order.
 *
 * Its headers, which the slot has, tell where its payload belongs before recvmsg() copies it there.
 * But looking at a slot takes cache lines from the processor that fills it: while packets are long,
 * and come as expected, it is quicker to call recvmsg() first, and to skip the slots later.
 */
#include "tso_internal.h"

#include "lane/copy.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/** After a packet of one frame, or a wrong guess, this many packets are looked for in the ring. */
#define SLOTS_FIRST_PACKETS 8

/** An error of the socket is returned in place of a packet, once. More than so many in succession
 *  do not happen. */
#define ERRORS_MAX 8

/** A packet. */
struct landing {
    const struct tso_head *head; /* in the slot, or in the room */
    uint32_t bytes;              /* of payload */
    uint8_t *payload;
    struct tso_segments segments; /* the contents of the headers */
    struct lane_address from;
};

/** Reads its headers. @return false: it is not ours. */
static bool is_ours(const struct tso_lane *tso, struct landing *landing)
{
    if (landing->bytes == 0 || landing->bytes > TSO_PAYLOAD_BYTES_MAX ||
        !tso_head_read(landing->head, landing->bytes, &landing->segments) ||
        landing->segments.ethertype != tso->ethertype) {
        return false;
    }
    landing->from = (struct lane_address){0};
    memcpy(landing->from.bytes, landing->segments.from, ETH_ALEN);
    return true;
}

/** Is this what was expected next? */
static bool is_expected(const struct lane_expectation *expected, const struct landing *landing)
{
    const struct tso_segments *segments = &landing->segments;

    return expected->frames > 0 && segments->kind == TSO_DATA && segments->key == expected->key &&
           segments->message == expected->message && segments->offset == expected->offset &&
           segments->segment_bytes == expected->payload_bytes &&
           segments->bytes <= expected->bytes &&
           memcmp(&landing->from, &expected->from, sizeof landing->from) == 0;
}

/** Receives a packet that does not fit into its slot, `place_bytes` of its payload (0: it is thrown
 *  away). @return false: it is lost */
static bool receive_long(struct tso_lane *tso, const struct landing *landing, uint32_t place_bytes)
{
    struct tso_head head;
    struct iovec parts[2] = {{&head, sizeof head}, {landing->payload, place_bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    for (unsigned errors = 0; errors < ERRORS_MAX;) {
        ssize_t received = recvmsg(tso->socket, &message, MSG_DONTWAIT | MSG_TRUNC);
        if (received < 0 && (errno == EAGAIN || errno == EFAULT)) {
            return false; /* EFAULT: it is out of the queue */
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

/** Receives a packet before its slot is looked at: its payload to where it is expected, or all to
 *  the room. @return false: there is none. */
static bool receive_early(struct tso_lane *tso, struct landing *landing)
{
    const struct lane_expectation *expected = &tso->expectation;
    uint8_t *rest = tso->room + sizeof *landing->head;
    uint32_t guessed = 0;
    ssize_t received;

    if (expected->frames > 0) {
        guessed = expected->bytes < TSO_PAYLOAD_BYTES_MAX ? (uint32_t)expected->bytes
                                                          : TSO_PAYLOAD_BYTES_MAX;
        struct iovec parts[3] = {{tso->room, sizeof *landing->head},
                                 {expected->target, guessed},
                                 {rest, TSO_PAYLOAD_BYTES_MAX}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
        received = recvmsg(tso->socket, &message, MSG_DONTWAIT | MSG_TRUNC);
    } else {
        received = recv(tso->socket, tso->room, TSO_ROOM_PACKET_BYTES, MSG_DONTWAIT | MSG_TRUNC);
    }
    if (received < 0 && errno == EFAULT) {
        tso->slots_ahead++; /* out of the queue, and lost */
        tso->lane.dropped_frames++;
    }
    if (received < (ssize_t)sizeof *landing->head) {
        return false;
    }
    landing->head = (const struct tso_head *)(const void *)tso->room;
    landing->bytes = (uint32_t)received - (uint32_t)sizeof *landing->head;
    landing->payload = rest;
    if (!is_ours(tso, landing)) {
        landing->segments.bytes = 0;
    } else if (guessed > 0 && is_expected(expected, landing)) {
        landing->payload = expected->target;
    } else if (guessed > 0) {
        uint32_t first = landing->bytes < guessed ? landing->bytes : guessed;
        memmove(rest + first, rest, landing->bytes - first);
        copy_bytes(rest, expected->target, first);
        tso->slots_first = tso->ring.slots > 0 ? SLOTS_FIRST_PACKETS : 0;
    }
    tso->room_used = sizeof *landing->head + landing->bytes;
    return true;
}

/** Does its checksum show that it was damaged? */
static bool is_damaged(const struct tso_lane *tso, const struct landing *landing)
{
    const struct iovec payload = {landing->payload, landing->segments.bytes};

    return tso->lane.verify && !tso_head_is_verified(landing->head) &&
           !tso_head_is_whole(landing->head, &payload, 1);
}

static void hand_out_data(struct tso_lane *tso, const struct landing *landing,
                          struct frame_data *head, struct lane_incoming *incoming)
{
    const struct tso_segments *segments = &landing->segments;
    struct lane_expectation *expected = &tso->expectation;

    *head = frame_encode_data(segments->destination, segments->key, segments->message);
    frame_data_set_segment(head, (uint32_t)(segments->offset / segments->segment_bytes));
    *incoming = (struct lane_incoming){
        .data = (const uint8_t *)head,
        .bytes = (uint32_t)sizeof *head + segments->bytes,
        .payload = landing->payload,
        .segment_bytes = segments->segment_bytes,
        .from = landing->from,
    };
    if (!is_expected(expected, landing)) {
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
static unsigned hand_out(struct tso_lane *tso, const struct landing *landing, unsigned taken,
                         struct lane_incoming *frames, unsigned count)
{
    const struct tso_segments *segments = &landing->segments;
    uint32_t came = lane_segments(segments->bytes, segments->segment_bytes);

    tso->lane.received_frames += came;
    tso->lane.received_bytes += segments->bytes + (uint64_t)came * TSO_OVERHEAD_BYTES;
    if (is_damaged(tso, landing)) {
        *frames = (struct lane_incoming){
            .data = landing->payload, .damaged = true, .from = landing->from};
        return 1;
    }
    if (segments->kind == TSO_DATA) {
        hand_out_data(tso, landing, &tso->heads[taken], frames);
        return 1;
    }
    return tso_run_split(segments, landing->payload, &landing->from, &tso->run_heads[taken], frames,
                         count);
}

/** Where to receive a packet that does not fit into its slot; NULL: there is no room now. */
static uint8_t *place_for(struct tso_lane *tso, const struct landing *landing)
{
    if (landing->bytes == landing->segments.bytes && is_expected(&tso->expectation, landing)) {
        return tso->expectation.target;
    }
    /* What the kernel has in pages is copied to the beginning of a cache line (copy.h). */
    uintptr_t pages_at = (uintptr_t)(tso->room + tso->room_used) + landing->head->offload.hdr_len -
                         TSO_HEADERS_BYTES;
    size_t at = tso->room_used + (-pages_at & (COPY_LINE_BYTES - 1));
    if (at + landing->bytes > TSO_ROOM_BYTES) {
        return NULL;
    }
    tso->room_used = at + landing->bytes;
    return tso->room + at;
}

/** How many frames it is handed out as. */
static unsigned frames_in(const struct tso_segments *segments)
{
    return segments->kind == TSO_DATA ? 1 : lane_segments(segments->bytes, segments->segment_bytes);
}

static bool is_long(const struct tpacket2_hdr *slot)
{
    return (slot->tp_status & TP_STATUS_COPY) != 0;
}

/** The next packets are more likely to be like this one. */
static void note_length(struct tso_lane *tso, bool a_long_one)
{
    if (!a_long_one) {
        tso->slots_first = SLOTS_FIRST_PACKETS;
    } else if (tso->slots_first > 0) {
        tso->slots_first--;
    }
}

/** Takes the packet of a slot. @param later another receive() will have more room
 *  @return the number of frames; -1: there is no room for it now, so the slot was not taken */
static int take(struct tso_lane *tso, struct tpacket2_hdr *slot, bool later, unsigned taken,
                struct lane_incoming *frames, unsigned count)
{
    bool a_long_one = is_long(slot);
    uint8_t *ethernet = (uint8_t *)slot + slot->tp_mac;
    struct landing landing = {
        .head = (const struct tso_head *)(const void *)(ethernet - sizeof(struct virtio_net_hdr)),
        .bytes = slot->tp_len > TSO_HEADERS_BYTES ? slot->tp_len - TSO_HEADERS_BYTES : 0,
        .payload = ethernet + TSO_HEADERS_BYTES,
    };

    if (!is_ours(tso, &landing)) {
        tso->lane.foreign_frames++;
        slot_ring_take(&tso->ring);
        if (a_long_one) {
            (void)receive_long(tso, &landing, 0);
        }
        return 0;
    }
    if (later && frames_in(&landing.segments) > count) {
        return -1;
    }
    if (a_long_one) {
        landing.payload = place_for(tso, &landing);
        if (landing.payload == NULL) {
            return -1;
        }
    }
    slot_ring_take(&tso->ring);
    note_length(tso, a_long_one);
    if (a_long_one ? !receive_long(tso, &landing, landing.bytes)
                   : slot->tp_snaplen != slot->tp_len) {
        tso->lane.dropped_frames++;
        return 0;
    }
    return (int)hand_out(tso, &landing, taken, frames, count);
}

/** Takes a packet that receive_early() has received. */
static int take_early(struct tso_lane *tso, const struct landing *landing, unsigned taken,
                      struct lane_incoming *frames, unsigned count)
{
    tso->slots_ahead += tso->ring.slots > 0;
    if (landing->segments.bytes == 0) {
        tso->lane.foreign_frames++;
        return 0;
    }
    return (int)hand_out(tso, landing, taken, frames, count);
}

/** @return the next slot whose packet has not been received; NULL: there is none */
static struct tpacket2_hdr *next_slot(struct tso_lane *tso)
{
    struct tpacket2_hdr *slot = slot_ring_look(&tso->ring);

    while (slot != NULL && tso->slots_ahead > 0 && is_long(slot)) {
        tso->slots_ahead--;
        slot_ring_take(&tso->ring);
        slot = slot_ring_look(&tso->ring);
    }
    return slot;
}

/** Takes packets.
 *  @param early has been received already: it is taken after those that came before it, which leave
 *  room for its frames; NULL: none has
 *  @return the number of frames */
static unsigned take_all(struct tso_lane *tso, const struct landing *early,
                         struct lane_incoming *frames, unsigned count)
{
    bool expected = tso->expectation.frames > 0;
    unsigned taken = 0;

    while (early != NULL || taken < count) {
        struct tpacket2_hdr *slot = next_slot(tso);
        unsigned left = count - taken;
        int more = -1;
        if (early == NULL && slot != NULL) {
            more = take(tso, slot, taken > 0, taken, &frames[taken], left);
        } else if (slot != NULL && !is_long(slot) && left > TSO_RUN_FRAMES_MAX) {
            more = take(tso, slot, true, taken, &frames[taken], left - TSO_RUN_FRAMES_MAX);
        }
        if (more < 0 && early != NULL) {
            more = take_early(tso, early, taken, &frames[taken], left);
            early = NULL;
        }
        if (more < 0) {
            break;
        }
        taken += (unsigned)more;
        /* When all expected data is here, the next expectation is set before the next receive(). */
        if (expected && tso->expectation.bytes == 0 && early == NULL) {
            break;
        }
    }
    (void)next_slot(tso); /* else what was received early would keep the descriptor readable */
    return taken;
}

unsigned tso_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct tso_lane *tso = tso_of(lane);
    struct landing landing;
    bool early = tso->slots_first == 0 && tso->room_used == 0 && receive_early(tso, &landing);

    count = count < ENDPOINT_RECEIVE_FRAMES ? count : ENDPOINT_RECEIVE_FRAMES;
    unsigned taken = take_all(tso, early ? &landing : NULL, frames, count);
    lane->polling_is_costly = tso->slots_first == 0;
    if (taken == 0) {
        lane->operations->release(lane); /* of what was no frame; nobody else does it */
    }
    return taken;
}
