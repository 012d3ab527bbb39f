/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet.c - raw Ethernet frames only: the lower bound for any protocol over the same interface. A
 * message is split into frames; a lost frame loses its message.
 *
 *   sending    one send() for a message of one frame, sendmmsg() for more; bypasses the queueing
 *              discipline (PACKET_QDISC_BYPASS)
 *   receiving  polls a TPACKET_V2 ring shared with the kernel, without system calls
 */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "driver.h"
#include "frames.h"
#include "local.h"
#include "packet_socket.h"
#include "spin.h"

#define FRAMES_A_CALL 64

struct packet {
    struct frames frames; /* first */
    struct packet_socket socket;
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
    packet->frames.host = options->host;
    packet->frames.loss_timeout_ns = options->loss_timeout_ns;
    packet->socket.fd = -1;
    packet->single = malloc(ETH_HLEN + PACKET_MTU_MAX);
    result = packet->single == NULL
                 ? -ENOMEM
                 : packet_socket_open(&packet->socket, name, FRAMES_MESSAGE_BYTES_MAX, error,
                                      error_bytes);
    if (result != 0) {
        packet_close(packet);
        return result;
    }
    packet->frames.payload_bytes_max = packet->socket.mtu - PACKET_HEADER_BYTES;
    packet->frames.port = packet->socket.port;
    packet->frames.header.ethertype_be = htons(PACKET_ETHERTYPE);
    memcpy(packet->frames.header.from, packet->socket.mac, ETH_ALEN);
    *session = packet;
    return 0;
}

FRAMES_INLINE const uint8_t *next_frame(struct frames *frames, size_t *bytes)
{
    const struct packet_ring *ring = &((struct packet *)frames)->socket.ring;
    return packet_ring_full(ring) ? packet_ring_frame(ring, bytes) : NULL;
}

FRAMES_INLINE void free_frame(struct frames *frames)
{
    packet_ring_free(&((struct packet *)frames)->socket.ring);
}

FRAMES_INLINE int wait_turn(struct frames *frames, struct spin *spin)
{
    (void)frames;
    return spin_turn(spin);
}

static bool worth_another_try(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == EINTR;
}

/* A message of one frame. */
static int send_single(struct frames *frames, uint16_t frame, const void *data, size_t bytes)
{
    struct packet *packet = (struct packet *)frames;
    struct frame_header *header = (struct frame_header *)packet->single;
    *header = frames_header(frames, frame, bytes);
    if (bytes > 0) {
        memcpy(packet->single + sizeof *header, data, bytes);
    }
    struct spin spin = spin_start(frames->host, SPIN_FOREVER);
    while (send(packet->socket.fd, packet->single, sizeof *header + bytes, MSG_DONTWAIT) < 0) {
        int error = worth_another_try(errno) ? spin_turn(&spin) : -errno;
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* Prepares up to FRAMES_A_CALL frames of a message, beginning with frame `first`. */
static unsigned fill_calls(struct packet *packet, const uint8_t *data, uint64_t size,
                           uint64_t first)
{
    unsigned count = 0;
    uint64_t offset = first * packet->frames.payload_bytes_max;
    while (count < FRAMES_A_CALL && offset < size) {
        size_t bytes = frames_cut(&packet->frames, size - offset);
        struct frame_header *header = &packet->headers[count];
        *header = frames_header(&packet->frames, (uint16_t)(first + count), bytes);
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
    packet->frames.message++;
    if (size <= packet->frames.payload_bytes_max) {
        return send_single(&packet->frames, 0, data, (size_t)size);
    }
    struct spin spin = spin_start(packet->frames.host, SPIN_FOREVER);
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

static const struct frames_carrier CARRIER = {
    .next = next_frame, .release = free_frame, .wait = wait_turn, .send = send_single};

static int packet_receive(void *session, void *data, uint64_t size)
{
    return frames_receive(session, &CARRIER, data, size);
}

static int packet_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    int result = frames_read_peer(session, peer, error, error_bytes);
    return result == 0 ? frames_meet(session, &CARRIER, error, error_bytes) : result;
}

static int packet_prepare(void *session, uint64_t size)
{
    if (size > FRAMES_MESSAGE_BYTES_MAX) {
        return -EMSGSIZE;
    }
    (void)frames_drain(session, &CARRIER);
    return 0;
}

static const struct driver PACKET = {
    .abi = DRIVER_ABI,
    .name = "packet",
    .summary = "raw Ethernet frames through a ring, spinning: the lower bound of this link",
    .placement = DRIVER_PAIR,
    .reliable = false,
    .spins = true,
    .min_size = 1,
    .max_size = FRAMES_MESSAGE_BYTES_MAX,
    .probe = packet_probe,
    .open = packet_open,
    .address = frames_address,
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
