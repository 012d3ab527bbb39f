/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_fake.h - libibverbs with RDMA devices for tests, whatever this host has: a table of
 * functions for struct verbs_lane_options. Datagrams go from queue pair to queue pair in memory,
 * at once, and are lost where a card would lose them. It is stricter than a card: memory has to be
 * registered, slots to be posted once, and everything to be given back.
 *
 * Whoever includes it is one test program.
 */
#ifndef BEOWIRE_TESTS_LANE_VERBS_FAKE_H
#define BEOWIRE_TESTS_LANE_VERBS_FAKE_H

#include "verbs_fake_state.h"

/* ---- the data path -------------------------------------------------------------------------- */

static inline void fake_complete(struct ibv_cq *cq, struct ibv_wc completion)
{
    struct fake_queue *queue = (struct fake_queue *)(void *)cq;

    assert_true(queue->count < FAKE_QUEUE);
    queue->done[queue->count++] = completion;
    if (queue->armed) {
        struct fake_channel *channel = (struct fake_channel *)(void *)queue->channel;
        queue->armed = false;
        assert_true(channel->count < 2);
        channel->events[channel->count++] = cq;
        assert_int_equal(eventfd_write(queue->channel->fd, 1), 0);
    }
}

static inline int fake_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *completions)
{
    struct fake_queue *queue = (struct fake_queue *)(void *)cq;
    unsigned some = queue->count < (unsigned)count ? queue->count : (unsigned)count;

    memcpy(completions, queue->done, some * sizeof *completions);
    queue->count -= some;
    memmove(queue->done, queue->done + some, queue->count * sizeof *queue->done);
    return (int)some;
}

static inline int fake_req_notify_cq(struct ibv_cq *cq, int solicited)
{
    assert_int_equal(solicited, 0);
    ((struct fake_queue *)(void *)cq)->armed = true;
    return fake.gone ? EIO : 0;
}

static inline struct fake_pair *fake_pair_at(uint32_t ipv4, uint32_t number)
{
    for (unsigned i = 0; i < FAKE_PAIRS; i++) {
        struct fake_pair *pair = &fake.pairs[i];
        if (pair->is_open && pair->ipv4 == ipv4 && pair->qp.qp_num == number) {
            return pair;
        }
    }
    return NULL;
}

/** Puts a datagram into the slot that was posted first. */
static inline void fake_deliver(const struct fake_pair *from, struct fake_pair *to,
                                const struct ibv_send_wr *request)
{
    const struct ibv_sge *part = request->sg_list;

    bool has_immediate = request->opcode == IBV_WR_SEND_WITH_IMM;
    uint32_t immediate = has_immediate ? request->imm_data : fake.immediate;

    if (has_immediate && fake.deaf) {
        return;
    }
    if (to == NULL || to->state < IBV_QPS_RTR || to->state == IBV_QPS_ERR || to->posted == 0 ||
        to->qkey != request->wr.ud.remote_qkey) {
        return;
    }
    uint8_t *at = (uint8_t *)(uintptr_t)to->slots[0].addr;
    assert_true(to->slots[0].length >= VERBS_GRH_BYTES + part->length);
    memset(at, 0xEE, VERBS_GRH_BYTES);
    at[20] = (uint8_t)(fake.version << 4 | 5);
    memcpy(at + 32, &from->ipv4, sizeof from->ipv4);
    memcpy(at + VERBS_GRH_BYTES, (const void *)(uintptr_t)part->addr, part->length);
    fake_complete(to->qp.recv_cq,
                  (struct ibv_wc){
                      .wr_id = to->ids[0],
                      .opcode = IBV_WC_RECV,
                      .byte_len = VERBS_GRH_BYTES + part->length,
                      .src_qp = from->qp.qp_num,
                      .wc_flags = IBV_WC_GRH | (immediate != 0 ? IBV_WC_WITH_IMM : 0u),
                      .imm_data = immediate,
                  });
    to->posted--;
    memmove(to->slots, to->slots + 1, to->posted * sizeof *to->slots);
    memmove(to->ids, to->ids + 1, to->posted * sizeof *to->ids);
}

/** The region with this key, if all of that is in it, and it is of the domain, and allows it. */
static inline uint8_t *fake_memory(uint32_t key, const struct ibv_pd *domain, uint64_t address,
                                   uint64_t bytes, int access)
{
    const struct fake_region *region = &fake.regions[key % FAKE_REGIONS];

    if (!region->is_there || region->region.rkey != key || region->region.pd != domain ||
        (region->access & access) == 0 || address < region->address ||
        address - region->address + bytes > region->region.length) {
        return NULL;
    }
    return (uint8_t *)region->region.addr + (address - region->address);
}

