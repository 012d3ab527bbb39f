/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm.c - two processes of one host through shared memory, polling: the lower bound for messages
 * within a node.
 *
 * The initiator creates the memory (memfd_create: it has no name, so nothing remains however the
 * processes end). The responder opens it through /proc/PID/fd/FD, and checks the random key in the
 * address.
 *
 * Each direction is a ring of bytes with one producer and one consumer:
 *
 *      produced  written by the producer only; a release store after the bytes were copied in, so
 *                a consumer that reads it with acquire sees the bytes
 *      consumed  written by the consumer only; a release store after the bytes were copied out, so
 *                a producer that reads it with acquire overwrites nothing that is still needed
 *
 * Both count bytes and never wrap (2^64 bytes); the position in the ring is the count modulo its
 * size. Each has its own cache line, and each end caches the other's last value, so a line moves
 * between the cores only if a value has changed. A message is copied in pieces: the receiver copies
 * the first piece out while the second is copied in, and messages may be larger than the ring. If
 * the other process's count implies more bytes than the ring holds, the session ends.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver.h"
#include "fail.h"
#include "post.h"
#include "spin.h"
#include "text.h"

#define CACHE_LINE_BYTES 64
#define RING_BYTES (UINT64_C(256) << 10)
#define PIECE_BYTES (UINT64_C(16) << 10)
#define SEGMENT_MAGIC UINT64_C(0x62656f776972656d)

/* Time between two checks whether the other process is there. */
#define LOOK_NS SPIN_ASK_NS

struct ring {
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t produced;
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t consumed;
    alignas(CACHE_LINE_BYTES) uint8_t bytes[RING_BYTES];
};

struct segment {
    uint64_t magic;
    uint64_t key;
    _Atomic uint32_t attached; /* the responder has mapped it */
    _Atomic uint32_t closed;   /* one end has ended the session */
    struct ring rings[2];      /* by the role of the producer */
};

struct shm {
    const struct driver_host *host;
    enum driver_role role;
    uint64_t key;
    int memory_fd;  /* the initiator's, or -1 */
    int peer_fd;    /* pidfd of the other process, or -1 */
    bool peer_gone; /* the ring still has what it sent before */
    struct segment *segment;
    struct ring *out;
    struct ring *in;
    uint64_t produced; /* by us, in `out` */
    uint64_t consumed; /* by us, in `in` */
    uint64_t seen_consumed;
    uint64_t seen_produced;
    struct post_queue sends;
    struct post_queue receives;
};

static int shm_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    int fd = memfd_create("beowire", MFD_CLOEXEC);
    if (fd < 0) {
        return fail(reason, reason_bytes, "cannot make shared memory");
    }
    close(fd);
    return 0;
}

static void shm_close(void *session)
{
    struct shm *shm = session;
    if (shm->segment != NULL) {
        atomic_store_explicit(&shm->segment->closed, 1, memory_order_release);
        munmap(shm->segment, sizeof *shm->segment);
    }
    if (shm->memory_fd >= 0) {
        close(shm->memory_fd);
    }
    if (shm->peer_fd >= 0) {
        close(shm->peer_fd);
    }
    free(shm);
}

