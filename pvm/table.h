/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - tasks by PVM's number, and peers by Beowire's number.
 *
 *      UNKNOWN ---- asked, and it has no address ----> STOCK  (asked again later, ever later)
 *         |                                              |
 *         +------ it has one, or its mark has come ------+--> REACHING (messages go the stock way)
 *                                                                |  it has answered over Beowire
 *                                                                v
 *                                                              OPEN (they go over Beowire)
 *                                                                |
 *                                          it has ended: GONE <--+--> FAILED: it cannot be reached
 *
 * Pure. Entries are the table's, and stay where they are until table_clear().
 */
#ifndef BEOWIRE_PVM_TABLE_H
#define BEOWIRE_PVM_TABLE_H

#include "order.h"

enum task_state {
    TASK_UNKNOWN,
    TASK_STOCK,
    TASK_REACHING,
    TASK_OPEN,
    TASK_GONE,
    TASK_FAILED,
};

/** A task that was sent to, or has sent its mark. */
struct task {
    struct task *next; /**< table.c's own */
    int number;        /**< PVM's */
    enum task_state state;
    uint32_t peer;     /**< from REACHING on: Beowire's number for it */
    bool waited;       /**< for its answer */
    uint32_t mark;     /**< number of the last mark sent to it */
    unsigned outgoing; /**< messages in flight to it */
    uint64_t ask_ns;   /**< STOCK: when its address is looked up again */
    uint64_t gap_ns;   /**< ... and the interval */
};

/** A peer of Beowire. */
struct peer {
    struct source source; /**< first: what arrives is its */
    struct peer *next;    /**< table.c's own */
    uint32_t number;      /**< Beowire's */
    int task;             /**< PVM's number; 0: its mark has not come yet */
    int format;           /**< data format of its machine */
};

#define TABLE_CHAINS 256

struct table {
    struct task *tasks[TABLE_CHAINS];
    struct peer *peers[TABLE_CHAINS];
};

/** The entry of a task, made if there is none. @return NULL: no memory. */
struct task *table_task(struct table *table, int number);

/** The entry of a peer, made if there is none. @return NULL: no memory. */
struct peer *table_peer(struct table *table, uint32_t number);

/** The look-up of a task at `now_ns` found no address (yet). */
void task_is_stock(struct task *task, uint64_t now_ns);

/** Is its look-up due? */
bool task_is_to_be_asked(const struct task *task, uint64_t now_ns);

/** Calls `visit` for each task. */
void table_each(struct table *table, void (*visit)(struct task *task, void *context),
                void *context);

/** Frees all entries. */
void table_clear(struct table *table);

#endif
