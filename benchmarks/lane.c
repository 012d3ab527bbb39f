/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.c - what a lane costs by itself, without the layers above: both ends in one process and on
 * one core, in two network namespaces joined by a veth pair that the program makes.
 *
 *      lane-benchmark packet|xdp|udp [MTU]
 *
 * Prints the median time that a send(), and the receive() of what it sent, take a frame, by turns,
 * and the time of a frame's checksum. Nothing else on the machine disturbs a median much, and the
 * slower of both bounds the rate of bulk data. Between two processes, `beowire compare` measures
 * the drivers beowire-packet, beowire-udp and beowire-xdp.
 */
#include "frame/address_layout.h"
#include "frame/crc32c.h"
#include "frame/frame.h"
#include "lane/clock.h"
#include "lane/packet/packet.h"
#include "lane/udp/udp.h"
#include "lane/xdp/xdp.h"
#include "namespace.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATA_HEAD_BYTES ((uint32_t)sizeof(struct frame_data))
#define MESSAGE_BYTES (4u << 20)
#define BATCH_FRAMES 64
#define ENDPOINT 1
#define STALLED_NS UINT64_C(2000000000)

struct side {
    struct lane *lane;
    struct lane_address to;
};

static void require(bool condition, const char *what)
{
    if (!condition) {
        perror(what);
        exit(1);
    }
}

/** The head of a frame of a long message. */
static uint8_t *encode_data(uint8_t *room, uint32_t message, uint32_t segment)
{
    uint8_t *head = room + LANE_HEADROOM;
    struct frame_data data = frame_encode_data(ENDPOINT, 0, message);

    frame_data_set_segment(&data, segment);
    memcpy(head, &data, sizeof data);
    return head;
}

static void send_all(struct side *side, struct lane_outgoing *frames, unsigned count)
{
    unsigned sent = 0;
    uint64_t since_ns = clock_now_ns();

    while (sent < count) {
        sent += side->lane->operations->send(side->lane, &side->to, frames + sent, count - sent);
        require(clock_now_ns() - since_ns < STALLED_NS, "the lane takes nothing");
    }
}

static unsigned receive(struct side *side, struct lane_incoming *frames)
{
    uint64_t since_ns = 0;

    for (unsigned polls = 0;; polls++) {
        unsigned count = side->lane->operations->receive(side->lane, frames, BATCH_FRAMES);
        if (count > 0) {
            return count;
        }
        if (polls % 100000 == 0) {
            since_ns = since_ns == 0 ? clock_now_ns() : since_ns;
            require(clock_now_ns() - since_ns < STALLED_NS, "nothing comes: a frame was lost");
        }
    }
}

static void set_mtu(const char *interface, int mtu)
{
    struct ifreq request = {.ifr_mtu = mtu};
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    require(control >= 0 && ioctl(control, SIOCSIFMTU, &request) == 0, "MTU");
    close(control);
}

static struct lane *open_lane(const char *kind, const char *interface)
{
    const struct packet_lane_options frames = {
        .interface = interface, .ethertype = 0x88B5, .endpoint = ENDPOINT};
    struct lane *lane = NULL;

    if (strcmp(kind, "udp") == 0) {
        require(udp_lane_open(&(struct udp_lane_options){.interface = interface}, &lane) == 0,
                "the UDP lane");
    } else if (strcmp(kind, "xdp") == 0) {
        require(xdp_lane_open(&frames, &lane) == 0, "the lane xdp");
    } else {
        require(packet_lane_open(&frames, &lane) == 0, "the packet lane");
    }
    return lane;
}

static struct address_layout address_of(const struct lane *lane)
{
    struct address_layout own = {
        .version = ADDRESS_VERSION, .rails = 1, .ethertype = to_le16(0x88B5)};

    lane->operations->publish(lane, &own);
    return own;
}

struct cost {
    unsigned frames; /* in one send() */
    uint32_t payload_bytes;
    bool placed;
};

