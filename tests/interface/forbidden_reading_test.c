/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long messages between two processes of a host, where the receiver may read the sender's memory,
 * and where the kernel forbids it: it tries, and the message arrives all the same.
 */
#include "endpoint/endpoint.h"
#include "lane/shm/shm_peers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "endpoints.h"
#include "unit/test.h"

#define MESSAGE_BYTES (4u << 20)
#define TAG 7

/** A user who is not root. */
#define NOBODY 65534

/** What the sender tells of itself. */
struct sender {
    uint64_t memory;
    pid_t process;
    int end; /* of a socket: a byte to it ends its rest */
};

static uint8_t byte_at(uint64_t at)
{
    return (uint8_t)(at * 7 + (at >> 12));
}

static void require(bool condition)
{
    if (!condition) {
        _exit(1);
    }
}

/** The other process: announces its message, rests until it is told to go on, and sends it. */
static void be_the_sender(int end, bool readable)
{
    uint8_t *data = malloc(MESSAGE_BYTES);
    uint64_t memory = (uint64_t)(uintptr_t)data;
    struct beowire_address address;
    struct beowire_completion done = {0};
    beowire_peer peer = 0;
    char word = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    require(data != NULL && prctl(PR_SET_DUMPABLE, readable ? 1 : 0) == 0);
    for (uint64_t at = 0; at < MESSAGE_BYTES; at++) {
        data[at] = byte_at(at);
    }
    require(write(end, &memory, sizeof memory) == sizeof memory);
    beowire_endpoint *endpoint = open_with_lanes(NULL, "shm");
    require(read(end, &address, sizeof address) == sizeof address);
    require(beowire_peer_add(endpoint, &address, &peer) == 0);
    require(beowire_send(endpoint, peer, TAG, 0, data, MESSAGE_BYTES, NULL) == 0);
    while (recv(end, &word, 1, MSG_DONTWAIT) != 1) {
        require(beowire_poll(endpoint, NULL, 0) == 0);
    }
    require(write(end, &word, 1) == 1);
    require(read(end, &word, 1) == 1);
    while (beowire_poll(endpoint, &done, 1) == 0) {
        /* the receiver has all of it in the end, or ends us */
    }
    require(done.status == 0);
    _exit(beowire_close(endpoint, PATIENCE_NS) == 0 ? 0 : 1);
}

static struct sender start_sender(bool readable)
{
    struct sender sender;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    sender.process = fork();
    assert_true(sender.process >= 0);
    if (sender.process == 0) {
        be_the_sender(ends[1], readable);
    }
    close(ends[1]);
    sender.end = ends[0];
    assert_int_equal(read(sender.end, &sender.memory, sizeof sender.memory), sizeof sender.memory);
    return sender;
}

/** Does the kernel let this process read the sender's memory? @return 0 or an errno. */
static int try_reading(const struct sender *sender)
{
    uint8_t byte = 0;
    struct iovec here = {&byte, 1};
    struct iovec there = {(void *)(uintptr_t)sender->memory, 1};

    return process_vm_readv(sender->process, &here, 1, &there, 1, 0) == 1 ? 0 : errno;
}

/** Has the endpoint tried to read, and been refused? */
static bool was_refused(const beowire_endpoint *endpoint)
{
    const struct shm_lane *lane =
        (const struct shm_lane *)(const void *)endpoint->core.options.lanes.lanes[0];

    for (uint32_t i = 0; i < lane->peers_end; i++) {
        if (lane->peers[i] != NULL && lane->peers[i]->no_reading) {
            return true;
        }
    }
    return false;
}

/** Has the sender rest, with its message announced and no receive for it posted. */
static void let_it_rest(beowire_endpoint *endpoint, const struct sender *sender)
{
    struct beowire_completion found;
    char word = 'r';

    while (beowire_peek(endpoint, BEOWIRE_ANY_PEER, TAG, 0, &found) != 0) {
        assert_int_equal(beowire_poll(endpoint, NULL, 0), 0);
    }
    assert_int_equal(found.bytes, MESSAGE_BYTES);
    assert_int_equal(write(sender->end, &word, 1), 1);
    assert_int_equal(read(sender->end, &word, 1), 1);
}

/** What is received of a sender that rests until the receiver has tried to read.
 *  @param settings decide whether all is read in one go, or blocks when the sender is missed */
static void receive_from(bool readable, const char *settings, const char *counted)
{
    struct beowire_address address;
    struct beowire_completion done = {0};
    uint8_t *buffer = calloc(1, MESSAGE_BYTES);
    int status = -1;

    assert_non_null(buffer);
    struct sender sender = start_sender(readable); /* it inherits no endpoint */
    assert_int_equal(setenv("BEOWIRE_SETTINGS", settings, 1), 0);
    beowire_endpoint *endpoint = open_with_lanes(NULL, "shm");
    assert_int_equal(unsetenv("BEOWIRE_SETTINGS"), 0);
    beowire_address(endpoint, &address);
    assert_int_equal(write(sender.end, &address, sizeof address), sizeof address);
    let_it_rest(endpoint, &sender);
    assert_int_equal(try_reading(&sender), readable ? 0 : EPERM);
    assert_int_equal(
        beowire_receive(endpoint, BEOWIRE_ANY_PEER, TAG, 0, buffer, MESSAGE_BYTES, NULL), 0);
    uint64_t end_ns = now_ns() + PATIENCE_NS;
    while (!was_refused(endpoint) && done.operation == 0) {
        assert_true(now_ns() < end_ns);
        (void)beowire_poll(endpoint, &done, 1);
    }
    assert_int_equal(was_refused(endpoint), !readable);
    assert_int_equal(write(sender.end, "g", 1), 1);
    while (done.operation == 0) {
        assert_true(now_ns() < end_ns);
        (void)beowire_poll(endpoint, &done, 1);
    }
    assert_int_equal(done.status, 0);
    assert_int_equal(done.operation, BEOWIRE_RECEIVE);
    assert_int_equal(done.bytes, MESSAGE_BYTES);
    for (uint64_t at = 0; at < MESSAGE_BYTES; at++) {
        assert_int_equal(buffer[at], byte_at(at));
    }
    assert_int_equal(counter(endpoint, counted) > 0, readable);
    assert_int_equal(beowire_flush(endpoint, PATIENCE_NS), 0);
    while (waitpid(sender.process, &status, WNOHANG) == 0) {
        assert_true(now_ns() < end_ns);
        (void)beowire_poll(endpoint, NULL, 0);
    }
    assert_int_equal(status, 0);
    assert_int_equal(beowire_close(endpoint, PATIENCE_NS), 0);
    close(sender.end);
    free(buffer);
}

TEST(long_message__read_in_one_go_or_not)
{
    receive_from(true, "read_bytes=1073741824", "message_read");
    receive_from(false, "read_bytes=1073741824", "message_read");
}

TEST(long_message__read_while_the_sender_rests_or_not)
{
    receive_from(true, "read_bytes=0", "pull_read_blocks");
    receive_from(false, "read_bytes=0", "pull_read_blocks");
}

int main(void)
{
    /* Root may read everything. */
    if (getuid() == 0 &&
        (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0 ||
         prctl(PR_SET_DUMPABLE, 1) != 0)) {
        return 1;
    }
    return run_listed_tests(NULL, NULL);
}
