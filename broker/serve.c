/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve.h"

#include "egress.h"
#include "fence.h"
#include "lane/packet/grant.h"
#include "lane/packet/packet_socket.h"
#include "lane/socket.h"
#include "link.h"
#include "tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/** What packet_socket_tune() sets, which a process in the grant's namespace may not. */
#define SEND_BUFFER_BYTES (8 << 20)

static int refuse(struct grant_answer *answer, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct grant_answer *answer, int status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(answer->why, sizeof answer->why, format, arguments);
    va_end(arguments);
    answer->status = status;
    return status;
}

/** Refuses because of an error of the host, and tells its owner on standard error. */
static int fail(struct grant_answer *answer, int status, const char *what, const char *interface)
{
    (void)fprintf(stderr, "beowired: %s: cannot %s: %s\n", interface, what, strerror(-status));
    return refuse(answer, status, "the broker cannot %s (%s)", what, strerror(-status));
}

/* ---- is it allowed? ------------------------------------------------------------------------- */

/** Is the process at the other end in our network namespace? A connection is in the namespace of
 * the process that made it. In another one, names of interfaces mean other interfaces. */
static bool is_of_this_network(int connection)
{
    struct stat theirs;
    struct stat ours;
    int network = ioctl(connection, SIOCGSKNS);

    if (network < 0) {
        return false;
    }
    bool same = fstat(network, &theirs) == 0 && stat("/proc/self/ns/net", &ours) == 0 &&
                theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
    (void)close(network);
    return same;
}

/** Is this a macvlan? A macvlan of it would belong to its card, and frames would bypass it. */
static bool is_macvlan(int control, const char *interface)
{
    struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq request = {.ifr_data = (void *)&driver};

    memcpy(request.ifr_name, interface, sizeof request.ifr_name);
    return ioctl(control, SIOCETHTOOL, &request) == 0 &&
           strncmp(driver.driver, "macv", sizeof "macv" - 1) == 0;
}

/** SIOCGIFINDEX and its kind have the kernel load a module, if there is no interface of a name. */
static bool is_there(const char *name)
{
    struct if_nameindex *all = if_nameindex();
    bool found = false;

    for (const struct if_nameindex *one = all; one != NULL && one->if_name != NULL; one++) {
        found = found || strcmp(one->if_name, name) == 0;
    }
    if (all != NULL) {
        if_freenameindex(all);
    }
    return found;
}

static int check_interface(struct grant_answer *answer, const char *name,
                           struct socket_interface *interface)
{
    int control = socket_control();

    if (control < 0) {
        return fail(answer, control, "ask about interfaces", name);
    }
    int status = is_there(name) ? socket_read_interface(control, name, interface) : -ENODEV;
    bool stacks = status == 0 && is_macvlan(control, name);
    (void)close(control);
    if (status != 0) {
        return refuse(answer, status, "%s: %s", name, strerror(-status));
    }
    if (interface->hardware != ARPHRD_ETHER || stacks) {
        return refuse(answer, -EADDRNOTAVAIL, "%s: the broker serves no interface of this kind",
                      name);
    }
    return 0;
}

static int check(int connection, const struct policy *policy, struct grant_question *question,
                 struct grant_answer *answer)
{
    ssize_t got = recv(connection, question, sizeof *question, MSG_TRUNC);

    question->interface[sizeof question->interface - 1] = '\0';
    if (got != (ssize_t)sizeof *question || question->version != GRANT_VERSION) {
        return refuse(answer, -EPROTO, "the broker is of another version of Beowire");
    }
    if (!is_of_this_network(connection)) {
        return refuse(answer, -EPERM, "the broker serves another network namespace");
    }
    if (!policy_has_interface(policy, question->interface)) {
        return refuse(answer, -EPERM, "the broker does not serve the interface %s",
                      question->interface);
    }
    if (question->ethertype != policy->ethertype) {
        return refuse(answer, -EPERM, "the broker serves EtherType 0x%04x only", policy->ethertype);
    }
    return 0;
}

/* ---- in the grant's network namespace -------------------------------------------------------- */

/** Finds a number that is not in use: no interface has the address that follows from it. */
static int find_number(const struct policy *policy, uid_t user, const uint8_t card[ETH_ALEN],
                       int interface, uint16_t *number)
{
    uint8_t address[ETH_ALEN];
    uint16_t wanted = *number;
    int status = -EUSERS;
    int kernel = link_open();

    if (kernel < 0) {
        return kernel;
    }
    /* Processes that begin together begin their search at different places. */
    uint32_t from = (uint32_t)getpid();
    for (uint32_t i = 0; i < policy->endpoints_per_user && status != 0; i++) {
        *number = policy_number(policy, user, from + i);
        if (wanted != 0 && *number != wanted) {
            continue;
        }
        fence_address(card, *number, address);
        status = link_up(kernel, interface, address);
        if (status != 0 && status != -EADDRINUSE) {
            break;
        }
    }
    (void)close(kernel);
    return status == -EADDRINUSE ? -EUSERS : status;
}

static int make_socket(int socket, const struct policy *policy, uint32_t frame_bytes, int interface,
                       struct grant_answer *answer)
{
    int status = packet_socket_filter(socket, policy->ethertype, answer->number);

