/* SPDX-License-Identifier: BSD-3-Clause */
#include "nic.h"

#include "endpoint/lanes.h"
#include "lane/interfaces.h"
#include "lane/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_bridge.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/** Longest prefix of a network, in bits; longer ones belong to point-to-point links, and hosts that
 *  announce their own address. */
#define NETWORK_LENGTH_MAX 30

/** 169.254.0.0/16 */
#define LINK_LOCAL_PREFIX 0xA9FEu

/** The most ports of a bridge, as in the kernel. */
#define BRIDGE_PORTS_MAX 1024

#define BITS_PER_MBIT UINT64_C(1000000)

/** Length of a driver's name, with its zero byte if there is room. */
#define DRIVER_BYTES sizeof((struct ethtool_drvinfo){0}.driver)

static struct ifreq request_for(const char *name)
{
    struct ifreq request = {0};

    memcpy(request.ifr_name, name, strnlen(name, sizeof request.ifr_name - 1));
    return request;
}

static uint32_t read_mtu(int fd, const char *name)
{
    struct ifreq request = request_for(name);

    return ioctl(fd, SIOCGIFMTU, &request) == 0 ? (uint32_t)request.ifr_mtu : 0;
}

static uint64_t read_speed(int fd, const char *name)
{
    struct ethtool_cmd command = {.cmd = ETHTOOL_GSET};
    struct ifreq request = request_for(name);

    request.ifr_data = (void *)&command;
    if (ioctl(fd, SIOCETHTOOL, &request) != 0) {
        return 0;
    }
    uint32_t speed = (uint32_t)command.speed_hi << 16 | command.speed;
    return speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed * BITS_PER_MBIT;
}

/** Reads the name of the driver. @return false: unknown. */
static bool read_driver(int fd, const char *name, char driver[DRIVER_BYTES])
{
    struct ethtool_drvinfo about = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq request = request_for(name);

    request.ifr_data = (void *)&about;
    if (ioctl(fd, SIOCETHTOOL, &request) != 0) {
        return false;
    }
    memcpy(driver, about.driver, DRIVER_BYTES);
    return true;
}

/** The kind of an interface by its driver; others are cards. Does not apply to bridges. */
static enum nic_kind kind_of_driver(const char *driver)
{
    static const struct {
        const char *driver;
        enum nic_kind kind;
    } known[] = {
        {"veth", NIC_CABLE},       {"openvswitch", NIC_CABLE}, /* a card may be one of its ports */
        {"tun", NIC_INNER},        {"dummy", NIC_INNER},
        {"ifb", NIC_INNER},        {"vxlan", NIC_INNER},
        {"geneve", NIC_INNER},     {"gretap", NIC_INNER},
        {"ip6gretap", NIC_INNER},  {"erspan", NIC_INNER},
        {"cdc_ether", NIC_INNER}, /* these are on USB, as management controllers are */
        {"cdc_eem", NIC_INNER},    {"cdc_ncm", NIC_INNER},
        {"rndis_host", NIC_INNER},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(driver, known[i].driver, DRIVER_BYTES) == 0) {
            return known[i].kind;
        }
    }
    return NIC_CARD;
}

static enum nic_kind kind_of_port(int fd, const char *name)
{
    char driver[DRIVER_BYTES];

    return read_driver(fd, name, driver) ? kind_of_driver(driver) : NIC_CARD;
}

/** Both containers' bridges and those over a card have an address and a speed. Their ports differ:
 *  they are listed as numbers of interfaces, 0 if there is none. */
static bool has_outer_port(int fd, const char *bridge)
{
    int ports[BRIDGE_PORTS_MAX] = {0};
    unsigned long arguments[] = {BRCTL_GET_PORT_LIST, (unsigned long)ports, BRIDGE_PORTS_MAX, 0};
    struct ifreq request = request_for(bridge);
    char name[IF_NAMESIZE];

    request.ifr_data = (void *)arguments;
    if (ioctl(fd, SIOCDEVPRIVATE, &request) < 0) {
        return false;
    }
    for (size_t i = 0; i < BRIDGE_PORTS_MAX; i++) {
        if (ports[i] > 0 && if_indextoname((unsigned)ports[i], name) != NULL &&
            kind_of_port(fd, name) == NIC_CARD) {
            return true;
        }
    }
    return false;
}

static enum nic_kind kind_of(int fd, const char *name)
{
    char driver[DRIVER_BYTES];

    if (!read_driver(fd, name, driver)) {
        return NIC_CARD;
    }
    if (strncmp(driver, "bridge", sizeof driver) == 0) {
        return has_outer_port(fd, name) ? NIC_CARD : NIC_INNER;
    }
    return kind_of_driver(driver);
}

/** @return false: it cannot carry frames. */
static bool describe(int fd, const struct ifaddrs *entry, struct nic *nic)
{
    const unsigned wanted = IFF_UP | IFF_RUNNING;
    const struct sockaddr_ll *link = (const void *)entry->ifa_addr;

    if (link == NULL || link->sll_family != AF_PACKET || (entry->ifa_flags & wanted) != wanted ||
        (entry->ifa_flags & IFF_SLAVE) != 0 || strlen(entry->ifa_name) >= IF_NAMESIZE ||
        (link->sll_hatype != ARPHRD_ETHER && link->sll_hatype != ARPHRD_LOOPBACK)) {
        return false;
    }
    *nic = (struct nic){
        .mtu_bytes = read_mtu(fd, entry->ifa_name),
        .bits_per_s = read_speed(fd, entry->ifa_name),
        .loopback = link->sll_hatype == ARPHRD_LOOPBACK,
        .kind = kind_of(fd, entry->ifa_name),
    };
    memcpy(nic->name, entry->ifa_name, strlen(entry->ifa_name));
    memcpy(nic->mac, link->sll_addr, sizeof nic->mac);
    return nic->mtu_bytes > 0;
}

