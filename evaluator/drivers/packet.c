/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet.c - raw Ethernet frames, with nothing on top: the floor that any protocol over the same
 * interface stands on. A message is cut into frames; a lost frame loses its message.
 *
 *   sending    one send() for a message of one frame, sendmmsg() for more; past the queueing
 *              discipline (PACKET_QDISC_BYPASS)
 *   receiving  a TPACKET_V2 ring shared with the kernel, spun on: no system call at all
 *
 * What a frame looks like is in packet_socket.h.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <linux/if_ether.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "driver.h"
#include "local.h"
#include "packet_socket.h"
#include "spin.h"
#include "text.h"

#define PACKET_MESSAGE_BYTES_MAX (UINT64_C(256) << 10)

/* A frame number that no message has: sent to find out whether the other end is reached. */
#define GREETING 0xFFFF
#define GREETING_INTERVAL_NS UINT64_C(5000000)
/* Sent once the other end was heard, so that it hears us although some frames get lost. */
#define GREETING_REPEATS 8

#define FRAMES_A_CALL 64

struct packet {
    const struct driver_host *host;
    uint64_t loss_timeout_ns;
    struct packet_socket socket;
    uint16_t message;           /* number of the last message sent */
    size_t payload_bytes_max;   /* of one frame */
    struct frame_header header; /* filled in but for message, frame and bytes */
    struct frame_header headers[FRAMES_A_CALL];
    struct iovec vectors[FRAMES_A_CALL][2];
    struct mmsghdr calls[FRAMES_A_CALL];
    uint8_t *single; /* a whole frame, contiguous */
};

static int packet_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    char name[IF_NAMESIZE];
    int result = packet_socket_permitted(reason, reason_bytes);
    return result != 0 ? result : local_interface(options, name, reason, reason_bytes);
}

static void packet_close(void *session)
{
    struct packet *packet = session;
    packet_socket_close(&packet->socket);
    free(packet->single);
    free(packet);
}

static int packet_open(const struct driver_options *options, void **session, char *error,
                       size_t error_bytes)
{
    char name[IF_NAMESIZE];
    int result = local_interface(options, name, error, error_bytes);
    if (result != 0) {
        return result;
    }
    struct packet *packet = calloc(1, sizeof *packet);
    if (packet == NULL) {
        return -ENOMEM;
    }
    packet->host = options->host;
    packet->loss_timeout_ns = options->loss_timeout_ns;
    packet->socket.fd = -1;
    packet->single = malloc(ETH_HLEN + PACKET_MTU_MAX);
    result = packet->single == NULL
                 ? -ENOMEM
                 : packet_socket_open(&packet->socket, name, PACKET_MESSAGE_BYTES_MAX, error,
                                      error_bytes);
    if (result != 0) {
        packet_close(packet);
        return result;
    }
    packet->payload_bytes_max = packet->socket.mtu - PACKET_HEADER_BYTES;
    packet->header.ethertype_be = htons(PACKET_ETHERTYPE);
    memcpy(packet->header.from, packet->socket.mac, ETH_ALEN);
    *session = packet;
    return 0;
}

/* "aa:bb:cc:dd:ee:ff/PORT/MTU" */
static int packet_address(void *session, char *text, size_t text_bytes)
{
    const struct packet *packet = session;
    const uint8_t *mac = packet->header.from;
    int length =
        snprintf(text, text_bytes, "%02x:%02x:%02x:%02x:%02x:%02x/%u/%zu", mac[0], mac[1], mac[2],
                 mac[3], mac[4], mac[5], (unsigned)packet->socket.port, packet->socket.mtu);
    return length > 0 && (size_t)length < text_bytes ? 0 : -ENOSPC;
}

/* A frame in a slot, its fields checked against what really arrived. */
struct arrival {
    uint16_t message;
    uint16_t frame;
    uint16_t bytes;
    const uint8_t *payload;
};

