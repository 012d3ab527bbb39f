/* SPDX-License-Identifier: BSD-3-Clause */
#include "interfaces.h"

#include "socket.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/** Lines of the files in /proc/net are shorter. */
#define LINE_BYTES 512

/** One address of an interface, with all that its entry refers to. */
struct item {
    struct ifaddrs entry; /* first: the list is of these */
    char name[IF_NAMESIZE];
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_ll link;
    } address;
    struct sockaddr_in mask;
};

static struct item *add(struct interfaces *interfaces, const char *name, unsigned flags)
{
    struct item *item = calloc(1, sizeof *item);

    if (item == NULL) {
        return NULL;
    }
    memcpy(item->name, name, strnlen(name, sizeof item->name - 1));
    item->entry = (struct ifaddrs){.ifa_next = interfaces->all,
                                   .ifa_name = item->name,
                                   .ifa_flags = flags,
                                   .ifa_addr = &item->address.any};
    interfaces->all = &item->entry;
    return item;
}

static struct ifreq request_for(const char *name)
{
    struct ifreq request = {0};

    memcpy(request.ifr_name, name, strnlen(name, sizeof request.ifr_name - 1));
    return request;
}

/** Adds the interface itself, as for AF_PACKET, and its IPv4 address. @return 0 or a negative
 *  errno. */
static int add_interface(struct interfaces *interfaces, int control, const char *name)
{
    struct ifreq flags = request_for(name);
    struct ifreq hardware = flags;
    struct ifreq index = flags;
    struct ifreq address = flags;
    struct ifreq mask = flags;

    if (ioctl(control, SIOCGIFFLAGS, &flags) != 0 ||
        ioctl(control, SIOCGIFHWADDR, &hardware) != 0 ||
        ioctl(control, SIOCGIFINDEX, &index) != 0) {
        return errno == ENODEV ? 0 : -errno; /* it has just disappeared */
    }
    unsigned set = (unsigned short)flags.ifr_flags;
    struct item *link = add(interfaces, name, set);
    if (link == NULL) {
        return -ENOMEM;
    }
    link->address.link = (struct sockaddr_ll){.sll_family = AF_PACKET,
                                              .sll_ifindex = index.ifr_ifindex,
                                              .sll_hatype = hardware.ifr_hwaddr.sa_family,
                                              .sll_halen = ETH_ALEN};
    memcpy(link->address.link.sll_addr, hardware.ifr_hwaddr.sa_data, ETH_ALEN);
    address.ifr_addr.sa_family = AF_INET;
    mask.ifr_addr.sa_family = AF_INET;
    if (ioctl(control, SIOCGIFADDR, &address) != 0 || ioctl(control, SIOCGIFNETMASK, &mask) != 0) {
        return 0; /* it has none */
    }
    struct item *item = add(interfaces, name, set);
    if (item == NULL) {
        return -ENOMEM;
    }
    memcpy(&item->address.v4, &address.ifr_addr, sizeof item->address.v4);
    memcpy(&item->mask, &mask.ifr_netmask, sizeof item->mask);
    item->entry.ifa_netmask = (struct sockaddr *)(void *)&item->mask;
    return 0;
}

/** @return 0 or a negative errno. */
static int add_all(struct interfaces *interfaces, int control)
{
    char line[LINE_BYTES];
    FILE *file = fopen("/proc/net/dev", "re");
    int status = 0;

    if (file == NULL) {
        return -errno;
    }
    while (status == 0 && fgets(line, sizeof line, file) != NULL) {
        char *end = strchr(line, ':'); /* the two lines of the heading have none */
        if (end != NULL) {
            *end = '\0';
            status = add_interface(interfaces, control, line + strspn(line, " "));
        }
    }
    (void)fclose(file);
    return status;
}

/** Parses an address of 32 hexadecimal digits. @return false: it is malformed. */
static bool read_ip(const char *digits, struct in6_addr *ip)
{
    if (strspn(digits, "0123456789abcdefABCDEF") != 2 * sizeof ip->s6_addr) {
        return false;
    }
    for (unsigned i = 0; i < sizeof ip->s6_addr; i++) {
        const char two[] = {digits[2 * i], digits[2 * i + 1], '\0'};
        ip->s6_addr[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return true;
}

/** Adds a line of /proc/net/if_inet6: address, index, length of the prefix, scope, flags, name.
 *  @return 0, or -ENOMEM. */
static int add_ipv6_of(struct interfaces *interfaces, char *line)
{
    static const char between[] = " \n";
    char *rest = NULL;
    const char *words[6] = {strtok_r(line, between, &rest)};
    struct in6_addr ip;

    for (unsigned i = 1; i < 6 && words[i - 1] != NULL; i++) {
        words[i] = strtok_r(NULL, between, &rest);
    }
    if (words[5] == NULL || !read_ip(words[0], &ip)) {
        return 0;
    }
    struct item *item = add(interfaces, words[5], IFF_UP);
    if (item == NULL) {
        return -ENOMEM;
    }
    item->address.v6 =
        (struct sockaddr_in6){.sin6_family = AF_INET6,
                              .sin6_addr = ip,
                              .sin6_scope_id = (uint32_t)strtoul(words[1], NULL, 16)};
    return 0;
}

/** Adds IPv6 addresses; a host need not have IPv6. @return 0, or -ENOMEM. */
static int add_ipv6(struct interfaces *interfaces)
{
    FILE *file = fopen("/proc/net/if_inet6", "re");
    char line[LINE_BYTES];
    int status = 0;

    while (file != NULL && status == 0 && fgets(line, sizeof line, file) != NULL) {
        status = add_ipv6_of(interfaces, line);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return status;
}

int interfaces_open(struct interfaces *interfaces)
{
    *interfaces = (struct interfaces){.by_netlink = true};
    if (getifaddrs(&interfaces->all) == 0) {
        return 0;
    }
    *interfaces = (struct interfaces){0};
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC,
                         0); /* other sockets do not know IPv4 addresses */
    control = control < 0 ? socket_control() : control;
    int status = control < 0 ? control : add_all(interfaces, control);
    if (control >= 0) {
        close(control);
    }
    status = status == 0 ? add_ipv6(interfaces) : status;
    if (status != 0) {
        interfaces_close(interfaces);
    }
    return status;
}

void interfaces_close(struct interfaces *interfaces)
{
    if (interfaces->by_netlink) {
        freeifaddrs(interfaces->all);
    }
    while (!interfaces->by_netlink && interfaces->all != NULL) {
        struct ifaddrs *first = interfaces->all;
        interfaces->all = first->ifa_next;
        free(first);
    }
    *interfaces = (struct interfaces){0};
}