static int map_segment(struct shm *shm, int fd)
{
    void *memory =
        mmap(NULL, sizeof *shm->segment, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    shm->segment = memory;
    shm->out = &shm->segment->rings[shm->role];
    shm->in =
        &shm->segment->rings[shm->role == DRIVER_INITIATOR ? DRIVER_RESPONDER : DRIVER_INITIATOR];
    return 0;
}

static int make_segment(struct shm *shm)
{
    shm->memory_fd = memfd_create("beowire", MFD_CLOEXEC);
    if (shm->memory_fd < 0 || ftruncate(shm->memory_fd, (off_t)sizeof *shm->segment) != 0) {
        return -errno;
    }
    int result = map_segment(shm, shm->memory_fd);
    if (result == 0) {
        shm->segment->magic = SEGMENT_MAGIC;
        shm->segment->key = shm->key;
    }
    return result;
}

static int shm_open_session(const struct driver_options *options, void **session, char *error,
                            size_t error_bytes)
{
    struct shm *shm = malloc(sizeof *shm);
    if (shm == NULL) {
        return -ENOMEM;
    }
    *shm =
        (struct shm){.host = options->host, .role = options->role, .memory_fd = -1, .peer_fd = -1};
    int result = 0;
    if (getrandom(&shm->key, sizeof shm->key, 0) != (ssize_t)sizeof shm->key) {
        result = fail(error, error_bytes, "no random numbers");
    } else if (shm->role == DRIVER_INITIATOR && make_segment(shm) != 0) {
        result = fail(error, error_bytes, "cannot make shared memory");
    }
    if (result != 0) {
        shm_close(shm);
        return result;
    }
    *session = shm;
    return 0;
}

/* "PID/FD/KEY"; FD and KEY of the responder are 0, because it has no memory to offer. */
static int shm_address(void *session, char *text, size_t text_bytes)
{
    const struct shm *shm = session;
    int length =
        snprintf(text, text_bytes, "%d/%d/%016" PRIx64, (int)getpid(),
                 shm->memory_fd < 0 ? 0 : shm->memory_fd, shm->memory_fd < 0 ? 0 : shm->key);
    return length > 0 && (size_t)length < text_bytes ? 0 : -ENOSPC;
}

/* Has the other process ended? */
static bool is_gone(const struct shm *shm)
{
    struct pollfd poller = {.fd = shm->peer_fd, .events = POLLIN};
    return poll(&poller, 1, 0) > 0 ||
           atomic_load_explicit(&shm->segment->closed, memory_order_acquire) != 0;
}

/* One turn of a wait; the caller then polls the ring again. Checks about every millisecond whether
 * the other process has ended. Fails only in the turn after, because it may have sent something
 * just before it ended. */
static int wait_turn(struct shm *shm, struct spin *spin)
{
    if (shm->peer_gone) {
        return -ECONNRESET;
    }
    spin_pause();
    int error = spin_turn(spin);
    if (error == -ETIMEDOUT) {
        spin_progress(spin);
        shm->peer_gone = is_gone(shm);
        error = 0;
    }
    return error;
}

static int attach(struct shm *shm, int peer, int memory, uint64_t key, char *error,
                  size_t error_bytes)
{
    char path[64];
    struct stat status;
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", peer, memory);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return fail(error, error_bytes,
                    "cannot open the other end's memory (both have to run as the same user)");
    }
    int result = fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
                         status.st_size != (off_t)sizeof *shm->segment
                     ? -EPROTO
                     : map_segment(shm, fd);
    close(fd);
    if (result != 0 || shm->segment->magic != SEGMENT_MAGIC || shm->segment->key != key) {
        (void)snprintf(error, error_bytes,
                       "the other end's memory is not there: both have to run on one host");
        return result != 0 ? result : -EPROTO;
    }
    atomic_store_explicit(&shm->segment->attached, 1, memory_order_release);
    return 0;
}

static int shm_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    struct shm *shm = session;
    const char *text = peer;
    uint64_t pid;
    uint64_t memory;
    uint64_t key;
    if (!text_number(&text, 10, '/', INT_MAX, &pid) ||
        !text_number(&text, 10, '/', INT_MAX, &memory) ||
        !text_number(&text, 16, '\0', UINT64_MAX, &key)) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", peer);
        return -EINVAL;
    }
    shm->peer_fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (shm->peer_fd < 0) {
        return fail(error, error_bytes,
                    "the other end is not a process of this host (or of this PID namespace)");
    }
    if (shm->role == DRIVER_RESPONDER) {
        return attach(shm, (int)pid, (int)memory, key, error, error_bytes);
    }
    struct spin spin = spin_start(shm->host, LOOK_NS);
    int result = 0;
    while (result == 0 &&
           atomic_load_explicit(&shm->segment->attached, memory_order_acquire) == 0) {
        result = wait_turn(shm, &spin);
    }
    return result;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Copies one piece of a message into the ring. Its bytes; 0: no room; or -EPROTO. */
static int64_t put_piece(struct shm *shm, const uint8_t *at, uint64_t size)
{
    struct ring *ring = shm->out;
    uint64_t used = shm->produced - shm->seen_consumed;
    if (used >= RING_BYTES) {
        shm->seen_consumed = atomic_load_explicit(&ring->consumed, memory_order_acquire);
        used = shm->produced - shm->seen_consumed;
        if (used >= RING_BYTES) {
            return used > RING_BYTES ? -EPROTO : 0;
        }
    }
    uint64_t position = shm->produced % RING_BYTES;
    uint64_t piece =
        least(least(size, PIECE_BYTES), least(RING_BYTES - used, RING_BYTES - position));
    memcpy(ring->bytes + position, at, piece);
    shm->produced += piece;
    atomic_store_explicit(&ring->produced, shm->produced, memory_order_release);
    return (int64_t)piece;
}

