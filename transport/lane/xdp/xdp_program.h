/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp_program.h - the program that an interface runs for each received frame, before the kernel's
 * network stack. It redirects some frames to an AF_XDP socket.
 *
 * It makes ten comparisons and knows one endpoint. It passes on (XDP_PASS) all but Beowire frames
 * for that endpoint at this MAC that are short enough for the socket's memory and from the socket's
 * queue. So TCP/IP and the other endpoints of the interface are not affected.
 *
 * Nothing is pinned, and no setting is changed: program, map and link are descriptors of this
 * process, and the link holds the program to the interface. However the process ends, the kernel
 * closes them, and removes the program.
 *
 * It uses bpf(2) directly. libbpf and libxdp would be two more libraries. libxdp's purpose, several
 * programs on one hook, needs a dispatcher that is pinned in a file system, and remains when a
 * process is killed.
 *
 * Needs CAP_BPF and CAP_NET_ADMIN, both of the host and not of a user namespace, and Linux 5.9.
 */
#ifndef BEOWIRE_LANE_XDP_PROGRAM_H
#define BEOWIRE_LANE_XDP_PROGRAM_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stdint.h>

/** The kernel's limit for names of programs, with the zero byte. */
#define XDP_NAME_BYTES 16

struct xdp_program {
    int map; /**< contains the socket, or -1 */
    int code;
    int link; /**< holds the program to the interface */
};

/** The place in a frame, with Ethernet's header, of the number of the endpoint that it is for: two
 *  bytes, the low one first. Other protocols' frames with such a field can be redirected, too. */
#define XDP_ENDPOINT_AT 18

/** Which frames are redirected. */
struct xdp_filter {
    uint8_t mac[ETH_ALEN]; /**< their destination */
    uint16_t ethertype;
    uint16_t endpoint;
    uint32_t bytes_max; /**< of a whole frame, with Ethernet's header */
};

/** Loads the program. @return 0; -EPERM; -EINVAL or another negative errno: not possible with this
 *  kernel. Then nothing is open. */
int xdp_program_load(struct xdp_program *program, const struct xdp_filter *filter);

/** Attaches it to the interface, to redirect frames of queue 0 to `socket`, which is bound to that
 *  queue. @param of_driver in the hook of the interface's driver; otherwise in the kernel's generic
 *  one, which every interface has. @return 0; -EOPNOTSUPP, -ERANGE or -EINVAL: the driver has no
 *  such hook, or not at this MTU or with so few queues; -EBUSY, -EEXIST: the interface runs another
 *  program. */
int xdp_program_attach(struct xdp_program *program, int interface, int socket, bool of_driver);

/** Detaches it from the interface. */
void xdp_program_close(struct xdp_program *program);

/** Does the interface run any program? Needs no privilege. */
bool xdp_program_is_on(int interface);

/** The process that runs a program of ours on the interface; otherwise the name of the program.
 *  @return the process, as numbered in its PID namespace; 0: `name` gets the program's name, "" if
 *  it has none or there is no program. */
uint32_t xdp_program_holder(int interface, char name[XDP_NAME_BYTES]);

#endif /* BEOWIRE_LANE_XDP_PROGRAM_H */
