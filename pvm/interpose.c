/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interpose.c - replacements of libpvm3's functions that move messages, and of related ones. They
 * have the names of libpvm3's, which calls them itself (stock.h).
 */
#include "advice.h"
#include "many.h"
#include "meet.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pvm3.h>

#define EXPORT __attribute__((visibility("default")))

/* Time for which an ending task waits for receivers that compute, as PVM's direct route does. */
#define END_PATIENCE_NS UINT64_C(60000000000)

/* Result of carry(): the message has to go the stock way. */
#define NOT_CARRIED MANY_STOCK

/* How often something may come just when it is to be slept. */
#define ARM_TRIES 100

#define REASON_BYTES 512

/* Before the bytes of a piece of a message: as much as keeps them aligned, at its end how many
 * pieces have them. As libpvm3's. */
#define HEAD_BYTES 16

static struct port port;
static unsigned long carried;
static unsigned within; /* calls of mroute() that have not returned */

/* Messages of this task that went over Beowire, for programs that use dlsym(). */
EXPORT unsigned long beowire_pvm_carried(void);
EXPORT int mroute(int id, int number, int tag, struct timeval *timeout);
EXPORT int pvmmcast(int id, int *tasks, int count, int tag);
EXPORT int mesg_input(struct stock_message *message);
EXPORT int pvmbeatask(void);
EXPORT char *da_new(int bytes);
EXPORT void da_ref(char *data);
EXPORT void da_unref(char *data);

unsigned long beowire_pvm_carried(void)
{
    return carried;
}

static int *references_of(char *data)
{
    return (int *)(void *)data - 1;
}

/* Memory of packed and of received messages. */
EXPORT char *da_new(int bytes)
{
    char *block = bytes >= 0 ? keep_take(&port.keep, HEAD_BYTES + (size_t)bytes) : NULL;

    if (block == NULL) {
        return NULL;
    }
    *references_of(block + HEAD_BYTES) = 1;
    return block + HEAD_BYTES;
}

EXPORT void da_ref(char *data)
{
    ++*references_of(data);
}

EXPORT void da_unref(char *data)
{
    if (--*references_of(data) <= 0) {
        keep_give(&port.keep, data - HEAD_BYTES);
    }
}

/* In a child of fork(), the endpoint belongs to the parent. */
static void leave_to_parent(void)
{
    if (port.endpoint != NULL) {
        (void)beowire_close(port.endpoint, 0);
        port.endpoint = NULL;
        contention_close(&port.contention);
    }
    while (port.marks != NULL) {
        port_drop_mark(&port);
    }
}

__attribute__((destructor)) static void end(void)
{
    if (port.endpoint != NULL) {
        port.delivering = true; /* the program receives no more */
        port.inside++;
        (void)port_settle(&port, END_PATIENCE_NS);
        port_close(&port);
    }
}

/* Why messages go the stock way. */
static void say(const struct stock *stock, const char *reason)
{
    (void)fprintf(stderr, "libpvm [t%x]: messages do not go over Beowire: %s\n",
                  (unsigned)*stock->own_task, reason);
}

static void begin(const struct stock *stock)
{
    static bool handled;
    const char *wanted = getenv("BEOWIRE_PVM");
    char reason[REASON_BYTES] = "";

    if (wanted != NULL && strcmp(wanted, "off") == 0) {
        return;
    }
    if (!stock_is_known()) {
        say(stock, "this libpvm3 is not like those of PVM 3.4; install Debian's libpvm3 3.4.6");
        return;
    }
    if (!handled) {
        handled = pthread_atfork(NULL, NULL, leave_to_parent) == 0;
    }
    if (port_open(&port, stock, reason, sizeof reason) != 0) {
        say(stock, reason);
        return;
    }
    if (meet_offer(&port) < 0) {
        say(stock, "the daemon takes no address (pvm_putinfo)");
        port_close(&port);
    }
}

