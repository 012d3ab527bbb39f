/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a session, with a driver that does what the test says. */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "testing.h"

static struct fake {
    int open_error;
    int address_error;
    int connect_error;
    int prepare_error;
    int receive_error;
    unsigned opened;
    unsigned closed;
    unsigned idle_looks;
    uint64_t max_size;
    uint64_t loss_timeout_ns;
    uint64_t socket_buffer_bytes;
    uint64_t outgoing_given; /* the engine's buffers were named */
    uint8_t wire[64];
} fake;

/* Those of a driver that makes them, and behind each what is nobody's. */
static struct {
    uint8_t bytes[64 + DRIVER_SLACK_BYTES];
    uint8_t behind[8];
} buffers[2];

static int fake_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    return 0;
}

static int fake_open(const struct driver_options *options, void **session, char *error,
                     size_t error_bytes)
{
    if (fake.open_error != 0) {
        (void)snprintf(error, error_bytes, "the cable is not in");
        return fake.open_error;
    }
    fake.opened++;
    fake.max_size = options->max_size;
    fake.loss_timeout_ns = options->loss_timeout_ns;
    fake.socket_buffer_bytes = options->socket_buffer_bytes;
    fake.outgoing_given = options->outgoing != NULL;
    *session = &fake;
    return 0;
}

static int fake_address(void *session, char *text, size_t text_bytes)
{
    (void)snprintf(text, text_bytes, "here/1");
    return fake.address_error;
}

static int fake_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    assert_string_equal(peer, "there/2");
    return fake.connect_error;
}

static int fake_prepare(void *session, uint64_t size)
{
    return fake.prepare_error;
}

static int fake_send(void *session, const void *data, uint64_t size)
{
    memcpy(fake.wire, data, size);
    return 0;
}

static int fake_receive(void *session, void *data, uint64_t size)
{
    memcpy(data, fake.wire, size);
    return fake.receive_error;
}

static void fake_close(void *session)
{
    fake.closed++;
}

static bool fake_idle(void *session)
{
    return fake.idle_looks > 0 && fake.idle_looks-- > 0;
}

static void fake_buffers(void *session, void **outgoing, void **incoming)
{
    assert_int_equal(fake.opened, fake.closed + 1);
    *outgoing = buffers[0].bytes;
    *incoming = buffers[1].bytes;
}

static int send_from_buffers(void *session, const void *data, uint64_t size)
{
    assert_in_range((uintptr_t)data, (uintptr_t)buffers, (uintptr_t)(buffers + 2) - size);
    return fake_send(session, data, size);
}

static int receive_into_buffers(void *session, void *data, uint64_t size)
{
    assert_ptr_equal(data, buffers[1].bytes + 3);
    return fake_receive(session, data, size);
}

static const struct driver MAKER = {
    .abi = DRIVER_ABI,
    .name = "maker",
    .summary = "for a test",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .fixed = true,
    .min_size = 2,
    .max_size = 64,
    .probe = fake_probe,
    .open = fake_open,
    .address = fake_address,
    .connect = fake_connect,
    .send = send_from_buffers,
    .receive = receive_into_buffers,
    .close = fake_close,
    .buffers = fake_buffers,
};

static const struct driver DRIVER = {
    .abi = DRIVER_ABI,
    .name = "fake",
    .summary = "for a test",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .min_size = 2,
    .max_size = 64,
    .probe = fake_probe,
    .open = fake_open,
    .address = fake_address,
    .connect = fake_connect,
    .prepare = fake_prepare,
    .send = fake_send,
    .receive = fake_receive,
    .close = fake_close,
    .idle = fake_idle,
};

static struct modules modules;
static struct input input;
static struct session session;
static int writer;

static int start(void **state)
{
    int ends[2];
    fake = (struct fake){0};
    if (pipe(ends) != 0 || modules_open(&modules, "") != 0) {
        return -1;
    }
    writer = ends[1];
    modules.drivers[modules.driver_count++] = &DRIVER;
    modules.drivers[modules.driver_count++] = &MAKER;
    input_open(&input, ends[0]);
    session_init(&session, &modules, &input);
    return 0;
}

