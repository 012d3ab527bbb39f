/* SPDX-License-Identifier: BSD-3-Clause */
/* What beowire.h promises of BEOWIRE_OPERATIONS_ANY: two ends may each begin any number of sends
 * before either receives, and any number of receives before either sends. */
#include "beowire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "endpoints.h"
#include "unit/test.h"

/** More than have names, and than the other end takes in before it receives. */
#define MESSAGES 40000u

static beowire_endpoint *open_endpoint(const char *interface)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.interface = interface;
    options.operations = BEOWIRE_OPERATIONS_ANY;
    options.progress = BEOWIRE_PROGRESS_CALLS;
    options.lanes = "packet,udp";
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    return endpoint;
}

/** Their data is their number. */
static void send_all(beowire_endpoint *endpoint, beowire_peer to, const uint32_t *numbers)
{
    for (uint32_t i = 0; i < MESSAGES; i++) {
        assert_int_equal(beowire_send(endpoint, to, 1, i, &numbers[i], sizeof numbers[i], NULL), 0);
    }
}

static void receive_all(beowire_endpoint *endpoint, uint32_t *got)
{
    for (uint32_t i = 0; i < MESSAGES; i++) {
        assert_int_equal(
            beowire_receive(endpoint, BEOWIRE_ANY_PEER, 1, 0, &got[i], sizeof got[i], &got[i]), 0);
    }
}

static void take_all(beowire_endpoint *const ends[2], uint32_t *const got[2])
{
    struct beowire_completion done;
    uint32_t left = 4 * MESSAGES; /* sends and receives of both */
    uint64_t end_ns = now_ns() + PATIENCE_NS;

    while (left > 0) {
        for (unsigned i = 0; i < 2; i++) {
            while (beowire_poll(ends[i], &done, 1) == 1) {
                assert_int_equal(done.status, 0);
                left--;
            }
        }
        assert_true(now_ns() < end_ns);
    }
    for (uint32_t i = 0; i < MESSAGES; i++) {
        assert_int_equal(got[0][i], i);
        assert_int_equal(got[1][i], i);
    }
}

static void exchange(bool receive_first)
{
    beowire_endpoint *ends[2] = {open_endpoint("end0"), open_endpoint("end1")};
    uint32_t *numbers = malloc(MESSAGES * sizeof *numbers);
    uint32_t *got[2] = {calloc(MESSAGES, sizeof **got), calloc(MESSAGES, sizeof **got)};

    assert_true(numbers != NULL && got[0] != NULL && got[1] != NULL);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        numbers[i] = i;
    }
    for (unsigned i = 0; i < 2 && receive_first; i++) {
        receive_all(ends[i], got[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        send_all(ends[i], know(ends[i], ends[1 - i]), numbers);
    }
    for (unsigned i = 0; i < 2 && !receive_first; i++) {
        receive_all(ends[i], got[i]);
    }
    take_all(ends, got);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(beowire_close(ends[i], 0), 0);
        free(got[i]);
    }
    free(numbers);
}

TEST(beowire_send__any_number_before_either_receives)
{
    exchange(false);
}

TEST(beowire_receive__any_number_before_either_sends)
{
    exchange(true);
}
