/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faults.h - what goes wrong in a run, and when: all of it follows from the seed.
 *
 * Faults of frames are the wire's business (sim.h). Here are those of links, nodes, clocks and
 * applications: events in virtual time, each with its excuse (workload.h) where peers may lose each
 * other by it. Outages that are not excused are short in sum, so that nobody's patience ends.
 */
#ifndef BEOWIRE_SIMULATION_FAULTS_H
#define BEOWIRE_SIMULATION_FAULTS_H

#include "flood.h"

/** Every kind of fault, by the name that --scenario and the results use. */
#define FAULTS(X)                                                                                  \
    X(LOSS, "loss")           /* frames are lost */                                                \
    X(DUPLICATE, "duplicate") /* ... arrive twice */                                               \
    X(DELAY, "delay")         /* ... come late */                                                  \
    X(REORDER, "reorder")     /* ... come after later ones */                                      \
    X(CORRUPT, "corrupt")     /* ... are damaged, and dropped for their check sum */               \
    X(REFUSE, "refuse")       /* a lane takes none now */                                          \
    X(QUEUE, "queue")         /* a switch port, or a receive ring, overflows */                    \
    X(FLAP, "flap")           /* a cable is pulled, and plugged in again or not */                 \
    X(PARTITION, "partition") /* nothing gets from one node to another, one way */                 \
    X(CRASH, "crash")         /* a process ends without a word */                                  \
    X(RESTART, "restart")     /* ... and another takes its place */                                \
    X(LEAVE, "leave")         /* an endpoint closes while others talk to it */                     \
    X(CLOCK, "clock")         /* a node's clock jumps forwards */                                  \
    X(PAUSE, "pause")         /* a process is stopped for a while */                               \
    X(QUIET, "quiet")         /* a receiver posts nothing, for long or for ever */                 \
    X(FLOOD, "flood")         /* a sender sends all that it is let */                              \
    X(MANGLE, "mangle")       /* damaged frames arrive as if they were whole */                    \
    X(WRAP, "wrap")           /* sequence numbers begin just before they wrap */                   \
    X(CROWD, "crowd")         /* hundreds of nodes */                                              \
    X(NARROW, "narrow")       /* long frames get lost between two nodes */                         \
    X(STRANGER, "stranger")   /* somebody who knows no secret forges frames (stranger.h) */

enum fault_kind {
#define FAULT_ENTRY(name, text) FAULT_##name,
    FAULTS(FAULT_ENTRY)
#undef FAULT_ENTRY
        FAULT_KINDS
};

#define FAULT_BIT(kind) (UINT32_C(1) << (kind))

/** The name of a kind. */
const char *fault_name(enum fault_kind kind);

enum fault_action {
    ACTION_CUT,
    ACTION_MEND,
    ACTION_UNPLUG,
    ACTION_PLUG,
    ACTION_CRASH,
    ACTION_START,
    ACTION_LEAVE,
    ACTION_JUMP,
    ACTION_PAUSE,
    ACTION_UNMUTE,
    ACTION_FLOOD,
    ACTION_DRAIN,
    ACTION_NARROW,
    ACTION_WIDEN,
};

struct fault_event {
    uint64_t at_ns;
    enum fault_action action;
    uint32_t node;
    uint32_t other;    /**< node or rail */
    uint64_t value_ns; /**< of a jump or pause */
    uint32_t rails;    /**< bits: narrow there ... */
    uint16_t bytes;    /**< ... to frames of this length */
    unsigned excuse;   /**< enum workload_excuse, or 0 */
};

#define FAULT_EVENTS_MAX 64

struct faults {
    struct workload *workload;
    struct random random;
    struct fault_event events[FAULT_EVENTS_MAX]; /**< by time */
    uint32_t count;
    uint32_t next;
    uint32_t kinds;          /**< bits: which there are */
    uint64_t outage_left_ns; /**< that outages without excuse may still last, in sum */
    uint64_t span_ns;
    bool hosts_tell; /**< when a process has ended, and so that one that stands still has not */
    struct flood flood;
    bool flooding;
    uint64_t happened[FAULT_KINDS]; /**< of the kinds here; run.c adds the others */
};

/** Plans the faults of these kinds (bits) over the time in which the workload posts. */
void faults_open(struct faults *faults, struct workload *workload, uint32_t kinds, bool hosts_tell,
                 uint64_t seed);

/** Does what is due. @return when something is due next; UINT64_MAX: never. */
uint64_t faults_step(struct faults *faults);

/** Has everything happened? */
bool faults_are_over(const struct faults *faults);

/** Judges what is left. */
void faults_close(struct faults *faults);

#endif /* BEOWIRE_SIMULATION_FAULTS_H */
