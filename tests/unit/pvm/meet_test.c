/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks, for which there is memory or not. All but the tables is made up. */
#include "pvm/meet.h"
#include "unit/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MARK_BYTES (8 + BEOWIRE_ADDRESS_BYTES)
#define TASK 0x40001
#define PEER 7

/* ---- what is made up ------------------------------------------------------------------------ */

static unsigned allocations; /* that succeed; then there is no memory */
static int added;            /* what beowire_peer_add() returns */
static unsigned freed;       /* messages */

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_calloc(size_t count, size_t bytes)
{
    if (allocations == 0) {
        return NULL;
    }
    allocations--;
    return __real_calloc(count, bytes);
}

int beowire_peer_add(beowire_endpoint *endpoint, const struct beowire_address *address,
                     beowire_peer *peer)
{
    *peer = address->bytes[0];
    return added;
}

int beowire_peer_forget(beowire_endpoint *endpoint, beowire_peer peer)
{
    return 0;
}

int beowire_peer_was_heard(const beowire_endpoint *endpoint, beowire_peer peer)
{
    return 0;
}

void beowire_address(const beowire_endpoint *endpoint, struct beowire_address *address)
{
    *address = (struct beowire_address){.bytes = {0}};
}

uint64_t port_now_ns(void)
{
    return 0;
}

bool port_until(struct port *port, port_condition *condition, void *context, uint64_t patience_ns)
{
    return condition(port, context);
}

int port_stock(struct port *port, int id, int number, int tag)
{
    return 0;
}

void port_hello(struct port *port, uint32_t peer)
{
}

void port_drop_mark(struct port *port)
{
    struct stock_message *mark = port->marks;

    port->marks = mark->next;
    free(mark);
    freed++;
}

int64_t stock_bytes(const struct stock_message *message)
{
    return message->bytes;
}

/* A mark by TASK, at PEER. */
void stock_gather(const struct stock_message *message, char *to)
{
    memset(to, 0, MARK_BYTES);
    to[0] = (char)message->tag; /* its number */
    to[4] = 3;                  /* data format */
    to[8] = PEER;
}

static void receive_mark(struct port *port, int number)
{
    struct stock_message *message = __real_calloc(1, sizeof *message);

    assert_non_null(message);
    message->bytes = MARK_BYTES;
    message->source = TASK;
    message->tag = number;
    meet_marked(port, message);
}

static int begin(void **state)
{
    allocations = 100;
    added = 0;
    freed = 0;
    return 0;
}

static void assert_marked(struct port *port, uint32_t mark)
{
    const struct peer *peer = table_peer(&port->table, PEER);
    const struct task *task = table_task(&port->table, TASK);

    assert_int_equal(peer->source.mark, mark);
    assert_int_equal(peer->task, TASK);
    assert_int_equal(peer->format, 3);
    assert_int_equal(task->state, TASK_REACHING);
    assert_int_equal(task->peer, PEER);
    assert_null(port->marks);
}

/* ---- tests ---------------------------------------------------------------------------------- */

TEST_AROUND(meet_marked__names_the_peer, begin, NULL)
{
    struct port port = {0};

    receive_mark(&port, 1);
    assert_marked(&port, 1);
    assert_int_equal(freed, 1);
    table_clear(&port.table);
}

TEST_AROUND(meet_marked__no_memory_for_the_task_or_the_peer, begin, NULL)
{
    for (unsigned there = 0; there < 2; there++) {
        struct port port = {0};
        begin(NULL);
        allocations = there;
        receive_mark(&port, 1);
        receive_mark(&port, 2);
        meet_again(&port);
        assert_int_equal(freed, 0);
        assert_non_null(port.marks);
        allocations = 100;
        meet_again(&port);
        assert_marked(&port, 2);
        assert_int_equal(freed, 2);
        table_clear(&port.table);
    }
}

TEST_AROUND(meet_marked__a_later_mark_brings_the_kept_one, begin, NULL)
{
    struct port port = {0};

    added = -ENOMEM;
    receive_mark(&port, 1);
    assert_non_null(port.marks);
    added = 0;
    receive_mark(&port, 2);
    assert_marked(&port, 2);
    assert_int_equal(freed, 2);
    table_clear(&port.table);
}

TEST_AROUND(meet_marked__what_names_nobody_is_not_kept, begin, NULL)
{
    static const int reasons[] = {-EINVAL, -EHOSTUNREACH, -ENOSPC};
    struct port port = {0};

    for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        added = reasons[i];
        receive_mark(&port, 1);
        assert_null(port.marks);
        assert_int_equal(freed, i + 1);
    }
    table_clear(&port.table);
}
