/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/handle.h"

#include "namespace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "endpoints.h"

static void handle_take__closed_and_empty(void **state)
{
    struct beowire_endpoint *taken = handle_take();

    (void)state;
    assert_non_null(taken);
    assert_false(taken->is_open);
    assert_int_equal(taken->idle_polls, 0);
    handle_give(taken);
}

static void handle_take__not_one_of_those_closed_last(void **state)
{
    struct beowire_endpoint *closed[HANDLE_CLOSED_KEPT];

    (void)state;
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
static void handle_take__serves_again(void **state)
{
    struct beowire_endpoint *first = handle_take();
    struct beowire_endpoint *taken = NULL;
    unsigned turns = 0;

    (void)state;
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
    assert_int_equal(beowire_close(endpoint, 0), status);
}

static void every_function__null(void **state)
{
    (void)state;
    refuse_all(NULL, -EINVAL);
}

/** Also while another one of the same process moves messages. */
static void every_function__closed_endpoint(void **state)
{
    beowire_endpoint *closed = open_with_lanes("end0", "packet,udp");
    beowire_endpoint *a = open_with_lanes("end0", "packet,udp");
    beowire_endpoint *b = open_with_lanes("end1", "packet,udp");
    beowire_peer to_b = know(a, b);
    char buffer[2] = "";

    (void)state;
    assert_int_equal(beowire_descriptor(closed) >= 0, 1);
    assert_int_equal(beowire_close(closed, 0), 0);
    refuse_all(closed, -EBADF);
    assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, buffer, 2, NULL), 0);
    assert_int_equal(beowire_send(a, to_b, 1, 0, "x", 2, NULL), 0);
    refuse_all(closed, -EBADF);
    assert_int_equal(await_both(b, a).status, 0);
    assert_string_equal(buffer, "x");
    assert_int_equal(beowire_close(b, 0), 0);
    (void)beowire_close(a, 0); /* which may not have heard that it arrived */
    refuse_all(a, -EBADF);
}

/** And what every function says to NULL in another place. */
static void every_function__null_elsewhere(void **state)
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
    char data[8];

    (void)state;
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
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handle_take__closed_and_empty),
        cmocka_unit_test(handle_take__not_one_of_those_closed_last),
        cmocka_unit_test(handle_take__serves_again),
        cmocka_unit_test(every_function__null),
        cmocka_unit_test(every_function__closed_endpoint),
        cmocka_unit_test(every_function__null_elsewhere),
    };

    (void)argc;
    namespace_enter(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
