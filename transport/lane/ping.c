/* SPDX-License-Identifier: BSD-3-Clause */
#include "ping.h"

#include "entropy.h"
#include "socket.h"

#include <netinet/in.h> /* before the kernel's headers: musl's yields to none */

#include <assert.h>
#include <errno.h>
#include <linux/icmp.h>
#include <netinet/icmp6.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

/** The most packets read while looking for an answer: a raw socket also gets those of others. */
#define LOOKS_MAX 64

/** An echo, and its answer, in both versions of ICMP. */
struct echo {
    uint8_t type;
    uint8_t code;
    uint16_t checksum;
    uint16_t identifier;
    uint16_t number;
    struct ping_question question;
};
static_assert(sizeof(struct echo) == 24, "no padding on the wire");

/** Internet checksum (RFC 1071). */
static uint16_t checksum_of(const struct echo *echo)
{
    uint16_t words[sizeof *echo / sizeof(uint16_t)];
    uint32_t sum = 0;

    memcpy(words, echo, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        sum += words[i];
    }
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

/** Makes a raw socket receive only answers. */
static void filter_answers(int socket, sa_family_t family)
{
    if (family == AF_INET) {
        struct icmp_filter filter = {.data = ~(1u << ICMP_ECHOREPLY)};
        (void)setsockopt(socket, SOL_RAW, ICMP_FILTER, &filter, sizeof filter);
    } else {
        struct icmp6_filter filter;
        ICMP6_FILTER_SETBLOCKALL(&filter);
        ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
        (void)setsockopt(socket, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter);
    }
}

void ping_begin(struct ping *ping, const struct sockaddr *own, socklen_t own_bytes)
{
    int protocol = own->sa_family == AF_INET ? IPPROTO_ICMP : (int)IPPROTO_ICMPV6;

    if (ping->begun) {
        return;
    }
    *ping = (struct ping){.begun = true};
    ping->can_ask = entropy_fill(ping->secret, sizeof ping->secret) == 0;
    ping->socket = socket(own->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (ping->socket < 0) {
        ping->socket = socket(own->sa_family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
        ping->raw = own->sa_family == AF_INET;
        if (ping->socket >= 0) {
            filter_answers(ping->socket, own->sa_family);
        }
    }
    if (ping->socket >= 0 && bind(ping->socket, own, own_bytes) != 0) {
        close(ping->socket);
        ping->socket = -1;
    }
}

/** Twenty bytes that identify a question. Their SipHash-2-4 proves that we have asked it. */
struct question_of {
    uint8_t ip[16];
    uint32_t mark;
};

struct ping_question ping_ask(const struct ping *ping, const struct sockaddr *host, uint32_t mark)
{
    static_assert(PING_SECRET_BYTES == crypto_shorthash_siphash24_KEYBYTES &&
                      sizeof(uint64_t) == crypto_shorthash_siphash24_BYTES,
                  "SipHash-2-4");
    struct ping_question question = {.mark = mark};
    struct question_of of = {.mark = mark};

    if (host->sa_family == AF_INET) {
        memcpy(of.ip, (const uint8_t *)host + offsetof(struct sockaddr_in, sin_addr), 4);
    } else {
        memcpy(of.ip, (const uint8_t *)host + offsetof(struct sockaddr_in6, sin6_addr),
               sizeof of.ip);
    }
    (void)crypto_shorthash_siphash24((uint8_t *)&question.secret, (const uint8_t *)&of, sizeof of,
                                     ping->secret);
    return question;
}

bool ping_is_right(const struct ping *ping, const struct ping_question *question,
                   const struct sockaddr *host)
{
    const struct ping_question asked = ping_ask(ping, host, question->mark);

    return memcmp(question, &asked, sizeof asked) == 0;
}

bool ping_echo(struct ping *ping, const struct sockaddr *to, socklen_t to_bytes, uint32_t mark)
{
    struct echo echo = {
        .type = to->sa_family == AF_INET ? ICMP_ECHO : ICMP6_ECHO_REQUEST,
        .identifier = (uint16_t)getpid(), /* a ping socket uses its own */
        .number = htons(ping->number++),
        .question = ping_ask(ping, to, mark),
    };

    if (ping->socket < 0 || !ping->can_ask) {
        return false;
    }
    echo.checksum = checksum_of(&echo); /* the kernel computes that of IPv6 */
    for (unsigned attempts = 0; attempts < 2; attempts++) {
        if (sendto(ping->socket, &echo, sizeof echo, MSG_DONTWAIT, to, to_bytes) >= 0) {
            return true;
        }
        (void)socket_take_error(ping->socket); /* of an earlier one */
    }
    return errno != EPERM && errno != EACCES; /* unreachable is an answer, too */
}

void ping_discard(struct ping *ping, int socket, struct sockaddr *to, socklen_t to_bytes,
                  uint32_t mark)
{
    const struct ping_question question = ping_ask(ping, to, mark);
    const in_port_t port = htons(PING_DISCARD_PORT);
    size_t at = to->sa_family == AF_INET ? offsetof(struct sockaddr_in, sin_port)
                                         : offsetof(struct sockaddr_in6, sin6_port);

    memcpy((uint8_t *)to + at, &port, sizeof port);
    if (ping->can_ask) {
        (void)!sendto(socket, &question, sizeof question, MSG_DONTWAIT, to, to_bytes);
    }
}

bool ping_is_refused(struct ping *ping, const uint8_t *quote, size_t quote_bytes,
                     const struct sockaddr *host, bool by_itself)
{
    struct ping_question question;

    if (!ping->begun || quote_bytes < sizeof question) {
        return false;
    }
    memcpy(&question, quote, sizeof question);
    if (!ping_is_right(ping, &question, host)) {
        return false;
    }
    if (by_itself && ping->refused_count < PING_REFUSALS_MAX) {
        ping->refused[ping->refused_count++] = question.mark;
    }
    return true;
}

/** Is it the answer of this host to an echo of ours? */
static bool is_answer(const struct ping *ping, const uint8_t *packet, size_t bytes,
                      const struct sockaddr *host, uint32_t *mark)
{
    size_t before = ping->raw && bytes > 0 ? (packet[0] & 0xFu) * 4u : 0;
    struct echo echo;

    if (bytes < before + sizeof echo) {
        return false;
    }
    memcpy(&echo, packet + before, sizeof echo);
    *mark = echo.question.mark;
    return (echo.type == ICMP_ECHOREPLY || echo.type == ICMP6_ECHO_REPLY) &&
           ping_is_right(ping, &echo.question, host);
}

enum lane_host ping_answer(struct ping *ping, uint32_t *mark)
{
    uint8_t packet[128];
    union {
        struct sockaddr any;
        struct sockaddr_in6 longest;
    } host = {.longest = {0}};

    if (!ping->begun) {
        return LANE_HOST_ASKED;
    }
    if (ping->refused_count > 0) {
        *mark = ping->refused[--ping->refused_count];
        return LANE_HOST_VOUCHES;
    }
    for (unsigned looks = 0; ping->socket >= 0 && looks < LOOKS_MAX; looks++) {
        socklen_t host_bytes = sizeof host;
        ssize_t bytes =
            recvfrom(ping->socket, packet, sizeof packet, MSG_DONTWAIT, &host.any, &host_bytes);
        if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        if (bytes > 0 && is_answer(ping, packet, (size_t)bytes, &host.any, mark)) {
            return LANE_HOST_ANSWERS;
        }
    }
    return LANE_HOST_ASKED;
}

void ping_end(struct ping *ping)
{
    if (ping->begun && ping->socket >= 0) {
        close(ping->socket);
    }
    ping->begun = false;
}
