/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interfaces.h - lists the network interfaces of this network namespace and their addresses, like
 * getifaddrs(3).
 *
 * getifaddrs() needs netlink, which some services are denied (systemd's RestrictAddressFamilies=).
 * Then the list is built from /proc/net and netdevice(7), with only the first IPv4 address of each
 * interface.
 */
#ifndef BEOWIRE_LANE_INTERFACES_H
#define BEOWIRE_LANE_INTERFACES_H

#include <ifaddrs.h>
#include <stdbool.h>

struct interfaces {
    struct ifaddrs *all; /**< NULL: none */
    bool by_netlink;
};

/** Lists them; call interfaces_close() afterwards. @return 0; a negative errno, and then nothing
 *  need be closed. */
int interfaces_open(struct interfaces *interfaces);
void interfaces_close(struct interfaces *interfaces);

#endif /* BEOWIRE_LANE_INTERFACES_H */
