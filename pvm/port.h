/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port.h - this task's endpoint of Beowire, and messages of PVM over it.
 *
 * A message of PVM is one of Beowire's. Its tag is PVM's context and tag; the 32 bits beside it are
 * the number of the mark that was sent before it (order.h) and how it is packed; its bytes are
 * those that were packed, one piece after the other. Each message is received at once into one of
 * libpvm3's, which is then delivered to libpvm3. So a sent message never waits for a receive, and
 * libpvm3 does the matching, wildcards and message handlers.
 *
 * Without memory for a message, it stays in Beowire, which makes its sender wait. Calls that wait
 * for messages return PvmNoMem, and a later call receives it. The same holds for a mark.
 *
 * Data packed by copying is copied once more, into one piece of the port's. The call returns when
 * the peer has it, or after PORT_PATIENCE_NS, or at once if the peer has not taken an earlier one
 * (up to 64 MiB for all tasks, including 512 bytes for each message). PvmDataInPlace is sent
 * without a copy, and the call returns when the peer has all of it.
 *
 * One thread, as PVM. A child of fork() has no port.
 */
#ifndef BEOWIRE_PVM_PORT_H
#define BEOWIRE_PVM_PORT_H

#include <beowire.h>

#include "endpoint/contention.h"
#include "keep.h"
#include "stock.h"
#include "table.h"
#include "waiting.h"

#define PORT_PATIENCE_NS UINT64_C(20000000)

/** Result of port_send(): this message has to go the stock way. */
#define PORT_STOCK 1

/** A copy of a message. */
struct parcel;

struct port {
    const struct stock *stock;
    beowire_endpoint *endpoint; /**< NULL: closed */
    int descriptor;             /**< to sleep on; negative: there is none */
    bool watched;               /**< the program also sleeps on it */
    bool delivering;            /**< libpvm3 is receiving a message of the port */
    bool lost;                  /**< libpvm3 has lost its daemon: waits end */
    bool retry;                 /**< receiving `held` is tried again */
    unsigned inside;            /**< libpvm3 looks for its own messages, or sends one */
    unsigned outgoing;          /**< sends in flight */
    uint64_t outgoing_bytes;    /**< of the copies that were made for them */
    struct waiting waiting;     /**< decides between polling and sleeping */
    struct contention contention;
    unsigned frames_counter; /**< index of the endpoint's counter of frames that came */
    uint64_t frames;         /**< its value, when it was looked at last */
    unsigned often;          /**< polls of libpvm3's sockets left before the longer interval */
    uint64_t looked_ns;      /**< when libpvm3 last looked for its own */
    beowire_message held;    /**< message without memory for it; 0: none */
    struct beowire_completion held_found;
    struct stock_message *marks; /**< marks not handled for lack of memory; oldest first (meet.h) */
    struct table table;
    struct arrivals arrivals;
    struct keep keep; /**< memory of long messages; stays when it is closed */
};

/** What to wait for, for callers of port_until(). */
typedef bool port_condition(struct port *port, void *context);

uint64_t port_now_ns(void);

/** Opens it. BEOWIRE_INTERFACE and BEOWIRE_LANES say what it may use; else the first interface, or
 *  memory alone if there is none.
 *  @return 0, or a negative errno: it stays closed, and `reason` has one line. */
int port_open(struct port *port, const struct stock *stock, char *reason, size_t reason_bytes);

/** Closes it, even with messages in flight. */
void port_close(struct port *port);

/** Delivers messages from Beowire to libpvm3. @return how many. */
int port_collect(struct port *port);

/** The same, and lets libpvm3 look for its own now and then. For use between sends.
 *  @return how many messages, or an error of libpvm3's. */
int port_glance(struct port *port);

/** Waits for messages of either way. @param timeout NULL: for ever
 *  @return how many; 0: time is up; PvmNoMem; an error of libpvm3's. */
int port_wait(struct port *port, const struct timeval *timeout);

/** Takes in messages until the condition holds, or the daemon is lost
 *  (unless libpvm3 is in the midst of something). @return does it? */
bool port_until(struct port *port, port_condition *condition, void *context, uint64_t patience_ns);

/** Sends a message over the stock way. @return as mroute() without waiting. */
int port_stock(struct port *port, int id, int number, int tag);

/** Sends a message to a task that is open.
 *  @param shared NULL; or a copy that is used again for the same message to others: NULL at first,
 *  to be let go by port_let_go(). Then nothing is waited for.
 *  @return 0; PORT_STOCK: it cannot go over Beowire; -EOWNERDEAD: the daemon was lost meanwhile;
 *  another negative errno: the task's peer has failed. */
int port_send(struct port *port, struct task *task, struct stock_message *message, int tag,
              struct parcel **shared);
void port_let_go(struct port *port, struct parcel *parcel);

/** Waits until the endpoints of all peers that have not failed have all messages.
 *  @return false: time is up. */
bool port_settle(struct port *port, uint64_t patience_ns);

/** Frees the oldest kept mark. */
void port_drop_mark(struct port *port);

/** Connects to a peer, to find out whether it is reachable. */
void port_hello(struct port *port, uint32_t peer);

#endif
