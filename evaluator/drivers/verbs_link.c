/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "fail.h"
#include "text.h"

#define PSN_MASK 0xFFFFFFU
#define TAKEN_BITS 28
#define TAKEN_MASK ((UINT32_C(1) << TAKEN_BITS) - 1)

/* The size requested for inline sends; the device may grant less or more. */
#define INLINE_BYTES 128

/* Timeout of an acknowledgement: 4.096 us * 2^16 = 0.27 s, eight times. So a peer that is gone is
 * noticed after 2 s, and a peer on a busy machine is not taken for gone. Lost packets followed by
 * others are retransmitted at once. */
#define TIMEOUT_EXPONENT 16
#define RETRIES 7
#define RETRIES_FOR_EVER 7

/* The shortest delay (0.01 ms) before a retry if the peer had no receive posted, which should not
 * happen. */
#define NOT_READY_TIMER 1

#define HOP_LIMIT 64

#define SLOT_BYTES VERBS_COPIED_BYTES
#define IN_BYTES ((size_t)VERBS_SLOTS * SLOT_BYTES)
#define RING_BYTES ((size_t)VERBS_CREDITS * SLOT_BYTES)
#define MEMORY_BYTES (2 * IN_BYTES + 2 * RING_BYTES)

uint8_t *verbs_link_slot(const struct verbs_link *link, uint64_t slot)
{
    return link->memory + slot * SLOT_BYTES;
}

uint8_t *verbs_link_place(const struct verbs_link *link, uint64_t number)
{
    return link->memory + 2 * IN_BYTES + number % VERBS_CREDITS * SLOT_BYTES;
}

static uint8_t *outgoing_slot(const struct verbs_link *link, uint64_t number)
{
    return link->memory + IN_BYTES + number % VERBS_SLOTS * SLOT_BYTES;
}

/* The place where a copied message waits until the other end has read it. */
static uint8_t *readable_place(const struct verbs_link *link, uint64_t number)
{
    return verbs_link_place(link, number) + RING_BYTES;
}

static unsigned remote_access(const struct verbs_link *link)
{
    return link->way == VERBS_WRITE  ? IBV_ACCESS_REMOTE_WRITE
           : link->way == VERBS_READ ? IBV_ACCESS_REMOTE_READ
                                     : 0;
}

static int make_memory(struct verbs_link *link)
{
    const unsigned access = IBV_ACCESS_LOCAL_WRITE | remote_access(link);
    void *memory =
        mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    link->memory = memory;
    link->registered = ibv_reg_mr(link->domain, memory, MEMORY_BYTES, access);
    return link->registered == NULL ? -errno : 0;
}

static struct ibv_qp *new_connection(const struct verbs_link *link, uint32_t operations,
                                     size_t *inline_bytes)
{
    struct ibv_qp_init_attr attributes = {
        .send_cq = link->sent,
        .recv_cq = link->received,
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
        .cap = {.max_send_wr = operations,
                .max_recv_wr = operations,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = INLINE_BYTES},
    };
    struct ibv_qp *connection = ibv_create_qp(link->domain, &attributes);
    if (connection == NULL) { /* not every device can have that much */
        attributes.cap.max_inline_data = 0;
        connection = ibv_create_qp(link->domain, &attributes);
    }
    *inline_bytes = attributes.cap.max_inline_data;
    return connection;
}

static int make_connections(struct verbs_link *link)
{
    const int entries = VERBS_SLOTS + VERBS_WINDOW * 2;
    size_t ignored;
    link->sent = ibv_create_cq(link->device.context, entries, NULL, link->events, 0);
    link->received = ibv_create_cq(link->device.context, entries, NULL, link->events, 0);
    if (link->sent == NULL || link->received == NULL) {
        return -errno;
    }
    link->words = new_connection(link, VERBS_SLOTS + VERBS_WINDOW, &link->inline_bytes);
    if (link->words == NULL) {
        return -errno;
    }
    if (link->way == VERBS_SEND) {
        link->direct = new_connection(link, 2 * VERBS_WINDOW, &ignored);
        return link->direct == NULL ? -errno : 0;
    }
    return 0;
}

