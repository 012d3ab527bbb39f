/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/shm_socket.h"

#include "descriptors.h"
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

/** Different in each test process. */
static uint64_t incarnation(void)
{
    return (uint64_t)getpid() << 16 | 0x50C;
}

struct ends {
    int listener;
    int connector; /* as the one that connected has it */
    int accepted;  /* as the listener has it */
};

static struct ends open_ends(void)
{
    struct ends ends = {.listener = shm_socket_listen(incarnation())};
    pid_t process = 0;

    assert_true(ends.listener >= 0);
    ends.connector = shm_socket_connect(incarnation(), &process);
    assert_true(ends.connector >= 0);
    assert_int_equal(process, getpid());
    ends.accepted = shm_socket_accept(ends.listener);
    assert_true(ends.accepted >= 0);
    return ends;
}

static void close_ends(struct ends *ends)
{
    close(ends->listener);
    close(ends->connector);
    close(ends->accepted);
}

static int some_file(void)
{
    int file = open("/dev/null", O_RDWR | O_CLOEXEC);

    assert_true(file >= 0);
    return file;
}

TEST(shm_socket_listen__one_of_a_name)
{
    int listener = shm_socket_listen(incarnation());

    assert_true(listener >= 0);
    assert_int_equal(shm_socket_listen(incarnation()), -EADDRINUSE);
    assert_int_equal(shm_socket_accept(listener), -EAGAIN);
    close(listener);
    listener = shm_socket_listen(incarnation());
    assert_true(listener >= 0);
    close(listener);
}

TEST(shm_socket_connect__nobody_there)
{
    pid_t process = 0;
    int before = count_descriptors();

    assert_int_equal(shm_socket_connect(incarnation(), &process), -ECONNREFUSED);
    assert_int_equal(count_descriptors(), before);
}

TEST(shm_socket_connect__too_many_at_once)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    pid_t process = 0;
    int sockets[2] = {-1, -1};

    /* A listener with room for one, under the name that a lane would have. */
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "beowire/shm/%016llx",
                          (unsigned long long)incarnation());
    assert_int_equal(bind(listener, (const struct sockaddr *)&name,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)),
                     0);
    assert_int_equal(listen(listener, 0), 0);
    sockets[0] = shm_socket_connect(incarnation(), &process);
    assert_true(sockets[0] >= 0);
    assert_int_equal(shm_socket_connect(incarnation(), &process), -EAGAIN);
    close(sockets[0]);
    close(listener);
}

TEST(shm_socket_send__hello_and_reply_carry_a_file_each)
{
    struct ends ends = open_ends();
    struct shm_message message;
    int file = some_file();
    int received = -1;

    assert_int_equal(shm_socket_receive(ends.accepted, SHM_HELLO, &message, &received), -EAGAIN);
    assert_int_equal(shm_socket_send(ends.connector,
                                     (struct shm_message){.kind = SHM_HELLO, .incarnation = 77},
                                     file),
                     0);
    assert_int_equal(shm_socket_receive(ends.accepted, SHM_HELLO, &message, &received), 0);
    assert_int_equal(message.incarnation, 77);
    assert_true(received >= 0 && received != file);
    assert_int_equal(fcntl(received, F_GETFD), FD_CLOEXEC);
    close(received);
    assert_int_equal(
        shm_socket_send(ends.accepted, (struct shm_message){.kind = SHM_REPLY, .bell = 5}, file),
        0);
    assert_int_equal(shm_socket_receive(ends.connector, SHM_REPLY, &message, &received), 0);
    assert_int_equal(message.bell, 5);
    close(received);
    close(file);
    close_ends(&ends);
}

/** Sends bytes with `files` descriptors. */
static void send_raw(int socket, const void *bytes, size_t count, unsigned files)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control = {0};
    int file = some_file();
    struct iovec part = {(void *)(uintptr_t)bytes, count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (files > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_LEN(files * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(files * sizeof(int)),
                                   .cmsg_level = SOL_SOCKET,
                                   .cmsg_type = SCM_RIGHTS};
        for (unsigned i = 0; i < files; i++) {
            memcpy(CMSG_DATA(header) + i * sizeof file, &file, sizeof file);
        }
    }
    assert_int_equal(sendmsg(socket, &message, 0), count);
    close(file);
}

