/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pair.h - two endpoints of the provider, opened through libfabric as a program does, on the two
 * ends of a cable. Both are in this process, so whoever waits has to drive both.
 */
#ifndef BEOWIRE_TESTS_FABRIC_PAIR_H
#define BEOWIRE_TESTS_FABRIC_PAIR_H

#include "unit/test.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** What differs from test to test; 0 is the usual. */
struct pair_options {
    uint32_t version; /**< that the program is written for; 0: 1.17 */
    uint64_t caps;    /**< 0: FI_TAGGED | FI_MSG */
    enum fi_threading threading;
    enum fi_av_type av_type;
    enum fi_cq_format format;
    enum fi_wait_obj wait;
    size_t cq_entries;
    uint64_t cq_flags; /**< such as FI_SELECTIVE_COMPLETION */
    uint64_t tx_flags;
    int mr_mode;
    enum fi_progress progress; /**< of control and data */
    enum fi_wait_obj counter_wait;
    bool two_queues; /**< one for what is sent, and another, `received_cq`, for what comes */
    bool counters; /**< bind a counter for sends, one for receives, one for a peer's memory, and two
                      for what peers do to ours */
};

struct side {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_cq *received_cq;
    struct fid_cntr *sent;
    struct fid_cntr *received;
    struct fid_cntr *remote;
    struct fid_cntr *read_by_peers;
    struct fid_cntr *written_by_peers;
    struct fid_ep *ep;
    fi_addr_t other;
};

struct pair {
    struct side sides[2];
};

/** Longest wait for anything: far more than it takes on a busy machine. */
#define PATIENCE_S 20

static inline bool is_late(time_t start)
{
    return time(NULL) > start + PATIENCE_S;
}

/** The info of the interface named so, narrowed by these options. */
static inline struct fi_info *get_info(const char *interface, const struct pair_options *options)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_info *info = NULL;

    assert_non_null(hints);
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = options->caps != 0 ? options->caps : FI_TAGGED | FI_MSG;
    hints->domain_attr->name = strdup(interface);
    hints->domain_attr->threading = options->threading;
    hints->domain_attr->av_type = options->av_type;
    hints->domain_attr->control_progress = options->progress;
    hints->domain_attr->data_progress = options->progress;
    hints->tx_attr->op_flags = options->tx_flags;
    hints->domain_attr->mr_mode = options->mr_mode;
    uint32_t version = options->version != 0 ? options->version : FI_VERSION(1, 17);
    assert_int_equal(fi_getinfo(version, NULL, NULL, 0, hints, &info), 0);
    fi_freeinfo(hints);
    return info;
}

static inline void open_domain(struct side *side, const char *interface,
                               const struct pair_options *options)
{
    side->info = get_info(interface, options);
    assert_int_equal(fi_fabric(side->info->fabric_attr, &side->fabric, NULL), 0);
    assert_int_equal(fi_domain(side->fabric, side->info, &side->domain, NULL), 0);
}

static inline void open_endpoint(struct side *side, const struct pair_options *options)
{
    struct fi_av_attr av = {.type = options->av_type};
    struct fi_cq_attr cq = {.format = options->format != FI_CQ_FORMAT_UNSPEC ? options->format
                                                                             : FI_CQ_FORMAT_TAGGED,
                            .size = options->cq_entries,
                            .wait_obj = options->wait};
    struct fi_cntr_attr counter = {.events = FI_CNTR_EVENTS_COMP,
                                   .wait_obj = options->counter_wait};

    assert_int_equal(fi_av_open(side->domain, &av, &side->av, NULL), 0);
    assert_int_equal(fi_cq_open(side->domain, &cq, &side->cq, NULL), 0);
    assert_int_equal(fi_endpoint(side->domain, side->info, &side->ep, NULL), 0);
    assert_int_equal(fi_ep_bind(side->ep, &side->av->fid, 0), 0);
    uint64_t received = FI_RECV;
    if (options->two_queues) {
        assert_int_equal(fi_cq_open(side->domain, &cq, &side->received_cq, NULL), 0);
        assert_int_equal(fi_ep_bind(side->ep, &side->received_cq->fid, FI_RECV | options->cq_flags),
                         0);
        received = 0;
    }
    assert_int_equal(
        fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | received | options->cq_flags), 0);
    if (options->counters) {
        assert_int_equal(fi_cntr_open(side->domain, &counter, &side->sent, NULL), 0);
        assert_int_equal(fi_cntr_open(side->domain, &counter, &side->received, NULL), 0);
        assert_int_equal(fi_ep_bind(side->ep, &side->sent->fid, FI_SEND), 0);
        assert_int_equal(fi_ep_bind(side->ep, &side->received->fid, FI_RECV), 0);
        assert_int_equal(fi_cntr_open(side->domain, &counter, &side->remote, NULL), 0);
        assert_int_equal(fi_ep_bind(side->ep, &side->remote->fid, FI_READ | FI_WRITE), 0);
        assert_int_equal(fi_cntr_open(side->domain, &counter, &side->read_by_peers, NULL), 0);
        assert_int_equal(fi_cntr_open(side->domain, &counter, &side->written_by_peers, NULL), 0);
        assert_int_equal(fi_ep_bind(side->ep, &side->read_by_peers->fid, FI_REMOTE_READ), 0);
        assert_int_equal(fi_ep_bind(side->ep, &side->written_by_peers->fid, FI_REMOTE_WRITE), 0);
    }
    assert_int_equal(fi_enable(side->ep), 0);
}

static inline void open_side(struct side *side, const char *interface,
                             const struct pair_options *options)
{
    open_domain(side, interface, options);
    open_endpoint(side, options);
}

