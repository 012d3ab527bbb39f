/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * socket.h - what the lanes over network interfaces do alike with their sockets.
 *
 * Not thread-safe for one socket; nothing is kept between calls.
 */
#ifndef BEOWIRE_LANE_SOCKET_H
#define BEOWIRE_LANE_SOCKET_H

#include <linux/filter.h>
#include <net/ethernet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A network interface, as it was when it was asked. */
struct socket_interface {
    int index;
    int mtu;           /**< bytes, without Ethernet's header; more than FRAME_BYTES_MIN */
    uint16_t hardware; /**< ARPHRD_ETHER, ... (netdevice(7)) */
    bool loops;        /**< it is loopback: what is sent comes back */
    uint8_t mac[ETH_ALEN];
};

/** A socket that is good for nothing but asking about interfaces, by ioctl(2).
 *  @return it, or a negative errno. */
int socket_control(void);

/** Asks the kernel by any socket of its network namespace.
 *  @return 0; -ENODEV: there is none of that name; -ENETDOWN; -EINVAL: too small an MTU for our
 *  frames; another negative errno. */
int socket_read_interface(int socket, const char *name, struct socket_interface *interface);

/** The number of an interface.
 *  @return 0; -ENODEV: there is none of that name; -EMFILE, -ENFILE or another negative errno: it
 *  cannot be asked for. */
int socket_find_interface(const char *name, unsigned *index);

/** Is the interface with that index up, and has it a carrier? Not if it is gone, even if another
 * has got its name. Any socket of its network namespace will do. */
bool socket_interface_works(int socket, int index);

/** The MTU that the interface with that index has now. @return a negative errno: it is gone. */
int socket_interface_mtu(int socket, int index);

/** @return 0 or a negative errno. */
int socket_set(int socket, int level, int option, int value);

/** Asks for memory, beyond the system's limit if the process may.
 *  @param option SO_SNDBUF or SO_RCVBUF.
 *  @return the bytes that it got, as the kernel counts them (socket(7): twice what was asked, if
 *  that was allowed). */
uint64_t socket_set_buffer(int socket, int option, int bytes);

/** Lets in what a program of `count` instructions lets in, for good (from Linux 3.9 on): the
 *  socket's owner cannot change it either. @return 0 or a negative errno. */
int socket_filter(int socket, struct sock_filter *code, size_t count);

struct mmsghdr;

/** Sends messages, in one system call where sendmmsg(2) is allowed. Never waits.
 *  @return how many were taken, at least 1; a negative errno: none was. */
int socket_send_all(int socket, struct mmsghdr *messages, unsigned count);

/** Is sendmmsg(2) allowed? */
bool socket_sends_many(int socket);

/** Takes the error that the kernel keeps for the socket, which it says once.
 *  @return 0 or a positive errno. */
int socket_take_error(int socket);

/** Takes the count of frames that came and found no room on a packet(7) socket since this was last
 *  called. */
uint32_t socket_take_drops(int socket);

#endif /* BEOWIRE_LANE_SOCKET_H */
