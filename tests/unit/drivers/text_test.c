/* SPDX-License-Identifier: BSD-3-Clause */
#include "text.h"

#include "../engine/testing.h"

static void number__one_after_the_other(void **state)
{
    (void)state;
    const char *text = "12/ff@18446744073709551615";
    uint64_t value = 0;
    assert_true(text_number(&text, 10, '/', 12, &value));
    assert_int_equal(value, 12);
    assert_true(text_number(&text, 16, '@', 255, &value));
    assert_int_equal(value, 255);
    assert_true(text_number(&text, 10, '\0', UINT64_MAX, &value));
    assert_true(value == UINT64_MAX);
    assert_int_equal(*text, '\0');
}

static void number__that_is_none(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {"",  "/",   "-1/",  "+1/", " 1/",
                                        "1", "1x/", "101/", "a/",  "99999999999999999999/"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        const char *text = TEXTS[i];
        uint64_t value = 7;
        assert_false(text_number(&text, 10, '/', 100, &value));
        assert_int_equal(value, 7);
        assert_ptr_equal(text, TEXTS[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number__one_after_the_other),
        cmocka_unit_test(number__that_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
