/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp_or_cut.c - would a TCP connection carry medium and long messages quicker than what the lane
 * `tso` does? Bare sockets, with the copies of each, in two processes on two cores, at the ends of
 * a veth pair that the program makes.
 *
 *      tcp-or-cut-benchmark [BYTES [ROUNDS]]
 *
 * Ways: a TCP connection, read as a stream, and with a head of 32 bytes read first, as messages
 * need; a packet socket whose frames look like TCP's (lane/tso/tso_head.h), received without a copy
 * of ours (expected, straight to its place), with the receiver's, and with that and the sender's,
 * which keeps a message for as long as it may have to be sent again. Patterns: ping-pong (half a
 * round trip), and an exchange (each sends, then receives). Caches are idle, or both ends write 1
 * MiB of something else before each message. Ways take turns; printed are the 25th percentile and
 * the median, in us.
 */
#include "lane/tso/tso_head.h"
#include "namespace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD_BYTES 32
#define OTHER_BYTES (1u << 20)
#define ETHERTYPE 0x88B5
#define SEGMENT_BYTES 1460
#define CALL_BYTES (44 * SEGMENT_BYTES)
#define BUFFER_BYTES (8 << 20)
#define PORT 7777
#define TURNS 5
#define MOST_BYTES (4u << 20)

enum way { STREAM, HEADED, PLACED, COPIED, KEPT, WAYS };

static const char *const way_names[WAYS] = {"tcp, a stream", "tcp, a head read first",
                                            "cut, placed", "cut, copied by the receiver",
                                            "cut, copied at both ends"};

struct end {
    bool first;
    int stream;
    int packets;
    struct tso_segments to; /* all but what a call sends */
    uint8_t *source, *target, *room, *kept, *other;
    size_t bytes;
};

static void require(bool condition, const char *what)
{
    if (!condition) {
        perror(what);
        exit(1);
    }
}

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + (double)now.tv_nsec / 1e3;
}

static bool later(ssize_t result)
{
    require(result >= 0 || errno == EAGAIN || errno == ENOBUFS, "a message");
    return result < 0;
}

static void send_stream(const struct end *end, bool headed)
{
    uint8_t head[HEAD_BYTES] = {0};
    struct iovec parts[2] = {{head, headed ? sizeof head : 0}, {end->source, end->bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    size_t left = parts[0].iov_len + end->bytes;

    while (left > 0) {
        ssize_t sent = sendmsg(end->stream, &message, MSG_DONTWAIT);
        if (later(sent)) {
            continue;
        }
        left -= (size_t)sent;
        for (unsigned i = 0; i < 2; i++) {
            size_t of_part = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;
            parts[i].iov_base = (uint8_t *)parts[i].iov_base + of_part;
            parts[i].iov_len -= of_part;
            sent -= (ssize_t)of_part;
        }
    }
}

static void receive_stream(const struct end *end, uint8_t *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t received = recv(end->stream, to + done, bytes - done, MSG_DONTWAIT);
        done += later(received) ? 0 : (size_t)received;
        require(received != 0, "the other end has gone");
    }
}

static void send_cut(const struct end *end)
{
    for (size_t done = 0; done < end->bytes; done += CALL_BYTES) {
        struct tso_segments segments = end->to;
        struct tso_head head;
        size_t left = end->bytes - done;
        struct iovec parts[2] = {
            {&head, sizeof head},
            {end->source + done, left < CALL_BYTES ? left : CALL_BYTES},
        };
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        segments.offset = done;
        segments.bytes = (uint32_t)parts[1].iov_len;
        tso_head_write(&head, &segments);
        tso_head_align(&head, parts + 1, 1);
        while (later(sendmsg(end->packets, &message, MSG_DONTWAIT))) {
        }
    }
}

static void receive_cut(const struct end *end, bool placed)
{
    struct tso_head *head = (struct tso_head *)(void *)end->room;

    for (size_t done = 0; done < end->bytes;) {
        struct iovec parts[2] = {{head, sizeof *head}, {end->target + done, end->bytes - done}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        struct tso_segments segments;
        ssize_t received =
            placed ? recvmsg(end->packets, &message, MSG_DONTWAIT)
                   : recv(end->packets, end->room, UINT16_MAX + sizeof *head, MSG_DONTWAIT);
        if (later(received) || received <= (ssize_t)sizeof *head) {
            continue;
        }
        size_t bytes = (size_t)received - sizeof *head;
        if (!tso_head_read(head, (uint32_t)bytes, &segments) || segments.offset != done) {
            continue; /* not ours */
        }
        if (!placed) {
            memcpy(end->target + done, end->room + sizeof *head, bytes);
        }
        done += bytes;
    }
}

static void send_one(const struct end *end, enum way way)
{
    if (way == STREAM || way == HEADED) {
        send_stream(end, way == HEADED);
        return;
    }
    send_cut(end);
    if (way == KEPT) {
        memcpy(end->kept, end->source, end->bytes);
    }
}

static void receive_one(const struct end *end, enum way way)
{
    if (way == STREAM || way == HEADED) {
        if (way == HEADED) {
            receive_stream(end, end->room, HEAD_BYTES);
        }
        receive_stream(end, end->target, end->bytes);
        return;
    }
    receive_cut(end, way == PLACED);
}

/** @return us */
static double exchange(const struct end *end, enum way way, bool ping_pong)
{
    double begun = now_us();

    if (!ping_pong || end->first) {
        send_one(end, way);
        receive_one(end, way);
    } else {
        receive_one(end, way);
        send_one(end, way);
    }
    return (now_us() - begun) / (ping_pong ? 2 : 1);
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one;
    double b = *(const double *)other;

    return (a > b) - (a < b);
}

static void measure(const struct end *end, bool ping_pong, bool used, unsigned rounds)
{
    double *times = calloc((size_t)WAYS * TURNS * rounds, sizeof *times);

    require(times != NULL, "memory");
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (unsigned way = 0; way < WAYS; way++) {
            for (unsigned i = 0; i < rounds; i++) {
                for (unsigned at = 0; used && at < OTHER_BYTES; at += 64) {
                    end->other[at]++;
                }
                times[(way * TURNS + turn) * rounds + i] = exchange(end, way, ping_pong);
            }
        }
    }
    for (unsigned way = 0; end->first && way < WAYS; way++) {
        double *of_way = times + (size_t)way * TURNS * rounds;
        unsigned count = TURNS * rounds;
        qsort(of_way, count, sizeof *of_way, compare);
        printf("%7zu B  %-9s  caches %-4s  %-27s %8.2f %8.2f us\n", end->bytes,
               ping_pong ? "ping-pong" : "exchange", used ? "used" : "idle", way_names[way],
               of_way[count / 4], of_way[count / 2]);
    }
    free(times);
}

static void set(int socket, int level, int option, int value)
{
    require(setsockopt(socket, level, option, &value, sizeof value) == 0, "setsockopt");
}

/** Only what send_cut() sends: TCP's own frames pass by, for the 0.1 us that asking costs each. */
static void take_own_only(int packets)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, TSO_ETHERNET_BYTES + 16), /* IP's destination */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TSO_GROUP | ETHERTYPE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog filter = {sizeof code / sizeof *code, code};

    require(setsockopt(packets, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0,
            "filter");
}