EXPORT int pvmbeatask(void)
{
    const struct stock *stock = stock_find();

    if (stock == NULL) {
        return PvmSysErr;
    }
    const bool enrols = *stock->own_task < 0;
    const int status = enrols && advice_daemon_is_gone(stock) ? PvmSysErr : stock->enrol();
    if (status == 0 && enrols && *stock->own_task > 0 && port.endpoint == NULL) {
        begin(stock);
    } else if (status < 0) {
        advice_say(stock);
    }
    return status;
}

/* Messages to this task go the stock way again. Waits first, so that none overtakes another. */
static int leave_beowire(struct task *task)
{
    if (task->state == TASK_OPEN) {
        (void)port_settle(&port, UINT64_MAX);
        task->state = task->state == TASK_OPEN ? TASK_REACHING : task->state;
    }
    return NOT_CARRIED;
}

/* May this kind of message go over Beowire? Messages between tasks and daemons may not. */
static bool may_be_carried(const struct stock_message *message, int number)
{
    return stock_is_task(number) && number != *port.stock->own_task && message->wait == 0 &&
           message->context != STOCK_CONTEXT_TASKS && message->context != STOCK_CONTEXT_DAEMON &&
           message->context != MEET_CONTEXT;
}

/* A task's peer has failed. If the task still runs, messages may be lost, and an error is reported.
 * The daemon of another host is not asked: without a network its answer takes minutes. */
static int after_failure(struct task *task)
{
    if (task->state == TASK_FAILED && port.inside == 0 && !port.delivering &&
        stock_same_host(task->number, *port.stock->own_task) &&
        port.stock->state(task->number) != PvmOk) {
        task->state = TASK_GONE;
    }
    return task->state == TASK_FAILED ? PvmHostFail : NOT_CARRIED;
}

/* Sends a message over Beowire. @return 0; NOT_CARRIED; an error of PVM's */
static int carry(struct stock_message *message, int number, int tag, struct parcel **shared)
{
    if (!may_be_carried(message, number)) {
        return NOT_CARRIED;
    }
    struct task *task = table_task(&port.table, number);
    if (task == NULL) {
        return NOT_CARRIED;
    }
    if (*port.stock->route_option == PvmDontRoute) {
        return leave_beowire(task);
    }
    if (task->state < TASK_OPEN && port.inside == 0 && !port.delivering) {
        (void)meet_reach(&port, task);
    }
    if (task->state == TASK_OPEN) {
        const int status = port_send(&port, task, message, tag, shared);
        if (status == PORT_STOCK) {
            return leave_beowire(task);
        }
        if (status == 0) {
            message->destination = number;
            message->tag = tag;
            carried++;
            return 0;
        }
    }
    return after_failure(task);
}

/* The program sleeps on the endpoint's descriptor: makes it readable for the next message. Without
 * a daemon the process is no task any more, and has no message in flight. */
static int before_return(int result)
{
    if (port.lost && within == 0 && port.inside == 0 && !port.delivering) {
        port_close(&port);
    }
    for (int i = 0; port.watched && i < ARM_TRIES; i++) {
        if (port.endpoint == NULL || beowire_arm(port.endpoint) != -EAGAIN) {
            break;
        }
        const int more = port_collect(&port);
        result = result < 0 ? result : result + more;
    }
    return result;
}

/* As mroute(), if there is something to send. */
static int send_one(int id, int number, int tag, struct timeval *timeout)
{
    struct stock_message *message = port.stock->message(id);
    int status = message != NULL ? carry(message, number, tag, NULL) : NOT_CARRIED;

    if (status == NOT_CARRIED) {
        status = port_stock(&port, id, number, tag);
    }
    if (status != 0) {
        return status; /* messages that have come meanwhile suffice */
    }
    if (timeout != NULL && timeout->tv_sec == 0 && timeout->tv_usec == 0) {
        return port_glance(&port);
    }
    return port_wait(&port, timeout);
}

