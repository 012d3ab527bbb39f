/* SPDX-License-Identifier: BSD-3-Clause */
/* By itself, and as an endpoint's over the veth pair of a network namespace of the test's own. */
#include "endpoint/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "endpoints.h"
#include "unit/test.h"

#define LONG_BYTES (4u << 20)
#define PATIENCE_MS 20000

/** A lane of which nothing but the descriptor is used. */
struct fake_lane {
    struct lane lane;
    int fd;
};

static int fake_descriptor(const struct lane *lane)
{
    return ((const struct fake_lane *)(const void *)lane)->fd;
}

static const struct lane_operations fake_operations = {.descriptor = fake_descriptor};

static bool is_readable(const struct descriptor *descriptor, int timeout_ms)
{
    struct pollfd all = {.fd = descriptor->all, .events = POLLIN};

    return poll(&all, 1, timeout_ms) == 1;
}

TEST(open__readable_as_long_as_a_lane_is)
{
    struct fake_lane without = {.lane.operations = &fake_operations, .fd = -1};
    struct fake_lane with = {.lane.operations = &fake_operations, .fd = eventfd(0, EFD_CLOEXEC)};
    struct path_lanes lanes = {.lanes = {&without.lane, &with.lane}, .count = 2};
    struct descriptor descriptor;
    uint64_t count = 1;

    assert_int_equal(descriptor_open(&descriptor, &lanes), 0);
    assert_false(is_readable(&descriptor, 0));
    assert_int_equal(write(with.fd, &count, sizeof count), sizeof count);
    assert_true(is_readable(&descriptor, 0));
    assert_true(is_readable(&descriptor, 0));
    assert_int_equal(read(with.fd, &count, sizeof count), sizeof count);
    assert_false(is_readable(&descriptor, 0));
    descriptor_close(&descriptor);
    assert_int_equal(close(with.fd), 0);
}

