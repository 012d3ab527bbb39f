/* SPDX-License-Identifier: BSD-3-Clause */
#include "pvm/many.h"
#include "unit/test.h"

#include <stddef.h>

#define OWN 7

/* Tasks that were sent to, and one more that fails. */
struct sent {
    int tasks[8];
    int count;
    int failing;
};

/* Odd tasks have the stock library. */
static int send_one(void *context, int task)
{
    struct sent *sent = context;

    sent->tasks[sent->count++] = task;
    return task == sent->failing || task == 100 ? -task : task % 2 == 1 ? MANY_STOCK : 0;
}

TEST(many_sort__each_once_and_not_the_sender)
{
    int tasks[] = {9, OWN, 3, 9, 3, OWN, 3};

    assert_int_equal(many_sort(tasks, 7, OWN), 2);
    assert_int_equal(tasks[0], 3);
    assert_int_equal(tasks[1], 9);
    assert_int_equal(many_sort(tasks, 2, 3), 1);
    assert_int_equal(tasks[0], 9);
    assert_int_equal(many_sort(tasks, 1, 9), 0);
    assert_int_equal(many_sort(tasks, 0, 9), 0);
}

TEST(many_send__leaves_those_of_the_stock_library)
{
    int tasks[] = {1, 2, 3, 4};
    struct sent sent = {.failing = 0};
    int error = 0;

    assert_int_equal(many_send(tasks, 4, send_one, &sent, &error), 2);
    assert_int_equal(error, 0);
    assert_int_equal(sent.count, 4);
    assert_int_equal(tasks[0], 1);
    assert_int_equal(tasks[1], 3);
}

TEST(many_send__one_fails_and_all_others_are_sent_to)
{
    int tasks[] = {1, 2, 3, 4, 5, 100};
    struct sent sent = {.failing = 2};
    int error = 0;

    assert_int_equal(many_send(tasks, 6, send_one, &sent, &error), 3);
    assert_int_equal(error, -2); /* the first one */
    assert_int_equal(sent.count, 6);
    assert_int_equal(sent.tasks[5], 100);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tasks[i], 2 * i + 1);
    }
}
