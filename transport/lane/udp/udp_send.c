/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends frames by as few system calls, and passes through the kernel, as their lengths permit. */
#include "frame/frame.h"
#include "lane/socket.h"
#include "udp_internal.h"

#include <errno.h>
#include <netinet/udp.h>

/** After the kernel has refused segmentation (a card that cannot compute checksums, a path with a
 *  smaller MTU), this many calls do without it. */
#define UNSEGMENTED_CALLS 1000

#define CONTROL_BYTES CMSG_SPACE(sizeof(uint16_t))

/** The arguments of one sendmmsg(): each message is a train or a single frame. */
struct shipment {
    unsigned count;
    struct mmsghdr messages[TRAIN_FRAMES_MAX];
    uint8_t frames[TRAIN_FRAMES_MAX]; /* of each message */
    struct iovec parts[3 * TRAIN_FRAMES_MAX];
    _Alignas(struct cmsghdr) uint8_t control[TRAIN_FRAMES_MAX][CONTROL_BYTES];
};

/** The socket for frames, and its arguments. */
struct way {
    int socket;
    bool is_shortcut;
    socklen_t to_bytes;
    union udp_sockaddr *to; /* NULL: the socket is connected to the peer */
    union udp_sockaddr address;
};

static const uint8_t zeros[FRAME_EVENED_BYTES];

static uint32_t length_of(const struct lane_outgoing *frame)
{
    return frame->head_bytes + frame->payload_bytes;
}

/** Its bytes in a train, if another frame follows. */
static uint32_t evened_length_of(const struct lane_outgoing *frame)
{
    return length_of(frame) + frame->shorter_bytes;
}

/** The number of these frames that form one train: all have the length of the first, but the last
 *  may be shorter. If the frames slightly exceed a datagram, half of them: a short last train would
 *  not arrive sooner, because the receiver is still busy with the one before. */
static unsigned frames_of_train(const struct lane_outgoing *frames, unsigned count)
{
    uint32_t length = evened_length_of(&frames[0]);
    uint32_t bytes = length;
    unsigned together = 1;

    while (together < count) {
        bool is_last = evened_length_of(&frames[together]) != length;
        uint32_t next = is_last ? length_of(&frames[together]) : length;
        if (next > length) {
            break;
        }
        if (bytes + next > UDP_DATAGRAM_BYTES_MAX) {
            return count < 2 * together ? (count + 1) / 2 : together;
        }
        bytes += next;
        together++;
        if (is_last) {
            break;
        }
    }
    return together;
}

static void ask_for_segments(struct msghdr *message, uint8_t *control, uint32_t length)
{
    uint16_t segment_bytes = (uint16_t)length;

    message->msg_control = control;
    message->msg_controllen = CONTROL_BYTES;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    header->cmsg_level = SOL_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof segment_bytes);
    memcpy(CMSG_DATA(header), &segment_bytes, sizeof segment_bytes);
    /* The kernel copies the padding as well, which valgrind checks. */
    memset(control + CMSG_LEN(sizeof segment_bytes), 0,
           CONTROL_BYTES - CMSG_LEN(sizeof segment_bytes));
}

static void load(struct shipment *shipment, const struct way *way,
                 const struct lane_outgoing *frames, unsigned count, bool segment)
{
    struct iovec *part = shipment->parts;

    shipment->count = 0;
    while (count > 0) {
        unsigned together = segment ? frames_of_train(frames, count) : 1;
        unsigned index = shipment->count++;
        struct msghdr *message = &shipment->messages[index].msg_hdr;

        *message =
            (struct msghdr){.msg_name = way->to, .msg_namelen = way->to_bytes, .msg_iov = part};
        for (unsigned i = 0; i < together; i++) {
            *part++ = (struct iovec){frames[i].head, frames[i].head_bytes};
            if (frames[i].payload_bytes > 0) {
                *part++ =
                    (struct iovec){(void *)(uintptr_t)frames[i].payload, frames[i].payload_bytes};
            }
            if (frames[i].shorter_bytes > 0 && i + 1 < together) {
                *part++ = (struct iovec){(void *)(uintptr_t)zeros, frames[i].shorter_bytes};
            }
        }
        message->msg_iovlen = (size_t)(part - message->msg_iov);
        if (together > 1) {
            ask_for_segments(message, shipment->control[index], evened_length_of(&frames[0]));
        }
        shipment->frames[index] = (uint8_t)together;
        frames += together;
        count -= together;
    }
}

/** @return the number of messages sent, or a negative errno. */
static int ship(struct udp_lane *udp, int socket, struct shipment *shipment)
{
    udp->lane.sent_calls++;
    return socket_send_all(socket, shipment->messages, shipment->count);
}