/** What both ends say of one another has to fit. */
static inline struct fake_pair *fake_other_end(const struct fake_pair *own)
{
    struct fake_pair *other = fake_pair_at(own->peer_ipv4, own->peer_pair);

    return other != NULL && other->domain != NULL && other->state >= IBV_QPS_RTR &&
                   other->state != IBV_QPS_ERR && other->peer_pair == own->qp.qp_num &&
                   other->peer_ipv4 == own->ipv4 && other->peer_start == own->start &&
                   other->start == own->peer_start
               ? other
               : NULL;
}

/** Does the oldest read that is held back, or all those after it in vain once one has failed. */
static inline void fake_read(struct fake_pair *own)
{
    const struct ibv_send_wr *request = &own->reads[0];
    const struct ibv_sge *into = &own->read_into[0];
    const struct fake_pair *other = fake_other_end(own);
    enum ibv_wc_status status = IBV_WC_SUCCESS;

    assert_true(own->reading > 0);
    uint8_t *target =
        fake_memory(into->lkey, own->domain, into->addr, into->length, IBV_ACCESS_LOCAL_WRITE);
    const uint8_t *source = other == NULL ? NULL
                                          : fake_memory(request->wr.rdma.rkey, other->domain,
                                                        request->wr.rdma.remote_addr, into->length,
                                                        IBV_ACCESS_REMOTE_READ);
    assert_non_null(target); /* nobody gives it back before */
    if (own->state == IBV_QPS_ERR) {
        status = IBV_WC_WR_FLUSH_ERR;
    } else if (other == NULL || fake.gone) {
        status = IBV_WC_RETRY_EXC_ERR;
    } else if (source == NULL) {
        status = IBV_WC_REM_ACCESS_ERR;
    } else {
        memcpy(target, source, into->length);
        fake.reads++;
    }
    own->state = status == IBV_WC_SUCCESS ? own->state : IBV_QPS_ERR;
    if (status != IBV_WC_SUCCESS || (request->send_flags & IBV_SEND_SIGNALED) != 0) {
        fake_complete(own->qp.send_cq, (struct ibv_wc){.wr_id = request->wr_id,
                                                       .status = status,
                                                       .opcode = IBV_WC_RDMA_READ,
                                                       .qp_num = own->qp.qp_num});
    }
    own->reading--;
    memmove(own->reads, own->reads + 1, own->reading * sizeof *own->reads);
    memmove(own->read_into, own->read_into + 1, own->reading * sizeof *own->read_into);
}

static inline int fake_post_read(struct fake_pair *own, struct ibv_send_wr *request,
                                 struct ibv_send_wr **refused)
{
    for (unsigned taken = 0; request != NULL; request = request->next, taken++) {
        if (own->state != IBV_QPS_RTS || taken == fake.takes) {
            *refused = request;
            return ENOMEM;
        }
        assert_true(own->reading < LANE_VERBS_READ_REQUESTS);
        assert_int_equal(request->opcode, IBV_WR_RDMA_READ);
        assert_int_equal(request->num_sge, 1);
        own->read_into[own->reading] = request->sg_list[0];
        own->reads[own->reading++] = *request;
        if (!fake.holds_reads) {
            fake_read(own);
        }
    }
    return 0;
}

static inline int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *request,
                                 struct ibv_send_wr **refused)
{
    struct fake_pair *own = (struct fake_pair *)(void *)qp;
    unsigned taken = 0;

    if (own->domain != NULL) {
        return fake_post_read(own, request, refused);
    }
    for (; request != NULL; request = request->next, taken++) {
        if (own->state != IBV_QPS_RTS || fake.gone || taken == fake.takes) {
            *refused = request;
            return ENOMEM;
        }
        const struct fake_handle *to = (const struct fake_handle *)(const void *)request->wr.ud.ah;
        assert_int_equal(request->num_sge, 1);
        assert_true(request->opcode == IBV_WR_SEND || request->opcode == IBV_WR_SEND_WITH_IMM);
        assert_true(++own->unreported <= LANE_VERBS_SEND_FRAMES);
        fake_deliver(own, fake_pair_at(to->ipv4, request->wr.ud.remote_qpn), request);
        if ((request->send_flags & IBV_SEND_SIGNALED) != 0 && !fake.holds) {
            own->unreported = 0;
            fake_complete(qp->send_cq,
                          (struct ibv_wc){.wr_id = request->wr_id, .status = fake.says});
        }
    }
    return 0;
}

