/* SPDX-License-Identifier: BSD-3-Clause */
#include "pvm/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void count(struct task *task, void *context)
{
    (void)task;
    ++*(int *)context;
}

static void table_task__is_the_same_again(void **state)
{
    enum { TASKS = 2000 };
    static struct task *found[TASKS];
    struct table table = {0};
    int visited = 0;

    (void)state;
    for (int i = 0; i < TASKS; i++) {
        found[i] = table_task(&table, 0x40000 + i);
        assert_non_null(found[i]);
        assert_int_equal(found[i]->number, 0x40000 + i);
        assert_int_equal(found[i]->state, TASK_UNKNOWN);
    }
    for (int i = 0; i < TASKS; i++) {
        assert_ptr_equal(table_task(&table, 0x40000 + i), found[i]);
    }
    table_each(&table, count, &visited);
    assert_int_equal(visited, TASKS);
    table_clear(&table);
    visited = 0;
    table_each(&table, count, &visited);
    assert_int_equal(visited, 0);
}

static void table_peer__is_the_same_again(void **state)
{
    struct table table = {0};
    struct peer *one = table_peer(&table, 7);
    struct peer *other = table_peer(&table, 7 + (1u << 17));

    (void)state;
    assert_ptr_not_equal(one, other);
    assert_ptr_equal(table_peer(&table, 7), one);
    assert_int_equal(one->task, 0);
    table_clear(&table);
}

static void task_is_to_be_asked__ever_more_seldom(void **state)
{
    struct task task = {0};
    uint64_t now_ns = 1000;
    uint64_t gap_ns = 0;

    (void)state;
    assert_true(task_is_to_be_asked(&task, now_ns));
    for (int i = 0; i < 20; i++) {
        task_is_stock(&task, now_ns);
        assert_int_equal(task.state, TASK_STOCK);
        assert_false(task_is_to_be_asked(&task, now_ns));
        assert_true(task.ask_ns - now_ns >= gap_ns);
        gap_ns = task.ask_ns - now_ns;
        assert_false(task_is_to_be_asked(&task, task.ask_ns - 1));
        now_ns = task.ask_ns;
        assert_true(task_is_to_be_asked(&task, now_ns));
    }
    assert_int_equal(gap_ns, 2000000000);
}

static void task_is_to_be_asked__not_once_it_has_an_address(void **state)
{
    const enum task_state states[] = {TASK_REACHING, TASK_OPEN, TASK_GONE, TASK_FAILED};

    (void)state;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        const struct task task = {.state = states[i]};
        assert_false(task_is_to_be_asked(&task, UINT64_MAX));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_task__is_the_same_again),
        cmocka_unit_test(table_peer__is_the_same_again),
        cmocka_unit_test(task_is_to_be_asked__ever_more_seldom),
        cmocka_unit_test(task_is_to_be_asked__not_once_it_has_an_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
