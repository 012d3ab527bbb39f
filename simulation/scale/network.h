/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * network.h - switches with shared buffers, and the links between them and the nodes.
 *
 *      node -> [its queue] -> [queue of its card] -> switch: port -> [its queue] -> node
 *
 * A node's card takes frames that were sent directly at once. Others wait in the node's own queue
 * until few are left in the card, as under Linux in a queueing discipline with byte queue limits.
 *
 * One switch joins all nodes. Or each leaf switch joins `leaf_nodes` of them, and `spines` others
 * join the leaves: a hash of both nodes chooses the spine (as ECMP does). A link sends one frame at
 * a time, and takes exactly as long as its rate says. A switch stores a frame whole, and drops it
 * if its buffer is full, or if the queue of the port is longer than `alpha` times what is free
 * (dynamic threshold: Choudhury and Hahne, IEEE/ACM Transactions on Networking, 1998), which is how
 * commodity switches share their buffer.
 *
 * Bytes are those on the wire: with preamble, check sequence and gap.
 */
#ifndef BEOWIRE_SIMULATION_SCALE_NETWORK_H
#define BEOWIRE_SIMULATION_SCALE_NETWORK_H

#include "schedule.h"

#include <stdbool.h>
#include <stdint.h>

/** Ethernet's header, check sequence, preamble and gap, and its shortest frame with these. */
#define NETWORK_OVERHEAD_BYTES 38u
#define NETWORK_FRAME_BYTES_MIN 84u

/** Bytes on the wire of a frame with so many bytes after Ethernet's header. */
static inline uint32_t network_wire_bytes(uint32_t bytes)
{
    return bytes + NETWORK_OVERHEAD_BYTES < NETWORK_FRAME_BYTES_MIN
               ? NETWORK_FRAME_BYTES_MIN
               : bytes + NETWORK_OVERHEAD_BYTES;
}

struct network_frame {
    struct network_frame *next;
    uint64_t at_ns; /**< when it arrives at the other end of a link */
    uint32_t from;
    uint32_t to;
    uint32_t link;  /**< on which it is, or was last */
    uint32_t bytes; /**< of `data` */
    bool of_tcp;
    bool direct; /**< it need not wait in the node's queue */
    uint8_t data[];
};

struct network_queue {
    struct network_frame *first;
    struct network_frame *last;
    uint32_t frames;
    uint64_t bytes; /**< on the wire */
};

struct network_link {
    struct network_queue queue; /**< the first is being sent */
    uint64_t bits_per_s;
    uint64_t rest;   /**< of the last frame's time, in ns / bits_per_s */
    uint64_t passed; /**< bytes sent */
    uint32_t of;     /**< the switch that sends; UINT32_MAX: a node */
    uint32_t to;     /**< the switch that receives; UINT32_MAX: a node */
    uint64_t most;   /**< bytes of its queue when that was longest */
};

struct network_switch {
    uint64_t used;
    uint64_t most;
};

struct network_options {
    uint32_t nodes;
    uint32_t leaf_nodes; /**< 0: one switch */
    uint32_t spines;
    uint64_t bits_per_s;       /**< of a node's link */
    uint64_t spine_bits_per_s; /**< of one between switches */
    uint64_t delay_ns;         /**< of each link */
    uint64_t buffer_bytes;     /**< of each switch */
    uint32_t alpha_percent;    /**< 0: a queue may take the whole buffer */
    uint32_t card_bytes;       /**< on the wire, in the queue of a node's card; then others wait */
    uint32_t frame_bytes;      /**< longest frame */
};

struct network_counters {
    uint64_t sent;      /**< by nodes */
    uint64_t delivered; /**< to nodes */
    uint64_t dropped;
    uint64_t dropped_of_tcp;
};

struct network {
    struct network_options options;
    struct schedule *schedule;
    uint32_t source; /**< first of its numbers there: one a link, and one for `between` */
    struct network_link *links;    /**< cards, ports to nodes, up, down */
    struct network_queue *waiting; /**< for the card, by node */
    uint32_t link_count;
    struct network_switch *switches;
    uint32_t switch_count;
    struct network_queue between; /**< on their way, in order: all links have the same delay */
    struct network_frame *free;
    uint64_t memory; /**< bytes of all frames */
    struct network_counters counters;
    void (*deliver)(void *context, struct network_frame *frame, uint64_t now_ns);
    /** A frame has left a node that has others waiting, or whose card is now half empty. */
    void (*room)(void *context, uint32_t node, uint64_t now_ns);
    void *context;
};

/** Sources that network_open() needs. */
uint32_t network_sources(const struct network_options *options);

void network_open(struct network *network, const struct network_options *options,
                  struct schedule *schedule, uint32_t source);
void network_close(struct network *network);

/** A frame to be filled in: `from`, `to`, `bytes`, `of_tcp`, `direct`, `data`. */
struct network_frame *network_take(struct network *network);
void network_give_back(struct network *network, struct network_frame *frame);

/** Has the card of a node room for a frame that is sent directly, or else the queue for another? */
bool network_has_room(const struct network *network, uint32_t node, bool direct);

/** Puts a frame into the queue of its sender, or of the card. */
void network_send(struct network *network, struct network_frame *frame, uint64_t now_ns);

/** A source of the network is due. */
void network_due(struct network *network, uint32_t source, uint64_t now_ns);

/** The port that leads to a node. */
static inline const struct network_link *network_port(const struct network *network, uint32_t node)
{
    return &network->links[network->options.nodes + node];
}

/** Time that bytes take on a link of a node, rounded up. */
uint64_t network_time(const struct network *network, uint64_t bytes);

#endif /* BEOWIRE_SIMULATION_SCALE_NETWORK_H */
