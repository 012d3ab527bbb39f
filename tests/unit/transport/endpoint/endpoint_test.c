/* SPDX-License-Identifier: BSD-3-Clause */
/* The public interface, over the veth pair of a network namespace of the test's own. */
#include "beowire.h"

#include "tuning.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "endpoints.h"
#include "unit/test.h"

/** Both ends of the pair are interfaces of this host: without a choice, memory would be used. */
static beowire_endpoint *open_endpoint(const char *interface)
{
    return open_with_lanes(interface, "packet,udp");
}

/** Polls `other` until it has all that `endpoint` sent. */
static void await_flushed(beowire_endpoint *endpoint, beowire_endpoint *other)
{
    uint64_t end_ns = now_ns() + PATIENCE_NS;

    while (beowire_flush(endpoint, 0) != 0) {
        assert_true(now_ns() < end_ns);
        (void)beowire_poll(other, NULL, 0);
    }
}

TEST(beowire_open__bad_options)
{
    struct beowire_options good = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    good.interface = "end0";
    struct beowire_options options = good;
    assert_int_equal(beowire_open(NULL, &endpoint), -EINVAL);
    assert_int_equal(beowire_open(&good, NULL), -EINVAL);
    options.interface = NULL;
    assert_int_equal(beowire_open(&options, &endpoint), -EINVAL);
    options.interface = "";
    assert_int_equal(beowire_open(&options, &endpoint), -EINVAL);
    options.interface = "nowhere0";
    assert_int_equal(beowire_open(&options, &endpoint), -ENODEV);
    options = good;
    options.size--;
    assert_int_equal(beowire_open(&options, &endpoint), -EINVAL);
    options = good;
    options.ethertype = 0x05FF;
    assert_int_equal(beowire_open(&options, &endpoint), -EINVAL);
    options = good;
    options.operations = 0;
    assert_int_equal(beowire_open(&options, &endpoint), -EINVAL);
    options.operations = 32769;
    assert_int_equal(beowire_open(&options, &endpoint), -EINVAL);
    options = good;
    options.peers = 0;
    assert_int_equal(beowire_open(&options, &endpoint), -EINVAL);
    options.peers = 65537;
    assert_int_equal(beowire_open(&options, &endpoint), -EINVAL);
    options = good;
    options.peer_timeout_ns = 0;
    assert_int_equal(beowire_open(&options, &endpoint), -EINVAL);
    assert_null(endpoint);
}

TEST(beowire_open__at_the_limits)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.interface = "end0";
    options.operations = 32768;
    options.peers = 65536;
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    assert_int_equal(beowire_close(endpoint, 0), 0);
    options.operations = 1;
    options.peers = 1;
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    assert_int_equal(beowire_close(endpoint, 0), 0);
}

/** Messages of many sizes, and then both are closed. */
static void send_messages(beowire_endpoint *a, beowire_endpoint *b)
{
    const uint64_t sizes[] = {0, 1, 1454, 1455, 16384, 16385, 300000};
    beowire_peer to = know(a, b);

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *data = malloc(sizes[i] + 1);
        uint8_t *buffer = calloc(1, sizes[i] + 1);
        for (uint64_t at = 0; at < sizes[i]; at++) {
            data[at] = (uint8_t)(at * 7 + i);
        }
        assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, i, 0, buffer, sizes[i], buffer), 0);
        assert_int_equal(beowire_send(a, to, i, 9 + i, data, sizes[i], data), 0);
        struct beowire_completion done = await_both(b, a);
        assert_int_equal(done.status, 0);
        assert_int_equal(done.operation, BEOWIRE_RECEIVE);
        assert_ptr_equal(done.context, buffer);
        assert_int_equal(done.bytes, sizes[i]);
        assert_int_equal(done.tag, i);
        assert_int_equal(done.immediate, 9 + i);
        assert_memory_equal(buffer, data, sizes[i]);
        done = await_both(a, b);
        assert_int_equal(done.status, 0);
        assert_int_equal(done.operation, BEOWIRE_SEND);
        assert_ptr_equal(done.context, data);
        free(data);
        free(buffer);
    }
    await_flushed(a, b);
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
    assert_int_equal(beowire_close(b, PATIENCE_NS), 0);
}

TEST(beowire_send__to_an_endpoint_that_receives)
{
    send_messages(open_endpoint("end0"), open_endpoint("end1"));
}

