/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet.h"

#include "frame/address_layout.h"
#include "frame/frame.h"
#include "lane/lane_type.h"
#include "lane/packet/grant.h"
#include "lane/packet/packet_internal.h"
#include "lane/packet/packet_number.h"
#include "lane/packet/packet_socket.h"
#include "lane/socket.h"
#include "tuning.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ENVELOPE_BYTES PACKET_ENVELOPE_BYTES
#define ENVELOPE_TYPE_AT PACKET_TYPE_AT

/** An EtherType below 1,536 is a length, so no frame has this one (if_ether.h). */
#define PROTOCOL_OF_NOTHING 0x001A

unsigned packet_take(struct packet_lane *packet, struct lane_incoming *frames, unsigned count)
{
    struct lane *lane = &packet->lane;
    unsigned taken = 0;

    while (taken < count) {
        const struct tpacket2_hdr *slot = slot_ring_look(&packet->ring);

        if (slot == NULL) {
            break;
        }
        const uint8_t *envelope = (const uint8_t *)slot + slot->tp_mac;
        if (slot->tp_snaplen != slot->tp_len || slot->tp_len < ENVELOPE_BYTES) {
            /* Longer than a slot, so not for us. Empty, so that the layers above ignore it. */
            lane->foreign_frames++;
            frames[taken] = (struct lane_incoming){.data = envelope, .bytes = 0};
        } else {
            frames[taken].data = envelope + ENVELOPE_BYTES;
            frames[taken].bytes = slot->tp_len - ENVELOPE_BYTES;
            frames[taken].payload = NULL;
            lane->received_bytes += frames[taken].bytes;
            frames[taken].from = (struct lane_address){0};
            memcpy(frames[taken].from.bytes, envelope + ETH_ALEN, ETH_ALEN);
        }
        slot_ring_take(&packet->ring);
        taken++;
    }
    lane->received_frames += taken;
    return taken;
}

static unsigned packet_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct packet_lane *packet = packet_of(lane);
    unsigned taken = packet_take(packet, frames, count);

    if (taken == 0 && queue_poll(&packet->poll)) {
        lane->polling_is_costly = true;
        taken = packet_take(packet, frames, count);
    }
    return taken;
}

void packet_release(struct lane *lane)
{
    slot_ring_release(&packet_of(lane)->ring);
}

static void write_envelope(const struct packet_lane *packet, const struct lane_address *to,
                           uint8_t *head)
{
    uint8_t *envelope = head - ENVELOPE_BYTES;

    if (packet->loops) {
        memset(envelope, 0, ETH_ALEN); /* loopback's real address, which means "none" elsewhere */
    } else {
        memcpy(envelope, to->bytes, ETH_ALEN);
    }
    memcpy(envelope + ETH_ALEN, packet->mac, ETH_ALEN);
    memcpy(envelope + ENVELOPE_TYPE_AT, packet->ethertype, sizeof packet->ethertype);
}

static unsigned send_one(struct packet_lane *packet, const struct lane_outgoing *frame)
{
    ssize_t sent;

    if (frame->payload_bytes == 0) {
        sent = send(packet->socket, frame->head - ENVELOPE_BYTES,
                    frame->head_bytes + ENVELOPE_BYTES, MSG_DONTWAIT);
    } else {
        struct iovec parts[2] = {
            {frame->head - ENVELOPE_BYTES, frame->head_bytes + ENVELOPE_BYTES},
            {(void *)(uintptr_t)frame->payload, frame->payload_bytes},
        };
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        sent = sendmsg(packet->socket, &message, MSG_DONTWAIT);
    }
    if (sent < 0) {
        return 0;
    }
    return 1;
}

