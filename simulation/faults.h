/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faults.h - which faults happen in a run, and when, as the seed decides.
 *
 * The wire makes faults of frames (sim.h). Here are faults of links, nodes, clocks and
 * applications: events in virtual time, each with an excuse (workload.h) if it may separate peers.
 * Outages without excuse are short in sum, so that no peer times out.
 */
#ifndef BEOWIRE_SIMULATION_FAULTS_H
#define BEOWIRE_SIMULATION_FAULTS_H

#include "flood.h"

/** Every kind of fault, with its name in --scenario and in results. */
#define FAULTS(X)                                                                                  \
    X(LOSS, "loss")           /* frames are lost */                                                \
    X(DUPLICATE, "duplicate") /* ... are duplicated */                                             \
    X(DELAY, "delay")         /* ... are delayed */                                                \
    X(REORDER, "reorder")     /* ... are reordered */                                              \
    X(CORRUPT, "corrupt")     /* ... are damaged, and dropped because of their checksum */         \
    X(REFUSE, "refuse")       /* a lane accepts no frames */                                       \
    X(QUEUE, "queue")         /* a switch port, or a receive ring, overflows */                    \
    X(FLAP, "flap")           /* a cable is unplugged, for a while or permanently */               \
    X(PARTITION, "partition") /* no frame gets from one node to another, one way */                \
    X(CRASH, "crash")         /* a process ends without notice */                                  \
    X(RESTART, "restart")     /* ... and another replaces it */                                    \
    X(LEAVE, "leave")         /* an endpoint closes while others communicate with it */            \
    X(CLOCK, "clock")         /* a node's clock jumps forwards */                                  \
    X(PAUSE, "pause")         /* a process is stopped for a while */                               \
    X(QUIET, "quiet")         /* a receiver posts nothing, for long or never */                    \
    X(FLOOD, "flood")         /* a sender sends as much as it may */                               \
    X(MANGLE, "mangle")       /* damaged frames arrive undetected */                               \
    X(WRAP, "wrap")           /* sequence numbers begin just before they wrap */                   \
    X(CROWD, "crowd")         /* hundreds of nodes */                                              \
    X(NARROW, "narrow")       /* long frames are lost between two nodes */                         \
    X(STRANGER, "stranger")   /* an outsider without secrets forges frames (stranger.h) */

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
    uint32_t rails;    /**< bits: limited there ... */
    uint16_t bytes;    /**< ... to frames of this length */
    unsigned excuse;   /**< enum workload_excuse, or 0 */
};

#define FAULT_EVENTS_MAX 64

struct faults {
    struct workload *workload;
    struct random random;
    struct fault_event events[FAULT_EVENTS_MAX]; /**< sorted by time */
    uint32_t count;
    uint32_t next;
    uint32_t kinds;          /**< bits: the kinds of this run */
    uint64_t outage_left_ns; /**< remaining sum of outages without excuse */
    uint64_t span_ns;
    bool hosts_tell; /**< hosts report that a process has ended, so a stopped one does not seem to
                        have */
    struct flood flood;
    bool flooding;
    uint64_t happened[FAULT_KINDS]; /**< by kind; run.c adds those of frames */
};

/** Plans faults of these kinds (bits) for the time in which the workload posts. */
void faults_open(struct faults *faults, struct workload *workload, uint32_t kinds, bool hosts_tell,
                 uint64_t seed);

/** Performs what is due. @return when the next is due; UINT64_MAX: never. */
uint64_t faults_step(struct faults *faults);

/** Have all faults happened? */
bool faults_are_over(const struct faults *faults);

/** Judges what is left. */
void faults_close(struct faults *faults);

#endif /* BEOWIRE_SIMULATION_FAULTS_H */