static int finish(void **state)
{
    session_end(&session);
    modules_close(&modules);
    close(input.fd);
    close(writer);
    return fake.opened == fake.closed ? 0 : -1;
}

#define STARTED_TEST(name) TEST_AROUND(name, start, finish)

static const char *ask(const char *line)
{
    struct command *command = command_of(line);
    capture_start();
    switch (command->verb) {
    case COMMAND_OPEN:
        session_open(&session, command);
        break;
    case COMMAND_CONNECT:
        session_connect(&session, command);
        break;
    case COMMAND_RUN:
        session_run(&session, command);
        break;
    default:
        session_close(&session);
        break;
    }
    return capture_end();
}

#define OPEN "open driver=fake role=initiator max_size=1000"
#define RUN "run pattern=pingpong size=8 count=5"

static void make_ready(void)
{
    expect_part(ask(OPEN), "{\"event\":\"open\",\"address\":\"here/1\"}\n");
    expect_part(ask("connect peer=there/2"), "{\"event\":\"connected\"}\n");
}

STARTED_TEST(open__limits_and_defaults_for_the_driver)
{
    make_ready();
    assert_int_equal(fake.max_size, 64);
    assert_int_equal(fake.loss_timeout_ns, 20000000);
    assert_int_equal(fake.socket_buffer_bytes, 0);
    expect_part(ask("close"), "closed");
    expect_part(ask("open driver=fake role=responder max_size=10 loss_timeout_ms=7"
                    " socket_buffer=4096"),
                "here/1");
    assert_int_equal(fake.max_size, 10);
    assert_int_equal(fake.loss_timeout_ns, 7000000);
    assert_int_equal(fake.socket_buffer_bytes, 4096);
}

STARTED_TEST(open__a_driver_that_makes_the_buffers)
{
    memset(buffers, 0, sizeof buffers);
    for (int i = 0; i < 2; i++) {
        expect_part(ask("open driver=maker role=initiator max_size=61"), "here/1");
        assert_false(fake.outgoing_given);
        expect_part(ask("connect peer=there/2"), "connected");
        expect_part(ask("run pattern=pingpong size=61 count=5 send_offset=7 receive_offset=3"),
                    "\"received\":5");
        expect_part(ask("close"), "closed");
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(buffers[i].behind[0], 0);
        assert_int_equal(buffers[i].bytes[61 + DRIVER_SLACK_BYTES], 0);
    }
    fake.open_error = -ENODEV;
    expect_part(ask("open driver=maker role=initiator max_size=61"), "ENODEV");
}

STARTED_TEST(idle__as_long_as_the_driver_needs_it)
{
    fake.idle_looks = 2;
    assert_false(session_idle(&session)); /* nothing is open */
    make_ready();
    assert_true(session_idle(&session));
    assert_true(session_idle(&session));
    assert_false(session_idle(&session));
}

STARTED_TEST(open__failure_is_told_in_the_drivers_words)
{
    fake.open_error = -ENODEV;
    expect_part(ask(OPEN), "\"code\":\"ENODEV\",\"message\":\"fake: the cable is not in\","
                           "\"fatal\":true");
    fake.open_error = 0;
    make_ready();
}

STARTED_TEST(open__address_that_fails_closes_the_driver)
{
    fake.address_error = -ENOSPC;
    expect_part(ask(OPEN), "ENOSPC");
    assert_int_equal(fake.closed, 1);
}

STARTED_TEST(open__twice)
{
    make_ready();
    expect_part(ask(OPEN), "\"code\":\"EBUSY\"");
    expect_part(ask(RUN), "\"received\":5");
}

STARTED_TEST(connect__failure_breaks_the_session)
{
    expect_part(ask(OPEN), "here/1");
    fake.connect_error = -ECONNREFUSED;
    expect_part(ask("connect peer=there/2"), "\"code\":\"ECONNREFUSED\"");
    expect_part(ask(RUN), "\"fatal\":true");
    assert_int_equal(fake.closed, 0);
    fake.connect_error = 0;
    make_ready(); /* open closes what is broken */
    assert_int_equal(fake.closed, 1);
}

