/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tipc_fake.h - a TIPC network for tests, whatever this kernel has: the socket calls of the lane
 * are wrapped by the linker (meson.build), and what they do is what Linux 6.1 does: messages for
 * nobody come back, and so do those that find no room. Whoever includes it is one test program.
 */
#ifndef BEOWIRE_TESTS_LANE_TIPC_FAKE_H
#define BEOWIRE_TESTS_LANE_TIPC_FAKE_H

#include "frame/address_layout.h"
#include "frame/frame.h"
#include "lane/tipc/tipc.h"
#include "unit/test.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/tipc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAKE_SOCKETS 8
#define FAKE_MESSAGES 128

struct fake_message {
    struct tipc_socket_addr from;
    uint32_t error; /* TIPC_OK, or why it comes back */
    size_t bytes;
    uint8_t *data;
};

/** Their queues outlive them, since a descriptor may be used again. */
struct fake_socket {
    bool is_open;
    bool returns; /* what it has sent, if nobody gets it */
    int fd;
    struct tipc_socket_addr at;
    unsigned count;
    struct fake_message messages[FAKE_MESSAGES];
};

/** The network; a test says how it is. */
static struct {
    int error;      /**< positive: what socket() says */
    uint32_t node;  /**< on which sockets are opened */
    uint32_t apart; /**< no link leads to this node */
    unsigned room;  /**< messages that a socket has room for */
    unsigned link;  /**< messages that go before the link is full */
    int wrong;      /**< positive: what the next send says */
    uint32_t drops;
    uint32_t numbers;
    unsigned calls; /**< that took messages, or none */
    struct fake_socket sockets[FAKE_SOCKETS];
} fake;

int __wrap_socket(int domain, int type, int protocol);
int __wrap_close(int fd);
int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *length);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t length);
int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *length);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
ssize_t __wrap_sendto(int fd, const void *data, size_t bytes, int flags,
                      const struct sockaddr *address, socklen_t length);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
int __real_close(int fd);

static inline int fail_with(int error)
{
    errno = error;
    return -1;
}

static inline struct fake_socket *fake_of(int fd)
{
    for (unsigned i = 0; i < FAKE_SOCKETS; i++) {
        if (fake.sockets[i].is_open && fake.sockets[i].fd == fd) {
            return &fake.sockets[i];
        }
    }
    fail_msg("descriptor %d is no socket", fd);
    return NULL;
}

static inline struct fake_socket *fake_at(struct tipc_socket_addr at)
{
    for (unsigned i = 0; i < FAKE_SOCKETS; i++) {
        if (fake.sockets[i].is_open && memcmp(&fake.sockets[i].at, &at, sizeof at) == 0) {
            return &fake.sockets[i];
        }
    }
    return NULL;
}

int __wrap_socket(int domain, int type, int protocol)
{
    assert_int_equal(domain, AF_TIPC);
    assert_int_equal(type, SOCK_RDM | SOCK_CLOEXEC);
    assert_int_equal(protocol, 0);
    if (fake.error != 0) {
        return fail_with(fake.error);
    }
    for (unsigned i = 0; i < FAKE_SOCKETS; i++) {
        struct fake_socket *socket = &fake.sockets[i];
        if (!socket->is_open) {
            *socket = (struct fake_socket){.is_open = true, .fd = eventfd(0, EFD_CLOEXEC)};
            socket->at = (struct tipc_socket_addr){.ref = ++fake.numbers * 1000, .node = fake.node};
            return socket->fd;
        }
    }
    return fail_with(EMFILE);
}

int __wrap_close(int fd)
{
    struct fake_socket *socket = fake_of(fd);

    for (unsigned i = 0; i < socket->count; i++) {
        free(socket->messages[i].data);
    }
    socket->is_open = false;
    return __real_close(fd);
}

int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *length)
{
    struct sockaddr_tipc own = {.family = AF_TIPC, .addrtype = TIPC_SOCKET_ADDR};

    own.addr.id = fake_of(fd)->at;
    assert_true(*length >= sizeof own);
    memcpy(address, &own, sizeof own);
    *length = sizeof own;
    return 0;
}

