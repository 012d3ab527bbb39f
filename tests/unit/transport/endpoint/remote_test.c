/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote memory by the public interface, over the lanes of a namespace of the test's own. */
#include "beowire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "endpoints.h"
#include "tuning.h"
#include "unit/test.h"

#define MEMORY_BYTES 400000

struct pair {
    beowire_endpoint *a; /* asks */
    beowire_endpoint *b; /* has the memory */
    beowire_peer to;
    uint8_t *memory;
    uint64_t key;
};

static void open_pair(struct pair *pair, const char *lanes)
{
    pair->a = open_with_lanes("end0", lanes);
    pair->b = open_with_lanes("end1", lanes);
    pair->to = know(pair->a, pair->b);
    pair->memory = calloc(1, MEMORY_BYTES);
    assert_non_null(pair->memory);
    assert_int_equal(beowire_memory_register(pair->b, pair->memory, MEMORY_BYTES,
                                             BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_WRITE,
                                             &pair->key),
                     0);
}

static void close_pair(struct pair *pair)
{
    /* Neither polls for the other: the last acknowledgements may be missing. */
    (void)beowire_close(pair->a, 0);
    (void)beowire_close(pair->b, 0);
    free(pair->memory);
}

static void put_and_get(struct pair *pair, uint64_t bytes)
{
    const struct beowire_remote remote = {.key = pair->key, .address = 1};
    uint8_t *data = malloc(bytes + 1);
    uint8_t *got = calloc(1, bytes + 1);

    for (uint64_t at = 0; at < bytes; at++) {
        data[at] = (uint8_t)(at * 7 + bytes);
    }
    assert_int_equal(beowire_put(pair->a, pair->to, &remote, data, bytes, BEOWIRE_PUT_NOTIFY,
                                 (uint32_t)bytes, data),
                     0);
    struct beowire_completion done = await_both(pair->a, pair->b);
    assert_int_equal(done.status, 0);
    assert_int_equal(done.operation, BEOWIRE_PUT);
    assert_ptr_equal(done.context, data);
    assert_memory_equal(pair->memory + 1, data, bytes);
    done = await_both(pair->b, pair->a);
    assert_int_equal(done.operation, BEOWIRE_PUT_ARRIVED);
    assert_int_equal(done.immediate, bytes);
    assert_int_equal(beowire_get(pair->a, pair->to, &remote, got, bytes, got), 0);
    done = await_both(pair->a, pair->b);
    assert_int_equal(done.status, 0);
    assert_int_equal(done.operation, BEOWIRE_GET);
    assert_memory_equal(got, data, bytes);
    free(data);
    free(got);
}

TEST(beowire_put__and_get_over_every_lane)
{
    static const char *const lanes[] = {"packet", "udp", "shm", "packet,udp"};
    static const uint64_t sizes[] = {0, 1, 8, 1436, 1437, 16384, 16385, 300000};

    for (unsigned i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        struct pair pair;
        open_pair(&pair, lanes[i]);
        for (unsigned j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            put_and_get(&pair, sizes[j]);
        }
        close_pair(&pair);
    }
}

TEST(beowire_put__injected)
{
    struct pair pair;
    uint8_t data[MESSAGE_INJECT_BYTES_MAX + 1];

    open_pair(&pair, "packet,udp");
    const struct beowire_remote remote = {.key = pair.key};
    uint64_t most = beowire_put_inject_bytes(pair.a);
    assert_int_equal(most, MESSAGE_INJECT_BYTES_MAX);
    memset(data, 'x', sizeof data);
    assert_int_equal(
        beowire_put(pair.a, pair.to, &remote, data, most + 1, BEOWIRE_PUT_INJECT, 0, NULL),
        -EMSGSIZE);
    int status = -EAGAIN;
    uint64_t end_ns = now_ns() + PATIENCE_NS;
    while (status == -EAGAIN) { /* until they are connected */
        assert_true(now_ns() < end_ns);
        status = beowire_put(pair.a, pair.to, &remote, data, most, BEOWIRE_PUT_INJECT, 0, NULL);
        (void)beowire_poll(pair.a, NULL, 0);
        (void)beowire_poll(pair.b, NULL, 0);
    }
    assert_int_equal(status, 0);
    memset(data, 'y', sizeof data);
    assert_int_equal(await_both(pair.a, pair.b).status, 0);
    assert_int_equal(pair.memory[0], 'x');
    assert_int_equal(pair.memory[most - 1], 'x');
    assert_int_equal(pair.memory[most], 0);
    close_pair(&pair);
}

