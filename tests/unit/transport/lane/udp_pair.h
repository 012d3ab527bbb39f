/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udp_pair.h - two UDP lanes in two network namespaces, as if in two hosts, and frames for them.
 * Whoever includes it is one test program: namespace_enter() and udp_pair_far() come first.
 */
#ifndef BEOWIRE_TEST_UDP_PAIR_H
#define BEOWIRE_TEST_UDP_PAIR_H

#include "frame/address_layout.h"
#include "frame/frame.h"
#include "lane/udp/udp.h"
#include "namespace.h"
#include "unit/test.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA FRAME_DATA
#define PATIENCE_MS 10000
#define HEAD_BYTES 16
#define PAIR_FRAMES 64
#define PAYLOAD_BYTES_MAX 9000

struct udp_pair {
    struct lane *a; /* on end0, here */
    struct lane *b; /* on end1, elsewhere */
    struct lane_address at_a;
    struct lane_address at_b;
};

static int here = -1;
static int far = -1;

static void udp_pair_far(void)
{
    far = namespace_move_far_end();
    here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

static inline void set_interface_there(int namespace, const char *name, unsigned long request,
                                       int value)
{
    struct ifreq interface = {0};

    namespace_go(namespace);
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)snprintf(interface.ifr_name, sizeof interface.ifr_name, "%s", name);
    if (request == SIOCSIFMTU) {
        interface.ifr_mtu = value;
    } else {
        interface.ifr_flags = (short)value;
    }
    assert_true(control >= 0);
    assert_int_equal(ioctl(control, request, &interface), 0);
    close(control);
    namespace_go(here);
}

/** Switches an offload of a network card: a command of ETHTOOL_S..., linux/ethtool.h. */
static inline void set_offload(int namespace, const char *name, uint32_t command, bool on)
{
    struct ethtool_value value = {.cmd = command, .data = on};
    struct ifreq interface = {.ifr_data = (void *)&value};

    namespace_go(namespace);
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)snprintf(interface.ifr_name, sizeof interface.ifr_name, "%s", name);
    assert_true(control >= 0);
    assert_int_equal(ioctl(control, SIOCETHTOOL, &interface), 0);
    close(control);
    namespace_go(here);
}

/** Both ends. */
static inline void set_mtu(int mtu)
{
    set_interface_there(here, "end0", SIOCSIFMTU, mtu);
    set_interface_there(far, "end1", SIOCSIFMTU, mtu);
}

static inline struct lane *open_udp(int namespace, const char *interface, uint16_t port)
{
    struct udp_lane_options options = {.interface = interface, .port = port};
    struct lane *lane = NULL;

    namespace_go(namespace);
    assert_int_equal(udp_lane_open(&options, &lane), 0);
    namespace_go(here);
    return lane;
}

static inline struct lane_address address_of(struct lane *lane, struct lane *for_whom)
{
    struct address_layout address = {.rails = 1};
    struct lane_address found;

    lane->operations->publish(lane, &address);
    assert_int_equal(for_whom->operations->reach(for_whom, &address, &found), 0);
    return found;
}

static inline struct udp_pair open_pair(void)
{
    struct udp_pair pair = {.a = open_udp(here, "end0", 0), .b = open_udp(far, "end1", 0)};

    namespace_go(far); /* which addresses are those of b's own host */
    pair.at_a = address_of(pair.a, pair.b);
    namespace_go(here);
    pair.at_b = address_of(pair.b, pair.a);
    return pair;
}

static inline void close_lane(struct lane *lane)
{
    lane->operations->close(lane);
}

static inline void close_pair(struct udp_pair *pair)
{
    close_lane(pair->a);
    close_lane(pair->b);
}

static inline void run(char *const *command)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/** Calls ip(8) in the namespace that the program is in. */
#define IP(...) run((char *[]){"ip", __VA_ARGS__, NULL})

/** Frames on their way out. */
struct outbox {
    unsigned count;
    struct lane_outgoing frames[PAIR_FRAMES];
    uint8_t heads[PAIR_FRAMES][LANE_HEADROOM + HEAD_BYTES];
    uint8_t payloads[PAIR_FRAMES][PAYLOAD_BYTES_MAX];
};

/** For one test at a time. */
static struct outbox outbox;
static struct lane_incoming incoming[PAIR_FRAMES];

static inline uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 7 + offset / 251 + 1);
}

/** Byte i of a segment. */
static inline uint8_t byte_of(uint32_t segment, uint64_t i)
{
    return byte_at(segment * UINT64_C(1009) + i);
}

/** Adds a frame of a message with the bytes that belong to its segment; whatever its type, the head
 *  is that of DATA, since lanes look into no other. */
