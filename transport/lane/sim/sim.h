/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim.h - a simulated wire, and its lane: what a network may do to frames, in virtual time, decided
 * by a seed. The same seed, options and calls give the same deliveries, so a failing run can be
 * repeated.
 *
 *      sim_wire_open()                       one wire, with nodes 0 .. nodes - 1
 *      sim_lane_open(node) ...               at most one lane a node and rail at a time
 *      loop: sim_wire_advance(until_ns)      frames that are due go to their lanes
 *            lane->operations->receive()     ... and are taken there
 *
 * Each frame may be lost, duplicated, delayed (and so reordered), or corrupted. A corrupted frame
 * is dropped, because of Ethernet's checksum. With `deliver_corrupted` it arrives with one byte
 * changed, which only tests robustness, because the protocol trusts the checksum. Links can be cut,
 * one way, or carry short frames only. Nodes can vanish, or be mangled: each frame to or from them
 * may arrive with a byte changed. Frames can be forged, which no lane has sent. Links can have a
 * rate: the switch then has a queue for each node and rail. A lane has limited room for frames
 * while its node does not poll, like a ring. Networks can have cards that cut (lane.h): their lanes
 * carry DATA, which they join if they can, and sequenced frames. Networks can also be shared
 * memory: the nodes are then processes of one host, and can read each other's memory.
 *
 * Pure: no system call, no clock; only sim_wire_open() and sim_lane_open() allocate memory.
 * Threads: a wire and all its lanes are used by one.
 */
#ifndef BEOWIRE_LANE_SIM_H
#define BEOWIRE_LANE_SIM_H

#include "lane/lane.h"
#include "lane/random.h"

#include <stdbool.h>
#include <stdint.h>

struct sim_options {
    uint64_t seed;
    uint32_t nodes;       /**< 1 .. 65536 */
    uint32_t rails;       /**< networks of each node, 1 .. ADDRESS_RAILS */
    uint32_t cutting;     /**< bit i: lanes to network i cut */
    uint32_t sharing;     /**< bit i: network i is memory, and those on it are processes of a host:
                               what one has can be read by others */
    uint32_t frame_bytes; /**< longest frame, as for a lane; at most 65535 */
    uint32_t frames;      /**< frames on the wire and in lanes at once; more are lost */
    uint64_t start_ns;    /**< initial virtual time */
    uint64_t delay_ns;    /**< every frame takes this long */
    uint64_t bytes_per_s; /**< rate of a node's link, at its port; 0: no limit */
    uint64_t queue_bytes; /**< limit of a port's queue; further frames are lost; 0: no limit */
    uint32_t ring_frames; /**< limit of frames in a lane; further ones are lost; 0: no limit */
    uint64_t jitter_ns;   /**< a delayed frame takes up to this much longer */
    uint32_t delayed_ppm; /**< frames per million that are delayed */
    uint32_t lost_ppm;    /**< that are lost */
    uint32_t doubled_ppm; /**< that are duplicated */
    uint32_t corrupted_ppm;
    uint32_t refused_ppm; /**< that the lane does not take */
    uint32_t told_ppm; /**< of a million frames that find no lane at their node, the sender is told
                            of so many, as a kernel does that has no such socket any more */
    uint32_t unread_ppm; /**< reads of memory per million that are refused */
    uint32_t joined_ppm; /**< segments per million following another that are joined to it */
    bool deliver_corrupted;
};

#define SIM_OPTIONS_DEFAULT                                                                        \
    {                                                                                              \
        .seed = 1, .nodes = 2, .rails = 1, .frame_bytes = 1500, .frames = 8192,                    \
        .start_ns = 1000000000u, .delay_ns = 20000                                                 \
    }

/** What happened to frames so far. */
struct sim_counters {
    uint64_t sent;      /**< taken by lanes */
    uint64_t tacit;     /**< among them, tacit ones (tso_run.h) */
    uint64_t evened;    /**< followed by zeros, as in a train (lane.h) */
    uint64_t forged;    /**< sent by sim_wire_forge() */
    uint64_t delivered; /**< delivered to a lane, including duplicates */
    uint64_t lost;
    uint64_t doubled;
    uint64_t delayed;
    uint64_t overtaken; /**< delivered after a frame that was sent later */
    uint64_t corrupted;
    uint64_t mangled;     /**< delivered with a byte changed, to or from a mangled node; a lane that
                             cuts detects it by a checksum (lane.h) */
    uint64_t refused;     /**< calls of send() that took nothing */
    uint64_t cut;         /**< lost because the link was cut or a node had vanished */
    uint64_t too_long;    /**< lost because the link carries shorter frames only */
    uint64_t unreachable; /**< no lane at the node, or no such node */
    uint64_t told;        /**< times that a sender was told of an end for the first time */
    uint64_t reads;       /**< of another process's memory */
    uint64_t unread;      /**< reads that were refused, or came too late */
    uint64_t overflowed;  /**< lost because `frames` were under way, or a queue was full */
};