    if (status == 0) { /* the lane does without */
        status = socket_set(socket, SOL_SOCKET, SO_LOCK_FILTER, 1);
    }
    if (status == 0) {
        status = slot_ring_make(socket, frame_bytes + ETH_HLEN, LANE_RING_FRAMES, &answer->ring);
    }
    if (status == 0 && !packet_socket_tune(socket)) {
        status = -ENOSYS;
    }
    if (status == 0) { /* from now on, options are refused (fence.h) */
        status = socket_set(socket, SOL_SOCKET, SO_MARK, (int)fence_mark(answer->number));
    }
    return status != 0 ? status : packet_socket_bind(socket, interface, policy->ethertype);
}

/** Keeps the kernel from sending IPv6 frames there. Without a mark they are dropped (fence.h). */
static void keep_still(void)
{
    int file = open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY | O_CLOEXEC);

    if (file >= 0) {
        (void)!write(file, "1", 1);
        (void)close(file);
    }
}

/** The child. @param server its end of a socket; the answer goes there */
static void make_grant(int server, const struct policy *policy, uid_t user,
                       const struct socket_interface *card, struct grant_answer *answer)
{
    struct socket_interface interface = {0};
    char word = 0;

    /* In a user namespace of its own, all that follows needs no privilege on the host. */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && unshare(CLONE_NEWNET) != 0) {
        answer->status = -errno;
        (void)grant_send(server, answer, -1);
        return;
    }
    keep_still();
    if (grant_send(server, answer, -1) != 0 || recv(server, &word, sizeof word, 0) <= 0) {
        return;
    }
    int made = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (made < 0) {
        answer->status = -errno;
    } else if (socket_read_interface(made, GRANT_INTERFACE, &interface) != -ENETDOWN) {
        answer->status = -ENODEV; /* it was made, and is down so far */
    } else {
        answer->status = find_number(policy, user, card->mac, interface.index, &answer->number);
    }
    if (answer->status == 0) {
        answer->status = make_socket(made, policy, (uint32_t)card->mtu, interface.index, answer);
    }
    (void)grant_send(server, answer, answer->status == 0 ? made : -1);
}

/* ---- the server ----------------------------------------------------------------------------- */

/** Makes the grant together with the child. @param granted gets the socket */
static int complete(int kernel, int child, pid_t pid, const struct policy *policy,
                    const struct socket_interface *card, struct grant_answer *answer, int *granted,
                    const char *name)
{
    const char word = 0;
    int none = -1;

    if (!grant_receive(child, answer, &none) || answer->status != 0) {
        return fail(answer, answer->status < 0 ? answer->status : -EIO, "make a network namespace",
                    name);
    }
    int status = link_make(kernel, card->index, GRANT_INTERFACE, pid);
    if (status != 0) {
        return fail(answer, status, "make a macvlan", name);
    }
    /* Not before it is clear that grants are possible there: the program would stay. */
    status = egress_put(kernel, card, policy->ethertype);
    if (status != 0) {
        return fail(answer, status, "attach a program to the egress", name);
    }
    if (send(child, &word, sizeof word, MSG_NOSIGNAL) != sizeof word ||
        !grant_receive(child, answer, granted)) {
        return fail(answer, -EIO, "receive the answer of its child", name);
    }
    if (answer->status == -EUSERS) {
        return refuse(answer, -EUSERS, "the user has the maximum number of endpoints of %s", name);
    }
    if (answer->status != 0) {
        return fail(answer, answer->status, "make a socket", name);
    }
    (void)socket_set_buffer(*granted, SO_SNDBUF, SEND_BUFFER_BYTES);
    return 0;
}

static int grant(int kernel, const struct policy *policy, uid_t user,
                 const struct grant_question *question, const struct socket_interface *card,
                 struct grant_answer *answer, int *granted)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return fail(answer, -errno, "make a socket", question->interface);
    }
    answer->number = question->number;
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        make_grant(ends[1], policy, user, card, answer);
        _exit(0);
    }
    (void)close(ends[1]);
    int status = child < 0 ? fail(answer, -errno, "start a process", question->interface)
                           : complete(kernel, ends[0], child, policy, card, answer, granted,
                                      question->interface);
    (void)close(ends[0]);
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
    }
    return status;
}

void serve_refuse(int connection, int status, const char *why)
{
    struct grant_answer answer = {.version = GRANT_VERSION};
    struct grant_question question;

    (void)refuse(&answer, status, "%s", why);
    /* A question that nobody has read when this is closed is an error there, and no answer. */
    (void)shutdown(connection, SHUT_RD);
    (void)recv(connection, &question, sizeof question, MSG_DONTWAIT);
    (void)grant_send(connection, &answer, -1);
}

void serve(int connection, uid_t user, const struct policy *policy)
{
    struct grant_question question = {0};
    struct grant_answer answer = {.version = GRANT_VERSION};
    struct socket_interface card = {0};
    int granted = -1;

    if (check(connection, policy, &question, &answer) == 0 &&
        check_interface(&answer, question.interface, &card) == 0) {
        int kernel = link_open();
        if (kernel < 0) {
            (void)fail(&answer, kernel, "open a netlink socket", question.interface);
        } else {
            (void)grant(kernel, policy, user, &question, &card, &answer, &granted);
        }
    }
    (void)grant_send(connection, &answer, answer.status == 0 ? granted : -1);
}
