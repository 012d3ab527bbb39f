/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grant.h - asks beowired, the broker of this host, for a packet(7) socket: for processes without
 * CAP_NET_RAW. broker/ is the other end.
 *
 * One message goes each way over a Unix socket (SOCK_SEQPACKET) with a name in the file system, and
 * with the answer the descriptor (SCM_RIGHTS). The socket is ready: filter, ring and binding are
 * the broker's, and the kernel lets nothing out of it but frames of the granted endpoint, whatever
 * is done with it. It is in a network namespace that has one interface, of which this process sees
 * no more than the socket tells. Neither end has anything to say after that: the grant is the
 * descriptor, and ends when the last copy is closed.
 */
#ifndef BEOWIRE_LANE_PACKET_GRANT_H
#define BEOWIRE_LANE_PACKET_GRANT_H

#include "lane/slot_ring.h"

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#define GRANT_DIRECTORY "/run/beowire"
#define GRANT_SOCKET GRANT_DIRECTORY "/broker"

/** The interface in the namespace of the grant. */
#define GRANT_INTERFACE "frames"

#define GRANT_VERSION 1

/** What is asked for. */
struct grant_question {
    uint32_t version; /**< GRANT_VERSION, which changes with any of this */
    uint16_t ethertype;
    uint16_t number; /**< of the endpoint; 0: any */
    char interface[IF_NAMESIZE];
};

/** Room for the reason of a refusal, with its end. */
#define GRANT_WHY_BYTES 96

struct grant_answer {
    uint32_t version;
    int32_t status; /**< 0, and the descriptor comes with this; a negative errno */
    uint16_t number;
    uint16_t reserved;
    struct slot_ring_shape ring;
    char why[GRANT_WHY_BYTES];
};

struct grant {
    int socket; /**< the caller's to close */
    uint16_t number;
    struct slot_ring_shape ring;
};

/** @param number of the endpoint; 0: any @param why GRANT_WHY_BYTES; gets the reason of a refusal
 *  @return 0; -EPERM: there is no broker; -EACCES: it refuses, or does not answer. */
int grant_ask(const char *interface, uint16_t ethertype, uint16_t number, struct grant *grant,
              char *why);

/** The broker's half. @param socket -1: none. @return 0 or a negative errno. */
int grant_send(int connection, const struct grant_answer *answer, int socket);

/** What grant_send() has sent. @param socket gets the descriptor; -1: none has come
 *  @return false: no answer, or not one that this version understands. */
bool grant_receive(int connection, struct grant_answer *answer, int *socket);

#endif /* BEOWIRE_LANE_PACKET_GRANT_H */