TEST(beowire_send__over_one_kind_of_lane)
{
    send_messages(open_with_lanes("end0", "packet"), open_with_lanes("end1", "packet"));
    send_messages(open_with_lanes("end0", "udp"), open_with_lanes("end1", "udp"));
    /* They have only this in common. */
    send_messages(open_with_lanes("end0", NULL), open_with_lanes("end1", "udp"));
    send_messages(open_with_lanes("end0", "udp"), open_with_lanes("end1", NULL));
}

TEST(beowire_send__ends_that_are_tuned_differently)
{
    static const char *const settings[] = {
        "eager_bytes=0,bundle_bytes=0,unasked_blocks=0",
        "eager_bytes=1048576,bundle_bytes=1024,hold_posts=1,unasked_blocks=16",
        "go_back_n=true",
        "bulk_by_packet=all",
        "authenticate=true",
    };

    for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
        assert_int_equal(setenv("BEOWIRE_SETTINGS", settings[i], 1), 0);
        beowire_endpoint *a = open_endpoint("end0");
        assert_int_equal(unsetenv("BEOWIRE_SETTINGS"), 0);
        send_messages(a, open_endpoint("end1"));
        assert_int_equal(setenv("BEOWIRE_SETTINGS", settings[i], 1), 0);
        a = open_endpoint("end1");
        assert_int_equal(unsetenv("BEOWIRE_SETTINGS"), 0);
        send_messages(open_endpoint("end0"), a);
    }
}

TEST(beowire_open__options_of_an_older_program)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.lanes = "shm";
    options.size = offsetof(struct beowire_options, configuration);
    options.configuration = "/nonexistent"; /* is not looked at */
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    assert_int_equal(beowire_close(endpoint, 0), 0);
    options.size = offsetof(struct beowire_options, job_key);
    assert_int_equal(beowire_open(&options, &endpoint), -ENOENT);
    options.size = sizeof options;
    assert_int_equal(beowire_open(&options, &endpoint), -ENOENT);
}

/** Sends one message of so many bytes. @return the counter of the sender. */
static uint64_t count_sending(beowire_endpoint *a, uint64_t bytes, const char *name)
{
    static uint8_t data[200000];
    static uint8_t buffer[sizeof data];
    beowire_endpoint *b = open_endpoint("end1");
    beowire_peer to = know(a, b);

    assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, buffer, sizeof buffer, NULL), 0);
    assert_int_equal(beowire_send(a, to, 1, 0, data, bytes, NULL), 0);
    assert_int_equal(await_both(b, a).status, 0);
    assert_int_equal(await_both(a, b).status, 0);
    uint64_t value = counter(a, name);
    await_flushed(b, a); /* alone it would wait until an end that does not move is dead */
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
    assert_int_equal(beowire_close(b, PATIENCE_NS), 0);
    return value;
}

TEST(beowire_open__crossovers_of_a_configuration)
{
    assert_int_equal(count_sending(open_endpoint("end0"), 10000, "message_announced"), 0);
    assert_int_equal(count_sending(open_endpoint("end0"), 200000, "pull_unasked_blocks"),
                     PULL_UNASKED_BLOCKS);
    assert_int_equal(setenv("BEOWIRE_SETTINGS", "eager_bytes=9999,unasked_blocks=1", 1), 0);
    assert_int_equal(count_sending(open_endpoint("end0"), 10000, "message_announced"), 1);
    assert_int_equal(count_sending(open_endpoint("end0"), 9999, "message_announced"), 0);
    assert_int_equal(count_sending(open_endpoint("end0"), 200000, "pull_unasked_blocks"), 1);
    assert_int_equal(unsetenv("BEOWIRE_SETTINGS"), 0);
}

TEST(beowire_send__over_shared_memory)
{
    /* Interfaces are not needed, nor any that is the same. */
    send_messages(open_with_lanes(NULL, "shm"), open_with_lanes(NULL, "shm"));
    send_messages(open_with_lanes(NULL, "shm"), open_with_lanes("end1", NULL));
    send_messages(open_with_lanes("lo", NULL), open_with_lanes("end0", NULL));
}

