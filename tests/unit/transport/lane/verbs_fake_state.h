/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_fake_state.h - what the devices of verbs_fake.h are made of, and how a test says that they
 * are.
 */
#ifndef BEOWIRE_TESTS_LANE_VERBS_FAKE_STATE_H
#define BEOWIRE_TESTS_LANE_VERBS_FAKE_STATE_H

#include "frame/address_layout.h"
#include "frame/frame.h"
#include "lane/verbs/verbs.h"
#include "lane/verbs/verbs_internal.h"
#include "unit/test.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FAKE_DEVICES 2
#define FAKE_PAIRS 8
#define FAKE_QUEUE (2 * LANE_VERBS_READ_REQUESTS_ALL + LANE_RING_FRAMES * 2)
#define FAKE_REGIONS 300

struct fake_context {
    struct ibv_context context;
    uint32_t ipv4;
};

struct fake_channel {
    struct ibv_comp_channel channel;
    unsigned count; /* of events: a queue each */
    struct ibv_cq *events[2];
};

struct fake_queue {
    struct ibv_cq cq;
    struct ibv_comp_channel *channel;
    bool armed;
    unsigned count;
    struct ibv_wc done[FAKE_QUEUE];
};

struct fake_pair {
    struct ibv_qp qp;
    bool is_open;
    enum ibv_qp_state state;
    uint32_t ipv4;
    uint32_t qkey;
    unsigned posted; /* receives */
    struct ibv_sge slots[LANE_RING_FRAMES];
    uint64_t ids[LANE_RING_FRAMES];
    uint32_t unreported; /* sends */
    /* Of a reliable connection. */
    struct ibv_pd *domain;
    uint32_t peer_ipv4;
    uint32_t peer_pair;
    uint32_t start;
    uint32_t peer_start;
    unsigned reading; /* requests that are held back */
    struct ibv_send_wr reads[LANE_VERBS_READ_REQUESTS];
    struct ibv_sge read_into[LANE_VERBS_READ_REQUESTS];
};

struct fake_region {
    struct ibv_mr region;
    bool is_there;
    int access;
    uint64_t address; /* by which others know it */
};

struct fake_handle {
    struct ibv_ah ah;
    uint32_t ipv4;
};

/** The devices; a test says how they are. */
static struct {
    uint32_t ipv4; /**< of the device that is opened next */
    unsigned interface;
    int gid_type;
    enum ibv_mtu mtu;
    enum ibv_port_state state;
    unsigned devices;
    bool gone;            /**< nothing works any more */
    bool refuses;         /**< a device's file is for others */
    unsigned inline_most; /**< longer asks are refused */
    const char *fails;    /**< this function does, always */
    uint32_t absent;      /**< this host does not answer */
    bool waits;           /**< whoever asks for a host waits for `answer` */
    sem_t answer;
    unsigned asked;          /**< handles */
    bool holds;              /**< sends do not complete */
    unsigned takes;          /**< of a list that is posted, so many */
    enum ibv_wc_status says; /**< of what is sent */
    uint32_t immediate;      /**< not 0: what arrives says that it has this */
    uint8_t version;         /**< of the IP header of what arrives */
    bool deaf;               /**< HELLO is lost */
    bool holds_reads;        /**< they end when fake_read() is called */
    unsigned reads;          /**< requests that were answered */
    struct fake_region regions[FAKE_REGIONS];
    unsigned things; /**< that were made and not given back */
    uint32_t numbers;
    struct fake_pair pairs[FAKE_PAIRS];
} fake;

static inline const struct fake_context *fake_context_of(const struct ibv_context *context)
{
    return (const struct fake_context *)(const void *)context;
}

static inline bool fake_fails(const char *function)
{
    errno = ENOMEM;
    return fake.fails != NULL && strcmp(fake.fails, function) == 0;
}

static inline void *fake_made(void *thing)
{
    assert_non_null(thing);
    (void)__atomic_fetch_add(&fake.things, 1, __ATOMIC_RELAXED);
    return thing;
}

static inline int fake_gave_back(void *thing)
{
    free(thing);
    (void)__atomic_fetch_sub(&fake.things, 1, __ATOMIC_RELAXED);
    return 0;
}

#endif /* BEOWIRE_TESTS_LANE_VERBS_FAKE_STATE_H */