enum sim_event_kind {
    SIM_SENT,
    SIM_FORGED,
    SIM_DELIVERED,
    SIM_LOST,
    SIM_DOUBLED,
    SIM_DELAYED,
    SIM_CORRUPTED,
    SIM_MANGLED,
    SIM_CUT,
    SIM_TOO_LONG,
    SIM_UNREACHABLE,
    SIM_OVERFLOWED,
    SIM_REFUSED,
    SIM_EVENTS
};

/** An event of a frame. */
struct sim_event {
    enum sim_event_kind kind;
    uint64_t now_ns;
    uint32_t from;
    uint32_t to; /**< UINT32_MAX: no such node */
    uint32_t rail;
    uint32_t bytes;      /**< of the whole frame */
    bool tacit;          /**< it names no sender (lane.h) */
    const uint8_t *head; /**< at least its headers; valid during the call */
};

/** An observer must not use the wire. */
typedef void sim_observer(void *context, const struct sim_event *event);

struct sim_wire;

/** @return 0; -EINVAL: an option is out of range; -ENOMEM. */
int sim_wire_open(const struct sim_options *options, struct sim_wire **wire);

/** Frees the wire. Its lanes must be closed before. */
void sim_wire_close(struct sim_wire *wire);

/** Changes the options from now on, except `nodes`, `rails`, `cutting`, `sharing`, `frame_bytes`,
 *  `frames`, `seed` and `start_ns`. */
void sim_wire_set(struct sim_wire *wire, const struct sim_options *options);

/** Was a lane of `node` ever told that a process on the other has ended? */
bool sim_wire_was_told(const struct sim_wire *wire, uint32_t node, uint32_t ended);

/** Virtual time. */
uint64_t sim_wire_now(const struct sim_wire *wire);

/** When the next frame arrives; UINT64_MAX: none is under way. */
uint64_t sim_wire_next(const struct sim_wire *wire);

/** Advances virtual time to `until_ns` (never back) and delivers what is due, in order of time. */
void sim_wire_advance(struct sim_wire *wire, uint64_t until_ns);

/** Cuts or restores the link from one node to another, in this direction only. Frames under way
 *  still arrive. */
void sim_wire_cut(struct sim_wire *wire, uint32_t from, uint32_t to, bool cut);

/** The value of `bytes` for a link without a limit. */
#define SIM_ANY_LENGTH UINT16_MAX

/** Longer frames from one node to another over one network are silently lost from now on, in this
 *  direction only. For data that cards cut, the length of each frame counts. */
void sim_wire_narrow(struct sim_wire *wire, uint32_t from, uint32_t to, uint32_t rail,
                     uint16_t bytes);

/** Unplugs the node's cable to a network, or plugs it in. Its lane there does not notice. */
void sim_wire_unplug(struct sim_wire *wire, uint32_t node, uint32_t rail, bool unplugged);

/** No frame reaches or leaves the node any more; those under way to it are lost. */
void sim_wire_vanish(struct sim_wire *wire, uint32_t node);

/** From now on, this many frames per million to and from the node arrive with one byte changed. */
void sim_wire_mangle(struct sim_wire *wire, uint32_t node, uint32_t ppm);

/** Sends a forged frame that claims to be from `from`, without the lanes and the cable of that
 *  node. It may get lost like others, and is subject to the length limit of the link from that
 *  node.
 *
 *  @param frame `from`, `to`, `rail`, `bytes` and `head` are used: `bytes` bytes are copied, at
 *  most
 *               those of a lane's longest frame */
void sim_wire_forge(struct sim_wire *wire, const struct sim_event *frame);

/** Reports all further events to `observer`; NULL: to none. */
void sim_wire_observe(struct sim_wire *wire, sim_observer *observer, void *context);

/** A hash of all deliveries so far: time, sender, receiver, bytes. */
uint64_t sim_wire_trace_hash(const struct sim_wire *wire);

const struct sim_counters *sim_wire_counters(const struct sim_wire *wire);

/** Opens the lane of a node to a network, with a MAC address that depends on both numbers. @return
 *  0; -EINVAL: no such node or network; -EADDRINUSE: it has a lane there; -ENOMEM. */
int sim_lane_open(struct sim_wire *wire, uint32_t node, uint32_t rail, struct lane **lane);

/** The address of the node on that network. */
struct lane_address sim_address(uint32_t node, uint32_t rail);

/** Are there frames that receive() will take? */
bool sim_has_arrived(const struct lane *lane);

/** The node whose lane has this address, or UINT32_MAX. */
uint32_t sim_node_of(const struct sim_wire *wire, const struct lane_address *address);

#endif /* BEOWIRE_LANE_SIM_H */
