/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends segments and frames, as many as possible by each system call. */
#include "tso_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static_assert(PULL_BLOCK_BYTES <= TSO_SENT_BYTES_MAX, "one call sends a block");

/** After the kernel has refused to cut, this many calls send segments and frames singly. */
#define UNCUT_CALLS 1000

/** Sends segments in one call.
 *
 *  @param parts `count` of them: the first is overwritten with their headers, the others have their
 *         payload
 *  @return 0 or a negative errno */
static int send_parts(struct tso_lane *tso, const struct tso_segments *segments,
                      struct iovec *parts, unsigned count)
{
    struct tso_head head;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};

    tso_head_write(&head, segments);
    tso_head_align(&head, parts + 1, count - 1);
    parts[0] = (struct iovec){&head, sizeof head};
    tso->lane.sent_calls++;
    return sendmsg(tso->socket, &message, MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int send_segments(struct tso_lane *tso, const struct tso_segments *segments,
                         const uint8_t *payload)
{
    struct iovec parts[2];

    parts[1] = (struct iovec){(void *)(uintptr_t)payload, segments->bytes};
    return send_parts(tso, segments, parts, 2);
}

/** Cuts in software. @return the bytes sent. */
static uint32_t send_one_by_one(struct tso_lane *tso, const struct tso_segments *segments,
                                const uint8_t *payload)
{
    struct tso_segments one = *segments;
    uint32_t gone = 0;

    while (gone < segments->bytes) {
        uint32_t left = segments->bytes - gone;
        one.offset = segments->offset + gone;
        one.bytes = left < one.segment_bytes ? left : one.segment_bytes;
        int status = send_segments(tso, &one, payload + gone);
        if (status != 0) {
            break;
        }
        gone += one.bytes;
    }
    return gone;
}

/** The card increments the low 32 bits of the offset only (tso_head.h). */
static bool crosses_four_gigabytes(const struct tso_segments *segments)
{
    return segments->offset >> 32 != (segments->offset + segments->bytes - 1) >> 32;
}

static bool cannot_cut(int status)
{
    return status == -EINVAL || status == -EIO || status == -EMSGSIZE || status == -EOPNOTSUPP;
}

static void note_sent(struct tso_lane *tso, uint32_t bytes, uint32_t segment_bytes)
{
    uint32_t frames = lane_segments(bytes, segment_bytes);

    tso->lane.sent_frames += frames;
    tso->lane.sent_bytes += bytes + (uint64_t)frames * TSO_OVERHEAD_BYTES;
}

/** Is cutting by the kernel suspended? Counts the calls of the suspension. */
static bool cuts_by_hand(struct tso_lane *tso)
{
    bool by_hand = tso->uncut_calls > 0;

    tso->uncut_calls -= by_hand;
    return by_hand;
}

static void note_refused_train(struct tso_lane *tso)
{
    tso->lane.refused_trains++;
    tso->uncut_calls = UNCUT_CALLS - 1; /* this call is the first */
}

static bool send_data(struct tso_lane *tso, const struct lane_address *to,
                      const struct lane_outgoing *data)
{
    const struct frame_data *head = (const struct frame_data *)(const void *)data->head;
    struct tso_segments segments = {
        .ethertype = tso->ethertype,
        .destination = from_le16(head->destination),
        .key = from_le32(head->key),
        .message = from_le32(head->message),
        .offset = (uint64_t)frame_data_segment(head) * data->segment_bytes,
        .segment_bytes = data->segment_bytes,
        .bytes = data->payload_bytes,
    };
    uint32_t gone = data->payload_bytes;

    memcpy(segments.to, to->bytes, ETH_ALEN);
    memcpy(segments.from, tso->mac, ETH_ALEN);
    bool together = !cuts_by_hand(tso) && segments.bytes <= TSO_SENT_BYTES_MAX &&
                    !crosses_four_gigabytes(&segments);
    if (together) {
        int status = send_segments(tso, &segments, data->payload);
        if (cannot_cut(status)) {
            note_refused_train(tso);
            together = false;
        } else if (status != 0) {
            return false;
        }
    }
    if (!together) {
        gone = send_one_by_one(tso, &segments, data->payload);
    }
    note_sent(tso, gone, data->segment_bytes);
    return gone > 0; /* unsent data counts as lost */
}

/** Sends the first of these frames, as many as go together, at most `most`. @return their
 *  number. */
static unsigned send_run(struct tso_lane *tso, const struct lane_address *to,
                         const struct lane_outgoing *frames, unsigned count, unsigned most)
{
    struct tso_run run;

    tso_run_load(&run, frames, count, most);
    struct tso_segments segments = {
        .ethertype = tso->ethertype,
        .destination = run.destination,
        .kind = run.kind,
        .key = run.key,
        .message = run.sequence,
        .name = run.name,
        .offset = run.offset,
        .segment_bytes = run.segment_bytes,
        .bytes = run.bytes,
    };
    memcpy(segments.to, to->bytes, ETH_ALEN);
    memcpy(segments.from, tso->mac, ETH_ALEN);
    int status = send_parts(tso, &segments, run.parts, run.part_count);
    if (status == 0) {
        note_sent(tso, run.bytes, run.segment_bytes);
        return run.frames;
    }
    if (cannot_cut(status) && run.frames > 1) {
        note_refused_train(tso);
        return send_run(tso, to, frames, 1, 1);
    }
    return 0;
}

unsigned tso_send(struct lane *lane, const struct lane_address *to,
                  const struct lane_outgoing *frames, unsigned count)
{
    struct tso_lane *tso = tso_of(lane);
    unsigned taken = 0;

    while (taken < count) {
        const struct lane_outgoing *next = &frames[taken];
        unsigned gone = next->segment_bytes > 0
                            ? send_data(tso, to, next)
                            : send_run(tso, to, next, count - taken,
                                       cuts_by_hand(tso) ? 1 : TSO_RUN_FRAMES_MAX);
        if (gone == 0) {
            break;
        }
        taken += gone;
    }
    lane->refused_frames += count - taken;
    return taken;
}
