/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lane between processes of one host, alone: two processes on two cores.
 *
 * usage: shm_lane [SECONDS]     about so long for each figure (default 0.2)
 *
 * Prints half round trips by frame size, the rate of short frames, the throughput of frames and
 * that of reading the other process's memory, copied into a message's buffer as a receiver would.
 * Each is the median of 9 rounds.
 */
#include "frame/address_layout.h"
#include "frame/frame.h"
#include "lane/shm/shm.h"
#include "lane/shm/shm_ring.h"
#include "tuning.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 9
#define BUFFER_BYTES (UINT64_C(4) << 20)

/** In memory that both processes have: what one tells the other outside the lane. */
struct board {
    struct beowire_address address[2];
    uint64_t buffer; /**< address in the second process */
    unsigned ready;
    double result_ns;
};

struct end {
    struct lane *lane;
    struct lane_address other;
    unsigned index;
    struct board *board;
    uint8_t *buffer;
    _Alignas(64) uint8_t room[LANE_HEADROOM + SHM_PAYLOAD_BYTES + 64];
};

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void fail(const char *what, int status)
{
    fprintf(stderr, "shm_lane: %s: %s\n", what, strerror(-status));
    exit(1);
}

static void pin(unsigned core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    (void)sched_setaffinity(0, sizeof set, &set); /* with one core the figures say so themselves */
}

/** Waits for the other process outside the lane, but keeps the lane going. */
static void meet(struct end *end, unsigned count)
{
    __atomic_fetch_add(&end->board->ready, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&end->board->ready, __ATOMIC_SEQ_CST) < count) {
    }
}

static void open_end(struct end *end, unsigned index, struct board *board)
{
    struct shm_lane_options options = {.incarnation = (uint64_t)getpid() << 20 | 1, .peers = 2};
    struct address_layout address = {.incarnation = to_le64(options.incarnation)};

    *end = (struct end){.index = index, .board = board};
    int status = shm_lane_open(&options, &end->lane);
    if (status != 0) {
        fail("cannot open the lane", status);
    }
    end->lane->operations->publish(end->lane, &address);
    memcpy(board->address[index].bytes, &address, sizeof address);
    end->buffer = aligned_alloc(4096, BUFFER_BYTES);
    if (end->buffer == NULL) {
        fail("no memory", -ENOMEM);
    }
    memset(end->buffer, (int)index, BUFFER_BYTES);
    if (index == 1) {
        board->buffer = (uint64_t)(uintptr_t)end->buffer;
    }
    pin(index);
    meet(end, 2);
    const struct address_layout *other = (const void *)board->address[1 - index].bytes;
    status = end->lane->operations->reach(end->lane, other, &end->other);
    if (status != 0) {
        fail("cannot reach the other process", status);
    }
}

/** Sends one frame: 46 bytes of headers, and so much data, in the head (as short messages are) or
 *  where it is. */
static void send_frame(struct end *end, const uint8_t *payload, uint32_t bytes)
{
    struct lane_outgoing frame = {.head = end->room + LANE_HEADROOM, .head_bytes = 46};

    if (payload == NULL) {
        frame.head_bytes += bytes;
    } else {
        frame.payload = payload;
        frame.payload_bytes = bytes;
    }
    while (end->lane->operations->send(end->lane, &end->other, &frame, 1) == 0) {
    }
}

static uint64_t receive_frames(struct end *end, uint8_t *target, unsigned most)
{
    struct lane_incoming frames[64];
    unsigned count = end->lane->operations->receive(end->lane, frames, most);
    uint64_t bytes = 0;

    for (unsigned i = 0; i < count; i++) {
        if (target != NULL) {
            const uint8_t *data = frames[i].payload != NULL ? frames[i].payload : frames[i].data;
            memcpy(target + bytes, data, frames[i].bytes - 46);
            bytes += frames[i].bytes - 46;
        } else {
            bytes++;
        }
    }
    if (count > 0) {
        end->lane->operations->release(end->lane);
    }
    return bytes;
}

static void receive_one(struct end *end)
{
    while (receive_frames(end, NULL, 1) == 0) {
    }
}

/* ---- what is measured: `count` times, by both ends, the first of which takes the time ------- */

static void ping_pong(struct end *end, uint32_t bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (end->index == 0) {
            send_frame(end, NULL, bytes);
            receive_one(end);
        } else {
            receive_one(end);
            send_frame(end, NULL, bytes);
        }
    }
}

