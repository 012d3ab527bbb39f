/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.c - what a lane can do by itself, without the layers above: two processes, each on a core of
 * its own, in two network namespaces joined by a veth pair that the program makes.
 *
 *      lane-benchmark packet|xdp|udp [MTU [SECONDS [PATTERN]]]
 *
 * ping-pong: half round trip of one frame of 54 bytes (8 of data), both ends polling.
 * bulk: DATA frames of a 4 MiB message, asked for in blocks as a receiver-driven pull does; the
 *     receiver puts them into the message's buffer, by copying or, "placed", by recvmsg itself.
 * frames: short frames one way, 32 in a call; "mixed" ones differ in length.
 * cost: both ends in one process and on one core, in turns: the median time that a send(), and the
 *     receive() of what it sent, take a frame. Nothing else on the machine disturbs a median much,
 *     and the slower of both bounds the rate of bulk data. And what the checksum of one takes.
 */
#include "frame/address_layout.h"
#include "frame/crc32c.h"
#include "frame/frame.h"
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHORT_FRAME_BYTES 54
#define DATA_HEAD_BYTES ((uint32_t)sizeof(struct frame_data))
#define MESSAGE_BYTES (4u << 20)
#define BATCH_FRAMES 64
#define ENDPOINT 1
#define STALLED_NS UINT64_C(2000000000)

enum pattern {
    PING_PONG,
    BULK_COPIED,
    BULK_PLACED,
    FRAMES_EQUAL,
    FRAMES_MIXED,
    PATTERNS,
};

static const char *const pattern_names[PATTERNS] = {"ping-pong", "bulk, copied", "bulk, placed",
                                                    "frames, equal", "frames, mixed"};

struct side {
    struct lane *lane;
    struct lane_address to;
    int control; /* to the other process */
    uint64_t run_ns;
};

