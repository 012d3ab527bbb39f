/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * beowire-relay - passes Ethernet frames on, unchanged and in order, a fixed time after they came.
 *
 *     beowire-relay DELAY_NS COUNTERS_FILE IN OUT [IN OUT]...
 *
 * What arrives at interface IN leaves at interface OUT, DELAY_NS after it arrived. The lab puts it
 * into a link where the kernel has no netem. It sleeps until a frame arrives or is due; it says
 * `ready` on standard output when frames are passed on, and ends when standard input is closed.
 *
 * The time of arrival is the kernel's, so that it does not matter when the relay wakes up to fetch
 * a frame, only when it wakes up to send it. Frames that wait are held in at most QUEUE_BYTES for
 * each direction; beyond that they are dropped and counted. A frame that the kernel does not take
 * (the loss that the lab was asked for, or a shaper behind OUT whose buffer is full) is not tried
 * again: it is lost, as in a switch.
 *
 * COUNTERS_FILE is a shared page with `struct relay_counters`, for anyone to look at.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../drivers/interface_index.h"
#include "frame_queue.h"
#include "receive_ring.h"

#define NS_PER_S UINT64_C(1000000000)

enum {
    QUEUE_BYTES = 64 * 1024 * 1024, /* 0.5 s at 1 Gbit/s; taken from the system only as used */
    FRAME_OVERHEAD_BYTES = 18,      /* Ethernet header and VLAN tag */
    BATCH_FRAMES = 64,              /* sent with one system call */
    SEND_BUFFER_BYTES = 4 * 1024 * 1024,
    MAX_WAYS = 512,
};

/** What happened since the start, in frames; places/lab/cluster.py reads the same layout. */
struct relay_counters {
    uint64_t forwarded;
    uint64_t dropped; /**< found no room in the ring or in the queue */
    uint64_t refused; /**< not taken by the kernel when they were sent */
};

struct way {
    struct receive_ring ring;
    struct frame_queue queue;
    int output;             /* AF_PACKET socket bound to OUT */
    uint64_t newest_due_ns; /* of the frame queued last: order is kept when the clock is set back */
};

struct relay {
    uint64_t delay_ns;
    struct relay_counters *counters;
    size_t way_count;
    struct way *ways;
    int timer;
};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static _Noreturn void fail(const char *what, int error)
{
    (void)fprintf(stderr, "beowire-relay: %s: %s\n", what, strerror(error));
    exit(1);
}

static size_t frame_bytes_of(const char *interface)
{
    struct ifreq request = {0};
    if (strlen(interface) >= sizeof request.ifr_name) {
        fail(interface, ENODEV);
    }
    memcpy(request.ifr_name, interface, strlen(interface));
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0 || ioctl(control, SIOCGIFMTU, &request) != 0) {
        fail(interface, errno);
    }
    (void)close(control);
    return (size_t)request.ifr_mtu + FRAME_OVERHEAD_BYTES;
}

static int open_output(const char *interface)
{
    const struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_ifindex = interface_index(interface),
    };
    const int buffer = SEND_BUFFER_BYTES;
    if (address.sll_ifindex < 0) {
        fail(interface, -address.sll_ifindex);
    }
    int output = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (output < 0 || bind(output, (const struct sockaddr *)&address, sizeof address) != 0) {
        fail(interface, errno);
    }
    /* The shaper is to limit what a port buffers, not this socket. Without privilege the kernel
     * grants less, about 280 KB in frames of 1500 bytes. */
    if (setsockopt(output, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer) != 0) {
        (void)setsockopt(output, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    }
    return output;
}

static void open_way(struct way *way, const char *in, const char *out)
{
    int error = receive_ring_open(&way->ring, in, frame_bytes_of(in));
    if (error != 0) {
        fail(in, -error);
    }
    error = frame_queue_open(&way->queue, QUEUE_BYTES);
    if (error != 0) {
        fail("cannot reserve memory", -error);
    }
    way->output = open_output(out);
}

static struct relay_counters *open_counters(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct relay_counters)) != 0) {
        fail(path, errno);
    }
    void *page =
        mmap(NULL, sizeof(struct relay_counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) {
        fail(path, errno);
    }
    (void)close(file);
    return page;
}

/* Takes what has arrived into the queue. Stops after a ring's worth, so that frames that are due in
 * the other direction do not wait behind an endless burst. */
static void take_arrivals(struct relay *relay, struct way *way)
{
    struct received_frame frame;
    const uint64_t monotonic_ns = now_ns(CLOCK_MONOTONIC);
    const uint64_t realtime_ns = now_ns(CLOCK_REALTIME);
    for (uint32_t taken = 0; taken < way->ring.ring.slots && receive_ring_peek(&way->ring, &frame);
         taken++) {
        const uint64_t age_ns =
            realtime_ns > frame.realtime_ns ? realtime_ns - frame.realtime_ns : 0;
        /* If the clock was set the stamp is wrong: then the frame counts as arrived now. */
        uint64_t due_ns = monotonic_ns - (age_ns < NS_PER_S ? age_ns : 0) + relay->delay_ns;
        if (due_ns < way->newest_due_ns) {
            due_ns = way->newest_due_ns;
        }
        const size_t length = received_frame_wire_bytes(&frame);
        uint8_t *room = frame.whole ? frame_queue_reserve(&way->queue, length) : NULL;
        if (room != NULL) {
            received_frame_copy(&frame, room);
            frame_queue_commit(&way->queue, length, due_ns);
            way->newest_due_ns = due_ns;
        } else {
            relay->counters->dropped++;
        }
        receive_ring_release(&way->ring);
    }
}

