/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the socket: peers that have ended, an interface that is down, dropped frames. */
#include "lane/socket.h"
#include "lane/witness.h"
#include "tuning.h"
#include "udp_internal.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/sock_diag.h>
#include <sys/ioctl.h>

/** Is this a report that the port is unused, or that the datagram is too long for the path? @param
 *  offender gets the reporter @return that errno, or 0 */
static int said_by_icmp(struct msghdr *message, struct lane_address *offender)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if ((header->cmsg_level == SOL_IP && header->cmsg_type == IP_RECVERR) ||
            (header->cmsg_level == SOL_IPV6 && header->cmsg_type == IPV6_RECVERR)) {
            struct {
                struct sock_extended_err error;
                union udp_sockaddr offender;
            } said = {0};
            size_t bytes = header->cmsg_len - CMSG_LEN(0);
            memcpy(&said, CMSG_DATA(header), bytes < sizeof said ? bytes : sizeof said);
            const struct sock_extended_err error = said.error;
            *offender = udp_place_of(&said.offender);
            bool counts = error.ee_errno == ECONNREFUSED || error.ee_errno == EMSGSIZE;
            bool by_icmp =
                error.ee_origin == SO_EE_ORIGIN_ICMP || error.ee_origin == SO_EE_ORIGIN_ICMP6;
            return counts && by_icmp ? (int)error.ee_errno : 0;
        }
    }
    return 0;
}

static bool is_same(const struct lane_loss *a, const struct lane_loss *b)
{
    return memcmp(&a->address, &b->address, sizeof a->address) == 0 && a->too_long == b->too_long &&
           a->quote_bytes == b->quote_bytes && memcmp(a->quote, b->quote, sizeof a->quote) == 0;
}

static void note_lost(struct udp_lane *udp, const struct lane_loss *loss)
{
    for (unsigned i = 0; i < udp->lost_count; i++) {
        if (is_same(&udp->lost[i], loss)) {
            return;
        }
    }
    if (udp->lost_count < UDP_LOST_MAX) {
        udp->lost[udp->lost_count++] = *loss;
    }
}

void udp_read_errors(struct udp_lane *udp)
{
    /* The kernel bounds this queue, and it fills no faster than we send. */
    for (;;) {
        _Alignas(struct cmsghdr) uint8_t control[256];
        union udp_sockaddr address = {0};
        struct lane_loss loss = {0};
        struct lane_address offender;
        struct iovec quote = {loss.quote, sizeof loss.quote};
        struct msghdr message = {
            .msg_name = &address, /* the datagram's destination */
            .msg_namelen = sizeof address,
            .msg_iov = &quote, /* ICMP's quote; of a train, its beginning */
            .msg_iovlen = 1,
            .msg_control = control,
            .msg_controllen = sizeof control,
        };
        ssize_t bytes = recvmsg(udp->socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
        if (bytes < 0) {
            return;
        }
        int said = said_by_icmp(&message, &offender);
        if (said != 0) {
            loss.address = udp_place_of(&address);
            loss.quote_bytes = (uint8_t)bytes;
            loss.too_long = said == EMSGSIZE;
            bool by_itself =
                memcmp(loss.address.bytes, offender.bytes, sizeof((struct udp_place *)0)->ip) == 0;
            if (!ping_is_refused(&udp->ping, loss.quote, loss.quote_bytes, &address.any,
                                 by_itself)) {
                note_lost(udp, &loss);
            }
        }
    }
}

bool udp_lost(struct lane *lane, struct lane_loss *loss)
{
    struct udp_lane *udp = udp_of(lane);

    if (udp->lost_count == 0) {
        return false;
    }
    *loss = udp->lost[--udp->lost_count];
    return true;
}

enum lane_host udp_ask_host(struct lane *lane, const struct lane_address *to, uint32_t mark,
                            bool vouch)
{
    struct udp_lane *udp = udp_of(lane);
    const struct udp_place *place = (const struct udp_place *)(const void *)to;
    struct lane_address any_port = *to;
    struct lane_address own_host = udp->own;
    union udp_sockaddr address;

    if (udp->deaf) {
        return LANE_HOST_ASKED; /* nor would it report that the process has ended */
    }
    ((struct udp_place *)(void *)&own_host)->port = 0;
    socklen_t length = udp_sockaddr_of(udp, &own_host, &address);
    ping_begin(&udp->ping, &address.any, length);
    ((struct udp_place *)(void *)&any_port)->port = 0;
    length = udp_sockaddr_of(udp, &any_port, &address);
    bool echoes = ping_echo(&udp->ping, &address.any, length, mark);
    if ((vouch || !echoes) && place->port != htons(PING_DISCARD_PORT)) {
        ping_discard(&udp->ping, udp->socket, &address.any, length, mark);
    }
    return LANE_HOST_ASKED;
}

enum lane_host udp_host_answer(struct lane *lane, uint32_t *mark)
{
    return ping_answer(&udp_of(lane)->ping, mark);
}

int udp_bear_witness(struct lane *lane, const uint8_t key[LANE_WITNESS_KEY_BYTES])
{
    struct udp_lane *udp = udp_of(lane);
    union udp_sockaddr own;
    socklen_t length = udp_sockaddr_of(udp, &udp->own, &own);
    unsigned room = 0;
    unsigned listening = 0;
    int status = 0;

    while (room < UDP_WITNESS_ROOM && listening < UDP_WITNESSES_MAX) {
        if (listening == udp->witness_count) { /* udp_lane_open() has reserved the first */
            status = witness_reserve(&own.any, length);
            if (status < 0) {
                break;
            }
            udp->witnesses[udp->witness_count++] = status;
        }
        status = witness_listen(udp->witnesses[listening], udp->family, key);
        if (status != 0) {
            break;
        }
        room += witness_room(udp->witnesses[listening++]);
    }
    return listening > 0 ? 0 : status;
}

int udp_call_witness(struct lane *lane, const struct lane_address *to,
                     const uint8_t key[LANE_WITNESS_KEY_BYTES], int called[LANE_WITNESS_CALLS])
{
    const struct udp_lane *udp = udp_of(lane);
    struct lane_address any_port = udp->own;
    union udp_sockaddr own;
    union udp_sockaddr peer;

    ((struct udp_place *)(void *)&any_port)->port = 0;
    (void)udp_sockaddr_of(udp, &any_port, &own);
    socklen_t length = udp_sockaddr_of(udp, to, &peer);
    return witness_call(&own.any, &peer.any, length, key, called);
}

enum lane_witness udp_witness(struct lane *lane, int called[LANE_WITNESS_CALLS])
{
    (void)lane;
    return witness_state(called);
}

void udp_dismiss_witness(struct lane *lane, const int called[LANE_WITNESS_CALLS])
{
    (void)lane;
    witness_dismiss(called);
}

int udp_status(struct lane *lane)
{
    struct udp_lane *udp = udp_of(lane);
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    socklen_t length = sizeof memory;

    udp->status_calls++;
    for (unsigned i = 0;
         i < udp->witness_count && udp->status_calls % STATUS_CALLS_PER_CLEARING == 0; i++) {
        witness_clear(udp->witnesses[i]); /* a system call more expensive than the others here */
    }
    /* A train that did not fit counts as one. */
    if (getsockopt(udp->socket, SOL_SOCKET, SO_MEMINFO, memory, &length) == 0) {
        lane->dropped_frames += memory[SK_MEMINFO_DROPS] - udp->kernel_drops;
        udp->kernel_drops = memory[SK_MEMINFO_DROPS];
    }
    return socket_interface_works(udp->socket, (int)udp->index) ? 0 : -ENETDOWN;
}
