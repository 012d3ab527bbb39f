/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_work.h - random puts, gets and atomic operations between the nodes of a cluster, beside
 * the messages of a workload.
 *
 * Each operation has a region of its target's memory to itself, under a key of its own, so that
 * what becomes of each byte is known:
 *
 *      region      | margin |   bytes of the operation   | margin |        margins stay as they are
 *
 * but for tickets, which all who draw them draw from one counter of the target. What a region
 * holds to begin with depends on the endpoint that registers it, so an endpoint that takes
 * another's place gives no get what the other had, and is hurt by no put that was for the other.
 * Some operations are flawed: they name a wrong key, or bytes outside, or do what is not allowed.
 *
 * remote_oracle.h judges them.
 */
#ifndef BEOWIRE_SIMULATION_REMOTE_WORK_H
#define BEOWIRE_SIMULATION_REMOTE_WORK_H

#include "workload.h"

/** Longest put or get, in bytes. */
#define REMOTE_WORK_BYTES_MAX 60000

/** Most elements of an atomic operation: they fit the shortest frames. */
#define REMOTE_WORK_ELEMENTS_MAX 8

/** Bytes before and behind what an operation uses, at most. */
#define REMOTE_WORK_MARGIN_MAX 24

struct remote_options {
    uint32_t operations;  /**< in all; 0: none */
    uint64_t duration_ns; /**< posts are spread over this time */
    bool crossing;        /**< most are long gets of nodes 0 and 1 from each other, all at once */
};

enum remote_work_kind {
    REMOTE_WORK_PUT,
    REMOTE_WORK_GET,
    REMOTE_WORK_ADD,    /**< adds `value` to elements that are the operation's own */
    REMOTE_WORK_SWAP,   /**< replaces one such element by `value`, if it is as it was */
    REMOTE_WORK_TICKET, /**< fetches and adds 1 to a counter that all share */
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
    uint32_t index; /**< in `operations`, and a put's immediate data */
    uint32_t from;
    uint32_t to;
    enum remote_work_kind kind;
    enum remote_work_flaw flaw;
    uint64_t post_ns;
    uint64_t key;          /**< of its region; a ticket's: of the target's counter */
    uint64_t bytes;        /**< of the operation */
    uint64_t offset;       /**< of them, in the region */
    uint64_t region_bytes; /**< 0: a ticket, which has no region */
    uint64_t address;      /**< that is asked for: `offset`, or outside */
    uint64_t value;        /**< of an atomic operation: added to each element, or put in place */
    uint64_t compare;      /**< of a swap; what the element is to begin with */
    uint64_t old;          /**< that a swap or ticket has fetched */
    uint64_t operands[REMOTE_WORK_ELEMENTS_MAX];
    uint8_t *memory;          /**< of the region */
    uint8_t *data;            /**< what is put; or where a get goes, with a guard behind it */
    bool notify;              /**< of a put: the target is told */
    uint32_t from_generation; /**< of the endpoints, when it was posted */
    uint32_t to_generation;
    bool posted;
    bool unsent;    /**< nobody was there to ask, or to be asked */
    bool abandoned; /**< the endpoint that asked has ended before the operation did */
    bool ended;     /**< its completion was taken, or there will be none */
    bool noticed;   /**< the target was told */
    int status;
};

/** What was done, of each kind. */
struct remote_counters {
    uint64_t puts;
    uint64_t injected; /**< of them, in several frames */
    uint64_t gets;
    uint64_t atomics;
    uint64_t notices;
    uint64_t refused; /**< flawed operations that ended with the right error */
};

struct remote_work {
    struct workload *workload;
    uint64_t seed;
    uint32_t count;
    struct remote_operation *operations; /**< in the order of posting */
    uint32_t due;                        /**< those from here on are not due yet */
    uint32_t unposted;                   /**< those that are due and have not been posted */
    uint32_t unfinished;
    uint64_t *tickets; /**< each node's counter */
    struct remote_counters counters;
};

/** Plans operations between all nodes, which are up, and registers their memory; `workload` posts
 *  them from now on. */
void remote_work_open(struct remote_work *work, struct workload *workload,
                      const struct remote_options *options, uint64_t seed);

void remote_work_close(struct remote_work *work);

/** The node has another endpoint, which registers fresh memory. */
void remote_work_node_started(struct remote_work *work, uint32_t node);

/** The node's endpoint has ended: what it had posted does not end any more. */
void remote_work_node_ended(struct remote_work *work, uint32_t node);

/** Has something become due? */
bool remote_work_is_due(struct remote_work *work);

/** Posts what is due. */
void remote_work_post(struct remote_work *work);

/** When is something due next? @return `until_ns`: not before. */
uint64_t remote_work_next(const struct remote_work *work, uint64_t until_ns);

/** Is there anything that may be posted at the next try? */
bool remote_work_retries(const struct remote_work *work);

/** Takes a completion of a node: of an operation, or that a put has arrived. */
void remote_work_completed(struct remote_work *work, uint32_t node,
                           const struct beowire_completion *done);

/** The byte of an operation's region before it is carried out (by the endpoint of this generation
 *  of its target), and after. */
uint8_t remote_work_before(const struct remote_operation *operation, uint32_t generation,
                           uint64_t at);
uint8_t remote_work_after(const struct remote_operation *operation, uint32_t generation,
                          uint64_t at);

#endif /* BEOWIRE_SIMULATION_REMOTE_WORK_H */
