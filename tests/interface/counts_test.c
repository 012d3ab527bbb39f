/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The budgets of docs/PERFORMANCE.md ("What a message costs, in counts"): system calls, copies and
 * bytes copied at each end of a ping-pong, and those of TCP. The test reads them there.
 *
 * Both ends are in this process, in turns, on the ends of a veth pair in two network namespaces:
 * what one sends has arrived when its call returns. So nothing here depends on who has a core when,
 * and the counts are those of the code. They are taken where the library calls the C library. With
 * BEOWIRE_COUNTS set the test prints the rows as it has counted them.
 */
#include "beowire.h"
#include "namespace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "endpoints.h"
#include "unit/test.h"

/* What is shorter is no copy of a message's bytes: heads, descriptors. */
#define COPY_BYTES_MIN 512

#define LARGEST_BYTES (1024 * 1024)

/* All ways to the peer are proven by then, and nothing is expected where nothing comes. */
#define WARM_UP 400
#define MESSAGES 100
enum { MEDIAN = MESSAGES / 2 };

/* A ping-pong in which both ends poll: so often in vain before the message comes, ... */
#define SPINS 20
#define SPUN_MESSAGES 2000
/* ... and messages that took longer were not polled for, but waited for a core. */
#define SPUN_LONGEST_NS 12000u

enum kind {
    SENDS,        /* system calls that send, */
    RECEIVES,     /* that receive something, */
    OTHERS,       /* and all others but looks */
    COPIES,       /* by the library, of COPY_BYTES_MIN and more */
    COPIED_BYTES, /* by these */
    LOOKS,        /* system calls that find nothing to receive */
    KINDS
};

enum role { SENDER, RECEIVER };

static uint64_t counts[2][KINDS];      /* by role */
static uint64_t *now = counts[SENDER]; /* of whom what happens is */

/* ---- what is counted ----------------------------------------------------------------------- */

static ssize_t note_receive(ssize_t got)
{
    now[RECEIVES] += got > 0;
    now[LOOKS] += got <= 0;
    return got;
}

#define SENDS(name, type, parameters, arguments)                                                   \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        now[SENDS]++;                                                                              \
        return __real_##name arguments;                                                            \
    }
#define RECEIVES(name, type, parameters, arguments)                                                \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return (type)note_receive(__real_##name arguments);                                        \
    }
#define OTHER(name, type, parameters, arguments)                                                   \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        now[OTHERS]++;                                                                             \
        return __real_##name arguments;                                                            \
    }

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names. */
SENDS(send, ssize_t, (int fd, const void *data, size_t bytes, int flags), (fd, data, bytes, flags))
SENDS(sendto, ssize_t,
      (int fd, const void *data, size_t bytes, int flags, const struct sockaddr *to,
       socklen_t size),
      (fd, data, bytes, flags, to, size))
SENDS(sendmsg, ssize_t, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
SENDS(sendmmsg, int, (int fd, struct mmsghdr *messages, unsigned count, int flags),
      (fd, messages, count, flags))
RECEIVES(recv, ssize_t, (int fd, void *data, size_t bytes, int flags), (fd, data, bytes, flags))
RECEIVES(recvfrom, ssize_t,
         (int fd, void *data, size_t bytes, int flags, struct sockaddr *from, socklen_t *size),
         (fd, data, bytes, flags, from, size))
RECEIVES(recvmsg, ssize_t, (int fd, struct msghdr *message, int flags), (fd, message, flags))
RECEIVES(recvmmsg, int,
         (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),
         (fd, messages, count, flags, timeout))
OTHER(poll, int, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
OTHER(ppoll, int,
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
      (fds, count, timeout, mask))
OTHER(read, ssize_t, (int fd, void *data, size_t bytes), (fd, data, bytes))
OTHER(write, ssize_t, (int fd, const void *data, size_t bytes), (fd, data, bytes))
OTHER(sched_yield, int, (void), ())
OTHER(getrusage, int, (int who, struct rusage *usage), (who, usage))
OTHER(getsockopt, int, (int fd, int level, int name, void *value, socklen_t *size),
      (fd, level, name, value, size))
OTHER(setsockopt, int, (int fd, int level, int name, const void *value, socklen_t size),
      (fd, level, name, value, size))

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
    now[OTHERS]++;
    return __real_ioctl(fd, request, argument);
}

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    now[OTHERS]++;
    return __real_syscall(number, a, b, c, d, e, f);
}

void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
    now[COPIES] += bytes >= COPY_BYTES_MIN;
    now[COPIED_BYTES] += bytes >= COPY_BYTES_MIN ? bytes : 0;
    return __real_memcpy(to, from, bytes);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* ---- two endpoints ------------------------------------------------------------------------- */

static beowire_endpoint *endpoints[2];
static beowire_peer peers[2];
static int sockets[2];
static char *buffers[2];