static int make_all(struct verbs_link *link, bool sleeps)
{
    link->domain = ibv_alloc_pd(link->device.context);
    if (link->domain == NULL) {
        return -errno;
    }
    if (sleeps) {
        link->events = ibv_create_comp_channel(link->device.context);
        if (link->events == NULL) {
            return -errno;
        }
    }
    int result = make_memory(link);
    return result == 0 ? make_connections(link) : result;
}

/* Sets the values for the other end. */
static int take_name(struct verbs_link *link)
{
    uint32_t psn;
    if (getrandom(&psn, sizeof psn, 0) != (ssize_t)sizeof psn) {
        return -errno;
    }
    link->own = (struct verbs_name){
        .words = link->words->qp_num,
        .direct = link->direct == NULL ? 0 : link->direct->qp_num,
        .psn = psn & PSN_MASK,
        .mtu = link->device.mtu,
        .reads = link->device.reads_max,
        .ring = (uintptr_t)verbs_link_place(link, 0),
        .ring_key = link->registered->rkey,
        .message_bytes_max = link->device.message_bytes_max,
        .gid = link->device.gid,
    };
    return 0;
}

int verbs_link_open(struct verbs_link *link, const struct driver_options *options, bool sleeps,
                    char *error, size_t error_bytes)
{
    int result = verbs_device_open(&link->device, options, error, error_bytes);
    if (result != 0) {
        return result;
    }
    result = make_all(link, sleeps);
    if (result == 0) {
        result = take_name(link);
    }
    if (result == -ENOMEM) {
        (void)snprintf(error, error_bytes,
                       "cannot register memory with the RDMA device: allow this process to lock"
                       " 4 MiB and two messages (ulimit -l)");
    } else if (result != 0) {
        errno = -result;
        (void)fail(error, error_bytes, "the RDMA device cannot be used");
    }
    return result;
}

void verbs_link_disconnect(struct verbs_link *link)
{
    if (link->direct != NULL) {
        (void)ibv_destroy_qp(link->direct);
    }
    if (link->words != NULL) {
        (void)ibv_destroy_qp(link->words);
    }
    link->direct = NULL;
    link->words = NULL;
}

void verbs_link_close(struct verbs_link *link)
{
    verbs_link_disconnect(link);
    if (link->sent != NULL) {
        (void)ibv_destroy_cq(link->sent);
    }
    if (link->received != NULL) {
        (void)ibv_destroy_cq(link->received);
    }
    if (link->events != NULL) {
        (void)ibv_destroy_comp_channel(link->events);
    }
    if (link->registered != NULL) {
        (void)ibv_dereg_mr(link->registered);
    }
    if (link->memory != NULL) {
        (void)munmap(link->memory, MEMORY_BYTES);
    }
    if (link->domain != NULL) {
        (void)ibv_dealloc_pd(link->domain);
    }
    verbs_device_close(&link->device);
}

/* "WORDS/DIRECT/PSN/MTU/READS/RING/KEY/BYTES/GID/GID", in hexadecimal */
int verbs_link_write(const struct verbs_link *link, char *text, size_t text_bytes)
{
    const struct verbs_name *own = &link->own;
    uint64_t gid[2];
    memcpy(gid, own->gid.raw, sizeof gid);
    int length = snprintf(text, text_bytes,
                          "%" PRIx32 "/%" PRIx32 "/%" PRIx32 "/%" PRIx32 "/%" PRIx32 "/%" PRIx64
                          "/%" PRIx32 "/%" PRIx64 "/%016" PRIx64 "/%016" PRIx64,
                          own->words, own->direct, own->psn, own->mtu, own->reads, own->ring,
                          own->ring_key, own->message_bytes_max, be64toh(gid[0]), be64toh(gid[1]));
    return length > 0 && (size_t)length < text_bytes ? 0 : -ENOSPC;
}

