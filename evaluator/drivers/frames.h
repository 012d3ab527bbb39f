/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.h - shared by the drivers packet and xdp: a message is split into numbered Ethernet
 * frames. Nothing is retransmitted: a lost frame loses its message.
 *
 *      0        6        12     14        16       18      20       22
 *      +--------+--------+------+---------+--------+-------+--------+---------
 *      | to MAC | own MAC| type | message | frame  | port  | bytes  | payload
 *      +--------+--------+------+---------+--------+-------+--------+---------
 *
 * type is big-endian: 0x88B6 (IEEE 802 local experimental 2) of packet, 0x88B7 of xdp. The other
 * fields are little-endian. `port` names the receiving session on that interface, `message` counts
 * messages, `frame` counts frames within one (or is FRAMES_GREETING), `bytes` is the payload
 * without padding. A carrier delivers only frames of its EtherType and its port.
 *
 * All functions are inline, with a constant carrier, because this code is part of the measured
 * time.
 */
#ifndef BEOWIRE_DRIVERS_FRAMES_H
#define BEOWIRE_DRIVERS_FRAMES_H

#include <arpa/inet.h>
#include <endian.h>
#include <net/ethernet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "spin.h"
#include "text.h"

#define FRAMES_MESSAGE_BYTES_MAX (UINT64_C(256) << 10)

/** Largest payload that an address may state. */
#define FRAMES_PAYLOAD_BYTES_MAX 16384

/** The frame number of a greeting, which tests whether the other end can be reached. */
#define FRAMES_GREETING 0xFFFF
#define FRAMES_GREETING_INTERVAL_NS UINT64_C(5000000)
/** Greetings sent after the other end's was received, in case some of ours were lost. */
#define FRAMES_GREETING_REPEATS 8

/** The most frames discarded at once. */
#define FRAMES_DRAINED_MAX 4096

/** For functions called for each frame: so that the carrier's functions are inlined, too. */
#define FRAMES_INLINE __attribute__((always_inline)) static inline

struct frame_header {
    uint8_t to[ETH_ALEN];
    uint8_t from[ETH_ALEN];
    uint16_t ethertype_be;
    uint16_t message_le;
    uint16_t frame_le;
    uint16_t port_le;
    uint16_t bytes_le;
};
_Static_assert(sizeof(struct frame_header) == 22, "the header has no padding");

/** The first member of a session. */
struct frames {
    const struct driver_host *host;
    uint64_t loss_timeout_ns;
    size_t payload_bytes_max;   /**< of one frame */
    uint16_t port;              /**< our own */
    uint16_t message;           /**< number of the last message sent */
    struct frame_header header; /**< all fields but message, frame and bytes */
};

/** How frames are sent and received. */
struct frames_carrier {
    /** The next received frame, from its Ethernet header on; or NULL. */
    const uint8_t *(*next)(struct frames *frames, size_t *bytes);
    /** Releases it. */
    void (*release)(struct frames *frames);
    /** Waits once for a frame: 0, or the negative errno that ends the wait. */
    int (*wait)(struct frames *frames, struct spin *spin);
    /** Sends one frame at once. */
    int (*send)(struct frames *frames, uint16_t frame, const void *payload, size_t bytes);
    /** Called after each greeting: 0, or a negative errno if the other end cannot be reached, with
     *  one line in `error`. May be NULL. */
    int (*check)(struct frames *frames, char *error, size_t error_bytes);
};

/** What was received from the other end. A greeting contains, as its message's number, whether its
 *  sender has received one. Only then may the receiver stop greeting. */
enum frames_heard {
    HEARD_NOTHING,
    HEARD_GREETING,
    HEARD_ANSWER,
};

/** A received frame. `valid`: its fields match its length. */
struct frames_arrival {
    uint16_t message;
    uint16_t frame;
    uint16_t bytes;
    bool valid;
    const uint8_t *payload;
};

/** "aa:bb:cc:dd:ee:ff/PORT/BYTES" */
static inline int frames_address(void *session, char *text, size_t text_bytes)
{
    const struct frames *frames = session;
    const uint8_t *mac = frames->header.from;
    int length =
        snprintf(text, text_bytes, "%02x:%02x:%02x:%02x:%02x:%02x/%u/%zu", mac[0], mac[1], mac[2],
                 mac[3], mac[4], mac[5], (unsigned)frames->port, frames->payload_bytes_max);
    return length > 0 && (size_t)length < text_bytes ? 0 : -ENOSPC;
}

static inline bool frames_parse(struct frames *frames, const char *text)
{
    uint64_t port;
    uint64_t payload_bytes;
    for (size_t i = 0; i < ETH_ALEN; i++) {
        uint64_t byte;
        if (!text_number(&text, 16, i + 1 < ETH_ALEN ? ':' : '/', UINT8_MAX, &byte)) {
            return false;
        }
        frames->header.to[i] = (uint8_t)byte;
    }
    if (!text_number(&text, 10, '/', UINT16_MAX, &port) ||
        !text_number(&text, 10, '\0', FRAMES_PAYLOAD_BYTES_MAX, &payload_bytes) ||
        payload_bytes == 0) {
        return false;
    }
    frames->header.port_le = htole16((uint16_t)port);
    if (payload_bytes < frames->payload_bytes_max) {
        frames->payload_bytes_max = (size_t)payload_bytes; /* both ends split alike */
    }
    return true;
}

