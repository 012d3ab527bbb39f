/* SPDX-License-Identifier: BSD-3-Clause */
/* Lending memory to peers, and reading theirs by RDMA. */
#include "lane/verbs/verbs_internal.h"
#include "lane/verbs/verbs_link.h"

#include <errno.h>
#include <string.h>

/** The most requests posted by one call. */
#define POSTED_MAX 16

/* ---- lending -------------------------------------------------------------------------------- */

uint64_t verbs_lend(struct lane *lane, const struct lane_address *to, const void *memory,
                    uint64_t bytes)
{
    struct verbs_lane *verbs = verbs_of(lane);
    struct verbs_link *link = verbs_link_find(verbs, (const struct verbs_place *)(const void *)to);

    if (link == NULL || bytes > (uint64_t)LANE_VERBS_READ_REQUESTS * LANE_VERBS_READ_BYTES) {
        return 0;
    }
    if (!link->open) {
        verbs_link_ask(verbs, link);
        return 0;
    }
    return verbs_memory_lend(&verbs->registered, link->domain, memory, bytes);
}

void verbs_take_back(struct lane *lane, uint64_t lent)
{
    verbs_memory_take_back(&verbs_of(lane)->registered, lent);
}

/* ---- reading -------------------------------------------------------------------------------- */

/** The name of a request: the entry, and its use. */
static uint64_t name_of(const struct verbs_lane *verbs, const struct verbs_read *read)
{
    return (uint64_t)(read - verbs->reads) | (uint64_t)read->serial << 16;
}

/** @return NULL: the read has ended. */
static struct verbs_read *named(struct verbs_lane *verbs, uint64_t name)
{
    struct verbs_read *read = &verbs->reads[name % LANE_VERBS_READS];

    return read->context != NULL && read->target != NULL && name_of(verbs, read) == name ? read
                                                                                         : NULL;
}

static struct verbs_read *free_entry(struct verbs_lane *verbs)
{
    for (unsigned i = 0; i < LANE_VERBS_READS; i++) {
        if (verbs->reads[i].context == NULL) {
            return &verbs->reads[i];
        }
    }
    return NULL;
}

/** Posts requests of a read, beginning with this number; only the last of all is reported. @return
 *  whether all were posted. */
static bool post_some(const struct verbs_lane *verbs, const struct verbs_read *read, uint64_t lent,
                      uint8_t *target, uint64_t bytes, unsigned first, unsigned count)
{
    struct ibv_send_wr requests[POSTED_MAX];
    struct ibv_sge parts[POSTED_MAX];
    struct ibv_send_wr *refused = NULL;

    for (unsigned i = 0; i < count; i++) {
        uint64_t offset = (uint64_t)(first + i) * LANE_VERBS_READ_BYTES;
        bool last = first + i + 1 == read->requests;
        parts[i] = (struct ibv_sge){
            .addr = (uintptr_t)(target + offset),
            .length = last ? (uint32_t)(bytes - offset) : LANE_VERBS_READ_BYTES,
            .lkey = read->target->region->lkey,
        };
        requests[i] = (struct ibv_send_wr){
            .wr_id = name_of(verbs, read),
            .next = i + 1 == count ? NULL : &requests[i + 1],
            .sg_list = &parts[i],
            .num_sge = 1,
            .opcode = IBV_WR_RDMA_READ,
            .send_flags = last ? IBV_SEND_SIGNALED : 0,
            .wr.rdma = {.remote_addr = verbs_lent_address(lent) + offset,
                        .rkey = verbs_lent_key(lent)},
        };
    }
    return ibv_post_send(read->link->pair, requests, &refused) == 0;
}

static bool post(const struct verbs_lane *verbs, const struct verbs_read *read, uint64_t lent,
                 uint8_t *target, uint64_t bytes)
{
    bool taken = true;

    for (unsigned first = 0; first < read->requests && taken; first += POSTED_MAX) {
        unsigned left = read->requests - first;
        taken = post_some(verbs, read, lent, target, bytes, first,
                          left < POSTED_MAX ? left : POSTED_MAX);
    }
    return taken;
}

