/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/verbs/verbs_link.h"

#include "lane/clock.h"

#include <errno.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/** An unacknowledged packet is retransmitted after 4.096 us * 2^14 = 67 ms, 7 times. After half a
 *  second the other end counts as dead; then messages come as frames, or the peer fails. */
#define TIMEOUT 14
#define RETRIES 7

/** "Not ready" is for sends without a receive, which do not occur: 0.64 ms. */
#define NOT_READY_TIMER 12

#define START_MASK 0xFFFFFFu /* packet sequence numbers have 24 bits */

/* ---- the table ------------------------------------------------------------------------------ */

static struct verbs_link **bucket_of(const struct verbs_lane *verbs,
                                     const struct verbs_place *place)
{
    uint32_t mixed = (place->ipv4 ^ place->queue_pair * 0x9E3779B1u) * 0x85EBCA6Bu;

    return (struct verbs_link **)&verbs->links[mixed >> 16 & (VERBS_LINK_BUCKETS - 1)];
}

struct verbs_link *verbs_link_find(const struct verbs_lane *verbs, const struct verbs_place *place)
{
    struct verbs_link *link = *bucket_of(verbs, place);

    while (link != NULL && memcmp(&link->place, place, sizeof *place) != 0) {
        link = link->next;
    }
    return link;
}

/* ---- the queue pair ------------------------------------------------------------------------- */

static uint32_t new_start(void)
{
    uint32_t start = 0;

    if (getrandom(&start, sizeof start, GRND_NONBLOCK) != (ssize_t)sizeof start) {
        start = (uint32_t)clock_now_ns();
    }
    return start & START_MASK;
}

static int make_pair(struct verbs_lane *verbs, struct verbs_link *link)
{
    struct ibv_qp_init_attr attributes = {
        .send_cq = verbs->reads_ended,
        .recv_cq = verbs->reads_ended, /* receives nothing */
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = LANE_VERBS_READ_REQUESTS,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };

    if (link->domain == NULL) {
        link->domain = verbs->library->alloc_pd(verbs->context);
    }
    if (link->domain == NULL || verbs->links_open == LANE_VERBS_LINKS) {
        return -ENOBUFS;
    }
    link->pair = verbs->library->create_qp(link->domain, &attributes);
    if (link->pair == NULL) {
        return -ENOBUFS;
    }
    verbs->links_open++;
    link->start = new_start();
    return 0;
}

static void end_pair(struct verbs_lane *verbs, struct verbs_link *link)
{
    if (link->pair != NULL) {
        (void)verbs->library->destroy_qp(link->pair); /* afterwards the card does nothing for it */
        link->pair = NULL;
        verbs->links_open--;
    }
    link->open = false;
    verbs_reads_fail(verbs, link);
}

/** Connects our new or reset pair to the peer's. @return 0, or an errno. */
static int connect_pair(struct verbs_lane *verbs, struct verbs_link *link)
{
    const struct verbs_library *library = verbs->library;
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT,
                                     .port_num = verbs->port,
                                     .qp_access_flags = IBV_ACCESS_REMOTE_READ};
    int status =
        library->modify_qp(link->pair, &attributes,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

    attributes = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR,
        .path_mtu = verbs->mtu,
        .dest_qp_num = link->peer_pair,
        .rq_psn = link->peer_start,
        .max_dest_rd_atomic = verbs->reads_most,
        .min_rnr_timer = NOT_READY_TIMER,
        .ah_attr = {.is_global = 1,
                    .port_num = verbs->port,
                    .grh = {.sgid_index = verbs->gid_index, .hop_limit = IPDEFTTL}},
    };
    verbs_gid_of(link->place.ipv4, &attributes.ah_attr.grh.dgid);
    if (status == 0) {
        status = library->modify_qp(link->pair, &attributes,
                                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                        IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                        IBV_QP_MIN_RNR_TIMER);
    }
    attributes = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS,
        .sq_psn = link->start,
        .timeout = TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .max_rd_atomic = verbs->reads_most,
    };
    if (status == 0) {
        status = library->modify_qp(link->pair, &attributes,
                                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                        IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }
    return status;
}

/* ---- HELLO ---------------------------------------------------------------------------------- */

static void say_hello(struct verbs_lane *verbs, const struct verbs_link *link)
{
    const struct verbs_hello hello = {
        .key = to_le32(link->peer_key),
        .pair = to_le32(link->pair != NULL ? link->pair->qp_num : 0),
        .start = to_le32(link->start),
        .yours = to_le32(link->open ? link->peer_pair : 0),
    };

    verbs_send_note(verbs, &link->place, VERBS_HELLO_IMMEDIATE, &hello, sizeof hello);
}

