/* SPDX-License-Identifier: BSD-3-Clause */
/* Received segments and frames: payloads at the expected place, or in the lane's own memory. */
#include "tso_internal.h"

#include "lane/copy.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/** After unexpected data, which had to be copied twice, this many calls receive into our own
 *  memory, from where it is copied once. */
#define UNPLACED_CALLS 8

/** Where the bytes of one call are. */
struct landing {
    const struct tso_head *head; /* in the room */
    uint8_t *target;             /* the first bytes of the payload */
    uint32_t target_bytes;
    uint8_t *rest; /* the other bytes, behind the head */
};

/** Receives into one piece of memory, without a list for the kernel. */
static ssize_t take_whole(const struct tso_lane *tso, uint8_t *at)
{
    return recv(tso->socket, at, TSO_ROOM_CALL_BYTES, MSG_DONTWAIT | MSG_TRUNC);
}

/** Receives the payload to its expected place, as far as it fits. */
static ssize_t take_apart(const struct tso_lane *tso, uint8_t *at, const struct landing *landing)
{
    struct iovec parts[3] = {
        {at, sizeof *landing->head},
        {landing->target, landing->target_bytes},
        {landing->rest, TSO_PAYLOAD_BYTES_MAX},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};

    return recvmsg(tso->socket, &message, MSG_DONTWAIT | MSG_TRUNC);
}

/** @return bytes of payload received; -EAGAIN or another negative errno. */
static int take(struct tso_lane *tso, struct landing *landing)
{
    const struct lane_expectation *expected = &tso->expectation;
    uint8_t *at = tso->room + tso->room_used;

    landing->head = (const struct tso_head *)(const void *)at;
    landing->rest = at + sizeof *landing->head;
    landing->target = expected->target;
    landing->target_bytes = 0;
    if (expected->frames > 0 && tso->unplaced_calls == 0) {
        landing->target_bytes = expected->bytes < TSO_PAYLOAD_BYTES_MAX ? (uint32_t)expected->bytes
                                                                        : TSO_PAYLOAD_BYTES_MAX;
    }
    ssize_t received =
        landing->target_bytes > 0 ? take_apart(tso, at, landing) : take_whole(tso, at);
    if (received < 0) {
        return -errno;
    }
    if ((size_t)received <= sizeof *landing->head || (size_t)received > TSO_ROOM_CALL_BYTES) {
        return 0; /* no payload, or too much */
    }
    return (int)((size_t)received - sizeof *landing->head);
}

/** Is this what was expected next? */
static bool is_expected(const struct lane_expectation *expected,
                        const struct tso_segments *segments, const struct lane_address *from)
{
    return expected->frames > 0 && segments->key == expected->key &&
           segments->message == expected->message && segments->offset == expected->offset &&
           segments->segment_bytes == expected->payload_bytes &&
           segments->bytes <= expected->bytes && memcmp(from, &expected->from, sizeof *from) == 0;
}

/** Does its checksum show that it was damaged? */
static bool is_damaged(const struct tso_lane *tso, const struct landing *landing, uint32_t bytes)
{
    uint32_t first = bytes < landing->target_bytes ? bytes : landing->target_bytes;
    const struct iovec parts[2] = {{landing->target, first}, {landing->rest, bytes - first}};

    return tso->lane.verify && !tso_head_is_verified(landing->head) &&
           !tso_head_is_whole(landing->head, parts, 2);
}

/** Makes the payload contiguous in our own memory. */
static const uint8_t *gather(struct tso_lane *tso, const struct landing *landing, uint32_t bytes)
{
    uint8_t *at = landing->rest;

    if (landing->target_bytes > 0) {
        uint32_t first = bytes < landing->target_bytes ? bytes : landing->target_bytes;
        memmove(at + first, at, bytes - first);
        copy_bytes(at, landing->target, first);
    }
    /* The head of the next call is read in place. */
    tso->room_used += (sizeof *landing->head + bytes + 7) & ~(size_t)7;
    return at;
}

/** Something unexpected has arrived. */
static void note_unexpected(struct tso_lane *tso, const struct landing *landing)
{
    if (landing->target_bytes > 0) {
        tso->unplaced_calls = UNPLACED_CALLS;
    } else if (tso->unplaced_calls > 0) {
        tso->unplaced_calls--;
    }
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
        .segment_bytes = segments->segment_bytes,
        .from = *from,
    };
    bool right = is_expected(expected, segments, from);
    if (right && landing->target_bytes > 0) {
        incoming->payload = landing->target;
        tso->lane.placed_frames += lane_segments(segments->bytes, segments->segment_bytes);
    } else {
        incoming->payload = gather(tso, landing, segments->bytes);
    }
    if (right) {
        tso->unplaced_calls = 0;
        expected->target += segments->bytes;
        expected->offset += segments->bytes;
        expected->bytes -= segments->bytes;
        expected->frames = expected->bytes > 0;
        return;
    }
    expected->frames = 0; /* another frame may be at its place now */
    note_unexpected(tso, landing);
}

/** @param taken frames returned before @return the number of further ones, at most `count`. */
static unsigned hand_out(struct tso_lane *tso, const struct landing *landing,
                         const struct tso_segments *segments, unsigned taken,
                         struct lane_incoming *frames, unsigned count)
{
    struct lane_address from = {0};

    memcpy(from.bytes, segments->from, ETH_ALEN);
    if (is_damaged(tso, landing, segments->bytes)) {
        *frames = (struct lane_incoming){.data = landing->rest, .damaged = true, .from = from};
        return 1;
    }
    if (segments->kind == TSO_DATA) {
        hand_out_data(tso, landing, segments, &from, &tso->heads[taken], frames);
        return 1;
    }
    if (landing->target_bytes > 0) {
        note_unexpected(tso, landing);
    }
    return tso_run_split(segments, gather(tso, landing, segments->bytes), &from,
                         &tso->run_heads[taken], frames, count);
}

/** Is another system call worth while, with room for this many frames? When all expected data is
 *  `here`, the next expectation is set before the next receive(). */
static bool is_worth_another(const struct tso_lane *tso, bool here, unsigned left)
{
    return tso->streaming && tso->room_used + TSO_ROOM_CALL_BYTES <= TSO_ROOM_BYTES &&
           left >= TSO_RUN_FRAMES_MAX && !here;
}

unsigned tso_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct tso_lane *tso = tso_of(lane);
    unsigned taken = 0;
    bool here = false;

    count = count < TSO_CALLS_MAX ? count : TSO_CALLS_MAX;
    for (unsigned call = 0; call < TSO_CALLS_MAX && taken < count &&
                            (taken == 0 || is_worth_another(tso, here, count - taken));
         call++) {
        struct landing landing;
        struct tso_segments segments;
        int bytes = take(tso, &landing);
        if (bytes < 0) {
            break;
        }
        if (bytes == 0 || !tso_head_read(landing.head, (uint32_t)bytes, &segments) ||
            segments.ethertype != tso->ethertype) {
            lane->foreign_frames++;
            continue;
        }
        bool expected = tso->expectation.frames > 0;
        taken += hand_out(tso, &landing, &segments, taken, &frames[taken], count - taken);
        here = expected && tso->expectation.bytes == 0;
        uint32_t came = lane_segments(segments.bytes, segments.segment_bytes);
        lane->received_frames += came;
        lane->received_bytes += segments.bytes + (uint64_t)came * TSO_OVERHEAD_BYTES;
    }
    tso->streaming = taken > 0;
    return taken;
}