TEST(beowire_peer_add__memory_comes_before_interfaces)
{
    beowire_endpoint *a = open_with_lanes("end0", NULL);
    beowire_endpoint *b = open_with_lanes("end1", NULL);
    beowire_peer to = know(a, b);
    char buffer[1];

    assert_int_equal(counter(a, "lanes_shm"), 1);
    assert_int_equal(counter(a, "lanes_packet"), 1);
    assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 0, 0, buffer, 1, NULL), 0);
    assert_int_equal(beowire_send(a, to, 0, 0, "x", 1, NULL), 0);
    (void)await_both(b, a);
    assert_int_equal(buffer[0], 'x');
    assert_int_equal(beowire_flush(b, PATIENCE_NS), 0);
    /* Nothing was sent by a system call, but HELLO. */
    assert_int_equal(counter(a, "lane_sent_calls"), 1);
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
    assert_int_equal(beowire_close(b, PATIENCE_NS), 0);
}

TEST(beowire__to_itself_in_memory)
{
    beowire_endpoint *a = open_with_lanes(NULL, "shm");
    beowire_peer to = know(a, a);
    char buffer[5] = "";

    assert_int_equal(beowire_receive(a, to, 1, 0, buffer, 5, buffer), 0);
    assert_int_equal(beowire_send(a, to, 1, 0, "self", 5, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(await_both(a, a).status, 0);
    }
    assert_string_equal(buffer, "self");
    assert_int_equal(beowire_receive(a, to, 1, 0, buffer, 5, buffer), 0);
    assert_int_equal(beowire_inject(a, to, 1, 0, "copy", 5), 0);
    assert_int_equal(counter(a, "message_own"), 1);
    assert_string_equal(buffer, "copy");
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
}

/** A process with an endpoint, that tells its address and then only receives. */
static pid_t start_receiver(struct beowire_address *address)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        beowire_endpoint *endpoint = open_with_lanes(NULL, "shm");
        beowire_address(endpoint, address);
        if (write(ends[1], address, sizeof *address) != sizeof *address) {
            _exit(1);
        }
        for (;;) {
            (void)beowire_wait(endpoint, SECOND);
        }
    }
    assert_int_equal(read(ends[0], address, sizeof *address), sizeof *address);
    close(ends[0]);
    close(ends[1]);
    return child;
}

