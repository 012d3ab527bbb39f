/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer_state - what a peer costs an endpoint: memory while it is idle, and time to open with many.
 *
 *      peer_state INTERFACE
 *
 * Prints one JSON object a line:
 *
 *   {"case":"open","known":N,"open_ns":[...],"add_ns":[...],"bytes_per_peer":B}
 *       opening an endpoint with room for N peers, then making N known: times of each repetition,
 *       and resident memory of a peer that nothing was ever sent to
 *   {"case":"connected","known":N,"bytes_per_peer":B}
 *       the same of peers that have exchanged messages, and are idle since
 *
 * Both ends of the second are on INTERFACE: the peers are endpoints of a child process.
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "beowire.h"
#include "frame/address_layout.h"
#include "lane/clock.h"
#include "route/proof.h"

#define REPETITIONS 41
#define CONNECTED_PEERS 64
#define FIRST_PEERS 16 /* touch what all peers share, and are not counted */
#define PATIENCE_NS UINT64_C(10000000000)
#define QUIET_NS UINT64_C(200000000)
#define LATE_NS UINT64_C(5000000)
#define SETTLE_NS 50000000

/* What each peer exchanges: one frame, and one message of many frames. */
static const uint64_t SIZES[] = {8, 65536};
#define LARGEST 65536

static uint8_t data[LARGEST];

__attribute__((noreturn)) static void give_up(const char *what, int status)
{
    (void)fprintf(stderr, "peer_state: %s: %s\n", what, beowire_error(status));
    exit(1);
}

static void require(const char *what, int status)
{
    if (status < 0) {
        give_up(what, status);
    }
}

/* Private memory of this process that is there: what others see of it, rings, is not counted. */
static uint64_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[128];
    uint64_t kib = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Anonymous:", 10) == 0) {
            kib = strtoull(line + 10, NULL, 10);
        }
    }
    if (file == NULL || kib == 0) {
        give_up("/proc/self/smaps_rollup", -ENOENT);
    }
    (void)fclose(file);
    return kib * 1024;
}

static beowire_endpoint *open_endpoint(const char *interface, uint32_t peers)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;
    options.interface = interface;
    options.lanes = "packet,udp"; /* as peers on other hosts are reached, though all are on ours */
    options.peers = peers;
    require(interface, beowire_open(&options, &endpoint));
    return endpoint;
}

/* ---- peers that are only known --------------------------------------------------------------- */

/* Endpoints that are not there: their addresses differ from ours in what tells endpoints apart. */
static void add_strangers(beowire_endpoint *endpoint, uint32_t count)
{
    struct beowire_address address;
    beowire_peer peer;
    beowire_address(endpoint, &address);
    struct address_layout *layout = (struct address_layout *)address.bytes;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(layout->secret, &i, sizeof i); /* the same each time */
        layout->incarnation = to_le64(proof_incarnation(layout->secret));
        require("making a peer known", beowire_peer_add(endpoint, &address, &peer));
    }
}

struct opening {
    uint32_t known;
    uint64_t open_ns[REPETITIONS];
    uint64_t add_ns[REPETITIONS];
    uint64_t bytes_per_peer;
};

static void print_times(const char *name, const uint64_t *times)
{
    (void)printf("\"%s\":[", name);
    for (int i = 0; i < REPETITIONS; i++) {
        (void)printf("%s%" PRIu64, i == 0 ? "" : ",", times[i]);
    }
    (void)printf("],");
}

static void measure_open(const char *interface, struct opening *opening, int repetition)
{
    const uint32_t known = opening->known;
#ifdef __GLIBC__
    (void)malloc_trim(0); /* what was freed before must not serve what is measured now */
#endif
    /* A packet ring is made, and closed, with a grace period of the kernel (synchronize_net()),
     * which takes longer right behind another one. So each opening has the same before it. */
    (void)nanosleep(&(struct timespec){.tv_nsec = SETTLE_NS}, NULL);
    uint64_t start_ns = clock_now_ns();
    beowire_endpoint *endpoint = open_endpoint(interface, known == 0 ? 1 : known);
    opening->open_ns[repetition] = clock_now_ns() - start_ns;
    uint64_t before = resident_bytes();
    start_ns = clock_now_ns();
    add_strangers(endpoint, known);
    opening->add_ns[repetition] = clock_now_ns() - start_ns;
    uint64_t after = resident_bytes();
    if (known > 0 && after > before && (after - before) / known > opening->bytes_per_peer) {
        opening->bytes_per_peer = (after - before) / known;
    }
    (void)beowire_close(endpoint, 0);
}

/* The cases take turns, and in turns begin, so that a drift of the machine meets all alike. */
static void measure_openings(const char *interface)
{
    static struct opening openings[] = {{.known = 0}, {.known = 1000}, {.known = 60000}};
    const size_t count = sizeof openings / sizeof openings[0];
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        for (size_t i = 0; i < count; i++) {
            size_t turn = (i + (size_t)repetition) % count;
            measure_open(interface, &openings[turn], repetition);
        }
    }
    for (size_t i = 0; i < count; i++) {
        (void)printf("{\"case\":\"open\",\"known\":%" PRIu32 ",", openings[i].known);
        print_times("open_ns", openings[i].open_ns);
        print_times("add_ns", openings[i].add_ns);
        (void)printf("\"bytes_per_peer\":%" PRIu64 "}\n", openings[i].bytes_per_peer);
    }
}

