/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ping.h - asks whether a host answers, when a process on it is silent.
 *
 * There are two questions, neither of which needs the process: an ICMP echo, over a ping socket
 * (net.ipv4.ping_group_range) or a raw one (CAP_NET_RAW); and a datagram to an unused port, port 9
 * (discard, RFC 863). The host refuses the datagram, as it would refuse one for a process that has
 * ended. So the refusal *vouches* for the process, whose port was asked as well and not refused.
 * Hosts limit refusals (Linux: one per second to each host), so the second question is only asked
 * while it is unknown whether refusals arrive, or if the first is not possible.
 *
 * A question carries a mark and a secret of that mark and host, so that only somebody who has seen
 * it can answer, and only for that host. Sockets are opened when first needed. The layers above
 * decide how often to ask.
 * Threads: one at a time.
 */
#ifndef BEOWIRE_LANE_PING_H
#define BEOWIRE_LANE_PING_H

#include "lane/lane.h"

#include <stddef.h>
#include <sys/socket.h>

/** Refusals kept until ping_answer() is called; further ones are dropped. */
#define PING_REFUSALS_MAX 32

/** Where datagrams are discarded. */
#define PING_DISCARD_PORT 9

/** The contents of a question. No frame begins with its first byte. */
struct ping_question {
    uint8_t none[4];
    uint32_t mark;
    uint64_t secret; /**< of the mark and the host */
};

/** Bytes of the secret from which those are computed. */
#define PING_SECRET_BYTES 16

struct ping {
    bool begun;
    bool raw;                            /**< the socket takes whole IP packets, of IPv4 */
    int socket;                          /**< for echoes; -1: not available */
    uint16_t number;                     /**< of the next echo */
    bool can_ask;                        /**< there is a secret; otherwise no host is asked */
    uint8_t secret[PING_SECRET_BYTES];   /**< random, never sent */
    uint32_t refused[PING_REFUSALS_MAX]; /**< marks */
    unsigned refused_count;
};

/** Opens the socket for ping_echo() from this address, unless that was tried before. */
void ping_begin(struct ping *ping, const struct sockaddr *own, socklen_t own_bytes);

/** The question for this host. */
struct ping_question ping_ask(const struct ping *ping, const struct sockaddr *host, uint32_t mark);

/** Is it the question for this host? Only the host, and others on the path to it, can know it. */
bool ping_is_right(const struct ping *ping, const struct ping_question *question,
                   const struct sockaddr *host);

/** Sends an ICMP echo. @return false: not possible. */
bool ping_echo(struct ping *ping, const struct sockaddr *to, socklen_t to_bytes, uint32_t mark);

/** Sends a datagram to the discard port, by a socket with the option IP_RECVERR.
 *  @param to gets that port */
void ping_discard(struct ping *ping, int socket, struct sockaddr *to, socklen_t to_bytes,
                  uint32_t mark);

/** Is the refused datagram one of our questions to this host? Then it is counted if the host itself
 * has refused it (`by_itself`), not a router. */
bool ping_is_refused(struct ping *ping, const uint8_t *quote, size_t quote_bytes,
                     const struct sockaddr *host, bool by_itself);

/** Takes an answer, as host_answer() in lane.h. */
enum lane_host ping_answer(struct ping *ping, uint32_t *mark);

void ping_end(struct ping *ping);

#endif /* BEOWIRE_LANE_PING_H */
