/* SPDX-License-Identifier: BSD-3-Clause */
#include "local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "interface_index.h"

/* Parses an IP address as text, with an optional "%zone". */
static int read_host(const char *text, struct sockaddr_storage *address)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(text, NULL, &hints, &found) != 0) {
        return -EINVAL;
    }
    memset(address, 0, sizeof *address);
    memcpy(address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

static struct sockaddr_in6 *as_v6(struct sockaddr_storage *address)
{
    return (struct sockaddr_in6 *)address;
}

static bool same_host(const struct sockaddr *left, const struct sockaddr_storage *right)
{
    if (left == NULL || left->sa_family != right->ss_family) {
        return false;
    }
    if (left->sa_family == AF_INET) {
        return ((const struct sockaddr_in *)left)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)right)->sin_addr.s_addr;
    }
    return left->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)left)->sin6_addr,
                  &((const struct sockaddr_in6 *)right)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

int local_interface(const struct driver_options *options, char name[IF_NAMESIZE], char *error,
                    size_t error_bytes)
{
    if (options->interface[0] != '\0') {
        int index = interface_index(options->interface);
        if (index < 0 && index != -ENODEV) {
            errno = -index;
            return fail(error, error_bytes, "cannot look for the interface");
        }
        if (index < 0) {
            (void)snprintf(error, error_bytes, "there is no interface '%.20s' on this node",
                           options->interface);
            return -ENODEV;
        }
        (void)snprintf(name, IF_NAMESIZE, "%s", options->interface);
        return 0;
    }
    if (options->local_address[0] == '\0') {
        (void)snprintf(name, IF_NAMESIZE, "lo");
        return 0;
    }
    struct sockaddr_storage wanted;
    if (read_host(options->local_address, &wanted) != 0) {
        (void)snprintf(error, error_bytes, "'%.64s' is not an IP address", options->local_address);
        return -EINVAL;
    }
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0) {
        (void)snprintf(error, error_bytes, "cannot list the interfaces: %s", strerror(errno));
        return -errno;
    }
    name[0] = '\0';
    for (const struct ifaddrs *one = all; one != NULL && name[0] == '\0'; one = one->ifa_next) {
        if (same_host(one->ifa_addr, &wanted)) {
            (void)snprintf(name, IF_NAMESIZE, "%s", one->ifa_name);
        }
    }
    freeifaddrs(all);
    if (name[0] == '\0') {
        (void)snprintf(error, error_bytes, "no interface of this node has the address %.64s",
                       options->local_address);
        return -EADDRNOTAVAIL;
    }
    return 0;
}

/* An interface's address: IPv4 before IPv6. */
static int interface_address(const char *name, struct sockaddr_storage *address)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0) {
        return -errno;
    }
    int result = -EADDRNOTAVAIL;
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        if (one->ifa_addr == NULL || strcmp(one->ifa_name, name) != 0) {
            continue;
        }
        if (one->ifa_addr->sa_family == AF_INET) {
            memset(address, 0, sizeof *address);
            memcpy(address, one->ifa_addr, sizeof(struct sockaddr_in));
            result = 0;
            break;
        }
        if (one->ifa_addr->sa_family == AF_INET6 && result != 0) {
            memset(address, 0, sizeof *address);
            memcpy(address, one->ifa_addr, sizeof(struct sockaddr_in6));
            result = 0;
        }
    }
    freeifaddrs(all);
    return result;
}

int local_address(const struct driver_options *options, struct sockaddr_storage *address,
                  char *error, size_t error_bytes)
{
    if (options->local_address[0] == '\0' && options->interface[0] != '\0') {
        int result = interface_address(options->interface, address);
        if (result != 0) {
            (void)snprintf(error, error_bytes, "the interface '%.20s' has no IP address here",
                           options->interface);
        }
        return result;
    }
    const char *text = options->local_address[0] == '\0' ? "127.0.0.1" : options->local_address;
    if (read_host(text, address) != 0) {
        (void)snprintf(error, error_bytes, "'%.64s' is not an IP address", text);
        return -EINVAL;
    }
    return 0;
}

socklen_t local_address_bytes(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? (socklen_t)sizeof(struct sockaddr_in6)
                                          : (socklen_t)sizeof(struct sockaddr_in);
}

int local_write(const struct sockaddr_storage *address, char *text, size_t text_bytes)
{
    char host[INET6_ADDRSTRLEN] = "";
    bool six = address->ss_family == AF_INET6;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    const void *binary = six ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr;
    if (inet_ntop(address->ss_family, binary, host, sizeof host) == NULL) {
        return -errno;
    }
    int length = snprintf(text, text_bytes, six ? "[%s]:%u" : "%s:%u", host,
                          (unsigned)ntohs(six ? v6->sin6_port : v4->sin_port));
    return length > 0 && (size_t)length < text_bytes ? 0 : -ENOSPC;
}

int local_read(const char *text, const struct sockaddr_storage *here,
               struct sockaddr_storage *address, char *error, size_t error_bytes)
{
    char host[LOCAL_TEXT_BYTES];
    (void)snprintf(host, sizeof host, "%s", text);
    char *colon = strrchr(host, ':');
    char *start = host;
    char *end = NULL;
    unsigned long port = colon == NULL ? 0 : strtoul(colon + 1, &end, 10);
    bool valid = colon != NULL && end != colon + 1 && *end == '\0' && port > 0 && port <= 65535;
    if (valid) {
        *colon = '\0';
        if (host[0] == '[' && colon[-1] == ']') {
            colon[-1] = '\0';
            start = host + 1;
        }
        valid = read_host(start, address) == 0;
    }
    if (!valid || address->ss_family != here->ss_family) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", text);
        return -EINVAL;
    }
    if (address->ss_family == AF_INET) {
        ((struct sockaddr_in *)address)->sin_port = htons((uint16_t)port);
    } else {
        as_v6(address)->sin6_port = htons((uint16_t)port);
        if (IN6_IS_ADDR_LINKLOCAL(&as_v6(address)->sin6_addr)) {
            as_v6(address)->sin6_scope_id = ((const struct sockaddr_in6 *)here)->sin6_scope_id;
        }
    }
    return 0;
}
