/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/handle.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "endpoints.h"
#include "unit/test.h"

TEST(handle_take__closed_and_empty)
{
    struct beowire_endpoint *taken = handle_take();

    assert_non_null(taken);
    assert_false(taken->is_open);
    assert_int_equal(taken->idle_polls, 0);
    handle_give(taken);
}

TEST(handle_take__not_one_of_those_closed_last)
{
    struct beowire_endpoint *closed[HANDLE_CLOSED_KEPT];

    for (unsigned i = 0; i < HANDLE_CLOSED_KEPT; i++) {
        closed[i] = handle_take();
        closed[i]->is_open = true;
    }
    for (unsigned i = 0; i < HANDLE_CLOSED_KEPT; i++) {
        handle_give(closed[i]);
    }
    struct beowire_endpoint *taken = handle_take();
    for (unsigned i = 0; i < HANDLE_CLOSED_KEPT; i++) {
        assert_ptr_not_equal(taken, closed[i]);
        assert_false(closed[i]->is_open);
    }
    handle_give(taken);
}

/** Opening and closing again and again takes no more memory. */
TEST(handle_take__serves_again)
{
    struct beowire_endpoint *first = handle_take();
    struct beowire_endpoint *taken = NULL;
    unsigned turns = 0;

    first->idle_polls = 7;
    handle_give(first);
    while (taken != first && turns++ < 10 * HANDLE_CLOSED_KEPT) {
        taken = handle_take();
        assert_int_equal(taken->idle_polls, 0);
        handle_give(taken);
    }
    assert_ptr_equal(taken, first);
    assert_true(turns >= HANDLE_CLOSED_KEPT);
}

/** Calls every function with a handle that cannot be used. */
static void refuse_all(beowire_endpoint *endpoint, int status)
{
    struct beowire_address address = {.bytes = {1}};
    const struct beowire_address none = {0};
    struct beowire_completion done;
    const struct beowire_remote remote = {0};
    const struct beowire_atomic atomic = {.operation = BEOWIRE_ATOMIC_READ, .count = 1};
    beowire_message message = 0;
    beowire_peer peer = 0;
    const char *name = NULL;
    uint64_t number = 0;
    int reason = 0;
    char data[8] = {0};

    beowire_address(endpoint, &address);
    assert_memory_equal(&address, &none, sizeof none);
    beowire_address(endpoint, NULL);
    assert_int_equal(beowire_peer_add(endpoint, &address, &peer), status);
    assert_int_equal(beowire_peer_address(endpoint, 0, &address), status);
    assert_int_equal(beowire_send(endpoint, 0, 0, 0, data, 8, NULL), status);
    assert_int_equal(beowire_send_confirmed(endpoint, 0, 0, 0, data, 8, NULL), status);
    assert_int_equal(beowire_inject(endpoint, 0, 0, 0, data, 8), status);
    assert_int_equal(beowire_inject_bytes(endpoint), 0);
    assert_int_equal(beowire_receive(endpoint, 0, 0, 0, data, 8, NULL), status);
    assert_int_equal(beowire_peek(endpoint, 0, 0, 0, &done), status);
    assert_int_equal(beowire_claim(endpoint, 0, 0, 0, &done, &message), status);
    assert_int_equal(beowire_receive_claimed(endpoint, 1, data, 8, NULL), status);
    assert_int_equal(beowire_memory_register(endpoint, data, 8, 0, &number), status);
    assert_int_equal(beowire_memory_unregister(endpoint, 1), status);
    assert_int_equal(beowire_put(endpoint, 0, &remote, data, 8, 0, 0, NULL), status);
    assert_int_equal(beowire_put_inject_bytes(endpoint), 0);
    assert_int_equal(beowire_get(endpoint, 0, &remote, data, 8, NULL), status);
    assert_int_equal(beowire_atomic(endpoint, 0, &remote, &atomic, NULL), status);
    assert_int_equal(beowire_atomic_count(endpoint, BEOWIRE_ATOMIC_SUM, BEOWIRE_INT32), 0);
    assert_int_equal(beowire_flush(endpoint, 0), status);
    assert_int_equal(beowire_cancel(endpoint, NULL), status);
    assert_int_equal(beowire_poll(endpoint, &done, 1), status);
    assert_int_equal(beowire_wait(endpoint, 0), status);
    assert_int_equal(beowire_descriptor(endpoint), status);
    assert_int_equal(beowire_arm(endpoint), status);
    assert_int_equal(beowire_counter(endpoint, 0, &name, &number), status);
    assert_int_equal(beowire_missing_lane(endpoint, 0, &name, &reason), status);
    assert_null(beowire_missing_lane_reason(endpoint, 0));
}

