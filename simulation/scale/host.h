/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host.h - nodes. Each has a core (core/core.h), two lanes, and a processor, which is busy for a
 * while with each frame sent or received.
 *
 * The lanes are like `packet` and `udp`: the frames of the first go straight to the card; those of
 * the second, which carries several frames that are ready together and the data of long messages,
 * wait in the host's queue until few are in the card.
 */
#ifndef BEOWIRE_SIMULATION_SCALE_HOST_H
#define BEOWIRE_SIMULATION_SCALE_HOST_H

#include "core/core.h"
#include "lane/random.h"
#include "network.h"

struct host_options {
    uint64_t frame_ns;      /**< work for a frame */
    uint64_t receive_bytes; /**< that may wait at a lane of a node; more are dropped */
    uint32_t frame_bytes;
};

/** Two of them: see above. */
enum { HOST_LANES = 2 };

struct host_lane {
    struct lane lane; /**< first: the layers above know only this */
    struct host *host;
    bool direct;                   /**< its frames do not wait in the host's queue */
    struct network_frame *arrived; /**< oldest first */
    struct network_frame *arrived_last;
    uint64_t arrived_bytes;
    struct network_frame *held; /**< handed out, not yet released */
};

struct host {
    struct host_lane lanes[HOST_LANES];
    struct hosts *hosts;
    uint32_t node;
    struct core core;
    uint64_t clock_ns; /**< the processor is busy until then */
    bool refused;      /**< there was no room for a frame to send */
    uint64_t dropped;  /**< for lack of room here */
};

struct hosts {
    struct host_options options;
    struct network *network;
    struct schedule *schedule;
    struct random random;
    struct host *host; /**< `count`; the number of each is its source in the schedule */
    uint32_t count;
};

/** @param peers how many each has at most, by node */
void hosts_open(struct hosts *hosts, const struct host_options *options, uint32_t count,
                const uint32_t *peers, struct network *network, uint64_t seed);
void hosts_close(struct hosts *hosts);

/** A frame has come to its node. */
void host_deliver(struct host *host, struct network_frame *frame, uint64_t now_ns);

/** The card of a node has room again. */
void host_has_room(struct host *host, uint64_t now_ns);

/** It is this node's turn. @return false: it is busy, and gets a later turn. */
bool host_begin(struct host *host, uint64_t now_ns);

/** Takes frames, and runs timers. */
void host_progress(struct host *host);

/** The turn ends: says in the schedule when the next one is. */
void host_end(struct host *host);

/** Posts a message. @return as core_post() */
int host_post(struct host *host, uint32_t to, uint64_t tag, const void *data, uint64_t bytes,
              void *context);

#endif /* BEOWIRE_SIMULATION_SCALE_HOST_H */
