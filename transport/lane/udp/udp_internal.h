/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udp_internal.h - shared by the files of the UDP lane. For lane/udp*.c only.
 */
#ifndef BEOWIRE_LANE_UDP_INTERNAL_H
#define BEOWIRE_LANE_UDP_INTERNAL_H

#include "lane/lane.h"
#include "lane/ping.h"
#include "lane/train.h"

#include <assert.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/** Longest datagram over IPv4, and short enough for IPv6. */
#define UDP_DATAGRAM_BYTES_MAX 65507u

/** Refusals kept until lost() is called; further ones are dropped. */
#define UDP_LOST_MAX 16

/** Other interfaces of this host whose endpoints communicate with us. */
#define UDP_NEIGHBOURS_MAX 8

/** How many peers at one address can wait for a stopped process, answered by its kernel. If a
 *  socket has a shorter queue (net.core.somaxconn: 4,096; 128 before Linux 5.4), more sockets
 *  listen, up to the second number. */
#define UDP_WITNESS_ROOM 1024
#define UDP_WITNESSES_MAX 8

/** How many ports that are free for TCP are tried until one is also free for UDP. */
#define UDP_PORT_ATTEMPTS 32

/** A socket's pending error belongs to some earlier datagram: the call that reports it has done
 *  nothing, and is repeated, at most this often. */
#define UDP_ERROR_ATTEMPTS 8

/** Peers whose sends are counted, and that may have a shortcut (udp_shortcut.c). */
#define UDP_SHORTCUTS 8

/** A peer gets a shortcut after this many sends: opening takes 20 us, and each send saves 0.3
 *  us. */
#define UDP_SHORTCUT_SENDS 256

/** After a shortcut could not be opened, or was useless, this many sends do without. */
#define UDP_SHORTCUT_AGAIN_SENDS 65536

/** A connected socket to one peer, quicker than the lane's socket. */
struct udp_shortcut {
    struct lane_address to;
    uint64_t used; /* when, by shortcut_clock */
    uint32_t wait; /* sends until one is opened */
    int socket;    /* connected, for sending only; -1: none */
};

struct udp_lane {
    struct lane lane; /* first: the layers above know only this */
    int socket;
    sa_family_t family;
    char interface[IF_NAMESIZE];
    struct lane_address own;
    bool loops;          /* the address is of this host only */
    unsigned index;      /* of the interface */
    bool never_segments; /* the kernel cannot segment */
    bool deaf;           /* it does not report ICMP messages */
    bool pinned;         /* frames leave through this interface, not by the routing table */
    bool cuts_datagrams; /* too long datagrams are fragmented (udp_cut()) */
    uint8_t neighbours[UDP_NEIGHBOURS_MAX][16]; /* addresses of this host's other interfaces */
    unsigned neighbour_count;
    struct udp_shortcut shortcuts[UDP_SHORTCUTS];
    uint64_t shortcut_clock;    /* sends to peers that may have one */
    uint32_t unsegmented_calls; /* remaining sends that do not try the offload */
    uint32_t kernel_drops;      /* as last read */
    uint8_t *room;              /* ROOM_TRAINS * TRAIN_ROOM_BYTES */
    size_t room_used;           /* by frames returned, or to be returned */
    struct train_run runs[2];   /* received and not yet returned; in order */
    struct lane_address runs_from;
    struct lane_expectation expectation;
    unsigned train_frames; /* of the last received train */
    bool streaming;        /* the previous receive() found something */
    bool polls;            /* the socket polls the card's queue when it has nothing */
    uint32_t looks;        /* polls of the socket while that is so */
    struct lane_loss lost[UDP_LOST_MAX];
    unsigned lost_count;
    struct ping ping;
    int witnesses[UDP_WITNESSES_MAX]; /* TCP sockets at the same port, which answer for us */
    unsigned witness_count;
    uint32_t status_calls;
};

/** The contents of a lane_address of this lane. */
struct udp_place {
    uint8_t ip[16];  /* IPv6, or IPv4-mapped (RFC 4291, 2.5.5.2) */
    in_port_t port;  /* network order */
    uint8_t none[6]; /* 0 */
};
static_assert(sizeof(struct udp_place) == sizeof(struct lane_address), "lane.h");

union udp_sockaddr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static inline struct udp_lane *udp_of(struct lane *lane)
{
    return (struct udp_lane *)(void *)lane;
}

/** @return the length of the address. */
socklen_t udp_sockaddr_of(const struct udp_lane *udp, const struct lane_address *place,
                          union udp_sockaddr *address);

/** An address of another family gives zeros, which are no address. */
struct lane_address udp_place_of(const union udp_sockaddr *address);

/** Reads ICMP errors from the socket; keeps refusals for lost(). */
void udp_read_errors(struct udp_lane *udp);

/** Pins the socket to its interface, or lets routes decide. @return 0 or a negative errno. */
int udp_pin(struct udp_lane *udp, bool pinned);

/** From now on the kernel, or a router, fragments datagrams too long for the interface or the
 *  path. */
void udp_cut(struct lane *lane, bool known);

/** Sets options of a sending socket: our interface, errors, buffer. @return 0 or a negative
 *  errno. */
int udp_tune_sending(const struct udp_lane *udp, int socket);

/** Counts a send to a peer that is not on this host's other interfaces. @return a socket connected
 *  to it that sends from the lane's address; -1: none. */
int udp_shortcut(struct udp_lane *udp, const struct lane_address *to);

/** Closes the shortcut to a peer. */
void udp_shortcut_give_up(struct udp_lane *udp, const struct lane_address *to);

void udp_shortcuts_begin(struct udp_lane *udp);
void udp_shortcuts_end(struct udp_lane *udp);

unsigned udp_send(struct lane *lane, const struct lane_address *to,
                  const struct lane_outgoing *frames, unsigned count);
unsigned udp_receive(struct lane *lane, struct lane_incoming *frames, unsigned count);
void udp_release(struct lane *lane);
void udp_expect(struct lane *lane, const struct lane_expectation *expectation);
bool udp_lost(struct lane *lane, struct lane_loss *loss);
enum lane_host udp_ask_host(struct lane *lane, const struct lane_address *to, uint32_t mark,
                            bool vouch);
enum lane_host udp_host_answer(struct lane *lane, uint32_t *mark);
int udp_bear_witness(struct lane *lane, const uint8_t key[LANE_WITNESS_KEY_BYTES]);
int udp_call_witness(struct lane *lane, const struct lane_address *to,
                     const uint8_t key[LANE_WITNESS_KEY_BYTES], int called[LANE_WITNESS_CALLS]);
enum lane_witness udp_witness(struct lane *lane, int called[LANE_WITNESS_CALLS]);
void udp_dismiss_witness(struct lane *lane, const int called[LANE_WITNESS_CALLS]);
int udp_status(struct lane *lane);

/** Allocates the memory of udp_receive(). @return 0, or -ENOMEM. */
int udp_receive_open(struct udp_lane *udp);

#endif /* BEOWIRE_LANE_UDP_INTERNAL_H */
