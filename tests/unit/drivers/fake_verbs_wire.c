/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_verbs.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FRAGMENT_BYTES 32768
#define TIMEOUT_NS UINT64_C(2000000000)

enum packet_type { REQUEST, READ_RESPONSE, ACKNOWLEDGEMENT };

struct packet {
    enum packet_type type;
    enum ibv_wr_opcode opcode;
    enum ibv_wc_status status; /* of an acknowledgement */
    uint32_t immediate;
    uint32_t key;
    uint32_t bytes;  /* of the whole message */
    uint32_t offset; /* of this fragment */
    uint32_t length;
    uint64_t address;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void complete(struct ibv_cq *cq, const struct ibv_wc *completion)
{
    struct queue *queue = (struct queue *)cq;
    require(queue->end - queue->first < (uint64_t)cq->cqe);
    queue->entries[queue->end++ % QUEUE] = *completion;
    if (queue->armed) {
        const uint64_t value = (uintptr_t)queue;
        queue->armed = false;
        require(write(cq->channel->refcnt, &value, sizeof value) == sizeof value);
    }
}

void fake_end_send(struct connection *connection, enum ibv_wc_status status)
{
    const struct work *work = &connection->sends[connection->send_first++ % QUEUE];
    connection->waits_since_ns = 0;
    complete(
        connection->qp.send_cq,
        &(struct ibv_wc){.wr_id = work->id, .status = status, .qp_num = connection->qp.qp_num});
}

void fake_end_receive(struct connection *connection, struct ibv_wc completion)
{
    const struct work *work = &connection->receives[connection->receive_first++ % QUEUE];
    completion.wr_id = work->id;
    completion.qp_num = connection->qp.qp_num;
    complete(connection->qp.recv_cq, &completion);
}

/* The connection has failed: what is posted ends with it. */
static void break_off(struct connection *connection, enum ibv_wc_status status)
{
    if (connection->state == IBV_QPS_ERR) {
        return;
    }
    connection->state = IBV_QPS_ERR;
    while (connection->send_first != connection->send_end) {
        fake_end_send(connection, status);
        status = IBV_WC_WR_FLUSH_ERR;
    }
    while (connection->receive_first != connection->receive_end) {
        fake_end_receive(connection, (struct ibv_wc){.status = IBV_WC_WR_FLUSH_ERR});
    }
}

bool fake_is_known(uint32_t key, uint64_t address, uint64_t bytes, int access)
{
    for (size_t i = 0; i < REGIONS; i++) {
        const struct ibv_mr *region = fake.regions[i];
        const uint64_t at = region == NULL ? 0 : address - (uintptr_t)region->addr;
        if (region != NULL && region->rkey == key && at <= region->length &&
            bytes <= region->length - at && ((int)(uintptr_t)region->context & access) == access) {
            return true;
        }
    }
    return bytes == 0;
}

socklen_t fake_name(uint32_t number, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length =
        snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "fake-verbs-%06x", number);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Whether it has left; who is not there gets nothing, as on a wire. */
static bool transmit(const struct connection *connection, const struct packet *packet,
                     const void *data)
{
    struct sockaddr_un name;
    struct iovec parts[2] = {{(void *)(uintptr_t)packet, sizeof *packet},
                             {(void *)(uintptr_t)data, packet->length}};
    const struct msghdr message = {.msg_name = &name,
                                   .msg_namelen = fake_name(connection->peer, &name),
                                   .msg_iov = parts,
                                   .msg_iovlen = 2};
    return sendmsg(connection->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != EAGAIN;
}

static void answer(struct connection *connection, enum ibv_wc_status status)
{
    require(connection->answer_end - connection->answer_first < QUEUE);
    connection->answers[connection->answer_end++ % QUEUE] = status;
}

static bool has_immediate(const struct packet *packet)
{
    return packet->opcode == IBV_WR_SEND_WITH_IMM || packet->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static enum ibv_wc_status take_fragment(struct connection *connection, const struct packet *packet,
                                        const uint8_t *data)
{
    const bool sends = packet->opcode == IBV_WR_SEND || packet->opcode == IBV_WR_SEND_WITH_IMM;
    const bool is_last = packet->offset + packet->length == packet->bytes;
    const struct work *work = &connection->receives[connection->receive_first % QUEUE];
    uint8_t *where = (uint8_t *)(uintptr_t)packet->address;
    if ((sends || has_immediate(packet)) && connection->receive_first == connection->receive_end) {
        return IBV_WC_RNR_RETRY_EXC_ERR;
    }
    if (sends && packet->bytes > work->bytes) {
        fake_end_receive(connection, (struct ibv_wc){.status = IBV_WC_LOC_LEN_ERR});
        return IBV_WC_REM_INV_REQ_ERR;
    }
    if (sends) {
        where = work->data;
    } else if ((connection->access & IBV_ACCESS_REMOTE_WRITE) == 0 ||
               !fake_is_known(packet->key, packet->address, packet->bytes,
                              IBV_ACCESS_REMOTE_WRITE)) {
        return IBV_WC_REM_ACCESS_ERR;
    }
    if (packet->length > 0) {
        memcpy(where + packet->offset, data, packet->length);
    }
    if (is_last && (sends || has_immediate(packet))) {
        fake_end_receive(connection,
                         (struct ibv_wc){.status = IBV_WC_SUCCESS,
                                         .opcode = sends ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM,
                                         .byte_len = packet->bytes,
                                         .wc_flags = has_immediate(packet) ? IBV_WC_WITH_IMM : 0,
                                         .imm_data = packet->immediate});
    }
    return IBV_WC_SUCCESS;
}

static void take_request(struct connection *connection, const struct packet *packet,
                         const uint8_t *data)
{
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    if (packet->opcode != IBV_WR_RDMA_READ) {
        status = take_fragment(connection, packet, data);
        if (status != IBV_WC_SUCCESS || packet->offset + packet->length == packet->bytes) {
            answer(connection, status);
        }
    } else if ((connection->access & IBV_ACCESS_REMOTE_READ) == 0 ||
               !fake_is_known(packet->key, packet->address, packet->bytes,
                              IBV_ACCESS_REMOTE_READ)) {
        answer(connection, IBV_WC_REM_ACCESS_ERR);
    } else {
        require(connection->read_end - connection->read_first < QUEUE);
        connection->reads[connection->read_end++ % QUEUE] =
            (struct work){.data = (uint8_t *)(uintptr_t)packet->address, .bytes = packet->bytes};
    }
}

static void take_response(struct connection *connection, const struct packet *packet,
                          const uint8_t *data)
{
    for (uint64_t at = connection->send_first; at != connection->send_end; at++) {
        struct work *work = &connection->sends[at % QUEUE];
        if (work->opcode == IBV_WR_RDMA_READ && work->moved < work->bytes) {
            memcpy(work->data + packet->offset, data, packet->length);
            work->moved += packet->length;
            return;
        }
    }
}

/* Those at the head that are whole, in order. */
static void end_sends(struct connection *connection)
{
    while (connection->send_first != connection->send_next) {
        const struct work *work = &connection->sends[connection->send_first % QUEUE];
        const bool reads = work->opcode == IBV_WR_RDMA_READ;
        if (reads ? work->moved < work->bytes : connection->acknowledged == 0) {
            return;
        }
        connection->acknowledged -= reads ? 0 : 1;
        fake_end_send(connection, IBV_WC_SUCCESS);
    }
}

static void take_packet(struct connection *connection, const struct packet *packet,
                        const uint8_t *data)
{
    if (connection->state != IBV_QPS_RTR && connection->state != IBV_QPS_RTS) {
        return;
    }
    if (packet->type == REQUEST) {
        take_request(connection, packet, data);
    } else if (packet->type == READ_RESPONSE) {
        connection->waits_since_ns = 0;
        take_response(connection, packet, data);
    } else if (packet->status == IBV_WC_SUCCESS) {
        connection->acknowledged++;
    } else {
        break_off(connection, packet->status);
    }
    end_sends(connection);
}

/* Sends what of one message can go. Whether all has. */
static bool send_fragments(const struct connection *connection, struct work *work,
                           struct packet packet)
{
    do {
        const uint32_t left = work->bytes - work->moved;
        packet.offset = work->moved;
        packet.length = left < FRAGMENT_BYTES ? left : FRAGMENT_BYTES;
        if (!transmit(connection, &packet, work->data + work->moved)) {
            return false;
        }
        work->moved += packet.length;
    } while (work->moved < work->bytes);
    return true;
}

static bool send_work(const struct connection *connection, struct work *work)
{
    struct packet packet = {.type = REQUEST,
                            .opcode = work->opcode,
                            .immediate = work->immediate,
                            .key = work->key,
                            .bytes = work->bytes,
                            .address = work->address};
    return work->opcode == IBV_WR_RDMA_READ ? transmit(connection, &packet, NULL)
                                            : send_fragments(connection, work, packet);
}

void fake_send(struct connection *connection)
{
    while (connection->answer_first != connection->answer_end) {
        const struct packet packet = {.type = ACKNOWLEDGEMENT,
                                      .status =
                                          connection->answers[connection->answer_first % QUEUE]};
        if (!transmit(connection, &packet, NULL)) {
            return;
        }
        connection->answer_first++;
        if (packet.status != IBV_WC_SUCCESS) {
            break_off(connection, IBV_WC_WR_FLUSH_ERR);
        }
    }
    while (connection->read_first != connection->read_end) {
        struct work *work = &connection->reads[connection->read_first % QUEUE];
        if (!send_fragments(connection, work,
                            (struct packet){.type = READ_RESPONSE, .bytes = work->bytes})) {
            return;
        }
        connection->read_first++;
    }
    while (connection->state == IBV_QPS_RTS && connection->send_next != connection->send_end &&
           send_work(connection, &connection->sends[connection->send_next % QUEUE])) {
        connection->send_next++;
    }
}

static void serve(struct connection *connection)
{
    static uint8_t buffer[sizeof(struct packet) + FRAGMENT_BYTES];
    while (recv(connection->fd, buffer, sizeof buffer, MSG_DONTWAIT) > 0) {
        struct packet packet;
        memcpy(&packet, buffer, sizeof packet);
        take_packet(connection, &packet, buffer + sizeof packet);
        fake_send(connection);
    }
    fake_send(connection);
    if (connection->send_first == connection->send_next) {
        connection->waits_since_ns = 0;
    } else if (connection->waits_since_ns == 0) {
        connection->waits_since_ns = now_ns();
    } else if (now_ns() - connection->waits_since_ns > TIMEOUT_NS) {
        break_off(connection, IBV_WC_RETRY_EXC_ERR);
    }
}

void fake_serve(void)
{
    for (size_t i = 0; i < CONNECTIONS; i++) {
        if (fake.connections[i] != NULL) {
            serve(fake.connections[i]);
        }
    }
}

void *fake_serve_for_ever(void *unused)
{
    for (;;) {
        struct pollfd pollers[CONNECTIONS];
        nfds_t count = 0;
        pthread_mutex_lock(&fake.lock);
        fake_serve();
        for (size_t i = 0; i < CONNECTIONS; i++) {
            if (fake.connections[i] != NULL) {
                pollers[count++] = (struct pollfd){.fd = fake.connections[i]->fd, .events = POLLIN};
            }
        }
        const bool goes_on = fake.running;
        pthread_mutex_unlock(&fake.lock);
        if (!goes_on) {
            return NULL;
        }
        (void)poll(pollers, count, 1);
    }
}
