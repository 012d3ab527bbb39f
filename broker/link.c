/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_BYTES 512

/** The handle of our filter. Other filters of the card usually have small ones. */
#define FILTER_HANDLE 0xBE03

/** A request to the kernel, to which attributes are added. */
struct message {
    union {
        struct nlmsghdr head;
        uint8_t bytes[MESSAGE_BYTES];
    };
};

static void *append(struct message *message, size_t bytes)
{
    uint8_t *place = message->bytes + NLMSG_ALIGN(message->head.nlmsg_len);

    message->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(message->head.nlmsg_len) + bytes);
    return place;
}

static struct rtattr *add(struct message *message, unsigned type, const void *data, size_t bytes)
{
    struct rtattr *attribute = append(message, RTA_LENGTH(bytes));

    *attribute = (struct rtattr){.rta_len = (unsigned short)RTA_LENGTH(bytes),
                                 .rta_type = (unsigned short)type};
    if (bytes > 0) {
        memcpy(RTA_DATA(attribute), data, bytes);
    }
    return attribute;
}

static void add_number(struct message *message, unsigned type, uint32_t number)
{
    (void)add(message, type, &number, sizeof number);
}

static void add_text(struct message *message, unsigned type, const char *text)
{
    (void)add(message, type, text, strlen(text) + 1);
}

/** Ends an attribute that contains all those added after it. */
static void enclose(struct message *message, struct rtattr *attribute)
{
    attribute->rta_len =
        (unsigned short)(message->bytes + message->head.nlmsg_len - (uint8_t *)attribute);
}

static struct message begin(unsigned type, unsigned flags, const void *body, size_t bytes)
{
    struct message message = {
        .head = {.nlmsg_len = NLMSG_HDRLEN,
                 .nlmsg_type = (unsigned short)type,
                 .nlmsg_flags = (unsigned short)(NLM_F_REQUEST | NLM_F_ACK | flags)}};

    memcpy(append(&message, bytes), body, bytes);
    return message;
}

/** Sends a request, and waits for the answer. */
static int ask(int kernel, const struct message *message)
{
    struct {
        struct nlmsghdr head;
        struct nlmsgerr body;
        uint8_t rest[2 * MESSAGE_BYTES]; /* the request, and a text of the kernel */
    } answer;

    if (send(kernel, message->bytes, message->head.nlmsg_len, 0) < 0) {
        return -errno;
    }
    ssize_t got = recv(kernel, &answer, sizeof answer, 0);
    if (got < 0) {
        return -errno;
    }
    return (size_t)got >= NLMSG_LENGTH(sizeof answer.body) && answer.head.nlmsg_type == NLMSG_ERROR
               ? answer.body.error
               : -EPROTO;
}

int link_open(void)
{
    int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    return kernel < 0 ? -errno : kernel;
}

int link_make(int kernel, int interface, const char *name, pid_t in)
{
    const struct ifinfomsg body = {.ifi_family = AF_UNSPEC};
    struct message message = begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);

    add_text(&message, IFLA_IFNAME, name);
    add_number(&message, IFLA_LINK, (uint32_t)interface);
    add_number(&message, IFLA_NET_NS_PID, (uint32_t)in);
    struct rtattr *information = add(&message, IFLA_LINKINFO, NULL, 0);
    add_text(&message, IFLA_INFO_KIND, "macvlan");
    struct rtattr *data = add(&message, IFLA_INFO_DATA, NULL, 0);
    add_number(&message, IFLA_MACVLAN_MODE, MACVLAN_MODE_PRIVATE);
    add_number(&message, IFLA_MACVLAN_BC_QUEUE_LEN, 0);
    enclose(&message, data);
    enclose(&message, information);
    return ask(kernel, &message);
}

int link_up(int kernel, int interface, const uint8_t address[ETH_ALEN])
{
    const struct ifinfomsg body = {.ifi_family = AF_UNSPEC,
                                   .ifi_index = interface,
                                   .ifi_flags = IFF_UP | IFF_NOARP,
                                   .ifi_change = IFF_UP | IFF_NOARP};
    struct message message = begin(RTM_NEWLINK, 0, &body, sizeof body);

    (void)add(&message, IFLA_ADDRESS, address, ETH_ALEN);
    return ask(kernel, &message);
}

/** Makes the clsact qdisc of a card, for programs on its egress, unless it is there. */
static int make_place(int kernel, int interface)
{
    const struct tcmsg body = {.tcm_family = AF_UNSPEC,
                               .tcm_ifindex = interface,
                               .tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0),
                               .tcm_parent = TC_H_CLSACT};
    struct message message = begin(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);

    add_text(&message, TCA_KIND, "clsact");
    int status = ask(kernel, &message);
    return status == -EEXIST ? 0 : status;
}

int link_filter_egress(int kernel, int interface, int program)
{
    const struct tcmsg body = {.tcm_family = AF_UNSPEC,
                               .tcm_ifindex = interface,
                               .tcm_handle = FILTER_HANDLE,
                               .tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS),
                               .tcm_info = TC_H_MAKE(1u << 16, htons(ETH_P_ALL))};
    struct message message = begin(RTM_NEWTFILTER, NLM_F_CREATE, &body, sizeof body);

    add_text(&message, TCA_KIND, "bpf");
    struct rtattr *options = add(&message, TCA_OPTIONS, NULL, 0);
    add_number(&message, TCA_BPF_FD, (uint32_t)program);
    add_text(&message, TCA_BPF_NAME, "beowire");
    add_number(&message, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
    enclose(&message, options);
    int status = make_place(kernel, interface);
    return status != 0 ? status : ask(kernel, &message);
}
