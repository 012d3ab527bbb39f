/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ping.h - asks a host whether it is there, when nothing is heard of a process on it.
 *
 * Two questions, neither of which needs anything of the process: an ICMP echo, over a ping socket
 * (net.ipv4.ping_group_range) or a raw one (CAP_NET_RAW); and a datagram to a port where nobody
 * is, port 9, where whatever comes is to be discarded (RFC 863). That host refuses it, as it would
 * what is for a process that has ended: so a refusal *vouches* for the process, whose port was
 * asked as well and not refused. Hosts refuse seldom (Linux: once a second to each other host), so
 * that question is for when it is not known yet whether refusals come through, or the other cannot
 * be asked.
 *
 * A question carries a mark, and what only we can know of that mark and that host, so that nobody
 * answers who has not seen it, and nobody for another. Sockets are opened when first needed. How
 * often somebody is asked is for the layers above to decide.
 * Threads: one at a time.
 */
#ifndef BEOWIRE_LANE_PING_H
#define BEOWIRE_LANE_PING_H

#include "lane/lane.h"

#include <stddef.h>
#include <sys/socket.h>

/** Refusals that are remembered until ping_answer() is asked; a further one is forgotten. */
#define PING_REFUSALS_MAX 32

/** Where datagrams are discarded. */
#define PING_DISCARD_PORT 9

/** What a question carries. The first byte is that of no frame. */
struct ping_question {
    uint8_t none[4];
    uint32_t mark;
    uint64_t secret; /**< of the mark and the host */
};

/** Length of what those follow from, in bytes. */
#define PING_SECRET_BYTES 16

struct ping {
    bool begun;
    bool raw;                            /**< the socket takes whole IP packets, of IPv4 */
    int socket;                          /**< for echoes; -1: it cannot be had */
    uint16_t number;                     /**< of the next echo */
    bool can_ask;                        /**< there is a secret; else nobody is asked */
    uint8_t secret[PING_SECRET_BYTES];   /**< random, and told to nobody */
    uint32_t refused[PING_REFUSALS_MAX]; /**< marks */
    unsigned refused_count;
};

/** Opens what is needed for ping_echo() from this address, if that has not been tried. */
void ping_begin(struct ping *ping, const struct sockaddr *own, socklen_t own_bytes);

/** What this host is asked. */
struct ping_question ping_ask(const struct ping *ping, const struct sockaddr *host, uint32_t mark);

/** Is it what this host was asked? Only it, and whoever sees what goes there, can know. */
bool ping_is_right(const struct ping *ping, const struct ping_question *question,
                   const struct sockaddr *host);

/** Sends an ICMP echo. @return false: that cannot be done. */
bool ping_echo(struct ping *ping, const struct sockaddr *to, socklen_t to_bytes, uint32_t mark);

/** Sends a datagram to the port where it is discarded, through a socket that has the option
 *  IP_RECVERR. @param to gets that port */
void ping_discard(struct ping *ping, int socket, struct sockaddr *to, socklen_t to_bytes,
                  uint32_t mark);

/** Is what was refused a question of ours to this host? Then it is noted, if that has refused it
 * `by_itself`, and nobody between. */
bool ping_is_refused(struct ping *ping, const uint8_t *quote, size_t quote_bytes,
                     const struct sockaddr *host, bool by_itself);

/** Takes an answer, as host_answer() in lane.h. */
enum lane_host ping_answer(struct ping *ping, uint32_t *mark);

void ping_end(struct ping *ping);

#endif /* BEOWIRE_LANE_PING_H */
