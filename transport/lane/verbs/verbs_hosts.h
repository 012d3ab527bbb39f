/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_hosts.h - the address handles by which a datagram queue pair sends to other hosts.
 *
 * Making one asks the kernel for the host's MAC, and the call waits for the answer: up to a second,
 * if there is no such host. So a thread makes them, one after the other; whoever sends asks again.
 * The table has a place for each of VERBS_HOSTS hosts; a further one takes the place of another,
 * which is made anew when it is next sent to.
 *
 * Threads: one calls; the one in here fills in handles.
 */
#ifndef BEOWIRE_LANE_VERBS_HOSTS_H
#define BEOWIRE_LANE_VERBS_HOSTS_H

#include "lane/verbs/verbs_library.h"
#include "tuning.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** Hosts that share a place, so that one takes another's only if so many are in use. */
#define VERBS_HOST_WAYS 4

enum verbs_host_state {
    VERBS_HOST_NONE,
    VERBS_HOST_WANTED, /**< the thread's */
    VERBS_HOST_KNOWN,
    VERBS_HOST_SILENT, /**< there was no answer: it is asked again later */
};

struct verbs_host {
    uint32_t ipv4; /**< as in a packet; 0: none */
    /** Released by whoever writes the others, and acquired by whoever reads them. */
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
    pthread_mutex_t lock; /**< of what follows */
    pthread_cond_t news;
    bool ends;
    unsigned wanted; /**< how many are VERBS_HOST_WANTED */
    /* Behind the lock. */
    unsigned next_way; /**< whose place is taken next */
    struct verbs_host hosts[LANE_VERBS_HOSTS];
};

/** Starts the thread. `library`, `domain`, `port` and `gid_index` are set, and all else is 0.
 *  @return 0, or a negative errno. */
int verbs_hosts_open(struct verbs_hosts *hosts);

/** Asks for a host's handle.
 *  @param quiet no send is under way, so that other hosts' handles may be given back
 *  @return 0, and `handle` is written; -EAGAIN: not yet; -EHOSTUNREACH: it does not answer. */
int verbs_hosts_find(struct verbs_hosts *hosts, uint32_t ipv4, bool quiet, struct ibv_ah **handle);

/** Ends the thread, and gives all handles back: no send is under way any more. */
void verbs_hosts_close(struct verbs_hosts *hosts);

#endif /* BEOWIRE_LANE_VERBS_HOSTS_H */