static inline int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *request,
                                 struct ibv_recv_wr **refused)
{
    struct fake_pair *own = (struct fake_pair *)(void *)qp;

    for (; request != NULL; request = request->next) {
        if (fake.gone) {
            *refused = request;
            return EIO;
        }
        assert_true(own->posted < LANE_RING_FRAMES);
        for (unsigned i = 0; i < own->posted; i++) {
            assert_int_not_equal(own->ids[i], request->wr_id); /* once */
        }
        own->slots[own->posted] = request->sg_list[0];
        own->ids[own->posted++] = request->wr_id;
    }
    return 0;
}

/* ---- what is called seldom ------------------------------------------------------------------ */

static inline struct ibv_device **fake_get_device_list(int *count)
{
    static struct ibv_device devices[FAKE_DEVICES];
    static struct ibv_device *list[FAKE_DEVICES + 1];

    for (unsigned i = 0; i <= FAKE_DEVICES; i++) {
        list[i] = i < fake.devices ? &devices[i] : NULL;
    }
    *count = (int)fake.devices;
    return fake_made((void *)list);
}

static inline void fake_free_device_list(struct ibv_device **list)
{
    assert_non_null(list);
    (void)fake_gave_back(NULL);
}

static inline struct ibv_context *fake_open_device(struct ibv_device *device)
{
    struct fake_context *own = fake.refuses ? NULL : calloc(1, sizeof *own);
    struct ibv_context *context = own != NULL ? &own->context : NULL;

    if (context != NULL) {
        own->ipv4 = fake.ipv4;
        context->ops.poll_cq = fake_poll_cq;
        context->ops.req_notify_cq = fake_req_notify_cq;
        context->ops.post_send = fake_post_send;
        context->ops.post_recv = fake_post_recv;
        (void)fake_made(context);
    }
    return context;
}

static inline int fake_close_device(struct ibv_context *context)
{
    return fake_gave_back(context);
}

/** As in Linux: each address once for RoCE v1 and once for v2, and one that is made of the MAC. */
static inline ssize_t fake_query_gid_table(struct ibv_context *context,
                                           struct ibv_gid_entry *entries, size_t count,
                                           uint32_t flags, size_t entry_bytes)
{
    struct ibv_gid_entry entry = {
        .gid_index = 0, .port_num = 1, .ndev_ifindex = fake.interface, .gid_type = 1};

    assert_true(count >= 3 && flags == 0 && entry_bytes == sizeof entry);
    entry.gid.raw[0] = 0xFE;
    entry.gid.raw[1] = 0x80;
    entry.gid_type = IBV_GID_TYPE_ROCE_V2;
    entries[0] = entry;
    memset(entry.gid.raw, 0, sizeof entry.gid.raw);
    entry.gid.raw[10] = entry.gid.raw[11] = 0xFF;
    memcpy(entry.gid.raw + 12, &fake.ipv4, sizeof fake.ipv4);
    entry.gid_index = 1;
    entry.gid_type = IBV_GID_TYPE_ROCE_V1;
    entries[1] = entry;
    entry.gid_index = 2;
    entry.gid_type = (uint32_t)fake.gid_type;
    entries[2] = entry;
    return 3;
}

static inline int fake_query_port(struct ibv_context *context, uint8_t port,
                                  struct _compat_ibv_port_attr *attributes)
{
    struct ibv_port_attr *known = (struct ibv_port_attr *)(void *)attributes;

    assert_int_equal(port, 1);
    known->state = fake.state;
    known->active_mtu = fake.mtu;
    return fake.gone ? EIO : 0;
}

static inline struct ibv_pd *fake_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *domain = calloc(1, sizeof *domain);

    return fake_made(domain);
}

static inline int fake_dealloc_pd(struct ibv_pd *domain)
{
    return fake_gave_back(domain);
}

static inline int fake_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
    attributes->max_qp_rd_atom = 128;
    attributes->max_qp_init_rd_atom = 4;
    return fake_fails("query_device") ? EIO : 0;
}

/** Keys are used again soon, as a card's may be. */
static inline struct ibv_mr *fake_register(struct ibv_pd *domain, void *memory, size_t bytes,
                                           uint64_t address, int access)
{
    for (uint32_t key = 1; key < FAKE_REGIONS; key++) {
        struct fake_region *region = &fake.regions[key];
        if (!region->is_there) {
            *region = (struct fake_region){
                .region = {.addr = memory, .length = bytes, .pd = domain, .lkey = key, .rkey = key},
                .is_there = true,
                .access = access,
                .address = address,
            };
            return fake_made(&region->region);
        }
    }
    return NULL;
}