static void open_packets(struct end *end, int control)
{
    const char *interface = end->first ? "end0" : "end1";
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETHERTYPE_IP),
                                  .sll_ifindex = (int)if_nametoindex(interface)};
    struct ifreq request = {0};

    namespace_wait_until_running(interface);
    end->packets = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    require(end->packets >= 0, "packet socket");
    set(end->packets, SOL_PACKET, PACKET_VNET_HDR, 1);
    set(end->packets, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
    set(end->packets, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
    (void)setsockopt(end->packets, SOL_SOCKET, SO_RCVBUFFORCE, &(int){BUFFER_BYTES}, sizeof(int));
    (void)setsockopt(end->packets, SOL_SOCKET, SO_SNDBUFFORCE, &(int){BUFFER_BYTES}, sizeof(int));
    take_own_only(end->packets);
    strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
    require(ioctl(end->packets, SIOCGIFHWADDR, &request) == 0, "MAC");
    end->to = (struct tso_segments){.ethertype = ETHERTYPE,
                                    .destination = 1,
                                    .kind = TSO_DATA,
                                    .message = 1,
                                    .segment_bytes = SEGMENT_BYTES};
    memcpy(end->to.from, request.ifr_hwaddr.sa_data, sizeof end->to.from);
    require(bind(end->packets, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    require(write(control, end->to.from, sizeof end->to.from) == sizeof end->to.from &&
                read(control, end->to.to, sizeof end->to.to) == sizeof end->to.to,
            "the other end's MAC");
}

static void open_stream(struct end *end, int control)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = inet_addr("10.77.0.1")};
    char ready = 0;
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    require(made >= 0, "socket");
    if (end->first) {
        require(bind(made, (struct sockaddr *)&address, sizeof address) == 0 &&
                    listen(made, 1) == 0 && write(control, &ready, 1) == 1,
                "listen");
        end->stream = accept(made, NULL, NULL);
        close(made);
    } else {
        require(read(control, &ready, 1) == 1 &&
                    connect(made, (struct sockaddr *)&address, sizeof address) == 0,
                "connect");
        end->stream = made;
    }
    require(end->stream >= 0, "accept");
    set(end->stream, IPPROTO_TCP, TCP_NODELAY, 1);
    require(setsockopt(end->stream, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) == 0 ||
                setsockopt(end->stream, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) == 0,
            "congestion control");
}

static uint8_t *memory(size_t bytes)
{
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    require(made != MAP_FAILED, "memory");
    return made;
}

static void be(bool first, size_t bytes, unsigned rounds, int control)
{
    struct end end = {.first = first,
                      .bytes = bytes,
                      .source = memory(bytes),
                      .target = memory(bytes),
                      .room = memory(UINT16_MAX + sizeof(struct tso_head)),
                      .kept = memory(bytes),
                      .other = memory(OTHER_BYTES)};
    cpu_set_t core;

    CPU_ZERO(&core);
    CPU_SET(first ? 0 : 1, &core);
    require(sched_setaffinity(0, sizeof core, &core) == 0, "a core of its own");
    open_packets(&end, control);
    open_stream(&end, control);
    for (unsigned i = 0; i < 4; i++) {
        measure(&end, i < 2, i % 2 == 1, rounds);
    }
}

int main(int argc, char **argv)
{
    int control[2];

    namespace_enter(argv);
    unsigned long bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
    unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 500;
    if (bytes == 0 || bytes > MOST_BYTES || rounds == 0 || rounds > 100000) {
        fprintf(stderr, "tcp-or-cut-benchmark [BYTES (to %u) [ROUNDS]]\n", MOST_BYTES);
        return 2;
    }
    int far = namespace_move_far_end();
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) == 0, "socketpair");
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        namespace_go(far);
        be(false, bytes, (unsigned)rounds, control[1]);
        return 0;
    }
    be(true, bytes, (unsigned)rounds, control[0]);
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
