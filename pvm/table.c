/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <stdlib.h>
#include <string.h>

/* Intervals of look-ups, each of which takes about 0.1 ms at the master's daemon. They grow, so a
 * task without an address costs little, and start short, because a new task has its address soon.
 */
#define GAP_MIN_NS UINT64_C(2000000)
#define GAP_MAX_NS UINT64_C(2000000000)

static size_t chain_of(uint32_t number)
{
    return (number * UINT32_C(2654435761)) >> 24;
}

struct task *table_task(struct table *table, int number)
{
    struct task **chain = &table->tasks[chain_of((uint32_t)number)];
    struct task *task = *chain;

    while (task != NULL && task->number != number) {
        task = task->next;
    }
    if (task != NULL) {
        return task;
    }
    task = calloc(1, sizeof *task);
    if (task != NULL) {
        task->number = number;
        task->next = *chain;
        *chain = task;
    }
    return task;
}

struct peer *table_peer(struct table *table, uint32_t number)
{
    struct peer **chain = &table->peers[chain_of(number)];
    struct peer *peer = *chain;

    while (peer != NULL && peer->number != number) {
        peer = peer->next;
    }
    if (peer != NULL) {
        return peer;
    }
    peer = calloc(1, sizeof *peer);
    if (peer != NULL) {
        peer->number = number;
        peer->next = *chain;
        *chain = peer;
    }
    return peer;
}

void task_is_stock(struct task *task, uint64_t now_ns)
{
    task->gap_ns = task->state == TASK_STOCK ? task->gap_ns * 2 : GAP_MIN_NS;
    task->gap_ns = task->gap_ns < GAP_MAX_NS ? task->gap_ns : GAP_MAX_NS;
    task->ask_ns = now_ns + task->gap_ns;
    task->state = TASK_STOCK;
}

bool task_is_to_be_asked(const struct task *task, uint64_t now_ns)
{
    return task->state == TASK_UNKNOWN || (task->state == TASK_STOCK && now_ns >= task->ask_ns);
}

void table_each(struct table *table, void (*visit)(struct task *task, void *context), void *context)
{
    for (size_t i = 0; i < TABLE_CHAINS; i++) {
        for (struct task *task = table->tasks[i]; task != NULL; task = task->next) {
            visit(task, context);
        }
    }
}

void table_clear(struct table *table)
{
    for (size_t i = 0; i < TABLE_CHAINS; i++) {
        for (struct task *task = table->tasks[i]; task != NULL;) {
            struct task *next = task->next;
            free(task);
            task = next;
        }
        for (struct peer *peer = table->peers[i]; peer != NULL;) {
            struct peer *next = peer->next;
            free(peer);
            peer = next;
        }
    }
    memset(table, 0, sizeof *table);
}
