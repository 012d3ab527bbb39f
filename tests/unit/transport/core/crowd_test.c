/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/crowd.h"

#include "tuning.h"
#include "unit/test.h"

#include <stddef.h>

#define MILLISECOND UINT64_C(1000000)
#define BEGIN_NS (1000 * MILLISECOND)

/** Looks at polls in a row, so far apart, from a time on, until there is other advice than to poll.
 *
 * @return the time of that; 0: none in so many looks */
static uint64_t look_on(struct crowd *crowd, uint64_t from_ns, uint64_t apart_ns, unsigned looks,
                        enum crowd_advice *advice)
{
    unsigned idle_polls = 1;
    uint64_t now_ns = from_ns;

    for (unsigned i = 0; i < looks; i++) {
        *advice = crowd_look(crowd, now_ns, idle_polls);
        if (*advice != CROWD_POLL) {
            return now_ns;
        }
        idle_polls += POLLS_PER_CROWDED_LOOK;
        now_ns += POLLS_PER_CROWDED_LOOK * apart_ns;
    }
    return 0;
}

static struct crowd crowded(void)
{
    struct crowd crowd = {0};

    crowd_noticed(&crowd, BEGIN_NS);
    return crowd;
}

TEST(crowd_look__yields_when_nothing_has_come_for_a_while)
{
    struct crowd crowd = crowded();
    enum crowd_advice advice = CROWD_POLL;

    assert_true(crowd_is_there(&crowd));
    uint64_t at_ns = look_on(&crowd, BEGIN_NS, 200, 100, &advice);
    assert_int_equal(advice, CROWD_YIELD);
    assert_in_range(at_ns, BEGIN_NS + POLL_YIELD_AFTER_NS,
                    BEGIN_NS + POLL_YIELD_AFTER_NS + POLLS_PER_CROWDED_LOOK * 200);
}

TEST(crowd_look__forgets)
{
    struct crowd crowd = crowded();

    assert_int_equal(crowd_look(&crowd, BEGIN_NS + POLL_CROWDED_NS - 1, 1), CROWD_POLL);
    assert_true(crowd_is_there(&crowd));
    assert_int_equal(crowd_look(&crowd, BEGIN_NS + POLL_CROWDED_NS, 5), CROWD_POLL);
    assert_false(crowd_is_there(&crowd));
}

TEST(crowd_yielded__others_ran)
{
    struct crowd crowd = crowded();

    uint64_t late_ns = BEGIN_NS + POLL_CROWDED_NS / 2;
    /* Only what took long enough is worth a question, and only when it is time. */
    assert_false(crowd_yielded(&crowd, late_ns, late_ns + YIELD_TAKEN_NS - 1));
    assert_false(crowd_yielded(&crowd, BEGIN_NS, BEGIN_NS + YIELD_TAKEN_NS));
    assert_true(crowd_yielded(&crowd, late_ns, late_ns + YIELD_TAKEN_NS));
    assert_int_equal(crowd.until_ns, BEGIN_NS + POLL_CROWDED_NS); /* as before */
    assert_int_equal(crowd.yield_again_ns, 0);
}

/** @return how long nobody yields after such a time. */
static uint64_t pause_after(struct crowd *crowd, uint64_t away_ns)
{
    assert_false(crowd_yielded(crowd, BEGIN_NS, BEGIN_NS + away_ns));
    return crowd->yield_again_ns - (BEGIN_NS + away_ns);
}