static int by_time(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static double median(uint64_t *times_ns, unsigned count)
{
    qsort(times_ns, count, sizeof *times_ns, by_time);
    unsigned middle = count / 2;
    return (double)times_ns[middle];
}

/** Takes what has been sent, and puts it where it belongs. */
static void take(struct side *to, uint8_t *target, unsigned frames)
{
    struct lane_incoming incoming[BATCH_FRAMES];

    for (unsigned taken = 0; taken < frames;) {
        unsigned count = receive(to, incoming);
        for (unsigned i = 0; i < count; i++) {
            if (incoming[i].payload == NULL && incoming[i].bytes > DATA_HEAD_BYTES) {
                memcpy(target, incoming[i].data + DATA_HEAD_BYTES,
                       incoming[i].bytes - DATA_HEAD_BYTES);
            }
            target += incoming[i].bytes - DATA_HEAD_BYTES;
        }
        to->lane->operations->release(to->lane);
        taken += count;
    }
}

static void measure_cost(struct side *from, struct side *to, const struct cost *cost,
                         uint8_t *source, uint8_t *target)
{
    enum { ROUNDS = 4001 };
    static uint64_t send_ns[ROUNDS];
    static uint64_t receive_ns[ROUNDS];
    static uint8_t rooms[BATCH_FRAMES][LANE_HEADROOM + DATA_HEAD_BYTES];
    struct lane_outgoing frames[BATCH_FRAMES];
    uint32_t bytes = cost->frames * cost->payload_bytes;
    uint32_t offset = 0;
    uint64_t placed = to->lane->placed_frames;

    for (unsigned round = 0; round < ROUNDS; round++) {
        offset = offset + bytes <= MESSAGE_BYTES ? offset : 0;
        for (unsigned i = 0; i < cost->frames; i++) {
            uint64_t at = offset + (uint64_t)i * cost->payload_bytes;
            uint32_t segment = (uint32_t)(at / cost->payload_bytes);
            frames[i] = (struct lane_outgoing){.head = encode_data(rooms[i], round, segment),
                                               .head_bytes = DATA_HEAD_BYTES,
                                               .payload = source + at,
                                               .payload_bytes = cost->payload_bytes};
        }
        if (cost->placed) {
            to->lane->operations->expect(
                to->lane, &(struct lane_expectation){.target = target + offset,
                                                     .frames = cost->frames,
                                                     .head_bytes = DATA_HEAD_BYTES,
                                                     .payload_bytes = cost->payload_bytes,
                                                     .bytes = bytes,
                                                     .message = round,
                                                     .offset = offset,
                                                     .from = to->to});
        }
        uint64_t begin_ns = clock_now_ns();
        send_all(from, frames, cost->frames);
        uint64_t sent_ns = clock_now_ns();
        take(to, target + offset, cost->frames);
        receive_ns[round] = clock_now_ns() - sent_ns;
        send_ns[round] = sent_ns - begin_ns;
        offset += bytes;
    }
    double sent = median(send_ns, ROUNDS);
    double received = median(receive_ns, ROUNDS);
    double slower = sent > received ? sent : received;
    (void)printf("  %2u frames of %4u bytes%s: send %6.0f ns a frame, receive %6.0f ns",
                 cost->frames, cost->payload_bytes,
                 to->lane->placed_frames > placed ? ", placed" : "", sent / cost->frames,
                 received / cost->frames);
    if (bytes > 0) {
        (void)printf("; at most %5.2f GB/s", (double)bytes / slower);
    }
    (void)printf("\n");
}

static void *make_data(uint8_t filling)
{
    uint8_t *data = mmap(NULL, MESSAGE_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    require(data != MAP_FAILED, "memory");
    memset(data, filling, MESSAGE_BYTES);
    return data;
}

/** What the checksum of such a frame takes beside that, at either end. */
static void measure_checksum(const uint8_t *source, uint32_t payload_bytes, const char *means,
                             uint32_t (*add)(uint32_t state, const void *data, size_t bytes))
{
    enum { ROUNDS = 4001, FRAMES = 16 };
    static uint64_t took_ns[ROUNDS];
    const uint32_t bytes = FRAMES * payload_bytes;
    uint32_t state = CRC32C_BEGIN;
    uint32_t offset = 0;

    for (unsigned round = 0; round < ROUNDS; round++, offset += bytes) {
        offset = offset + bytes <= MESSAGE_BYTES ? offset : 0;
        uint64_t begin_ns = clock_now_ns();
        for (unsigned i = 0; i < FRAMES; i++) {
            state = add(state, source + offset + i * payload_bytes, payload_bytes);
        }
        took_ns[round] = clock_now_ns() - begin_ns;
    }
    (void)printf("  checksum (%s) of %4u bytes: %6.0f ns (%08x)\n", means, payload_bytes,
                 median(took_ns, ROUNDS) / (double)FRAMES, state);
}

/** Both lanes in this process. */
static void measure_costs(const char *kind, int mtu, int here, int far)
{
    uint8_t *source = make_data(1);
    uint8_t *target = make_data(2);
    struct side a = {.lane = open_lane(kind, "end0")};

    namespace_go(far);
    struct side b = {.lane = open_lane(kind, "end1")};
    namespace_go(here);
    struct address_layout of_a = address_of(a.lane);
    struct address_layout of_b = address_of(b.lane);
    require(a.lane->operations->reach(a.lane, &of_b, &a.to) == 0 &&
                b.lane->operations->reach(b.lane, &of_a, &b.to) == 0,
            "reach");
    uint32_t full = a.lane->frame_bytes - DATA_HEAD_BYTES;
    unsigned batch = a.lane->batch_frames < BATCH_FRAMES ? a.lane->batch_frames : BATCH_FRAMES;
    const struct cost costs[] = {
        {1, 8, false}, {32, 8, false}, {1, full, false}, {batch, full, false}, {batch, full, true},
    };
    (void)printf("cost (%s, MTU %d)\n", kind, mtu);
    for (unsigned i = 0; i < sizeof costs / sizeof *costs; i++) {
        if (!costs[i].placed || b.lane->operations->expect != NULL) {
            measure_cost(&a, &b, &costs[i], source, target);
        }
    }
    measure_checksum(source, full, crc32c_means(), crc32c_add);
    measure_checksum(source, full, "streams", crc32c_add_by_streams);
    a.lane->operations->close(a.lane);
    b.lane->operations->close(b.lane);
}

static void pin_to_first_core(void)
{
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET(0, &cores);
    require(sched_setaffinity(0, sizeof cores, &cores) == 0, "the first core");
}

int main(int argc, char **argv)
{
    if (argc < 2 || (strcmp(argv[1], "packet") != 0 && strcmp(argv[1], "xdp") != 0 &&
                     strcmp(argv[1], "udp") != 0)) {
        (void)fprintf(stderr, "usage: lane-benchmark packet|xdp|udp [MTU]\n");
        return 2;
    }
    int mtu = argc > 2 ? atoi(argv[2]) : 1500; /* NOLINT: a wrong one is refused below */
    if (mtu < 576 || mtu > 65535) {
        (void)fprintf(stderr, "lane-benchmark: the MTU is 576 to 65535\n");
        return 2;
    }
    namespace_enter(argv);
    int far = namespace_move_far_end();
    int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    require(here >= 0, "this namespace");
    set_mtu("end0", mtu);
    namespace_go(far);
    set_mtu("end1", mtu);
    namespace_go(here);
    pin_to_first_core();
    measure_costs(argv[1], mtu, here, far);
    return 0;
}
