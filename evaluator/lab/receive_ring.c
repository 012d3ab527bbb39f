/* SPDX-License-Identifier: BSD-3-Clause */
#include "receive_ring.h"

#include <net/ethernet.h> /* before the kernel's headers: musl's yields to none */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

#include "../drivers/interface_index.h"
#include "lane/socket.h"

enum {
    RING_FRAMES = 4096,
    ADDRESSES_BYTES = 2 * ETH_ALEN,
    TAG_BYTES = 4,
};

static int set_up(struct receive_ring *ring, const char *interface, size_t max_frame_bytes)
{
    const int socket = ring->socket;
    struct slot_ring_shape shape;
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = interface_index(interface),
    };
    if (address.sll_ifindex < 0) {
        return address.sll_ifindex;
    }
    struct packet_mreq promiscuous = {
        .mr_ifindex = address.sll_ifindex,
        .mr_type = PACKET_MR_PROMISC,
    };
    int error = socket_set(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
    if (error == 0) {
        error = slot_ring_make(socket, (uint32_t)max_frame_bytes, RING_FRAMES, &shape);
    }
    if (error == 0) {
        error = slot_ring_map(&ring->ring, socket, &shape);
    }
    if (error != 0) {
        return error;
    }
    if (setsockopt(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) !=
            0 ||
        bind(socket, (const struct sockaddr *)&address, sizeof address) != 0) {
        return -errno;
    }
    return 0;
}

int receive_ring_open(struct receive_ring *ring, const char *interface, size_t max_frame_bytes)
{
    *ring = (struct receive_ring){0};
    /* Protocol 0: nothing is received before bind() names the interface. */
    ring->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    return ring->socket < 0 ? -errno : set_up(ring, interface, max_frame_bytes);
}

bool receive_ring_peek(const struct receive_ring *ring, struct received_frame *frame)
{
    const struct tpacket2_hdr *header = slot_ring_look(&ring->ring);
    if (header == NULL) {
        return false;
    }
    const uint32_t status = header->tp_status;
    *frame = (struct received_frame){
        .bytes = (const uint8_t *)header + header->tp_mac,
        .length_bytes = header->tp_snaplen,
        .realtime_ns = (uint64_t)header->tp_sec * 1000000000U + header->tp_nsec,
        .whole = header->tp_snaplen == header->tp_len,
        .tagged = (status & TP_STATUS_VLAN_VALID) != 0,
        .tag_protocol = (status & TP_STATUS_VLAN_TPID_VALID) != 0 ? header->tp_vlan_tpid
                                                                  : (uint16_t)ETH_P_8021Q,
        .tag_control = header->tp_vlan_tci,
    };
    return true;
}

void receive_ring_release(struct receive_ring *ring)
{
    slot_ring_take(&ring->ring);
    slot_ring_release(&ring->ring);
}

size_t received_frame_wire_bytes(const struct received_frame *frame)
{
    return frame->length_bytes + (frame->tagged ? TAG_BYTES : 0);
}

void received_frame_copy(const struct received_frame *frame, uint8_t *wire)
{
    if (!frame->tagged || frame->length_bytes < ADDRESSES_BYTES) {
        memcpy(wire, frame->bytes, frame->length_bytes);
        return;
    }
    const uint16_t tag[2] = {htons(frame->tag_protocol), htons(frame->tag_control)};
    memcpy(wire, frame->bytes, ADDRESSES_BYTES);
    memcpy(wire + ADDRESSES_BYTES, tag, TAG_BYTES);
    memcpy(wire + ADDRESSES_BYTES + TAG_BYTES, frame->bytes + ADDRESSES_BYTES,
           frame->length_bytes - ADDRESSES_BYTES);
}

uint64_t receive_ring_take_lost(struct receive_ring *ring)
{
    struct tpacket_stats statistics = {0};
    socklen_t length = sizeof statistics;
    if (getsockopt(ring->socket, SOL_PACKET, PACKET_STATISTICS, &statistics, &length) != 0) {
        return 0;
    }
    return statistics.tp_drops;
}
