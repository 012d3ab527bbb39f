/* SPDX-License-Identifier: BSD-3-Clause */
#include "pvm/table.h"
#include "unit/test.h"

#include <stddef.h>

static void count(struct task *task, void *context)
{
    ++*(int *)context;
}

TEST(table_task__is_the_same_again)
{
    enum { TASKS = 2000 };
    static struct task *found[TASKS];
    struct table table = {0};
    int visited = 0;

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

TEST(table_peer__is_the_same_again)
{
    struct table table = {0};
    struct peer *one = table_peer(&table, 7);
    struct peer *other = table_peer(&table, 7 + (1u << 17));

    assert_ptr_not_equal(one, other);
    assert_ptr_equal(table_peer(&table, 7), one);
    assert_int_equal(one->task, 0);
    table_clear(&table);
}

TEST(task_is_to_be_asked__ever_more_seldom)
{
    struct task task = {0};
    uint64_t now_ns = 1000;
    uint64_t gap_ns = 0;

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

TEST(task_is_to_be_asked__not_once_it_has_an_address)
{
    const enum task_state states[] = {TASK_REACHING, TASK_OPEN, TASK_GONE, TASK_FAILED};

    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        const struct task task = {.state = states[i]};
        assert_false(task_is_to_be_asked(&task, UINT64_MAX));
    }
}
