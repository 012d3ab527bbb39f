/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * socket.h - shared by the lanes over network interfaces: operations on sockets.
 *
 * Not thread-safe for one socket; no state is kept between calls.
 */
#ifndef BEOWIRE_LANE_SOCKET_H
#define BEOWIRE_LANE_SOCKET_H

#include <linux/filter.h>
#include <net/ethernet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A network interface at the time of reading. */
struct socket_interface {
    int index;
    int mtu;           /**< bytes, without Ethernet's header; more than FRAME_BYTES_MIN */
    uint16_t hardware; /**< ARPHRD_ETHER, ... (netdevice(7)) */
    bool loops;        /**< loopback: sent frames come back */
    uint8_t mac[ETH_ALEN];
};

/** A socket only for reading interfaces by ioctl(2). @return it, or a negative errno. */
int socket_control(void);

/** Reads an interface through any socket of its network namespace. @return 0; -ENODEV: no such
 *  name; -ENETDOWN; -EINVAL: its MTU is too small for our frames; another negative errno. */
int socket_read_interface(int socket, const char *name, struct socket_interface *interface);

/** The index of an interface. @return 0; -ENODEV: no such name; -EMFILE, -ENFILE or another
 *  negative errno: cannot ask. */
int socket_find_interface(const char *name, unsigned *index);

/** Is the interface with this index up, with a carrier? False if it is gone, even if another has
 *  its name now. `socket` may be any socket of its network namespace. */
bool socket_interface_works(int socket, int index);

/** The present MTU of the interface with this index. @return a negative errno: it is gone. */
int socket_interface_mtu(int socket, int index);

/** @return 0 or a negative errno. */
int socket_set(int socket, int level, int option, int value);

/** Requests buffer memory, beyond the system's limit if permitted. @param option SO_SNDBUF or
 *  SO_RCVBUF. @return the bytes granted, as the kernel counts them (socket(7): twice the requested
 *  number if that is permitted). */
uint64_t socket_set_buffer(int socket, int option, int bytes);

/** Attaches a filter of `count` instructions and locks it (since Linux 3.9), so that not even the
 *  owner can change it. @return 0 or a negative errno. */
int socket_filter(int socket, struct sock_filter *code, size_t count);

struct mmsghdr;

/** Sends messages, by one system call if sendmmsg(2) is permitted. Never waits. @return the number
 *  sent, at least 1; a negative errno: none was sent. */
int socket_send_all(int socket, struct mmsghdr *messages, unsigned count);

/** Is sendmmsg(2) permitted? */
bool socket_sends_many(int socket);

/** Takes the socket's pending error, which the kernel reports once. @return 0 or a positive
 *  errno. */
int socket_take_error(int socket);

/** Takes the number of frames that were dropped for lack of room on a packet(7) socket since the
 *  last call. */
uint32_t socket_take_drops(int socket);

#endif /* BEOWIRE_LANE_SOCKET_H */
