/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic.h - the network interfaces of this host that can carry our frames.
 */
#ifndef BEOWIRE_ENDPOINT_NIC_H
#define BEOWIRE_ENDPOINT_NIC_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The most interfaces that are examined. */
#define NIC_MAX 64

/** "255.255.255.255/30" */
#define NIC_NETWORK_BYTES 20

/** How likely an interface reaches other hosts, by an address that no other host has; the most
 *  likely first. */
enum nic_kind {
    NIC_CARD,  /**< a network card, or a bond, a VLAN or a bridge of one */
    NIC_CABLE, /**< a virtual cable, as in containers */
    NIC_INNER, /**< connects programs of this host (containers' bridges: all ports are virtual),
                  tunnels, and interfaces of management controllers, often with the same address on
                  every host */
};

struct nic {
    char name[IF_NAMESIZE];
    uint8_t mac[6];
    uint32_t mtu_bytes;
    uint64_t bits_per_s; /**< 0: unknown */
    bool loopback;
    enum nic_kind kind;
    bool has_ip; /**< has an IPv4 address that is not link-local, so it is not just a part of
                    another */
    /** The IPv4 network of its first such address, as "10.77.0.0/24". Hosts in the same network can
     *  be reached. Empty: none, or one without other hosts. */
    char network[NIC_NETWORK_BYTES];
};

/** Lists the interfaces that are up, running and Ethernet (or loopback), best first: those with an
 *  IP address, then by kind, then by speed, the loopback last. @return their number; 0 also if they
 *  cannot be listed: errno is then set, and 0 otherwise. */
size_t nic_list(struct nic nics[NIC_MAX]);

/** Do these lanes (`lanes` of struct beowire_options; NULL: all) need an interface? Some belong to
 *  the host. */
bool nic_is_needed(const char *lanes);

/** Is `nic` less likely than `than` to reach other hosts? Ignores speed. */
bool nic_is_lesser(const struct nic *nic, const struct nic *than);

/** Does `node` denote this interface: by its name, one of its IP addresses as a number or, unless
 *  `numeric`, a host name? */
bool nic_is_meant(const struct nic *nic, const char *node, bool numeric);

#endif /* BEOWIRE_ENDPOINT_NIC_H */
