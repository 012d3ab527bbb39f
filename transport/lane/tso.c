/* SPDX-License-Identifier: BSD-3-Clause */
#include "tso.h"

#include "frame/address_layout.h"
#include "frame/frame.h"
#include "lane/socket.h"
#include "lane/tso_head.h"
#include "tuning.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/** Memory for what nobody expected: as many calls as may bring 64 KB. */
#define ROOM_CALLS 4
#define ROOM_BYTES (ROOM_CALLS * (size_t)TSO_PAYLOAD_BYTES_MAX)

/** After something else came than was expected, which has to be copied twice, so many calls put
 * what comes into memory of ours, from where it is copied once. */
#define UNPLACED_CALLS 8

/** After the kernel has refused to cut, so many calls send segments one by one. */
#define UNCUT_CALLS 1000

/** Calls of one receive() at most: each may bring a segment or 44. */
#define CALLS_MAX ENDPOINT_RECEIVE_FRAMES

struct tso_lane {
    struct lane lane; /* first: the layers above know only this */
    int socket;
    int place;            /* bound to a name that says: one of TSO_ENDPOINTS_MAX */
    uint32_t uncut_calls; /* so many do not try whether the kernel cuts */
    uint8_t mac[ETH_ALEN];
    uint16_t ethertype;
    uint16_t endpoint;
    bool down;
    struct lane_expectation expectation;
    uint8_t *room;
    size_t room_used;
    uint32_t unplaced_calls; /* so many do not rely on the expectation: it was wrong */
    bool streaming;          /* the receive() before this one found something */
    struct frame_data heads[CALLS_MAX];
};

static struct tso_lane *tso_of(struct lane *lane)
{
    return (struct tso_lane *)(void *)lane;
}

/* ---- out ------------------------------------------------------------------------------------ */

static void note_error(struct tso_lane *tso, int error)
{
    tso->down = tso->down || socket_is_cut_off(error);
}

/** Sends segments in one call. @return 0 or a negative errno. */
static int send_segments(struct tso_lane *tso, const struct tso_segments *segments,
                         const uint8_t *payload)
{
    struct tso_head head;
    struct iovec parts[2] = {
        {&head, sizeof head},
        {(void *)(uintptr_t)payload, segments->bytes},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    tso_head_write(&head, segments);
    tso->lane.sent_calls++;
    return sendmsg(tso->socket, &message, MSG_DONTWAIT) < 0 ? -errno : 0;
}

/** Cuts ourselves. @return the bytes that have gone. */
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
            note_error(tso, -status);
            break;
        }
        gone += one.bytes;
    }
    return gone;
}

/** Whoever cuts counts 32 bits of the offset on, and leaves the others (tso_head.h). */
static bool crosses_four_gigabytes(const struct tso_segments *segments)
{
    return segments->offset >> 32 != (segments->offset + segments->bytes - 1) >> 32;
}

static bool cannot_cut(int status)
{
    return status == -EINVAL || status == -EIO || status == -EMSGSIZE || status == -EOPNOTSUPP;
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
    bool together = tso->uncut_calls == 0 && segments.bytes <= TSO_PAYLOAD_BYTES_MAX &&
                    !crosses_four_gigabytes(&segments);
    if (together) {
        int status = send_segments(tso, &segments, data->payload);
        if (cannot_cut(status)) {
            tso->lane.refused_trains++;
            tso->uncut_calls = UNCUT_CALLS;
            together = false;
        } else if (status != 0) {
            note_error(tso, -status);
            return false;
        }
    }
    if (!together) {
        tso->uncut_calls -= tso->uncut_calls > 0;
        gone = send_one_by_one(tso, &segments, data->payload);
    }
    uint32_t frames = lane_segments(gone, data->segment_bytes);
    tso->lane.sent_frames += frames;
    tso->lane.sent_bytes += gone + (uint64_t)frames * TSO_OVERHEAD_BYTES;
    return gone > 0; /* what did not go is as good as lost */
}