/** Whoever has taken what tells of puts need not look again for others to go on. */
TEST(beowire_poll__notices_taken_make_room)
{
    struct pair pair;
    struct beowire_completion done[MESSAGE_PILE_FRAMES];
    uint64_t data = 1;

    open_pair(&pair, "packet,udp");
    const struct beowire_remote remote = {.key = pair.key};
    for (unsigned i = 0; i < MESSAGE_PILE_FRAMES; i++) {
        assert_int_equal(
            beowire_put(pair.a, pair.to, &remote, &data, sizeof data, BEOWIRE_PUT_NOTIFY, 0, &data),
            0);
        assert_int_equal(await_both(pair.a, pair.b).status, 0);
    }
    assert_int_equal(beowire_inject(pair.a, pair.to, 1, 0, "x", 1), -EAGAIN);
    assert_int_equal(beowire_poll(pair.b, done, MESSAGE_PILE_FRAMES), MESSAGE_PILE_FRAMES);
    uint64_t end_ns = now_ns() + PATIENCE_NS;
    while (beowire_inject(pair.a, pair.to, 1, 0, "x", 1) != 0) {
        assert_true(now_ns() < end_ns);
        (void)beowire_poll(pair.a, NULL, 0);
    }
    close_pair(&pair);
}

TEST(beowire_atomic__counts)
{
    struct pair pair;
    const uint64_t five = 5;
    uint64_t old = 0;
    struct beowire_atomic atomic = {.operation = BEOWIRE_ATOMIC_SUM,
                                    .type = BEOWIRE_UINT64,
                                    .count = 1,
                                    .operand = &five,
                                    .result = &old};

    open_pair(&pair, "packet,udp");
    const struct beowire_remote remote = {.key = pair.key, .address = 16};
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(beowire_atomic(pair.a, pair.to, &remote, &atomic, &atomic), 0);
        struct beowire_completion done = await_both(pair.a, pair.b);
        assert_int_equal(done.status, 0);
        assert_int_equal(done.operation, BEOWIRE_ATOMIC);
        assert_int_equal(old, 5 * i);
    }
    assert_int_equal(((uint64_t *)(void *)pair.memory)[2], 15);
    close_pair(&pair);
}

TEST(beowire_atomic__bad_arguments)
{
    struct pair pair;
    uint64_t value = 0;

    open_pair(&pair, "packet,udp");
    const struct beowire_remote remote = {.key = pair.key};
    const struct beowire_atomic good = {.operation = BEOWIRE_ATOMIC_SWAP_EQUAL,
                                        .type = BEOWIRE_UINT64,
                                        .count = 1,
                                        .operand = &value,
                                        .compare = &value,
                                        .result = &value};
    struct beowire_atomic atomic = good;
    uint32_t most = beowire_atomic_count(pair.a, BEOWIRE_ATOMIC_SWAP_EQUAL, BEOWIRE_UINT64);
    assert_true(most >= 8);
    assert_true(beowire_atomic_count(pair.a, BEOWIRE_ATOMIC_SUM, BEOWIRE_UINT64) >= 2 * most);
    assert_int_equal(beowire_atomic_count(pair.a, BEOWIRE_ATOMIC_BIT_OR, BEOWIRE_FLOAT), 0);
    assert_int_equal(beowire_atomic(pair.a, pair.to, &remote, NULL, NULL), -EINVAL);
    assert_int_equal(beowire_atomic(pair.a, pair.to, NULL, &good, NULL), -EINVAL);
    assert_int_equal(beowire_atomic(pair.a, pair.to + 1, &remote, &good, NULL), -EINVAL);
    atomic.operand = NULL;
    assert_int_equal(beowire_atomic(pair.a, pair.to, &remote, &atomic, NULL), -EINVAL);
    atomic = good;
    atomic.compare = NULL;
    assert_int_equal(beowire_atomic(pair.a, pair.to, &remote, &atomic, NULL), -EINVAL);
    atomic = good;
    atomic.count = 0;
    assert_int_equal(beowire_atomic(pair.a, pair.to, &remote, &atomic, NULL), -EINVAL);
    atomic.count = most + 1;
    assert_int_equal(beowire_atomic(pair.a, pair.to, &remote, &atomic, NULL), -EMSGSIZE);
    atomic = good;
    atomic.operation = BEOWIRE_ATOMIC_READ;
    atomic.result = NULL;
    assert_int_equal(beowire_atomic(pair.a, pair.to, &remote, &atomic, NULL), -EINVAL);
    atomic = good;
    atomic.operation = BEOWIRE_ATOMIC_SWAP_MASKED;
    atomic.type = BEOWIRE_DOUBLE;
    assert_int_equal(beowire_atomic(pair.a, pair.to, &remote, &atomic, NULL), -EOPNOTSUPP);
    close_pair(&pair);
}