static inline struct ibv_mr *fake_reg_mr(struct ibv_pd *domain, void *memory, size_t bytes,
                                         int access)
{
    assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE); /* nobody else's to write or read */
    return fake_fails("reg_mr") ? NULL
                                : fake_register(domain, memory, bytes, (uintptr_t)memory, access);
}

static inline struct ibv_mr *fake_reg_mr_iova(struct ibv_pd *domain, void *memory, size_t bytes,
                                              uint64_t address, int access)
{
    assert_int_equal(access, IBV_ACCESS_REMOTE_READ); /* nobody's to write */
    assert_int_equal(address % 4096, (uintptr_t)memory % 4096);
    return fake_fails("reg_mr_iova") ? NULL : fake_register(domain, memory, bytes, address, access);
}

static inline int fake_dereg_mr(struct ibv_mr *region)
{
    ((struct fake_region *)(void *)region)->is_there = false;
    return fake_gave_back(NULL);
}

static inline struct ibv_comp_channel *fake_create_comp_channel(struct ibv_context *context)
{
    struct fake_channel *own = fake_fails("create_comp_channel") ? NULL : calloc(1, sizeof *own);
    struct ibv_comp_channel *channel = own != NULL ? &own->channel : NULL;

    if (channel != NULL) {
        channel->fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
        (void)fake_made(channel);
    }
    return channel;
}

static inline int fake_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    (void)close(channel->fd);
    return fake_gave_back(channel);
}

static inline struct ibv_cq *fake_create_cq(struct ibv_context *context, int entries, void *of,
                                            struct ibv_comp_channel *channel, int vector)
{
    struct fake_queue *queue = fake_fails("create_cq") ? NULL : calloc(1, sizeof *queue);

    assert_true(entries <= (int)FAKE_QUEUE && vector == 0);
    if (queue == NULL) {
        return NULL;
    }
    queue->cq.context = context;
    queue->channel = channel;
    return fake_made(&queue->cq);
}

static inline int fake_destroy_cq(struct ibv_cq *queue)
{
    return fake_gave_back(queue);
}

static inline int fake_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **queue,
                                    void **of)
{
    eventfd_t one = 0;

    struct fake_channel *own = (struct fake_channel *)(void *)channel;
    int status = eventfd_read(channel->fd, &one);

    *queue = status == 0 ? own->events[--own->count] : NULL;
    *of = NULL;
    return status;
}

static inline void fake_ack_cq_events(struct ibv_cq *queue, unsigned count)
{
    assert_true(queue != NULL && count > 0);
}

static inline struct ibv_qp *fake_create_qp(struct ibv_pd *domain,
                                            struct ibv_qp_init_attr *attributes)
{
    bool reliable = attributes->qp_type == IBV_QPT_RC;

    assert_true(reliable || attributes->qp_type == IBV_QPT_UD);
    assert_int_equal(attributes->sq_sig_all, 0);
    if (fake_fails(reliable ? "create_rc" : "create_qp") ||
        attributes->cap.max_inline_data > fake.inline_most) {
        return NULL;
    }
    for (unsigned i = 0; i < FAKE_PAIRS; i++) {
        struct fake_pair *pair = &fake.pairs[i];
        if (!pair->is_open) {
            *pair = (struct fake_pair){.is_open = true,
                                       .ipv4 = fake_context_of(attributes->send_cq->context)->ipv4,
                                       .domain = reliable ? domain : NULL};
            pair->qp.qp_num = 100 + fake.numbers++;
            pair->qp.send_cq = attributes->send_cq;
            pair->qp.recv_cq = attributes->recv_cq;
            pair->qp.context = attributes->send_cq->context;
            return fake_made(&pair->qp);
        }
    }
    return NULL;
}

