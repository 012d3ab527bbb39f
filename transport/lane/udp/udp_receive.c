/* SPDX-License-Identifier: BSD-3-Clause */
/* Received frames. They are in `room`, which is used from the front, so that a few short frames at
 * a time stay in the same few cache lines; or at the target of the expectation. */
#include "udp_internal.h"

#include "tuning.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/** The number of trains of any kind that fit into `room`. */
#define ROOM_TRAINS 2

#define CACHE_LINE_BYTES 64

int udp_receive_open(struct udp_lane *udp)
{
    udp->room = aligned_alloc(4096, ROOM_TRAINS * TRAIN_ROOM_BYTES);
    return udp->room == NULL ? -ENOMEM : 0;
}

/** Returns frames that were too many for the last receive(). */
static unsigned take_waiting(struct udp_lane *udp, struct lane_incoming *frames, unsigned count)
{
    unsigned taken = train_take(&udp->runs[0], &udp->runs_from, frames, count);

    return taken + train_take(&udp->runs[1], &udp->runs_from, frames + taken, count - taken);
}

/** Length of the frames that recvmsg() has received. */
static uint32_t frame_bytes_of(struct msghdr *message, uint32_t bytes)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level == SOL_UDP && header->cmsg_type == UDP_GRO) {
            int segment_bytes = 0;
            memcpy(&segment_bytes, CMSG_DATA(header), sizeof segment_bytes);
            if (segment_bytes > 0 && (uint32_t)segment_bytes < bytes) {
                return (uint32_t)segment_bytes;
            }
        }
    }
    return bytes;
}

/** Receives a train, and returns up to `count` of its frames. @return their number; -EAGAIN: none;
 *  another negative errno: the socket's error. */
static int receive_train(struct udp_lane *udp, struct lane_incoming *frames, unsigned count)
{
    struct iovec parts[TRAIN_PARTS_MAX];
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))];
    union udp_sockaddr from;
    struct train train;
    struct train_contents contents;

    unsigned part_count =
        train_lay_out(&train, &udp->expectation, count, udp->room + udp->room_used, parts);
    struct msghdr message = {
        .msg_name = &from,
        .msg_namelen = sizeof from,
        .msg_iov = parts,
        .msg_iovlen = part_count,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    ssize_t received = recvmsg(udp->socket, &message, MSG_DONTWAIT);
    if (received < 0) {
        return -errno;
    }
    uint32_t bytes = (uint32_t)received;
    uint32_t frame_bytes = frame_bytes_of(&message, bytes);
    udp->runs_from = udp_place_of(&from);
    train_sort(&train, bytes, frame_bytes, &udp->runs_from, &udp->expectation, frames, &contents);
    udp->runs[0] = contents.runs[0];
    udp->runs[1] = contents.runs[1];
    udp->room_used +=
        (contents.room_bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    udp->train_frames = bytes == 0 ? 1 : (bytes + frame_bytes - 1) / frame_bytes;
    udp->lane.received_bytes += bytes;
    udp->lane.placed_frames += contents.placed;
    udp->lane.foreign_frames += bytes == 0;
    return (int)(contents.placed +
                 take_waiting(udp, frames + contents.placed, count - contents.placed));
}

static bool has_room(const struct udp_lane *udp)
{
    return udp->room_used + TRAIN_ROOM_BYTES <= ROOM_TRAINS * TRAIN_ROOM_BYTES;
}

/** Is another system call worth while? Not for a train that would have to be divided; nor if frames
 *  come one at a time, because then the answer is more urgent; nor if all expected data has
 *  arrived, because the next expectation is set before the next receive(). */
static bool is_worth_another(const struct udp_lane *udp, unsigned left, bool expected)
{
    return udp->streaming && udp->runs[0].bytes == 0 && udp->runs[1].bytes == 0 &&
           left >= udp->train_frames && (!expected || udp->expectation.frames > 0);
}

/** Is nothing there, and does this call not poll the card's queue? Asking for the length of the
 *  next datagram polls nothing; recvmsg() would each time (queue_poll.h). */
static bool is_quiet(struct udp_lane *udp)
{
    int bytes = 0;

    return udp->polls && !udp->streaming && ++udp->looks % LANE_POLL_LOOKS != 0 &&
           ioctl(udp->socket, FIONREAD, &bytes) == 0 && bytes == 0;
}

unsigned udp_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct udp_lane *udp = udp_of(lane);
    unsigned taken = take_waiting(udp, frames, count);
    unsigned attempts = 0;
    bool expected = udp->expectation.frames > 0;

    if (taken == 0 && is_quiet(udp)) {
        return 0;
    }
    while (has_room(udp) && (taken == 0 || is_worth_another(udp, count - taken, expected))) {
        int got = receive_train(udp, frames + taken, count - taken);
        if (got > 0) {
            taken += (unsigned)got;
        } else if (got == -EAGAIN || ++attempts == UDP_ERROR_ATTEMPTS) {
            break; /* the rest is for the next call */
        } else if (got < 0) {
            udp_read_errors(udp);
        }
    }
    udp->streaming = taken > 0;
    lane->received_frames += taken;
    return taken;
}

void udp_release(struct lane *lane)
{
    struct udp_lane *udp = udp_of(lane);

    if (udp->runs[0].bytes == 0 && udp->runs[1].bytes == 0) {
        udp->room_used = 0;
    }
}

void udp_expect(struct lane *lane, const struct lane_expectation *expectation)
{
    struct udp_lane *udp = udp_of(lane);
    struct lane_expectation *own = &udp->expectation;

    *own = *expectation;
    uint64_t bytes_max = (uint64_t)own->frames * own->payload_bytes;
    own->bytes = own->bytes < bytes_max ? own->bytes : bytes_max;
    if (!train_can_expect(own) || own->payload_bytes < LANE_UDP_PLACED_BYTES_MIN) {
        own->frames = 0;
    }
}