/** Short frames one way. */
static void stream(struct end *end, uint32_t bytes, uint64_t count)
{
    if (end->index == 0) {
        for (uint64_t i = 0; i < count; i++) {
            send_frame(end, NULL, bytes);
        }
        receive_one(end);
        return;
    }
    for (uint64_t i = 0; i < count;) {
        i += receive_frames(end, NULL, 64);
    }
    send_frame(end, NULL, 8);
}

static void send_message(struct end *end, uint64_t bytes)
{
    for (uint64_t sent = 0; sent < bytes;) {
        uint64_t now = bytes - sent < SHM_PAYLOAD_BYTES ? bytes - sent : SHM_PAYLOAD_BYTES;
        send_frame(end, end->buffer + sent, (uint32_t)now);
        sent += now;
    }
}

static void receive_message(struct end *end, uint64_t bytes)
{
    for (uint64_t received = 0; received < bytes;) {
        received += receive_frames(end, end->buffer + received, 64);
    }
}

/** Messages of several frames there and back. */
static void messages(struct end *end, uint32_t bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (end->index == 0) {
            send_message(end, bytes);
            receive_message(end, bytes);
        } else {
            receive_message(end, bytes);
            send_message(end, bytes);
        }
    }
}

/** The first end reads the memory of the second, and tells it: as a message would go one way. */
static void reads(struct end *end, uint32_t bytes, uint64_t count)
{
    for (uint64_t i = 0; end->index == 0 && i < count; i++) {
        int status = end->lane->operations->read_memory(end->lane, &end->other, end->board->buffer,
                                                        end->buffer, bytes);
        if (status != 0) {
            fail("cannot read the other process's memory", status);
        }
    }
    if (end->index == 0) {
        send_frame(end, NULL, 8);
    } else {
        receive_one(end);
    }
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;

    return (difference > 0) - (difference < 0);
}

/** Runs a measurement; the first end returns the nanoseconds of one of `count`. */
static double measure(struct end *end, void (*what)(struct end *, uint32_t, uint64_t),
                      uint32_t bytes, double seconds)
{
    double times[ROUNDS];
    uint64_t count = 16;

    /* The first end finds how many fit the time, and says so outside the lane. */
    for (;;) {
        double start = now_ns();
        what(end, bytes, count);
        double took = now_ns() - start;
        if (end->index == 0) {
            __atomic_store(&end->board->result_ns, &took, __ATOMIC_SEQ_CST);
        }
        ping_pong(end, 8, 1);
        __atomic_load(&end->board->result_ns, &took, __ATOMIC_SEQ_CST);
        ping_pong(end, 8, 1);
        if (took * ROUNDS > seconds * 1e9 / 2) {
            break;
        }
        count *= 2;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        what(end, bytes, count);
        times[round] = (now_ns() - start) / (double)count;
    }
    qsort(times, ROUNDS, sizeof *times, compare);
    return times[ROUNDS / 2];
}

static void run(struct end *end, double seconds)
{
    static const uint32_t short_bytes[] = {0, 8, 64, 256, 1024, 4096, SHM_PAYLOAD_BYTES};
    static const uint32_t long_bytes[] = {16384, 65536, 262144, 1048576, 4194304};
    bool first = end->index == 0;

    for (unsigned i = 0; i < sizeof short_bytes / sizeof *short_bytes; i++) {
        double ns = measure(end, ping_pong, short_bytes[i], seconds) / 2;
        double each = measure(end, stream, short_bytes[i], seconds);
        if (first) {
            printf("frame %7u B   half round trip %8.1f ns   stream %7.1f ns a frame\n",
                   short_bytes[i], ns, each);
        }
    }
    for (unsigned i = 0; i < sizeof long_bytes / sizeof *long_bytes; i++) {
        double ns = measure(end, messages, long_bytes[i], seconds) / 2;
        double read = measure(end, reads, long_bytes[i], seconds);
        if (first) {
            printf("message %7u B  in frames %9.2f us %6.2f GB/s   read %9.2f us %6.2f GB/s\n",
                   long_bytes[i], ns / 1e3, long_bytes[i] / ns, read / 1e3, long_bytes[i] / read);
        }
    }
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.2;
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static struct end end;

    if (board == MAP_FAILED || seconds <= 0) {
        fprintf(stderr, "usage: shm_lane [SECONDS]\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0) {
        fail("cannot fork", -errno);
    }
    if (child == 0) {
        /* Nothing is left behind, however the first process ends. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            return 1;
        }
    }
    open_end(&end, child == 0, board);
    run(&end, seconds);
    meet(&end, 4);
    end.lane->operations->close(end.lane);
    free(end.buffer);
    if (child == 0) {
        return 0;
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0;
}
