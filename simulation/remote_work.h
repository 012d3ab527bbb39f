/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_work.h - random puts, gets and atomic operations between the nodes of a cluster, besides
 * the messages of a workload.
 *
 * Each operation has its own region of the target's memory, under its own key, so that the right
 * contents of each byte are known:
 *
 *      region      | margin |   bytes of the operation   | margin |        margins never change
 *
 * Only tickets share memory: all are drawn from one counter of the target. The initial contents of
 * a region depend on the endpoint that registers it, so a get from an endpoint's successor returns
 * other bytes, and a put for the predecessor must not change the successor's memory. Some
 * operations are flawed: they have a wrong key, bytes outside the region, or lack permission.
 *
 * remote_oracle.h judges them.
 */
#ifndef BEOWIRE_SIMULATION_REMOTE_WORK_H
#define BEOWIRE_SIMULATION_REMOTE_WORK_H

#include "workload.h"

/** Longest put or get, in bytes. */
#define REMOTE_WORK_BYTES_MAX 60000

/** The most elements of an atomic operation; they fit into the shortest frames. */
#define REMOTE_WORK_ELEMENTS_MAX 8

/** The most bytes before and behind those of an operation. */
#define REMOTE_WORK_MARGIN_MAX 24

struct remote_options {
    uint32_t operations;  /**< in all; 0: none */
    uint64_t duration_ns; /**< posts are spread over this time */
    bool crossing;        /**< most are long simultaneous gets between nodes 0 and 1, both ways */
};

enum remote_work_kind {
    REMOTE_WORK_PUT,
    REMOTE_WORK_GET,
    REMOTE_WORK_ADD,    /**< adds `value` to the operation's own elements */
    REMOTE_WORK_SWAP,   /**< replaces one such element by `value` if it equals `compare` */
    REMOTE_WORK_TICKET, /**< fetches and adds 1 to a shared counter */
    REMOTE_WORK_KINDS
};

enum remote_work_flaw {
    REMOTE_WORK_SOUND,
    REMOTE_WORK_BAD_KEY,
    REMOTE_WORK_BAD_RANGE,
    REMOTE_WORK_BAD_ACCESS,
    REMOTE_WORK_FLAWS
};

struct remote_operation {
    enum workload_context context;
    uint32_t index; /**< in `operations`; also a put's immediate data */
    uint32_t from;
    uint32_t to;
    enum remote_work_kind kind;
    enum remote_work_flaw flaw;
    uint64_t post_ns;
    uint64_t key;          /**< of its region; of a ticket: of the target's counter */
    uint64_t bytes;        /**< of the operation */
    uint64_t offset;       /**< of its bytes in the region */
    uint64_t region_bytes; /**< 0: a ticket, which has no region */
    uint64_t address;      /**< requested: `offset`, or outside */
    uint64_t value;        /**< operand of an atomic operation: added, or the new value */
    uint64_t compare;      /**< of a swap; also the element's initial value */
    uint64_t old;          /**< fetched by a swap or ticket */
    uint64_t operands[REMOTE_WORK_ELEMENTS_MAX];
    uint8_t *memory;          /**< of the region */
    uint8_t *data;            /**< the bytes of a put; or the buffer of a get, and a guard */
    bool notify;              /**< of a put: the target is notified */
    uint32_t from_generation; /**< of the endpoints, when it was posted */
    uint32_t to_generation;
    bool posted;
    bool unsent;    /**< no endpoint was there to send or to receive it */
    bool abandoned; /**< the initiator's endpoint has ended first */
    bool ended;     /**< its completion was taken, or there will be none */
    bool noticed;   /**< the target was notified */
    int status;
};

/** Number of operations of each kind. */
struct remote_counters {
    uint64_t puts;
    uint64_t injected; /**< in several frames */
    uint64_t gets;
    uint64_t atomics;
    uint64_t notices;
    uint64_t refused; /**< flawed operations with the right error */
};

struct remote_work {
    struct workload *workload;
    uint64_t seed;
    uint32_t count;
    struct remote_operation *operations; /**< by time of posting */
    uint32_t due;                        /**< index of the first one not yet due */
    uint32_t unposted;                   /**< due, but not posted */
    uint32_t unfinished;
    uint64_t *tickets; /**< each node's counter */
    struct remote_counters counters;
};

/** Plans operations between all nodes, which must be up, and registers their memory; from now on
 *  `workload` posts them. */
void remote_work_open(struct remote_work *work, struct workload *workload,
                      const struct remote_options *options, uint64_t seed);

void remote_work_close(struct remote_work *work);

/** The node has a new endpoint, which registers new memory. */
void remote_work_node_started(struct remote_work *work, uint32_t node);

/** The node's endpoint has ended: its posted operations will not complete. */
void remote_work_node_ended(struct remote_work *work, uint32_t node);

/** Has something become due? */
bool remote_work_is_due(struct remote_work *work);

/** Posts what is due. */
void remote_work_post(struct remote_work *work);

/** When is something due next? At most `until_ns`. */
uint64_t remote_work_next(const struct remote_work *work, uint64_t until_ns);

/** May anything be posted at the next attempt? */
bool remote_work_retries(const struct remote_work *work);

/** Handles a node's completion of an operation, or notification of a put. */
void remote_work_completed(struct remote_work *work, uint32_t node,
                           const struct beowire_completion *done);

/** The byte of an operation's region before and after the operation, in the memory of the target's
 *  endpoint of this generation. */
uint8_t remote_work_before(const struct remote_operation *operation, uint32_t generation,
                           uint64_t at);
uint8_t remote_work_after(const struct remote_operation *operation, uint32_t generation,
                          uint64_t at);

#endif /* BEOWIRE_SIMULATION_REMOTE_WORK_H */
