/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso_head.h - what stands before what network cards cut and join: headers that look like those of
 * TCP.
 *
 * Every network card can cut a long TCP segment into frames, counting its sequence number on, and
 * every kernel joins such frames again. So what we send is made to look like it, as in STT (Davie
 * and Gross, draft-davie-stt-08): no connection, nothing that TCP would answer. The position in
 * what is cut is the sequence number, and the fields that are the same in all frames say the rest;
 * so nothing need stand between the payloads.
 *
 * The IP destination is a multicast group that nobody joins (the frame itself is sent to one
 * host), so that the receiver's TCP/IP drops it without a word.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_LANE_TSO_HEAD_H
#define BEOWIRE_LANE_TSO_HEAD_H

#include <net/ethernet.h> /* before the kernel's headers: musl's yields to none */

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define TSO_ETHERNET_BYTES 14
#define TSO_IP_BYTES 20
#define TSO_TCP_BYTES 20

/** Of the headers that count for the MTU. */
#define TSO_OVERHEAD_BYTES (TSO_IP_BYTES + TSO_TCP_BYTES)

/** Most payload that one send can have: IP says so. */
#define TSO_PAYLOAD_BYTES_MAX (UINT16_MAX - TSO_OVERHEAD_BYTES)

/** 239.192.0.0/14, scoped to an organization (RFC 2365): the low 16 bits are the EtherType, and the
 *  two above them say what is cut. */
#define TSO_GROUP UINT32_C(0xEFC00000)
#define TSO_KIND_SHIFT 16
#define TSO_KIND_MASK (UINT32_C(3) << TSO_KIND_SHIFT)

enum tso_kind {
    TSO_DATA = 0,    /**< a part of an announced message */
    TSO_FRAMES = 1,  /**< frames of one length, the last perhaps shorter, one after the other */
    TSO_MESSAGE = 2, /**< a message's EAGER, and the payloads of its FRAGMENTs (tso_run.h) */
};

/** Positions have so many bits. */
#define TSO_OFFSET_BITS 48

/** What is cut of a message begins with so many bytes that are not its: the head of EAGER. */
#define TSO_MESSAGE_HEAD_BYTES 46

/** As a packet socket with PACKET_VNET_HDR sends and receives it. */
struct tso_head {
    struct virtio_net_hdr offload;
    uint8_t ethernet[TSO_ETHERNET_BYTES];
    uint8_t ip[TSO_IP_BYTES];
    uint8_t tcp[TSO_TCP_BYTES];
};
_Static_assert(sizeof(struct tso_head) == 64, "no padding");

/** What the headers say. */
struct tso_segments {
    uint8_t to[6];
    uint8_t from[6];
    uint16_t ethertype;
    uint16_t destination; /**< number of the endpoint that they go to */
    enum tso_kind kind;
    uint32_t key;
    uint32_t message; /**< DATA: its name; else the sequence of the first frame of what is cut */
    uint16_t name;    /**< MESSAGE: as its FRAGMENTs have it; else 0 */
    uint64_t offset;  /**< of the first byte in what is cut (DATA: in the message; else below
                           2^32); a multiple of segment_bytes */
    uint32_t segment_bytes; /**< of each but perhaps the last; 1 .. UINT16_MAX */
    uint32_t bytes;         /**< of all; 1 .. TSO_PAYLOAD_BYTES_MAX */
};

/** Writes the headers of what is to be sent. */
void tso_head_write(struct tso_head *head, const struct tso_segments *segments);

/** Has the kernel keep as much of the payload with the headers, apart from the pages that it copies
 * the rest to, as makes both ends of that copy, for the longest part, alike in their alignment: it
 * can be sixteen times slower if they are not (copy.h).
 *
 * @param parts `count` of them, the payload */
void tso_head_align(struct tso_head *head, const struct iovec *parts, unsigned count);

/** Reads the headers of what has come.
 *
 * @param bytes of payload that came with it, padding of short frames included
 * @return false: it is nothing that tso_head_write() writes */
bool tso_head_read(const struct tso_head *head, uint32_t bytes, struct tso_segments *segments);

/** Has the network card, or the kernel where it has joined frames, compared the checksum of TCP, or
 *  has nobody made one, because the frame has been in the memory of hosts only? */
bool tso_head_is_verified(const struct tso_head *head);

/** Is the checksum of TCP, over its header and what follows, and the addresses, that of the frame?
 *
 * @param head of a frame that was read
 * @param parts `count` of them, the payload: `segments.bytes` in all, without padding */
bool tso_head_is_whole(const struct tso_head *head, const struct iovec *parts, unsigned count);

#endif /* BEOWIRE_LANE_TSO_HEAD_H */
