/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors that beowire.h documents and no test of a source file provokes. */
#include "beowire.h"

#include "namespace.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "endpoints.h"
#include "unit/test.h"

/** Longer than anything here takes: no peer is ever taken for dead. */
static beowire_endpoint *open_patient(const char *interface, const char *lanes,
                                      enum beowire_progress progress)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.interface = interface;
    options.lanes = lanes;
    options.progress = progress;
    options.peer_timeout_ns = 600 * SECOND;
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    return endpoint;
}

TEST(beowire_send__bad_lengths)
{
    beowire_endpoint *a = open_with_lanes("end0", "packet,udp");
    beowire_endpoint *b = open_with_lanes("end1", "packet,udp");
    beowire_peer to = know(a, b);
    const uint64_t too_long = BEOWIRE_MESSAGE_BYTES_MAX + 1;

    assert_int_equal(beowire_send(a, to, 1, 0, NULL, 1, NULL), -EINVAL);
    assert_int_equal(beowire_send_confirmed(a, to, 1, 0, NULL, 1, NULL), -EINVAL);
    assert_int_equal(beowire_send(a, to, 1, 0, "x", too_long, NULL), -EMSGSIZE);
    assert_int_equal(beowire_send_confirmed(a, to, 1, 0, "x", too_long, NULL), -EMSGSIZE);
    assert_int_equal(beowire_send(a, to, 1, 0, "x", UINT64_MAX, NULL), -EMSGSIZE);
    assert_int_equal(beowire_flush(a, 0), 0); /* nothing of it is on its way */
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}

TEST(beowire_receive__from_anyone_outlives_its_peers)
{
    beowire_endpoint *a = open_with_lanes("end0", "packet,udp");
    beowire_endpoint *b = open_with_lanes("end1", "packet,udp");
    struct beowire_completion done;
    char buffers[2] = "";

    assert_int_equal(beowire_receive(a, BEOWIRE_ANY_PEER, 1, 0, &buffers[0], 1, &buffers[0]), 0);
    assert_int_equal(beowire_send(b, know(b, a), 2, 0, NULL, 0, NULL), 0);
    assert_int_equal(beowire_receive(a, BEOWIRE_ANY_PEER, 2, 0, NULL, 0, NULL), 0);
    assert_int_equal(await_both(a, b).status, 0);
    assert_int_equal(await_both(b, a).status, 0);
    assert_int_equal(beowire_receive(a, know(a, b), 1, 0, &buffers[1], 1, &buffers[1]), 0);
    assert_int_equal(beowire_flush(a, PATIENCE_NS), 0); /* acknowledges, so that b can close */
    assert_int_equal(beowire_close(b, PATIENCE_NS), 0);
    done = await_both(a, a);
    assert_int_equal(done.status, -ECONNRESET);
    assert_ptr_equal(done.context, &buffers[1]);
    assert_int_equal(beowire_poll(a, &done, 1), 0);
    /* All that it knew are gone, and it is there for the next. */
    beowire_endpoint *c = open_with_lanes("end1", "packet,udp");
    assert_int_equal(beowire_send(c, know(c, a), 1, 0, "c", 1, NULL), 0);
    done = await_both(a, c);
    assert_int_equal(done.status, 0);
    assert_ptr_equal(done.context, &buffers[0]);
    assert_int_equal(buffers[0], 'c');
    (void)beowire_close(a, 0);
    (void)beowire_close(c, 0);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    signals = signals + 1;
}

/** Signals come until one has found the application asleep, whenever that is. */
TEST(beowire_wait__a_signal_while_it_sleeps)
{
    const enum beowire_progress kinds[] = {BEOWIRE_PROGRESS_CALLS, BEOWIRE_PROGRESS_KEEPER,
                                           BEOWIRE_PROGRESS_THREAD};
    const struct itimerval often = {.it_interval.tv_usec = 20000, .it_value.tv_usec = 20000};
    const struct itimerval never = {{0}, {0}};
    const struct sigaction counted = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    struct sigaction before;

    assert_int_equal(sigaction(SIGALRM, &counted, &before), 0);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        beowire_endpoint *a = open_patient("end0", NULL, kinds[i]);
        signals = 0;
        assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
        assert_int_equal(beowire_wait(a, UINT64_MAX), -EINTR);
        assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
        assert_true(signals > 0);
        assert_int_equal(beowire_wait(a, 1000000), 0); /* and goes on as before */
        assert_int_equal(beowire_close(a, 0), 0);
    }
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

/* ---- no lane works --------------------------------------------------------------------------- */