static unsigned send_many(struct packet_lane *packet, const struct lane_outgoing *frames,
                          unsigned count)
{
    struct mmsghdr messages[FLOW_BATCH_FRAMES];
    struct iovec parts[FLOW_BATCH_FRAMES][2];

    count = count < FLOW_BATCH_FRAMES ? count : FLOW_BATCH_FRAMES;
    for (unsigned i = 0; i < count; i++) {
        parts[i][0] =
            (struct iovec){frames[i].head - ENVELOPE_BYTES, frames[i].head_bytes + ENVELOPE_BYTES};
        parts[i][1] = (struct iovec){(void *)(uintptr_t)frames[i].payload, frames[i].payload_bytes};
        messages[i] = (struct mmsghdr){
            .msg_hdr = {.msg_iov = parts[i], .msg_iovlen = frames[i].payload_bytes > 0 ? 2 : 1}};
    }
    int sent = socket_send_all(packet->socket, messages, count);
    if (sent < 0) {
        errno = -sent;
        return 0;
    }
    return (unsigned)sent;
}

/** Checks whether the interface's MTU was changed. */
static void look_at_mtu(struct packet_lane *packet)
{
    struct lane *lane = &packet->lane;
    int mtu = socket_interface_mtu(packet->socket, packet->index);

    lane->narrowed_bytes = mtu > 0 && (uint32_t)mtu < lane->frame_bytes ? (uint32_t)mtu : 0;
}

unsigned packet_send(struct lane *lane, const struct lane_address *to,
                     const struct lane_outgoing *frames, unsigned count)
{
    struct packet_lane *packet = packet_of(lane);

    for (unsigned i = 0; i < count; i++) {
        write_envelope(packet, to, frames[i].head);
    }
    unsigned taken = count == 1 ? send_one(packet, frames) : send_many(packet, frames, count);
    if (taken == 0 && errno == EMSGSIZE) {
        look_at_mtu(packet);
    }
    lane->sent_calls++;
    lane->sent_frames += taken;
    for (unsigned i = 0; i < taken; i++) {
        lane->sent_bytes += frames[i].head_bytes + frames[i].payload_bytes;
    }
    lane->refused_frames += count - taken;
    return taken;
}

int packet_status(struct lane *lane)
{
    struct packet_lane *packet = packet_of(lane);

    lane->dropped_frames += socket_take_drops(packet->socket);
    if (lane->narrowed_bytes != 0) {
        look_at_mtu(packet);
    }
    (void)socket_take_error(packet->socket); /* an earlier one, for the next send() */
    return socket_interface_works(packet->socket, packet->index) ? 0 : -ENETDOWN;
}

static int packet_descriptor(const struct lane *lane)
{
    return ((const struct packet_lane *)(const void *)lane)->socket;
}

void packet_publish(const struct lane *lane, struct address_layout *address)
{
    const struct packet_lane *packet = (const struct packet_lane *)(const void *)lane;

    memcpy(address->rail[lane->rail].mac, packet->mac, ETH_ALEN);
}

int packet_reach(struct lane *lane, const struct address_layout *address, struct lane_address *to)
{
    static const uint8_t none[ETH_ALEN];
    const struct packet_lane *packet = packet_of(lane);
    const uint8_t *mac = address->rail[lane->rail].mac;
    uint16_t ethertype = from_le16(address->ethertype);
    bool ourselves = memcmp(mac, packet->mac, ETH_ALEN) == 0;

    /* A network card does not return its own frames; loopback only returns them. */
    if (lane->rail >= address->rails || ourselves != packet->loops ||
        (!ourselves && memcmp(mac, none, ETH_ALEN) == 0) ||
        packet->ethertype[0] != ethertype >> 8 || packet->ethertype[1] != (ethertype & 0xFF)) {
        return -EHOSTUNREACH;
    }
    *to = (struct lane_address){0};
    memcpy(to->bytes, mac, ETH_ALEN);
    return 0;
}

void packet_busy_poll(struct lane *lane, uint32_t time_us, int by)
{
    struct packet_lane *packet = packet_of(lane);

    if (time_us > 0 && by >= 0) {
        queue_poll_by(&packet->poll, by);
    } else {
        queue_poll_stop(&packet->poll);
        lane->polling_is_costly = false;
    }
}

