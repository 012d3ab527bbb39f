/* SPDX-License-Identifier: BSD-3-Clause */
#include "tso_head.h"

#include "lane/copy.h"

#include <net/ethernet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

/** The most bytes kept with the headers. */
#define LEAD_BYTES_MAX 1024

/** Frames of at most this many bytes after the Ethernet header may have been padded. */
#define PADDED_BYTES 46

#define IP_VERSION_WORDS 0x45
#define IP_DONT_FRAGMENT 0x40
#define IP_FRAGMENT_AT 6
/** More fragments follow, or it is not the first. */
#define IP_FRAGMENT_MASK 0x3FFF

#define TCP_WORDS 0x50
#define TCP_CHECKSUM_AT 16
/** ACK: without it kernels do not join segments. Not PSH, with which the last frame could overtake
 *  the others where they are joined. */
#define TCP_FLAGS 0x10

static void put_be16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put_be32(uint8_t *at, uint32_t value)
{
    put_be16(at, value >> 16);
    put_be16(at + 2, value);
}

static uint32_t be16_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t be32_at(const uint8_t *at)
{
    return be16_at(at) << 16 | be16_at(at + 2);
}

/** Adds up 16-bit words, in ones' complement (RFC 1071). */
static uint32_t sum_of(const uint8_t *bytes, unsigned count, uint32_t sum)
{
    for (unsigned i = 0; i < count; i += 2) {
        sum += be16_at(bytes + i);
    }
    while (sum >> 16 != 0) {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return sum;
}

/** Adds 16-bit words in memory order; only their sum must be byte-swapped (RFC 1071, section 2).
 *  @return folded to 16 bits */
static uint32_t sum_in_memory(const uint8_t *bytes, size_t count)
{
    uint64_t sums[4] = {0};
    size_t at = 0;

    for (; at + 4 * sizeof(uint32_t) <= count; at += 4 * sizeof(uint32_t)) {
        uint32_t words[4];
        memcpy(words, bytes + at, sizeof words);
        for (unsigned i = 0; i < 4; i++) {
            sums[i] += words[i];
        }
    }
    uint64_t sum = sums[0] + sums[1] + sums[2] + sums[3];
    for (; at < count; at += 2) {
        uint16_t word = 0;
        memcpy(&word, bytes + at, count - at < sizeof word ? 1 : sizeof word);
        sum += word;
    }
    while (sum >> 16 != 0) {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return (uint32_t)sum;
}

static uint32_t turn_round(uint32_t sum)
{
    return (sum & 0xFF) << 8 | sum >> 8;
}

bool tso_head_is_verified(const struct tso_head *head)
{
    return (head->offload.flags & (VIRTIO_NET_HDR_F_NEEDS_CSUM | VIRTIO_NET_HDR_F_DATA_VALID)) != 0;
}

bool tso_head_is_whole(const struct tso_head *head, const struct iovec *parts, unsigned count)
{
    uint32_t total = sum_in_memory(head->tcp, sizeof head->tcp);
    size_t bytes = 0;

    for (unsigned i = 0; i < count; i++) {
        uint32_t sum = sum_in_memory(parts[i].iov_base, parts[i].iov_len);
        total += bytes % 2 == 0 ? sum : turn_round(sum);
        bytes += parts[i].iov_len;
    }
    total = (total & 0xFFFF) + (total >> 16);
    total = (total & 0xFFFF) + (total >> 16);
    total = be16_at((const uint8_t *)&(uint16_t){(uint16_t)total});
    total += sum_of(head->ip + 12, 8, IPPROTO_TCP + TSO_TCP_BYTES + (uint32_t)bytes);
    return (total & 0xFFFF) + (total >> 16) == 0xFFFF;
}

/** The time to live, which no router decrements. Segments with different ones are not joined. So
 *  segments of different sends are not joined, which could exceed the receiver's room. */
static uint8_t hops_of(uint64_t offset)
{
    return (uint8_t)(1 + offset / 1024 % 64);
}

void tso_head_write(struct tso_head *head, const struct tso_segments *segments)
{
    uint8_t *ip = head->ip;
    uint8_t *tcp = head->tcp;
    bool cut = segments->bytes > segments->segment_bytes;

    memset(head, 0, sizeof *head);
    head->offload.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    head->offload.csum_start = TSO_ETHERNET_BYTES + TSO_IP_BYTES;
    head->offload.csum_offset = TCP_CHECKSUM_AT;
    head->offload.hdr_len = TSO_ETHERNET_BYTES + TSO_OVERHEAD_BYTES;
    if (cut) {
        head->offload.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
        head->offload.gso_size = (uint16_t)segments->segment_bytes;
    }

    memcpy(head->ethernet, segments->to, ETH_ALEN);
    memcpy(head->ethernet + ETH_ALEN, segments->from, ETH_ALEN);
    put_be16(head->ethernet + 2 * ETH_ALEN, ETHERTYPE_IP);

    ip[0] = IP_VERSION_WORDS;
    put_be16(ip + 2, TSO_OVERHEAD_BYTES + segments->bytes);
    ip[IP_FRAGMENT_AT] = IP_DONT_FRAGMENT;
    ip[8] = hops_of(segments->offset);
    ip[9] = IPPROTO_TCP;
    put_be32(ip + 12, segments->key);
    put_be32(ip + 16, TSO_GROUP | (uint32_t)segments->kind << TSO_KIND_SHIFT | segments->ethertype);
    put_be16(ip + 10, ~sum_of(ip, TSO_IP_BYTES, 0));

    put_be16(tcp, segments->ethertype);
    put_be16(tcp + 2, segments->destination);
    put_be32(tcp + 4, (uint32_t)segments->offset);
    put_be32(tcp + 8, segments->message);
    tcp[12] = TCP_WORDS;
    tcp[13] = TCP_FLAGS;
    put_be16(tcp + 14, segments->segment_bytes);
    /* Of the pseudo-header; the card adds the rest. */
    put_be16(tcp + TCP_CHECKSUM_AT,
             sum_of(ip + 12, 8, IPPROTO_TCP + TSO_TCP_BYTES + segments->bytes));
    put_be16(tcp + 18,
             segments->kind == TSO_MESSAGE ? segments->name : (uint32_t)(segments->offset >> 32));
}

void tso_head_align(struct tso_head *head, const struct iovec *parts, unsigned count)
{
    const struct iovec *longest = NULL;
    size_t before_longest = 0;
    size_t before = 0;

    for (unsigned i = 0; i < count; i++) {
        if (longest == NULL || parts[i].iov_len > longest->iov_len) {
            longest = &parts[i];
            before_longest = before;
        }
        before += parts[i].iov_len;
    }
    if (longest == NULL || longest->iov_len < COPY_STRING_BYTES_MIN ||
        before_longest > LEAD_BYTES_MAX) {
        return;
    }
    /* At least a line: the receiver copies from the beginning of these pages to this offset in its
     * buffer, which often begins 16 bytes into a page, as malloc() places it. */
    size_t lead =
        before_longest + COPY_LINE_BYTES + -(uintptr_t)longest->iov_base % COPY_LINE_BYTES;
    head->offload.hdr_len = (uint16_t)(head->offload.hdr_len + lead);
}

bool tso_head_read(const struct tso_head *head, uint32_t bytes, struct tso_segments *segments)
{
    const uint8_t *ip = head->ip;
    const uint8_t *tcp = head->tcp;
    uint32_t total = be16_at(ip + 2);
    uint32_t group = be32_at(ip + 16);

    memcpy(segments->to, head->ethernet, ETH_ALEN);
    memcpy(segments->from, head->ethernet + ETH_ALEN, ETH_ALEN);
    segments->ethertype = (uint16_t)group;
    segments->destination = (uint16_t)be16_at(tcp + 2);
    segments->key = be32_at(ip + 12);
    segments->message = be32_at(tcp + 8);
    segments->kind = (enum tso_kind)((group & TSO_KIND_MASK) >> TSO_KIND_SHIFT);
    segments->name = segments->kind == TSO_MESSAGE ? (uint16_t)be16_at(tcp + 18) : 0;
    segments->offset = be32_at(tcp + 4);
    if (segments->kind == TSO_DATA) {
        segments->offset |= (uint64_t)be16_at(tcp + 18) << 32;
    }
    segments->segment_bytes = be16_at(tcp + 14);
    segments->bytes = total - TSO_OVERHEAD_BYTES;
    return be16_at(head->ethernet + 2 * ETH_ALEN) == ETHERTYPE_IP && ip[0] == IP_VERSION_WORDS &&
           ip[9] == IPPROTO_TCP && (be16_at(ip + IP_FRAGMENT_AT) & IP_FRAGMENT_MASK) == 0 &&
           (group & ~TSO_KIND_MASK) == (TSO_GROUP | segments->ethertype) &&
           segments->kind <= TSO_MESSAGE && tcp[12] == TCP_WORDS && tcp[13] == TCP_FLAGS &&
           be16_at(tcp) == segments->ethertype && total > TSO_OVERHEAD_BYTES &&
           (segments->bytes == bytes ||
            (segments->bytes < bytes && bytes <= PADDED_BYTES - TSO_OVERHEAD_BYTES)) &&
           segments->segment_bytes > 0 && segments->offset % segments->segment_bytes == 0 &&
           segments->offset / segments->segment_bytes <= UINT32_MAX &&
           (segments->kind != TSO_FRAMES || be16_at(tcp + 18) == 0) &&
           (segments->kind != TSO_MESSAGE || segments->segment_bytes > TSO_MESSAGE_HEAD_BYTES);
}
