/* SPDX-License-Identifier: BSD-3-Clause */
/* tso_checksum.h - completes the checksum of TCP, as the network card that sends a frame does. */
#ifndef BEOWIRE_TEST_TSO_CHECKSUM_H
#define BEOWIRE_TEST_TSO_CHECKSUM_H

#include "lane/tso/tso_head.h"

#include <stddef.h>

/** Adds up 16-bit words of the wire; of an odd one the second byte is 0. */
static inline uint32_t tso_sum(const uint8_t *bytes, size_t count, uint32_t sum)
{
    for (size_t i = 0; i < count; i++) {
        sum += (uint32_t)bytes[i] << (i % 2 == 0 ? 8 : 0);
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return sum;
}

/** @param head as tso_head_write() has written it, of one frame */
static inline void tso_complete_checksum(struct tso_head *head, const uint8_t *payload,
                                         size_t bytes)
{
    uint32_t sum = tso_sum(payload, bytes, tso_sum(head->tcp, sizeof head->tcp, 0));

    head->tcp[16] = (uint8_t)(~sum >> 8);
    head->tcp[17] = (uint8_t)~sum;
    head->offload = (struct virtio_net_hdr){0};
}

#endif /* BEOWIRE_TEST_TSO_CHECKSUM_H */
