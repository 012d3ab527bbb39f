/* SPDX-License-Identifier: BSD-3-Clause */
#include "route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "output.h"

struct route {
    int family;
    uint8_t to[sizeof(struct in6_addr)];
    uint8_t from[sizeof(struct in6_addr)];
    unsigned interface_index;
};

static size_t address_bytes(int family)
{
    return family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
}

static void copy_address(const struct sockaddr *address, uint8_t *to)
{
    if (address->sa_family == AF_INET) {
        memcpy(to, &((const struct sockaddr_in *)address)->sin_addr, sizeof(struct in_addr));
    } else {
        memcpy(to, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(struct in6_addr));
    }
}

/* Resolves the host. Returns getaddrinfo()'s error, or 0. */
static int resolve(const char *host, struct route *route)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(host, NULL, &hints, &found);
    if (error != 0) {
        return error;
    }
    route->family = found->ai_family;
    copy_address(found->ai_addr, route->to);
    if (found->ai_family == AF_INET6) {
        route->interface_index = ((const struct sockaddr_in6 *)found->ai_addr)->sin6_scope_id;
    }
    freeaddrinfo(found);
    return 0;
}

struct route_request {
    struct nlmsghdr header;
    struct rtmsg message;
    uint8_t attributes[128];
};

static void add_attribute(struct route_request *request, uint16_t type, const void *data,
                          size_t bytes)
{
    struct rtattr *attribute =
        (struct rtattr *)((uint8_t *)request + NLMSG_ALIGN(request->header.nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = (uint16_t)RTA_LENGTH(bytes);
    memcpy(RTA_DATA(attribute), data, bytes);
    request->header.nlmsg_len =
        (uint32_t)(NLMSG_ALIGN(request->header.nlmsg_len) + RTA_ALIGN(attribute->rta_len));
}

static int read_answer(struct route *route, const struct nlmsghdr *header, size_t length)
{
    if (!NLMSG_OK(header, length)) {
        return -EPROTO;
    }
    if (header->nlmsg_type == NLMSG_ERROR) {
        const struct nlmsgerr *refusal = NLMSG_DATA(header);
        return refusal->error == 0 ? -EPROTO : refusal->error;
    }
    if (header->nlmsg_type != RTM_NEWROUTE) {
        return -EPROTO;
    }
    const struct rtmsg *message = NLMSG_DATA(header);
    size_t left = RTM_PAYLOAD(header);
    for (const struct rtattr *attribute = RTM_RTA(message); RTA_OK(attribute, left);
         attribute = RTA_NEXT(attribute, left)) {
        if (attribute->rta_type == RTA_OIF) {
            memcpy(&route->interface_index, RTA_DATA(attribute), sizeof route->interface_index);
        } else if (attribute->rta_type == RTA_PREFSRC) {
            memcpy(route->from, RTA_DATA(attribute), address_bytes(route->family));
        }
    }
    return 0;
}

static int ask_kernel(struct route *route)
{
    struct route_request request = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
                   .nlmsg_type = RTM_GETROUTE,
                   .nlmsg_flags = NLM_F_REQUEST},
        .message = {.rtm_family = (uint8_t)route->family,
                    .rtm_dst_len = (uint8_t)(8 * address_bytes(route->family))},
    };
    add_attribute(&request, RTA_DST, route->to, address_bytes(route->family));
    if (route->interface_index != 0) {
        add_attribute(&request, RTA_OIF, &route->interface_index, sizeof route->interface_index);
    }
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) {
        return -errno;
    }
    const struct timeval limit = {.tv_sec = 2};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    union {
        struct nlmsghdr header;
        uint8_t bytes[8192];
    } answer;
    int error = 0;
    if (send(fd, &request, request.header.nlmsg_len, 0) < 0) {
        error = -errno;
    } else {
        ssize_t length = recv(fd, &answer, sizeof answer, 0);
        error = length < 0 ? -errno : read_answer(route, &answer.header, (size_t)length);
    }
    close(fd);
    return error;
}

static void write_interface(struct json *json, unsigned index)
{
    struct ifreq request = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (if_indextoname(index, request.ifr_name) == NULL) {
        request.ifr_name[0] = '\0';
    }
    json_text(json, "interface", request.ifr_name);
    if (fd >= 0 && ioctl(fd, SIOCGIFHWADDR, &request) == 0) {
        const uint8_t *mac = (const uint8_t *)request.ifr_hwaddr.sa_data;
        char text[18];
        (void)snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
                       mac[3], mac[4], mac[5]);
        json_text(json, "mac", text);
    } else {
        json_null(json, "mac");
    }
    if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0) {
        json_unsigned(json, "mtu", (uint64_t)request.ifr_mtu);
    } else {
        json_null(json, "mtu");
    }
    if (fd >= 0) {
        close(fd);
    }
}

void route_answer(struct command *command)
{
    if (command_require(command, "to") != 0) {
        output_error(EINVAL, false, "%s", command->reason);
        return;
    }
    const char *host = command_text(command, "to", "");
    struct route route = {0};
    int error = resolve(host, &route);
    if (error != 0) {
        output_error(EHOSTUNREACH, false, "'%.64s' is not a host that this node knows: %s", host,
                     gai_strerror(error));
        return;
    }
    error = ask_kernel(&route);
    if (error != 0) {
        output_error(error, false, "this node has no route to '%.64s': %s", host, strerror(-error));
        return;
    }
    char source[INET6_ADDRSTRLEN] = "";
    char destination[INET6_ADDRSTRLEN] = "";
    (void)inet_ntop(route.family, route.from, source, sizeof source);
    (void)inet_ntop(route.family, route.to, destination, sizeof destination);
    struct json json;
    output_begin(&json, "route");
    json_text(&json, "source", source);
    json_text(&json, "destination", destination);
    write_interface(&json, route.interface_index);
    output_send(&json);
}