static unsigned tso_send(struct lane *lane, const struct lane_address *to,
                         const struct lane_outgoing *frames, unsigned count)
{
    struct tso_lane *tso = tso_of(lane);
    unsigned taken = 0;

    while (taken < count && frames[taken].segment_bytes > 0 && send_data(tso, to, &frames[taken])) {
        taken++;
    }
    lane->refused_frames += count - taken;
    return taken;
}

/* ---- in ------------------------------------------------------------------------------------- */

/** Where the bytes of one call have been put. */
struct landing {
    struct tso_head head;
    uint8_t *target; /* the first of the payload, ... */
    uint32_t target_bytes;
    uint8_t *rest; /* ... and the others */
};

/** @return bytes of payload that have come; -EAGAIN or another negative errno. */
static int take(struct tso_lane *tso, struct landing *landing)
{
    const struct lane_expectation *expected = &tso->expectation;
    struct iovec parts[3];
    struct msghdr message = {.msg_iov = parts};

    landing->target = expected->target;
    landing->target_bytes = 0;
    if (expected->frames > 0 && tso->unplaced_calls == 0) {
        landing->target_bytes = expected->bytes < TSO_PAYLOAD_BYTES_MAX ? (uint32_t)expected->bytes
                                                                        : TSO_PAYLOAD_BYTES_MAX;
    }
    landing->rest = tso->room + tso->room_used;
    parts[message.msg_iovlen++] = (struct iovec){&landing->head, sizeof landing->head};
    if (landing->target_bytes > 0) {
        parts[message.msg_iovlen++] = (struct iovec){landing->target, landing->target_bytes};
    }
    parts[message.msg_iovlen++] = (struct iovec){landing->rest, TSO_PAYLOAD_BYTES_MAX};
    ssize_t received = recvmsg(tso->socket, &message, MSG_DONTWAIT);
    if (received < 0) {
        return -errno;
    }
    if ((size_t)received <= sizeof landing->head || (message.msg_flags & MSG_TRUNC) != 0) {
        return 0;
    }
    return (int)((size_t)received - sizeof landing->head);
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

/** Makes the payload one piece in our own memory. */
static const uint8_t *gather(struct tso_lane *tso, const struct landing *landing, uint32_t bytes)
{
    uint8_t *at = landing->rest;

    if (landing->target_bytes > 0) {
        uint32_t first = bytes < landing->target_bytes ? bytes : landing->target_bytes;
        memmove(at + first, at, bytes - first);
        memcpy(at, landing->target, first);
    }
    tso->room_used += bytes;
    return at;
}

static void hand_out(struct tso_lane *tso, const struct landing *landing,
                     const struct tso_segments *segments, struct frame_data *head,
                     struct lane_incoming *incoming)
{
    struct lane_expectation *expected = &tso->expectation;
    struct lane_address from = {0};

    memcpy(from.bytes, segments->from, ETH_ALEN);
    *head = frame_encode_data(segments->destination, segments->key, segments->message);
    frame_data_set_segment(head, (uint32_t)(segments->offset / segments->segment_bytes));
    *incoming = (struct lane_incoming){
        .data = (const uint8_t *)head,
        .bytes = (uint32_t)sizeof *head + segments->bytes,
        .segment_bytes = segments->segment_bytes,
        .from = from,
    };
    bool right = is_expected(expected, segments, &from);
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
    expected->frames = 0; /* its place may be handed out in another frame now */
    if (landing->target_bytes > 0) {
        tso->unplaced_calls = UNPLACED_CALLS;
    } else if (tso->unplaced_calls > 0) {
        tso->unplaced_calls--;
    }
}

/** Is it worth a system call to look whether more has come? Once all is here that was expected, the
 *  next receive() is told what follows. */
static bool is_worth_another(const struct tso_lane *tso, bool expected)
{
    return tso->streaming && tso->room_used + TSO_PAYLOAD_BYTES_MAX <= ROOM_BYTES &&
           (!expected || tso->expectation.frames > 0);
}

static unsigned tso_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct tso_lane *tso = tso_of(lane);
    bool expected = tso->expectation.frames > 0;
    unsigned taken = 0;

    count = count < CALLS_MAX ? count : CALLS_MAX;
    for (unsigned call = 0;
         call < CALLS_MAX && taken < count && (taken == 0 || is_worth_another(tso, expected));
         call++) {
        struct landing landing;
        struct tso_segments segments;
        int bytes = take(tso, &landing);
        if (bytes < 0) {
            note_error(tso, -bytes); /* the kernel says it once: to recvmsg() or to status() */
            break;
        }
        if (bytes == 0 || !tso_head_read(&landing.head, (uint32_t)bytes, &segments) ||
            segments.ethertype != tso->ethertype) {
            lane->foreign_frames++;
            continue;
        }
        hand_out(tso, &landing, &segments, &tso->heads[taken], &frames[taken]);
        uint32_t came = lane_segments(segments.bytes, segments.segment_bytes);
        lane->received_frames += came;
        lane->received_bytes += segments.bytes + (uint64_t)came * TSO_OVERHEAD_BYTES;
        taken++;
    }
    tso->streaming = taken > 0;
    return taken;
}

