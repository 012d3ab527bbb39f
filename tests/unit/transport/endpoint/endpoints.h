/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoints.h - for tests that use whole endpoints, by the public interface, over the lanes of a
 * network namespace of the test's own. Include it after <cmocka.h>.
 */
#ifndef BEOWIRE_TESTS_ENDPOINTS_H
#define BEOWIRE_TESTS_ENDPOINTS_H

#include "beowire.h"
#include "unit/test.h"

#include <string.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)
#define PATIENCE_NS (20 * SECOND)

static inline uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/** An endpoint that makes progress in calls only: the tests say who moves. */
static inline beowire_endpoint *open_with_lanes(const char *interface, const char *lanes)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.interface = interface;
    options.lanes = lanes;
    options.progress = BEOWIRE_PROGRESS_CALLS;
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    return endpoint;
}

/** NULL: all lanes. */
static inline beowire_endpoint *open_over(const char *lanes, const char *interface,
                                          enum beowire_progress progress, uint64_t peer_timeout_ns)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.lanes = lanes;
    options.interface = interface;
    options.progress = progress;
    options.peer_timeout_ns = peer_timeout_ns;
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    return endpoint;
}

static inline beowire_peer know(beowire_endpoint *endpoint, const beowire_endpoint *other)
{
    struct beowire_address address;
    beowire_peer peer = BEOWIRE_ANY_PEER;

    beowire_address(other, &address);
    assert_int_equal(beowire_peer_add(endpoint, &address, &peer), 0);
    return peer;
}

/** Polls both until `endpoint` has a completion. */
static inline struct beowire_completion await_both(beowire_endpoint *endpoint,
                                                   beowire_endpoint *other)
{
    struct beowire_completion done = {0};
    uint64_t end_ns = now_ns() + PATIENCE_NS;

    while (beowire_poll(endpoint, &done, 1) == 0) {
        assert_true(now_ns() < end_ns);
        (void)beowire_poll(other, NULL, 0);
    }
    return done;
}

static inline uint64_t counter(const beowire_endpoint *endpoint, const char *wanted)
{
    const char *name = NULL;
    uint64_t value = 0;

    for (unsigned i = 0; beowire_counter(endpoint, i, &name, &value) == 0; i++) {
        if (strcmp(name, wanted) == 0) {
            return value;
        }
    }
    fail_msg("there is no counter %s", wanted);
    return 0;
}

#endif /* BEOWIRE_TESTS_ENDPOINTS_H */
