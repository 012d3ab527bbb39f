/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shortcuts: sockets for sending only, each connected to a peer that much is sent to.
 *
 * The kernel looks up the route of each datagram anew, unless its socket is connected: then it
 * keeps the route, and only checks whether any has changed, which takes 0.3 us off a call. But of
 * two sockets with our address and port, what the peer sends would go to the connected one, and
 * each would have to be asked. Therefore a shortcut is bound to our port, but to an address where
 * nothing ever arrives: the multicast address that no group may have (RFC 1112, section 4; RFC
 * 4291, section 2.7.1). A multicast address is nobody's source, so Linux takes the one that goes
 * with the route; so it leaves from our address and port, and cannot be told from what the lane's
 * socket sends. What ICMP says of it comes to that socket, too.
 *
 * Whatever goes wrong with a shortcut, it is closed, and the lane's own socket is used, which says
 * what the matter is.
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

/** Does a socket without an address send to the peer from ours? If the interface has several, the
 *  route may prefer another. */
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
           socket_set(socket, SOL_SOCKET, SO_REUSEADDR, 1) == 0 && /* others of ours are there */
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

/** Begins to count what goes to this peer, in place of the one that was not sent to for longest. */
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
