/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso_raw.h - what is on the wire between the lanes of tso_pair.h, to be looked at and to be
 * forged.
 */
#ifndef BEOWIRE_TEST_TSO_RAW_H
#define BEOWIRE_TEST_TSO_RAW_H

#include "lane/random.h"
#include "tso_pair.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>

#define LISTEN_MS 50

/** A socket that is not a lane's, for frames of a protocol. */
static inline int open_raw(int namespace, const char *interface, uint16_t protocol)
{
    namespace_go(namespace);
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(protocol),
                                  .sll_ifindex = (int)if_nametoindex(interface)};
    int raw = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    assert_true(raw >= 0);
    assert_int_equal(bind(raw, (const struct sockaddr *)&address, sizeof address), 0);
    namespace_go(here);
    return raw;
}

/** @return bytes of the next frame that comes in, 0: there was none for LISTEN_MS. */
static inline size_t capture(int raw, uint8_t *frame, size_t room)
{
    for (;;) {
        struct pollfd readable = {.fd = raw, .events = POLLIN};
        struct sockaddr_ll from = {0};
        socklen_t length = sizeof from;
        if (poll(&readable, 1, LISTEN_MS) == 0) {
            return 0;
        }
        ssize_t bytes = recvfrom(raw, frame, room, 0, (struct sockaddr *)&from, &length);
        assert_true(bytes > 0);
        if (from.sll_pkttype != PACKET_OUTGOING) {
            return (size_t)bytes;
        }
    }
}

/** In ones' complement; `first` is the sum of what went before. */
static inline uint32_t sum_of_words(uint32_t first, const uint8_t *bytes, size_t count)
{
    uint64_t sum = first;

    for (size_t i = 0; i < count; i++) {
        sum += (uint64_t)bytes[i] << (i % 2 == 0 ? 8 : 0);
    }
    return sum == 0 ? 0 : (uint32_t)((sum - 1) % 0xFFFF + 1);
}

/** The headers of a segment to endpoint NUMBER. */
static inline struct tso_head head_of(const struct udp_pair *pair, uint32_t bytes)
{
    struct tso_segments segments = {.ethertype = ETHERTYPE,
                                    .destination = NUMBER,
                                    .key = KEY,
                                    .message = MESSAGE,
                                    .segment_bytes = SEGMENT,
                                    .bytes = bytes};
    struct tso_head head;

    memcpy(segments.to, pair->at_b.bytes, ETH_ALEN);
    memcpy(segments.from, pair->at_a.bytes, ETH_ALEN);
    tso_head_write(&head, &segments);
    return head;
}

/** All of struct tso_head but what is for the kernel. */
#define WIRE_HEAD_BYTES (TSO_ETHERNET_BYTES + TSO_OVERHEAD_BYTES)

static inline void send_raw(int raw, const uint8_t *frame, size_t bytes)
{
    assert_int_equal(send(raw, frame, bytes, 0), bytes);
}

/** Is it a segment of TCP with this position, and right checksums? */
static inline void check_tcp(const uint8_t *frame, uint32_t position, uint32_t payload_bytes)
{
    const uint8_t *ip = frame + TSO_ETHERNET_BYTES;
    const uint8_t *tcp = ip + TSO_IP_BYTES;
    uint32_t tcp_bytes = TSO_TCP_BYTES + payload_bytes;

    assert_int_equal(ip[2] << 8 | ip[3], TSO_IP_BYTES + tcp_bytes);
    assert_int_equal(sum_of_words(0, ip, TSO_IP_BYTES), 0xFFFF);
    assert_int_equal(
        (uint32_t)tcp[4] << 24 | (uint32_t)tcp[5] << 16 | (uint32_t)tcp[6] << 8 | tcp[7], position);
    uint32_t pseudo = sum_of_words(IPPROTO_TCP + tcp_bytes, ip + 12, 8);
    assert_int_equal(sum_of_words(pseudo, tcp, tcp_bytes), 0xFFFF);
}

/** Sends the first segment of a message, as short as the shortest frame or shorter. */
static inline void send_padded(int raw, const struct udp_pair *pair, uint32_t bytes)
{
    struct tso_head head = head_of(pair, bytes);
    uint8_t frame[ETH_ZLEN] = {0};

    memcpy(frame, head.ethernet, WIRE_HEAD_BYTES);
    for (uint32_t i = 0; i < bytes; i++) {
        frame[WIRE_HEAD_BYTES + i] = content_at(i);
    }
    send_raw(raw, frame, sizeof frame);
}

/** Writes random bytes that the filter of endpoint NUMBER lets in. @return how many. */
static inline size_t forge(const struct tso_head *right, struct random *random, uint8_t *frame,
                           size_t room)
{
    const size_t least = TSO_ETHERNET_BYTES + TSO_IP_BYTES + 4; /* the ports: it looks no farther */
    size_t bytes = least + random_below(random, room - least + 1);
    uint8_t *ip = frame + TSO_ETHERNET_BYTES;

    for (size_t i = 0; i < bytes; i++) {
        frame[i] = (uint8_t)random_next(random);
    }
    memcpy(frame, right->ethernet, TSO_ETHERNET_BYTES);
    ip[9] = IPPROTO_TCP;
    memcpy(ip + 16, right->ip + 16, 4);
    memcpy(ip + TSO_IP_BYTES, right->tcp, 4);
    return bytes;
}

/** Sends a segment of zeros to the IP address of end1, instead of to the group. */
static inline void send_to_host(int raw, const struct udp_pair *pair)
{
    struct tso_head head = head_of(pair, SEGMENT);
    const uint8_t end1[4] = {10, 77, 0, 2};
    uint8_t frame[WIRE_HEAD_BYTES + SEGMENT] = {0};

    memcpy(head.ip + 16, end1, sizeof end1);
    memset(head.ip + 10, 0, 2);
    uint32_t sum = ~sum_of_words(0, head.ip, TSO_IP_BYTES);
    head.ip[10] = (uint8_t)(sum >> 8);
    head.ip[11] = (uint8_t)sum;
    memset(head.tcp + 16, 0, 2);
    sum = sum_of_words(IPPROTO_TCP + TSO_TCP_BYTES + SEGMENT, head.ip + 12, 8);
    sum = ~sum_of_words(sum, head.tcp, TSO_TCP_BYTES);
    head.tcp[16] = (uint8_t)(sum >> 8);
    head.tcp[17] = (uint8_t)sum;
    memcpy(frame, head.ethernet, WIRE_HEAD_BYTES);
    send_raw(raw, frame, sizeof frame);
}

/** Takes all that has been captured. */
static inline void discard(int raw)
{
    uint8_t frame[1];

    while (capture(raw, frame, sizeof frame) > 0) {
        /* the next */
    }
}

#endif