TEST(open__too_many_descriptors_leave_none)
{
    struct path_lanes lanes = {0};
    struct descriptor descriptor;
    struct rlimit before;
    int next = dup(0);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (rlim_t room = 0; room < 3; room++) {
        struct rlimit few = {.rlim_cur = (rlim_t)next + 1 + room, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        /* `next` itself is taken, those after it are free. */
        assert_true(descriptor_open(&descriptor, &lanes) < 0);
        assert_false(descriptor.is_open);
        assert_int_equal(fcntl(next + 1, F_GETFD), -1);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(close(next), 0);
}

TEST(ring__until_it_is_quietened)
{
    struct path_lanes lanes = {0};
    struct descriptor descriptor;

    assert_int_equal(descriptor_open(&descriptor, &lanes), 0);
    for (int i = 0; i < 2; i++) {
        descriptor_ring(&descriptor);
        descriptor_ring(&descriptor);
        assert_true(is_readable(&descriptor, 0));
        descriptor_quieten(&descriptor);
        assert_false(is_readable(&descriptor, 0));
        descriptor_quieten(&descriptor); /* does not wait for it to ring */
    }
    descriptor_close(&descriptor);
}

TEST(set_timer__in_time_and_not_before)
{
    struct path_lanes lanes = {0};
    struct descriptor descriptor;
    uint64_t due_ns = now_ns() + SECOND / 50;

    assert_int_equal(descriptor_open(&descriptor, &lanes), 0);
    descriptor_set_timer(&descriptor, due_ns);
    assert_true(is_readable(&descriptor, PATIENCE_MS));
    assert_true(now_ns() >= due_ns);
    /* What has gone off is over when another time is set, or none. */
    descriptor_set_timer(&descriptor, due_ns + 1000 * SECOND);
    assert_false(is_readable(&descriptor, 0));
    descriptor_set_timer(&descriptor, 0);
    assert_true(is_readable(&descriptor, PATIENCE_MS));
    descriptor_set_timer(&descriptor, UINT64_MAX);
    assert_false(is_readable(&descriptor, 0));
    descriptor_close(&descriptor);
}

TEST(close__what_was_never_opened)
{
    struct descriptor descriptor = {0};

    descriptor_close(&descriptor);
    assert_true(fcntl(0, F_GETFD) >= 0); /* all zero, it does not mean descriptor 0 */
}

/* ---- an endpoint's --------------------------------------------------------------------------- */

static bool wakes(beowire_endpoint *endpoint, int timeout_ms)
{
    struct pollfd readable = {.fd = beowire_descriptor(endpoint), .events = POLLIN};

    assert_true(readable.fd >= 0);
    return poll(&readable, 1, timeout_ms) == 1;
}

static beowire_endpoint *open_endpoint(const char *interface, const char *lanes,
                                       enum beowire_progress progress, uint64_t peer_timeout_ns)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.interface = interface;
    options.lanes = lanes;
    options.progress = progress;
    options.peer_timeout_ns = peer_timeout_ns;
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    return endpoint;
}

/** The next completion, of an endpoint that sleeps at its descriptor whenever it may. */
static struct beowire_completion await_asleep(beowire_endpoint *endpoint)
{
    struct beowire_completion done = {0};

    assert_true(beowire_descriptor(endpoint) >= 0);
    while (beowire_poll(endpoint, &done, 1) == 0) {
        int status = beowire_arm(endpoint);
        if (status == 0) {
            assert_true(wakes(endpoint, PATIENCE_MS));
        } else {
            assert_int_equal(status, -EAGAIN);
        }
    }
    return done;
}

/** As long as an endpoint has work of its own, such as to connect, it may not sleep. */
static void arm_in_the_end(beowire_endpoint *endpoint)
{
    uint64_t start_ns = now_ns();
    int status = 0;

    assert_true(beowire_descriptor(endpoint) >= 0);
    while ((status = beowire_arm(endpoint)) == -EAGAIN) {
        assert_true(now_ns() - start_ns < PATIENCE_NS);
    }
    assert_int_equal(status, 0);
}

struct sender {
    beowire_endpoint *endpoint;
    beowire_peer peer;
    const uint8_t *data;
    uint64_t bytes;
    int status;
};

static void *send_asleep(void *argument)
{
    struct sender *sender = argument;

    sender->status =
        beowire_send(sender->endpoint, sender->peer, 1, 0, sender->data, sender->bytes, NULL);
    if (sender->status == 0) {
        sender->status = await_asleep(sender->endpoint).status;
    }
    if (sender->status == 0) {
        sender->status = beowire_flush(sender->endpoint, PATIENCE_NS);
    }
    return NULL;
}

TEST(descriptor__wakes_for_all_that_a_message_takes)
{
    const char *lanes[] = {"packet", "udp", "shm", NULL};
    const uint64_t lengths[] = {1, 20000, LONG_BYTES};

    for (unsigned i = 0; i < 4; i++) {
        beowire_endpoint *a = open_endpoint("end0", lanes[i], BEOWIRE_PROGRESS_CALLS, 5 * SECOND);
        beowire_endpoint *b = open_endpoint("end1", lanes[i], BEOWIRE_PROGRESS_CALLS, 5 * SECOND);
        uint8_t *target = calloc(1, LONG_BYTES);
        uint8_t *source = malloc(LONG_BYTES);
        assert_non_null(target);
        assert_non_null(source);
        memset(source, 7, LONG_BYTES);
        for (unsigned j = 0; j < 3; j++) {
            struct sender sender = {
                .endpoint = a, .peer = know(a, b), .data = source, .bytes = lengths[j]};
            pthread_t thread;
            assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, target, LONG_BYTES, NULL),
                             0);
            assert_int_equal(pthread_create(&thread, NULL, send_asleep, &sender), 0);
            struct beowire_completion done = await_asleep(b);
            assert_int_equal(done.status, 0);
            assert_int_equal(done.bytes, lengths[j]);
            assert_int_equal(beowire_flush(b, PATIENCE_NS), 0); /* acknowledges */
            assert_int_equal(pthread_join(thread, NULL), 0);
            assert_int_equal(sender.status, 0);
        }
        assert_memory_equal(source, target, LONG_BYTES);
        assert_int_equal(beowire_close(a, 0), 0);
        assert_int_equal(beowire_close(b, 0), 0);
        free(target);
        free(source);
    }
}

