/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lane between processes of one host, and others that break the rules: what they say over its
 * sockets, the files that they pass, and what they write into the memory that it then shares with
 * them, are as the input says. Whatever they do: no crash, each frame that is handed out is whole,
 * and nothing of theirs is left when all have gone.
 */
#include "lane/shm/shm.h"

#include "frame/address_layout.h"
#include "lane/shm/shm_meet.h"
#include "lane/shm_segment.h"
#include "lane/shm_socket.h"

#include "../unit/transport/lane/descriptors.h"
#include "fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define OTHERS 4
#define STEPS_MAX 200
#define FRAMES 16

/** Another process. */
struct other {
    int listener;  /* under its incarnation; -1: none */
    int said;      /* by which it has connected, or -1 */
    int heard;     /* by which the lane has connected, or -1 */
    int passed;    /* the last file that it has passed, or -1 */
    void *memory;  /* what it has passed, as far as it is mapped here */
    size_t bytes;  /* of it */
    uint8_t *ring; /* what it was passed: a ring that the lane writes, or NULL */
};

struct fuzz {
    struct script script;
    struct lane *lane;
    struct other others[OTHERS];
};

static uint8_t take(struct fuzz *fuzz)
{
    return script_take(&fuzz->script);
}

static uint32_t take_32(struct fuzz *fuzz)
{
    return script_take_32(&fuzz->script);
}

/** Of this process: others may run at the same time. */
static uint64_t incarnation_of(unsigned number)
{
    return (uint64_t)getpid() << 16 | number;
}

static struct shm_lane *inside(struct fuzz *fuzz)
{
    return (struct shm_lane *)(void *)fuzz->lane;
}

static struct other *some_other(struct fuzz *fuzz)
{
    return &fuzz->others[take(fuzz) % OTHERS];
}

static uint64_t name_of(const struct fuzz *fuzz, const struct other *other)
{
    return incarnation_of(1 + (unsigned)(other - fuzz->others));
}

static void close_file(int *file)
{
    if (*file >= 0) {
        close(*file);
        *file = -1;
    }
}

static void forget_memory(struct other *other)
{
    shm_segment_unmap(other->memory, other->bytes);
    other->memory = NULL;
}

/* ---- what others say ----------------------------------------------------------------------- */

/** A file to pass: memory as it should be, and as it should not, or something else. */
static int some_file(struct fuzz *fuzz, struct other *other, size_t bytes)
{
    uint8_t choice = take(fuzz);
    int file = -1;
    int ends[2];

    switch (choice % 8) {
    case 5: /* not sealed, or not as it should be */
        file = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        require(file >= 0 && ftruncate(file, (off_t)bytes) == 0);
        require(fcntl(file, F_ADD_SEALS,
                      ((choice & 0x10) != 0 ? F_SEAL_SHRINK : 0) |
                          ((choice & 0x20) != 0 ? F_SEAL_GROW : 0) |
                          ((choice & 0x40) != 0 ? F_SEAL_WRITE : 0)) == 0);
        return file;
    case 6:
        require(pipe(ends) == 0);
        close(ends[1]);
        return ends[0];
    case 7:
        file = open((choice & 0x10) != 0 ? "/" : "/dev/null", O_RDONLY | O_CLOEXEC);
        require(file >= 0);
        return file;
    default:
        forget_memory(other);
        other->bytes = (choice & 0x70) == 0x70 ? 4096u * (1 + choice % 4) : bytes;
        require(shm_segment_make("fuzz", other->bytes, &other->memory, &file) == 0);
        return file;
    }
}

/** Sends so many bytes and so many copies of a file. */
static void say(int socket, const void *data, size_t bytes, int file, unsigned copies)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control = {0};
    const int files[3] = {file, file, file};
    struct iovec part = {(void *)(uintptr_t)data, bytes};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

    if (copies > 0) {
        control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(copies * sizeof(int)),
                                          .cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), files, copies * sizeof(int));
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(copies * sizeof(int));
    }
    (void)sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/** HELLO or REPLY, as it should be but for what the script changes. */
static void say_message(struct fuzz *fuzz, struct other *other, int socket,
                        enum shm_message_kind kind)
{
    uint8_t choice = take(fuzz);
    size_t bytes = kind == SHM_HELLO ? sizeof(struct shm_ring) : sizeof(struct shm_bell);
    int file = some_file(fuzz, other, bytes);
    struct {
        struct shm_message message;
        uint8_t more[8];
    } said = {.message = {.magic = SHM_MAGIC,
                          .version = SHM_VERSION,
                          .kind = (uint16_t)kind,
                          .incarnation = kind == SHM_HELLO ? name_of(fuzz, other) : 0,
                          .bell = kind == SHM_REPLY ? take_32(fuzz) : 0}};
    size_t length = sizeof said.message;

