/* SPDX-License-Identifier: BSD-3-Clause */
#include "witness.h"

#include "socket.h"

#include <netinet/in.h> /* before the kernel's headers: musl's yields to none */

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/** From linux/tcp.h, which conflicts with netinet/tcp.h; the latter has no prefix everywhere. */
#define KEY_OPTION 32 /* TCP_MD5SIG_EXT */
#define KEY_HAS_PREFIX 1
struct key {
    struct sockaddr_storage address;
    uint8_t flags;
    uint8_t prefix_bits;
    uint16_t key_bytes;
    int index;
    uint8_t key[80];
};
static_assert(sizeof(struct key) == 216, "struct tcp_md5sig");

/** The state of a question: sockets, and whether TCP gets through. */
enum { WITH_KEY, NEXT_PORT, PRIVILEGED_PORT, KNOWN };
static_assert(KNOWN + 1 == LANE_WITNESS_CALLS, "lane.h");
enum known { NOTHING, COMES_THROUGH, IS_KEPT_BACK, WAS_PROVEN };

/** TCP's discard port: only root can listen there without answering. Both other ports are the same
 *  each time, so that a firewall sees no port scan. */
#define DISCARD_PORT 9

union place {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/** An idle connection is checked after a second, three times, because its host may have been
 *  restarted. */
#define KEEPALIVE_S 1
#define KEEPALIVE_TIMES 3

/** The most peers that wait for one process; the kernel has its own limit. */
#define CALLS_MAX 4096

/** @param with the other end for which the key is; NULL: all of that family */
static int set_key(int socket, sa_family_t family, const struct sockaddr *with, socklen_t bytes,
                   const uint8_t key[LANE_WITNESS_KEY_BYTES])
{
    struct key option = {
        .address.ss_family = family,
        .flags = KEY_HAS_PREFIX,
        .key_bytes = LANE_WITNESS_KEY_BYTES,
    };

    if (with != NULL) {
        memcpy(&option.address, with, bytes);
        option.prefix_bits = family == AF_INET ? 32 : 128;
    }
    memcpy(option.key, key, LANE_WITNESS_KEY_BYTES);
    int status = setsockopt(socket, IPPROTO_TCP, KEY_OPTION, &option, sizeof option);
    return status != 0 ? -errno : 0;
}

static int closed(int socket, int error)
{
    close(socket);
    return error;
}

int witness_reserve(const struct sockaddr *own, socklen_t bytes)
{
    int made = socket(own->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (made < 0) {
        return -errno;
    }
    /* Only sockets of the same user may share the port. */
    int status = socket_set(made, SOL_SOCKET, SO_REUSEPORT, 1);
    if (status != 0) {
        return closed(made, status);
    }
    return bind(made, own, bytes) == 0 ? made : closed(made, -errno);
}

int witness_listen(int socket, sa_family_t family, const uint8_t key[LANE_WITNESS_KEY_BYTES])
{
    int status = set_key(socket, family, NULL, 0, key); /* before anybody can ask */

    return status != 0 ? status : listen(socket, CALLS_MAX) != 0 ? -errno : 0;
}

unsigned witness_room(int socket)
{
    struct tcp_info info = {0};
    socklen_t length = sizeof info;

    /* For a listening socket this is the length of its queue (tcp(7) does not say so). */
    int status = getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length);
    return status == 0 ? info.tcpi_sacked : CALLS_MAX;
}

void witness_clear(int socket)
{
    int asked = 0;

    for (unsigned i = 0; i < CALLS_MAX && (asked = accept4(socket, NULL, NULL, 0)) >= 0; i++) {
        close(asked);
    }
}

/** @param key NULL: none. @return a socket that connects; a negative errno. */
static int ask(const struct sockaddr *own, const struct sockaddr *to, socklen_t bytes,
               const uint8_t *key)
{
    bool v4 = to->sa_family == AF_INET;
    int made = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (made < 0) {
        return -errno;
    }
    int status = key != NULL
                     ? set_key(made, to->sa_family, to, bytes, key)
                     : socket_set(made, v4 ? SOL_IP : SOL_IPV6, v4 ? IP_RECVERR : IPV6_RECVERR, 1);
    if (status != 0) {
        return closed(made, status);
    }
    (void)socket_set(made, SOL_SOCKET, SO_KEEPALIVE, 1);
    (void)socket_set(made, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S);
    (void)socket_set(made, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_S);
    (void)socket_set(made, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_TIMES);
    if (bind(made, own, bytes) != 0) {
        return closed(made, -errno);
    }
    /* witness_state() reports the result, unless nothing was asked. */
    if (connect(made, to, bytes) != 0 && errno != EINPROGRESS && errno != ECONNREFUSED) {
        return closed(made, -errno);
    }
    return made;
}

static in_port_t *port_of(union place *place)
{
    return place->any.sa_family == AF_INET ? &place->v4.sin_port : &place->v6.sin6_port;
}

int witness_call(const struct sockaddr *own, const struct sockaddr *to, socklen_t bytes,
                 const uint8_t key[LANE_WITNESS_KEY_BYTES], int called[LANE_WITNESS_CALLS])
{
    union place other = {.v6 = {0}};

    memcpy(&other, to, bytes);
    called[KNOWN] = NOTHING;
    called[PRIVILEGED_PORT] = -1;
    called[WITH_KEY] = ask(own, to, bytes, key);
    if (called[WITH_KEY] < 0) {
        return called[WITH_KEY];
    }
    *port_of(&other) = htons((uint16_t)(ntohs(*port_of(&other)) ^ 1u));
    called[NEXT_PORT] = ask(own, &other.any, bytes, NULL);
    *port_of(&other) = htons(DISCARD_PORT);
    called[PRIVILEGED_PORT] = ask(own, &other.any, bytes, NULL);
    if (called[NEXT_PORT] < 0 && called[PRIVILEGED_PORT] < 0) {
        return closed(called[WITH_KEY], called[NEXT_PORT]);
    }
    return 0;
}

/** Has the host itself answered at a socket without a key? A host refuses by TCP, a firewall by
 *  ICMP. No answer for two minutes (tcp_syn_retries) means no. */
static bool is_answered(int *socket)
{
    struct pollfd asked = {.fd = *socket, .events = POLLOUT};
    uint8_t control[256];
    struct msghdr message = {.msg_control = control, .msg_controllen = sizeof control};

    if (*socket < 0 || poll(&asked, 1, 0) == 0) {
        return false;
    }
    bool by_icmp = recvmsg(*socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0;
    bool timed_out = socket_take_error(*socket) == ETIMEDOUT;
    close(*socket); /* it has told what it can */
    *socket = -1;
    return !by_icmp && !timed_out;
}

/** Was the question with a key refused or lost on the path? A host's refusals by TCP are not
 *  signed, and so ignored. */
static bool is_kept_back(int socket, int known)
{
    int error = socket_take_error(socket);

    return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH ||
           error == EACCES || (error == ETIMEDOUT && known == NOTHING);
}

enum lane_witness witness_state(int called[LANE_WITNESS_CALLS])
{
    struct pollfd asked = {.fd = called[WITH_KEY], .events = POLLIN | POLLOUT};
    bool pending = poll(&asked, 1, 0) == 0;

    if (!pending && asked.revents == POLLOUT) {
        called[KNOWN] = WAS_PROVEN;
        return LANE_WITNESS_PROVES;
    }
    if (called[KNOWN] == NOTHING &&
        (is_answered(&called[NEXT_PORT]) || is_answered(&called[PRIVILEGED_PORT]))) {
        called[KNOWN] = COMES_THROUGH;
    }
    if (!pending && called[KNOWN] != IS_KEPT_BACK) {
        if (!is_kept_back(called[WITH_KEY], called[KNOWN])) {
            return LANE_WITNESS_ENDED;
        }
        called[KNOWN] = IS_KEPT_BACK;
    }
    return called[KNOWN] == COMES_THROUGH ? LANE_WITNESS_SILENT : LANE_WITNESS_UNKNOWN;
}

void witness_dismiss(const int called[LANE_WITNESS_CALLS])
{
    for (unsigned i = WITH_KEY; i < KNOWN; i++) {
        if (called[i] >= 0) {
            close(called[i]);
        }
    }
}