TEST(every_function__null)
{
    refuse_all(NULL, -EINVAL);
    assert_int_equal(beowire_close(NULL, 0), -EINVAL);
}

/** Also while another one of the same process moves messages. */
TEST(every_function__closed_endpoint)
{
    beowire_endpoint *closed = open_with_lanes("end0", "packet,udp");
    beowire_endpoint *a = open_with_lanes("end0", "packet,udp");
    beowire_endpoint *b = open_with_lanes("end1", "packet,udp");
    beowire_peer to_b = know(a, b);
    char buffer[2] = "";

    assert_int_equal(beowire_descriptor(closed) >= 0, 1);
    assert_int_equal(beowire_close(closed, 0), 0);
    refuse_all(closed, -EBADF);
    assert_int_equal(beowire_close(closed, 0), -EBADF);
    assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, buffer, 2, NULL), 0);
    assert_int_equal(beowire_send(a, to_b, 1, 0, "x", 2, NULL), 0);
    refuse_all(closed, -EBADF);
    assert_int_equal(await_both(b, a).status, 0);
    assert_string_equal(buffer, "x");
    assert_int_equal(beowire_close(b, 0), 0);
    (void)beowire_close(a, 0); /* which may not have heard that it arrived */
    refuse_all(a, -EBADF);
}

/** A child as fork() makes it, or as the system call does, of which no library hears. */
static pid_t split(bool by_library)
{
    return by_library ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
}

/** While messages of the parent are on their way in both directions, long ones, too. */
static void check_in_child(const char *lanes, bool by_library)
{
    enum { BYTES = 300000 };
    static uint8_t sent[2][BYTES];
    static uint8_t received[2][BYTES];
    beowire_endpoint *two[2] = {open_with_lanes("end0", lanes), open_with_lanes("end1", lanes)};
    int status = -1;

    for (unsigned i = 0; i < 2; i++) {
        beowire_peer to = know(two[i], two[1 - i]);
        memset(sent[i], 'a' + (int)i, BYTES);
        memset(received[i], 0, BYTES);
        assert_int_equal(
            beowire_receive(two[i], BEOWIRE_ANY_PEER, 1, 0, received[i], BYTES, &received[i]), 0);
        assert_int_equal(beowire_send(two[i], to, 1, 0, sent[i], BYTES, &sent[i]), 0);
    }
    pid_t child = split(by_library);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (unsigned i = 0; i < 1000; i++) {
            refuse_all(two[i % 2], -ECHILD);
        }
        _exit(beowire_close(two[0], 0) == 0 && beowire_poll(two[0], NULL, 0) == -EBADF ? 0 : 1);
    }
    unsigned ended = 0;
    uint64_t late_ns = now_ns() + PATIENCE_NS;
    while (ended < 4) {
        struct beowire_completion done;
        for (unsigned i = 0; i < 2; i++) {
            int count = beowire_poll(two[i], &done, 1);
            assert_true(count >= 0 && now_ns() < late_ns);
            assert_int_equal(count > 0 ? done.status : 0, 0);
            ended += (unsigned)count;
        }
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_memory_equal(received[1 - i], sent[i], BYTES);
    }
    (void)beowire_close(two[0], 0); /* which may not have heard that all arrived */
    (void)beowire_close(two[1], 0);
}

TEST(every_function__in_a_child)
{
    static const char *const lanes[] = {"packet", "udp", "packet,tso,udp", "shm"};

    for (unsigned i = 0; i < 8; i++) {
        check_in_child(lanes[i / 2], i % 2 == 0);
    }
}

/** What it opens itself is its own, and not its children's; in memory that was an endpoint of its
 *  parent, too. */
