/* SPDX-License-Identifier: BSD-3-Clause */
#include "receive_ring.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../drivers/interface_index.h"

enum {
    BLOCK_BYTES =
        128 * 1024,   /* holds the largest slot; a power of two pages, as the kernel wants */
    BLOCK_COUNT = 64, /* 8 MiB: some 4000 frames of 1500 bytes */
    ADDRESSES_BYTES = 2 * ETH_ALEN,
    TAG_BYTES = 4,
};

static int set_up(struct receive_ring *ring, const char *interface, size_t max_frame_bytes)
{
    const int version = TPACKET_V2;
    const int on = 1;
    /* Before the frame the kernel writes its own header, an address, and padding that aligns the
     * network header: less than 64 bytes. */
    const size_t before = sizeof(struct tpacket2_hdr) + sizeof(struct sockaddr_ll) + 64;
    const size_t unit = TPACKET_ALIGNMENT;
    const size_t slot_bytes = (before + max_frame_bytes + unit - 1) / unit * unit;
    if (slot_bytes > BLOCK_BYTES) {
        return -EMSGSIZE;
    }
    ring->slot_bytes = slot_bytes;
    ring->block_bytes = BLOCK_BYTES;
    ring->slots_per_block = (uint32_t)(BLOCK_BYTES / slot_bytes);
    ring->slot_count = ring->slots_per_block * BLOCK_COUNT;
    ring->ring_bytes = (size_t)BLOCK_BYTES * BLOCK_COUNT;
    struct tpacket_req request = {
        .tp_block_size = BLOCK_BYTES,
        .tp_block_nr = BLOCK_COUNT,
        .tp_frame_size = (unsigned int)slot_bytes,
        .tp_frame_nr = ring->slot_count,
    };
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
    const int socket = ring->socket;
    if (setsockopt(socket, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0 ||
        setsockopt(socket, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) {
        return -errno;
    }
    void *memory =
        mmap(NULL, ring->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->socket, 0);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    ring->slots = memory;
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
    if (ring->socket < 0) {
        return -errno;
    }
    int error = set_up(ring, interface, max_frame_bytes);
    if (error != 0) {
        receive_ring_close(ring);
    }
    return error;
}

void receive_ring_close(struct receive_ring *ring)
{
    if (ring->slots != NULL) {
        (void)munmap(ring->slots, ring->ring_bytes);
    }
    (void)close(ring->socket);
    *ring = (struct receive_ring){.socket = -1};
}

static struct tpacket2_hdr *oldest(const struct receive_ring *ring)
{
    const size_t block = ring->next / ring->slots_per_block;
    const size_t within = ring->next % ring->slots_per_block;
    uint8_t *slot = ring->slots + block * ring->block_bytes + within * ring->slot_bytes;
    return (struct tpacket2_hdr *)(void *)slot;
}

bool receive_ring_peek(const struct receive_ring *ring, struct received_frame *frame)
{
    const struct tpacket2_hdr *header = oldest(ring);
    const uint32_t status = __atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE);
    if ((status & TP_STATUS_USER) == 0) {
        return false;
    }
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
    __atomic_store_n(&oldest(ring)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    ring->next = ring->next + 1 == ring->slot_count ? 0 : ring->next + 1;
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
