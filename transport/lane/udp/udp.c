/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket: its address, and opening it. */
#include "udp.h"

#include "frame/address_layout.h"
#include "frame/frame.h"
#include "lane/interfaces.h"
#include "lane/lane_type.h"
#include "lane/socket.h"
#include "lane/udp/udp_internal.h"
#include "lane/witness.h"
#include "tuning.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define IPV4_HEADER_BYTES 20
#define IPV6_HEADER_BYTES 40
#define UDP_HEADER_BYTES 8

static const uint8_t mapped_prefix[12] = {[10] = 0xFF, [11] = 0xFF};

/* ---- addresses ------------------------------------------------------------------------------ */

socklen_t udp_sockaddr_of(const struct udp_lane *udp, const struct lane_address *place,
                          union udp_sockaddr *address)
{
    const struct udp_place *at = (const struct udp_place *)(const void *)place;

    if (udp->family == AF_INET) {
        address->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = at->port};
        memcpy(&address->v4.sin_addr, at->ip + sizeof mapped_prefix, sizeof address->v4.sin_addr);
        return sizeof address->v4;
    }
    address->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = at->port};
    memcpy(&address->v6.sin6_addr, at->ip, sizeof address->v6.sin6_addr);
    return sizeof address->v6;
}

struct lane_address udp_place_of(const union udp_sockaddr *address)
{
    struct lane_address place = {0};
    struct udp_place *at = (struct udp_place *)(void *)&place;

    if (address->any.sa_family == AF_INET) {
        memcpy(at->ip, mapped_prefix, sizeof mapped_prefix);
        memcpy(at->ip + sizeof mapped_prefix, &address->v4.sin_addr, sizeof address->v4.sin_addr);
        at->port = address->v4.sin_port;
    } else if (address->any.sa_family == AF_INET6) {
        memcpy(at->ip, &address->v6.sin6_addr, sizeof at->ip);
        at->port = address->v6.sin6_port;
    }
    return place;
}

static bool is_mapped(const uint8_t *ip)
{
    return memcmp(ip, mapped_prefix, sizeof mapped_prefix) == 0;
}

/** Is it a loopback address, which is another host elsewhere? */
static bool is_loopback(const uint8_t *ip)
{
    struct in6_addr address;

    memcpy(&address, ip, sizeof address);
    return is_mapped(ip) ? ip[sizeof mapped_prefix] == 127 : IN6_IS_ADDR_LOOPBACK(&address);
}

static void udp_publish(const struct lane *lane, struct address_layout *address)
{
    const struct udp_lane *udp = (const struct udp_lane *)(const void *)lane;
    const struct udp_place *own = (const struct udp_place *)(const void *)&udp->own;
    struct address_rail *rail = &address->rail[lane->rail];

    memcpy(rail->ip, own->ip, sizeof rail->ip);
    rail->port = to_le16(ntohs(own->port));
}