/** The read has ended: its memory belongs to the application again. */
static void end(struct verbs_lane *verbs, struct verbs_read *read, int status)
{
    verbs_memory_end(&verbs->registered, read->target);
    read->link->requests -= read->requests;
    verbs->reads_requests -= read->requests;
    read->target = NULL;
    read->link = NULL;
    read->status = status;
    verbs->reads_over++;
}

/** The end of the read was reported: frees the entry. */
static void release(struct verbs_lane *verbs, struct verbs_read *read)
{
    read->context = NULL;
    read->serial++;
    verbs->reads_count--;
    verbs->reads_over--;
}

void verbs_reads_fail(struct verbs_lane *verbs, const struct verbs_link *link)
{
    for (unsigned i = 0; i < LANE_VERBS_READS; i++) {
        struct verbs_read *read = &verbs->reads[i];
        if (read->context != NULL && read->target != NULL && read->link == link) {
            end(verbs, read, -EIO);
        }
    }
}

/** Handles the completions that have arrived. */
static void settle(struct verbs_lane *verbs)
{
    struct ibv_wc done[VERBS_POLLED_MAX];
    int count = VERBS_POLLED_MAX;

    while (count == VERBS_POLLED_MAX) {
        count = ibv_poll_cq(verbs->reads_ended, VERBS_POLLED_MAX, done);
        for (int i = 0; i < count; i++) {
            struct verbs_read *read = named(verbs, done[i].wr_id);
            if (read == NULL) {
                continue; /* of a link that broke */
            }
            if (done[i].status != IBV_WC_SUCCESS) {
                verbs_link_break(verbs, read->link);
                continue;
            }
            end(verbs, read, 0);
        }
    }
    verbs->broken = verbs->broken || count < 0;
}

int verbs_begin_read(struct lane *lane, const struct lane_address *from, uint64_t lent,
                     void *target, uint64_t bytes, void *context)
{
    struct verbs_lane *verbs = verbs_of(lane);
    struct verbs_link *link =
        verbs_link_find(verbs, (const struct verbs_place *)(const void *)from);
    struct verbs_read *read = free_entry(verbs);
    uint64_t requests = (bytes + LANE_VERBS_READ_BYTES - 1) / LANE_VERBS_READ_BYTES;

    if (link == NULL || read == NULL) {
        return link == NULL ? -ENOTCONN : -EAGAIN;
    }
    if (!link->open) {
        verbs_link_ask(verbs, link);
        return -ENOTCONN;
    }
    settle(verbs); /* frees the room of broken connections */
    if (!link->open || requests == 0 || requests > LANE_VERBS_READ_REQUESTS - link->requests ||
        requests > LANE_VERBS_READ_REQUESTS_ALL - verbs->reads_requests) {
        return -EAGAIN;
    }
    read->target = verbs_memory_open(&verbs->registered, link->domain, target, bytes);
    if (read->target == NULL) {
        return -ENOBUFS;
    }
    read->context = context;
    read->link = link;
    read->requests = (unsigned)requests;
    verbs->reads_count++;
    link->requests += read->requests;
    verbs->reads_requests += read->requests;
    if (!post(verbs, read, lent, target, bytes)) {
        verbs_stop_read(lane, context); /* the card may have some of its requests */
        return -EIO;
    }
    return 0;
}

bool verbs_reads_have_ended(struct verbs_lane *verbs)
{
    if (verbs->reads_count > verbs->reads_over) {
        settle(verbs);
    }
    return verbs->reads_over > 0;
}

bool verbs_read_ended(struct lane *lane, void **context, int *status)
{
    struct verbs_lane *verbs = verbs_of(lane);

    if (!verbs_reads_have_ended(verbs)) {
        return false;
    }
    for (unsigned i = 0; i < LANE_VERBS_READS; i++) {
        struct verbs_read *read = &verbs->reads[i];
        if (read->context != NULL && read->target == NULL) {
            *context = read->context;
            *status = read->status;
            release(verbs, read);
            return true;
        }
    }
    return false;
}

void verbs_stop_read(struct lane *lane, void *context)
{
    struct verbs_lane *verbs = verbs_of(lane);

    for (unsigned i = 0; i < LANE_VERBS_READS; i++) {
        struct verbs_read *read = &verbs->reads[i];
        if (read->context == context) {
            if (read->target != NULL) {
                verbs_link_break(verbs, read->link);
            }
            release(verbs, read);
            return;
        }
    }
}
