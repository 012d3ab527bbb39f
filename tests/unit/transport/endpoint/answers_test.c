/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/answers.h"

#include "tuning.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/** The application answers the messages of so many looks at once. */
static uint32_t answer(struct answers *answers, uint32_t look, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        answers_asked(answers, ++look);
        answers_sent(answers, look);
    }
    return look;
}

static void answers_likely__after_so_many_in_a_row(void **state)
{
    struct answers answers = {0};

    (void)state;
    assert_false(answers_likely(&answers));
    uint32_t look = answer(&answers, 0, ANSWERS_MIN - 1);
    assert_false(answers_likely(&answers));
    look = answer(&answers, look, 1);
    assert_true(answers_likely(&answers));
    (void)answer(&answers, look, 1000);
    assert_true(answers_likely(&answers));
}

static void answers_likely__not_after_a_late_one(void **state)
{
    struct answers answers = {0};

    (void)state;
    uint32_t look = answer(&answers, UINT32_MAX - 3, ANSWERS_MIN);
    answers_asked(&answers, ++look);
    answers_sent(&answers, ++look);
    assert_false(answers_likely(&answers));
    (void)answer(&answers, look, ANSWERS_MIN - 1);
    assert_false(answers_likely(&answers));
}

static void answers_likely__not_after_none(void **state)
{
    struct answers answers = {0};

    (void)state;
    uint32_t look = answer(&answers, 0, ANSWERS_MIN);
    answers_asked(&answers, ++look);
    assert_true(answers_likely(&answers));
    answers_asked(&answers, ++look);
    assert_false(answers_likely(&answers));
}

/** Two that one look finds need one answer; what is sent unasked is none. */
static void answers_likely__of_several_at_once(void **state)
{
    struct answers answers = {0};

    (void)state;
    for (uint32_t look = 1; look <= ANSWERS_MIN; look++) {
        answers_asked(&answers, look);
        answers_asked(&answers, look);
        assert_false(answers_likely(&answers));
        answers_sent(&answers, look);
        answers_sent(&answers, look);
    }
    assert_true(answers_likely(&answers));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_likely__after_so_many_in_a_row),
        cmocka_unit_test(answers_likely__not_after_a_late_one),
        cmocka_unit_test(answers_likely__not_after_none),
        cmocka_unit_test(answers_likely__of_several_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