static bool is_full(int error)
{
    return error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM;
}

enum next_step {
    STOP,  /* not at present */
    AGAIN, /* repeat the same */
    LOSE,  /* the frames count as lost, which the layers above detect */
};

/** Has the interface's MTU been lowered below this frame? */
static bool is_too_long(const struct udp_lane *udp, uint32_t frame_bytes)
{
    int mtu = socket_interface_mtu(udp->socket, (int)udp->index);

    return mtu > 0 && frame_bytes + (udp->lane.mtu - udp->lane.frame_bytes) > (uint32_t)mtu;
}

/** @param frame_bytes of the frame, or of each of the train */
static enum next_step after_error(struct udp_lane *udp, int error, bool train, uint32_t frame_bytes,
                                  bool *segment, unsigned *attempts)
{
    if (is_full(error)) {
        return STOP;
    }
    switch (error) {
    case -EMSGSIZE:
        /* For a train, the kernel also returns this for the path's MTU, if it fragments
         * datagrams. */
        if (!is_too_long(udp, frame_bytes) && !(train && udp->cuts_datagrams)) {
            break; /* caused by ICMP for an earlier one */
        }
        if (!train && !udp->cuts_datagrams) {
            udp_cut(&udp->lane, true);
            return AGAIN;
        }
        __attribute__((fallthrough));
    case -EINVAL:
    case -EIO:
        if (train) {
            udp->lane.refused_trains++;
            udp->unsegmented_calls = UNSEGMENTED_CALLS;
            *segment = false;
            return AGAIN;
        }
        break;
    default:
        break;
    }
    udp_read_errors(udp);
    if (++*attempts < UDP_ERROR_ATTEMPTS) {
        return AGAIN;
    }
    return socket_interface_works(udp->socket, (int)udp->index) ? LOSE : STOP;
}

static bool is_neighbour(const struct udp_lane *udp, const struct lane_address *to)
{
    for (unsigned i = 0; i < udp->neighbour_count; i++) {
        if (memcmp(udp->neighbours[i], to->bytes, sizeof udp->neighbours[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void take_own_socket(struct udp_lane *udp, const struct lane_address *to, bool pinned,
                            struct way *way)
{
    if (pinned != udp->pinned) {
        (void)udp_pin(udp, pinned);
    }
    way->socket = udp->socket;
    way->is_shortcut = false;
    way->to_bytes = udp_sockaddr_of(udp, to, &way->address);
    way->to = &way->address;
}

static void find_way(struct udp_lane *udp, const struct lane_address *to, struct way *way)
{
    bool neighbour = is_neighbour(udp, to);

    way->socket = neighbour ? -1 : udp_shortcut(udp, to);
    way->is_shortcut = way->socket >= 0;
    way->to_bytes = 0;
    way->to = NULL;
    if (!way->is_shortcut) {
        take_own_socket(udp, to, !neighbour, way);
    }
}

unsigned udp_send(struct lane *lane, const struct lane_address *to,
                  const struct lane_outgoing *frames, unsigned count)
{
    struct udp_lane *udp = udp_of(lane);
    struct shipment shipment;
    struct way way;
    bool segment = !udp->never_segments && udp->unsegmented_calls == 0;
    unsigned offered = count;
    unsigned taken = 0;
    unsigned attempts = 0;

    find_way(udp, to, &way);
    udp->unsegmented_calls -= udp->unsegmented_calls > 0;
    count = count < TRAIN_FRAMES_MAX ? count : TRAIN_FRAMES_MAX;
    while (taken < count) {
        load(&shipment, &way, &frames[taken], count - taken, segment);
        int sent = ship(udp, way.socket, &shipment);
        unsigned gone = 0;
        if (sent < 0 && way.is_shortcut && !is_full(sent)) {
            udp_shortcut_give_up(udp, to);
            take_own_socket(udp, to, true, &way);
        } else if (sent < 0) {
            enum next_step step =
                after_error(udp, sent, shipment.frames[0] > 1, evened_length_of(&frames[taken]),
                            &segment, &attempts);
            if (step == STOP) {
                break;
            }
            gone = step == LOSE ? shipment.frames[0] : 0;
        }
        for (int i = 0; i < sent && i < (int)shipment.count; i++) {
            gone += shipment.frames[i];
        }
        for (unsigned i = 0; i < gone; i++) {
            lane->sent_bytes += length_of(&frames[taken + i]);
        }
        taken += gone;
    }
    lane->sent_frames += taken;
    lane->refused_frames += offered - taken;
    return taken;
}