STARTED_TEST(connect__nobody_answers)
{
    expect_part(ask(OPEN), "here/1");
    fake.connect_error = -ECANCELED; /* without anybody having asked for it */
    expect_part(ask("connect peer=there/2"), "\"code\":\"ETIMEDOUT\"");
}

STARTED_TEST(connect__out_of_turn)
{
    expect_part(ask("connect peer=there/2"), "open a session first");
    make_ready();
    expect_part(ask("connect peer=there/2"), "connected already");
    expect_part(ask(RUN), "\"received\":5");
}

STARTED_TEST(run__sizes)
{
    make_ready();
    expect_part(ask("run pattern=pingpong size=1 count=1"), "\"code\":\"EMSGSIZE\"");
    expect_part(ask("run pattern=oneway size=15 count=1"), "its messages have 16 bytes at least");
    expect_part(ask("run pattern=pingpong size=65 count=1"), "messages of 2 to 64 bytes");
    fake.prepare_error = -EMSGSIZE;
    expect_part(ask("run pattern=pingpong size=64 count=1"), "do not fit this link");
    fake.prepare_error = 0;
    expect_part(ask("run pattern=pingpong size=64 count=1"), "\"received\":1");
}

STARTED_TEST(run__malformed)
{
    make_ready();
    expect_part(ask("run size=8 count=1"), "run needs pattern=");
    expect_part(ask("run pattern=dance size=8 count=1"), "pattern must be");
    expect_part(ask("run pattern=stream size=8 count=0"), "count must be");
    expect_part(ask("run pattern=stream size=8 count=1 batch=0"), "batch must be");
    expect_part(ask("run pattern=stream size=8 count=1 deadline_ms=0"), "deadline_ms must be");
    expect_part(ask("run pattern=stream size=8 count=1 probes=moon"), "probes must be of soaker");
    expect_part(ask(RUN), "\"received\":5");
}

STARTED_TEST(run__result)
{
    make_ready();
    const char *text = ask("run pattern=pingpong size=8 count=6 skip=2 batch=3");
    expect_part(text, "{\"event\":\"result\",\"pattern\":\"pingpong\",\"size\":8,\"count\":6,"
                      "\"skip\":2,\"batch\":3,\"sent\":6,\"received\":6,\"lost\":0,"
                      "\"stopped\":false,\"elapsed_ns\":");
    expect_part(text, "\"histogram\":{\"kind\":\"log-linear-7\",\"buckets\":[[");
    expect_part(text, "\"probes\":{\"window_ns\":");
    expect_part(text, "\"user_ns\":");
    expect_part(text, "\"softirq_ns\":");
    assert_null(strstr(text, "taken_ns"));
}

STARTED_TEST(run__responder_is_ready_first)
{
    expect_part(ask("open driver=fake role=responder max_size=64"), "here/1");
    expect_part(ask("connect peer=there/2"), "connected");
    const char *text = ask(RUN);
    assert_ptr_equal(strstr(text, "{\"event\":\"ready\"}\n{\"event\":\"result\""), text);
    expect_part(text, "\"buckets\":[]},\"min_ns\":null,\"max_ns\":null");
}

STARTED_TEST(run__driver_fails)
{
    make_ready();
    fake.receive_error = -ECONNRESET;
    expect_part(ask(RUN), "\"code\":\"ECONNRESET\",\"message\":\"fake: the other end is gone\","
                          "\"fatal\":true");
    expect_part(ask(RUN), "open and connect a session first");
    expect_part(ask("close"), "closed");
    make_ready();
    fake.receive_error = -EOWNERDEAD;
    expect_part(ask(RUN), "\"code\":\"EOWNERDEAD\",\"message\":\"fake: the daemon of this node");
}

STARTED_TEST(run__cut_short_inside_a_message)
{
    make_ready();
    fake.receive_error = -ECANCELED;
    expect_part(ask(RUN), "\"stopped\":true");
    fake.receive_error = 0;
    expect_part(ask(RUN), "\"code\":\"ESTALE\"");
    expect_part(ask("close"), "closed");
    make_ready();
    expect_part(ask(RUN), "\"received\":5");
}

STARTED_TEST(close__without_a_session)
{
    expect_part(ask("close"), "{\"event\":\"closed\"}\n");
    expect_part(ask(RUN), "\"fatal\":true");
}