static unsigned part_with(struct packet_lane *packet, int sockets[LANE_SLOW_SOCKETS_MAX])
{
    unsigned count = 0;

    slot_ring_unmap(&packet->ring);
    if (packet->socket >= 0) {
        sockets[count++] = packet->socket;
    }
    if (packet->holder >= 0) {
        sockets[count++] = packet->holder;
    }
    packet->socket = packet->holder = -1;
    return count;
}

void packet_take_down(struct packet_lane *packet)
{
    int sockets[LANE_SLOW_SOCKETS_MAX];
    unsigned count = part_with(packet, sockets);

    while (count > 0) {
        close(sockets[--count]);
    }
}

unsigned packet_part_with(struct lane *lane, int sockets[LANE_SLOW_SOCKETS_MAX])
{
    return part_with(packet_of(lane), sockets);
}

static void packet_close(struct lane *lane)
{
    packet_take_down(packet_of(lane));
    free(lane);
}

static const struct lane_operations packet_operations = {
    .publish = packet_publish,
    .reach = packet_reach,
    .send = packet_send,
    .receive = packet_receive,
    .release = packet_release,
    .status = packet_status,
    .busy_poll = packet_busy_poll,
    .descriptor = packet_descriptor,
    .part_with = packet_part_with,
    .close = packet_close,
};

static int read_interface(struct packet_lane *packet, const char *name)
{
    struct socket_interface interface;
    int status = socket_read_interface(packet->socket, name, &interface);

    if (status != 0) {
        return status;
    }
    packet->index = interface.index;
    packet->loops = interface.loops;
    packet->lane.needs_checksum = !interface.loops; /* frames stay in the host's memory */
    memcpy(packet->mac, interface.mac, sizeof packet->mac);
    if (packet->loops) {
        packet->mac[0] = 2; /* locally administered; 0 would mean none */
    }
    /* A frame's length has 16 bits; loopback's MTU exceeds that. */
    packet->lane.frame_bytes = interface.mtu < UINT16_MAX ? (uint32_t)interface.mtu : UINT16_MAX;
    packet->lane.mtu = packet->lane.frame_bytes;
    return 0;
}

/** @param shape of the socket's memory */
static int map_ring(struct packet_lane *packet, const struct slot_ring_shape *shape)
{
    int status = slot_ring_map(&packet->ring, packet->socket, shape);

    packet->lane.capacity_bytes = (uint64_t)packet->ring.slots * packet->lane.frame_bytes;
    return status;
}

/** Reserves the endpoint's number by a second socket that receives no frames, because membership in
 *  a group would slow down each frame. */
static int hold_number(struct packet_lane *packet, uint16_t *number)
{
    packet->holder = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (packet->holder < 0) {
        return -errno;
    }
    int status = packet_socket_bind(packet->holder, packet->index, PROTOCOL_OF_NOTHING);
    return status != 0 ? status : packet_number_reserve(packet->holder, number);
}

static void note_lacks(struct packet_lane *packet, bool bypasses)
{
    if (!bypasses) {
        lane_lacks(&packet->lane, "QDISC_BYPASS",
                   "short messages wait in the interface's queue behind other traffic");
    }
    if (!socket_sends_many(packet->socket)) {
        lane_lacks(&packet->lane, "sendmmsg", "each frame takes a system call");
    }
}

static int open_own(struct packet_lane *packet, const struct packet_lane_options *options)
{
    struct slot_ring_shape ring;
    uint16_t number = options->endpoint;
    int status = read_interface(packet, options->interface);

    if (status == 0 && options->reserves != NULL) {
        status = hold_number(packet, options->reserves);
        number = *options->reserves;
    }
    if (status == 0) {
        status = packet_socket_filter(packet->socket, options->ethertype, number);
    }
    if (status == 0) {
        status = slot_ring_make(packet->socket, packet->lane.frame_bytes + ENVELOPE_BYTES,
                                LANE_RING_FRAMES, &ring);
    }
    if (status == 0) {
        status = map_ring(packet, &ring);
    }
    if (status == 0) {
        note_lacks(packet, packet_socket_tune(packet->socket));
        status = packet_socket_bind(packet->socket, packet->index, options->ethertype);
    }
    return status;
}