TEST(beowire__process_on_this_host_that_was_killed)
{
    beowire_endpoint *a = open_with_lanes(NULL, "shm");
    struct beowire_address address;
    struct beowire_completion done;
    beowire_peer to;
    char buffer[1];
    pid_t child = start_receiver(&address);

    assert_int_equal(beowire_peer_add(a, &address, &to), 0);
    assert_int_equal(beowire_send(a, to, 0, 0, "x", 1, NULL), 0);
    assert_int_equal(await_both(a, a).status, 0);
    assert_int_equal(beowire_flush(a, PATIENCE_NS), 0);
    assert_int_equal(beowire_receive(a, to, 0, 0, buffer, 1, buffer), 0);
    assert_int_equal(beowire_wait(a, 1000), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    /* Long before the peer timeout, asleep or not. */
    assert_int_equal(beowire_wait(a, PATIENCE_NS / 10), 1);
    assert_int_equal(beowire_poll(a, &done, 1), 1);
    assert_int_equal(done.status, -ECONNRESET);
    assert_int_equal(done.peer, to);
    assert_ptr_equal(done.context, buffer);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
}

TEST(beowire__process_on_this_host_that_had_ended_before)
{
    beowire_endpoint *a = open_with_lanes(NULL, "shm");
    struct beowire_address address;
    beowire_peer to;
    char buffer[1];
    pid_t child = start_receiver(&address);

    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(beowire_peer_add(a, &address, &to), 0);
    assert_int_equal(beowire_receive(a, to, 0, 0, buffer, 1, buffer), 0);
    assert_int_equal(await_both(a, a).status, -ECONNRESET);
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
}

TEST(beowire_send__without_privilege)
{
    pid_t child = fork();
    if (child == 0) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {{0}, {0}};
        if (syscall(SYS_capset, &header, none) != 0) {
            _exit(2);
        }
        send_messages(open_endpoint("end0"), open_endpoint("end1"));
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/** Two on the ends of a cable, or in memory. */
static void open_two(const char *lanes, enum beowire_progress progress, beowire_endpoint *two[2])
{
    static const char *const interfaces[] = {"end0", "end1"};
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;

    options.lanes = lanes;
    options.progress = progress;
    for (unsigned i = 0; i < 2; i++) {
        options.interface = strcmp(lanes, "shm") == 0 ? NULL : interfaces[i];
        assert_int_equal(beowire_open(&options, &two[i]), 0);
    }
}

/** A message of that length from the one to the other. */
static void send_one(beowire_endpoint *from, beowire_endpoint *to, uint64_t bytes)
{
    static uint8_t data[300000];
    static uint8_t buffer[sizeof data];

    memset(data, (int)bytes + data[0], bytes);
    assert_int_equal(beowire_receive(to, BEOWIRE_ANY_PEER, 1, 0, buffer, bytes, NULL), 0);
    assert_int_equal(beowire_send(from, know(from, to), 1, 0, data, bytes, NULL), 0);
    assert_int_equal(await_both(to, from).status, 0);
    assert_int_equal(await_both(from, to).status, 0);
    assert_memory_equal(buffer, data, bytes);
}

/** In a child. @return its exit status. */
static int close_in_child(beowire_endpoint *endpoint)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)alarm(PATIENCE_NS / SECOND); /* the keeper, which is not there, could be waited for */
        bool is_well =
            beowire_close(endpoint, SECOND) == 0 && beowire_poll(endpoint, NULL, 0) == -EBADF;
        _exit(is_well ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

TEST(beowire_close__in_a_child_the_parent_goes_on)
{
    static const char *const lanes[] = {"packet", "udp", "packet,tso,udp", "shm"};
    static const enum beowire_progress progress[] = {
        BEOWIRE_PROGRESS_CALLS, BEOWIRE_PROGRESS_KEEPER, BEOWIRE_PROGRESS_THREAD};

    for (unsigned i = 0; i < 12; i++) {
        beowire_endpoint *two[2];
        open_two(lanes[i / 3], progress[i % 3], two);
        send_one(two[0], two[1], 300000);
        send_one(two[1], two[0], 300000);
        /* What is outstanding is the parent's business. */
        assert_int_equal(beowire_send(two[0], know(two[0], two[1]), 2, 0, "x", 1, two), 0);
        assert_int_equal(close_in_child(two[0]), 0);
        assert_int_equal(close_in_child(two[1]), 0);
        char buffer[1] = {0};
        assert_int_equal(beowire_receive(two[1], BEOWIRE_ANY_PEER, 2, 0, buffer, 1, buffer), 0);
        assert_int_equal(await_both(two[1], two[0]).status, 0);
        assert_int_equal(await_both(two[0], two[1]).status, 0);
        assert_int_equal(buffer[0], 'x');
        for (unsigned j = 0; j < 2; j++) {
            send_one(two[j], two[1 - j], 1);
            send_one(two[j], two[1 - j], 300000);
        }
        for (unsigned j = 0; j < 2; j++) { /* also what says that a long message has been taken */
            await_flushed(two[j], two[1 - j]);
        }
        assert_int_equal(beowire_close(two[0], 0), 0);
        assert_int_equal(beowire_close(two[1], 0), 0);
    }
}

TEST(beowire_peer_add__no_lane_in_common)
{
    beowire_endpoint *a = open_with_lanes("end0", "packet");
    beowire_endpoint *b = open_with_lanes("end1", "udp");
    struct beowire_address address;
    beowire_peer peer;

    beowire_address(b, &address);
    assert_int_equal(beowire_peer_add(a, &address, &peer), -EHOSTUNREACH);
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}

TEST(beowire_inject__once_connected)
{
    beowire_endpoint *a = open_endpoint("end0");
    beowire_endpoint *b = open_endpoint("end1");
    beowire_peer to = know(a, b);
    uint64_t end_ns = now_ns() + PATIENCE_NS;
    char buffer[2000];
    int status;

    assert_int_equal(beowire_inject_bytes(a), MESSAGE_INJECT_BYTES_MAX);
    assert_int_equal(beowire_inject(a, to, 1, 0, buffer, beowire_inject_bytes(a) + 1), -EMSGSIZE);
    assert_int_equal(beowire_inject(a, to, 1, 0, NULL, 1), -EINVAL);
    assert_int_equal(beowire_inject(a, to, 1, 0, "hello", 5), -EAGAIN);
    while ((status = beowire_inject(a, to, 1, 0, "hello", 5)) == -EAGAIN) {
        assert_true(now_ns() < end_ns);
        (void)beowire_poll(a, NULL, 0);
        (void)beowire_poll(b, NULL, 0);
    }
    assert_int_equal(status, 0);
    assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, buffer, sizeof buffer, NULL), 0);
    assert_int_equal(await_both(b, a).bytes, 5);
    assert_memory_equal(buffer, "hello", 5);
    assert_int_equal(beowire_close(b, PATIENCE_NS), 0);
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
}

