/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic.h - which network interfaces of this host can carry our frames.
 */
#ifndef BEOWIRE_ENDPOINT_NIC_H
#define BEOWIRE_ENDPOINT_NIC_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** More are not looked at. */
#define NIC_MAX 64

/** "255.255.255.255/30" */
#define NIC_NETWORK_BYTES 20

/** How likely it is that other hosts are reached through an interface, and by an address that no
 *  other host has: the likelier first. */
enum nic_kind {
    NIC_CARD, /**< a network card, or what is made of one: a bond, a VLAN, a bridge with such a port
               */
    NIC_CABLE, /**< a virtual cable: what a container has for a card */
    NIC_INNER, /**< what joins programs of this host (containers' bridges: all ports are virtual),
                    tunnels, and what a management controller shows its host: often with the same
                    address on every host */
};

struct nic {
    char name[IF_NAMESIZE];
    uint8_t mac[6];
    uint32_t mtu_bytes;
    uint64_t bits_per_s; /**< 0: not known */
    bool loopback;
    enum nic_kind kind;
    bool has_ip; /**< an IPv4 address that is not link-local: it is more than a part of something
                      else */
    /** The IPv4 network of its first such address, as "10.77.0.0/24"; empty: it has none, or one
     *  that says nothing of who else is in it. Whoever is in the same one can be reached. */
    char network[NIC_NETWORK_BYTES];
};

/** Lists the interfaces that are up, running and Ethernet (or loopback), best first: with an IP
 *  address before those without, then by their kind, the faster before the slower, the loopback
 *  last.
 *  @return how many; 0 also when they cannot be listed: errno then says why, and is 0 otherwise. */
size_t nic_list(struct nic nics[NIC_MAX]);

/** Do these lanes (`lanes` of struct beowire_options; NULL: all) need an interface? Some are the
 *  host's, whatever interfaces it has. */
bool nic_is_needed(const char *lanes);

/** Is this one less likely to reach other hosts than that? Their speed says nothing of it. */
bool nic_is_lesser(const struct nic *nic, const struct nic *than);

/** Does `node` mean this interface: its name, or one of its IP addresses as a number or, unless
 *  `numeric`, as a host name? */
bool nic_is_meant(const struct nic *nic, const char *node, bool numeric);

#endif /* BEOWIRE_ENDPOINT_NIC_H */