static int set_up(void **state)
{
    int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int far = namespace_move_far_end();

    endpoints[0] = open_with_lanes("end0", NULL);
    namespace_go(far);
    endpoints[1] = open_with_lanes("end1", NULL);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in name = {.sin_family = AF_INET};
    socklen_t size = sizeof name;
    assert_int_equal(inet_pton(AF_INET, "10.77.0.2", &name.sin_addr), 1);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&name, &size), 0);
    namespace_go(here);
    sockets[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(sockets[0], (struct sockaddr *)&name, sizeof name), 0);
    sockets[1] = accept(listener, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)),
                         0);
        peers[i] = know(endpoints[i], endpoints[1 - i]);
        buffers[i] = aligned_alloc(4096, LARGEST_BYTES);
        assert_non_null(buffers[i]);
    }
    close(listener);
    close(far);
    close(here);
    return 0;
}

static int take_down(void **state)
{
    for (int i = 0; i < 2; i++) {
        (void)beowire_close(endpoints[i], 0);
        close(sockets[i]);
        free(buffers[i]);
    }
    return 0;
}

/* The end that is sending the message that is counted. */
static int sender;

static void turn_to(int end)
{
    now = counts[end == sender ? SENDER : RECEIVER];
}

/* Polls an end. @return whether the receive has ended; `*sending` becomes less for each send. */
static bool poll_end(int end, int *sending)
{
    struct beowire_completion done;
    bool received = false;

    turn_to(end);
    while (beowire_poll(endpoints[end], &done, 1) == 1) {
        assert_int_equal(done.status, 0);
        received = received || done.context == &buffers[end];
        *sending -= done.context == &endpoints[end];
    }
    return received;
}

/* As the driver `beowire` does: what can be injected is. @return sends that have yet to end. */
static int post(int end, uint64_t bytes)
{
    const uint64_t end_ns = now_ns() + PATIENCE_NS;
    int never = 0;

    turn_to(end);
    for (int status = -EAGAIN; status == -EAGAIN;) {
        status = beowire_inject(endpoints[end], peers[end], 1, 0, buffers[end], bytes);
        if (status == -EMSGSIZE) {
            assert_int_equal(beowire_send(endpoints[end], peers[end], 1, 0, buffers[end], bytes,
                                          &endpoints[end]),
                             0);
            return 1;
        }
        if (status == -EAGAIN) { /* not connected yet */
            (void)poll_end(1 - end, &never);
            (void)poll_end(end, &never);
        }
        assert_true(now_ns() < end_ns);
    }
    return 0;
}

/* One message, with `spins` looks of the sender that find nothing before the other end has a turn.
 */
static void move(int from, uint64_t bytes, int spins)
{
    const uint64_t end_ns = now_ns() + PATIENCE_NS;
    const int to = 1 - from;
    int never = 0;

    sender = from;
    turn_to(to);
    assert_int_equal(
        beowire_receive(endpoints[to], peers[to], 1, 0, buffers[to], bytes, &buffers[to]), 0);
    int sending = post(from, bytes);
    for (int i = 0; i < spins; i++) {
        (void)poll_end(from, &sending);
    }
    for (bool received = false; !received || sending > 0;) {
        received = poll_end(to, &never) || received;
        if (!received || sending > 0) {
            (void)poll_end(from, &sending);
        }
        assert_true(now_ns() < end_ns);
    }
}

static void move_by_tcp(int from, uint64_t bytes)
{
    const int to = 1 - from;
    uint64_t sent = 0;

    sender = from;
    for (uint64_t arrived = 0; arrived < bytes;) {
        if (sent < bytes) {
            turn_to(from);
            ssize_t done = send(sockets[from], buffers[from] + sent, bytes - sent, MSG_DONTWAIT);
            assert_true(done > 0 || errno == EAGAIN);
            sent += done > 0 ? (uint64_t)done : 0;
        }
        turn_to(to);
        ssize_t got = recv(sockets[to], buffers[to] + arrived, bytes - arrived, MSG_DONTWAIT);
        assert_true(got > 0 || errno == EAGAIN);
        arrived += got > 0 ? (uint64_t)got : 0;
    }
}

/* ---- budgets ------------------------------------------------------------------------------- */

static char document[1 << 18];

static void read_document(void)
{
    FILE *file = fopen(getenv("BEOWIRE_DOCUMENT"), "r");

    assert_non_null(file);
    document[fread(document, 1, sizeof document - 1, file)] = '\0';
    assert_true(feof(file));
    (void)fclose(file);
}

/* "20,000 B" of 20000. */
static const char *size_text(uint64_t bytes)
{
    static char text[32];

    if (bytes < 1000) {
        (void)snprintf(text, sizeof text, "%u B", (unsigned)bytes);
    } else if (bytes % 1024 == 0) {
        bool mib = bytes % (1024 * 1024) == 0;
        (void)snprintf(text, sizeof text, "%u %s", (unsigned)(bytes >> (mib ? 20 : 10)),
                       mib ? "MiB" : "KiB");
    } else {
        (void)snprintf(text, sizeof text, "%u,%03u B", (unsigned)(bytes / 1000),
                       (unsigned)(bytes % 1000));
    }
    return text;
}