static void require(bool condition, const char *what)
{
    if (!condition) {
        perror(what);
        exit(1);
    }
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint8_t *encode(uint8_t *room, enum frame_type type)
{
    uint8_t *head = room + LANE_HEADROOM;

    memset(head, 0, SHORT_FRAME_BYTES);
    frame_encode(head, &(struct frame_fields){.type = type, .destination = ENDPOINT});
    return head;
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

static uint32_t segment_of(const uint8_t *head)
{
    return frame_data_segment((const struct frame_data *)(const void *)head);
}

static void send_all(struct side *side, struct lane_outgoing *frames, unsigned count)
{
    unsigned sent = 0;
    uint64_t since_ns = now_ns();

    while (sent < count) {
        sent += side->lane->operations->send(side->lane, &side->to, frames + sent, count - sent);
        require(now_ns() - since_ns < STALLED_NS, "the lane takes nothing");
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
            since_ns = since_ns == 0 ? now_ns() : since_ns;
            require(now_ns() - since_ns < STALLED_NS, "nothing comes: a frame was lost");
        }
    }
}

static void receive_one(struct side *side)
{
    struct lane_incoming frames[BATCH_FRAMES];

    require(receive(side, frames) == 1, "one frame");
    side->lane->operations->release(side->lane);
}

static void ping_pong(struct side *side, bool first)
{
    uint8_t room[LANE_HEADROOM + SHORT_FRAME_BYTES];
    struct lane_outgoing frame = {.head = encode(room, FRAME_EAGER),
                                  .head_bytes = SHORT_FRAME_BYTES};
    uint64_t begin_ns = now_ns();
    uint64_t rounds = 0;
    uint8_t *last = frame.head + SHORT_FRAME_BYTES - 1;
    struct lane_incoming frames[BATCH_FRAMES];

    for (; first; rounds++) {
        *last = now_ns() - begin_ns >= side->run_ns;
        send_all(side, &frame, 1);
        receive_one(side);
        if (*last) {
            (void)printf("%8.3f us half round trip",
                         (double)(now_ns() - begin_ns) / (double)rounds / 2e3);
            return;
        }
    }
    do {
        require(receive(side, frames) == 1, "one frame");
        *last = frames[0].data[SHORT_FRAME_BYTES - 1];
        side->lane->operations->release(side->lane);
        send_all(side, &frame, 1);
    } while (!*last);
}

/** Asks for bytes [offset, end of the message): what a pull request says. */
static void ask(struct side *side, uint32_t message)
{
    uint8_t room[LANE_HEADROOM + SHORT_FRAME_BYTES];
    struct lane_outgoing frame = {.head = encode(room, FRAME_EAGER),
                                  .head_bytes = SHORT_FRAME_BYTES};

    memcpy(frame.head + 28, &message, sizeof message);
    send_all(side, &frame, 1);
}

static void send_block(struct side *side, const uint8_t *data, uint32_t message, uint32_t offset,
                       uint32_t bytes)
{
    static uint8_t rooms[BATCH_FRAMES][LANE_HEADROOM + DATA_HEAD_BYTES];
    struct lane_outgoing frames[BATCH_FRAMES];
    uint32_t payload_bytes = side->lane->frame_bytes - DATA_HEAD_BYTES;
    unsigned count = 0;

    for (uint32_t at = offset; at < offset + bytes; at += payload_bytes) {
        uint32_t left = offset + bytes - at;
        uint8_t *room = rooms[count];
        frames[count++] =
            (struct lane_outgoing){.head = encode_data(room, message, at / payload_bytes),
                                   .head_bytes = DATA_HEAD_BYTES,
                                   .payload = data + at,
                                   .payload_bytes = left < payload_bytes ? left : payload_bytes};
        if (count == BATCH_FRAMES || count == side->lane->batch_frames) {
            send_all(side, frames, count);
            count = 0;
        }
    }
    send_all(side, frames, count);
}

/** Whole trains, so that a block does not end in the middle of one; several of them fit what may be
 *  on its way. */
static uint32_t block_bytes_of(const struct lane *lane)
{
    uint32_t train = lane->batch_frames * (lane->frame_bytes - DATA_HEAD_BYTES);
    uint64_t blocks = lane->capacity_bytes / 4 / train;

    return train * (uint32_t)(blocks < 1 ? 1 : blocks > 2 ? 2 : blocks);
}

#define BLOCKS_AHEAD 3

static void bulk_send(struct side *side, uint8_t *data)
{
    struct lane_incoming frames[BATCH_FRAMES];
    uint32_t block = block_bytes_of(side->lane);

    memset(data, 1, MESSAGE_BYTES);
    for (uint32_t offset = 0;;) {
        unsigned count = receive(side, frames);
        for (unsigned i = 0; i < count; i++) {
            uint32_t message;
            memcpy(&message, frames[i].data + 28, sizeof message);
            if (message == UINT32_MAX) {
                side->lane->operations->release(side->lane);
                return;
            }
            uint32_t bytes = MESSAGE_BYTES - offset < block ? MESSAGE_BYTES - offset : block;
            send_block(side, data, message, offset, bytes);
            offset = offset + bytes < MESSAGE_BYTES ? offset + bytes : 0;
        }
        side->lane->operations->release(side->lane);
    }
}

static void expect(struct side *side, uint8_t *target, uint32_t message)
{
    uint32_t payload_bytes = side->lane->frame_bytes - DATA_HEAD_BYTES;

    side->lane->operations->expect(
        side->lane,
        &(struct lane_expectation){.target = target,
                                   .frames = (MESSAGE_BYTES + payload_bytes - 1) / payload_bytes,
                                   .head_bytes = DATA_HEAD_BYTES,
                                   .payload_bytes = payload_bytes,
                                   .bytes = MESSAGE_BYTES,
                                   .message = message,
                                   .from = side->to});
}

static void bulk_receive(struct side *side, uint8_t *target, bool placed)
{
    struct lane_incoming frames[BATCH_FRAMES];
    uint32_t block = block_bytes_of(side->lane);
    uint32_t blocks = (MESSAGE_BYTES + block - 1) / block;
    uint32_t payload_bytes = side->lane->frame_bytes - DATA_HEAD_BYTES;
    uint64_t begin_ns = now_ns();
    uint32_t messages = 0;

    memset(target, 2, MESSAGE_BYTES);
    for (; now_ns() - begin_ns < side->run_ns; messages++) {
        uint32_t arrived = 0;
        uint32_t asked = 0;
        if (placed) {
            expect(side, target, messages);
        }
        while (arrived < MESSAGE_BYTES) {
            while (asked < blocks && asked < arrived / block + BLOCKS_AHEAD) {
                ask(side, messages);
                asked++;
            }
            unsigned count = receive(side, frames);
            for (unsigned i = 0; i < count; i++) {
                uint32_t bytes = frames[i].bytes - DATA_HEAD_BYTES;
                if (frames[i].payload == NULL) {
                    size_t at = (size_t)segment_of(frames[i].data) * payload_bytes;
                    memcpy(target + at, frames[i].data + DATA_HEAD_BYTES, bytes);
                }
                arrived += bytes;
            }
            side->lane->operations->release(side->lane);
        }
    }
    uint64_t took_ns = now_ns() - begin_ns;
    ask(side, UINT32_MAX);
    struct lane *lane = side->lane;
    (void)printf("%8.2f GB/s, %llu of %llu frames placed",
                 (double)messages * MESSAGE_BYTES / (double)took_ns,
                 (unsigned long long)lane->placed_frames,
                 (unsigned long long)lane->received_frames);
}

static void frames_send(struct side *side, bool mixed)
{
    enum { COUNT = 32 };
    static uint8_t rooms[COUNT][LANE_HEADROOM + SHORT_FRAME_BYTES];
    struct lane_outgoing frames[COUNT];
    struct lane_incoming stop[BATCH_FRAMES];

    for (unsigned i = 0; i < COUNT; i++) {
        frames[i] =
            (struct lane_outgoing){.head = encode(rooms[i], FRAME_EAGER),
                                   .head_bytes = SHORT_FRAME_BYTES - (mixed ? 7 - i % 8 : 0)};
    }
    while (side->lane->operations->receive(side->lane, stop, BATCH_FRAMES) == 0) {
        send_all(side, frames, COUNT);
    }
    side->lane->operations->release(side->lane);
}

static void frames_receive(struct side *side)
{
    struct lane_incoming frames[BATCH_FRAMES];
    uint64_t begin_ns = now_ns();
    uint64_t arrived = 0;
    uint64_t took_ns = 0;

    while (took_ns < side->run_ns) {
        for (unsigned i = 0; i < 16; i++) {
            arrived += receive(side, frames);
            side->lane->operations->release(side->lane);
        }
        took_ns = now_ns() - begin_ns;
    }
    (void)side->lane->operations->status(side->lane);
    (void)printf("%8.2f Mframe/s taken, %llu dropped", (double)arrived * 1e3 / (double)took_ns,
                 (unsigned long long)side->lane->dropped_frames);
    ask(side, 0);
    while (side->lane->operations->receive(side->lane, frames, BATCH_FRAMES) > 0) {
        side->lane->operations->release(side->lane);
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
        uint64_t begin_ns = now_ns();
        send_all(from, frames, cost->frames);
        uint64_t sent_ns = now_ns();
        take(to, target + offset, cost->frames);
        receive_ns[round] = now_ns() - sent_ns;
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
        uint64_t begin_ns = now_ns();
        for (unsigned i = 0; i < FRAMES; i++) {
            state = add(state, source + offset + i * payload_bytes, payload_bytes);
        }
        took_ns[round] = now_ns() - begin_ns;
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

static void find_other(struct side *side)
{
    struct address_layout own = address_of(side->lane);
    struct address_layout other;

    require(write(side->control, &own, sizeof own) == sizeof own, "write");
    require(read(side->control, &other, sizeof other) == sizeof other, "read");
    require(side->lane->operations->reach(side->lane, &other, &side->to) == 0, "reach");
}

static void run(struct side *side, enum pattern pattern, bool first, uint8_t *data)
{
    switch (pattern) {
    case PING_PONG:
        ping_pong(side, first);
        break;
    case BULK_COPIED:
    case BULK_PLACED:
        if (first) {
            bulk_receive(side, data, pattern == BULK_PLACED);
        } else {
            bulk_send(side, data);
        }
        break;
    case FRAMES_EQUAL:
    case FRAMES_MIXED:
        if (first) {
            frames_receive(side);
        } else {
            frames_send(side, pattern == FRAMES_MIXED);
        }
        break;
    case PATTERNS:
        break;
    }
}

static void pin_to(unsigned core)
{
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    require(sched_setaffinity(0, sizeof cores, &cores) == 0, "a second core");
}

/** One of both processes. */
static void be(bool first, const char *kind, int mtu, uint64_t run_ns, const char *only,
               int control)
{
    const char *interface = first ? "end0" : "end1";
    uint8_t *data = make_data(first);

    pin_to(first);
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
        if (strncmp(pattern_names[pattern], only, strlen(only)) != 0) {
            continue;
        }
        struct side side = {
            .lane = open_lane(kind, interface), .control = control, .run_ns = run_ns};
        find_other(&side);
        if (pattern != BULK_PLACED || side.lane->operations->expect != NULL) {
            run(&side, (enum pattern)pattern, first, data);
            if (first) {
                (void)printf("  (%s, MTU %d, %s)\n", kind, mtu, pattern_names[pattern]);
                (void)fflush(stdout);
            }
        }
        side.lane->operations->close(side.lane);
        char done = 0; /* both have closed before the next is opened */
        require(write(control, &done, 1) == 1 && read(control, &done, 1) == 1, "the other end");
    }
}

int main(int argc, char **argv)
{
    int control[2];

    if (argc < 2 || (strcmp(argv[1], "packet") != 0 && strcmp(argv[1], "xdp") != 0 &&
                     strcmp(argv[1], "udp") != 0)) {
        (void)fprintf(stderr, "usage: lane-benchmark packet|xdp|udp [MTU [SECONDS [PATTERN]]]\n");
        return 2;
    }
    int mtu = argc > 2 ? atoi(argv[2]) : 1500;       /* NOLINT: a wrong one is refused below */
    double seconds = argc > 3 ? atof(argv[3]) : 1.0; /* NOLINT */
    if (mtu < 576 || mtu > 65535 || seconds <= 0 || seconds > 60) {
        (void)fprintf(stderr, "lane-benchmark: the MTU is 576 to 65535, the time at most 60 s\n");
        return 2;
    }
    uint64_t run_ns = (uint64_t)(seconds * 1e9);
    const char *only = argc > 4 ? argv[4] : "";
    namespace_enter(argv);
    int far = namespace_move_far_end();
    int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    require(here >= 0, "this namespace");
    set_mtu("end0", mtu);
    namespace_go(far);
    set_mtu("end1", mtu);
    namespace_go(here);
    if (strncmp("cost", only, strlen(only)) == 0) {
        pin_to(0);
        measure_costs(argv[1], mtu, here, far);
    }
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) == 0, "socketpair");
    (void)fflush(stdout);
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        close(control[0]);
        namespace_go(far);
        be(false, argv[1], mtu, run_ns, only, control[1]);
        return 0;
    }
    close(control[1]);
    be(true, argv[1], mtu, run_ns, only, control[0]);
    int status = 0;
    require(waitpid(child, &status, 0) == child, "waitpid");
    return status == 0 ? 0 : 1;
}
