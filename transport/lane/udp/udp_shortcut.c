/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shortcuts: sockets for sending only, each connected to a peer to which much is sent.
 *
 * The kernel looks up the route of each datagram, unless its socket is connected: then it keeps the
 * route, and only checks whether any has changed, which saves 0.3 us per call. But of two sockets
 * with our address and port, the peer's datagrams would go to the connected one, and both would
 * have to be polled. So a shortcut is bound to our port, but to an address where nothing arrives:
 * the multicast address that no group may use (RFC 1112, section 4; RFC 4291, section 2.7.1). A
 * multicast address cannot be a source, so Linux uses the one of the route: our address and port.
 * ICMP about it goes to the lane's socket, too.
 *
 * After any error a shortcut is closed, and the lane's own socket is used, which reports the cause.
 */
#include "udp_internal.h"

#include "lane/socket.h"

#include <unistd.h>

/** An address at which nothing arrives, and our port. */
static struct lane_address nowhere_of(const struct udp_lane *udp)
{
    struct lane_address nowhere = udp->own;
    struct udp_place *at = (struct udp_place *)(void *)&nowhere;

    if (udp->family == AF_INET) {
        memcpy(at->ip + 12, (const uint8_t[4]){224}, 4); /* 224.0.0.0 */
    } else {
        memcpy(at->ip, (const uint8_t[16]){0xFF, 0x0E}, sizeof at->ip); /* ff0e:: */
    }
    return nowhere;
}

/** Does a socket without an address send to the peer from our address? If the interface has
 *  several, the route may prefer another. */
static bool leaves_from_ours(const struct udp_lane *udp, int socket, const union udp_sockaddr *peer,
                             socklen_t peer_bytes)
{
    union udp_sockaddr source = {0};
    socklen_t source_bytes = sizeof source;
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

    if (connect(socket, &peer->any, peer_bytes) != 0 ||
        getsockname(socket, &source.any, &source_bytes) != 0 ||
        connect(socket, &nobody, sizeof nobody) != 0) {
        return false;
    }
    struct lane_address from = udp_place_of(&source);
    return memcmp(from.bytes, udp->own.bytes, sizeof((struct udp_place *)0)->ip) == 0;
}

static bool set_up(const struct udp_lane *udp, int socket, const struct lane_address *to)
{
    union udp_sockaddr peer;
    union udp_sockaddr nowhere;
    struct lane_address nowhere_place = nowhere_of(udp);
    socklen_t length = udp_sockaddr_of(udp, to, &peer);

    (void)udp_sockaddr_of(udp, &nowhere_place, &nowhere);
    return udp_tune_sending(udp, socket) == 0 &&
           socket_set(socket, SOL_SOCKET, SO_RCVBUF, 0) == 0 &&
           socket_set(socket, SOL_SOCKET, SO_REUSEADDR, 1) == 0 && /* our other sockets are there */
           leaves_from_ours(udp, socket, &peer, length) &&
           bind(socket, &nowhere.any, length) == 0 && connect(socket, &peer.any, length) == 0;
}

/** @return a socket, or -1. */
static int open_socket(const struct udp_lane *udp, const struct lane_address *to)
{
    int opened = socket(udp->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (opened >= 0 && !set_up(udp, opened, to)) {
        close(opened);
        opened = -1;
    }
    return opened;
}

static void give_up(struct udp_shortcut *shortcut)
{
    if (shortcut->socket >= 0) {
        close(shortcut->socket);
    }
    shortcut->socket = -1;
    shortcut->wait = UDP_SHORTCUT_AGAIN_SENDS;
}

static struct udp_shortcut *find(struct udp_lane *udp, const struct lane_address *to)
{
    for (unsigned i = 0; i < UDP_SHORTCUTS; i++) {
        if (memcmp(&udp->shortcuts[i].to, to, sizeof *to) == 0) {
            return &udp->shortcuts[i];
        }
    }
    return NULL;
}

/** Begins to count sends to this peer, in place of the least recently used one. */
static struct udp_shortcut *begin(struct udp_lane *udp, const struct lane_address *to)
{
    struct udp_shortcut *oldest = &udp->shortcuts[0];

    for (unsigned i = 1; i < UDP_SHORTCUTS; i++) {
        if (udp->shortcuts[i].used < oldest->used) {
            oldest = &udp->shortcuts[i];
        }
    }
    give_up(oldest);
    oldest->to = *to;
    oldest->wait = UDP_SHORTCUT_SENDS;
    return oldest;
}

int udp_shortcut(struct udp_lane *udp, const struct lane_address *to)
{
    struct udp_shortcut *shortcut = find(udp, to);

    if (shortcut == NULL) {
        shortcut = begin(udp, to);
    }
    shortcut->used = ++udp->shortcut_clock;
    if (shortcut->socket < 0 && --shortcut->wait == 0) {
        shortcut->socket = open_socket(udp, to);
        shortcut->wait = UDP_SHORTCUT_AGAIN_SENDS;
    }
    return shortcut->socket;
}

void udp_shortcut_give_up(struct udp_lane *udp, const struct lane_address *to)
{
    struct udp_shortcut *shortcut = find(udp, to);

    if (shortcut != NULL) {
        give_up(shortcut);
    }
}

void udp_shortcuts_begin(struct udp_lane *udp)
{
    for (unsigned i = 0; i < UDP_SHORTCUTS; i++) {
        udp->shortcuts[i].socket = -1;
    }
}

void udp_shortcuts_end(struct udp_lane *udp)
{
    for (unsigned i = 0; i < UDP_SHORTCUTS; i++) {
        give_up(&udp->shortcuts[i]);
    }
}
