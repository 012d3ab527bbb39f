/* SPDX-License-Identifier: BSD-3-Clause */
#include "pvm/order.h"
#include "unit/test.h"

#include <stddef.h>

TEST(arrivals_take__is_in_order_of_arrival)
{
    struct arrivals arrivals = {0};
    struct source source = {0};
    struct arrival all[3] = {{0}};

    for (int i = 0; i < 3; i++) {
        all[i] = (struct arrival){.source = &source, .complete = true};
        arrivals_add(&arrivals, &all[i]);
    }
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(arrivals_take(&arrivals), &all[i]);
    }
    assert_null(arrivals_take(&arrivals));
    arrivals_add(&arrivals, &all[0]);
    assert_ptr_equal(arrivals_take(&arrivals), &all[0]);
}

TEST(arrivals_take__a_long_one_holds_back_its_own_source_alone)
{
    struct arrivals arrivals = {0};
    struct source slow = {0};
    struct source quick = {0};
    struct arrival part = {.source = &slow};
    struct arrival behind = {.source = &slow, .complete = true};
    struct arrival other = {.source = &quick, .complete = true};

    arrivals_add(&arrivals, &part);
    arrivals_add(&arrivals, &behind);
    arrivals_add(&arrivals, &other);
    assert_ptr_equal(arrivals_take(&arrivals), &other);
    assert_null(arrivals_take(&arrivals));
    part.complete = true;
    assert_ptr_equal(arrivals_take(&arrivals), &part);
    assert_ptr_equal(arrivals_take(&arrivals), &behind);
    assert_null(arrivals_take(&arrivals));
}

TEST(arrivals_take__waits_for_the_mark_that_was_sent_before)
{
    struct arrivals arrivals = {0};
    struct source source = {0};
    struct arrival first = {.source = &source, .mark = 1, .complete = true};
    struct arrival second = {.source = &source, .mark = 2, .complete = true};

    arrivals_add(&arrivals, &first);
    arrivals_add(&arrivals, &second);
    assert_null(arrivals_take(&arrivals));
    source.mark = 1;
    assert_ptr_equal(arrivals_take(&arrivals), &first);
    assert_null(arrivals_take(&arrivals));
    source.mark = 2;
    assert_ptr_equal(arrivals_take(&arrivals), &second);
}

TEST(arrivals_drop__takes_all)
{
    struct arrivals arrivals = {0};
    struct source source = {0};
    struct arrival part = {.source = &source};
    struct arrival whole = {.source = &source, .complete = true};

    arrivals_add(&arrivals, &part);
    arrivals_add(&arrivals, &whole);
    assert_ptr_equal(arrivals_drop(&arrivals), &part);
    assert_ptr_equal(arrivals_drop(&arrivals), &whole);
    assert_null(arrivals_drop(&arrivals));
}
