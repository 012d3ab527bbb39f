/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp_uring.c - TCP through io_uring, blocking: one io_uring_enter() submits a send or receive and
 * waits for its completion. One operation at a time, like a program that replaces send() and recv()
 * by io_uring.
 *
 * The rings are memory shared with the kernel. Of each, one side writes the head and the other the
 * tail. We write the submission ring's tail (release, after the entry) and read its head. The
 * kernel writes the completion ring's tail (we acquire it before reading the entry), and we write
 * its head (release, after reading the entry). See io_uring(7).
 *
 * If the host asks to stop, an operation under way is cancelled and its completion awaited, because
 * the caller's buffer must not be written to afterwards.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "connection.h"
#include "driver.h"

#define ENTRIES 4

/* The most that one operation moves, because its result has 32 bits. */
#define PIECE_BYTES (UINT64_C(1) << 30)

#define OPERATION 1
#define CANCELLATION 2

struct ring {
    int fd; /* or -1 */
    void *memory;
    size_t memory_bytes;
    struct io_uring_sqe *entries;
    size_t entries_bytes;
    _Atomic uint32_t *submission_tail;
    uint32_t submission_mask;
    uint32_t *submission_array;
    _Atomic uint32_t *completion_head;
    _Atomic uint32_t *completion_tail;
    uint32_t completion_mask;
    struct io_uring_cqe *completions;
};

struct uring {
    struct connection connection; /* first; opened by connection.c */
    struct ring ring;
};

static void ring_close(struct ring *ring)
{
    if (ring->entries != NULL) {
        munmap(ring->entries, ring->entries_bytes);
    }
    if (ring->memory != NULL) {
        munmap(ring->memory, ring->memory_bytes);
    }
    if (ring->fd >= 0) {
        close(ring->fd);
    }
    *ring = (struct ring){.fd = -1};
}

static int explain(char *error, size_t error_bytes)
{
    int code = errno;
    const char *why = code == ENOSYS ? "this kernel has no io_uring (CONFIG_IO_URING)"
                      : code == EPERM
                          ? "io_uring is forbidden here: see sysctl kernel.io_uring_disabled,"
                            " and seccomp filters, such as a container's"
                          : NULL;
    if (why != NULL) {
        (void)snprintf(error, error_bytes, "%s", why);
    } else {
        (void)snprintf(error, error_bytes, "cannot use io_uring: %s", strerror(code));
    }
    return -code;
}

static int set_up(struct io_uring_params *parameters)
{
#ifdef IORING_SETUP_DEFER_TASKRUN
    /* Completions are delivered on request, without an interrupt to another core. */
    parameters->flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    int fd = (int)syscall(SYS_io_uring_setup, ENTRIES, parameters);
    if (fd >= 0 || errno != EINVAL) {
        return fd;
    }
#endif
    *parameters = (struct io_uring_params){0};
    return (int)syscall(SYS_io_uring_setup, ENTRIES, parameters);
}

static int ring_open(struct ring *ring, char *error, size_t error_bytes)
{
    struct io_uring_params parameters = {0};
    const uint32_t wanted = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_EXT_ARG;
    *ring = (struct ring){.fd = set_up(&parameters)};
    if (ring->fd < 0) {
        return explain(error, error_bytes);
    }
    if ((parameters.features & wanted) != wanted) {
        ring_close(ring);
        (void)snprintf(error, error_bytes,
                       "this kernel's io_uring is too old: Linux 5.11 is needed");
        return -ENOSYS;
    }
    size_t submission = parameters.sq_off.array + (size_t)parameters.sq_entries * sizeof(uint32_t);
    size_t completion =
        parameters.cq_off.cqes + (size_t)parameters.cq_entries * sizeof(struct io_uring_cqe);
    ring->memory_bytes = submission > completion ? submission : completion;
    ring->entries_bytes = (size_t)parameters.sq_entries * sizeof(struct io_uring_sqe);
    uint8_t *memory = mmap(NULL, ring->memory_bytes, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQ_RING);
    void *entries = mmap(NULL, ring->entries_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQES);
    ring->memory = memory == MAP_FAILED ? NULL : memory;
    ring->entries = entries == MAP_FAILED ? NULL : entries;
    if (ring->memory == NULL || ring->entries == NULL) {
        int result = explain(error, error_bytes);
        ring_close(ring);
        return result;
    }
    ring->submission_tail = (void *)(memory + parameters.sq_off.tail);
    ring->submission_mask = *(uint32_t *)(void *)(memory + parameters.sq_off.ring_mask);
    ring->submission_array = (void *)(memory + parameters.sq_off.array);
    ring->completion_head = (void *)(memory + parameters.cq_off.head);
    ring->completion_tail = (void *)(memory + parameters.cq_off.tail);
    ring->completion_mask = *(uint32_t *)(void *)(memory + parameters.cq_off.ring_mask);
    ring->completions = (void *)(memory + parameters.cq_off.cqes);
    return 0;
}

/* Adds an entry to the submission ring, which always has room, because each entry is submitted at
 * once. */