void verbs_link_ask(struct verbs_lane *verbs, struct verbs_link *link)
{
    uint64_t now = clock_now_ns();

    if (link->open || now < link->not_before_ns) {
        return;
    }
    if (link->pair == NULL && make_pair(verbs, link) != 0) {
        link->not_before_ns = now + LANE_VERBS_MEND_NS;
        return;
    }
    link->not_before_ns = now + LANE_VERBS_HELLO_NS;
    say_hello(verbs, link);
}

/** The peer's pair is now this one. @return whether ours is connected to it. */
static bool connect_to(struct verbs_lane *verbs, struct verbs_link *link, uint32_t pair,
                       uint32_t start, bool knows_ours)
{
    if (link->open && pair == link->peer_pair && start == link->peer_start) {
        return true;
    }
    if (link->open) { /* to a pair that no longer exists */
        struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RESET};
        if (verbs->library->modify_qp(link->pair, &attributes, IBV_QP_STATE) != 0) {
            end_pair(verbs, link);
            return false;
        }
        link->open = false;
        verbs_reads_fail(verbs, link);
        /* A peer that knows our pair knows its start. */
        link->start = knows_ours ? link->start : new_start();
    }
    if (link->pair == NULL && make_pair(verbs, link) != 0) {
        return false;
    }
    link->peer_pair = pair;
    link->peer_start = start;
    link->open = connect_pair(verbs, link) == 0;
    if (!link->open) {
        end_pair(verbs, link);
        link->not_before_ns = clock_now_ns() + LANE_VERBS_MEND_NS;
    }
    return link->open;
}

bool verbs_link_hello(struct verbs_lane *verbs, const struct verbs_place *from,
                      const uint8_t *bytes, uint32_t count)
{
    struct verbs_link *link = verbs_link_find(verbs, from);
    struct verbs_hello hello;

    if (link == NULL || count < sizeof hello) {
        return false;
    }
    memcpy(&hello, bytes, sizeof hello);
    if (from_le32(hello.key) != link->own_key) {
        return false;
    }
    uint32_t pair = from_le32(hello.pair);
    uint32_t yours = from_le32(hello.yours);
    if (pair == 0) {
        if (link->open) {
            end_pair(verbs, link);
        }
        return true;
    }
    bool knows_ours = link->pair != NULL && yours == link->pair->qp_num;
    if (yours != 0 && !knows_ours) {
        /* It answers an outdated HELLO of ours, and has left the pair that we know. */
        if (link->open) {
            end_pair(verbs, link);
        }
        verbs_link_ask(verbs, link);
        return true;
    }
    if (connect_to(verbs, link, pair, from_le32(hello.start) & START_MASK, knows_ours) &&
        !knows_ours) {
        say_hello(verbs, link);
    }
    return true;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

void verbs_link_break(struct verbs_lane *verbs, struct verbs_link *link)
{
    end_pair(verbs, link);
    link->not_before_ns = clock_now_ns() + LANE_VERBS_MEND_NS;
    say_hello(verbs, link);
}

void verbs_link_meet(struct lane *lane, const struct lane_address *to, uint32_t own_key,
                     uint32_t peer_key)
{
    struct verbs_lane *verbs = verbs_of(lane);
    const struct verbs_place *place = (const struct verbs_place *)(const void *)to;
    struct verbs_link *link = verbs_link_find(verbs, place);

    if (link == NULL) {
        link = calloc(1, sizeof *link);
        if (link == NULL) {
            return; /* then frames are used */
        }
        struct verbs_link **bucket = bucket_of(verbs, place);
        link->place = *place;
        link->next = *bucket;
        *bucket = link;
    } else if (link->own_key != own_key || link->peer_key != peer_key) {
        end_pair(verbs, link); /* it belonged to another connection */
    }
    link->own_key = own_key;
    link->peer_key = peer_key;
}

static void forget(struct verbs_lane *verbs, struct verbs_link *link)
{
    end_pair(verbs, link);
    if (link->domain != NULL) {
        verbs_memory_take_all_back(&verbs->registered, link->domain);
        (void)verbs->library->dealloc_pd(link->domain);
    }
    free(link);
}

void verbs_link_withdraw(struct lane *lane, const struct lane_address *to)
{
    struct verbs_lane *verbs = verbs_of(lane);
    const struct verbs_place *place = (const struct verbs_place *)(const void *)to;
    struct verbs_link **at = bucket_of(verbs, place);

    while (*at != NULL && memcmp(&(*at)->place, place, sizeof *place) != 0) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        struct verbs_link *link = *at;
        *at = link->next;
        forget(verbs, link);
    }
}

void verbs_links_close(struct verbs_lane *verbs)
{
    for (unsigned i = 0; i < VERBS_LINK_BUCKETS; i++) {
        while (verbs->links[i] != NULL) {
            struct verbs_link *link = verbs->links[i];
            verbs->links[i] = link->next;
            forget(verbs, link);
        }
    }
}
