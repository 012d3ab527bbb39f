/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue pair, and its resources. */
#include "lane/verbs/verbs_internal.h"
#include "lane/verbs/verbs_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/** The requested size of inline sends; the device may grant another. */
#define INLINE_BYTES 128

/** Slots are aligned to cache lines. */
#define CACHE_LINE_BYTES 64

/** Completions of reads that may be pending: of all requests, and of as many earlier ones of broken
 *  connections. */
#define READS_ENDED (2 * LANE_VERBS_READ_REQUESTS_ALL)

static int make_memory(struct verbs_lane *verbs)
{
    uint32_t bytes = VERBS_GRH_BYTES + verbs->lane.frame_bytes;

    verbs->slot_bytes = (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    verbs->memory_bytes = (size_t)verbs->slot_bytes * (LANE_RING_FRAMES + LANE_VERBS_SEND_FRAMES);
    void *memory =
        mmap(NULL, verbs->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return -ENOMEM;
    }
    verbs->memory = memory;
    /* After a fork the card would write into pages that only the child has. */
    (void)madvise(memory, verbs->memory_bytes, MADV_DONTFORK);
    verbs->region =
        verbs->library->reg_mr(verbs->domain, memory, verbs->memory_bytes, IBV_ACCESS_LOCAL_WRITE);
    return verbs->region == NULL ? -ENOBUFS : 0;
}

static int make_queues(struct verbs_lane *verbs)
{
    const struct verbs_library *library = verbs->library;

    verbs->channel = library->create_comp_channel(verbs->context);
    if (verbs->channel == NULL) {
        return errno == EMFILE || errno == ENFILE ? -errno : -ENOBUFS;
    }
    int flags = fcntl(verbs->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(verbs->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return -errno;
    }
    verbs->sent = library->create_cq(verbs->context, LANE_VERBS_SEND_FRAMES, NULL, NULL, 0);
    verbs->received = library->create_cq(verbs->context, LANE_RING_FRAMES, NULL, verbs->channel, 0);
    verbs->reads_ended = library->create_cq(verbs->context, READS_ENDED, NULL, verbs->channel, 0);
    return verbs->sent == NULL || verbs->received == NULL || verbs->reads_ended == NULL ? -ENOBUFS
                                                                                        : 0;
}

static int make_pair(struct verbs_lane *verbs)
{
    struct ibv_qp_init_attr attributes = {
        .send_cq = verbs->sent,
        .recv_cq = verbs->received,
        .qp_type = IBV_QPT_UD,
        .cap = {.max_send_wr = LANE_VERBS_SEND_FRAMES,
                .max_recv_wr = LANE_RING_FRAMES,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = INLINE_BYTES},
    };

    verbs->pair = verbs->library->create_qp(verbs->domain, &attributes);
    if (verbs->pair == NULL) { /* not every device can have that much */
        attributes.cap.max_inline_data = 0;
        verbs->pair = verbs->library->create_qp(verbs->domain, &attributes);
    }
    verbs->inline_bytes = attributes.cap.max_inline_data;
    return verbs->pair == NULL ? -ENOBUFS : 0;
}

static int post_all(struct verbs_lane *verbs)
{
    for (uint32_t first = 0; first < LANE_RING_FRAMES; first += VERBS_POLLED_MAX) {
        uint32_t slots[VERBS_POLLED_MAX];
        for (uint32_t i = 0; i < VERBS_POLLED_MAX; i++) {
            slots[i] = first + i;
        }
        if (!verbs_post_slots(verbs, slots, VERBS_POLLED_MAX)) {
            return -ENOBUFS;
        }
    }
    return 0;
}
static_assert(LANE_RING_FRAMES % VERBS_POLLED_MAX == 0, "all are posted");

/** From the state after creation or reset to the one in which it sends and receives. */
static int start(struct verbs_lane *verbs)
{
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_INIT, .port_num = verbs->port, .qkey = VERBS_QKEY};
    const struct verbs_library *library = verbs->library;
    int status = library->modify_qp(verbs->pair, &attributes,
                                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

    if (status == 0) {
        status = -post_all(verbs);
    }
    if (status == 0) {
        attributes.qp_state = IBV_QPS_RTR;
        status = library->modify_qp(verbs->pair, &attributes, IBV_QP_STATE);
    }
    if (status == 0) {
        attributes.qp_state = IBV_QPS_RTS;
        status = library->modify_qp(verbs->pair, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
    }
    return -status;
}

int verbs_pair_open(struct verbs_lane *verbs)
{
    verbs->domain = verbs->library->alloc_pd(verbs->context);
    int status = verbs->domain == NULL ? -ENOBUFS : make_memory(verbs);

    if (status == 0) {
        status = make_queues(verbs);
    }
    if (status == 0) {
        status = make_pair(verbs);
    }
    if (status == 0) {
        status = start(verbs) == 0 ? 0 : -ENOBUFS;
    }
    if (status == 0) {
        verbs->registered.library = verbs->library;
        verbs->hosts.library = verbs->library;
        verbs->hosts.domain = verbs->domain;
        verbs->hosts.port = verbs->port;
        verbs->hosts.gid_index = verbs->gid_index;
        status = verbs_hosts_open(&verbs->hosts);
    }
    return status;
}

static void drain(struct ibv_cq *queue)
{
    struct ibv_wc completion;

    while (ibv_poll_cq(queue, 1, &completion) > 0) {
    }
}

int verbs_pair_revive(struct verbs_lane *verbs)
{
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RESET};

    if (verbs->library->modify_qp(verbs->pair, &attributes, IBV_QP_STATE) != 0) {
        return -ENETDOWN;
    }
    drain(verbs->sent);
    drain(verbs->received);
    verbs->posted = verbs->gone = 0;
    verbs->polled_first = verbs->polled_end = 0;
    verbs->held_count = 0;
    verbs->broken = start(verbs) != 0;
    return verbs->broken ? -ENETDOWN : 0;
}

void verbs_pair_close(struct verbs_lane *verbs)
{
    const struct verbs_library *library = verbs->library;

    verbs_links_close(verbs);
    if (verbs->pair != NULL) {
        (void)library->destroy_qp(verbs->pair); /* nothing is sent from now on */
    }
    verbs_hosts_close(&verbs->hosts);
    if (verbs->sent != NULL) {
        (void)library->destroy_cq(verbs->sent);
    }
    if (verbs->received != NULL) {
        (void)library->destroy_cq(verbs->received);
    }
    if (verbs->reads_ended != NULL) {
        (void)library->destroy_cq(verbs->reads_ended);
    }
    if (verbs->channel != NULL) {
        (void)library->destroy_comp_channel(verbs->channel);
    }
    if (verbs->region != NULL) {
        (void)library->dereg_mr(verbs->region);
    }
    if (verbs->memory != NULL) {
        (void)munmap(verbs->memory, verbs->memory_bytes);
    }
    if (verbs->domain != NULL) {
        (void)library->dealloc_pd(verbs->domain);
    }
    if (verbs->context != NULL) {
        (void)library->close_device(verbs->context);
    }
}