TEST(descriptor__wakes_for_timers)
{
    beowire_endpoint *a = open_endpoint("end0", "packet", BEOWIRE_PROGRESS_CALLS, SECOND / 5);
    beowire_endpoint *b = open_endpoint("end1", "packet", BEOWIRE_PROGRESS_CALLS, SECOND / 5);

    /* b never calls, so no frame comes, and over Ethernet frames alone it is taken for dead:
     * whatever a does, a timer has it do. */
    assert_int_equal(beowire_send(a, know(a, b), 1, 0, "x", 1, a), 0);
    struct beowire_completion done = await_asleep(a);
    assert_int_equal(done.status, -ETIMEDOUT);
    assert_ptr_equal(done.context, a);
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}

TEST(descriptor__wakes_for_what_the_keeper_has_taken)
{
    const enum beowire_progress kinds[] = {BEOWIRE_PROGRESS_KEEPER, BEOWIRE_PROGRESS_THREAD};

    for (unsigned i = 0; i < 2; i++) {
        beowire_endpoint *a = open_endpoint("end0", NULL, BEOWIRE_PROGRESS_CALLS, 5 * SECOND);
        beowire_endpoint *b = open_endpoint("end1", NULL, kinds[i], 5 * SECOND);
        char got[2] = {0};
        for (unsigned j = 0; j < 2; j++) {
            assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, &got[j], 1, &got[j]), 0);
            arm_in_the_end(b);
            /* b's thread has taken all frames by the end of this: no lane is readable any more. */
            assert_int_equal(beowire_send(a, know(a, b), 1, 0, "x", 1, NULL), 0);
            assert_int_equal(beowire_flush(a, PATIENCE_NS), 0);
            assert_true(wakes(b, PATIENCE_MS));
            assert_int_equal(await_asleep(b).status, 0);
            assert_int_equal(got[j], 'x');
        }
        assert_int_equal(beowire_close(a, 0), 0);
        assert_int_equal(beowire_close(b, 0), 0);
    }
}

TEST(descriptor__quiet_while_nothing_happens)
{
    beowire_endpoint *a = open_endpoint("end0", NULL, BEOWIRE_PROGRESS_CALLS, 5 * SECOND);
    int descriptor = beowire_descriptor(a);

    assert_true(descriptor >= 0);
    assert_int_equal(beowire_descriptor(a), descriptor);
    arm_in_the_end(a);
    assert_false(wakes(a, 20));
    assert_int_equal(beowire_close(a, 0), 0);
}

TEST(descriptor__none_can_be_made)
{
    beowire_endpoint *a = open_endpoint("end0", NULL, BEOWIRE_PROGRESS_CALLS, 5 * SECOND);
    struct rlimit before;
    int next = dup(0);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit few = {.rlim_cur = (rlim_t)next + 1, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(beowire_descriptor(a), -EMFILE);
    assert_int_equal(beowire_arm(a), -EINVAL); /* there is none */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(beowire_descriptor(a) >= 0);
    assert_int_equal(close(next), 0);
    assert_int_equal(beowire_close(a, 0), 0);
}

TEST(arm__not_while_there_are_completions)
{
    beowire_endpoint *a = open_endpoint("end0", NULL, BEOWIRE_PROGRESS_CALLS, 5 * SECOND);
    struct beowire_completion done;
    char got = 0;

    assert_int_equal(beowire_arm(a), -EINVAL); /* at what would it sleep? */
    assert_true(beowire_descriptor(a) >= 0);
    assert_int_equal(beowire_receive(a, BEOWIRE_ANY_PEER, 1, 0, &got, 1, &got), 0);
    arm_in_the_end(a);
    assert_int_equal(beowire_cancel(a, &got), 0);
    assert_int_equal(beowire_arm(a), -EAGAIN);
    assert_int_equal(beowire_arm(a), -EAGAIN);
    assert_int_equal(beowire_poll(a, &done, 1), 1);
    arm_in_the_end(a);
    assert_int_equal(beowire_close(a, 0), 0);
}
