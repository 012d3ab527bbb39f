/* SPDX-License-Identifier: BSD-3-Clause */
/* In a network namespace of the test's own. */
#include "lane/interfaces.h"

#include "refused.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static const struct refused netlink = {SYS_socket, EAFNOSUPPORT, 1, AF_NETLINK};

/** What the kernel says by netlink: the children of this process know it. */
static struct interfaces expected;

static bool is_same_link(const struct sockaddr *left, const struct sockaddr *right)
{
    const struct sockaddr_ll *one = (const void *)left;
    const struct sockaddr_ll *other = (const void *)right;

    return one->sll_hatype == other->sll_hatype && one->sll_ifindex == other->sll_ifindex &&
           memcmp(one->sll_addr, other->sll_addr, 6) == 0;
}

static bool is_same(const struct ifaddrs *one, const struct ifaddrs *other)
{
    if (strcmp(one->ifa_name, other->ifa_name) != 0 ||
        one->ifa_addr->sa_family != other->ifa_addr->sa_family) {
        return false;
    }
    switch (one->ifa_addr->sa_family) {
    case AF_PACKET:
        return is_same_link(one->ifa_addr, other->ifa_addr) &&
               (one->ifa_flags & UINT16_MAX) == (other->ifa_flags & UINT16_MAX);
    case AF_INET:
        return memcmp(one->ifa_addr, other->ifa_addr, sizeof(struct sockaddr_in)) == 0 &&
               memcmp(one->ifa_netmask, other->ifa_netmask, sizeof(struct sockaddr_in)) == 0;
    default:
        return memcmp(&((const struct sockaddr_in6 *)(const void *)one->ifa_addr)->sin6_addr,
                      &((const struct sockaddr_in6 *)(const void *)other->ifa_addr)->sin6_addr,
                      sizeof(struct in6_addr)) == 0;
    }
}

static unsigned count_of(const struct interfaces *interfaces)
{
    unsigned count = 0;

    for (const struct ifaddrs *at = interfaces->all; at != NULL; at = at->ifa_next) {
        count++;
    }
    return count;
}

static bool are_the_same(void)
{
    struct interfaces found;
    bool all = interfaces_open(&found) == 0 && !found.by_netlink &&
               count_of(&found) == count_of(&expected);

    for (const struct ifaddrs *at = expected.all; all && at != NULL; at = at->ifa_next) {
        bool any = false;
        for (const struct ifaddrs *other = found.all; other != NULL; other = other->ifa_next) {
            any = any || is_same(at, other);
        }
        all = any;
    }
    interfaces_close(&found);
    return all && found.all == NULL;
}

static bool is_said(void)
{
    struct interfaces found;

    return interfaces_open(&found) == -EPERM && found.all == NULL;
}

TEST(interfaces_open__without_netlink_the_same)
{
    assert_int_equal(interfaces_open(&expected), 0);
    assert_true(expected.by_netlink);
    assert_true(count_of(&expected) >= 6); /* lo and a pair, each with an address */
    assert_true_without(&netlink, 1, are_the_same);
    interfaces_close(&expected);
}

TEST(interfaces_open__says_that_it_cannot)
{
    const struct refused all[] = {netlink, {SYS_ioctl, EPERM, 0, 0}};

    assert_true_without(all, 2, is_said);
}
