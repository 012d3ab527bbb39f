/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message-path-benchmark: what the library itself costs a short message, without any system call.
 * Two cores are joined by memory; each round sends a message and answers it, and the time of
 * sending and receiving one message (both ends' work) is printed: the median of many short runs,
 * and the best.
 *
 * With "checksums" frames have them, as over Ethernet. With "cold" they have them as well, and
 * after each frame that is sent as much other code is run as drives the library's own from the
 * first level of the instruction cache, which is what the kernel does; its own time is not counted.
 *
 * usage: message-path-benchmark [BYTES [RUNS [checksums|cold]]]
 */
#include "core/core.h"
#include "lane/random.h"
#include "route/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 20000 /* of one run */
#define FRAME_BYTES 1500
#define SLOTS 1024
#define POLL_NS 100 /* virtual time that a poll takes */

struct memory_lane {
    struct lane lane; /* first */
    struct memory_lane *other;
    struct lane_address local;
    uint32_t written;
    uint32_t taken;
    uint32_t bytes[SLOTS];
    uint8_t data[SLOTS][FRAME_BYTES + 52];
};

static uint64_t now_ns = 1000000000;
static bool cold;

#ifdef __x86_64__
#define NOTHING ".byte 0x0f, 0x1f, 0x40, 0x00" /* a nop of four bytes */
#else
#define NOTHING "nop"
#endif

/** 36 KB of instructions that do nothing. */
__attribute__((noinline)) static void run_other_code(void)
{
    __asm__ volatile(".rept 9216\n" NOTHING "\n.endr" ::: "memory");
}

static struct memory_lane *memory_of(struct lane *lane)
{
    return (struct memory_lane *)(void *)lane;
}

static unsigned memory_send(struct lane *lane, const struct lane_address *to,
                            const struct lane_outgoing *frames, unsigned count)
{
    struct memory_lane *other = memory_of(lane)->other;
    unsigned sent = 0;

    (void)to;
    if (cold) {
        run_other_code();
    }
    for (; sent < count && other->written - other->taken < SLOTS; sent++) {
        uint8_t *slot = other->data[other->written % SLOTS];
        memcpy(slot, frames[sent].head, frames[sent].head_bytes);
        if (frames[sent].payload_bytes > 0) {
            memcpy(slot + frames[sent].head_bytes, frames[sent].payload,
                   frames[sent].payload_bytes);
        }
        other->bytes[other->written % SLOTS] = frames[sent].head_bytes + frames[sent].payload_bytes;
        other->written++;
    }
    return sent;
}

static unsigned memory_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct memory_lane *memory = memory_of(lane);
    unsigned there = memory->written - memory->taken;

    count = count < there ? count : there;
    for (unsigned i = 0; i < count; i++) {
        uint32_t slot = (memory->taken + i) % SLOTS;
        frames[i] = (struct lane_incoming){
            .data = memory->data[slot],
            .bytes = memory->bytes[slot],
            .from = memory->other->local,
        };
    }
    memory->taken += count;
    return count;
}

static void memory_release(struct lane *lane)
{
    (void)lane;
}

static int memory_status(struct lane *lane)
{
    (void)lane;
    return 0;
}

static int memory_reach(struct lane *lane, const struct address_layout *address,
                        struct lane_address *to)
{
    (void)lane;
    *to = (struct lane_address){0};
    memcpy(to->bytes, address->rail[0].mac, sizeof address->rail[0].mac);
    return 0;
}

static const struct lane_operations operations = {.reach = memory_reach,
                                                  .send = memory_send,
                                                  .receive = memory_receive,
                                                  .release = memory_release,
                                                  .status = memory_status};

static uint64_t next_random(void *context)
{
    return random_next(context);
}

static uint64_t clock_ns(void *context)
{
    (void)context;
    now_ns += POLL_NS;
    return now_ns;
}

static void open_core(struct core *core, struct memory_lane *lane, uint8_t node,
                      struct random *random, bool checksums)
{
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .rails = 1,
        .endpoint = to_le16(7),
        .ethertype = to_le16(0x88B5),
        .secret = {1, node},
        .rail[0].mac = {2, 0, 0, 0, 0, node},
    };
    layout.incarnation = to_le64(proof_incarnation(layout.secret));
    struct core_options options = {.lanes = {.lanes = {&lane->lane}, .count = 1},
                                   .operations = 64,
                                   .peers = 4,
                                   .checksums = checksums,
                                   .peer_timeout_ns = UINT64_MAX,
                                   .random = next_random,
                                   .random_context = random};

    lane->lane.operations = &operations;
    lane->lane.frame_bytes = FRAME_BYTES;
    lane->lane.needs_checksum = checksums;
    memcpy(lane->local.bytes, layout.rail[0].mac, sizeof layout.rail[0].mac);
    memcpy(options.address.bytes, &layout, sizeof layout);
    if (core_open(core, &options) != 0) {
        abort();
    }
}

