/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim.h - a simulated wire, and the lane that uses it: what a network may do to frames, in virtual
 * time, decided by a seed. The same seed, options and calls give the same deliveries, so a failing
 * run can be had again.
 *
 *      sim_wire_open()                       one wire, with nodes 0 .. nodes - 1
 *      sim_lane_open(node) ...               at most one lane a node and rail at a time
 *      loop: sim_wire_advance(until_ns)      frames that are due go to their lanes
 *            lane->operations->receive()     ... and are taken there
 *
 * Each frame sent may be lost, doubled, delayed (and so overtaken), or corrupted. A corrupted frame
 * is dropped, as the check sum of Ethernet has it dropped; with `deliver_corrupted` it arrives with
 * one byte changed, which only says something about robustness: the protocol trusts the check sum.
 * Links can be cut, one way, or carry short frames only; nodes can vanish, or be mangled: each
 * frame to or from them may arrive with a byte changed. Frames can be forged: no lane has sent
 * them. Links can have a rate: the switch then has a queue for each node and rail, as real ones
 * have. A lane whose node does not look has room for so many frames, as a ring has. Networks can
 * have cards that cut (lane.h): their lanes carry DATA, which they join if they can, and sequenced
 * frames. Or they are memory: the nodes are then processes of one host, and what one has can be
 * read by others for as long as it is there.
 *
 * Pure: no system call, no clock; memory is made by sim_wire_open() and sim_lane_open() only.
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
    uint32_t rails;       /**< networks that each node is on, 1 .. ADDRESS_RAILS */
    uint32_t cutting;     /**< bit i: lanes to network i cut */
    uint32_t sharing;     /**< bit i: network i is memory, and those on it are processes of a host:
                               what one has can be read by others */
    uint32_t frame_bytes; /**< longest frame, as for a lane; at most 65535 */
    uint32_t frames;      /**< frames on the wire and in lanes at once; more are lost */
    uint64_t start_ns;    /**< virtual time of the beginning */
    uint64_t delay_ns;    /**< every frame takes this long */
    uint64_t bytes_per_s; /**< rate of a node's link, at the port that leads to it; 0: no limit */
    uint64_t queue_bytes; /**< that may wait at such a port, the rest is lost; 0: no limit */
    uint32_t ring_frames; /**< that may wait in a lane, the rest is lost; 0: no limit */
    uint64_t jitter_ns;   /**< a delayed frame takes up to this much longer */
    uint32_t delayed_ppm; /**< frames of a million that are delayed, ... */
    uint32_t lost_ppm;    /**< ... lost, ... */
    uint32_t doubled_ppm; /**< ... doubled, ... */
    uint32_t corrupted_ppm;
    uint32_t refused_ppm; /**< ... and not taken by the lane ("not now") */
    uint32_t told_ppm; /**< of a million frames that find no lane at their node, the sender is told
                            of so many, as a kernel does that has no such socket any more */
    uint32_t unread_ppm; /**< of a million reads of memory, so many are not allowed */
    uint32_t joined_ppm; /**< of a million segments that follow another, so many are joined to it */
    bool deliver_corrupted;
};

#define SIM_OPTIONS_DEFAULT                                                                        \
    {                                                                                              \
        .seed = 1, .nodes = 2, .rails = 1, .frame_bytes = 1500, .frames = 8192,                    \
        .start_ns = 1000000000u, .delay_ns = 20000                                                 \
    }

