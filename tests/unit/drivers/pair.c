/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LARGEST_BYTES (UINT64_C(4) << 20)

/* Of an interface, or of an address. */
#define TEXT_BYTES 64

/* Long enough that a busy machine loses nothing that the wire did not lose. */
#define LOSS_TIMEOUT_NS UINT64_C(1000000000)

/* Checks that have held in this process: whoever gets on makes some. */
static uint64_t held;

void pair_require(bool condition, const char *file, int line, const char *text, long long value)
{
    if (!condition) {
        (void)fprintf(stderr, "%s:%d: (%d) does not hold: %s (%lld)\n", file, line, (int)getpid(),
                      text, value);
        abort();
    }
    held++;
}

uint64_t pair_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static bool stopped(void *context)
{
    struct pair *pair = context;
    pair->questions++;
    if (pair->asked != NULL) {
        pair->asked_at_ns = pair_now_ns();
        pair->asked(pair);
    }
    struct pollfd poller = {.fd = pair->control, .events = POLLIN};
    bool called = pair->heed_control && poll(&poller, 1, 0) > 0;
    if (pair->patient && pair->held != held) {
        pair_be_patient(pair);
    }
    return called || pair_now_ns() >= pair->stop_at_ns;
}

void pair_stop_after_ms(struct pair *pair, uint64_t ms)
{
    pair->patient = false;
    pair->stop_at_ns = pair_now_ns() + ms * UINT64_C(1000000);
}

void pair_be_patient(struct pair *pair)
{
    pair->patient = true;
    pair->held = held;
    pair->stop_at_ns = pair_now_ns() + PAIR_PATIENCE_S * UINT64_C(1000000000);
}

void pair_alone(struct pair *pair, const struct driver *driver, bool with_interfaces,
                enum driver_role role)
{
    *pair = (struct pair){
        .driver = driver,
        .role = role,
        .with_interfaces = with_interfaces,
        .control = -1,
        .host = {.stopped = stopped, .context = pair},
    };
    pair_be_patient(pair);
}

uint64_t pair_largest(const struct driver *driver)
{
    return driver->max_size < LARGEST_BYTES ? driver->max_size : LARGEST_BYTES;
}

struct driver_options pair_options(const struct pair *pair, uint64_t max_size)
{
    bool first = pair->role == DRIVER_INITIATOR;
    return (struct driver_options){
        .role = pair->role,
        .interface = !pair->with_interfaces ? ""
                     : first                ? "end0"
                                            : "end1",
        .local_address = !pair->with_interfaces ? ""
                         : first                ? "10.77.0.1"
                                                : "10.77.0.2",
        .max_size = max_size,
        .loss_timeout_ns = LOSS_TIMEOUT_NS,
        .host = &pair->host,
    };
}

void pair_say(const struct pair *pair, uint64_t word)
{
    ssize_t count;
    do { /* a driver may have its own signals */
        count = send(pair->control, &word, sizeof word, MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    pair_check(count == (ssize_t)sizeof word, count);
}

uint64_t pair_hear(const struct pair *pair)
{
    uint64_t word = 0;
    ssize_t count;
    do {
        count = recv(pair->control, &word, sizeof word, 0);
    } while (count < 0 && errno == EINTR);
    pair_check(count == (ssize_t)sizeof word, count);
    return word;
}

static void be_called(int number)
{
}

void pair_call(const struct pair *pair, uint64_t word)
{
    pair_say(pair, word);
    pair_check(kill(pair->responder, SIGUSR1) == 0, errno);
}

/* Texts that are handed in are valid only during the call. */
static int open_with_short_lived_texts(struct pair *pair, size_t index, char *error,
                                       size_t error_bytes)
{
    struct driver_options options = pair_options(pair, pair_largest(pair->driver));
    char texts[2][TEXT_BYTES];
    (void)snprintf(texts[0], TEXT_BYTES, "%s", options.interface);
    (void)snprintf(texts[1], TEXT_BYTES, "%s", options.local_address);
    options.interface = texts[0];
    options.local_address = texts[1];
    int result = pair->driver->open(&options, &pair->sessions[index], error, error_bytes);
    memset(texts, '?', sizeof texts);
    return result;
}

static void open_session(struct pair *pair, size_t index)
{
    char error[DRIVER_REASON_BYTES] = "";
    char own[DRIVER_ADDRESS_BYTES] = "";
    char other[DRIVER_ADDRESS_BYTES] = "";
    int result = open_with_short_lived_texts(pair, index, error, sizeof error);
    if (result != 0) {
        (void)fprintf(stderr, "open: %s\n", error);
    }
    pair_check(result == 0, result);
    result = pair->driver->address(pair->sessions[index], own, sizeof own);
    pair_check(result == 0, result);
    for (const char *at = own; *at != '\0'; at++) {
        pair_check(*at > ' ' && *at <= '~', *at);
    }
    ssize_t count = send(pair->control, own, sizeof own, MSG_NOSIGNAL);
    pair_check(count == (ssize_t)sizeof own, count);
    count = recv(pair->control, other, sizeof other, 0);
    pair_check(count == (ssize_t)sizeof other, count);
    result = pair->driver->connect(pair->sessions[index], other, error, sizeof error);
    memset(other, '?', sizeof other);
    if (result != 0) {
        (void)fprintf(stderr, "connect: %s\n", error);
    }
    pair_check(result == 0, result);
}

static void play_one(struct pair *pair, size_t sessions, pair_part *part)
{
    for (size_t i = 0; i < sessions; i++) {
        open_session(pair, i);
    }
    part(pair);
    for (size_t i = 0; i < sessions; i++) {
        pair->driver->close(pair->sessions[i]);
    }
}

int pair_play(const struct driver *driver, bool with_interfaces, size_t sessions,
              pair_part *initiator, pair_part *responder)
{
    int controls[2];
    struct pair pair;
    pair_check(sessions <= PAIR_SESSIONS, sessions);
    pair_check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, controls) == 0, 0);
    pid_t child = fork();
    pair_check(child >= 0, child);
    pair_alone(&pair, driver, with_interfaces, child == 0 ? DRIVER_RESPONDER : DRIVER_INITIATOR);
    pair.control = controls[child == 0 ? 1 : 0];
    close(controls[child == 0 ? 0 : 1]);
    if (child == 0) {
        const struct sigaction called = {.sa_handler = be_called};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)sigaction(SIGUSR1, &called, NULL);
        play_one(&pair, sessions, responder);
        _exit(0);
    }
    pair.responder = child;
    play_one(&pair, sessions, initiator);
    close(pair.control);
    int status = -1;
    pair_check(waitpid(child, &status, 0) == child, child);
    return status;
}