/* A number of the table, with commas between thousands; `*cell` goes behind the bar after it. */
static double number_in(const char **cell)
{
    char digits[32];
    size_t count = 0;

    for (; **cell != '|' && **cell != '\n' && **cell != '\0'; (*cell)++) {
        if (**cell != ',' && **cell != ' ' && count < sizeof digits - 1) {
            digits[count++] = **cell;
        }
    }
    assert_int_equal(**cell, '|');
    (*cell)++;
    digits[count] = '\0';
    char *end = NULL;
    double value = strtod(digits, &end);
    assert_true(count > 0 && *end == '\0');
    return value;
}

/* Compares what a role makes of a message with its row of the document: no more than that. */
static void check(const char *way, uint64_t bytes, enum role role, const double found[KINDS])
{
    char start[64];

    (void)snprintf(start, sizeof start, "\n| %s | %s, %s |", size_text(bytes), way,
                   role == SENDER ? "sender" : "receiver");
    const char *row = strstr(document, start);
    if (getenv("BEOWIRE_COUNTS") != NULL) {
        print_message("%s", start + 1);
        for (enum kind kind = 0; kind < LOOKS; kind++) {
            print_message(" %.5g |", found[kind]);
        }
        print_message(" (%.3g vain looks)\n", found[LOOKS]);
    }
    if (row == NULL) {
        fail_msg("the document has no row '%s'", start + 1);
        return;
    }
    row += strlen(start);
    for (enum kind kind = 0; kind < LOOKS; kind++) {
        const double budget = number_in(&row);
        if (found[kind] > budget) {
            fail_msg("%s: number %d of the row is %.3f, and its budget %.3f", start + 1,
                     (int)kind + 1, found[kind], budget);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* Medians of messages: where somebody else has had the core for long, timers run out and send. */
static void count_and_check(const char *way, uint64_t bytes, void (*moving)(int, uint64_t))
{
    static uint64_t taken[2][KINDS][MESSAGES];
    double found[2][KINDS];

    for (int i = 0; i < WARM_UP; i++) {
        moving(i % 2, bytes);
    }
    for (int i = 0; i < MESSAGES; i++) {
        memset(counts, 0, sizeof counts);
        moving(i % 2, bytes);
        for (int role = 0; role < 2; role++) {
            for (int kind = 0; kind < KINDS; kind++) {
                taken[role][kind][i] = counts[role][kind];
            }
        }
    }
    for (int role = 0; role < 2; role++) {
        for (int kind = 0; kind < KINDS; kind++) {
            uint64_t *all = taken[role][kind];
            qsort(all, MESSAGES, sizeof *all, by_value);
            found[role][kind] = (double)all[MEDIAN];
        }
    }
    check(way, bytes, SENDER, found[SENDER]);
    check(way, bytes, RECEIVER, found[RECEIVER]);
}

static void move_by_us(int from, uint64_t bytes)
{
    move(from, bytes, 0);
}

static const uint64_t SIZES[] = {20000, 65536, LARGEST_BYTES};

static void add(uint64_t sums[2][KINDS], uint64_t more[2][KINDS])
{
    for (int role = 0; role < 2; role++) {
        for (int kind = 0; kind < KINDS; kind++) {
            sums[role][kind] += more[role][kind];
        }
    }
}

/* While both ends poll, each sends once a message, and makes hardly any other call. */
TEST(beowire__short_messages_while_it_spins__within_the_budget)
{
    uint64_t sums[2][KINDS] = {{0}};
    double found[2][KINDS];
    int messages = 0;

    for (int i = 0; i < WARM_UP; i++) {
        move(i % 2, 8, SPINS);
    }
    for (int i = 0; i < 100 * SPUN_MESSAGES && messages < SPUN_MESSAGES; i += 2) {
        memset(counts, 0, sizeof counts);
        uint64_t begin_ns = now_ns();
        move(0, 8, SPINS);
        move(1, 8, SPINS);
        if (now_ns() - begin_ns < SPUN_LONGEST_NS) {
            add(sums, counts);
            messages += 2;
        }
    }
    if (messages < SPUN_MESSAGES) {
        skip(); /* no machine that polls a ping-pong in microseconds */
    }
    for (int role = 0; role < 2; role++) {
        for (int kind = 0; kind < KINDS; kind++) {
            found[role][kind] = (double)sums[role][kind] / SPUN_MESSAGES;
        }
        found[role][OTHERS] += found[role][LOOKS];
    }
    check("Beowire", 8, SENDER, found[SENDER]);
    check("Beowire", 8, RECEIVER, found[RECEIVER]);
}

TEST(beowire__long_messages__within_the_budget)
{
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        count_and_check("Beowire", SIZES[i], move_by_us);
    }
}

/* How much a socket takes at once is the host's choice, so longer messages differ. */
TEST(tcp__the_document_has_what_it_takes)
{
    for (size_t i = 0; SIZES[i] < LARGEST_BYTES; i++) {
        count_and_check("TCP", SIZES[i], move_by_tcp);
    }
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    read_document();
    return run_listed_tests(set_up, take_down);
}