/** Has the broker open it: it then is in a network namespace of its own, on an interface with an
 *  address of its own. */
static int open_granted(struct packet_lane *packet, const struct packet_lane_options *options)
{
    struct grant grant;
    int status = grant_ask(options->interface, options->ethertype,
                           options->reserves != NULL ? *options->reserves : options->endpoint,
                           &grant, options->why);

    if (status != 0) {
        return status;
    }
    packet->socket = grant.socket;
    status = read_interface(packet, GRANT_INTERFACE);
    if (status == 0) {
        status = map_ring(packet, &grant.ring);
    }
    if (status == 0) {
        *options->granted = true;
        note_lacks(packet, true);
        if (options->reserves != NULL) {
            *options->reserves = grant.number;
        }
    }
    return status;
}

static int try_open(struct packet_lane *packet, const struct packet_lane_options *options)
{
    /* Protocol 0: nothing is received before bind() names the EtherType. */
    packet->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (packet->socket < 0) {
        return errno == EPERM && options->granted != NULL ? open_granted(packet, options) : -errno;
    }
    return open_own(packet, options);
}

static int open_or_nothing(struct packet_lane *packet, const struct packet_lane_options *options)
{
    packet->socket = packet->holder = -1;
    int status = try_open(packet, options);
    if (status != 0) {
        packet_take_down(packet);
    }
    return status;
}

int packet_set_up(struct packet_lane *packet, const struct packet_lane_options *options)
{
    packet->lane.operations = &packet_operations;
    packet->lane.kind = LANE_PACKET;
    packet->lane.bulk = LANE_BULK_FRAMES;
    packet->lane.rail = options->rail;
    packet->lane.batch_frames = FLOW_BATCH_FRAMES;
    packet->ethertype[0] = (uint8_t)(options->ethertype >> 8);
    packet->ethertype[1] = (uint8_t)(options->ethertype & 0xFF);

    int status = open_or_nothing(packet, options);
    /* -EAGAIN: the number is in use, once a boot. */
    return status == -EAGAIN ? open_or_nothing(packet, options) : status;
}

int packet_lane_open(const struct packet_lane_options *options, struct lane **lane)
{
    struct packet_lane *packet = calloc(1, sizeof *packet);

    if (packet == NULL) {
        return -ENOMEM;
    }
    int status = packet_set_up(packet, options);
    if (status != 0) {
        free(packet);
        return status;
    }
    *lane = &packet->lane;
    return 0;
}

static int packet_open_for(struct lane_opening *opening, struct lane **lane)
{
    bool granted = false;
    const struct packet_lane_options options = {
        .interface = opening->interface,
        .ethertype = opening->ethertype,
        .endpoint = *opening->number,
        .reserves = opening->number_is_reserved ? NULL : opening->number,
        .rail = opening->rail,
        .granted = &granted,
        .why = opening->why,
    };
    int status = packet_lane_open(&options, lane);

    opening->granted |= (uint8_t)(granted << opening->rail);
    opening->number_is_reserved = opening->number_is_reserved || status == 0;
    return status;
}

bool packet_explain(int status, const struct lane_opening *opening, char *text, size_t bytes)
{
    const char *why = NULL;

    if (opening->why[0] != '\0') {
        (void)snprintf(text, bytes, "%s", opening->why);
        return true;
    }
    switch (status) {
    case -EAFNOSUPPORT:
        why = "no packet sockets (AF_PACKET) for this process";
        break;
    case -ENOSYS:
        why = "the kernel lacks or refuses PACKET_RX_RING, TPACKET_V2, PACKET_FANOUT or "
              "PACKET_VNET_HDR";
        break;
    case -ENOBUFS:
        why = "no memory for received frames (ulimit -v, memory.max)";
        break;
    default:
        return false;
    }
    (void)snprintf(text, bytes, "%s", why);
    return true;
}

const struct lane_type packet_lane_type = {.open = packet_open_for, .explain = packet_explain};