TEST(beowire_put__bad_arguments)
{
    struct pair pair;
    uint8_t data[8] = {0};

    open_pair(&pair, "packet,udp");
    const struct beowire_remote remote = {.key = pair.key};
    assert_int_equal(beowire_put(pair.a, pair.to, NULL, data, 8, 0, 0, NULL), -EINVAL);
    assert_int_equal(beowire_put(pair.a, pair.to, &remote, NULL, 8, 0, 0, NULL), -EINVAL);
    assert_int_equal(beowire_put(pair.a, pair.to, &remote, data, 8, 4, 0, NULL), -EINVAL);
    assert_int_equal(beowire_put(pair.a, pair.to + 1, &remote, data, 8, 0, 0, NULL), -EINVAL);
    assert_int_equal(
        beowire_put(pair.a, pair.to, &remote, data, BEOWIRE_MESSAGE_BYTES_MAX + 1, 0, 0, NULL),
        -EMSGSIZE);
    assert_int_equal(beowire_get(pair.a, pair.to, NULL, data, 8, NULL), -EINVAL);
    assert_int_equal(beowire_get(pair.a, pair.to, &remote, NULL, 8, NULL), -EINVAL);
    assert_int_equal(beowire_get(pair.a, pair.to + 1, &remote, data, 8, NULL), -EINVAL);
    assert_int_equal(
        beowire_get(pair.a, pair.to, &remote, data, BEOWIRE_MESSAGE_BYTES_MAX + 1, NULL),
        -EMSGSIZE);
    close_pair(&pair);
}

TEST(beowire_memory_register__keys)
{
    beowire_endpoint *endpoint = open_with_lanes("end0", "packet,udp");
    uint8_t memory[8];
    uint64_t keys[2] = {0, 0};

    assert_int_equal(beowire_memory_register(endpoint, memory, 8, BEOWIRE_MEMORY_READ, NULL),
                     -EINVAL);
    assert_int_equal(beowire_memory_register(endpoint, memory, 8, 16, keys), -EINVAL);
    assert_int_equal(
        beowire_memory_register(endpoint, memory, UINT64_MAX, BEOWIRE_MEMORY_READ, keys), -EINVAL);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            beowire_memory_register(endpoint, memory, 8, BEOWIRE_MEMORY_READ, &keys[i]), 0);
    }
    assert_true(keys[0] != keys[1]);
    assert_int_equal(beowire_memory_register(endpoint, memory, 8,
                                             BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_KEY, &keys[0]),
                     -EEXIST);
    assert_int_equal(beowire_memory_unregister(endpoint, keys[0]), 0);
    assert_int_equal(beowire_memory_unregister(endpoint, keys[0]), -ENOENT);
    uint64_t wanted = 3;
    assert_int_equal(beowire_memory_register(endpoint, memory, 8,
                                             BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_KEY, &wanted),
                     0);
    assert_int_equal(wanted, 3);
    assert_int_equal(beowire_close(endpoint, 0), 0);
}

static int put_status(struct pair *pair, uint64_t key, uint64_t address, uint64_t bytes)
{
    const struct beowire_remote remote = {.key = key, .address = address};
    static uint8_t data[MEMORY_BYTES];

    assert_int_equal(beowire_put(pair->a, pair->to, &remote, data, bytes, 0, 0, NULL), 0);
    struct beowire_completion done = await_both(pair->a, pair->b);
    assert_int_equal(done.peer, pair->to);
    return done.status;
}

TEST(beowire_put__refused_harms_nothing_else)
{
    struct pair pair;

    open_pair(&pair, "packet,udp");
    memset(pair.memory, 'm', MEMORY_BYTES);
    assert_int_equal(put_status(&pair, pair.key + 1, 0, 8), -EACCES);
    assert_int_equal(put_status(&pair, pair.key, MEMORY_BYTES - 7, 8), -EACCES);
    assert_int_equal(put_status(&pair, pair.key, 1, MEMORY_BYTES), -EACCES);
    assert_int_equal(put_status(&pair, pair.key, UINT64_MAX, 8), -EACCES);
    for (unsigned at = 0; at < MEMORY_BYTES; at++) {
        assert_int_equal(pair.memory[at], 'm');
    }
    put_and_get(&pair, 100000); /* and the connection goes on */
    assert_int_equal(beowire_memory_unregister(pair.b, pair.key), 0);
    assert_int_equal(put_status(&pair, pair.key, 0, 8), -EACCES);
    close_pair(&pair);
}

/** Guesses of one are refused, and end its connection when they are many. */
TEST(beowire_put__guesses_end_the_connection)
{
    struct pair pair;

    open_pair(&pair, "packet,udp");
    memset(pair.memory, 'm', MEMORY_BYTES);
    for (unsigned i = 1; i < REMOTE_GUESSES_MAX; i++) {
        assert_int_equal(put_status(&pair, pair.key + i, 0, 8), -EACCES);
        assert_int_equal(put_status(&pair, pair.key, MEMORY_BYTES - 7, 8), -EACCES); /* is none */
    }
    assert_int_equal(counter(pair.b, "remote_guesses"), REMOTE_GUESSES_MAX - 1);
    put_and_get(&pair, 1000);
    assert_int_equal(put_status(&pair, pair.key - 1, 0, 8), -EPROTO);
    assert_int_equal(counter(pair.b, "remote_guesses"), REMOTE_GUESSES_MAX);
    assert_int_equal(counter(pair.b, "peers_failed"), 1);
    const struct beowire_remote remote = {.key = pair.key};
    assert_int_equal(beowire_put(pair.a, pair.to, &remote, "x", 1, 0, 0, NULL), -EPROTO);
    close_pair(&pair);
}
