/* SPDX-License-Identifier: BSD-3-Clause */
/* What is remembered of a peer that may have ended, and what the application is told. */
#include "core/core_internal.h"
#include "peers/peers.h"
#include "unit/test.h"

#include <stdlib.h>

#define NOW_NS UINT64_C(50000000000)

/** A core with one peer, of which nothing is known. */
struct fixture {
    struct core core;
    struct core_peer peer;
    struct core_peer *peers[1];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL) {
        return -1;
    }
    fixture->peer.message.handle = 7;
    fixture->peers[0] = &fixture->peer;
    fixture->core.peers = fixture->peers;
    fixture->core.peer_count = 1;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    free(fixture->peer.doubt);
    free(fixture);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, teardown)

/** The peer stands still since then, as silence.c finds. */
static void stand_still(struct fixture *fixture, uint64_t since_ns)
{
    struct doubt *doubt = core_doubt(&fixture->peer);

    assert_non_null(doubt);
    doubt->stillness = (struct stillness){.since_ns = since_ns, .still = true};
    fixture->core.events++;
}

FIXTURE_TEST(core_take_event__stands_still_and_goes_on)
{
    struct beowire_event event;

    assert_false(core_take_event(&fixture->core, &event, NOW_NS));
    stand_still(fixture, NOW_NS - 3);
    assert_true(core_take_event(&fixture->core, &event, NOW_NS));
    assert_int_equal(event.kind, BEOWIRE_PEER_STANDS_STILL);
    assert_int_equal(event.peer, 7);
    assert_int_equal(event.since_ns, 3);
    assert_false(core_take_event(&fixture->core, &event, NOW_NS));
    core_trust(&fixture->core, &fixture->peer, NOW_NS + 2);
    assert_true(core_take_event(&fixture->core, &event, NOW_NS + 9));
    assert_int_equal(event.kind, BEOWIRE_PEER_GOES_ON);
    assert_int_equal(event.since_ns, 5);
    assert_int_equal(fixture->core.events, 0);
}

/** Hints may come as quickly as they are sent: what is asked next is asked no sooner. */
FIXTURE_TEST(core_trust__the_next_question_is_no_sooner)
{
    struct doubt *doubt = core_doubt(&fixture->peer);

    doubt->suspicion = (struct suspicion){.since_ns = NOW_NS, .ask_at_ns = NOW_NS + 8};
    core_trust(&fixture->core, &fixture->peer, NOW_NS + 1);
    assert_int_equal(doubt->suspicion.since_ns, 0);
    assert_int_equal(doubt->suspicion.ask_at_ns, NOW_NS + 8);
}

FIXTURE_TEST(core_end_doubt__nothing_is_told_of_it)
{
    struct beowire_event event;

    core_end_doubt(&fixture->core, &fixture->peer); /* there never was one */
    stand_still(fixture, NOW_NS);
    core_end_doubt(&fixture->core, &fixture->peer);
    assert_int_equal(fixture->core.events, 0);
    assert_false(core_is_doubted(&fixture->peer));
    assert_false(core_take_event(&fixture->core, &event, NOW_NS));
}
