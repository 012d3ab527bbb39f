/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_hosts.h - the address handles by which a datagram queue pair sends to other hosts.
 *
 * Creating one asks the kernel for the host's MAC, and waits for the answer: up to a second, if
 * there is no such host. So a thread creates them, one after the other, and senders ask again. The
 * table has room for VERBS_HOSTS hosts. A further one replaces another, whose handle is created
 * again when it is next needed.
 *
 * Threads: one caller; an internal thread fills in handles.
 */
#ifndef BEOWIRE_LANE_VERBS_HOSTS_H
#define BEOWIRE_LANE_VERBS_HOSTS_H

#include "lane/verbs/verbs_library.h"
#include "tuning.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** Hosts that can use the same place: one replaces another only if all of its places are in use. */
#define VERBS_HOST_WAYS 4

enum verbs_host_state {
    VERBS_HOST_NONE,
    VERBS_HOST_WANTED, /**< the thread must create it */
    VERBS_HOST_KNOWN,
    VERBS_HOST_SILENT, /**< no answer: asked again later */
};

struct verbs_host {
    uint32_t ipv4; /**< as in a packet; 0: none */
    /** Released by the writer of the other members, and acquired by their readers. */
    _Atomic(enum verbs_host_state) state;
    struct ibv_ah *handle;
    uint64_t asked_ns; /**< CLOCK_MONOTONIC */
};

struct verbs_hosts {
    const struct verbs_library *library;
    struct ibv_pd *domain;
    uint8_t port;
    uint8_t gid_index; /**< of our own address */
    bool is_open;
    pthread_t thread;
    pthread_mutex_t lock; /**< for the next members */
    pthread_cond_t news;
    bool ends;
    unsigned wanted; /**< number of VERBS_HOST_WANTED */
    /* Not protected by the lock. */
    unsigned next_way; /**< the next place to replace */
    struct verbs_host hosts[LANE_VERBS_HOSTS];
};

/** Starts the thread. `library`, `domain`, `port` and `gid_index` are set, and all else is 0.
 *  @return 0, or a negative errno. */
int verbs_hosts_open(struct verbs_hosts *hosts);

/** Gets a host's handle. @param quiet no send is under way, so handles of other hosts may be freed
 *  @return 0, and `handle` is written; -EAGAIN: not yet; -EHOSTUNREACH: it does not answer. */
int verbs_hosts_find(struct verbs_hosts *hosts, uint32_t ipv4, bool quiet, struct ibv_ah **handle);

/** Ends the thread, and frees all handles. No send may be under way. */
void verbs_hosts_close(struct verbs_hosts *hosts);

#endif /* BEOWIRE_LANE_VERBS_HOSTS_H */