/** Is it an address that others can use? Link-local addresses are not: each IPv6 interface has one,
 *  and those of IPv4 may be the same on every host. */
static bool is_ip(const struct ifaddrs *entry)
{
    const struct sockaddr_in *address = (const void *)entry->ifa_addr;

    return address != NULL && address->sin_family == AF_INET &&
           ntohl(address->sin_addr.s_addr) >> 16 != LINK_LOCAL_PREFIX;
}

/** Records an address of the interface from getifaddrs(). */
static void note_ip(struct nic *nic, const struct ifaddrs *entry)
{
    const struct sockaddr_in *address = (const void *)entry->ifa_addr;
    const struct sockaddr_in *mask = (const void *)entry->ifa_netmask;
    char text[INET_ADDRSTRLEN];

    nic->has_ip = true;
    int length = mask != NULL ? __builtin_popcount(mask->sin_addr.s_addr) : 32;
    if (nic->network[0] != '\0' || length > NETWORK_LENGTH_MAX) {
        return;
    }
    const struct in_addr network = {.s_addr = address->sin_addr.s_addr & mask->sin_addr.s_addr};
    if (inet_ntop(AF_INET, &network, text, sizeof text) != NULL) {
        (void)snprintf(nic->network, sizeof nic->network, "%s/%d", text, length);
    }
}

/** @return below 0: the left one is more likely to reach other hosts; 0: equal */
static int by_reach(const struct nic *left, const struct nic *right)
{
    if (left->loopback != right->loopback) {
        return left->loopback ? 1 : -1;
    }
    if (left->has_ip != right->has_ip) {
        return left->has_ip ? -1 : 1;
    }
    return (int)left->kind - (int)right->kind;
}

bool nic_is_needed(const char *lanes)
{
    return lanes_need_interface(lanes);
}

bool nic_is_lesser(const struct nic *nic, const struct nic *than)
{
    return by_reach(nic, than) > 0;
}

static int by_rank(const void *left_item, const void *right_item)
{
    const struct nic *left = left_item;
    const struct nic *right = right_item;
    int reach = by_reach(left, right);

    if (reach != 0) {
        return reach;
    }
    if (left->bits_per_s != right->bits_per_s) {
        return left->bits_per_s > right->bits_per_s ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

size_t nic_list(struct nic nics[NIC_MAX])
{
    struct interfaces listed;
    size_t count = 0;
    int fd = socket_control();

    if (fd < 0) {
        errno = -fd;
        return 0;
    }
    int error = -interfaces_open(&listed);
    if (error == 0) {
        for (const struct ifaddrs *entry = listed.all; entry != NULL; entry = entry->ifa_next) {
            if (count < NIC_MAX && describe(fd, entry, &nics[count])) {
                count++;
            }
        }
        for (const struct ifaddrs *entry = listed.all; entry != NULL; entry = entry->ifa_next) {
            for (size_t i = 0; is_ip(entry) && i < count; i++) {
                if (strcmp(nics[i].name, entry->ifa_name) == 0) {
                    note_ip(&nics[i], entry);
                }
            }
        }
        interfaces_close(&listed);
    }
    (void)close(fd);
    qsort(nics, count, sizeof *nics, by_rank);
    errno = error;
    return count;
}

static bool same_ip(const struct sockaddr *left, const struct sockaddr *right)
{
    if (left->sa_family != right->sa_family) {
        return false;
    }
    if (left->sa_family == AF_INET) {
        const struct sockaddr_in *one = (const void *)left;
        const struct sockaddr_in *other = (const void *)right;
        return one->sin_addr.s_addr == other->sin_addr.s_addr;
    }
    if (left->sa_family == AF_INET6) {
        const struct sockaddr_in6 *one = (const void *)left;
        const struct sockaddr_in6 *other = (const void *)right;
        return memcmp(&one->sin6_addr, &other->sin6_addr, sizeof one->sin6_addr) == 0;
    }
    return false;
}

static bool has_address(const struct nic *nic, const struct sockaddr *address)
{
    struct interfaces listed;
    bool found = false;

    if (interfaces_open(&listed) != 0) {
        return false;
    }
    for (const struct ifaddrs *entry = listed.all; entry != NULL && !found;
         entry = entry->ifa_next) {
        found = entry->ifa_addr != NULL && strcmp(entry->ifa_name, nic->name) == 0 &&
                same_ip(entry->ifa_addr, address);
    }
    interfaces_close(&listed);
    return found;
}

bool nic_is_meant(const struct nic *nic, const char *node, bool numeric)
{
    const struct addrinfo hints = {.ai_flags = numeric ? AI_NUMERICHOST : 0};
    struct addrinfo *addresses = NULL;
    bool meant = false;

    if (strcmp(nic->name, node) == 0) {
        return true;
    }
    if (getaddrinfo(node, NULL, &hints, &addresses) != 0) {
        return false;
    }
    for (const struct addrinfo *one = addresses; one != NULL && !meant; one = one->ai_next) {
        meant = has_address(nic, one->ai_addr);
    }
    freeaddrinfo(addresses);
    return meant;
}
