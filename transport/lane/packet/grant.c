/* SPDX-License-Identifier: BSD-3-Clause */
#include "grant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/** A broker that serves hundreds of processes at the same moment takes some milliseconds each. */
#define PATIENCE_S 10

/** @return a connection; -1: there is no broker. */
static int connect_to_broker(void)
{
    const struct sockaddr_un broker = {.sun_family = AF_UNIX, .sun_path = GRANT_SOCKET};
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (connection < 0) {
        return -1;
    }
    (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(connection, (const struct sockaddr *)&broker, sizeof broker) != 0) {
        (void)close(connection);
        return -1;
    }
    return connection;
}

int grant_send(int connection, const struct grant_answer *answer, int socket)
{
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof socket)] = {0};
    struct iovec part = {(void *)(uintptr_t)answer, sizeof *answer};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (socket >= 0) {
        message.msg_control = room;
        message.msg_controllen = sizeof room;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof socket);
        memcpy(CMSG_DATA(head), &socket, sizeof socket);
    }
    return sendmsg(connection, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

bool grant_receive(int connection, struct grant_answer *answer, int *socket)
{
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {answer, sizeof *answer};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;

    *socket = -1;
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof *socket)) {
        memcpy(socket, CMSG_DATA(head), sizeof *socket);
    }
    return got == (ssize_t)sizeof *answer && answer->version == GRANT_VERSION;
}

/** Asks, and waits for the answer. @return 0 or a negative errno, and `why`. */
static int ask(int connection, const struct grant_question *question, struct grant *grant,
               char *why)
{
    struct grant_answer answer;

    /* A broker that refuses before it is asked hears nothing more. */
    if ((send(connection, question, sizeof *question, MSG_NOSIGNAL) < 0 && errno != EPIPE) ||
        !grant_receive(connection, &answer, &grant->socket)) {
        (void)snprintf(why, GRANT_WHY_BYTES,
                       "the broker (beowired) gave no answer: see its log, or restart it");
        return -EACCES;
    }
    if (answer.status != 0 || grant->socket < 0 || answer.ring.blocks == 0 ||
        answer.ring.slot_bytes == 0 || answer.ring.slot_bytes > SLOT_RING_BLOCK_BYTES) {
        (void)snprintf(why, GRANT_WHY_BYTES, "%.*s", GRANT_WHY_BYTES - 1, answer.why);
        return -EACCES;
    }
    grant->number = answer.number;
    grant->ring = answer.ring;
    return 0;
}

int grant_ask(const char *interface, uint16_t ethertype, uint16_t number, struct grant *grant,
              char *why)
{
    struct grant_question question = {
        .version = GRANT_VERSION, .ethertype = ethertype, .number = number};

    why[0] = '\0';
    if (strlen(interface) >= sizeof question.interface) {
        return -ENODEV;
    }
    strcpy(question.interface, interface); /* NOLINT: the length was checked */
    int connection = connect_to_broker();
    if (connection < 0) {
        return -EPERM;
    }
    grant->socket = -1;
    int status = ask(connection, &question, grant, why);
    (void)close(connection);
    if (status != 0 && grant->socket >= 0) {
        (void)close(grant->socket);
    }
    return status;
}