TEST(shm_socket_receive__what_is_no_hello_is_refused_and_leaves_no_file)
{
    struct ends ends = open_ends();
    struct shm_message good = {.magic = SHM_MAGIC, .version = SHM_VERSION, .kind = SHM_HELLO};
    struct shm_message bad[3] = {good, good, good};
    struct shm_message message;
    uint8_t longer[sizeof good + 1] = {0};
    int file = -1;
    int before = count_descriptors();

    bad[0].magic++;
    bad[1].version++;
    bad[2].kind = SHM_REPLY;
    for (unsigned i = 0; i < 3; i++) {
        send_raw(ends.connector, &bad[i], sizeof bad[i], 1);
        assert_int_equal(shm_socket_receive(ends.accepted, SHM_HELLO, &message, &file), -EPROTO);
    }
    memcpy(longer, &good, sizeof good);
    send_raw(ends.connector, longer, sizeof longer, 1);
    assert_int_equal(shm_socket_receive(ends.accepted, SHM_HELLO, &message, &file), -EPROTO);
    send_raw(ends.connector, &good, 1, 1);
    assert_int_equal(shm_socket_receive(ends.accepted, SHM_HELLO, &message, &file), -EPROTO);
    send_raw(ends.connector, &good, sizeof good, 0);
    assert_int_equal(shm_socket_receive(ends.accepted, SHM_HELLO, &message, &file), -EPROTO);
    assert_int_equal(count_descriptors(), before);
    /* Of several files the first is taken. */
    send_raw(ends.connector, &good, sizeof good, 4);
    assert_int_equal(shm_socket_receive(ends.accepted, SHM_HELLO, &message, &file), 0);
    close(file);
    assert_int_equal(count_descriptors(), before);
    close_ends(&ends);
}

/** It looks like the end of the connection, but for the file. */
TEST(shm_socket_receive__an_empty_record_leaves_no_file)
{
    struct ends ends = open_ends();
    struct shm_message message;
    int file = -1;
    int before = count_descriptors();

    send_raw(ends.connector, "", 0, 1);
    assert_int_equal(shm_socket_receive(ends.accepted, SHM_HELLO, &message, &file), -EPROTO);
    assert_int_equal(count_descriptors(), before);
    close_ends(&ends);
}

TEST(shm_socket_drain__counts_wake_ups)
{
    struct ends ends = open_ends();

    assert_int_equal(shm_socket_drain(ends.accepted), 0);
    assert_int_equal(shm_socket_ring(ends.connector), 0);
    assert_int_equal(shm_socket_ring(ends.connector), 0);
    assert_int_equal(shm_socket_drain(ends.accepted), 2);
    /* More than the socket holds: none is missed, because others wait there. */
    for (unsigned i = 0; i < 10000; i++) {
        assert_int_equal(shm_socket_ring(ends.connector), 0);
    }
    assert_int_equal(shm_socket_drain(ends.accepted), 64);
    close_ends(&ends);
}

TEST(shm_socket__the_end_of_the_other_is_seen)
{
    struct ends ends = open_ends();
    struct shm_message message;
    int file = -1;

    assert_int_equal(shm_socket_check(ends.connector), 0);
    assert_int_equal(shm_socket_ring(ends.connector), 0);
    assert_int_equal(shm_socket_check(ends.accepted), 0);
    close(ends.connector);
    assert_int_equal(shm_socket_check(ends.accepted),
                     -ECONNRESET); /* whatever it has left to say */
    assert_int_equal(shm_socket_drain(ends.accepted), -ECONNRESET);
    assert_int_equal(shm_socket_check(ends.accepted), -ECONNRESET);
    assert_int_equal(shm_socket_ring(ends.accepted), -EPIPE);
    assert_int_equal(shm_socket_receive(ends.accepted, SHM_HELLO, &message, &file), -ECONNRESET);
    assert_int_equal(shm_socket_send(ends.accepted, message, STDIN_FILENO), -EPIPE);
    ends.connector = shm_socket_listen(incarnation() + 1);
    close_ends(&ends);
}

TEST(shm_socket__another_user_is_refused_both_ways)
{
    int listener = shm_socket_listen(incarnation());
    int before = count_descriptors();
    int status = 0;
    uint64_t ours = incarnation();
    pid_t process = 0;
    int ready[2];

    if (geteuid() != 0) {
        fail_msg("%s", "becoming another user needs root: run the tests as root");
    }
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ready[0]);
        if (setresuid(NOBODY, NOBODY, NOBODY) != 0) {
            _exit(1);
        }
        int theirs = shm_socket_listen(ours + 1);
        int refused = shm_socket_connect(ours, &process);
        if (theirs < 0 || refused != -EPERM || write(ready[1], "", 1) != 1) {
            _exit(2);
        }
        for (;;) {
            pause();
        }
    }
    char any;
    close(ready[1]);
    assert_int_equal(read(ready[0], &any, 1), 1);
    close(ready[0]);
    assert_int_equal(shm_socket_accept(listener), -EPERM);
    assert_int_equal(shm_socket_accept(listener), -EAGAIN);
    assert_int_equal(shm_socket_connect(ours + 1, &process), -EPERM);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(listener);
}