int verbs_link_read(struct verbs_link *link, const char *text)
{
    static const struct {
        char end;
        uint64_t largest;
    } FIELDS[] = {{'/', PSN_MASK},   {'/', PSN_MASK},   {'/', PSN_MASK},   {'/', IBV_MTU_4096},
                  {'/', UINT8_MAX},  {'/', UINT64_MAX}, {'/', UINT32_MAX}, {'/', UINT64_MAX},
                  {'/', UINT64_MAX}, {'\0', UINT64_MAX}};
    uint64_t values[sizeof FIELDS / sizeof FIELDS[0]];
    for (size_t i = 0; i < sizeof FIELDS / sizeof FIELDS[0]; i++) {
        if (!text_number(&text, 16, FIELDS[i].end, FIELDS[i].largest, &values[i])) {
            return -EINVAL;
        }
    }
    const uint64_t gid[2] = {htobe64(values[8]), htobe64(values[9])};
    link->peer = (struct verbs_name){
        .words = (uint32_t)values[0],
        .direct = (uint32_t)values[1],
        .psn = (uint32_t)values[2],
        .mtu = (uint32_t)values[3],
        .reads = (uint32_t)values[4],
        .ring = values[5],
        .ring_key = (uint32_t)values[6],
        .message_bytes_max = values[7],
    };
    memcpy(link->peer.gid.raw, gid, sizeof gid);
    const bool both_have = (link->direct == NULL) == (link->peer.direct == 0);
    return link->peer.words != 0 && link->peer.mtu >= IBV_MTU_256 && both_have ? 0 : -EINVAL;
}

static int to_init(const struct verbs_link *link, struct ibv_qp *connection)
{
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_INIT,
        .port_num = link->device.port,
        .qp_access_flags = remote_access(link),
    };
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    int result = ibv_modify_qp(connection, &reset, IBV_QP_STATE);
    return result != 0 ? result
                       : ibv_modify_qp(connection, &attributes,
                                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                           IBV_QP_ACCESS_FLAGS);
}