static int wait_once(beowire_endpoint *endpoint)
{
    return beowire_wait(endpoint, PATIENCE_NS);
}

static int poll_until_it_says_something(beowire_endpoint *endpoint)
{
    uint64_t end_ns = now_ns() + 3 * PATIENCE_NS;
    int status = 0;

    while (status == 0 && now_ns() < end_ns) { /* not every poll asks the lanes */
        struct beowire_completion done;
        for (unsigned i = 0; i < 1000 && status == 0; i++) {
            status = beowire_poll(endpoint, &done, 1);
        }
    }
    return status;
}

static int flush_once(beowire_endpoint *endpoint)
{
    return beowire_flush(endpoint, 3 * PATIENCE_NS);
}

static int arm_once(beowire_endpoint *endpoint)
{
    uint64_t end_ns = now_ns() + PATIENCE_NS;
    int status = -EAGAIN;

    assert_true(beowire_descriptor(endpoint) >= 0);
    while (status == -EAGAIN && now_ns() < end_ns) {
        status = beowire_arm(endpoint);
    }
    return status;
}

static int (*const calls[])(beowire_endpoint *) = {wait_once, poll_until_it_says_something,
                                                   flush_once, arm_once};

#define CALLS (sizeof calls / sizeof *calls)

static void run_ip(const char *command)
{
    assert_int_equal(system(command), 0);
}

/** What was under way arrives now. */
static void assert_goes_on(beowire_endpoint *endpoint, beowire_endpoint *far)
{
    uint64_t end_ns = now_ns() + PATIENCE_NS;
    struct beowire_completion done = {.status = 1};
    int found = 0;

    while (found <= 0) {
        assert_true(now_ns() < end_ns);
        assert_true(found == 0 || found == -ENETDOWN);
        (void)beowire_poll(far, NULL, 0);
        found = beowire_poll(endpoint, &done, 1);
    }
    assert_int_equal(done.status, 0);
    assert_ptr_equal(done.context, endpoint);
    assert_int_equal(beowire_wait(endpoint, 1000), 0);
}

/** Each endpoint is asked by one call only, so none learns it from another's finding. */
TEST(beowire__all_interfaces_are_down)
{
    beowire_endpoint *far = open_with_lanes("end1", "packet,udp");
    beowire_endpoint *endpoints[CALLS];
    int found[CALLS];

    for (unsigned i = 0; i < CALLS; i++) {
        endpoints[i] = open_patient("end0", "packet,udp", BEOWIRE_PROGRESS_CALLS);
        /* There is something to be flushed. */
        assert_int_equal(
            beowire_send(endpoints[i], know(endpoints[i], far), 1, 0, "x", 1, endpoints[i]), 0);
        assert_int_equal(beowire_flush(endpoints[i], 1000000), -ETIMEDOUT);
    }
    run_ip("ip link set end0 down");
    for (unsigned i = 0; i < CALLS; i++) {
        found[i] = calls[i](endpoints[i]);
    }
    run_ip("ip link set end0 up");
    namespace_wait_until_running("end0");
    namespace_wait_until_running("end1");
    for (unsigned i = 0; i < CALLS; i++) {
        assert_int_equal(found[i], -ENETDOWN);
        assert_goes_on(endpoints[i], far);
        (void)beowire_close(endpoints[i], 0);
    }
    assert_int_equal(beowire_close(far, 0), 0);
}

TEST(beowire__with_shared_memory_no_interface_is_needed)
{
    beowire_endpoint *a = open_patient("end0", NULL, BEOWIRE_PROGRESS_CALLS);
    beowire_endpoint *b = open_patient("end0", NULL, BEOWIRE_PROGRESS_CALLS);
    char buffer = 0;

    assert_int_equal(counter(a, "lanes_shm"), 1);
    run_ip("ip link set end0 down");
    assert_int_equal(beowire_wait(a, SECOND / 100), 0); /* sleeps, and looks before */
    assert_int_equal(arm_once(a), 0);
    assert_int_equal(beowire_poll(a, NULL, 0), 0);
    assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, &buffer, 1, NULL), 0);
    assert_int_equal(beowire_send(a, know(a, b), 1, 0, "x", 1, NULL), 0);
    assert_int_equal(await_both(b, a).status, 0);
    assert_int_equal(buffer, 'x');
    assert_int_equal(beowire_flush(b, PATIENCE_NS), 0);
    assert_int_equal(beowire_flush(a, PATIENCE_NS), 0);
    run_ip("ip link set end0 up");
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}