/* ---- peers that are connected ---------------------------------------------------------------- */

static int poll_once(beowire_endpoint *endpoint, uint64_t *ended)
{
    struct beowire_completion completion;
    int count = beowire_poll(endpoint, &completion, 1);
    if (count == 1) {
        require("a message", completion.status);
        ++*ended;
    }
    return count;
}

/* Makes progress until `wanted` operations have ended. */
static void finish(beowire_endpoint *endpoint, uint64_t wanted)
{
    uint64_t ended = 0;
    uint64_t limit_ns = clock_now_ns() + PATIENCE_NS;
    while (ended < wanted) {
        require("polling", poll_once(endpoint, &ended));
        if (clock_now_ns() > limit_ns) {
            give_up("the other end does not answer", -ETIMEDOUT);
        }
    }
}

static void stay_idle(beowire_endpoint *endpoint, uint64_t time_ns)
{
    uint64_t end_ns = clock_now_ns() + time_ns;
    while (clock_now_ns() < end_ns) {
        require("polling", beowire_poll(endpoint, NULL, 0));
    }
}

/* One message of each size there and back. Whoever sends first receives late, so that the endpoint
 * has to keep the message: what all peers share for that is touched by the first ones. */
static void exchange(beowire_endpoint *endpoint, beowire_peer peer, int first)
{
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        for (int turn = 0; turn < 2; turn++) {
            if (first == 0 && turn == 1) {
                stay_idle(endpoint, LATE_NS);
            }
            int status = turn == first
                             ? beowire_send(endpoint, peer, 1, 0, data, SIZES[i], NULL)
                             : beowire_receive(endpoint, peer, 1, 0, data, SIZES[i], NULL);
            require("posting", status);
            finish(endpoint, 1);
        }
    }
}

/* The peers: each answers in its turn, and all make progress until the other end hangs up. */
__attribute__((noreturn)) static void be_peers(const char *interface, int control)
{
    static beowire_endpoint *endpoints[CONNECTED_PEERS];
    struct beowire_address address;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (recv(control, &address, sizeof address, 0) != (ssize_t)sizeof address) {
        exit(1);
    }
    for (int i = 0; i < CONNECTED_PEERS; i++) {
        struct beowire_address own;
        endpoints[i] = open_endpoint(interface, 1);
        beowire_address(endpoints[i], &own);
        if (send(control, &own, sizeof own, MSG_NOSIGNAL) != (ssize_t)sizeof own) {
            exit(1);
        }
    }
    for (int i = 0; i < CONNECTED_PEERS; i++) {
        beowire_peer peer;
        require("making a peer known", beowire_peer_add(endpoints[i], &address, &peer));
        exchange(endpoints[i], peer, 1);
        require("flushing", beowire_flush(endpoints[i], PATIENCE_NS));
    }
    char word;
    while (recv(control, &word, sizeof word, MSG_DONTWAIT) < 0 && errno == EAGAIN) {
        for (int i = 0; i < CONNECTED_PEERS; i++) {
            (void)beowire_poll(endpoints[i], NULL, 0);
        }
    }
    for (int i = 0; i < CONNECTED_PEERS; i++) {
        (void)beowire_close(endpoints[i], 0);
    }
    exit(0);
}

static void measure_connected(const char *interface)
{
    int controls[2];
    struct beowire_address address;
    struct beowire_address others[CONNECTED_PEERS];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, controls) != 0) {
        give_up("a socket", -errno);
    }
    pid_t child = fork();
    if (child < 0) {
        give_up("a process", -errno);
    }
    if (child == 0) {
        close(controls[0]);
        be_peers(interface, controls[1]);
    }
    close(controls[1]);
    beowire_endpoint *endpoint = open_endpoint(interface, CONNECTED_PEERS);
    beowire_address(endpoint, &address);
    bool heard = send(controls[0], &address, sizeof address, MSG_NOSIGNAL) == sizeof address;
    for (int i = 0; heard && i < CONNECTED_PEERS; i++) {
        heard = recv(controls[0], &others[i], sizeof others[i], 0) == sizeof others[i];
    }
    if (!heard) {
        give_up("the peers", -ECONNRESET);
    }
    uint64_t before = 0;
    for (int i = 0; i < CONNECTED_PEERS; i++) {
        beowire_peer peer;
        require("making a peer known", beowire_peer_add(endpoint, &others[i], &peer));
        exchange(endpoint, peer, 0);
        require("flushing", beowire_flush(endpoint, PATIENCE_NS));
        if (i == FIRST_PEERS - 1) {
            stay_idle(endpoint, QUIET_NS);
            before = resident_bytes();
        }
    }
    stay_idle(endpoint, QUIET_NS);
    uint64_t after = resident_bytes();
    (void)printf("{\"case\":\"connected\",\"known\":%d,\"bytes_per_peer\":%" PRIu64 "}\n",
                 CONNECTED_PEERS,
                 after > before ? (after - before) / (CONNECTED_PEERS - FIRST_PEERS) : UINT64_C(0));
    (void)fflush(stdout);
    close(controls[0]);
    (void)beowire_close(endpoint, 0);
    (void)waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: peer_state INTERFACE\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    measure_connected(argv[1]);
    measure_openings(argv[1]);
    return 0;
}
