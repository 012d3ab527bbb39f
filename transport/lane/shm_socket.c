/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096
#define DRAINED_AT_ONCE 64

/** Room for exactly one descriptor. */
union one_file {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static socklen_t name_of(uint64_t incarnation, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "beowire/shm/%016" PRIx64,
                          incarnation);

    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int new_socket(void)
{
    int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    return made < 0 ? -errno : made;
}

/** Does the other end belong to the same user? @return 0, -EPERM. */
static int check_user(int connection, pid_t *process)
{
    struct ucred other;
    socklen_t length = sizeof other;

    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0 ||
        other.uid != geteuid()) {
        return -EPERM;
    }
    *process = other.pid;
    return 0;
}

int shm_socket_listen(uint64_t incarnation)
{
    struct sockaddr_un name;
    socklen_t length = name_of(incarnation, &name);
    int listener = new_socket();

    if (listener < 0) {
        return listener;
    }
    if (bind(listener, (const struct sockaddr *)&name, length) != 0 ||
        listen(listener, BACKLOG) != 0) {
        int error = errno;
        close(listener);
        return -error;
    }
    return listener;
}

int shm_socket_accept(int listener)
{
    pid_t process = 0;
    int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (accepted < 0) {
        return -errno;
    }
    if (check_user(accepted, &process) != 0) {
        close(accepted);
        return -EPERM;
    }
    return accepted;
}

int shm_socket_connect(uint64_t incarnation, pid_t *process)
{
    struct sockaddr_un name;
    socklen_t length = name_of(incarnation, &name);
    int connection = new_socket();
    int status = 0;

    if (connection < 0) {
        return connection;
    }
    if (connect(connection, (const struct sockaddr *)&name, length) != 0) {
        status = -errno;
    } else {
        status = check_user(connection, process);
    }
    if (status != 0) {
        close(connection);
        return status;
    }
    return connection;
}

int shm_socket_send(int socket, struct shm_message message, int file)
{
    union one_file control = {0};
    struct iovec part = {&message, sizeof message};
    struct msghdr header = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };

    message.magic = SHM_MAGIC;
    message.version = SHM_VERSION;
    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof file), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &file, sizeof file);
    return sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int shm_socket_receive(int socket, enum shm_message_kind kind, struct shm_message *message,
                       int *file)
{
    union one_file control = {0};
    struct iovec part = {message, sizeof *message};
    struct msghdr header = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = CMSG_LEN(sizeof *file), /* CMSG_SPACE would have room for two */
    };
    ssize_t bytes = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
        return -EAGAIN;
    }
    if (bytes < 0) {
        return -ECONNRESET;
    }
    const struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    if (rights == NULL && (header.msg_flags & MSG_CTRUNC) != 0) {
        return -EMFILE;
    }
    if (rights == NULL && bytes == 0) {
        return -ECONNRESET; /* with a file it is an empty record */
    }
    if (rights == NULL || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS ||
        rights->cmsg_len != CMSG_LEN(sizeof *file)) {
        return -EPROTO;
    }
    memcpy(file, CMSG_DATA(rights), sizeof *file);
    if (bytes != sizeof *message || (header.msg_flags & MSG_TRUNC) != 0 ||
        message->magic != SHM_MAGIC || message->version != SHM_VERSION || message->kind != kind) {
        close(*file);
        *file = -1;
        return -EPROTO;
    }
    return 0;
}

int shm_socket_ring(int socket)
{
    static const char wake;

    if (send(socket, &wake, sizeof wake, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno == EAGAIN) {
        return 0;
    }
    return -errno;
}

int shm_socket_drain(int socket)
{
    for (int count = 0; count < DRAINED_AT_ONCE; count++) {
        char wake;
        ssize_t bytes = recv(socket, &wake, sizeof wake, MSG_DONTWAIT);
        if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
            return count;
        }
        if (bytes <= 0) {
            return -ECONNRESET;
        }
    }
    return DRAINED_AT_ONCE;
}

int shm_socket_check(int socket)
{
    struct pollfd closed = {.fd = socket,
                            .events = POLLRDHUP}; /* even if records are left to read */

    return poll(&closed, 1, 0) > 0 ? -ECONNRESET : 0;
}