static inline int frames_read_peer(struct frames *frames, const char *peer, char *error,
                                   size_t error_bytes)
{
    if (frames_parse(frames, peer)) {
        return 0;
    }
    (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", peer);
    return -EINVAL;
}

/** The header of a frame of the current message. */
static inline struct frame_header frames_header(const struct frames *frames, uint16_t frame,
                                                size_t bytes)
{
    struct frame_header header = frames->header;
    header.message_le = htole16(frames->message);
    header.frame_le = htole16(frame);
    header.bytes_le = htole16((uint16_t)bytes);
    return header;
}

/** Bytes of a message in its next frame. */
static inline size_t frames_cut(const struct frames *frames, uint64_t left)
{
    return left < frames->payload_bytes_max ? (size_t)left : frames->payload_bytes_max;
}

/** Has a frame arrived? */
FRAMES_INLINE bool frames_look(struct frames *frames, const struct frames_carrier *carrier,
                               struct frames_arrival *arrival)
{
    size_t bytes = 0;
    struct frame_header header;
    const uint8_t *start = carrier->next(frames, &bytes);
    if (start == NULL) {
        return false;
    }
    arrival->valid = false;
    if (bytes >= sizeof header) {
        memcpy(&header, start, sizeof header);
        *arrival = (struct frames_arrival){
            .message = le16toh(header.message_le),
            .frame = le16toh(header.frame_le),
            .bytes = le16toh(header.bytes_le),
            .valid = sizeof header + le16toh(header.bytes_le) <= bytes,
            .payload = start + sizeof header,
        };
    }
    return true;
}

/** driver.receive. */
FRAMES_INLINE int frames_receive(struct frames *frames, const struct frames_carrier *carrier,
                                 void *data, uint64_t size)
{
    struct spin spin = spin_start(frames->host, frames->loss_timeout_ns);
    uint64_t offset = 0;  /* received bytes of the message */
    uint32_t next = 0;    /* the expected frame */
    uint16_t message = 0; /* to which the frames before belong */
    for (;;) {
        struct frames_arrival arrival;
        if (!frames_look(frames, carrier, &arrival)) {
            int error = carrier->wait(frames, &spin);
            if (error != 0) {
                return error;
            }
            continue;
        }
        if (arrival.valid && arrival.frame == 0) {
            message = arrival.message;
            next = 0;
            offset = 0;
        }
        if (arrival.valid && arrival.frame == next && arrival.message == message &&
            arrival.bytes == frames_cut(frames, size - offset)) {
            memcpy((uint8_t *)data + offset, arrival.payload, arrival.bytes);
            carrier->release(frames);
            offset += arrival.bytes;
            next++;
            if (offset == size) {
                return 0;
            }
            spin_progress(&spin);
            continue;
        }
        /* A frame is missing before this one, or it belongs to no message: wait for a new
         * message. */
        carrier->release(frames);
        next = FRAMES_GREETING;
        int error = spin_turn(&spin);
        if (error != 0) {
            return error;
        }
    }
}

/** Discards all received frames. Returns the highest state among them. */
static inline enum frames_heard frames_drain(struct frames *frames,
                                             const struct frames_carrier *carrier)
{
    enum frames_heard heard = HEARD_NOTHING;
    struct frames_arrival arrival;
    for (unsigned i = 0; i < FRAMES_DRAINED_MAX && frames_look(frames, carrier, &arrival); i++) {
        if (arrival.valid && arrival.frame == FRAMES_GREETING && heard != HEARD_ANSWER) {
            heard = arrival.message == HEARD_NOTHING ? HEARD_GREETING : HEARD_ANSWER;
        }
        carrier->release(frames);
    }
    return heard;
}

/** Sends a greeting, and waits a short time for a frame. */
static inline int frames_greet(struct frames *frames, const struct frames_carrier *carrier,
                               enum frames_heard heard)
{
    struct spin spin = spin_start(frames->host, FRAMES_GREETING_INTERVAL_NS);
    struct frames_arrival arrival;
    frames->message = (uint16_t)heard;
    int result = carrier->send(frames, FRAMES_GREETING, NULL, 0);
    while (result == 0 && !frames_look(frames, carrier, &arrival)) {
        result = spin_turn(&spin);
    }
    return result == -ETIMEDOUT ? 0 : result;
}

/** Sends greetings until both ends have received one. */
static inline int frames_meet(struct frames *frames, const struct frames_carrier *carrier,
                              char *error, size_t error_bytes)
{
    enum frames_heard heard = frames_drain(frames, carrier);
    int result = 0;
    while (heard != HEARD_ANSWER && result == 0) {
        result = frames_greet(frames, carrier, heard);
        const enum frames_heard now = frames_drain(frames, carrier);
        heard = now > heard ? now : heard;
        if (result == 0 && carrier->check != NULL) {
            result = carrier->check(frames, error, error_bytes);
        }
    }
    if (result == -ECANCELED) {
        (void)snprintf(error, error_bytes,
                       "no frame of the other end arrives: both have to be on one Ethernet segment,"
                       " and EtherType 0x%04X must pass",
                       ntohs(frames->header.ethertype_be));
    }
    frames->message = (uint16_t)heard;
    for (int repeat = 0; repeat < FRAMES_GREETING_REPEATS && result == 0; repeat++) {
        result = carrier->send(frames, FRAMES_GREETING, NULL, 0);
    }
    return result;
}

#endif
