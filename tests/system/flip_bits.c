/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flip_bits A B EVERY: joins two interfaces as a switch does whose memory is bad. What comes at one
 * leaves at the other; of each EVERYth frame one bit is another one, somewhere behind the addresses
 * of Ethernet. The frame check sequence is made anew, so nothing below notices.
 *
 * Says "ready" once frames are passed on, and ends when standard input is closed; then it says how
 * many frames it has damaged. Offloads have to be off at both ends: what is not in the frame yet
 * cannot be passed on.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_BYTES_MAX 65600
#define ADDRESSES_BYTES 12
#define AT_ONCE 64
#define BUFFER_BYTES (32 << 20)

struct bad_switch {
    uint64_t every;
    uint64_t frames;
    uint64_t damaged;
    uint64_t random;
};

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "flip_bits: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_port(const char *name)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int one = 1;
    int room = BUFFER_BYTES;
    int port = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    address.sll_ifindex = (int)if_nametoindex(name);
    struct packet_mreq all = {.mr_ifindex = address.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
    if (port < 0 || address.sll_ifindex == 0 ||
        setsockopt(port, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) != 0 ||
        setsockopt(port, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0 ||
        bind(port, (const struct sockaddr *)&address, sizeof address) != 0) {
        fail(name);
    }
    (void)setsockopt(port, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    return port;
}

/** splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(struct bad_switch *bad)
{
    uint64_t x = bad->random += UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static void pass_on(struct bad_switch *bad, int from, int to)
{
    static uint8_t frame[FRAME_BYTES_MAX];

    for (unsigned i = 0; i < AT_ONCE; i++) {
        ssize_t bytes = recv(from, frame, sizeof frame, MSG_DONTWAIT);
        if (bytes <= ADDRESSES_BYTES) {
            return;
        }
        if (++bad->frames % bad->every == 0) {
            uint64_t bit = next_random(bad) % (8 * ((uint64_t)bytes - ADDRESSES_BYTES));
            frame[ADDRESSES_BYTES + bit / 8] ^= (uint8_t)(1u << bit % 8);
            bad->damaged++;
        }
        (void)send(to, frame, (size_t)bytes, 0); /* what is not taken is lost, as in a switch */
    }
}

int main(int count, char **words)
{
    uint64_t every = count == 4 ? strtoull(words[3], NULL, 10) : 0;

    if (every == 0) {
        (void)fprintf(stderr, "usage: flip_bits A B EVERY\n");
        return 2;
    }
    struct bad_switch bad = {.every = every, .random = 1};
    struct pollfd ends[3] = {{.fd = open_port(words[1]), .events = POLLIN},
                             {.fd = open_port(words[2]), .events = POLLIN},
                             {.fd = STDIN_FILENO, .events = POLLIN}};
    (void)printf("ready\n");
    (void)fflush(stdout);
    while (poll(ends, 3, -1) >= 0 && ends[2].revents == 0) {
        pass_on(&bad, ends[0].fd, ends[1].fd);
        pass_on(&bad, ends[1].fd, ends[0].fd);
    }
    (void)printf("%llu of %llu\n", (unsigned long long)bad.damaged, (unsigned long long)bad.frames);
    return 0;
}
