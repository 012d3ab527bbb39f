/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refuse RULE[,RULE...] [when VARIABLE=VALUE[,VALUE...]] PROGRAM [ARGUMENT...]: runs a program
 * whose kernel refuses certain calls, as an older one, a container's profile or a hardened service
 * does. With `when`, only where the environment says so: on one rank, or one host. `refuse list`
 * prints the rules.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sockios.h>

/** Arguments that a rule looks at, at most. */
#define ARGUMENTS 2

struct argument {
    unsigned number; /**< 1: the first; 0: none is looked at */
    uint32_t value;
};

/** A call that is refused if it has these arguments. */
struct rule {
    const char *name;
    long call;
    int error;
    struct argument arguments[ARGUMENTS];
};

#define OPTION(level, name)                                                                        \
    {                                                                                              \
        {2, (level)},                                                                              \
        {                                                                                          \
            3, (name)                                                                              \
        }                                                                                          \
    }

static const struct rule rules[] = {
    {"memfd", SYS_memfd_create, EACCES, {{0}}},
    {"memfd-old", SYS_memfd_create, ENOSYS, {{0}}},
    {"read-memory", SYS_process_vm_readv, EPERM, {{0}}},
    {"read-memory-old", SYS_process_vm_readv, ENOSYS, {{0}}},
    {"set-affinity", SYS_sched_setaffinity, EPERM, {{0}}},
    {"get-affinity", SYS_sched_getaffinity, EPERM, {{0}}},
    {"packet", SYS_socket, EAFNOSUPPORT, {{1, AF_PACKET}}},
    {"packet-right", SYS_socket, EPERM, {{1, AF_PACKET}}},
    {"netlink", SYS_socket, EAFNOSUPPORT, {{1, AF_NETLINK}}},
    {"unix", SYS_socket, EAFNOSUPPORT, {{1, AF_UNIX}}},
    {"udp-socket", SYS_socket, EACCES, {{1, AF_INET}}},
    {"statx", SYS_statx, EPERM, {{0}}},
    {"random", SYS_getrandom, ENOSYS, {{0}}},
    {"random-denied", SYS_getrandom, EPERM, {{0}}},
    {"mlock", SYS_mlock, EPERM, {{0}}},
    {"madvise", SYS_madvise, EINVAL, {{0}}},
    {"membarrier", SYS_membarrier, EPERM, {{0}}},
    {"epoll", SYS_epoll_create1, ENOSYS, {{0}}},
    {"epoll-pwait2", SYS_epoll_pwait2, EPERM, {{0}}},
    {"rseq", SYS_rseq, ENOSYS, {{0}}},
    {"eventfd", SYS_eventfd2, EMFILE, {{0}}},
    {"timerfd", SYS_timerfd_create, ENOSYS, {{0}}},
    {"thread", SYS_clone3, ENOSYS, {{0}}},
    {"prctl", SYS_prctl, EPERM, {{1, PR_SET_TIMERSLACK}}},
    {"recvmmsg", SYS_recvmmsg, ENOSYS, {{0}}},
    {"sendmmsg", SYS_sendmmsg, ENOSYS, {{0}}},
    {"sendmmsg-denied", SYS_sendmmsg, EPERM, {{0}}},
    {"ethtool", SYS_ioctl, EPERM, {{2, SIOCETHTOOL}}},
    {"fionread", SYS_ioctl, EPERM, {{2, FIONREAD}}},
    {"gro", SYS_setsockopt, ENOPROTOOPT, OPTION(SOL_UDP, UDP_GRO)},
    {"udp-options", SYS_setsockopt, ENOPROTOOPT, {{2, SOL_UDP}}},
    {"segment", SYS_getsockopt, ENOPROTOOPT, OPTION(SOL_UDP, UDP_SEGMENT)},
    {"unicast-if", SYS_setsockopt, ENOPROTOOPT, OPTION(SOL_IP, IP_UNICAST_IF)},
    {"recverr", SYS_setsockopt, ENOPROTOOPT, OPTION(SOL_IP, IP_RECVERR)},
    {"mtu-discover", SYS_setsockopt, ENOPROTOOPT, OPTION(SOL_IP, IP_MTU_DISCOVER)},
    {"tcp-key", SYS_setsockopt, ENOPROTOOPT, OPTION(IPPROTO_TCP, 32)}, /* TCP_MD5SIG_EXT */
    {"buffers", SYS_setsockopt, EPERM, OPTION(SOL_SOCKET, SO_RCVBUF)},
    {"filter", SYS_setsockopt, EPERM, OPTION(SOL_SOCKET, SO_ATTACH_FILTER)},
    {"lock-filter", SYS_setsockopt, ENOPROTOOPT, OPTION(SOL_SOCKET, SO_LOCK_FILTER)},
    {"packet-version", SYS_setsockopt, EINVAL, OPTION(SOL_PACKET, PACKET_VERSION)},
    {"packet-ring", SYS_setsockopt, ENOMEM, OPTION(SOL_PACKET, PACKET_RX_RING)},
    {"qdisc-bypass", SYS_setsockopt, ENOPROTOOPT, OPTION(SOL_PACKET, PACKET_QDISC_BYPASS)},
    {"vnet-header", SYS_setsockopt, ENOPROTOOPT, OPTION(SOL_PACKET, PACKET_VNET_HDR)},
    {"fanout", SYS_setsockopt, ENOPROTOOPT, OPTION(SOL_PACKET, PACKET_FANOUT)},
    {"peer-credentials", SYS_getsockopt, ENOPROTOOPT, OPTION(SOL_SOCKET, SO_PEERCRED)},
    {"meminfo", SYS_getsockopt, ENOPROTOOPT, OPTION(SOL_SOCKET, SO_MEMINFO)},
};

