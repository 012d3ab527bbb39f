/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

#define BUFFER_BYTES 4096
#define MESSAGES 10

/* What is wrong with the driver, from its third message on. */
enum fault {
    NO_FAULT,
    FLIPS_A_BIT,
    LOSES_THE_END,   /* receive() says that all is there */
    WRITES_TOO_MUCH, /* behind the message */
    CHANGES_ITS_CALLERS_DATA,
    REPEATS,       /* the message before, once more */
    DOES_NOT_SEND, /* send() returns early */
    FAILS,
};

struct wire {
    int fd;
    enum fault fault;
    unsigned received;
    unsigned sent;
    uint8_t before[BUFFER_BYTES];
};

static int wire_send(void *session, const void *data, uint64_t size)
{
    struct wire *wire = session;
    bool faulty = ++wire->sent > 2;
    if (faulty && wire->fault == DOES_NOT_SEND) {
        return 0;
    }
    if (faulty && wire->fault == FAILS) {
        return -ENETDOWN;
    }
    ssize_t count = send(wire->fd, data, size, MSG_NOSIGNAL);
    if (faulty && wire->fault == CHANGES_ITS_CALLERS_DATA) {
        ((uint8_t *)(uintptr_t)data)[size / 2] ^= 1;
    }
    return count == (ssize_t)size ? 0 : -ECONNRESET;
}

static int wire_receive(void *session, void *data, uint64_t size)
{
    struct wire *wire = session;
    uint8_t *bytes = data;
    ssize_t count = recv(wire->fd, data, size, 0);
    if (count != (ssize_t)size) {
        return count < 0 && errno == EAGAIN ? -ECANCELED : -ECONNRESET;
    }
    if (++wire->received > 2) {
        switch (wire->fault) {
        case FLIPS_A_BIT:
            bytes[size - 1] ^= 0x10;
            break;
        case LOSES_THE_END:
            bytes[size - 1] = 0xA5;
            break;
        case WRITES_TOO_MUCH:
            bytes[size] = 0;
            break;
        case REPEATS:
            memcpy(data, wire->before, size);
            break;
        default:
            break;
        }
    }
    memcpy(wire->before, data, size);
    return 0;
}

static const struct driver DRIVER = {
    .name = "wire", .reliable = true, .send = wire_send, .receive = wire_receive};

static bool never(void *context)
{
    return false;
}

static int run_end(struct wire *wire, enum driver_role role, uint64_t size, uint64_t *arrived,
                   char *reason)
{
    static uint8_t outgoing[BUFFER_BYTES];
    static uint8_t incoming[BUFFER_BYTES];
    const struct check_request request = {
        .driver = &DRIVER,
        .session = wire,
        .role = role,
        .size = size,
        .count = MESSAGES,
        .outgoing = outgoing,
        .incoming = incoming,
        .buffer_bytes = BUFFER_BYTES,
        .interrupted = never,
    };
    return check_run(&request, arrived, reason);
}

/* The initiator here, the responder, which has no fault, in a child. */
static int play(enum fault fault, uint64_t size, uint64_t *arrived, char *reason)
{
    struct wire wire = {.fault = fault};
    const struct timeval patience = {.tv_usec = 200000};
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    wire.fd = ends[child == 0 ? 1 : 0];
    close(ends[child == 0 ? 0 : 1]);
    if (child == 0) {
        wire.fault = NO_FAULT;
        _exit(run_end(&wire, DRIVER_RESPONDER, size, arrived, reason) == 0 ? 0 : 1);
    }
    assert_int_equal(setsockopt(wire.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    int result = run_end(&wire, DRIVER_INITIATOR, size, arrived, reason);
    close(wire.fd);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (fault == NO_FAULT) {
        assert_int_equal(status, 0);
    }
    return result;
}

TEST(run__honest_driver)
{
    static const uint64_t SIZES[] = {1, 2, 7, 8, 9, 1000, BUFFER_BYTES};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        char reason[CHECK_REASON_BYTES];
        uint64_t arrived = 0;
        assert_int_equal(play(NO_FAULT, SIZES[i], &arrived, reason), 0);
        assert_int_equal(arrived, MESSAGES);
    }
}

TEST(run__every_lie_is_found)
{
    static const struct {
        enum fault fault;
        int error;
        const char *said;
    } LIES[] = {
        {FLIPS_A_BIT, -EBADMSG, "other data than was sent (message 2 of 1000 bytes, from byte 999"},
        {LOSES_THE_END, -EBADMSG, "other data than was sent (message 2 of 1000 bytes, from byte"},
        {WRITES_TOO_MUCH, -EBADMSG, "beyond the message (message 2 of 1000 bytes, from byte 1000"},
        {CHANGES_ITS_CALLERS_DATA, -EBADMSG, "send() has changed its caller's data"},
        {REPEATS, -EBADMSG, "other data than was sent (message 2 of 1000 bytes, from byte 0 on)"},
        {DOES_NOT_SEND, -ECANCELED, "receive() of message 2 of 1000 bytes: it did not arrive"},
        {FAILS, -ENETDOWN, "send() of message 2 of 1000 bytes: Network is down"},
    };
    for (size_t i = 0; i < sizeof LIES / sizeof LIES[0]; i++) {
        char reason[CHECK_REASON_BYTES];
        uint64_t arrived = 0;
        assert_int_equal(play(LIES[i].fault, 1000, &arrived, reason), LIES[i].error);
        if (strstr(reason, LIES[i].said) == NULL) {
            fail_msg("'%s' is not in '%s'", LIES[i].said, reason);
        }
        assert_int_equal(arrived, 2);
    }
}
