/* SPDX-License-Identifier: BSD-3-Clause */
#include "two_ends.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../../evaluator/drivers/post.h"
#include "../../../evaluator/engine/walk.h"

#define TIMEOUT_MS 10000
#define SLACK_BYTES (2 * MEASURE_SLACK_BYTES)

/* What a liar keeps: messages of this run and of the one before, by number. */
#define KEPT 32

struct link {
    struct end *end;
    int fd;
    uint64_t sent;
    struct post_queue sends;
    struct post_queue receives;
    uint8_t *held;
    uint8_t *kept[KEPT];
    uint8_t *before[KEPT];
    uint8_t *buffers[2];
    struct walk walk;
};

struct end initiator;
struct end responder;
struct measure_request asked;
enum lie lie;
enum driver_role liar;
uint64_t lie_at;
uint64_t lie_byte;
bool stop_at_once;

static struct link links[2];

static int write_all(struct link *link, const uint8_t *data, uint64_t size)
{
    while (size > 0) {
        ssize_t count = send(link->fd, data, size, MSG_NOSIGNAL);
        if (count < 0) {
            return -errno;
        }
        data += count;
        size -= (uint64_t)count;
    }
    return 0;
}

static int send_falsely(struct link *link, const uint8_t *data, uint64_t size, uint64_t number)
{
    uint8_t *copy = link->held;
    memcpy(copy, data, size);
    switch (lie) {
    case LIE_FLIP:
        copy[lie_byte] ^= 0x10;
        return write_all(link, copy, size);
    case LIE_DUPLICATE: /* the next one is replaced, when it comes */
        return write_all(link, copy, size);
    case LIE_REPLAY:
        return write_all(link, link->kept[0], size);
    case LIE_OLD_RUN:
        return write_all(link, link->before[number % KEPT], size);
    case LIE_SWAP: /* it goes when the next one has gone */
        return 0;
    default:
        return write_all(link, data, size);
    }
}

static int link_send(void *session, const void *data, uint64_t size)
{
    struct link *link = session;
    const uint64_t number = link->sent++;
    const bool lies = link->end->request.role == liar && size == asked.size;
    if (number < KEPT && size == asked.size) {
        memcpy(link->kept[number], data, size);
    }
    if (lies && number == lie_at) {
        return send_falsely(link, data, size, number);
    }
    if (lies && number == lie_at + 1 && lie == LIE_DUPLICATE) {
        return write_all(link, link->held, size);
    }
    int error = write_all(link, data, size);
    if (error == 0 && lies && number == lie_at + 1 && lie == LIE_SWAP) {
        error = write_all(link, link->held, size);
    }
    return error;
}

static int link_receive(void *session, void *data, uint64_t size)
{
    struct link *link = session;
    static _Thread_local uint64_t received;
    uint8_t *whole = malloc(size);
    assert_non_null(whole);
    uint64_t at = 0;
    int error = 0;
    while (error == 0 && at < size) {
        ssize_t count = recv(link->fd, whole + at, size - at, 0);
        error = count > 0 ? 0 : count == 0 ? -ECONNRESET : -errno;
        at += count > 0 ? (uint64_t)count : 0;
    }
    received = link->receives.end++; /* only counts here: nothing is posted in such runs */
    link->receives.first = link->receives.moving = link->receives.end;
    const bool cut = lie == LIE_TRUNCATE && received == lie_at && size == asked.size &&
                     link->end->request.role != liar;
    if (error == 0) {
        memcpy(data, whole, cut ? lie_byte : size);
    }
    free(whole);
    return error;
}

static int64_t move_out(void *session, const struct post *post)
{
    const struct link *link = session;
    ssize_t count = send(link->fd, post->at.out, post->left, MSG_NOSIGNAL | MSG_DONTWAIT);
    return count >= 0 ? count : errno == EAGAIN ? 0 : -errno;
}

static int64_t move_in(void *session, const struct post *post)
{
    const struct link *link = session;
    ssize_t count = recv(link->fd, post->at.in, post->left, MSG_DONTWAIT);
    return count > 0 ? count : count == 0 ? -ECONNRESET : errno == EAGAIN ? 0 : -errno;
}

static int link_post_send(void *session, const void *data, uint64_t size)
{
    struct link *link = session;
    link->sent++;
    return post_out(&link->sends, data, size, move_out, link);
}

static int link_post_receive(void *session, void *data, uint64_t size)
{
    struct link *link = session;
    int error = post_in(&link->receives, data, size);
    const uint64_t posted = link->receives.end - link->receives.first;
    if (posted > link->end->most_posted) {
        link->end->most_posted = posted;
    }
    return error;
}

static int link_progress(void *session, bool wait, struct driver_ended *ended)
{
    struct link *link = session;
    for (;;) {
        int64_t sent = post_push(&link->sends, move_out, link);
        int64_t received = sent < 0 ? sent : post_push(&link->receives, move_in, link);
        const uint64_t sends = post_ended(&link->sends);
        const uint64_t receives = post_ended(&link->receives);
        ended->sends += sends;
        ended->receives += receives;
        if (received < 0 || !wait || sends + receives > 0) {
            return received < 0 ? (int)received : 0;
        }
        struct pollfd poller = {.fd = link->fd, .events = POLLIN};
        poller.events |= link->sends.moving == link->sends.end ? 0 : POLLOUT;
        if (poll(&poller, 1, TIMEOUT_MS) == 0) {
            return -ETIMEDOUT;
        }
    }
}

/* The initiator's message goes first, so that nobody waits for the other to read. */
static int trade(struct link *link, const uint8_t *data, uint8_t *result, uint64_t size)
{
    const bool first = link->end->request.role == DRIVER_INITIATOR;
    int error = first ? link_send(link, data, size) : link_receive(link, result, size);
    if (error == 0) {
        error = first ? link_receive(link, result, size) : link_send(link, data, size);
    }
    return error;
}

