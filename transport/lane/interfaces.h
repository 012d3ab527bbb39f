/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interfaces.h - the network interfaces of this network namespace and their addresses, as
 * getifaddrs(3) lists them.
 *
 * getifaddrs() asks by netlink, which some services may not have (systemd's
 * RestrictAddressFamilies=). Then the same is put together from /proc/net and netdevice(7): of IPv4
 * the first address of each interface.
 */
#ifndef BEOWIRE_LANE_INTERFACES_H
#define BEOWIRE_LANE_INTERFACES_H

#include <ifaddrs.h>
#include <stdbool.h>

struct interfaces {
    struct ifaddrs *all; /**< NULL: there are none */
    bool by_netlink;
};

/** Lists them; interfaces_close() gives back what that takes.
 *  @return 0; a negative errno, and nothing is to be given back. */
int interfaces_open(struct interfaces *interfaces);
void interfaces_close(struct interfaces *interfaces);

#endif /* BEOWIRE_LANE_INTERFACES_H */