static void put(struct ring *ring, struct io_uring_sqe entry)
{
    uint32_t tail = atomic_load_explicit(ring->submission_tail, memory_order_relaxed);
    uint32_t index = tail & ring->submission_mask;
    ring->entries[index] = entry;
    ring->submission_array[index] = index;
    atomic_store_explicit(ring->submission_tail, tail + 1, memory_order_release);
}

/* Takes the next completion. */
static bool take(struct ring *ring, struct io_uring_cqe *end)
{
    uint32_t head = atomic_load_explicit(ring->completion_head, memory_order_relaxed);
    if (head == atomic_load_explicit(ring->completion_tail, memory_order_acquire)) {
        return false;
    }
    *end = ring->completions[head & ring->completion_mask];
    atomic_store_explicit(ring->completion_head, head + 1, memory_order_release);
    return true;
}

/* Submits `count` entries and waits for a completion for a limited time. @return the number
 * submitted. */
static int enter(const struct ring *ring, unsigned count)
{
    struct __kernel_timespec time = {.tv_nsec = CONNECTION_WAIT_MS * 1000000LL};
    const struct io_uring_getevents_arg how = {.ts = (uint64_t)(uintptr_t)&time};
    long took = syscall(SYS_io_uring_enter, ring->fd, count, 1,
                        IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &how, sizeof how);
    if (took >= 0) {
        return (int)took;
    }
    /* The time is over, but the entries were submitted. */
    return errno == ETIME || errno == EINTR || errno == EAGAIN || errno == EBUSY ? (int)count
                                                                                 : -errno;
}

/* Cancels the operation under way, and returns when it has completed. */
static int cancel(struct ring *ring)
{
    unsigned ends = 0;
    put(ring, (struct io_uring_sqe){.opcode = IORING_OP_ASYNC_CANCEL,
                                    .fd = -1,
                                    .addr = OPERATION,
                                    .user_data = CANCELLATION});
    for (unsigned count = 1; ends < 2; count = 0) {
        struct io_uring_cqe end;
        int took = enter(ring, count);
        if (took < 0) {
            return took;
        }
        while (take(ring, &end)) {
            ends++;
        }
    }
    return -ECANCELED;
}

/* Performs one operation. @return its result. */
static int perform(struct uring *uring, struct io_uring_sqe entry)
{
    entry.fd = uring->connection.fd;
    entry.user_data = OPERATION;
    put(&uring->ring, entry);
    for (unsigned count = 1;; count = 0) {
        struct io_uring_cqe end;
        int took = enter(&uring->ring, count);
        if (took < 0) {
            return took;
        }
        if (take(&uring->ring, &end)) {
            return end.res;
        }
        if (connection_stopped(&uring->connection)) {
            return cancel(&uring->ring);
        }
    }
}

/* Moves a whole message, in as many operations as necessary. */
static int move(struct uring *uring, uint8_t opcode, uintptr_t at, uint64_t size)
{
    while (size > 0) {
        int count = perform(uring, (struct io_uring_sqe){
                                       .opcode = opcode,
                                       .addr = at,
                                       .len = (uint32_t)(size < PIECE_BYTES ? size : PIECE_BYTES),
                                       .msg_flags = MSG_NOSIGNAL,
                                   });
        if (count == 0) {
            return -ECONNRESET;
        }
        if (count < 0 && count != -EINTR && count != -EAGAIN) {
            return count;
        }
        if (count > 0) {
            at += (uintptr_t)count;
            size -= (uint64_t)count;
        }
    }
    return 0;
}

static const struct connection_kind KIND = {.protocol = IPPROTO_TCP, .after = connection_no_delay};

static int uring_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    struct ring ring;
    int result = connection_probe(&KIND, options, "this kernel has no TCP", reason, reason_bytes);
    if (result == 0) {
        result = ring_open(&ring, reason, reason_bytes);
    }
    if (result == 0) {
        ring_close(&ring);
    }
    return result;
}

static void uring_close(void *session)
{
    struct uring *uring = session;
    ring_close(&uring->ring);
    connection_close(session);
}

static int uring_open(const struct driver_options *options, void **session, char *error,
                      size_t error_bytes)
{
    struct ring ring;
    int result = ring_open(&ring, error, error_bytes);
    if (result == 0) {
        result = connection_open(&KIND, sizeof(struct uring), options, session, error, error_bytes);
        if (result != 0) {
            ring_close(&ring);
        } else {
            ((struct uring *)*session)->ring = ring;
        }
    }
    return result;
}

static int uring_send(void *session, const void *data, uint64_t size)
{
    return move(session, IORING_OP_SEND, (uintptr_t)data, size);
}

static int uring_receive(void *session, void *data, uint64_t size)
{
    return move(session, IORING_OP_RECV, (uintptr_t)data, size);
}

static const struct driver TCP_URING = {
    CONNECTION_DRIVER,
    .name = "tcp-uring",
    .summary = "TCP sockets through io_uring, one operation at a time, blocking",
    .probe = uring_probe,
    .open = uring_open,
    .send = uring_send,
    .receive = uring_receive,
    .close = uring_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&TCP_URING, NULL};
    return TABLE;
}
