/* SPDX-License-Identifier: BSD-3-Clause */
#include "unix_meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "fail.h"
#include "text.h"

/* The most descriptors passed at once. */
#define DESCRIPTORS_MAX 4

bool unix_meeting_stopped(const struct unix_meeting *meeting)
{
    return meeting->host->stopped(meeting->host->context);
}

bool unix_meeting_left(const struct unix_meeting *meeting)
{
    struct pollfd poller = {.fd = meeting->fd, .events = POLLRDHUP};
    return poll(&poller, 1, 0) > 0 && (poller.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void unix_meeting_close(struct unix_meeting *meeting)
{
    if (meeting->listener >= 0) {
        close(meeting->listener);
    }
    if (meeting->fd >= 0) {
        close(meeting->fd);
    }
    meeting->listener = -1;
    meeting->fd = -1;
}

/* The abstract address of a name. @return its length. */
static socklen_t address_of(const uint64_t name[2], struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                          "beowire-%016" PRIx64 "%016" PRIx64, name[0], name[1]);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int unix_meeting_open(struct unix_meeting *meeting, const struct driver_options *options,
                      char *error, size_t error_bytes)
{
    *meeting = (struct unix_meeting){
        .host = options->host, .role = options->role, .listener = -1, .fd = -1};
    if (getrandom(meeting->name, sizeof meeting->name, 0) != (ssize_t)sizeof meeting->name) {
        return fail(error, error_bytes, "no random numbers");
    }
    struct sockaddr_un address;
    socklen_t length = address_of(meeting->name, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return fail(error, error_bytes, "cannot make a Unix socket");
    }
    if (meeting->role == DRIVER_INITIATOR) {
        meeting->fd = fd;
        return 0;
    }
    meeting->listener = fd;
    if (bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 8) != 0) {
        int result = fail(error, error_bytes, "cannot listen on a Unix socket");
        unix_meeting_close(meeting);
        return result;
    }
    return 0;
}

int unix_meeting_address(const struct unix_meeting *meeting, char *text, size_t text_bytes)
{
    int length = snprintf(text, text_bytes, "%016" PRIx64 "/%016" PRIx64, meeting->name[0],
                          meeting->name[1]);
    return length > 0 && (size_t)length < text_bytes ? 0 : -ENOSPC;
}

/* Does the process at the other end belong to the same user? */
static bool is_ours(int fd)
{
    struct ucred who;
    socklen_t length = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.uid == geteuid();
}

static int go_to(struct unix_meeting *meeting, const char *peer, char *error, size_t error_bytes)
{
    const char *text = peer;
    uint64_t name[2];
    struct sockaddr_un address;
    if (!text_number(&text, 16, '/', UINT64_MAX, &name[0]) ||
        !text_number(&text, 16, '\0', UINT64_MAX, &name[1])) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", peer);
        return -EINVAL;
    }
    socklen_t length = address_of(name, &address);
    if (connect(meeting->fd, (struct sockaddr *)&address, length) != 0) {
        return fail(error, error_bytes,
                    "cannot reach the other end (both have to run on one host)");
    }
    if (!is_ours(meeting->fd)) {
        (void)snprintf(error, error_bytes, "the other end runs as another user");
        return -EPERM;
    }
    return 0;
}

static int wait_for_peer(struct unix_meeting *meeting, char *error, size_t error_bytes)
{
    while (meeting->fd < 0) {
        struct pollfd poller = {.fd = meeting->listener, .events = POLLIN};
        if (poll(&poller, 1, UNIX_MEETING_WAIT_MS) <= 0) {
            if (unix_meeting_stopped(meeting)) {
                return -ECANCELED;
            }
            continue;
        }
        int fd = accept4(meeting->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && is_ours(fd)) {
            meeting->fd = fd;
        } else if (fd >= 0) {
            close(fd);
        } else if (errno != EAGAIN && errno != EINTR) {
            return fail(error, error_bytes, "cannot accept the connection");
        }
    }
    close(meeting->listener);
    meeting->listener = -1;
    return 0;
}

int unix_meeting_connect(struct unix_meeting *meeting, const char *peer, char *error,
                         size_t error_bytes)
{
    const struct timeval wait = {.tv_sec = 0, .tv_usec = UNIX_MEETING_WAIT_MS * 1000L};
    int result = meeting->role == DRIVER_RESPONDER ? wait_for_peer(meeting, error, error_bytes)
                                                   : go_to(meeting, peer, error, error_bytes);
    if (result != 0) {
        return result;
    }
    int flags = fcntl(meeting->fd, F_GETFL);
    if (flags < 0 || fcntl(meeting->fd, F_SETFL, flags & ~O_NONBLOCK) != 0 ||
        setsockopt(meeting->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
        setsockopt(meeting->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0) {
        return fail(error, error_bytes, "cannot set up the connection");
    }
    return 0;
}

int unix_meeting_give(const struct unix_meeting *meeting, const int *descriptors, size_t count,
                      char *error, size_t error_bytes)
{
    char byte = 0;
    alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))] = {0};
    struct iovec content = {.iov_base = &byte, .iov_len = sizeof byte};
    struct msghdr message = {.msg_iov = &content,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(rights), descriptors, count * sizeof(int));
    return sendmsg(meeting->fd, &message, MSG_NOSIGNAL) == 1
               ? 0
               : fail(error, error_bytes, "cannot hand descriptors to the other end");
}

int unix_meeting_take(const struct unix_meeting *meeting, int *descriptors, size_t count,
                      char *error, size_t error_bytes)
{
    char byte = 0;
    alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))] = {0};
    struct iovec content = {.iov_base = &byte, .iov_len = sizeof byte};
    struct msghdr message = {.msg_iov = &content,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    while ((got = recvmsg(meeting->fd, &message, MSG_CMSG_CLOEXEC)) < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            return fail(error, error_bytes, "cannot take descriptors from the other end");
        }
        if (unix_meeting_stopped(meeting)) {
            return -ECANCELED;
        }
    }
    const struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    bool whole = got == 1 && rights != NULL && rights->cmsg_level == SOL_SOCKET &&
                 rights->cmsg_type == SCM_RIGHTS &&
                 rights->cmsg_len == CMSG_LEN(count * sizeof(int));
    if (!whole) {
        (void)snprintf(error, error_bytes, "the other end went away");
        return -ECONNRESET;
    }
    memcpy(descriptors, CMSG_DATA(rights), count * sizeof(int));
    return 0;
}
