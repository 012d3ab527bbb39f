/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_verbs.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t last_key;
static pthread_t thread;
static uint8_t nothing; /* what a message without data has */
static struct ibv_device only_device = {.name = "fake0"};

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *completions)
{
    struct queue *queue = (struct queue *)cq;
    int found = 0;
    pthread_mutex_lock(&fake.lock);
    if (queue->first == queue->end) {
        fake_serve();
    }
    while (found < count && queue->first != queue->end) {
        completions[found++] = queue->entries[queue->first++ % QUEUE];
    }
    pthread_mutex_unlock(&fake.lock);
    return found;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    require(solicited_only == 0 && cq->channel != NULL);
    pthread_mutex_lock(&fake.lock);
    ((struct queue *)cq)->armed = true;
    pthread_mutex_unlock(&fake.lock);
    return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
    struct connection *connection = (struct connection *)qp;
    const struct ibv_sge *memory = request->num_sge == 0 ? NULL : request->sg_list;
    const bool in_request = (request->send_flags & IBV_SEND_INLINE) != 0;
    struct work work = {.id = request->wr_id,
                        .opcode = request->opcode,
                        .immediate = request->imm_data,
                        .key = request->wr.rdma.rkey,
                        .address = request->wr.rdma.remote_addr,
                        .data = memory == NULL ? &nothing : (uint8_t *)(uintptr_t)memory->addr,
                        .bytes = memory == NULL ? 0 : memory->length};
    require(request->next == NULL && request->num_sge <= 1 && work.bytes <= MESSAGE_BYTES_MAX);
    pthread_mutex_lock(&fake.lock);
    require(in_request
                ? work.bytes <= INLINE_BYTES
                : memory == NULL || fake_is_known(memory->lkey, memory->addr, memory->length, 0));
    *bad = request;
    const bool takes = connection->state == IBV_QPS_RTS || connection->state == IBV_QPS_ERR;
    require(takes && connection->send_end - connection->send_first < QUEUE);
    struct work *place = &connection->sends[connection->send_end++ % QUEUE];
    *place = work;
    if (in_request && work.bytes > 0) {
        memcpy(place->copy, work.data, work.bytes);
        place->data = place->copy;
    }
    if (connection->state == IBV_QPS_ERR) {
        fake_end_send(connection, IBV_WC_WR_FLUSH_ERR);
    } else {
        fake_send(connection);
    }
    pthread_mutex_unlock(&fake.lock);
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
    struct connection *connection = (struct connection *)qp;
    const struct ibv_sge *memory = request->sg_list;
    pthread_mutex_lock(&fake.lock);
    *bad = request;
    require(request->num_sge == 1 && fake_is_known(memory->lkey, memory->addr, memory->length, 0));
    require(connection->state != IBV_QPS_RESET &&
            connection->receive_end - connection->receive_first < QUEUE);
    connection->receives[connection->receive_end++ % QUEUE] = (struct work){
        .id = request->wr_id, .data = (uint8_t *)(uintptr_t)memory->addr, .bytes = memory->length};
    if (connection->state == IBV_QPS_ERR) {
        fake_end_receive(connection, (struct ibv_wc){.status = IBV_WC_WR_FLUSH_ERR});
    }
    pthread_mutex_unlock(&fake.lock);
    return 0;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
    static struct ibv_device *list[] = {&only_device, NULL};
    *num_devices = 1;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *context = calloc(1, sizeof *context);
    require(context != NULL);
    context->device = device;
    context->ops.poll_cq = poll_cq;
    context->ops.req_notify_cq = req_notify_cq;
    context->ops.post_send = post_send;
    context->ops.post_recv = post_recv;
    return context;
}

int ibv_close_device(struct ibv_context *context)
{
    free(context);
    return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr)
{
    *device_attr = (struct ibv_device_attr){.max_qp_rd_atom = READS, .max_qp_init_rd_atom = READS};
    return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
                   struct _compat_ibv_port_attr *port_attr)
{
    struct ibv_port_attr port = {
        .state = IBV_PORT_ACTIVE, .active_mtu = IBV_MTU_1024, .max_msg_sz = MESSAGE_BYTES_MAX};
    require(port_num == 1);
    memcpy(port_attr, &port, offsetof(struct ibv_port_attr, flags));
    return 0;
}

/* The IPv4 addresses that are here, each twice, as cards have them. */
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
                             size_t max_entries, uint32_t flags, size_t entry_size)
{
    struct ifaddrs *all = NULL;
    size_t count = 0;
    require(flags == 0 && entry_size == sizeof *entries && getifaddrs(&all) == 0);
    for (const struct ifaddrs *one = all; one != NULL && count + 2 <= max_entries;
         one = one->ifa_next) {
        if (one->ifa_addr == NULL || one->ifa_addr->sa_family != AF_INET) {
            continue;
        }
        struct ibv_gid_entry entry = {.port_num = 1, .ndev_ifindex = if_nametoindex(one->ifa_name)};
        entry.gid.raw[10] = 0xFF;
        entry.gid.raw[11] = 0xFF;
        memcpy(entry.gid.raw + 12, &((const struct sockaddr_in *)one->ifa_addr)->sin_addr, 4);
        for (uint32_t type = IBV_GID_TYPE_ROCE_V1; type <= IBV_GID_TYPE_ROCE_V2; type++) {
            entry.gid_type = type;
            entry.gid_index = (uint32_t)count;
            entries[count++] = entry;
        }
    }
    freeifaddrs(all);
    return (ssize_t)count;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *domain = calloc(1, sizeof *domain);
    require(domain != NULL);
    domain->context = context;
    return domain;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    return 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    struct ibv_mr *region = calloc(1, sizeof *region);
    require(region != NULL && length > 0);
    pthread_mutex_lock(&fake.lock);
    last_key++;
    *region = (struct ibv_mr){.context = (void *)(uintptr_t)access,
                              .pd = pd,
                              .addr = addr,
                              .length = length,
                              .lkey = last_key,
                              .rkey = last_key};
    size_t at = 0;
    while (at < REGIONS && fake.regions[at] != NULL) {
        at++;
    }
    require(at < REGIONS);
    fake.regions[at] = region;
    pthread_mutex_unlock(&fake.lock);
    return region;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned access)
{
    require(iova == (uintptr_t)addr);
    return ibv_reg_mr(pd, addr, length, (int)access);
}