static bool read_slot(const struct packet *packet, struct arrival *arrival)
{
    size_t bytes;
    const uint8_t *start = packet_ring_frame(&packet->socket.ring, &bytes);
    struct frame_header header;
    if (bytes < sizeof header) {
        return false;
    }
    memcpy(&header, start, sizeof header);
    arrival->message = le16toh(header.message_le);
    arrival->frame = le16toh(header.frame_le);
    arrival->bytes = le16toh(header.bytes_le);
    arrival->payload = start + sizeof header;
    return sizeof header + arrival->bytes <= bytes;
}

static bool worth_another_try(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == EINTR;
}

/* A message of one frame. */
static int send_single(struct packet *packet, uint16_t frame, const void *data, size_t bytes)
{
    struct frame_header *header = (struct frame_header *)packet->single;
    *header = packet->header;
    header->message_le = htole16(packet->message);
    header->frame_le = htole16(frame);
    header->bytes_le = htole16((uint16_t)bytes);
    if (bytes > 0) {
        memcpy(packet->single + sizeof *header, data, bytes);
    }
    struct spin spin = spin_start(packet->host, SPIN_FOREVER);
    while (send(packet->socket.fd, packet->single, sizeof *header + bytes, MSG_DONTWAIT) < 0) {
        int error = worth_another_try(errno) ? spin_turn(&spin) : -errno;
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* Prepares up to FRAMES_A_CALL frames of a message from frame number `first` on. */
static unsigned fill_calls(struct packet *packet, const uint8_t *data, uint64_t size,
                           uint64_t first)
{
    unsigned count = 0;
    uint64_t offset = first * packet->payload_bytes_max;
    while (count < FRAMES_A_CALL && offset < size) {
        size_t bytes = size - offset < packet->payload_bytes_max ? (size_t)(size - offset)
                                                                 : packet->payload_bytes_max;
        struct frame_header *header = &packet->headers[count];
        *header = packet->header;
        header->message_le = htole16(packet->message);
        header->frame_le = htole16((uint16_t)(first + count));
        header->bytes_le = htole16((uint16_t)bytes);
        packet->vectors[count][0] = (struct iovec){header, sizeof *header};
        packet->vectors[count][1] = (struct iovec){(void *)(uintptr_t)(data + offset), bytes};
        packet->calls[count].msg_hdr =
            (struct msghdr){.msg_iov = packet->vectors[count], .msg_iovlen = 2};
        offset += bytes;
        count++;
    }
    return count;
}

static int packet_send(void *session, const void *data, uint64_t size)
{
    struct packet *packet = session;
    packet->message++;
    if (size <= packet->payload_bytes_max) {
        return send_single(packet, 0, data, (size_t)size);
    }
    struct spin spin = spin_start(packet->host, SPIN_FOREVER);
    uint64_t frame = 0;
    for (;;) {
        unsigned count = fill_calls(packet, data, size, frame);
        if (count == 0) {
            return 0;
        }
        unsigned done = 0;
        while (done < count) {
            int sent =
                sendmmsg(packet->socket.fd, packet->calls + done, count - done, MSG_DONTWAIT);
            if (sent > 0) {
                done += (unsigned)sent;
                continue;
            }
            int error = worth_another_try(errno) ? spin_turn(&spin) : -errno;
            if (error != 0) {
                return error;
            }
        }
        frame += count;
    }
}

static int packet_receive(void *session, void *data, uint64_t size)
{
    struct packet *packet = session;
    struct spin spin = spin_start(packet->host, packet->loss_timeout_ns);
    uint64_t offset = 0;  /* bytes of the message that have arrived */
    uint32_t next = 0;    /* frame that has to come */
    uint16_t message = 0; /* that the frames before it belong to */
    for (;;) {
        if (!packet_ring_full(&packet->socket.ring)) {
            int error = spin_turn(&spin);
            if (error != 0) {
                return error;
            }
            continue;
        }
        struct arrival arrival;
        bool valid = read_slot(packet, &arrival);
        if (valid && arrival.frame == 0) {
            message = arrival.message;
            next = 0;
            offset = 0;
        }
        uint64_t wanted = size - offset;
        if (wanted > packet->payload_bytes_max) {
            wanted = packet->payload_bytes_max;
        }
        if (valid && arrival.frame == next && arrival.message == message &&
            arrival.bytes == wanted) {
            memcpy((uint8_t *)data + offset, arrival.payload, arrival.bytes);
            packet_ring_free(&packet->socket.ring);
            offset += wanted;
            next++;
            if (offset == size) {
                return 0;
            }
            spin_progress(&spin);
            continue;
        }
        /* A frame is missing before this one, or it belongs to nothing: wait for a new message. */
        packet_ring_free(&packet->socket.ring);
        next = GREETING;
        int error = spin_turn(&spin);
        if (error != 0) {
            return error;
        }
    }
}

/* Throws away all that has come. True when a greeting was among it. */
static bool drain(struct packet *packet)
{
    bool greeted = false;
    for (uint32_t slots = 0;
         slots < packet->socket.ring.slot_count && packet_ring_full(&packet->socket.ring);
         slots++) {
        struct arrival arrival;
        greeted = (read_slot(packet, &arrival) && arrival.frame == GREETING) || greeted;
        packet_ring_free(&packet->socket.ring);
    }
    return greeted;
}

static int read_peer(struct packet *packet, const char *text)
{
    uint64_t port;
    uint64_t mtu;
    for (size_t i = 0; i < ETH_ALEN; i++) {
        uint64_t byte;
        if (!text_number(&text, 16, i + 1 < ETH_ALEN ? ':' : '/', UINT8_MAX, &byte)) {
            return -EINVAL;
        }
        packet->header.to[i] = (uint8_t)byte;
    }
    if (!text_number(&text, 10, '/', UINT16_MAX, &port) ||
        !text_number(&text, 10, '\0', PACKET_MTU_MAX, &mtu) || mtu <= PACKET_HEADER_BYTES) {
        return -EINVAL;
    }
    packet->header.port_le = htole16((uint16_t)port);
    /* Both ends cut messages alike: as the smaller of the two MTUs asks. */
    if (mtu - PACKET_HEADER_BYTES < packet->payload_bytes_max) {
        packet->payload_bytes_max = mtu - PACKET_HEADER_BYTES;
    }
    return 0;
}

/* Greets until the other end is heard. Its session is open already, so no answer is needed. */
static int packet_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    struct packet *packet = session;
    if (read_peer(packet, peer) != 0) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", peer);
        return -EINVAL;
    }
    while (!drain(packet)) {
        int result = send_single(packet, GREETING, NULL, 0);
        struct spin spin = spin_start(packet->host, GREETING_INTERVAL_NS);
        while (result == 0 && !packet_ring_full(&packet->socket.ring)) {
            result = spin_turn(&spin);
        }
        if (result == -ECANCELED) {
            (void)snprintf(error, error_bytes,
                           "no frame of the other end arrives: both have to be on one Ethernet "
                           "segment, and EtherType 0x88B6 must pass");
        }
        if (result != 0 && result != -ETIMEDOUT) {
            return result;
        }
    }
    for (int repeat = 0; repeat < GREETING_REPEATS; repeat++) {
        int result = send_single(packet, GREETING, NULL, 0);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

static int packet_prepare(void *session, uint64_t size)
{
    struct packet *packet = session;
    if (size > PACKET_MESSAGE_BYTES_MAX) {
        return -EMSGSIZE;
    }
    (void)drain(packet);
    return 0;
}

static const struct driver PACKET = {
    .abi = DRIVER_ABI,
    .name = "packet",
    .summary = "raw Ethernet frames through a ring, spinning: the floor of this link",
    .placement = DRIVER_PAIR,
    .reliable = false,
    .spins = true,
    .min_size = 1,
    .max_size = PACKET_MESSAGE_BYTES_MAX,
    .probe = packet_probe,
    .open = packet_open,
    .address = packet_address,
    .connect = packet_connect,
    .prepare = packet_prepare,
    .send = packet_send,
    .receive = packet_receive,
    .close = packet_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&PACKET, NULL};
    return TABLE;
}