int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
    assert_int_equal(length, sizeof(int));
    if (level == SOL_TIPC && option == TIPC_DEST_DROPPABLE) {
        fake_of(fd)->returns = *(const int *)value == 0;
    }
    return 0;
}

int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *length)
{
    (void)fake_of(fd);
    assert_int_equal(level, SOL_SOCKET);
    if (option == SO_MEMINFO) {
        memset(value, 0, *length);
        ((uint32_t *)value)[SK_MEMINFO_DROPS] = fake.drops;
    } else {
        *(int *)value = 1 << 21;
    }
    return 0;
}

static inline void fake_queue(struct fake_socket *to, struct tipc_socket_addr from, uint32_t error,
                              const uint8_t *data, size_t bytes)
{
    struct fake_message *message = &to->messages[to->count++];

    assert_true(to->count <= FAKE_MESSAGES);
    *message = (struct fake_message){
        .from = from, .error = error, .bytes = bytes, .data = malloc(bytes + 1)};
    assert_non_null(message->data);
    memcpy(message->data, data, bytes);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct fake_socket *own = fake_of(fd);
    const struct sockaddr_tipc *address = message->msg_name;
    uint8_t *data = malloc(TIPC_MAX_USER_MSG_SIZE + 1);
    size_t bytes = 0;
    int wrong = fake.wrong;

    assert_non_null(data);
    assert_int_equal(flags, MSG_DONTWAIT);
    assert_int_equal(message->msg_namelen, sizeof *address);
    assert_int_equal(address->addrtype, TIPC_SOCKET_ADDR);
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        assert_true(bytes + message->msg_iov[i].iov_len <= TIPC_MAX_USER_MSG_SIZE);
        memcpy(data + bytes, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
        bytes += message->msg_iov[i].iov_len;
    }
    struct tipc_socket_addr at = address->addr.id;
    struct fake_socket *to = fake_at(at);
    fake.wrong = 0;
    wrong = wrong != 0 ? wrong : at.node == fake.apart ? EHOSTUNREACH : fake.link == 0 ? EAGAIN : 0;
    if (wrong == 0) {
        fake.link--;
        if (to != NULL && to->count < fake.room) {
            fake_queue(to, own->at, TIPC_OK, data, bytes);
        } else if (own->returns) {
            fake_queue(own, at, to == NULL ? TIPC_ERR_NO_PORT : TIPC_ERR_OVERLOAD, data, bytes);
        }
    }
    free(data);
    return wrong != 0 ? fail_with(wrong) : (ssize_t)bytes;
}

int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    unsigned sent = 0;

    while (sent < count && __wrap_sendmsg(fd, &messages[sent].msg_hdr, flags) >= 0) {
        sent++;
    }
    return sent > 0 ? (int)sent : -1;
}

ssize_t __wrap_sendto(int fd, const void *data, size_t bytes, int flags,
                      const struct sockaddr *address, socklen_t length)
{
    struct iovec part = {(void *)(uintptr_t)data, bytes};
    struct msghdr message = {.msg_name = (void *)(uintptr_t)address,
                             .msg_namelen = length,
                             .msg_iov = &part,
                             .msg_iovlen = 1};

    return __wrap_sendmsg(fd, &message, flags);
}

/** put_cmsg(): as much as there is room for. */
static inline void fake_say(struct msghdr *message, size_t *used, int type, const void *data,
                            size_t bytes)
{
    size_t left = message->msg_controllen - *used;

    if (left < sizeof(struct cmsghdr)) {
        return;
    }
    size_t length = CMSG_LEN(bytes) < left ? CMSG_LEN(bytes) : left;
    struct cmsghdr *header = (void *)((uint8_t *)message->msg_control + *used);
    *header = (struct cmsghdr){.cmsg_len = length, .cmsg_level = SOL_TIPC, .cmsg_type = type};
    memcpy(CMSG_DATA(header), data, length - CMSG_LEN(0));
    *used += CMSG_SPACE(bytes) < left ? CMSG_SPACE(bytes) : left;
}