/* Copies one piece of a message out of the ring. Its bytes; 0: none; or -EPROTO. */
static int64_t take_piece(struct shm *shm, uint8_t *at, uint64_t size)
{
    struct ring *ring = shm->in;
    uint64_t filled = shm->seen_produced - shm->consumed;
    if (filled == 0) {
        shm->seen_produced = atomic_load_explicit(&ring->produced, memory_order_acquire);
        filled = shm->seen_produced - shm->consumed;
        if (filled == 0 || filled > RING_BYTES) {
            return filled == 0 ? 0 : -EPROTO;
        }
    }
    uint64_t position = shm->consumed % RING_BYTES;
    uint64_t piece = least(least(size, PIECE_BYTES), least(filled, RING_BYTES - position));
    memcpy(at, ring->bytes + position, piece);
    shm->consumed += piece;
    atomic_store_explicit(&ring->consumed, shm->consumed, memory_order_release);
    return (int64_t)piece;
}

static int shm_send(void *session, const void *data, uint64_t size)
{
    struct shm *shm = session;
    const uint8_t *at = data;
    struct spin spin = spin_start(shm->host, LOOK_NS);
    while (size > 0) {
        int64_t piece = put_piece(shm, at, size);
        int error = piece == 0 ? wait_turn(shm, &spin) : piece < 0 ? (int)piece : 0;
        if (error != 0) {
            return error;
        }
        at += piece;
        size -= (uint64_t)piece;
    }
    return 0;
}

static int shm_receive(void *session, void *data, uint64_t size)
{
    struct shm *shm = session;
    uint8_t *at = data;
    struct spin spin = spin_start(shm->host, LOOK_NS);
    while (size > 0) {
        int64_t piece = take_piece(shm, at, size);
        int error = piece == 0 ? wait_turn(shm, &spin) : piece < 0 ? (int)piece : 0;
        if (error != 0) {
            return error;
        }
        at += piece;
        size -= (uint64_t)piece;
    }
    return 0;
}

static int64_t move_out(void *session, const struct post *post)
{
    return put_piece(session, post->at.out, post->left);
}

static int64_t move_in(void *session, const struct post *post)
{
    return take_piece(session, post->at.in, post->left);
}

static int shm_post_send(void *session, const void *data, uint64_t size)
{
    struct shm *shm = session;
    return post_out(&shm->sends, data, size, move_out, shm);
}

static int shm_post_receive(void *session, void *data, uint64_t size)
{
    struct shm *shm = session;
    return post_in(&shm->receives, data, size);
}

static int shm_progress(void *session, bool wait, struct driver_ended *ended)
{
    struct shm *shm = session;
    struct spin spin = spin_start(shm->host, LOOK_NS);
    const uint64_t before = ended->sends + ended->receives;
    for (;;) {
        int64_t sent = post_push(&shm->sends, move_out, shm);
        int64_t received = sent < 0 ? sent : post_push(&shm->receives, move_in, shm);
        ended->sends += post_ended(&shm->sends);
        ended->receives += post_ended(&shm->receives);
        if (received < 0 || !wait || ended->sends + ended->receives != before) {
            return received < 0 ? (int)received : 0;
        }
        int error = sent + received == 0 ? wait_turn(shm, &spin) : 0;
        if (error != 0) {
            return error;
        }
    }
}

static const struct driver SHM = {
    .abi = DRIVER_ABI,
    .name = "shm",
    .summary = "shared memory between two processes of one host, spinning",
    .placement = DRIVER_HOST,
    .reliable = true,
    .spins = true,
    .min_size = 1,
    .max_size = UINT64_C(1) << 30,
    .probe = shm_probe,
    .open = shm_open_session,
    .address = shm_address,
    .connect = shm_connect,
    .send = shm_send,
    .receive = shm_receive,
    .close = shm_close,
    .post_send = shm_post_send,
    .post_receive = shm_post_receive,
    .progress = shm_progress,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&SHM, NULL};
    return TABLE;
}