/** Strict about the order of states; a reset forgets all that is posted. */
static inline int fake_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
    struct fake_pair *pair = (struct fake_pair *)(void *)qp;

    if (fake.gone || fake_fails(pair->domain != NULL ? "modify_rc" : "modify_qp")) {
        return EIO;
    }
    switch (attributes->qp_state) {
    case IBV_QPS_RESET:
        pair->posted = pair->unreported = pair->reading = 0;
        break;
    case IBV_QPS_INIT:
        assert_int_equal(pair->state, IBV_QPS_RESET);
        assert_int_equal(mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                   (pair->domain != NULL ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY));
        pair->qkey = attributes->qkey;
        assert_int_equal(attributes->qp_access_flags & ~(unsigned)IBV_ACCESS_REMOTE_READ, 0);
        break;
    case IBV_QPS_RTR:
        assert_int_equal(pair->state, IBV_QPS_INIT);
        if (pair->domain != NULL) {
            assert_int_equal(mask, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                       IBV_QP_MIN_RNR_TIMER);
            assert_true(attributes->max_dest_rd_atomic > 0 && attributes->path_mtu == fake.mtu);
            memcpy(&pair->peer_ipv4, attributes->ah_attr.grh.dgid.raw + 12, 4);
            pair->peer_pair = attributes->dest_qp_num;
            pair->peer_start = attributes->rq_psn;
        }
        break;
    default:
        assert_int_equal(attributes->qp_state, IBV_QPS_RTS);
        assert_int_equal(pair->state, IBV_QPS_RTR);
        if (pair->domain != NULL) {
            assert_int_equal(mask, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
            pair->start = attributes->sq_psn;
        }
        break;
    }
    pair->state = attributes->qp_state;
    return 0;
}

static inline int fake_destroy_qp(struct ibv_qp *qp)
{
    ((struct fake_pair *)(void *)qp)->is_open = false;
    return fake_gave_back(NULL);
}

static inline struct ibv_ah *fake_create_ah(struct ibv_pd *domain, struct ibv_ah_attr *attributes)
{
    uint32_t ipv4 = 0;

    (void)__atomic_fetch_add(&fake.asked, 1, __ATOMIC_SEQ_CST);
    memcpy(&ipv4, attributes->grh.dgid.raw + 12, sizeof ipv4);
    if (fake.waits) {
        (void)sem_wait(&fake.answer);
    }
    if (ipv4 == fake.absent || attributes->grh.sgid_index != 2 || attributes->is_global != 1 ||
        attributes->grh.dgid.raw[10] != 0xFF || attributes->grh.hop_limit < 2) {
        return NULL;
    }
    struct fake_handle *handle = calloc(1, sizeof *handle);
    if (handle == NULL) {
        return NULL;
    }
    handle->ipv4 = ipv4;
    (void)__atomic_fetch_add(&fake.things, 1, __ATOMIC_RELAXED);
    return &handle->ah;
}

static inline int fake_destroy_ah(struct ibv_ah *handle)
{
    return fake_gave_back(handle);
}

static const struct verbs_library fake_library = {
    .get_device_list = fake_get_device_list,
    .free_device_list = fake_free_device_list,
    .open_device = fake_open_device,
    .close_device = fake_close_device,
    .query_gid_table = fake_query_gid_table,
    .query_port = fake_query_port,
    .query_device = fake_query_device,
    .alloc_pd = fake_alloc_pd,
    .dealloc_pd = fake_dealloc_pd,
    .reg_mr = fake_reg_mr,
    .reg_mr_iova = fake_reg_mr_iova,
    .dereg_mr = fake_dereg_mr,
    .create_comp_channel = fake_create_comp_channel,
    .destroy_comp_channel = fake_destroy_comp_channel,
    .create_cq = fake_create_cq,
    .destroy_cq = fake_destroy_cq,
    .get_cq_event = fake_get_cq_event,
    .ack_cq_events = fake_ack_cq_events,
    .create_qp = fake_create_qp,
    .modify_qp = fake_modify_qp,
    .destroy_qp = fake_destroy_qp,
    .create_ah = fake_create_ah,
    .destroy_ah = fake_destroy_ah,
};

#define IPV4(a, b, c, d)                                                                           \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define HOST_A IPV4(10, 77, 0, 1)
#define HOST_B IPV4(10, 77, 0, 2)

static int fake_setup(void **state)
{
    memset(&fake, 0, sizeof fake);
    fake.ipv4 = HOST_A;
    fake.interface = 1; /* lo, which every host has */
    fake.gid_type = IBV_GID_TYPE_ROCE_V2;
    fake.mtu = IBV_MTU_1024;
    fake.state = IBV_PORT_ACTIVE;
    fake.devices = 1;
    fake.inline_most = 64;
    fake.takes = UINT32_MAX;
    fake.version = 4;
    return sem_init(&fake.answer, 0, 0);
}

/** All has been given back. */
static int fake_teardown(void **state)
{
    return fake.things == 0 ? sem_destroy(&fake.answer) : -1;
}

#define FAKE_TEST(name) TEST_AROUND(name, fake_setup, fake_teardown)

#endif /* BEOWIRE_TESTS_LANE_VERBS_FAKE_H */