/** Is this an address of this host? Only then can a socket be bound to it. */
static bool is_of_this_host(const struct udp_lane *udp, const struct lane_address *place)
{
    union udp_sockaddr address;
    struct lane_address any_port = *place;

    ((struct udp_place *)(void *)&any_port)->port = 0;
    socklen_t length = udp_sockaddr_of(udp, &any_port, &address);
    int probe = socket(udp->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool own = probe >= 0 && bind(probe, &address.any, length) == 0;
    if (probe >= 0) {
        close(probe);
    }
    return own;
}

/** Frames for another interface of this host must not leave through ours: they would come back as
 *  if another host used our address, and be dropped. */
static void note_neighbour(struct udp_lane *udp, const struct lane_address *place)
{
    const struct udp_place *at = (const struct udp_place *)(const void *)place;

    for (unsigned i = 0; i < udp->neighbour_count; i++) {
        if (memcmp(udp->neighbours[i], at->ip, sizeof at->ip) == 0) {
            return;
        }
    }
    if (memcmp(udp->own.bytes, at->ip, sizeof at->ip) != 0 &&
        udp->neighbour_count < UDP_NEIGHBOURS_MAX && is_of_this_host(udp, place)) {
        memcpy(udp->neighbours[udp->neighbour_count++], at->ip, sizeof at->ip);
    }
}

static int udp_reach(struct lane *lane, const struct address_layout *address,
                     struct lane_address *to)
{
    struct udp_lane *udp = udp_of(lane);

    if (lane->rail >= address->rails) {
        return -EHOSTUNREACH;
    }
    const struct address_rail *rail = &address->rail[lane->rail];
    uint16_t port = from_le16(rail->port);
    if (port == 0 || is_mapped(rail->ip) != (udp->family == AF_INET) ||
        is_loopback(rail->ip) != udp->loops) {
        return -EHOSTUNREACH;
    }
    struct udp_place *at = (struct udp_place *)(void *)to;
    *at = (struct udp_place){.port = htons(port)};
    memcpy(at->ip, rail->ip, sizeof at->ip);
    note_neighbour(udp, to);
    return 0;
}

/* ---- open and close ------------------------------------------------------------------------- */

static int udp_descriptor(const struct lane *lane)
{
    return ((const struct udp_lane *)(const void *)lane)->socket;
}

/* The caller has set up the socket (lanes_busy_poll()). */
static void udp_busy_poll(struct lane *lane, uint32_t time_us, int by)
{
    (void)by;
    udp_of(lane)->polls = time_us > 0;
}

static void udp_close(struct lane *lane)
{
    struct udp_lane *udp = udp_of(lane);

    if (udp->socket >= 0) {
        close(udp->socket);
    }
    udp_shortcuts_end(udp);
    ping_end(&udp->ping);
    for (unsigned i = 0; i < udp->witness_count; i++) {
        close(udp->witnesses[i]);
    }
    free(udp->room);
    free(udp);
}

static const struct lane_operations udp_operations = {
    .publish = udp_publish,
    .reach = udp_reach,
    .send = udp_send,
    .receive = udp_receive,
    .release = udp_release,
    .expect = udp_expect,
    .lost = udp_lost,
    .cut = udp_cut,
    .ask_host = udp_ask_host,
    .host_answer = udp_host_answer,
    .bear_witness = udp_bear_witness,
    .call_witness = udp_call_witness,
    .witness = udp_witness,
    .dismiss_witness = udp_dismiss_witness,
    .status = udp_status,
    .busy_poll = udp_busy_poll,
    .descriptor = udp_descriptor,
    .close = udp_close,
};

/** Is it an address that others can use? Link-local ones are valid on one link only. */
static bool is_usable(const struct sockaddr *address)
{
    union udp_sockaddr copy;

    if (address == NULL) {
        return false;
    }
    if (address->sa_family == AF_INET) {
        return true;
    }
    if (address->sa_family != AF_INET6) {
        return false;
    }
    memcpy(&copy, address, sizeof copy.v6);
    return !IN6_IS_ADDR_LINKLOCAL(&copy.v6.sin6_addr) && !IN6_IS_ADDR_MULTICAST(&copy.v6.sin6_addr);
}

/** Finds the address of the interface, for the socket. */
static int find_address(struct udp_lane *udp, uint16_t port, union udp_sockaddr *own)
{
    struct interfaces interfaces;
    int status = interfaces_open(&interfaces);

    if (status != 0) {
        return status;
    }
    status = -EADDRNOTAVAIL;
    for (const struct ifaddrs *at = interfaces.all; at != NULL; at = at->ifa_next) {
        if (strcmp(at->ifa_name, udp->interface) != 0 || !is_usable(at->ifa_addr)) {
            continue;
        }
        if (at->ifa_addr->sa_family == AF_INET) {
            memcpy(&own->v4, at->ifa_addr, sizeof own->v4);
            own->v4.sin_port = htons(port);
            status = 0;
            break;
        }
        if (status != 0) {
            memcpy(&own->v6, at->ifa_addr, sizeof own->v6);
            own->v6.sin6_port = htons(port);
            own->v6.sin6_flowinfo = 0;
            status = 0;
        }
    }
    interfaces_close(&interfaces);
    return status;
}

static int read_interface(struct udp_lane *udp)
{
    struct socket_interface interface;
    int status = socket_read_interface(udp->socket, udp->interface, &interface);

    if (status != 0) {
        return status;
    }
    int headers_bytes =
        UDP_HEADER_BYTES + (udp->family == AF_INET ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);
    int frame_bytes = interface.mtu - headers_bytes;
    if (frame_bytes <= (int)FRAME_BYTES_MIN) {
        return -EINVAL;
    }
    udp->lane.frame_bytes = (uint32_t)frame_bytes < UDP_DATAGRAM_BYTES_MAX ? (uint32_t)frame_bytes
                                                                           : UDP_DATAGRAM_BYTES_MAX;
    udp->lane.mtu = udp->lane.frame_bytes + (uint32_t)headers_bytes;
    udp->lane.batch_frames = UDP_DATAGRAM_BYTES_MAX / udp->lane.frame_bytes;
    if (udp->lane.batch_frames > TRAIN_FRAMES_MAX) {
        udp->lane.batch_frames = TRAIN_FRAMES_MAX;
    }
    return 0;
}

static int pin(const struct udp_lane *udp, int socket, bool pinned)
{
    bool v4 = udp->family == AF_INET;
    int through = pinned ? (int)htonl(udp->index) : 0;

    return socket_set(socket, v4 ? SOL_IP : SOL_IPV6, v4 ? IP_UNICAST_IF : IPV6_UNICAST_IF,
                      through);
}

int udp_pin(struct udp_lane *udp, bool pinned)
{
    udp->pinned = pinned;
    return pin(udp, udp->socket, pinned);
}

static int hear_errors(const struct udp_lane *udp, int socket)
{
    bool v4 = udp->family == AF_INET;

    return socket_set(socket, v4 ? SOL_IP : SOL_IPV6, v4 ? IP_RECVERR : IPV6_RECVERR, 1);
}

/** The longest datagram. This socket ignores ICMP about the path to a host, which anybody can
 *  forge; CONNECT finds out what arrives. Once datagrams must be fragmented, routers do it, or,
 *  where they do not (IPv6), our kernel, to the length in the ICMP message, but at least 1,280
 *  bytes. */
static int limit_length(const struct udp_lane *udp, int socket)
{
    if (udp->family == AF_INET) {
        return socket_set(socket, SOL_IP, IP_MTU_DISCOVER,
                          udp->cuts_datagrams ? IP_PMTUDISC_OMIT : IP_PMTUDISC_PROBE);
    }
    return socket_set(socket, SOL_IPV6, IPV6_MTU_DISCOVER,
                      udp->cuts_datagrams ? IPV6_PMTUDISC_WANT : IPV6_PMTUDISC_PROBE);
}

void udp_cut(struct lane *lane, bool known)
{
    struct udp_lane *udp = udp_of(lane);

    /* For IPv6, ICMP quotes enough to be believed. Otherwise only forgers could cause
     * fragmentation. */
    if (!udp->cuts_datagrams && (known || udp->family == AF_INET)) {
        udp->cuts_datagrams = true;
        (void)limit_length(udp, udp->socket);
        udp_shortcuts_end(udp);
    }
}

int udp_tune_sending(const struct udp_lane *udp, int socket)
{
    /* Sends through this interface, even if another is on the same network; receives from any, so
     * that endpoints of one host reach each other (SO_BINDTODEVICE would prevent that). */
    int status = pin(udp, socket, true);
    if (status == 0) {
        status = hear_errors(udp, socket);
    }
    if (status == 0) {
        (void)limit_length(udp, socket);
        (void)socket_set_buffer(socket, SO_SNDBUF, LANE_BULK_BUFFER_BYTES);
    }
    return status;
}

/** A kernel without it would send a train as one datagram without an error. */
static bool can_segment(const struct udp_lane *udp)
{
    int bytes = 0;
    socklen_t length = sizeof bytes;

    return getsockopt(udp->socket, SOL_UDP, UDP_SEGMENT, &bytes, &length) == 0;
}

/** Sets options; the lane works without those that the kernel lacks. */
static void tune_socket(struct udp_lane *udp)
{
    struct lane *lane = &udp->lane;

    if (udp_pin(udp, true) != 0) {
        lane_lacks(lane, "UNICAST_IF", "routes decide by which interface frames leave");
    }
    udp->pinned = true;
    udp->deaf = hear_errors(udp, udp->socket) != 0;
    if (udp->deaf) {
        lane_lacks(lane, "RECVERR", "the end of a peer is noticed only by its silence");
    }
    if (limit_length(udp, udp->socket) != 0) {
        lane_lacks(lane, "MTU_DISCOVER", "anybody can make the kernel fragment datagrams, by ICMP");
    }
    if (socket_set(udp->socket, SOL_UDP, UDP_GRO, 1) != 0) {
        lane_lacks(lane, "UDP_GRO", "each received frame takes a system call");
    }
    udp->never_segments = !can_segment(udp);
    if (udp->never_segments) {
        lane->takes_trains = false;
        lane->bulk = LANE_BULK_FRAMES;
        lane_lacks(lane, "UDP_SEGMENT", "each frame passes through the kernel separately");
    }
    if (!socket_sends_many(udp->socket)) {
        lane_lacks(lane, "sendmmsg", "each train of frames takes a system call");
    }
    (void)socket_set_buffer(udp->socket, SO_SNDBUF, LANE_BULK_BUFFER_BYTES);
    lane->capacity_bytes =
        socket_set_buffer(udp->socket, SO_RCVBUF, LANE_BULK_BUFFER_BYTES) / LANE_BULK_BUFFER_SHARE;
}

/** Binds it to a port that is also free for TCP, which its witness needs and another user could
 *  take. Without that only if the port is requested by number, or none is free for both. @param own
 *  gets the port if it is 0 */
static int bind_to(struct udp_lane *udp, union udp_sockaddr *own)
{
    socklen_t length = udp->family == AF_INET ? sizeof own->v4 : sizeof own->v6;

    for (unsigned i = 0; i < UDP_PORT_ATTEMPTS; i++) {
        union udp_sockaddr both = *own;
        int reserved = witness_reserve(&both.any, length);
        if (reserved < 0) {
            break;
        }
        if (getsockname(reserved, &both.any, &length) == 0 &&
            bind(udp->socket, &both.any, length) == 0) {
            udp->witnesses[udp->witness_count++] = reserved;
            *own = both;
            return 0;
        }
        close(reserved);
    }
    if (bind(udp->socket, &own->any, length) != 0 ||
        getsockname(udp->socket, &own->any, &length) != 0) {
        return -errno;
    }
    return 0;
}

static int set_up(struct udp_lane *udp, const struct udp_lane_options *options)
{
    union udp_sockaddr own = {0};

    if (strlen(options->interface) >= sizeof udp->interface) {
        return -ENODEV;
    }
    strcpy(udp->interface, options->interface); /* NOLINT: the length was checked */
    int status = socket_find_interface(udp->interface, &udp->index);
    if (status != 0) {
        return status;
    }
    status = find_address(udp, options->port, &own);
    if (status != 0) {
        return status;
    }
    udp->family = own.any.sa_family;
    udp->socket = socket(udp->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (udp->socket < 0) {
        return -errno;
    }
    status = read_interface(udp);
    if (status == 0) {
        tune_socket(udp);
        status = udp_receive_open(udp);
    }
    if (status != 0) {
        return status;
    }
    status = bind_to(udp, &own);
    if (status != 0) {
        return status;
    }
    udp->own = udp_place_of(&own);
    udp->loops = is_loopback(udp->own.bytes);
    return 0;
}

int udp_lane_open(const struct udp_lane_options *options, struct lane **lane)
{
    struct udp_lane *udp = calloc(1, sizeof *udp);

    if (udp == NULL) {
        return -ENOMEM;
    }
    udp->lane.operations = &udp_operations;
    udp->lane.kind = LANE_UDP;
    udp->lane.bulk = LANE_BULK_TRAINS;
    udp->lane.rail = options->rail;
    udp->lane.polling_is_costly = true;
    udp->lane.learns_queue = true;
    udp->lane.takes_trains = true;
    udp->socket = -1;
    udp_shortcuts_begin(udp);

    int status = set_up(udp, options);
    if (status != 0) {
        udp_close(&udp->lane);
        return status;
    }
    *lane = &udp->lane;
    return 0;
}

static int udp_open_for(struct lane_opening *opening, struct lane **lane)
{
    const struct udp_lane_options options = {
        .interface = opening->interface,
        .rail = opening->rail,
    };
    return udp_lane_open(&options, lane);
}

static bool udp_explain(int status, const struct lane_opening *opening, char *text, size_t bytes)
{
    (void)opening;
    if (status == -EADDRNOTAVAIL) {
        return false;
    }
    (void)snprintf(text, bytes, "no UDP sockets for this process: %s", strerror(-status));
    return true;
}

const struct lane_type udp_lane_type = {.open = udp_open_for, .explain = udp_explain};