static void complete_one(struct core *core)
{
    struct beowire_completion done;

    while (!message_complete(&core->messages, &done)) {
        if (core_receive(core, clock_ns, NULL) == 0) {
            core_timers(core, clock_ns(NULL));
        }
    }
    if (done.status != 0) {
        abort();
    }
}

/** One message from `from` to `to`, taken there. */
static void pass(struct core *from, struct core *to, uint64_t bytes)
{
    static uint8_t data[FRAME_BYTES];
    static uint8_t buffer[FRAME_BYTES];
    struct message_peer *touched = NULL;

    if (message_receive(&to->messages, NULL, 1, 0, buffer, sizeof buffer, NULL, &touched) != 0 ||
        message_send(&from->messages, &from->peers[0]->message, 1, 0, data, bytes, NULL) != 0) {
        abort();
    }
    core_service(from, from->peers[0], now_ns);
    complete_one(from);
    complete_one(to);
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static double now_of_thread(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/** What run_other_code() takes by itself, at least. */
static double other_code_ns(void)
{
    double least_ns = 1e9;

    for (unsigned i = 0; i < ROUNDS; i++) {
        double start_ns = now_of_thread();
        for (unsigned j = 0; j < 20; j++) {
            run_other_code();
        }
        double each_ns = (now_of_thread() - start_ns) / 20;
        least_ns = each_ns < least_ns ? each_ns : least_ns;
    }
    return least_ns;
}

int main(int count, char **arguments)
{
    static struct memory_lane lanes[2];
    static struct core cores[2];
    struct random random;
    struct core_peer *peer = NULL;
    uint64_t bytes = count > 1 ? strtoull(arguments[1], NULL, 10) : 8;
    unsigned runs = count > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : 101;

    cold = count > 3 && strcmp(arguments[3], "cold") == 0;
    bool checksums = cold || (count > 3 && strcmp(arguments[3], "checksums") == 0);

    if (runs == 0 || bytes > 1400 || count > (checksums ? 4 : 3)) {
        (void)fputs(
            "usage: message-path-benchmark [BYTES (at most 1400) [RUNS [checksums|cold]]]\n",
            stderr);
        return 2;
    }
    double *times_ns = calloc(runs + 1, sizeof *times_ns);
    if (times_ns == NULL) {
        abort();
    }
    random_seed(&random, 1);
    lanes[0].other = &lanes[1];
    lanes[1].other = &lanes[0];
    open_core(&cores[0], &lanes[0], 0, &random, checksums);
    open_core(&cores[1], &lanes[1], 1, &random, checksums);
    if (core_peer_add(&cores[0], &cores[1].options.address, &peer) != 0) {
        abort();
    }
    connection_ask(&peer->connection, now_ns);
    core_service(&cores[0], peer, now_ns);
    for (unsigned i = 0; i < 2; i++) {
        (void)core_receive(&cores[1], clock_ns, NULL);
        (void)core_receive(&cores[0], clock_ns, NULL);
    }
    double uncounted_ns = cold ? other_code_ns() : 0;
    for (unsigned run = 0; run <= runs; run++) { /* the first warms up */
        double start_ns = now_of_thread();
        for (unsigned i = 0; i < ROUNDS; i++) {
            pass(&cores[0], &cores[1], bytes);
            pass(&cores[1], &cores[0], bytes);
        }
        times_ns[run] = (now_of_thread() - start_ns) / (2.0 * ROUNDS) - uncounted_ns;
    }
    qsort(times_ns + 1, runs, sizeof *times_ns, by_value);
    (void)printf("%.1f ns a message (best %.1f), both ends, %llu bytes, %u runs\n",
                 times_ns[1 + runs / 2], times_ns[1], (unsigned long long)bytes, runs);
    free(times_ns);
    core_close(&cores[0]);
    core_close(&cores[1]);
    return 0;
}