TEST(beowire_open__in_a_child)
{
    beowire_endpoint *parents = open_with_lanes("end0", "udp");
    int status = -1;

    pid_t child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < 2 * HANDLE_CLOSED_KEPT; i++) {
            beowire_endpoint *own = open_with_lanes("end0", "udp");
            assert_int_equal(beowire_poll(own, NULL, 0), 0);
            pid_t grandchild = fork();
            if (grandchild == 0) {
                _exit(beowire_poll(own, NULL, 0) == -ECHILD &&
                              beowire_poll(parents, NULL, 0) == (i == 0 ? -ECHILD : -EBADF)
                          ? 0
                          : 1);
            }
            assert_int_equal(waitpid(grandchild, &status, 0), grandchild);
            assert_int_equal(status, 0);
            assert_int_equal(beowire_close(own, 0), 0);
            if (i == 0) {
                assert_int_equal(beowire_close(parents, 0), 0);
                i = HANDLE_CLOSED_KEPT; /* it is among the next to be used again */
            }
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(beowire_poll(parents, NULL, 0), 0);
    assert_int_equal(beowire_close(parents, 0), 0);
}

/** And what every function says to NULL in another place. */
TEST(every_function__null_elsewhere)
{
    beowire_endpoint *a = open_with_lanes("end0", "packet,udp");
    beowire_endpoint *b = open_with_lanes("end1", "packet,udp");
    beowire_peer to_b = know(a, b);
    struct beowire_address address;
    struct beowire_completion done;
    const struct beowire_remote remote = {0};
    const struct beowire_atomic atomic = {.operation = BEOWIRE_ATOMIC_SUM, .count = 1};
    beowire_message message = 0;
    const char *name = NULL;
    uint64_t number = 0;
    int reason = 0;
    char data[8];

    beowire_address(b, &address);
    beowire_address(a, NULL);
    assert_int_equal(beowire_address_format(NULL, data, sizeof data), -EINVAL);
    assert_int_equal(beowire_address_format(&address, NULL, 1000), -EINVAL);
    assert_int_equal(beowire_address_parse(NULL, &address), -EINVAL);
    assert_int_equal(beowire_address_parse("beowire", NULL), -EINVAL);
    assert_int_equal(beowire_peer_add(a, NULL, &to_b), -EINVAL);
    assert_int_equal(beowire_peer_add(a, &address, NULL), -EINVAL);
    assert_int_equal(beowire_peer_address(a, to_b, NULL), -EINVAL);
    assert_int_equal(beowire_send(a, to_b, 0, 0, NULL, 8, NULL), -EINVAL);
    assert_int_equal(beowire_inject(a, to_b, 0, 0, NULL, 8), -EINVAL);
    assert_int_equal(beowire_receive(a, to_b, 0, 0, NULL, 8, NULL), -EINVAL);
    assert_int_equal(beowire_peek(a, to_b, 0, 0, NULL), -EINVAL);
    assert_int_equal(beowire_claim(a, to_b, 0, 0, NULL, &message), -EINVAL);
    assert_int_equal(beowire_claim(a, to_b, 0, 0, &done, NULL), -EINVAL);
    assert_int_equal(beowire_receive_claimed(a, 1, NULL, 8, NULL), -EINVAL);
    assert_int_equal(beowire_memory_register(a, data, 8, 0, NULL), -EINVAL);
    assert_int_equal(beowire_put(a, to_b, NULL, data, 8, 0, 0, NULL), -EINVAL);
    assert_int_equal(beowire_put(a, to_b, &remote, NULL, 8, 0, 0, NULL), -EINVAL);
    assert_int_equal(beowire_get(a, to_b, NULL, data, 8, NULL), -EINVAL);
    assert_int_equal(beowire_get(a, to_b, &remote, NULL, 8, NULL), -EINVAL);
    assert_int_equal(beowire_atomic(a, to_b, NULL, &atomic, NULL), -EINVAL);
    assert_int_equal(beowire_atomic(a, to_b, &remote, NULL, NULL), -EINVAL);
    assert_int_equal(beowire_atomic(a, to_b, &remote, &atomic, NULL), -EINVAL);
    assert_int_equal(beowire_poll(a, NULL, 1), -EINVAL);
    assert_int_equal(beowire_poll(a, NULL, 0), 0);
    assert_int_equal(beowire_counter(a, 0, NULL, &number), -EINVAL);
    assert_int_equal(beowire_counter(a, 0, &name, NULL), -EINVAL);
    assert_int_equal(beowire_missing_lane(a, 0, NULL, &reason), -EINVAL);
    assert_int_equal(beowire_missing_lane(a, 0, &name, NULL), -EINVAL);
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}