static int to_connected(const struct verbs_link *link, struct ibv_qp *connection, uint32_t peer)
{
    const uint32_t reads = link->own.reads < link->peer.reads ? link->own.reads : link->peer.reads;
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = link->own.mtu < link->peer.mtu ? (enum ibv_mtu)link->own.mtu
                                                   : (enum ibv_mtu)link->peer.mtu,
        .dest_qp_num = peer,
        .rq_psn = link->peer.psn,
        .max_dest_rd_atomic = (uint8_t)reads,
        .min_rnr_timer = NOT_READY_TIMER,
        .ah_attr = {.is_global = 1,
                    .port_num = link->device.port,
                    .grh = {.dgid = link->peer.gid,
                            .sgid_index = link->device.gid_index,
                            .hop_limit = HOP_LIMIT}},
    };
    int result =
        ibv_modify_qp(connection, &attributes,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = TIMEOUT_EXPONENT;
    attributes.retry_cnt = RETRIES;
    attributes.rnr_retry = RETRIES_FOR_EVER;
    attributes.sq_psn = link->own.psn;
    attributes.max_rd_atomic = (uint8_t)reads;
    return result != 0
               ? result
               : ibv_modify_qp(connection, &attributes,
                               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int verbs_link_return(struct verbs_link *link, uint64_t slot)
{
    struct ibv_sge memory = {.addr = (uintptr_t)verbs_link_slot(link, slot),
                             .length = SLOT_BYTES,
                             .lkey = link->registered->lkey};
    struct ibv_recv_wr request = {.wr_id = slot, .sg_list = &memory, .num_sge = 1};
    struct ibv_recv_wr *bad = NULL;
    return -ibv_post_recv(link->words, &request, &bad);
}

/* Discards completions of an earlier connection. */
static void drain(struct ibv_cq *queue)
{
    struct ibv_wc completion;
    while (ibv_poll_cq(queue, 1, &completion) > 0) {
    }
}

static int connect_all(struct verbs_link *link)
{
    int result = to_init(link, link->words);
    if (result == 0 && link->direct != NULL) {
        result = to_init(link, link->direct);
    }
    if (result != 0) {
        return -result;
    }
    drain(link->sent);
    drain(link->received);
    link->words_under_way = 0;
    for (uint64_t slot = 0; slot < VERBS_SLOTS && result == 0; slot++) {
        result = -verbs_link_return(link, slot);
    }
    if (result == 0) {
        result = to_connected(link, link->words, link->peer.words);
    }
    if (result == 0 && link->direct != NULL) {
        result = to_connected(link, link->direct, link->peer.direct);
    }
    return -result;
}

int verbs_link_connect(struct verbs_link *link, char *error, size_t error_bytes)
{
    int result = connect_all(link);
    if (result == -ETIMEDOUT || result == -EHOSTUNREACH || result == -ENETUNREACH) {
        (void)snprintf(error, error_bytes,
                       "cannot reach the other node's RDMA address: the named interfaces have to be"
                       " on one network");
    } else if (result != 0) {
        errno = -result;
        (void)fail(error, error_bytes, "cannot connect to the other RDMA device");
    }
    return result;
}

static int post(struct verbs_link *link, struct ibv_qp *connection, struct ibv_send_wr *request)
{
    struct ibv_send_wr *bad = NULL;
    int result = ibv_post_send(connection, request, &bad);
    link->words_under_way += result == 0 && connection == link->words ? 1 : 0;
    return -result;
}

static uint32_t immediate(enum verbs_kind kind, uint64_t taken)
{
    return htonl((uint32_t)kind << TAKEN_BITS | ((uint32_t)taken & TAKEN_MASK));
}

/* With VERBS_WRITE a copied message goes to the other end's ring. With VERBS_READ it goes into our
 * own, and the word says where. */
static void place_copied(struct verbs_link *link, struct ibv_send_wr *request,
                         struct verbs_offer *offer)
{
    const uint64_t number = link->copied_sent++;
    if (link->way == VERBS_WRITE) {
        request->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        request->wr.rdma.remote_addr = link->peer.ring + number % VERBS_CREDITS * SLOT_BYTES;
        request->wr.rdma.rkey = link->peer.ring_key;
    } else if (link->way == VERBS_READ) {
        struct ibv_sge *memory = request->sg_list;
        uint8_t *place = readable_place(link, number);
        memcpy(place, (const void *)(uintptr_t)memory->addr, memory->length);
        *offer = (struct verbs_offer){
            .address = (uintptr_t)place, .size = memory->length, .key = link->registered->rkey};
        *memory = (struct ibv_sge){.addr = (uintptr_t)offer, .length = sizeof *offer};
    }
}

int verbs_link_word(struct verbs_link *link, enum verbs_kind kind, uint64_t taken, const void *data,
                    size_t bytes)
{
    struct verbs_offer offer;
    struct ibv_sge memory = {.addr = (uintptr_t)data, .length = (uint32_t)bytes};
    struct ibv_send_wr request = {
        .wr_id = VERBS_WORD,
        .sg_list = &memory,
        .num_sge = bytes == 0 ? 0 : 1,
        .opcode = IBV_WR_SEND_WITH_IMM,
        .imm_data = immediate(kind, taken),
        .send_flags = IBV_SEND_INLINE,
    };
    if (kind == VERBS_COPIED) {
        place_copied(link, &request, &offer);
    }
    if (memory.length > link->inline_bytes) {
        uint8_t *slot = outgoing_slot(link, link->next_slot++);
        memcpy(slot, (const void *)(uintptr_t)memory.addr, memory.length);
        memory.addr = (uintptr_t)slot;
        memory.lkey = link->registered->lkey;
        request.send_flags = 0;
    }
    return post(link, link->words, &request);
}

int verbs_link_fetch(struct verbs_link *link, uint64_t number, const struct verbs_offer *offer)
{
    struct ibv_sge memory = {.addr = (uintptr_t)verbs_link_place(link, number),
                             .length = (uint32_t)offer->size,
                             .lkey = link->registered->lkey};
    struct ibv_send_wr request = {
        .wr_id = VERBS_FETCHED,
        .sg_list = &memory,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_READ,
        .wr.rdma = {.remote_addr = offer->address, .rkey = offer->key},
    };
    return post(link, link->words, &request);
}

int verbs_link_move(struct verbs_link *link, const struct verbs_transfer *transfer,
                    uint32_t own_key, const struct verbs_offer *offer, uint64_t taken)
{
    struct ibv_sge memory = {
        .addr = (uintptr_t)transfer->data, .length = (uint32_t)transfer->size, .lkey = own_key};
    struct ibv_send_wr request = {
        .wr_id = VERBS_DIRECT, .sg_list = &memory, .num_sge = 1, .opcode = IBV_WR_SEND};
    if (link->way == VERBS_SEND) {
        return post(link, link->direct, &request);
    }
    request.opcode = link->way == VERBS_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = link->way == VERBS_READ ? 0 : immediate(VERBS_WRITTEN, taken);
    request.wr.rdma.remote_addr = offer->address;
    request.wr.rdma.rkey = offer->key;
    return post(link, link->words, &request);
}

int verbs_link_void(struct verbs_link *link)
{
    struct ibv_send_wr request = {.wr_id = VERBS_WORD, .opcode = IBV_WR_SEND};
    struct ibv_send_wr *bad = NULL;
    return -ibv_post_send(link->direct, &request, &bad);
}

int verbs_link_expect(struct verbs_link *link, const struct verbs_transfer *transfer,
                      uint32_t own_key)
{
    struct ibv_sge memory = {
        .addr = (uintptr_t)transfer->data, .length = (uint32_t)transfer->size, .lkey = own_key};
    struct ibv_recv_wr request = {.wr_id = VERBS_DIRECT, .sg_list = &memory, .num_sge = 1};
    struct ibv_recv_wr *bad = NULL;
    return -ibv_post_recv(link->direct, &request, &bad);
}

int verbs_link_poll(struct verbs_link *link, struct ibv_cq *queue, struct ibv_wc *completions,
                    int count)
{
    const int found = ibv_poll_cq(queue, count, completions);
    if (found < 0) {
        return -EIO;
    }
    for (int i = 0; queue == link->sent && i < found; i++) {
        link->words_under_way -= completions[i].qp_num == link->words->qp_num ? 1 : 0;
    }
    return found;
}

int verbs_link_arm(struct verbs_link *link, bool sends)
{
    int result = ibv_req_notify_cq(link->received, 0);
    if (result == 0 && sends) {
        result = ibv_req_notify_cq(link->sent, 0);
    }
    return -result;
}

int verbs_link_sleep(struct verbs_link *link, int wait_ms)
{
    struct pollfd poller = {.fd = link->events->fd, .events = POLLIN};
    struct ibv_cq *queue = NULL;
    void *unused = NULL;
    int ready = poll(&poller, 1, wait_ms);
    if (ready <= 0) {
        return ready == 0 || errno == EINTR ? 0 : -errno;
    }
    if ((poller.revents & POLLIN) == 0 || ibv_get_cq_event(link->events, &queue, &unused) != 0) {
        return -EIO;
    }
    ibv_ack_cq_events(queue, 1);
    return 1;
}

int verbs_link_errno(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_SUCCESS:
        return 0;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_WR_FLUSH_ERR:
        return -ECONNRESET;
    case IBV_WC_LOC_LEN_ERR:
        return -EMSGSIZE;
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
        return -EFAULT;
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR:
        return -EREMOTEIO;
    default:
        return -EIO;
    }
}