static int link_collective(void *session, enum driver_collective what, enum driver_role root,
                           const void *data, void *result, uint64_t size)
{
    struct link *link = session;
    const enum driver_role own = link->end->request.role;
    const uint8_t *given = data;
    uint8_t *got = result;
    uint8_t byte = 0;
    int error;
    link->end->operations++;
    switch (what) {
    case DRIVER_BARRIER:
        return trade(link, &byte, &byte, 1);
    case DRIVER_BROADCAST:
        return root == own ? link_send(link, data, size) : link_receive(link, result, size);
    case DRIVER_ALLREDUCE:
        error = trade(link, given, got, size);
        for (uint64_t i = 0; error == 0 && i < size; i++) {
            got[i] = (uint8_t)(got[i] + given[i]);
        }
        return error;
    case DRIVER_ALLTOALL:
        memcpy(got + own * size, given + own * size, size);
        return trade(link, given + (1 - own) * size, got + (1 - own) * size, size);
    }
    return -EINVAL;
}

static const struct driver DRIVER = {
    .abi = DRIVER_ABI,
    .name = "link",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .min_size = 1,
    .max_size = TWO_ENDS_BYTES_MAX,
    .send = link_send,
    .receive = link_receive,
    .post_send = link_post_send,
    .post_receive = link_post_receive,
    .progress = link_progress,
    .collective = link_collective,
};

static bool interrupted(void *context)
{
    const struct end *end = context;
    return stop_at_once && end == &initiator;
}

void two_ends_prepare(const struct pattern *pattern)
{
    lie = TRUTH;
    liar = DRIVER_INITIATOR;
    lie_at = lie_byte = 0;
    stop_at_once = false;
    asked = (struct measure_request){
        .driver = &DRIVER,
        .pattern = pattern,
        .size = 1000,
        .skip = 4,
        .count = 10,
        .batch = 1,
        .interrupted = interrupted,
    };
}

static uint8_t *room(uint8_t **buffer, uint64_t bytes)
{
    if (*buffer == NULL) {
        *buffer = calloc(1, bytes);
        assert_non_null(*buffer);
    }
    return *buffer;
}

static void open_end(struct end *end, struct link *link, enum driver_role role, int fd)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    const uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    const struct timeval wait = {.tv_sec = TIMEOUT_MS / 1000};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait), 0);
    for (size_t i = 0; i < KEPT; i++) { /* the run before is what was kept */
        uint8_t *before = room(&link->before[i], TWO_ENDS_BYTES_MAX);
        link->before[i] = room(&link->kept[i], TWO_ENDS_BYTES_MAX);
        link->kept[i] = before;
    }
    (void)room(&link->held, TWO_ENDS_BYTES_MAX);
    link->walk.wanted = TWO_ENDS_BYTES_MAX; /* taking much memory takes long */
    link->end = end;
    link->fd = fd;
    link->sent = 0;
    link->sends = link->receives = (struct post_queue){0};
    *end = (struct end){.request = asked, .link = link};
    histogram_clear(&end->samples);
    end->request.role = role;
    end->request.session = link;
    end->request.context = end;
    end->request.walk = &link->walk;
    end->request.outgoing = room(&link->buffers[0], 2 * TWO_ENDS_BYTES_MAX + SLACK_BYTES);
    end->request.incoming = room(&link->buffers[1], 2 * TWO_ENDS_BYTES_MAX + SLACK_BYTES);
    end->request.deadline_ns =
        stop_at_once && role == DRIVER_INITIATOR ? now_ns : now_ns + (uint64_t)TIMEOUT_MS * 1000000;
}

/* Whoever fails hangs up, as an engine's session does. */
static void *carry_out(void *context)
{
    struct end *end = context;
    struct link *link = end->link;
    end->error =
        end->request.pattern->prepare == NULL ? 0 : end->request.pattern->prepare(&end->request);
    if (end->error == 0) {
        end->error = measure_run(&end->request, &end->result, &end->samples);
    }
    if (end->error != 0) {
        (void)shutdown(link->fd, SHUT_RDWR);
    }
    return NULL;
}

void two_ends_run(void)
{
    int ends[2];
    pthread_t thread;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    open_end(&initiator, &links[0], DRIVER_INITIATOR, ends[0]);
    open_end(&responder, &links[1], DRIVER_RESPONDER, ends[1]);
    assert_int_equal(pthread_create(&thread, NULL, carry_out, &responder), 0);
    (void)carry_out(&initiator);
    if (initiator.result.stopped && initiator.request.pattern != &PATTERN_PINGPING) {
        (void)shutdown(ends[0], SHUT_RDWR); /* `stop`, to whoever waits for more */
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (initiator.error == 0 && responder.error == 0) {
        char byte;
        assert_true(recv(ends[0], &byte, 1, MSG_DONTWAIT) <= 0);
        assert_true(recv(ends[1], &byte, 1, MSG_DONTWAIT) <= 0);
    }
    for (size_t i = 0; i < 2; i++) {
        walk_end(&links[i].walk);
        (void)close(ends[i]);
    }
}

const uint64_t two_ends_sizes[5] = {1, 7, 1000, 65537, TWO_ENDS_BYTES_MAX};

void two_ends_expect_whole(uint64_t sent, uint64_t received)
{
    assert_int_equal(initiator.error, 0);
    assert_int_equal(responder.error, 0);
    assert_int_equal(initiator.result.sent, sent);
    assert_int_equal(initiator.result.received, received);
    assert_false(initiator.result.stopped || responder.result.stopped);
    assert_true(initiator.result.in_step && responder.result.in_step);
    assert_true(initiator.result.elapsed_ns > 0);
}