#define RULES (sizeof rules / sizeof *rules)

static _Noreturn void fail(const char *what, const char *about)
{
    (void)fprintf(stderr, "refuse: %s: %s\n", about, what);
    exit(99);
}

static uint32_t offset_of(const struct argument *argument)
{
    return (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (argument->number - 1));
}

/** Installs a filter for one rule; those of several add up. */
static void apply(const struct rule *rule)
{
    struct sock_filter code[4 + 2 * ARGUMENTS];
    unsigned short count = 0;
    unsigned given = 0;

    while (given < ARGUMENTS && rule->arguments[given].number > 0) {
        given++;
    }
    code[count++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    code[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->call, 0,
                                                 (uint8_t)(2 * given + 1));
    for (unsigned i = 0; i < given; i++) {
        code[count++] =
            (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset_of(&rule->arguments[i]));
        code[count++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, rule->arguments[i].value, 0, (uint8_t)(2 * (given - i) - 1));
    }
    code[count++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)rule->error);
    code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = count, .filter = code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)) {
        fail(strerror(errno), "no filter can be installed");
    }
}

static void apply_all(char *names)
{
    for (char *name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
        size_t i = 0;
        while (i < RULES && strcmp(rules[i].name, name) != 0) {
            i++;
        }
        if (i == RULES) {
            fail("there is no such rule", name);
        }
        apply(&rules[i]);
    }
}

/** Does the environment say so? @param condition VARIABLE=VALUE[,VALUE...] */
static bool holds(char *condition)
{
    char *values = strchr(condition, '=');

    if (values == NULL) {
        fail("has to be VARIABLE=VALUE[,VALUE...]", condition);
    }
    *values++ = '\0';
    const char *is = getenv(condition);
    for (char *value = strtok(values, ","); value != NULL && is != NULL;
         value = strtok(NULL, ",")) {
        if (strcmp(value, is) == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    int program = 2;

    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < RULES; i++) {
            (void)puts(rules[i].name);
        }
        return 0;
    }
    bool conditional = argc > 4 && strcmp(argv[2], "when") == 0;
    program += conditional ? 2 : 0;
    if (argc <= program) {
        fail("usage: refuse RULE[,RULE...] [when VARIABLE=VALUE[,VALUE...]] PROGRAM...", "too few");
    }
    if (!conditional || holds(argv[3])) {
        apply_all(argv[1]);
    }
    (void)execvp(argv[program], argv + program);
    fail(strerror(errno), argv[program]);
}