    if ((choice & 1) != 0) {
        ((uint8_t *)&said)[take(fuzz) % sizeof said] ^= take(fuzz);
    }
    if ((choice & 2) != 0) {
        length = take(fuzz) % (sizeof said + 1);
    }
    if ((choice & 4) != 0) { /* another's, or nobody's, or the lane's own */
        said.message.incarnation = take(fuzz) % 2 == 0 ? incarnation_of(take(fuzz) % 8) : 0;
    }
    say(socket, &said, length, file, (choice & 0x30) == 0x30 ? choice >> 6 : 1);
    close_file(&other->passed);
    other->passed = file;
}

static void connect_other(struct fuzz *fuzz, struct other *other)
{
    pid_t process = 0;

    close_file(&other->said);
    other->said = shm_socket_connect(inside(fuzz)->incarnation, &process);
}

static void listen_other(const struct fuzz *fuzz, struct other *other)
{
    close_file(&other->listener);
    other->listener = shm_socket_listen(name_of(fuzz, other));
}

/** Answers the lane, and takes the ring that it writes. */
static void answer(struct fuzz *fuzz, struct other *other)
{
    struct shm_message hello;
    int file = -1;

    if (other->heard < 0 && other->listener >= 0) {
        other->heard = shm_socket_accept(other->listener);
    }
    if (other->heard < 0) {
        return;
    }
    if (shm_socket_receive(other->heard, SHM_HELLO, &hello, &file) == 0) {
        void *memory = NULL;
        require(hello.incarnation == inside(fuzz)->incarnation);
        require(shm_segment_map(file, sizeof(struct shm_ring), &memory) == 0);
        shm_segment_unmap(other->ring, sizeof(struct shm_ring));
        other->ring = memory;
        close(file);
    }
    say_message(fuzz, other, other->heard, SHM_REPLY);
}

/** Writes into what it has passed: cells that are new, or anything. */
static void write_memory(struct fuzz *fuzz, struct other *other)
{
    struct shm_ring *ring = other->memory;
    uint8_t choice = take(fuzz);

    if ((choice & 4) != 0 && other->passed >= 0) {
        (void)!ftruncate(other->passed, 0); /* whoever has mapped what can shrink ends by SIGBUS */
    }
    if (ring == NULL) {
        return;
    }
    uint32_t cell = take(fuzz);
    if ((choice & 1) != 0 || other->bytes < offsetof(struct shm_ring, cells[cell + 1])) {
        memset(other->memory, take(fuzz), 64);
        return;
    }
    uint64_t length = take_32(fuzz);
    uint64_t control = (uint64_t)(1 + (choice >> 7)) << 48 | (length & 0xFFFFFFFFFFFF);
    __atomic_store_n(&ring->cells[cell].control,
                     (choice & 2) != 0 ? control : control | (uint64_t)take_32(fuzz) << 32,
                     __ATOMIC_RELEASE);
}

/** Gives back what it was never given, wants to be woken, or both. */
static void write_ring(struct fuzz *fuzz, struct other *other)
{
    struct shm_ring *ring = (struct shm_ring *)(void *)other->ring;
    uint8_t choice = take(fuzz);

    if (ring == NULL) {
        return;
    }
    __atomic_store_n((choice & 1) != 0 ? &ring->consumed : &ring->attention,
                     (choice & 2) != 0 ? take_32(fuzz) : 1u + choice / 4u, __ATOMIC_RELEASE);
}

/* ---- what the lane does -------------------------------------------------------------------- */

static void lane_takes(struct fuzz *fuzz)
{
    struct lane_incoming frames[FRAMES];
    unsigned count = fuzz->lane->operations->receive(fuzz->lane, frames, FRAMES);

    for (unsigned i = 0; i < count; i++) {
        struct frame frame;
        if (frame_decode(frames[i].data, frames[i].bytes, &frame) == FRAME_OK) {
            const uint8_t *payload = frames[i].payload != NULL ? frames[i].payload : frame.payload;
            volatile uint8_t last = 0;
            if (frame.payload_bytes > 0) {
                last = payload[frame.payload_bytes - 1];
            }
            (void)last;
        }
    }
    fuzz->lane->operations->release(fuzz->lane);
}