static void tso_release(struct lane *lane)
{
    tso_of(lane)->room_used = 0;
}

static void tso_expect(struct lane *lane, const struct lane_expectation *expectation)
{
    tso_of(lane)->expectation = *expectation;
}

static int tso_status(struct lane *lane)
{
    struct tso_lane *tso = tso_of(lane);

    lane->dropped_frames += socket_take_drops(tso->socket);
    note_error(tso, socket_take_error(tso->socket));
    return tso->down ? -ENETDOWN : 0;
}

static int tso_descriptor(const struct lane *lane)
{
    return ((const struct tso_lane *)(const void *)lane)->socket;
}

/* ---- addresses ------------------------------------------------------------------------------ */

static void tso_publish(const struct lane *lane, struct address_layout *address)
{
    const struct tso_lane *tso = (const struct tso_lane *)(const void *)lane;

    memcpy(address->rail[lane->rail].mac, tso->mac, ETH_ALEN);
    address->tso_rails |= (uint8_t)(1u << lane->rail);
}

static int tso_reach(struct lane *lane, const struct address_layout *address,
                     struct lane_address *to)
{
    const struct tso_lane *tso = tso_of(lane);
    const uint8_t *mac = address->rail[lane->rail].mac;

    /* A network card does not hand its own frames back. */
    if (lane->rail >= address->rails || (address->tso_rails >> lane->rail & 1) == 0 ||
        memcmp(mac, tso->mac, ETH_ALEN) == 0 || from_le16(address->ethertype) != tso->ethertype) {
        return -EHOSTUNREACH;
    }
    *to = (struct lane_address){0};
    memcpy(to->bytes, mac, ETH_ALEN);
    return 0;
}

/* ---- open and close ------------------------------------------------------------------------- */

static void tso_close(struct lane *lane)
{
    struct tso_lane *tso = tso_of(lane);

    if (tso->socket >= 0) {
        close(tso->socket);
    }
    if (tso->place >= 0) {
        close(tso->place);
    }
    free(tso->room);
    free(tso);
}

static const struct lane_operations tso_operations = {
    .publish = tso_publish,
    .reach = tso_reach,
    .send = tso_send,
    .receive = tso_receive,
    .release = tso_release,
    .expect = tso_expect,
    .status = tso_status,
    .descriptor = tso_descriptor,
    .close = tso_close,
};

