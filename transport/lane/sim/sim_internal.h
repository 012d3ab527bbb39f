/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim_internal.h - shared by the wire (sim.c) and its lanes (sim_lane.c). For them only.
 */
#ifndef BEOWIRE_LANE_SIM_INTERNAL_H
#define BEOWIRE_LANE_SIM_INTERNAL_H

#include "frame/address_layout.h"
#include "lane/sim/sim.h"
#include "lane/sim/sim_join.h"

/** A frame under way, or delivered and not released. */
struct sim_frame {
    struct sim_frame *next; /* in the list of unused ones, or of a lane */
    uint64_t due_ns;
    uint64_t serial; /* frames due at the same time arrive in the order of sending */
    uint32_t from;
    uint32_t to;
    uint32_t rail;
    uint32_t bytes;
    uint32_t segment_bytes; /* as in struct lane_outgoing */
    bool tacit;             /* as in struct lane_incoming */
    bool damaged;           /* likewise: a byte was changed */
    uint16_t process;       /* the generation of the process at `from` that has sent it */
    uint8_t *data;
};

/** The most ends that a lane stores. */
#define SIM_LOST_MAX 8

struct sim_lane {
    struct lane lane; /* first: the layers above know only this */
    struct sim_wire *wire;
    uint32_t node;
    struct sim_frame *arrived; /* oldest first */
    struct sim_frame **arrived_end;
    uint32_t waiting;         /* number of frames in `arrived` */
    uint64_t newest_serial;   /* of those delivered so far */
    struct sim_frame *held;   /* returned by receive(), not yet released */
    struct sim_joiner joiner; /* of a lane that cuts */
    struct {
        uint32_t node; /* of which it was told that it has no lane any more */
        uint8_t quote_bytes;
        uint8_t quote[LANE_QUOTE_BYTES]; /* of a frame that went there */
    } lost[SIM_LOST_MAX];
    unsigned lost_count;
    uint16_t *withdrawn; /* by node: the process there that may not read, if memory is shared */
};

struct sim_node {
    struct sim_lane *lanes[ADDRESS_RAILS]; /* NULL: none */
    uint16_t processes[ADDRESS_RAILS];     /* number of lanes opened there so far */
    uint64_t idle_ns[ADDRESS_RAILS];       /* when all frames for it so far have passed its port */
    bool unplugged[ADDRESS_RAILS];
    bool vanished;
    uint32_t mangled_ppm;
};

struct sim_wire {
    struct sim_options options;
    struct random random;
    uint64_t now_ns;
    uint64_t next_serial;
    uint64_t trace_hash;
    struct sim_counters counters;
    sim_observer *observer;
    void *observer_context;
    struct sim_node *nodes;
    uint8_t *told;     /* [node * nodes + of whose end]; made when the first is told; likewise */
    uint8_t *cut;      /* [from * nodes + to]; made when the first link is cut */
    uint16_t *longest; /* [(from * nodes + to) * ADDRESS_RAILS + rail]; likewise */
    struct sim_frame *frames;
    uint8_t *memory;
    struct sim_frame *free;
    struct sim_frame **heap; /* by time; parent of i is (i - 1) / 2 */
    uint32_t heap_count;
};

/** Counts an event of a frame, and reports it to the observer. */
void sim_note(struct sim_wire *wire, enum sim_event_kind kind, const struct sim_event *frame);

/** Is the link between the nodes cut on that network? */
bool sim_is_cut(const struct sim_wire *wire, uint32_t from, uint32_t to, uint32_t rail);

/** Is a frame too long for the link between its nodes on that network? */
bool sim_is_too_long(const struct sim_wire *wire, const struct sim_event *frame);

/** Sends one copy, which may suffer faults. */
void sim_launch(struct sim_wire *wire, const struct sim_event *event,
                const struct lane_outgoing *outgoing);

/** Frees frames; a list by `next`, or NULL. */
void sim_give_back(struct sim_wire *wire, struct sim_frame *frame);
void sim_give_back_list(struct sim_wire *wire, struct sim_frame *frame);

#endif /* BEOWIRE_LANE_SIM_INTERNAL_H */