TEST(beowire__over_loopback_to_itself)
{
    beowire_endpoint *a = open_endpoint("lo");
    beowire_peer self = know(a, a);
    uint8_t *data = malloc(200000);
    uint8_t *buffer = calloc(1, 200000);

    memset(data, 0x5A, 200000);
    assert_int_equal(beowire_receive(a, self, 1, 0, buffer, 200000, buffer), 0);
    assert_int_equal(beowire_send(a, self, 1, 0, data, 200000, data), 0);
    assert_int_equal(await_both(a, a).status, 0);
    assert_int_equal(await_both(a, a).status, 0);
    assert_memory_equal(buffer, data, 200000);
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
    free(data);
    free(buffer);
}

TEST(beowire_peer_address__of_a_peer_met_in_a_completion)
{
    beowire_endpoint *a = open_endpoint("end0");
    beowire_endpoint *b = open_endpoint("end1");
    struct beowire_address of_a;
    struct beowire_address met;

    beowire_address(a, &of_a);
    assert_int_equal(beowire_peer_was_heard(a, know(a, b)), 0);
    assert_int_equal(beowire_send(a, know(a, b), 1, 0, NULL, 0, NULL), 0);
    assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, NULL, 0, NULL), 0);
    beowire_peer peer = await_both(b, a).peer;
    assert_int_equal(beowire_peer_address(b, peer, &met), 0);
    assert_true(beowire_address_same(&met, &of_a));
    assert_int_equal(beowire_peer_was_heard(b, peer), 1);
    assert_int_equal(beowire_peer_was_heard(b, peer + 1), -EINVAL);
    assert_memory_not_equal(&met, &of_a, sizeof met); /* the secret is not known */
    beowire_peer named = BEOWIRE_ANY_PEER;
    assert_int_equal(beowire_peer_add(b, &met, &named), 0);
    assert_int_equal(beowire_peer_add(b, &of_a, &named), 0);
    assert_int_equal(named, peer);
    assert_int_equal(beowire_peer_address(b, peer, &met), 0);
    assert_memory_equal(&met, &of_a, sizeof met);
    assert_int_equal(beowire_peer_address(b, peer + 1, &met), -EINVAL);
    assert_int_equal(beowire_peer_address(b, peer, NULL), -EINVAL);
    assert_int_equal(beowire_close(b, 0), 0); /* acknowledges, so that a can close too */
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
}

TEST(beowire__calls_with_peers_that_are_none)
{
    beowire_endpoint *a = open_endpoint("end0");
    struct beowire_address address = {{0}};
    beowire_peer peer;

    assert_int_equal(beowire_send(a, 0, 1, 0, NULL, 0, NULL), -EINVAL);
    assert_int_equal(beowire_send(a, BEOWIRE_ANY_PEER, 1, 0, NULL, 0, NULL), -EINVAL);
    assert_int_equal(beowire_inject(a, 0, 1, 0, NULL, 0), -EINVAL);
    assert_int_equal(beowire_receive(a, 0, 1, 0, NULL, 0, NULL), -EINVAL);
    assert_int_equal(beowire_peer_add(a, &address, &peer), -EINVAL);
    assert_int_equal(beowire_peer_add(a, NULL, &peer), -EINVAL);
    beowire_address(a, &address);
    assert_int_equal(beowire_peer_add(a, &address, NULL), -EINVAL);
    assert_int_equal(beowire_cancel(a, &address), -ENOENT);
    assert_int_equal(beowire_close(a, 0), 0);
}

TEST(beowire_wait__ends_when_the_time_is_over)
{
    beowire_endpoint *a = open_endpoint("end0");
    uint64_t start_ns = now_ns();

    assert_int_equal(beowire_wait(a, 0), 0);
    assert_int_equal(beowire_wait(a, 5000000), 0);
    assert_true(now_ns() - start_ns >= 5000000);
    assert_int_equal(beowire_close(a, 0), 0);
}

TEST(beowire_wait__until_there_is_a_completion)
{
    beowire_endpoint *a = open_endpoint("end0");
    struct beowire_completion done;

    assert_int_equal(beowire_receive(a, BEOWIRE_ANY_PEER, 1, 0, NULL, 0, a), 0);
    assert_int_equal(beowire_cancel(a, a), 0);
    assert_int_equal(beowire_wait(a, UINT64_MAX), 1);
    assert_int_equal(beowire_poll(a, &done, 1), 1);
    assert_int_equal(done.status, -ECANCELED);
    assert_int_equal(beowire_close(a, 0), 0);
}