TEST(crowd_yielded__the_core_was_away_too_long)
{
    struct crowd crowd = crowded();

    assert_int_equal(pause_after(&crowd, YIELD_LONG_NS), YIELD_PAUSE_MIN_NS);
    assert_int_equal(pause_after(&crowd, 4 * MILLISECOND), 2 * YIELD_PAUSE_MIN_NS);
    assert_int_equal(pause_after(&crowd, 4 * MILLISECOND), 4 * YIELD_PAUSE_MIN_NS);
    for (unsigned i = 0; i < 20; i++) {
        assert_true(pause_after(&crowd, 4 * MILLISECOND) <= YIELD_PAUSE_MAX_NS);
    }
    assert_int_equal(pause_after(&crowd, 4 * MILLISECOND), YIELD_PAUSE_MAX_NS);
    /* Among those that yield it is short again, but not for one that did. */
    for (unsigned i = 1; i < YIELD_SHORT_MIN; i++) {
        (void)crowd_yielded(&crowd, BEGIN_NS, BEGIN_NS + YIELD_TAKEN_NS);
    }
    assert_int_equal(pause_after(&crowd, YIELD_LONG_NS), YIELD_PAUSE_MAX_NS);
    for (unsigned i = 0; i < YIELD_SHORT_MIN; i++) {
        (void)crowd_yielded(&crowd, BEGIN_NS, BEGIN_NS + YIELD_TAKEN_NS);
    }
    assert_int_equal(pause_after(&crowd, YIELD_LONG_NS), YIELD_PAUSE_MIN_NS);
}

TEST(crowd_look__during_a_pause)
{
    struct crowd crowd = crowded();
    enum crowd_advice advice = CROWD_POLL;

    (void)crowd_yielded(&crowd, BEGIN_NS, BEGIN_NS + YIELD_LONG_NS);
    uint64_t back_ns = BEGIN_NS + YIELD_LONG_NS;
    /* Quick ones spin, up to the end of the pause, slow ones sleep. */
    uint64_t at_ns = look_on(&crowd, back_ns, POLL_FAR_APART_NS - 1, 10000, &advice);
    assert_int_equal(advice, CROWD_YIELD);
    assert_true(at_ns >= back_ns + YIELD_PAUSE_MIN_NS);
    (void)crowd_yielded(&crowd, at_ns, at_ns + YIELD_LONG_NS);
    back_ns = at_ns + YIELD_LONG_NS;
    at_ns = look_on(&crowd, back_ns, POLL_FAR_APART_NS, 10000, &advice);
    assert_int_equal(advice, CROWD_SLEEP);
    assert_in_range(at_ns, back_ns + POLL_FAR_SLEEP_AFTER_NS,
                    back_ns + POLL_FAR_SLEEP_AFTER_NS + POLLS_PER_CROWDED_LOOK * POLL_FAR_APART_NS);
}

TEST(crowd_look__lets_a_program_work_between_polls)
{
    struct crowd crowd = crowded();
    enum crowd_advice advice = CROWD_POLL;

    crowd.yield_again_ns = UINT64_MAX;
    assert_int_equal(look_on(&crowd, BEGIN_NS, POLL_WORK_APART_NS, 100, &advice), 0);
    /* Its work is no time in which it waited. */
    for (unsigned idle_polls = 1; idle_polls < 100; idle_polls += 2 * POLLS_PER_CROWDED_LOOK) {
        uint64_t now_ns = BEGIN_NS + idle_polls * (uint64_t)POLL_WORK_APART_NS;
        assert_int_equal(crowd_look(&crowd, now_ns, idle_polls), CROWD_POLL);
        now_ns += POLLS_PER_CROWDED_LOOK * POLL_FAR_APART_NS;
        assert_int_equal(crowd_look(&crowd, now_ns, idle_polls + POLLS_PER_CROWDED_LOOK),
                         CROWD_POLL);
    }
}

TEST(crowd_slept__begins_anew)
{
    struct crowd crowd = crowded();
    uint64_t back_ns = BEGIN_NS + MILLISECOND;

    crowd.yield_again_ns = UINT64_MAX;
    (void)crowd_look(&crowd, BEGIN_NS, 1);
    crowd_slept(&crowd, back_ns);
    unsigned polls = 1 + POLLS_PER_CROWDED_LOOK;
    assert_int_equal(crowd_look(&crowd, back_ns + POLL_FAR_SLEEP_AFTER_NS - 1, polls), CROWD_POLL);
    polls += POLLS_PER_CROWDED_LOOK;
    assert_int_equal(crowd_look(&crowd, back_ns + 2 * POLL_FAR_SLEEP_AFTER_NS, polls), CROWD_SLEEP);
}