static void lane_sends(struct fuzz *fuzz, const struct other *other)
{
    static struct {
        _Alignas(8) uint8_t room[LANE_HEADROOM];
        uint8_t head[46];
        uint8_t payload[SHM_PAYLOAD_BYTES];
    } frame;
    uint8_t choice = take(fuzz);
    struct address_layout address = {.incarnation = to_le64(name_of(fuzz, other))};
    struct lane_address to;
    struct lane_outgoing outgoing[FRAMES];

    fuzz->lane->operations->publish(fuzz->lane, &address);
    if (fuzz->lane->operations->reach(fuzz->lane, &address, &to) != 0) {
        return;
    }
    for (unsigned i = 0; i < FRAMES; i++) {
        outgoing[i] = (struct lane_outgoing){
            .head = frame.head,
            .head_bytes = sizeof frame.head,
            .payload = frame.payload,
            .payload_bytes = (choice & 0x10) != 0 ? SHM_PAYLOAD_BYTES : choice / 32u};
    }
    (void)fuzz->lane->operations->send(fuzz->lane, &to, outgoing, choice % (FRAMES + 1));
}

static void keep_house(struct fuzz *fuzz)
{
    shm_meet_keep_house(inside(fuzz));
    shm_peers_tidy(inside(fuzz));
}

static void ask_for_losses(struct fuzz *fuzz)
{
    struct lane_loss lost;
    unsigned times = 0;

    while (fuzz->lane->operations->lost(fuzz->lane, &lost)) {
        require(++times <= inside(fuzz)->peers_max);
    }
}

static void step(struct fuzz *fuzz)
{
    uint8_t what = take(fuzz) % 16;
    struct other *other = some_other(fuzz);
    static const char wake[40];

    switch (what) {
    case 0:
        connect_other(fuzz, other);
        break;
    case 1:
        connect_other(fuzz, other);
        say_message(fuzz, other, other->said, SHM_HELLO);
        break;
    case 2:
        say_message(fuzz, other, other->said, SHM_HELLO);
        break;
    case 3:
        say(other->said, wake, take(fuzz) % sizeof wake, -1, 0);
        break;
    case 4:
        close_file(&other->said);
        break;
    case 5:
        listen_other(fuzz, other);
        break;
    case 6:
        answer(fuzz, other);
        break;
    case 7:
        close_file(&other->heard);
        break;
    case 8:
        close_file(&other->listener);
        break;
    case 9:
        write_memory(fuzz, other);
        break;
    case 10:
        write_ring(fuzz, other);
        break;
    case 11:
        lane_takes(fuzz);
        break;
    case 12:
        lane_sends(fuzz, other);
        break;
    case 13:
        ask_for_losses(fuzz);
        break;
    case 14:
        (void)fuzz->lane->operations->arm(fuzz->lane);
        break;
    default:
        keep_house(fuzz);
        break;
    }
}

static void open_fuzz(struct fuzz *fuzz)
{
    const struct shm_lane_options options = {.incarnation = incarnation_of(0), .peers = OTHERS};

    require(shm_lane_open(&options, &fuzz->lane) == 0);
    for (unsigned i = 0; i < OTHERS; i++) {
        fuzz->others[i] = (struct other){.listener = -1, .said = -1, .heard = -1, .passed = -1};
    }
}

static void end_others(struct fuzz *fuzz)
{
    for (unsigned i = 0; i < OTHERS; i++) {
        struct other *other = &fuzz->others[i];
        close_file(&other->listener);
        close_file(&other->said);
        close_file(&other->heard);
        close_file(&other->passed);
        forget_memory(other);
        shm_segment_unmap(other->ring, sizeof(struct shm_ring));
        other->ring = NULL;
    }
}

/** They have gone: so has all that the lane had of them, once it has been told so. */
static void check_end(struct fuzz *fuzz)
{
    for (unsigned i = 0; i < 2 * SHM_CELLS / FRAMES + 4; i++) {
        lane_takes(fuzz);
        keep_house(fuzz);
        ask_for_losses(fuzz);
    }
    keep_house(fuzz);
    require(inside(fuzz)->peers_end == 0);
    require(inside(fuzz)->polled_count == 0 && inside(fuzz)->quiet_count == 0);
    require(inside(fuzz)->ended_count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz fuzz = {.script = {data, size}};
    int descriptors = count_descriptors();
    int mappings = count_mappings("memfd:");

    open_fuzz(&fuzz);
    for (unsigned i = 0; i < STEPS_MAX && fuzz.script.left > 0; i++) {
        step(&fuzz);
    }
    end_others(&fuzz);
    check_end(&fuzz);
    fuzz.lane->operations->close(fuzz.lane);
    require(count_descriptors() == descriptors);
    require(count_mappings("memfd:") == mappings);
    return 0;
}
