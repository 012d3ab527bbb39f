/* SPDX-License-Identifier: BSD-3-Clause */
#include "tso.h"

#include "frame/address_layout.h"
#include "lane/lane_type.h"
#include "lane/packet/packet_internal.h"
#include "lane/tso/tso_internal.h"
#include "lane/tso/tso_place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/** The longest frames for which a slot has room. */
#define TSO_SLOT_FRAME_BYTES_MAX 2048

static void tso_release(struct lane *lane)
{
    struct tso_lane *tso = tso_of(lane);

    slot_ring_release(&tso->ring);
    tso->room_used = 0;
}

static void tso_expect(struct lane *lane, const struct lane_expectation *expectation)
{
    tso_of(lane)->expectation = *expectation;
}

static int tso_status(struct lane *lane)
{
    struct tso_lane *tso = tso_of(lane);

    lane->dropped_frames += socket_take_drops(tso->socket);
    (void)socket_take_error(tso->socket); /* an earlier one, for the next send() */
    return socket_interface_works(tso->socket, tso->index) ? 0 : -ENETDOWN;
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

    /* A network card does not return its own frames. */
    if (lane->rail >= address->rails || (address->tso_rails >> lane->rail & 1) == 0 ||
        memcmp(mac, tso->mac, ETH_ALEN) == 0 || from_le16(address->ethertype) != tso->ethertype) {
        return -EHOSTUNREACH;
    }
    *to = (struct lane_address){0};
    memcpy(to->bytes, mac, ETH_ALEN);
    return 0;
}

/* ---- open and close ------------------------------------------------------------------------- */

static unsigned tso_part_with(struct lane *lane, int sockets[LANE_SLOW_SOCKETS_MAX])
{
    struct tso_lane *tso = tso_of(lane);

    slot_ring_unmap(&tso->ring);
    sockets[0] = tso->socket;
    tso->socket = -1;
    return 1;
}

static void tso_close(struct lane *lane)
{
    struct tso_lane *tso = tso_of(lane);

    slot_ring_unmap(&tso->ring);
    if (tso->socket >= 0) {
        close(tso->socket);
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
    .part_with = tso_part_with,
    .close = tso_close,
};

static int read_interface(struct tso_lane *tso, const char *name)
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
    tso->index = interface.index;
    memcpy(tso->mac, interface.mac, sizeof tso->mac);
    tso->lane.frame_bytes = (uint32_t)segment_bytes;
    tso->lane.mtu = (uint32_t)segment_bytes + TSO_OVERHEAD_BYTES;
    return 0;
}

/** Are there fewer sockets than the limit before ours, or before all later ones (-1)? */
static int check_place(const struct tso_lane *tso, int before)
{
    int count = tso_place_count(tso->index, before);

    return count < 0 ? count : count < TSO_ENDPOINTS_MAX ? 0 : -EUSERS;
}

/** Accepts only frames for this endpoint. */
static int attach_filter(const struct tso_lane *tso)
{
    enum {
        PROTOCOL_AT = TSO_ETHERNET_BYTES + 9,
        GROUP_AT = TSO_ETHERNET_BYTES + 16,
        NUMBER_AT = TSO_ETHERNET_BYTES + TSO_IP_BYTES + 2,
    };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, GROUP_AT),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~TSO_KIND_MASK),
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

/** Slots have room for one frame of MTU 1500, or else for the headers. What is longer also goes to
 *  the socket's queue. Kernels before 4.6 make no ring for a socket with PACKET_VNET_HDR: then all
 *  goes to the queue. */
static int make_ring(struct tso_lane *tso)
{
    uint32_t mtu = tso->lane.mtu;
    uint32_t frame_bytes = mtu <= TSO_SLOT_FRAME_BYTES_MAX ? mtu : TSO_OVERHEAD_BYTES;
    struct slot_ring_shape shape;
    int status = socket_set(tso->socket, SOL_PACKET, PACKET_COPY_THRESH, 1);

    if (status != 0 || slot_ring_make(tso->socket, frame_bytes + TSO_ETHERNET_BYTES,
                                      LANE_TSO_RING_PACKETS, &shape) != 0) {
        lane_lacks(&tso->lane, "PACKET_RX_RING", "each frame that comes alone takes a system call");
        return 0;
    }
    status = slot_ring_map(&tso->ring, tso->socket, &shape);
    uint64_t room = (uint64_t)tso->ring.slots * tso->lane.frame_bytes;
    if (tso->lane.capacity_bytes > room) {
        tso->lane.capacity_bytes = room;
    }
    return status;
}

static int set_up(struct tso_lane *tso, const struct tso_lane_options *options)
{
    /* Protocol 0: nothing is received before the filter is attached and bind() names IPv4. */
    tso->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (tso->socket < 0) {
        return -errno;
    }
    int status = read_interface(tso, options->interface);
    if (status == 0) {
        status = check_place(tso, -1);
    }
    if (status == 0) {
        status = attach_filter(tso);
    }
    if (status == 0) {
        status = tune_socket(tso);
    }
    if (status == 0) {
        status = make_ring(tso);
    }
    if (status != 0) {
        return status;
    }
    tso->room = malloc(TSO_ROOM_BYTES);
    if (tso->room == NULL) {
        return -ENOMEM;
    }
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_IP),
        .sll_ifindex = tso->index,
    };
    if (bind(tso->socket, (const struct sockaddr *)&address, sizeof address) != 0) {
        return -errno;
    }
    /* Others may have opened at the same time: then the oldest stay. */
    return check_place(tso, tso->socket);
}

int tso_lane_open(const struct tso_lane_options *options, struct lane **lane)
{
    struct tso_lane *tso = calloc(1, sizeof *tso);

    if (tso == NULL) {
        return -ENOMEM;
    }
    tso->lane.operations = &tso_operations;
    tso->lane.kind = LANE_TSO;
    tso->lane.bulk = LANE_BULK_CUT;
    tso->lane.rail = options->rail;
    tso->lane.polling_is_costly = true;
    tso->lane.cuts = true;
    tso->lane.batch_frames = 1;
    tso->ethertype = options->ethertype;
    tso->endpoint = options->endpoint;
    tso->socket = -1;

    int status = set_up(tso, options);
    if (status != 0) {
        tso_close(&tso->lane);
        return status;
    }
    *lane = &tso->lane;
    return 0;
}

static int tso_open_for(struct lane_opening *opening, struct lane **lane)
{
    const struct tso_lane_options options = {
        .interface = opening->interface,
        .ethertype = opening->ethertype,
        .endpoint = *opening->number,
        .rail = opening->rail,
    };
    if ((opening->granted >> opening->rail & 1) != 0) {
        (void)snprintf(opening->why, sizeof opening->why,
                       "the broker (beowired) does not grant it");
        return -ENOLINK;
    }
    return tso_lane_open(&options, lane);
}

/** Another lane must carry frames other than DATA, to the same address. */
const struct lane_type tso_lane_type = {
    .open = tso_open_for, .beside = LANE_PACKET, .explain = packet_explain};