/** Makes one side known to the other. */
static inline void introduce(struct side *to, const struct side *whom)
{
    uint8_t name[FI_NAME_MAX];
    size_t bytes = sizeof name;

    assert_int_equal(fi_getname(&whom->ep->fid, name, &bytes), 0);
    assert_int_equal(fi_av_insert(to->av, name, 1, &to->other, 0, NULL), 1);
}

static inline void close_side(struct side *side)
{
    assert_int_equal(fi_close(&side->ep->fid), 0);
    if (side->sent != NULL) {
        assert_int_equal(fi_close(&side->sent->fid), 0);
        assert_int_equal(fi_close(&side->received->fid), 0);
        assert_int_equal(fi_close(&side->remote->fid), 0);
        assert_int_equal(fi_close(&side->read_by_peers->fid), 0);
        assert_int_equal(fi_close(&side->written_by_peers->fid), 0);
    }
    if (side->received_cq != NULL) {
        assert_int_equal(fi_close(&side->received_cq->fid), 0);
    }
    assert_int_equal(fi_close(&side->cq->fid), 0);
    assert_int_equal(fi_close(&side->av->fid), 0);
    assert_int_equal(fi_close(&side->domain->fid), 0);
    assert_int_equal(fi_close(&side->fabric->fid), 0);
    fi_freeinfo(side->info);
}

static inline struct pair *open_pair(const struct pair_options *options)
{
    struct pair *pair = calloc(1, sizeof *pair);

    assert_non_null(pair);
    open_side(&pair->sides[0], "end0", options);
    open_side(&pair->sides[1], "end1", options);
    introduce(&pair->sides[0], &pair->sides[1]);
    introduce(&pair->sides[1], &pair->sides[0]);
    return pair;
}

static inline void close_pair(struct pair *pair)
{
    close_side(&pair->sides[0]);
    close_side(&pair->sides[1]);
    free(pair);
}

static inline struct pair *open_default_pair(void)
{
    return open_pair(&(struct pair_options){0});
}

/** The same where this variable is set. */
static inline struct pair *open_pair_with(const char *variable, const char *value)
{
    assert_int_equal(setenv(variable, value, 1), 0);
    struct pair *pair = open_default_pair();
    assert_int_equal(unsetenv(variable), 0);
    return pair;
}

/** Reading nothing makes progress. */
static inline void drive(struct side *side)
{
    (void)fi_cq_read(side->cq, NULL, 0);
}

/** The next completion of a side, whose queue has the widest format. */
static inline struct fi_cq_tagged_entry completed(struct pair *pair, unsigned index)
{
    struct fi_cq_tagged_entry entry;
    time_t start = time(NULL);

    for (;;) {
        ssize_t count = fi_cq_read(pair->sides[index].cq, &entry, 1);
        if (count == 1) {
            return entry;
        }
        assert_int_equal(count, -FI_EAGAIN);
        assert_false(is_late(start));
        drive(&pair->sides[1 - index]);
    }
}

/** The next completion of a side, which has to be an error. */
static inline struct fi_cq_err_entry failed(struct pair *pair, unsigned index)
{
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    time_t start = time(NULL);
    ssize_t count = 0;

    while ((count = fi_cq_read(pair->sides[index].cq, &entry, 1)) == -FI_EAGAIN) {
        assert_false(is_late(start));
        drive(&pair->sides[1 - index]);
    }
    assert_int_equal(count, -FI_EAVAIL);
    assert_int_equal(fi_cq_readerr(pair->sides[index].cq, &error, 0), 1);
    return error;
}

/** Until a message has arrived and waits, unmatched: until something sent after it was received.
 *  Uses the tag UINT32_MAX. */
static inline void let_arrive(struct pair *pair, unsigned from)
{
    char byte = 0;
    const struct side *sender = &pair->sides[from];
    const struct side *receiver = &pair->sides[1 - from];

    assert_int_equal(fi_trecv(receiver->ep, &byte, 1, NULL, FI_ADDR_UNSPEC, UINT32_MAX, 0, &byte),
                     0);
    assert_int_equal(fi_tinject(sender->ep, "x", 1, sender->other, UINT32_MAX), 0);
    assert_ptr_equal(completed(pair, 1 - from).op_context, &byte);
}

/** Until some of a long message has come for a receive of side 1 whose buffer was all zeros; the
 *  rest of it does not come as long as nobody drives side 0. */
static inline void let_begin(struct pair *pair, const volatile uint8_t *buffer)
{
    time_t start = time(NULL);

    while (buffer[0] == 0) {
        drive(&pair->sides[1]);
        assert_false(is_late(start));
    }
}

static inline void fill(uint8_t *data, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (uint8_t)(i * 7 + i / 251 + seed);
    }
}

/** Bytes that differ from place to place, and from seed to seed. */
static inline uint8_t *pattern(size_t bytes, unsigned seed)
{
    uint8_t *data = malloc(bytes > 0 ? bytes : 1);

    assert_non_null(data);
    fill(data, bytes, seed);
    return data;
}

/** A test with a pair as most programs have it, which is closed afterwards. */
#define PAIR_TEST(name)                                                                            \
    static void name(struct pair *pair);                                                           \
    static void name##__with(void **state)                                                         \
    {                                                                                              \
        struct pair *pair = open_default_pair();                                                   \
        (void)state;                                                                               \
        name(pair);                                                                                \
        close_pair(pair);                                                                          \
    }                                                                                              \
    TEST_LISTED(name, name##__with, NULL, NULL);                                                   \
    static void name(struct pair *pair)

#endif