/* Sends up to BATCH_FRAMES frames that are due. Returns how many were. */
static unsigned int send_batch(struct relay *relay, struct way *way)
{
    struct mmsghdr messages[BATCH_FRAMES];
    struct iovec parts[BATCH_FRAMES];
    struct queued_frame frame;
    const uint64_t at_ns = now_ns(CLOCK_MONOTONIC);
    uint64_t cursor = frame_queue_begin(&way->queue);
    uint64_t sent_until = cursor;
    unsigned int count = 0;
    while (count < BATCH_FRAMES && frame_queue_next(&way->queue, &cursor, &frame) &&
           frame.release_ns <= at_ns) {
        parts[count] = (struct iovec){(void *)(uintptr_t)frame.bytes, frame.length_bytes};
        messages[count] = (struct mmsghdr){
            .msg_hdr = {.msg_iov = &parts[count], .msg_iovlen = 1},
        };
        sent_until = cursor;
        count++;
    }
    for (unsigned int done = 0; done < count;) {
        int sent = sendmmsg(way->output, messages + done, count - done, MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        const unsigned int taken = sent < 0 ? 0 : (unsigned int)sent;
        relay->counters->forwarded += taken;
        done += taken;
        if (done < count) {
            /* sendmmsg() stopped at a frame that was not taken. It is not sent again: a frame that
             * was to get lost must stay lost. */
            relay->counters->refused++;
            done++;
        }
    }
    frame_queue_remove_until(&way->queue, sent_until);
    return count;
}

static void arm_timer(const struct relay *relay)
{
    uint64_t first_ns = UINT64_MAX;
    for (size_t i = 0; i < relay->way_count; i++) {
        struct queued_frame frame;
        uint64_t cursor = frame_queue_begin(&relay->ways[i].queue);
        if (frame_queue_next(&relay->ways[i].queue, &cursor, &frame) &&
            frame.release_ns < first_ns) {
            first_ns = frame.release_ns;
        }
    }
    struct itimerspec due = {0}; /* zero disarms */
    if (first_ns != UINT64_MAX) {
        due.it_value.tv_sec = (time_t)(first_ns / NS_PER_S);
        due.it_value.tv_nsec = (long)(first_ns % NS_PER_S);
    }
    (void)timerfd_settime(relay->timer, TFD_TIMER_ABSTIME, &due, NULL);
}

/* Passes frames on until standard input is closed. */
static void run(struct relay *relay, struct pollfd *waits)
{
    struct pollfd *input = &waits[relay->way_count];
    struct pollfd *timer = &waits[relay->way_count + 1];
    for (size_t i = 0; i < relay->way_count; i++) {
        waits[i] = (struct pollfd){.fd = relay->ways[i].ring.socket, .events = POLLIN};
    }
    *input = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    *timer = (struct pollfd){.fd = relay->timer, .events = POLLIN};
    for (;;) {
        if (poll(waits, relay->way_count + 2, -1) < 0 && errno != EINTR) {
            fail("poll", errno);
        }
        if (input->revents != 0) {
            return; /* nothing is ever written to it */
        }
        for (size_t i = 0; i < relay->way_count; i++) {
            struct way *way = &relay->ways[i];
            take_arrivals(relay, way);
            if (waits[i].revents != 0) {
                relay->counters->dropped += receive_ring_take_lost(&way->ring);
            }
            while (send_batch(relay, way) == BATCH_FRAMES) {
                take_arrivals(relay, way);
            }
        }
        arm_timer(relay);
    }
}

int main(int count, char **arguments)
{
    if (count < 5 || count % 2 == 0 || (count - 3) / 2 > MAX_WAYS) {
        (void)fprintf(stderr, "usage: beowire-relay DELAY_NS COUNTERS_FILE IN OUT [IN OUT]...\n");
        return 2;
    }
    char *end = NULL;
    errno = 0;
    struct relay relay = {
        .delay_ns = strtoull(arguments[1], &end, 10),
        .way_count = (size_t)(count - 3) / 2,
    };
    if (errno != 0 || end == arguments[1] || *end != '\0' || relay.delay_ns > 3600 * NS_PER_S) {
        (void)fprintf(stderr, "beowire-relay: the delay is a number of ns, not %s\n", arguments[1]);
        return 2;
    }
    relay.counters = open_counters(arguments[2]);
    relay.ways = calloc(relay.way_count, sizeof *relay.ways);
    struct pollfd *waits = calloc(relay.way_count + 2, sizeof *waits);
    relay.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (relay.ways == NULL || waits == NULL || relay.timer < 0) {
        fail("cannot start", errno);
    }
    for (size_t i = 0; i < relay.way_count; i++) {
        open_way(&relay.ways[i], arguments[3 + 2 * i], arguments[4 + 2 * i]);
    }
    (void)printf("ready\n");
    (void)fflush(stdout);
    run(&relay, waits);
    free(waits);
    free(relay.ways);
    return 0;
}