/* Sends a message, if there is one (number, not 0), and receives others. */
EXPORT int mroute(int id, int number, int tag, struct timeval *timeout)
{
    const struct stock *stock = stock_find();

    if (stock == NULL) {
        return PvmSysErr;
    }
    if (port.endpoint == NULL) {
        return stock->route(id, number, tag, timeout);
    }
    const bool patient = timeout == NULL || timeout->tv_sec != 0 || timeout->tv_usec != 0;
    if (patient && (port.inside > 0 || port.delivering)) {
        struct timeval none = {0};
        const int status = id > 0 ? mroute(id, number, tag, &none) : 0;
        return status < 0 ? status : PvmNotImpl; /* a message handler must not wait */
    }
    within++;
    meet_again(&port);
    const int result = id > 0 ? send_one(id, number, tag, timeout) : port_wait(&port, timeout);
    within--;
    return before_return(result);
}

/* A message to many tasks. */
struct spread {
    struct stock_message *message;
    int tag;
    struct parcel *copy; /* NULL: none had to be made yet */
};

static int carry_to_one(void *context, int task)
{
    struct spread *spread = context;

    return carry(spread->message, task, spread->tag, &spread->copy);
}

/* Sends to each task; `tasks` change. @return 0, or an error of PVM's, when all have been tried */
static int send_many(struct stock_message *message, int id, int *tasks, int count, int tag)
{
    struct spread spread = {.message = message, .tag = tag};
    int error = 0;

    message->context = *port.stock->context;
    int left = many_sort(tasks, count, *port.stock->own_task);
    left = many_send(tasks, left, carry_to_one, &spread, &error);
    port_let_go(&port, spread.copy);
    const int status = left > 0 ? port.stock->multicast(id, tasks, left, tag) : 0;
    return error < 0 ? error : status < 0 ? status : 0;
}

/* Sends the message of the send buffer to many tasks. @return 0, or an error of PVM's */
EXPORT int pvmmcast(int id, int *tasks, int count, int tag)
{
    const struct stock *stock = stock_find();

    if (stock == NULL) {
        return PvmSysErr;
    }
    struct stock_message *message = port.endpoint != NULL ? stock->message(id) : NULL;
    int *those = message != NULL && count > 0 ? malloc((size_t)count * sizeof *those) : NULL;
    if (those == NULL) {
        return stock->multicast(id, tasks, count, tag);
    }
    memcpy(those, tasks, (size_t)count * sizeof *those);
    within++;
    const int status = send_many(message, id, those, count, tag);
    free(those);
    const int more = port_glance(&port);
    within--;
    (void)before_return(0);
    return status < 0 ? status : more < 0 ? more : 0;
}

/* libpvm3 has received a message. Delivers earlier ones from Beowire first. */
EXPORT int mesg_input(struct stock_message *message)
{
    const struct stock *stock = stock_find();

    if (stock == NULL) {
        return PvmSysErr;
    }
    if (message->context == MEET_CONTEXT) {
        if (port.endpoint == NULL) {
            return stock->message_free(message);
        }
        meet_marked(&port, message);
        return 0;
    }
    if (port.endpoint != NULL) {
        (void)port_collect(&port);
    }
    return stock->take(message);
}

EXPORT int pvm_exit(void)
{
    const struct stock *stock = stock_find();

    if (stock == NULL) {
        return PvmSysErr;
    }
    if (port.endpoint != NULL) {
        (void)port_settle(&port, END_PATIENCE_NS); /* before other tasks are told of the end */
    }
    const int status = stock->leave();
    if (port.endpoint != NULL) {
        port_close(&port);
    }
    return status;
}

EXPORT int pvm_getfds(int **descriptors)
{
    static int *list;
    const struct stock *stock = stock_find();
    int *theirs = NULL;

    if (stock == NULL) {
        return PvmSysErr;
    }
    const int count = stock->descriptors(&theirs);
    if (count < 0 || port.endpoint == NULL || port.descriptor < 0) {
        *descriptors = theirs;
        return count;
    }
    int *longer = realloc(list, ((size_t)count + 1) * sizeof *list);
    if (longer == NULL) {
        return PvmNoMem;
    }
    list = longer;
    memcpy(list, theirs, (size_t)count * sizeof *list);
    list[count] = port.descriptor;
    *descriptors = list;
    port.watched = true;
    (void)before_return(0);
    return count + 1;
}