static inline size_t fake_scatter(const struct msghdr *message, const struct fake_message *from)
{
    size_t done = 0;

    for (size_t i = 0; i < message->msg_iovlen && done < from->bytes; i++) {
        size_t left = from->bytes - done;
        size_t part = message->msg_iov[i].iov_len < left ? message->msg_iov[i].iov_len : left;
        memcpy(message->msg_iov[i].iov_base, from->data + done, part);
        done += part;
    }
    return done;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    struct fake_socket *own = fake_of(fd);
    struct sockaddr_tipc from = {.family = AF_TIPC, .addrtype = TIPC_SOCKET_ADDR};
    size_t control = 0;
    size_t bytes = 0;

    fake.calls++;
    assert_int_equal(flags, MSG_DONTWAIT);
    if (own->count == 0) {
        return fail_with(EAGAIN);
    }
    struct fake_message taken = own->messages[0];
    memmove(own->messages, own->messages + 1, --own->count * sizeof taken);
    from.addr.id = taken.from;
    assert_true(message->msg_namelen >= sizeof from);
    memcpy(message->msg_name, &from, sizeof from);
    if (taken.error != TIPC_OK) {
        const uint32_t said[2] = {taken.error, (uint32_t)taken.bytes};
        fake_say(message, &control, TIPC_ERRINFO, said, sizeof said);
        fake_say(message, &control, TIPC_RETDATA, taken.data, taken.bytes);
    } else {
        bytes = fake_scatter(message, &taken);
        message->msg_flags = bytes < taken.bytes ? MSG_TRUNC : 0;
    }
    message->msg_controllen = control;
    free(taken.data);
    return (ssize_t)bytes;
}

static int fake_setup(void **state)
{
    memset(&fake, 0, sizeof fake);
    fake.room = FAKE_MESSAGES;
    fake.link = UINT32_MAX;
    return 0;
}

/* ---- two lanes ------------------------------------------------------------------------------ */

#define NODE_A 0x1001001
#define NODE_B 0xCAFE0002
#define HEAD_BYTES 16

struct tipc_pair {
    struct lane *a;
    struct lane *b;
    struct lane_address at_a;
    struct lane_address at_b;
};

static inline struct lane *open_on(uint32_t node)
{
    struct lane *lane = NULL;

    fake.node = node;
    assert_int_equal(tipc_lane_open(&lane), 0);
    return lane;
}

static inline struct lane_address address_of(const struct lane *lane, struct lane *for_whom)
{
    struct address_layout address = {.rails = 1, .rail[0].mac = {2}}; /* of an interface */
    struct lane_address found;

    lane->operations->publish(lane, &address);
    assert_int_equal(address.rails, 2);
    assert_int_equal(for_whom->operations->reach(for_whom, &address, &found), 0);
    return found;
}

static inline struct tipc_pair open_pair(void)
{
    struct tipc_pair pair = {.a = open_on(NODE_A), .b = open_on(NODE_B)};

    pair.at_a = address_of(pair.a, pair.b);
    pair.at_b = address_of(pair.b, pair.a);
    return pair;
}

static inline void close_lane(struct lane *lane)
{
    lane->operations->close(lane);
}

static inline void close_pair(struct tipc_pair *pair)
{
    close_lane(pair->a);
    close_lane(pair->b);
}

/** Sends DATA of a message, whose bytes are `fill`. @return as send(). */
static inline unsigned send_data(struct lane *lane, const struct lane_address *to, uint32_t message,
                                 uint32_t segment, uint8_t fill, uint32_t payload_bytes)
{
    uint8_t room[LANE_HEADROOM + HEAD_BYTES];
    static uint8_t payload[1 << 16];
    struct frame_data head = frame_encode_data(0, 0, message);
    const struct lane_outgoing frame = {.head = room + LANE_HEADROOM,
                                        .head_bytes = HEAD_BYTES,
                                        .payload = payload,
                                        .payload_bytes = payload_bytes};

    frame_data_set_segment(&head, segment);
    memcpy(room + LANE_HEADROOM, &head, sizeof head);
    memset(payload, fill, sizeof payload);
    return lane->operations->send(lane, to, &frame, 1);
}

#endif /* BEOWIRE_TESTS_LANE_TIPC_FAKE_H */
