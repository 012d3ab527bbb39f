/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso_head.h - the headers of data that network cards cut and join, which look like TCP's.
 *
 * Every network card can cut a long TCP segment into frames, incrementing its sequence number, and
 * every kernel can join such frames. So our data is made to look like TCP, as in STT (Davie and
 * Gross, draft-davie-stt-08), without a connection or anything that TCP would answer. The sequence
 * number is the position in the data. The fields that are equal in all frames contain the rest, so
 * nothing is needed between the payloads.
 *
 * The IP destination is a multicast group that nobody joins (the Ethernet frame is sent to one
 * host), so the receiver's TCP/IP drops it silently.
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

/** Of the headers that count towards the MTU. */
#define TSO_OVERHEAD_BYTES (TSO_IP_BYTES + TSO_TCP_BYTES)

/** Of all headers. */
#define TSO_HEADERS_BYTES (TSO_ETHERNET_BYTES + TSO_OVERHEAD_BYTES)

/** The most payload that arrives joined, by the limit of IP. */
#define TSO_PAYLOAD_BYTES_MAX (UINT16_MAX - TSO_OVERHEAD_BYTES)

/** The most of one send: Linux cuts by itself, which is slow, unless the whole Ethernet frame is
 *  shorter than an interface's gso_max_size, usually 65,536 (gso_features_check()). */
#define TSO_SENT_BYTES_MAX (TSO_PAYLOAD_BYTES_MAX - TSO_ETHERNET_BYTES)

/** 239.192.0.0/14, organization-local scope (RFC 2365): the low 16 bits are the EtherType, and the
 *  two bits above them are the kind of data. */
#define TSO_GROUP UINT32_C(0xEFC00000)
#define TSO_KIND_SHIFT 16
#define TSO_KIND_MASK (UINT32_C(3) << TSO_KIND_SHIFT)

enum tso_kind {
    TSO_DATA = 0,    /**< a part of an announced message */
    TSO_FRAMES = 1,  /**< frames of one length, the last perhaps shorter, consecutive */
    TSO_MESSAGE = 2, /**< a message's EAGER, and the payloads of its FRAGMENTs (tso_run.h) */
};

/** Number of bits of a position. */
#define TSO_OFFSET_BITS 48

/** Bytes before the message in a TSO_MESSAGE: the head of EAGER. */
#define TSO_MESSAGE_HEAD_BYTES 46

/** The layout in a packet socket with PACKET_VNET_HDR. */
struct tso_head {
    struct virtio_net_hdr offload;
    uint8_t ethernet[TSO_ETHERNET_BYTES];
    uint8_t ip[TSO_IP_BYTES];
    uint8_t tcp[TSO_TCP_BYTES];
};
_Static_assert(sizeof(struct tso_head) == 64, "no padding");

/** The contents of the headers. */
struct tso_segments {
    uint8_t to[6];
    uint8_t from[6];
    uint16_t ethertype;
    uint16_t destination; /**< number of the receiving endpoint */
    enum tso_kind kind;
    uint32_t key;
    uint32_t message; /**< DATA: its name; otherwise the sequence of the first frame */
    uint16_t name;    /**< MESSAGE: the name in its FRAGMENTs; else 0 */
    uint64_t offset;  /**< of the first byte in the data (DATA: in the message; otherwise below
                         2^32); a multiple of segment_bytes */
    uint32_t segment_bytes; /**< of each except perhaps the last; 1 .. UINT16_MAX */
    uint32_t bytes;         /**< in total; 1 .. TSO_PAYLOAD_BYTES_MAX */
};

/** Writes the headers of data to be sent. */
void tso_head_write(struct tso_head *head, const struct tso_segments *segments);

/** Makes the kernel keep some payload with the headers, so that the rest, which it copies to pages,
 *  has the same alignment at both ends of the copy. Otherwise the copy can be sixteen times slower
 *  (copy.h).
 *
 *  @param parts `count` of them, the payload */
void tso_head_align(struct tso_head *head, const struct iovec *parts, unsigned count);

/** Parses the headers of received data.
 *
 *  @param bytes of payload received with it, including padding of short frames
 *  @return false: not written by tso_head_write() */
bool tso_head_read(const struct tso_head *head, uint32_t bytes, struct tso_segments *segments);

/** Is the TCP checksum verified, by the network card or by the kernel that has joined frames, or
 *  missing, because the frame was only in the memory of hosts? */
bool tso_head_is_verified(const struct tso_head *head);

/** Is the TCP checksum, of its header, the payload and the addresses, right?
 *
 *  @param head of a received frame
 *  @param parts `count` of them, the payload: `segments.bytes` in total, without padding */
bool tso_head_is_whole(const struct tso_head *head, const struct iovec *parts, unsigned count);

#endif /* BEOWIRE_LANE_TSO_HEAD_H */