/** What became of the frames, since the beginning. */
struct sim_counters {
    uint64_t sent;      /**< taken by lanes */
    uint64_t tacit;     /**< of those: went behind the head of another (tso_run.h) */
    uint64_t evened;    /**< were followed by zeros, as in a train (lane.h) */
    uint64_t forged;    /**< put on the wire by sim_wire_forge() */
    uint64_t delivered; /**< arrived at a lane, copies included */
    uint64_t lost;
    uint64_t doubled;
    uint64_t delayed;
    uint64_t overtaken; /**< arrived at a lane after one that was sent later */
    uint64_t corrupted;
    uint64_t mangled;     /**< arrived with a byte changed, at a mangled node or from it; of lanes
                               that cut a checksum says so (lane.h) */
    uint64_t refused;     /**< calls of send() that were told "not now" */
    uint64_t cut;         /**< lost because the link was cut or a node had vanished */
    uint64_t too_long;    /**< lost because the link carries shorter ones only */
    uint64_t unreachable; /**< no lane at the node, or no such node */
    uint64_t told;        /**< times a sender was told, and had not heard of the end before */
    uint64_t reads;       /**< of another process's memory, ... */
    uint64_t unread;      /**< ... and those that were refused, or came too late */
    uint64_t overflowed;  /**< lost because `frames` were on the way, or a queue was full */
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

/** What has just happened to a frame. */
struct sim_event {
    enum sim_event_kind kind;
    uint64_t now_ns;
    uint32_t from;
    uint32_t to; /**< UINT32_MAX: no such node */
    uint32_t rail;
    uint32_t bytes;      /**< of the whole frame */
    bool tacit;          /**< its head does not say who sends it (lane.h) */
    const uint8_t *head; /**< its first bytes, the headers at least; valid during the call */
};

/** Must not use the wire. */
typedef void sim_observer(void *context, const struct sim_event *event);

struct sim_wire;

/** @return 0; -EINVAL: an option is out of range; -ENOMEM. */
int sim_wire_open(const struct sim_options *options, struct sim_wire **wire);

/** Frees the wire. Its lanes have to be closed before. */
void sim_wire_close(struct sim_wire *wire);

/** Changes what the wire does from now on; `nodes`, `rails`, `cutting`, `sharing`,
 *  `frame_bytes`, `frames`, `seed` and `start_ns` stay as they were. */
void sim_wire_set(struct sim_wire *wire, const struct sim_options *options);

/** Has a lane of `node` ever been told that a process on the other has ended? */
bool sim_wire_was_told(const struct sim_wire *wire, uint32_t node, uint32_t ended);

/** Virtual time. */
uint64_t sim_wire_now(const struct sim_wire *wire);

/** When the next frame arrives somewhere; UINT64_MAX: none is on the way. */
uint64_t sim_wire_next(const struct sim_wire *wire);

/** Moves virtual time on to `until_ns` (never back) and delivers what is due, in order of time. */
void sim_wire_advance(struct sim_wire *wire, uint64_t until_ns);

/** Cuts or mends the link from one node to another, in this direction only. Frames that are on the
 *  way still arrive. */
void sim_wire_cut(struct sim_wire *wire, uint32_t from, uint32_t to, bool cut);

/** What `bytes` says of a link that carries all that its lanes can. */
#define SIM_ANY_LENGTH UINT16_MAX

/** Frames that are longer are lost from now on, on their way from one node to another over one of
 *  the networks, in this direction only: something between carries no longer ones, and does not say
 *  so. Of what is cut, too, it is the length of the frame that counts. */
void sim_wire_narrow(struct sim_wire *wire, uint32_t from, uint32_t to, uint32_t rail,
                     uint16_t bytes);

/** Pulls or plugs in the node's cable to one of the networks. Its lane there does not notice. */
void sim_wire_unplug(struct sim_wire *wire, uint32_t node, uint32_t rail, bool unplugged);

/** Nothing goes to or from the node any more; what was on the way to it is lost. */
void sim_wire_vanish(struct sim_wire *wire, uint32_t node);

/** So many of a million frames to and from the node arrive with one byte changed from now on. */
void sim_wire_mangle(struct sim_wire *wire, uint32_t node, uint32_t ppm);

/** Puts a frame on the wire that says that `from` has sent it, whoever has: the lanes and the cable
 *  of that node have no part in it. It may get lost and so on as any other, and is too long for
 *  the way from there if that node's would be.
 *
 * @param frame of it `from`, `to`, `rail`, `bytes` and `head`: so many bytes, at most those of
 *              a lane's longest frame; they are copied */
void sim_wire_forge(struct sim_wire *wire, const struct sim_event *frame);

/** Tells `observer` everything that happens from now on; NULL: nobody. */
void sim_wire_observe(struct sim_wire *wire, sim_observer *observer, void *context);

/** A number that depends on every delivery so far: when, from whom, to whom, which bytes. */
uint64_t sim_wire_trace_hash(const struct sim_wire *wire);

const struct sim_counters *sim_wire_counters(const struct sim_wire *wire);

/** Opens the lane of a node to one of the networks: it is reached at a MAC address that depends on
 *  both numbers.
 *  @return 0; -EINVAL: no such node or network; -EADDRINUSE: it has a lane there; -ENOMEM. */
int sim_lane_open(struct sim_wire *wire, uint32_t node, uint32_t rail, struct lane **lane);

/** Where the node is reached on that network. */
struct lane_address sim_address(uint32_t node, uint32_t rail);

/** Are there frames that receive() will take? */
bool sim_has_arrived(const struct lane *lane);

/** The node whose lane has this address, or UINT32_MAX. */
uint32_t sim_node_of(const struct sim_wire *wire, const struct lane_address *address);

#endif /* BEOWIRE_LANE_SIM_H */