static inline void add_frame(struct outbox *box, uint8_t type, uint32_t message, uint32_t segment,
                             uint32_t payload_bytes)
{
    unsigned index = box->count++;
    uint8_t *head = box->heads[index] + LANE_HEADROOM;
    struct frame_data data = frame_encode_data(0, 0, message);

    assert_true(index < PAIR_FRAMES && payload_bytes <= PAYLOAD_BYTES_MAX);
    data.type = type;
    frame_data_set_segment(&data, segment);
    memcpy(head, &data, sizeof data);
    for (uint32_t i = 0; i < payload_bytes; i++) {
        box->payloads[index][i] = byte_of(segment, i);
    }
    box->frames[index] = (struct lane_outgoing){.head = head,
                                                .head_bytes = HEAD_BYTES,
                                                .payload = box->payloads[index],
                                                .payload_bytes = payload_bytes};
}

/** Sends all that is in the box in one call, and empties it. */
static inline void send_outbox(struct outbox *box, struct lane *lane, const struct lane_address *to)
{
    assert_int_equal(lane->operations->send(lane, to, box->frames, box->count), box->count);
    box->count = 0;
}

/** Waits until frames are there, and takes up to `count` of them; release() is the caller's. */
static inline unsigned receive_some(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    for (;;) {
        unsigned taken = lane->operations->receive(lane, frames, count);
        if (taken > 0) {
            return taken;
        }
        struct pollfd readable = {.fd = lane->operations->descriptor(lane), .events = POLLIN};
        assert_int_equal(poll(&readable, 1, PATIENCE_MS), 1);
    }
}

/** Takes frames until there are `count`, and leaves them with the lane. */
static inline void receive_all(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    for (unsigned taken = 0; taken < count;) {
        taken += receive_some(lane, frames + taken, count - taken);
    }
}

/** Is it the whole frame that add_frame() made? */
static inline void check_frame(const struct lane_incoming *frame, uint8_t type, uint32_t message,
                               uint32_t segment, uint32_t payload_bytes)
{
    const struct frame_data *head = (const struct frame_data *)(const void *)frame->data;
    const uint8_t *payload = frame->payload != NULL ? frame->payload : frame->data + HEAD_BYTES;

    assert_int_equal(frame->bytes, HEAD_BYTES + payload_bytes);
    assert_int_equal(head->type, type);
    assert_int_equal(from_le32(head->message), message);
    assert_int_equal(frame_data_segment(head), segment);
    for (uint32_t i = 0; i < payload_bytes; i++) {
        assert_int_equal(payload[i], byte_of(segment, i));
    }
}

/** A train one way, and a frame back. */
static inline void exchange(struct lane *a, struct lane *b, const struct lane_address *at_a,
                            const struct lane_address *at_b)
{
    for (unsigned i = 0; i < 5; i++) {
        add_frame(&outbox, DATA, 1, i, 1000);
    }
    send_outbox(&outbox, a, at_b);
    receive_all(b, incoming, 5);
    check_frame(&incoming[4], DATA, 1, 4, 1000);
    assert_memory_equal(&incoming[4].from, at_a, sizeof *at_a);
    b->operations->release(b);
    add_frame(&outbox, DATA, 2, 0, 100);
    send_outbox(&outbox, b, at_a);
    receive_all(a, incoming, 1);
    check_frame(&incoming[0], DATA, 2, 0, 100);
    a->operations->release(a);
}

/** Both ends lose their IPv4 address, or have it again. */
static inline void switch_to_ipv6(bool on)
{
    const char *add = on ? "add" : "del";
    const char *del = on ? "del" : "add";

    IP("address", (char *)(uintptr_t)del, "10.77.0.1/24", "dev", "end0");
    IP("address", (char *)(uintptr_t)add, "fd77::1/64", "dev", "end0", "nodad");
    namespace_go(far);
    IP("address", (char *)(uintptr_t)del, "10.77.0.2/24", "dev", "end1");
    IP("address", (char *)(uintptr_t)add, "fd77::2/64", "dev", "end1", "nodad");
    namespace_go(here);
}

/** A test with a pair that `opener` has made, and that is closed afterwards. */
#define PAIR_TEST_OF(opener, name)                                                                 \
    static void name(struct udp_pair pair);                                                        \
    static void name##__with(void **state)                                                         \
    {                                                                                              \
        struct udp_pair pair = opener();                                                           \
        (void)state;                                                                               \
        name(pair);                                                                                \
        close_pair(&pair);                                                                         \
    }                                                                                              \
    TEST_LISTED(name, name##__with, NULL, NULL);                                                   \
    static void name(struct udp_pair pair)
#define PAIR_TEST(name) PAIR_TEST_OF(open_pair, name)

#endif