TEST(beowire_send_confirmed__until_the_peer_has_it)
{
    const char *const lanes[] = {"packet", "udp", "shm"};
    const uint64_t sizes[] = {0, 8, 5000, 300000};
    static uint8_t data[300000];
    static uint8_t buffer[300000];

    for (unsigned i = 0; i < 3; i++) {
        beowire_endpoint *a = open_with_lanes(i < 2 ? "end0" : NULL, lanes[i]);
        beowire_endpoint *b = open_with_lanes(i < 2 ? "end1" : NULL, lanes[i]);
        beowire_peer peer = know(a, b);
        for (unsigned j = 0; j < 4; j++) {
            assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, j, 0, buffer, sizes[j], NULL), 0);
            assert_int_equal(beowire_send_confirmed(a, peer, j, 0, data, sizes[j], data), 0);
            for (unsigned k = 0; k < 1000; k++) {
                assert_int_equal(beowire_poll(a, NULL, 0), 0);
            }
            assert_int_equal(beowire_wait(a, 0), 0); /* b has not looked */
            struct beowire_completion done = await_both(a, b);
            assert_int_equal(done.status, 0);
            assert_int_equal(done.operation, BEOWIRE_SEND);
            assert_ptr_equal(done.context, data);
            assert_int_equal(await_both(b, a).bytes, sizes[j]);
        }
        assert_int_equal(beowire_close(a, 0), 0);
        assert_int_equal(beowire_close(b, 0), 0);
    }
}

TEST(beowire_flush__until_the_peer_has_it)
{
    beowire_endpoint *a = open_endpoint("end0");
    beowire_endpoint *b = open_endpoint("end1");
    beowire_peer to = know(a, b);

    assert_int_equal(beowire_flush(a, 0), 0);
    assert_int_equal(beowire_send(a, to, 1, 0, "x", 1, NULL), 0);
    assert_int_equal(beowire_flush(a, 1000000), -ETIMEDOUT); /* b does not look */
    await_flushed(a, b);
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}

TEST(beowire_close__with_something_that_did_not_arrive)
{
    beowire_endpoint *a = open_endpoint("end0");
    beowire_endpoint *b = open_endpoint("end1");
    char buffer[1];

    assert_int_equal(beowire_receive(a, BEOWIRE_ANY_PEER, 1, 0, buffer, 1, NULL), 0);
    assert_int_equal(beowire_send(a, know(a, b), 1, 0, "x", 1, NULL), 0);
    assert_int_equal(beowire_close(a, 1000000), -ETIMEDOUT);
    assert_int_equal(beowire_close(b, 0), 0);
}

TEST(beowire_close__ends_what_peers_wait_for)
{
    beowire_endpoint *a = open_endpoint("end0");
    beowire_endpoint *b = open_endpoint("end1");
    beowire_peer to_b = know(a, b);

    assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, NULL, 0, NULL), 0);
    assert_int_equal(beowire_send(a, to_b, 1, 0, NULL, 0, NULL), 0);
    assert_int_equal(await_both(b, a).status, 0);
    assert_int_equal(await_both(a, b).status, 0);
    assert_int_equal(beowire_receive(a, to_b, 2, 0, NULL, 0, a), 0);
    assert_int_equal(beowire_close(b, PATIENCE_NS), 0);
    struct beowire_completion done = await_both(a, a);
    assert_int_equal(done.status, -ECONNRESET);
    assert_ptr_equal(done.context, a);
    assert_int_equal(beowire_send(a, to_b, 1, 0, NULL, 0, NULL), -ECONNRESET);
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
}

TEST(beowire_poll__as_many_as_there_is_room_for)
{
    beowire_endpoint *a = open_endpoint("end0");
    struct beowire_completion done[4];

    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(beowire_receive(a, BEOWIRE_ANY_PEER, i, 0, NULL, 0, a), 0);
    }
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(beowire_cancel(a, a), 0);
    }
    assert_int_equal(beowire_poll(a, NULL, 0), 0);
    assert_int_equal(beowire_poll(a, done, 4), 4);
    assert_int_equal(done[3].tag, 3);
    assert_int_equal(beowire_poll(a, done, 4), 2);
    assert_int_equal(beowire_poll(a, done, 4), 0);
    assert_int_equal(beowire_close(a, 0), 0);
}
