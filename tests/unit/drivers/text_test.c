/* SPDX-License-Identifier: BSD-3-Clause */
#include "text.h"

#include "../engine/testing.h"

TEST(number__one_after_the_other)
{
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

TEST(number__that_is_none)
{
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
