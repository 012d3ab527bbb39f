/* SPDX-License-Identifier: BSD-3-Clause */
#include "meet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <pvm3.h>

#define MARK_TAG 1
#define MARK_BYTES (8 + BEOWIRE_ADDRESS_BYTES)

/* Largest number of a mark (24 bits of a message); after it, a task keeps to the stock way. */
#define MARKS_MAX 0xffffffu

/* The mailbox of a task; the 1 is the version of its contents, and of this protocol. */
#define BOX_BYTES 32
static void name_box(int number, char name[BOX_BYTES])
{
    (void)snprintf(name, BOX_BYTES, "beowire.1.t%x", (unsigned)number);
}

static void put_number(unsigned char *to, uint32_t number)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (unsigned char)(number >> (8 * i));
    }
}

static uint32_t get_number(const unsigned char *from)
{
    uint32_t number = 0;

    for (int i = 0; i < 4; i++) {
        number |= (uint32_t)from[i] << (8 * i);
    }
    return number;
}

/* A message with these bytes in it. @return its number, or an error of PVM's */
static int wrap(const struct stock *stock, void *data, int bytes)
{
    const int id = stock->buffer_new(PvmDataRaw);

    if (id < 0) {
        return id;
    }
    const int before = stock->send_buffer(id);
    const int status = stock->pack(data, bytes, 1);
    (void)stock->send_buffer(before);
    if (status < 0) {
        (void)stock->buffer_free(id);
        return status;
    }
    return id;
}

int meet_offer(struct port *port)
{
    struct beowire_address address;
    char name[BOX_BYTES];

    beowire_address(port->endpoint, &address);
    name_box(*port->stock->own_task, name);
    const int id = wrap(port->stock, address.bytes, BEOWIRE_ADDRESS_BYTES);
    if (id < 0) {
        return id;
    }
    const int status = port->stock->put(name, id, PvmMboxDefault);
    (void)port->stock->buffer_free(id);
    return status < 0 ? status : 0;
}

static void forget(struct task *task, void *endpoint)
{
    if (task->state >= TASK_REACHING) {
        (void)beowire_peer_forget(endpoint, task->peer);
    }
}

/* Adds a peer. When there is no room, peers that have ended are removed; the others keep their
 * numbers. */
static int add_peer(struct port *port, const struct beowire_address *address, beowire_peer *peer)
{
    const int status = beowire_peer_add(port->endpoint, address, peer);

    if (status != -ENOSPC) {
        return status;
    }
    table_each(&port->table, forget, port->endpoint);
    return beowire_peer_add(port->endpoint, address, peer);
}

/* Makes the endpoint with this address the task's. @return false: impossible */
static bool name_peer(struct port *port, struct task *task, const struct beowire_address *address)
{
    beowire_peer peer;

    if (add_peer(port, address, &peer) != 0) {
        return false;
    }
    task->peer = peer;
    task->waited = false;
    task->state = TASK_REACHING;
    return true;
}

/* Asks the virtual machine for a task's address. */
static void ask(struct port *port, struct task *task)
{
    struct beowire_address address;
    char name[BOX_BYTES];
    const int before = port->stock->receive_buffer(0);

    name_box(task->number, name);
    const int id = port->stock->look_up(name, 0, PvmMboxDefault);
    const bool there = id > 0 && port->stock->unpack((char *)address.bytes, sizeof address, 1) == 0;
    if (id > 0) {
        (void)port->stock->buffer_free(id);
    }
    const int answer = port->stock->receive_buffer(before); /* that there is none */
    if (answer > 0) {
        (void)port->stock->buffer_free(answer);
    }
    /* Meanwhile its mark may have come. */
    if (!task_is_to_be_asked(task, UINT64_MAX)) {
        return;
    }
    if (there && name_peer(port, task, &address)) {
        port_hello(port, task->peer);
        return;
    }
    task_is_stock(task, port_now_ns());
}

/* Sends a mark: later messages of this task come over Beowire. */
static bool mark(struct port *port, struct task *task)
{
    const struct stock *stock = port->stock;
    struct beowire_address address;
    unsigned char data[MARK_BYTES];
    const int option = *stock->route_option;

    if (task->mark >= MARKS_MAX) {
        return false;
    }
    beowire_address(port->endpoint, &address);
    put_number(data, task->mark + 1);
    put_number(data + 4, (uint32_t)*stock->format);
    memcpy(data + 8, address.bytes, sizeof address.bytes);
    const int id = wrap(stock, data, MARK_BYTES);
    if (id < 0) {
        return false;
    }
    stock->message(id)->context = MEET_CONTEXT;
    *stock->route_option = PvmAllowDirect; /* no direct route only for this */
    const int status = port_stock(port, id, task->number, MARK_TAG);
    *stock->route_option = option;
    (void)stock->buffer_free(id);
    if (status < 0) {
        return false;
    }
    task->mark++;
    task->state = TASK_OPEN;
    return true;
}

static bool was_heard(struct port *port, void *context)
{
    return beowire_peer_was_heard(port->endpoint, ((const struct task *)context)->peer) == 1;
}

bool meet_reach(struct port *port, struct task *task)
{
    if (task_is_to_be_asked(task, port_now_ns())) {
        ask(port, task);
    }
    if (task->state == TASK_REACHING) {
        bool heard = was_heard(port, task);
        if (!heard && !task->waited) {
            task->waited = true;
            heard = port_until(port, was_heard, task, MEET_PATIENCE_NS);
        }
        if (heard && task->state == TASK_REACHING) {
            (void)mark(port, task);
        }
    }
    return task->state == TASK_OPEN;
}

/* Handles a mark, valid or not. @return 0, or -ENOMEM: nothing was done. */
static int take_mark(struct port *port, const struct stock_message *message)
{
    unsigned char data[MARK_BYTES];
    struct beowire_address address;
    beowire_peer number;

    if (stock_bytes(message) != MARK_BYTES) {
        return 0;
    }
    stock_gather(message, (char *)data);
    memcpy(address.bytes, data + 8, sizeof address.bytes);
    struct task *task = table_task(&port->table, message->source);
    const int status = task != NULL ? add_peer(port, &address, &number) : -ENOMEM;
    if (status != 0) {
        return status == -ENOMEM ? status : 0; /* a task that is not known sends nothing here */
    }
    struct peer *peer = table_peer(&port->table, number);
    if (peer == NULL) {
        return -ENOMEM;
    }
    peer->task = message->source;
    peer->format = (int)get_number(data + 4);
    peer->source.mark = get_number(data);
    if (task->state < TASK_REACHING || task->peer != number) { /* it is new, or its number is */
        forget(task, port->endpoint);
        task->peer = number;
        task->waited = false;
        task->state = TASK_REACHING;
    }
    return 0;
}

void meet_again(struct port *port)
{
    while (port->marks != NULL && take_mark(port, port->marks) == 0) {
        port_drop_mark(port);
    }
}

void meet_marked(struct port *port, struct stock_message *message)
{
    struct stock_message **end = &port->marks;

    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = message;
    message->next = NULL;
    meet_again(port);
}