static bool uses(const struct work *works, uint64_t first, uint64_t end,
                 const struct ibv_mr *region)
{
    for (uint64_t i = first; i != end; i++) {
        const uint64_t at = (uintptr_t)works[i % QUEUE].data - (uintptr_t)region->addr;
        if (works[i % QUEUE].bytes > 0 && at < region->length) {
            return true;
        }
    }
    return false;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    pthread_mutex_lock(&fake.lock);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        const struct connection *one = fake.connections[i];
        require(one == NULL || (!uses(one->sends, one->send_first, one->send_end, mr) &&
                                !uses(one->receives, one->receive_first, one->receive_end, mr)));
    }
    for (size_t i = 0; i < REGIONS; i++) {
        fake.regions[i] = fake.regions[i] == mr ? NULL : fake.regions[i];
    }
    pthread_mutex_unlock(&fake.lock);
    free(mr);
    return 0;
}

/* A pipe: `fd` is its end that is read, `refcnt` the other. */
struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct ibv_comp_channel *channel = calloc(1, sizeof *channel);
    int ends[2];
    require(channel != NULL && pipe(ends) == 0);
    *channel = (struct ibv_comp_channel){.context = context, .fd = ends[0], .refcnt = ends[1]};
    return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    (void)close(channel->fd);
    (void)close(channel->refcnt);
    free(channel);
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
    uint64_t value;
    require(read(channel->fd, &value, sizeof value) == sizeof value);
    *cq = (struct ibv_cq *)(uintptr_t)value;
    *cq_context = NULL;
    return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned nevents)
{
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int comp_vector)
{
    struct queue *queue = calloc(1, sizeof *queue);
    require(queue != NULL && cqe <= QUEUE && comp_vector == 0);
    queue->cq = (struct ibv_cq){
        .context = context, .cqe = cqe, .cq_context = cq_context, .channel = channel};
    return &queue->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    free(cq);
    return 0;
}

/* A socket by the name of a number that nobody has yet. */
static int new_socket(uint32_t *number)
{
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un name;
    socklen_t bytes;
    require(fd >= 0);
    do {
        require(getrandom(number, sizeof *number, 0) == sizeof *number);
        *number = *number % 0xFFFFFF + 1;
        bytes = fake_name(*number, &name);
    } while (bind(fd, (struct sockaddr *)&name, bytes) != 0);
    return fd;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
    struct connection *connection = calloc(1, sizeof *connection);
    size_t at = 0;
    require(connection != NULL && qp_init_attr->qp_type == IBV_QPT_RC &&
            qp_init_attr->sq_sig_all == 1);
    require(qp_init_attr->cap.max_send_wr < QUEUE && qp_init_attr->cap.max_recv_wr < QUEUE);
    qp_init_attr->cap.max_inline_data = INLINE_BYTES;
    connection->qp = (struct ibv_qp){.context = pd->context,
                                     .pd = pd,
                                     .send_cq = qp_init_attr->send_cq,
                                     .recv_cq = qp_init_attr->recv_cq};
    connection->fd = new_socket(&connection->qp.qp_num);
    connection->state = IBV_QPS_RESET;
    pthread_mutex_lock(&fake.lock);
    while (at < CONNECTIONS && fake.connections[at] != NULL) {
        at++;
    }
    require(at < CONNECTIONS);
    fake.connections[at] = connection;
    const bool first = !fake.running;
    fake.running = true;
    pthread_mutex_unlock(&fake.lock);
    require(!first || pthread_create(&thread, NULL, fake_serve_for_ever, NULL) == 0);
    return &connection->qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    struct connection *connection = (struct connection *)qp;
    bool is_last = true;
    pthread_mutex_lock(&fake.lock);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        fake.connections[i] = fake.connections[i] == connection ? NULL : fake.connections[i];
        is_last = is_last && fake.connections[i] == NULL;
    }
    fake.running = fake.running && !is_last;
    pthread_mutex_unlock(&fake.lock);
    if (is_last) { /* nobody is left to be served, and a process may be made of this one now */
        require(pthread_join(thread, NULL) == 0);
    }
    (void)close(connection->fd);
    free(connection);
    return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
    struct connection *connection = (struct connection *)qp;
    pthread_mutex_lock(&fake.lock);
    require((attr_mask & IBV_QP_STATE) != 0);
    connection->state = attr->qp_state;
    if (attr->qp_state == IBV_QPS_RESET) {
        struct connection clean = {.qp = connection->qp, .fd = connection->fd};
        *connection = clean;
        connection->state = IBV_QPS_RESET;
    } else if (attr->qp_state == IBV_QPS_INIT) {
        connection->access = (int)attr->qp_access_flags;
    } else if (attr->qp_state == IBV_QPS_RTR) {
        require(attr->ah_attr.is_global == 1 && attr->path_mtu == IBV_MTU_1024);
        connection->peer = attr->dest_qp_num;
    }
    pthread_mutex_unlock(&fake.lock);
    return 0;
}