static int read_interface(struct tso_lane *tso, const char *name, int *index)
{
    struct socket_interface interface;
    int status = socket_read_interface(tso->socket, name, &interface);

    if (status != 0) {
        return status;
    }
    int segment_bytes = interface.mtu - TSO_OVERHEAD_BYTES;
    if (interface.hardware != ARPHRD_ETHER || segment_bytes <= (int)FRAME_BYTES_MIN) {
        return -EADDRNOTAVAIL;
    }
    if (segment_bytes > TSO_PAYLOAD_BYTES_MAX) {
        segment_bytes = TSO_PAYLOAD_BYTES_MAX;
    }
    *index = interface.index;
    memcpy(tso->mac, interface.mac, sizeof tso->mac);
    /* As if DATA's own header stood there. */
    tso->lane.frame_bytes = (uint32_t)segment_bytes + (uint32_t)sizeof(struct frame_data);
    return 0;
}

/** Takes one of the places of the interface, by an abstract name (unix(7)): gone with the process.
 */
static int take_place(struct tso_lane *tso, int index)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    tso->place = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (tso->place < 0) {
        return -errno;
    }
    for (unsigned i = 0; i < TSO_ENDPOINTS_MAX; i++) {
        int length =
            snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "beowire-tso-%d-%u", index, i);
        socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
        if (bind(tso->place, (const struct sockaddr *)&name, bytes) == 0) {
            return 0;
        }
        if (errno != EADDRINUSE) {
            return -errno;
        }
    }
    return -EADDRNOTAVAIL;
}

/** Lets in only what was sent to this endpoint. */
static int attach_filter(const struct tso_lane *tso)
{
    enum {
        PROTOCOL_AT = TSO_ETHERNET_BYTES + 9,
        GROUP_AT = TSO_ETHERNET_BYTES + 16,
        NUMBER_AT = TSO_ETHERNET_BYTES + TSO_IP_BYTES + 2,
    };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, GROUP_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TSO_GROUP | tso->ethertype, 0, 7),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, NUMBER_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, tso->endpoint, 0, 5),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, PROTOCOL_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };

    return socket_filter(tso->socket, code, sizeof code / sizeof *code);
}

static int tune_socket(struct tso_lane *tso)
{
    int status = socket_set(tso->socket, SOL_PACKET, PACKET_VNET_HDR, 1);

    if (status != 0) {
        return status == -ENOPROTOOPT ? -ENOSYS : status;
    }
    (void)socket_set_buffer(tso->socket, SO_SNDBUF, LANE_BULK_BUFFER_BYTES);
    tso->lane.capacity_bytes =
        socket_set_buffer(tso->socket, SO_RCVBUF, LANE_BULK_BUFFER_BYTES) / LANE_BULK_BUFFER_SHARE;
    return 0;
}

static int set_up(struct tso_lane *tso, const struct tso_lane_options *options)
{
    int index = 0;

    /* Protocol 0: nothing is received before the filter is there and bind() names IPv4. */
    tso->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (tso->socket < 0) {
        return -errno;
    }
    int status = read_interface(tso, options->interface, &index);
    if (status == 0) {
        status = take_place(tso, index);
    }
    if (status == 0) {
        status = attach_filter(tso);
    }
    if (status == 0) {
        status = tune_socket(tso);
    }
    if (status != 0) {
        return status;
    }
    tso->room = malloc(ROOM_BYTES);
    if (tso->room == NULL) {
        return -ENOMEM;
    }
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_IP),
        .sll_ifindex = index,
    };
    return bind(tso->socket, (const struct sockaddr *)&address, sizeof address) != 0 ? -errno : 0;
}

int tso_lane_open(const struct tso_lane_options *options, struct lane **lane)
{
    struct tso_lane *tso = calloc(1, sizeof *tso);

    if (tso == NULL) {
        return -ENOMEM;
    }
    tso->lane.operations = &tso_operations;
    tso->lane.kind = LANE_TSO;
    tso->lane.rail = options->rail;
    tso->lane.polling_is_costly = true;
    tso->lane.cuts = true;
    tso->lane.batch_frames = 1;
    tso->ethertype = options->ethertype;
    tso->endpoint = options->endpoint;
    tso->socket = -1;
    tso->place = -1;

    int status = set_up(tso, options);
    if (status != 0) {
        tso_close(&tso->lane);
        return status;
    }
    *lane = &tso->lane;
    return 0;
}
