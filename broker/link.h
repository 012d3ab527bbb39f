/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.h - what the broker asks of the kernel about network interfaces (rtnetlink(7)).
 *
 * `kernel` is a socket from link_open(), for the network namespace in which it was opened. All
 * return 0 or a negative errno.
 */
#ifndef BEOWIRE_BROKER_LINK_H
#define BEOWIRE_BROKER_LINK_H

#include <net/ethernet.h>
#include <stdint.h>
#include <sys/types.h>

/** @return the socket or a negative errno. */
int link_open(void);

/** Makes a macvlan of that interface, which is down, in the network namespace of a process. Other
 *  macvlans of the interface are out of its reach (private mode), and it gets no broadcasts. */
int link_make(int kernel, int interface, const char *name, pid_t in);

/** Sets an interface's address, and brings it up. @return -EADDRINUSE: another macvlan has it. */
int link_up(int kernel, int interface, const uint8_t address[ETH_ALEN]);

/** Attaches a program to the egress of an interface, before other such programs. */
int link_filter_egress(int kernel, int interface, int program);

#endif /* BEOWIRE_BROKER_LINK_H */
