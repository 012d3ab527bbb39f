/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp_program.h - the program that an interface runs for each frame that arrives, before the
 * kernel's network stack sees it, and that hands some of them to an AF_XDP socket.
 *
 * It is ten comparisons long and knows one endpoint: what is not a Beowire frame for that endpoint
 * at this MAC, short enough for the socket's memory, and from the socket's queue, goes the way that
 * it always goes (XDP_PASS): TCP/IP, and the other endpoints of the interface, never notice.
 *
 * Nothing is pinned, and no setting is changed: program, map and link are descriptors of this
 * process, and the link is what holds the program to the interface. However the process ends, the
 * kernel closes them, and the interface has no program any more.
 *
 * Raw bpf(2): with libbpf and libxdp the transport would need two libraries, and what libxdp is
 * for, several programs on one hook in turn, keeps a dispatcher on the interface that is pinned in
 * a file system, so it stays when a process is killed.
 *
 * Takes CAP_BPF and CAP_NET_ADMIN, both of the host and not of a user namespace, and Linux 5.9.
 */
#ifndef BEOWIRE_LANE_XDP_PROGRAM_H
#define BEOWIRE_LANE_XDP_PROGRAM_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stdint.h>

/** The kernel's limit for names of programs, with the end. */
#define XDP_NAME_BYTES 16

struct xdp_program {
    int map; /**< where the program finds the socket, or -1 */
    int code;
    int link; /**< holds the program to the interface */
};

/** Where in a frame, with Ethernet's header, the endpoint is that it is for: two bytes, the low one
 *  first. Frames that are not Beowire's, but have such a field there, can be redirected, too. */
#define XDP_ENDPOINT_AT 18

/** Which frames are redirected. */
struct xdp_filter {
    uint8_t mac[ETH_ALEN]; /**< where they are sent to */
    uint16_t ethertype;
    uint16_t endpoint;
    uint32_t bytes_max; /**< of a whole frame, with Ethernet's header */
};

/** Loads the program. @return 0; -EPERM; -EINVAL or another negative errno: this kernel cannot.
 *  Nothing is open then. */
int xdp_program_load(struct xdp_program *program, const struct xdp_filter *filter);

/** Has the interface run it, and hand frames of its queue 0 to `socket`, bound to that queue.
 *  @param of_driver in the hook of the interface's driver; else in the kernel's generic one, which
 *  every interface has.
 *  @return 0; -EOPNOTSUPP, -ERANGE or -EINVAL: the driver has no such hook, or not at this MTU or
 *  with so few queues; -EBUSY, -EEXIST: the interface runs another program. */
int xdp_program_attach(struct xdp_program *program, int interface, int socket, bool of_driver);

/** Takes it off the interface. */
void xdp_program_close(struct xdp_program *program);

/** Has the interface a program, whoever's? Anybody may ask. */
bool xdp_program_is_on(int interface);

/** Which process runs a program of ours on the interface, and else, what is the program called?
 *  @return the process, as its own PID namespace numbers it; 0: `name` gets the program's, "" if
 *  it has none or there is no program. */
uint32_t xdp_program_holder(int interface, char name[XDP_NAME_BYTES]);

#endif /* BEOWIRE_LANE_XDP_PROGRAM_H */
