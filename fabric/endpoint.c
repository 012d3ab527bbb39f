/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint.h"

#include "complete.h"
#include "eq.h"
#include "libfabric.h"
#include "line.h"
#include "mr.h"
#include "name.h"
#include "notice.h"
#include "openmpi.h"
#include "summary.h"
#include "unsupported.h"

#include <errno.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>

/** After waiting this long for sent messages to arrive, closing prints a line. */
#define LINGER_PATIENCE_NS UINT64_C(10000000000)

#define PEERS_MAX 65536

/** A multi-receive buffer is returned when less than this is left of it, by default. */
#define MULTI_RECEIVE_MIN 64

/** Prints a line for each missing lane, because the endpoint is slower without it, unless the user
 * has disabled it or the interface cannot have it. */
static void tell_missing_lanes(const struct endpoint *endpoint)
{
    const char *name = NULL;
    bool first = notice_first_of_host();
    int why = 0;

    for (unsigned i = 0; first && beowire_missing_lane(endpoint->transport, i, &name, &why) == 0;
         i++) {
        bool frames = strncmp(name, "packet/", 7) == 0 || strncmp(name, "tso/", 4) == 0;
        if (why == -EPERM && frames) { /* the same line for all that need it, printed once */
            notice(FI_LOG_EP_CTRL,
                   "no permission for Ethernet frames (lane packet), so short messages go over UDP "
                   "and take longer; to permit frames: root types `beowire setup --group GROUP "
                   "--broker --apply`; to hide this line: FI_BEOWIRE_LANES=shm,udp");
        } else if (why == -EOPNOTSUPP) {
            notice(FI_LOG_EP_CTRL, "without %s, which this kernel does not have or refuses: %s",
                   name, beowire_missing_lane_reason(endpoint->transport, i));
        } else if (why != -EADDRNOTAVAIL && why != -ENOLINK) {
            notice(FI_LOG_EP_CTRL, "without the lane %s: %s", name,
                   beowire_missing_lane_reason(endpoint->transport, i));
        }
    }
}

/** Prints the file and line of a malformed configuration. Other arguments were checked before. */
static void tell_why_not_open(const char *interface, const char *lanes, int status)
{
    char reason[512];

    if (beowire_configuration_check(NULL, reason, sizeof reason) != 0) {
        notice(FI_LOG_EP_CTRL, "%s", reason);
    } else if (status == -EINVAL && lanes != NULL) {
        notice(
            FI_LOG_EP_CTRL,
            "FI_BEOWIRE_LANES=%s: it must be a list of shm,xdp,packet,tso,udp,verbs,tipc, each at "
            "most once, separated by commas, tso only with packet",
            lanes);
    } else {
        notice(FI_LOG_EP_CTRL, "%s: %s", interface, beowire_error(status));
    }
}

/** Undoes fi_enable(), also after it failed. */
static void disable(struct endpoint *endpoint)
{
    if (endpoint->transport != NULL) {
        (void)beowire_close(endpoint->transport, 0);
        endpoint->transport = NULL;
    }
    requests_end(&endpoint->requests);
}

/** Makes work of the endpoint wake those that sleep on its queues and counters. */
static int be_watched(const struct endpoint *endpoint)
{
    int status = endpoint->tx_cq != NULL ? progress_watch(&endpoint->tx_cq->progress, endpoint) : 0;

    if (status == 0 && endpoint->rx_cq != NULL) {
        status = progress_watch(&endpoint->rx_cq->progress, endpoint);
    }
    for (unsigned i = 0; i < ENDPOINT_COUNTERS && status == 0; i++) {
        if (endpoint->counters[i] != NULL) {
            status = progress_watch(&endpoint->counters[i]->progress, endpoint);
        }
    }
    return status;
}

/** Is each kind of operation that it may start reported to a queue or a counter? Operations of
 * peers on its memory need one, too, unless a thread makes progress. */
static bool is_bound(const struct endpoint *endpoint)
{
    static const uint64_t kinds[ENDPOINT_BY_PEERS] = {FI_SEND, FI_RECV, FI_READ, FI_WRITE};
    uint64_t caps = info_sides(endpoint->caps);
    bool any = endpoint->tx_cq != NULL || endpoint->rx_cq != NULL;

    for (unsigned i = 0; i < ENDPOINT_COUNTERS; i++) {
        any = any || endpoint->counters[i] != NULL;
    }
    for (unsigned i = 0; i < ENDPOINT_BY_PEERS; i++) {
        const struct cq *cq = kinds[i] == FI_RECV ? endpoint->rx_cq : endpoint->tx_cq;
        if ((caps & kinds[i]) != 0 && cq == NULL && endpoint->counters[i] == NULL) {
            return false;
        }
    }
    return any || endpoint->domain->automatic;
}

/** Is there room in its name for all its interfaces? */
static bool has_name(const struct endpoint *endpoint)
{
    struct beowire_address address;
    uint8_t name[NAME_BYTES];

    beowire_address(endpoint->transport, &address);
    return name_from_address(&address, name);
}

/** Opens it on its domain's interface and a second one, unless that is useless: it is down, or has
 * no UDP, so that the name has no room for both. */
static int open_transport(struct endpoint *endpoint, struct beowire_options *options)
{
    const char *own = endpoint->domain->interface;

    interfaces_of_endpoint(&endpoint->domain->parameters, own, endpoint->interfaces);
    options->interface = endpoint->interfaces;
    int status = beowire_open(options, &endpoint->transport);
    if (strcmp(endpoint->interfaces, own) == 0 || (status == 0 && has_name(endpoint))) {
        return status;
    }
    if (status == 0) {
        (void)beowire_close(endpoint->transport, 0);
        endpoint->transport = NULL;
    }
    (void)strcpy(endpoint->interfaces, own); /* NOLINT: there is room for both */
    return beowire_open(options, &endpoint->transport);
}

static int endpoint_enable(struct endpoint *endpoint)
{
    const struct parameters *parameters = &endpoint->domain->parameters;
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;

    if (endpoint->transport != NULL) {
        return -FI_EOPBADSTATE;
    }
    if (endpoint->av == NULL) {
        return -FI_ENOAV;
    }
    if (!is_bound(endpoint)) {
        return -FI_ENOCQ;
    }
    uint32_t announced =
        endpoint->av->wanted > endpoint->av->count ? endpoint->av->wanted : endpoint->av->count;
    uint64_t peers = (uint64_t)parameters->peers + announced;
    options.lanes = parameters->lanes;
    options.ethertype = parameters->ethertype;
    options.job_key = parameters->job_key;
    options.operations = parameters->operations;
    options.peers = (uint32_t)(peers < PEERS_MAX ? peers : PEERS_MAX);
    options.peer_timeout_ns = parameters->peer_timeout_ns;
    if (endpoint->domain->automatic) {
        options.progress = BEOWIRE_PROGRESS_THREAD;
    }
    /* As many sends as receives. The transport has room for as many of each, so it never refuses a
     * receive that has a request. */
    endpoint->requests.max =
        parameters->operations == BEOWIRE_OPERATIONS_ANY ? UINT64_MAX : 2 * parameters->operations;
    int status = open_transport(endpoint, &options);
    if (status != 0) {
        tell_why_not_open(endpoint->domain->interface, options.lanes, status);
    } else {
        complete_watch_peers(endpoint);
        status = mr_offer_all(endpoint);
        status = status == 0 ? be_watched(endpoint) : status;
    }
    if (status != 0) {
        disable(endpoint);
        return status;
    }
    endpoint->inject_bytes = beowire_inject_bytes(endpoint->transport);
    endpoint->answers_claims = openmpi_is_before_5();
    tell_missing_lanes(endpoint);
    return 0;
}

static int endpoint_control(struct fid *fid, int command, void *argument)
{
    struct endpoint *endpoint = (struct endpoint *)(void *)fid;
    int status = 0;

    domain_lock(endpoint->domain);
    switch (command) {
    case FI_ENABLE:
        status = endpoint_enable(endpoint);
        break;
    case FI_GETOPSFLAG: {
        uint64_t *flags = argument;
        bool both = (*flags & (FI_TRANSMIT | FI_RECV)) == (FI_TRANSMIT | FI_RECV);
        if (both || (*flags & (FI_TRANSMIT | FI_RECV)) == 0) {
            status = -FI_EINVAL;
        } else {
            *flags = (*flags & FI_TRANSMIT) != 0 ? endpoint->tx_flags : endpoint->rx_flags;
        }
        break;
    }
    case FI_SETOPSFLAG: {
        uint64_t flags = *(const uint64_t *)argument;
        uint64_t side = flags & (FI_TRANSMIT | FI_RECV);
        if (side == FI_TRANSMIT && (flags & ~(INFO_TX_FLAGS | FI_TRANSMIT)) == 0) {
            endpoint->tx_flags = flags & ~FI_TRANSMIT;
        } else if (side == FI_RECV && (flags & ~(INFO_RX_FLAGS | FI_RECV)) == 0) {
            endpoint->rx_flags = flags & ~FI_RECV;
        } else {
            status = -FI_EINVAL;
        }
        break;
    }
    default:
        status = -FI_ENOSYS;
        break;
    }
    domain_unlock(endpoint->domain);
    return status;
}

static int bind_cq(struct endpoint *endpoint, struct cq *cq, uint64_t flags)
{
    bool selective = (flags & FI_SELECTIVE_COMPLETION) != 0;

    if ((flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION)) != 0 ||
        (flags & (FI_TRANSMIT | FI_RECV)) == 0) {
        return -FI_EBADFLAGS;
    }
    if (((flags & FI_TRANSMIT) != 0 && endpoint->tx_cq != NULL) ||
        ((flags & FI_RECV) != 0 && endpoint->rx_cq != NULL)) {
        return -FI_EINVAL;
    }
    int status = progress_add(&cq->progress, endpoint);
    if (status != 0) {
        return status;
    }
    if ((flags & FI_TRANSMIT) != 0) {
        endpoint->tx_cq = cq;
        endpoint->tx_selective = selective;
    }
    if ((flags & FI_RECV) != 0) {
        endpoint->rx_cq = cq;
        endpoint->rx_selective = selective;
    }
    return 0;
}

static int bind_counter(struct endpoint *endpoint, struct counter *counter, uint64_t flags)
{
    static const uint64_t kinds[ENDPOINT_COUNTERS] = {FI_SEND,  FI_RECV,        FI_READ,
                                                      FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE};
    uint64_t known = 0;

    for (unsigned i = 0; i < ENDPOINT_COUNTERS; i++) {
        known |= kinds[i];
        if ((flags & kinds[i]) != 0 && endpoint->counters[i] != NULL) {
            return -FI_EINVAL;
        }
    }
    if ((flags & ~known) != 0 || flags == 0) {
        return -FI_EBADFLAGS;
    }
    int status = progress_add(&counter->progress, endpoint);
    if (status != 0) {
        return status;
    }
    for (unsigned i = 0; i < ENDPOINT_COUNTERS; i++) {
        endpoint->counters[i] = (flags & kinds[i]) != 0 ? counter : endpoint->counters[i];
    }
    endpoint->tx_counter = endpoint->counters[0];
    endpoint->rx_counter = endpoint->counters[1];
    return 0;
}

/** The domain whose lock covers it; NULL: none. */
static const struct domain *domain_of_bound(struct fid *bound)
{
    switch (bound->fclass) {
    case FI_CLASS_CQ:
        return ((struct cq *)(void *)bound)->domain;
    case FI_CLASS_CNTR:
        return ((struct counter *)(void *)bound)->domain;
    case FI_CLASS_AV:
        return ((struct av *)(void *)bound)->domain;
    default:
        return NULL;
    }
}

static int endpoint_bind(struct fid *fid, struct fid *bound, uint64_t flags)
{
    struct endpoint *endpoint = (struct endpoint *)(void *)fid;
    const struct domain *domain = domain_of_bound(bound);
    int status = -FI_EINVAL;

    if (domain != NULL && domain != endpoint->domain) {
        return -FI_EINVAL;
    }
    domain_lock(endpoint->domain);
    if (endpoint->transport != NULL) {
        status = -FI_EOPBADSTATE;
    } else if (bound->fclass == FI_CLASS_CQ) {
        status = bind_cq(endpoint, (struct cq *)(void *)bound, flags);
    } else if (bound->fclass == FI_CLASS_CNTR) {
        status = bind_counter(endpoint, (struct counter *)(void *)bound, flags);
    } else if (bound->fclass == FI_CLASS_AV && endpoint->av == NULL) {
        endpoint->av = (struct av *)(void *)bound;
        endpoint->next_of_av = endpoint->av->endpoints;
        endpoint->av->endpoints = endpoint;
        status = 0;
    } else if (bound->fclass == FI_CLASS_EQ && endpoint->eq == NULL) {
        endpoint->eq = (struct eq *)(void *)bound;
        (void)atomic_fetch_add(eq_references(endpoint->eq), 1);
        status = 0;
    }
    domain_unlock(endpoint->domain);
    return status;
}

static void leave_av(struct endpoint *endpoint)
{
    struct endpoint **link = &endpoint->av->endpoints;

    while (*link != endpoint) {
        link = &(*link)->next_of_av;
    }
    *link = endpoint->next_of_av;
}

static void join_domain(struct endpoint *endpoint, struct domain *domain)
{
    domain_lock(domain);
    endpoint->next_of_domain = domain->endpoints;
    domain->endpoints = endpoint;
    domain_unlock(domain);
    (void)atomic_fetch_add(&domain->references, 1);
}

/** The domain is locked. */
static void leave_domain(struct endpoint *endpoint)
{
    struct endpoint **link = &endpoint->domain->endpoints;

    while (*link != endpoint) {
        link = &(*link)->next_of_domain;
    }
    *link = endpoint->next_of_domain;
}

/** Closes the transport's endpoint when peers have received what was sent to them, however long
 * they compute. Does not wait for peers that have gone, or leave as well. */
static void part(const struct endpoint *endpoint)
{
    uint64_t linger_ns = endpoint->domain->parameters.linger_ns;
    uint64_t patience_ns = linger_ns < LINGER_PATIENCE_NS ? linger_ns : LINGER_PATIENCE_NS;

    (void)beowire_leave(endpoint->transport);
    if (beowire_flush(endpoint->transport, patience_ns) == -ETIMEDOUT && linger_ns > patience_ns) {
        notice(FI_LOG_EP_CTRL, "closing an endpoint still waits for processes that have not "
                               "received all that was sent to them; FI_BEOWIRE_LINGER=SECONDS "
                               "limits the wait");
    }
    if (endpoint->domain->parameters.reports) {
        summary_say(endpoint->transport, endpoint->interfaces);
    }
    (void)beowire_close(endpoint->transport, linger_ns - patience_ns);
}

static int endpoint_close(struct fid *fid)
{
    struct endpoint *endpoint = (struct endpoint *)(void *)fid;
    struct domain *domain = endpoint->domain;

    domain_lock(domain);
    if (endpoint->tx_cq != NULL) {
        cq_forget(endpoint->tx_cq, endpoint);
    }
    if (endpoint->rx_cq != NULL) {
        cq_forget(endpoint->rx_cq, endpoint);
    }
    for (unsigned i = 0; i < ENDPOINT_COUNTERS; i++) {
        if (endpoint->counters[i] != NULL) {
            progress_remove(&endpoint->counters[i]->progress, endpoint);
        }
    }
    if (endpoint->av != NULL) {
        leave_av(endpoint);
    }
    if (endpoint->eq != NULL) {
        (void)atomic_fetch_sub(eq_references(endpoint->eq), 1);
    }
    leave_domain(endpoint);
    domain->closing++;
    domain_unlock(domain); /* nobody can find it any more, and closing may take long */
    if (endpoint->transport != NULL) {
        part(endpoint);
    }
    domain_lock(domain);
    domain->closing--;
    domain_unlock(domain);
    requests_end(&endpoint->requests);
    (void)atomic_fetch_sub(&domain->references, 1);
    free(endpoint->peers);
    free(endpoint->sources);
    free(endpoint);
    return 0;
}

/** @return 0; -FI_EAGAIN: not now; -FI_ENOENT: it is matched already, and ends with its message. */
static int cancel(struct endpoint *endpoint, struct request *request)
{
    if (request->in_line) {
        if (!complete_has_room(endpoint->rx_cq)) {
            return -FI_EAGAIN;
        }
        (void)line_remove(endpoint, request);
        complete_receive_failed(endpoint, request, -ECANCELED);
        return 0;
    }
    int status = beowire_cancel(endpoint->transport, request);
    if (status != 0 && request->kind == REQUEST_MULTI_RECEIVE && !request->cancelled) {
        request->cancelled = true;
        status = 0;
    }
    return status;
}

static ssize_t endpoint_cancel(fid_t fid, void *context)
{
    struct endpoint *endpoint = (struct endpoint *)(void *)fid;

    domain_lock(endpoint->domain);
    struct request *request = requests_oldest_receive(&endpoint->requests, context, NULL);
    ssize_t status = request != NULL ? 0 : -FI_ENOENT;
    while (request != NULL) {
        int done = cancel(endpoint, request);
        if (done != -FI_ENOENT) {
            status = done;
            break;
        }
        /* Too late for this one, which is not an error; there may be others. */
        request = requests_oldest_receive(&endpoint->requests, context, request);
    }
    domain_unlock(endpoint->domain);
    return status;
}

static int endpoint_getopt(fid_t fid, int level, int name, void *value, size_t *bytes)
{
    struct endpoint *endpoint = (struct endpoint *)(void *)fid;

    if (level != FI_OPT_ENDPOINT ||
        (name != FI_OPT_MIN_MULTI_RECV && name != FI_OPT_CM_DATA_SIZE)) {
        return -FI_ENOPROTOOPT;
    }
    if (*bytes < sizeof(size_t)) {
        *bytes = sizeof(size_t);
        return -FI_ETOOSMALL;
    }
    *(size_t *)value = name == FI_OPT_MIN_MULTI_RECV ? endpoint->multi_receive_min : 0;
    *bytes = sizeof(size_t);
    return 0;
}

static int endpoint_setopt(fid_t fid, int level, int name, const void *value, size_t bytes)
{
    struct endpoint *endpoint = (struct endpoint *)(void *)fid;

    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) {
        return -FI_ENOPROTOOPT;
    }
    if (bytes != sizeof(size_t)) {
        return -FI_EINVAL;
    }
    domain_lock(endpoint->domain);
    endpoint->multi_receive_min = *(const size_t *)value;
    domain_unlock(endpoint->domain);
    return 0;
}

static int endpoint_getname(fid_t fid, void *name, size_t *bytes)
{
    struct endpoint *endpoint = (struct endpoint *)(void *)fid;
    struct beowire_address own;
    uint8_t own_name[NAME_BYTES];

    if (endpoint->transport == NULL) {
        return -FI_EOPBADSTATE;
    }
    beowire_address(endpoint->transport, &own);
    if (!name_from_address(&own, own_name)) {
        return -FI_EADDRNOTAVAIL;
    }
    bool fits = *bytes >= NAME_BYTES;
    if (*bytes > 0) {
        memcpy(name, own_name, fits ? NAME_BYTES : *bytes);
    }
    *bytes = NAME_BYTES;
    return fits ? 0 : -FI_ETOOSMALL;
}

static struct fi_ops endpoint_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = endpoint_close,
    .bind = endpoint_bind,
    .control = endpoint_control,
    .ops_open = unsupported_ops_open,
};

static struct fi_ops_ep endpoint_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = endpoint_cancel,
    .getopt = endpoint_getopt,
    .setopt = endpoint_setopt,
    .tx_ctx = unsupported_tx_ctx,
    .rx_ctx = unsupported_rx_ctx,
    .rx_size_left = unsupported_size_left,
    .tx_size_left = unsupported_size_left,
};

static struct fi_ops_cm endpoint_cm_ops = {
    .size = sizeof(struct fi_ops_cm),
    .setname = unsupported_setname,
    .getname = endpoint_getname,
    .getpeer = unsupported_getpeer,
    .connect = unsupported_connect,
    .listen = unsupported_listen,
    .accept = unsupported_accept,
    .reject = unsupported_reject,
    .shutdown = unsupported_shutdown,
    .join = unsupported_join,
};

int endpoint_open(struct fid_domain *fid_domain, struct fi_info *info, struct fid_ep **fid,
                  void *context)
{
    struct domain *domain = domain_of(fid_domain);

    if (info->ep_attr == NULL || info->tx_attr == NULL || info->rx_attr == NULL ||
        info->ep_attr->type != FI_EP_RDM || (info->caps & ~INFO_CAPS) != 0) {
        return -FI_EINVAL;
    }
    struct endpoint *endpoint = calloc(1, sizeof *endpoint);
    if (endpoint == NULL) {
        return -FI_ENOMEM;
    }
    endpoint->fid.fid.fclass = FI_CLASS_EP;
    endpoint->fid.fid.context = context;
    endpoint->fid.fid.ops = &endpoint_fid_ops;
    endpoint->fid.ops = &endpoint_ops;
    endpoint->fid.cm = &endpoint_cm_ops;
    endpoint->fid.msg = &endpoint_msg_ops;
    endpoint->fid.tagged = &endpoint_tagged_ops;
    endpoint->fid.rma = &endpoint_rma_ops;
    endpoint->fid.atomic = &endpoint_atomic_ops;
    endpoint->domain = domain;
    endpoint->caps = info->caps;
    endpoint->tx_flags = info->tx_attr->op_flags;
    endpoint->rx_flags = info->rx_attr->op_flags;
    endpoint->inject_limit = info->tx_attr->inject_size;
    endpoint->multi_receive_min = MULTI_RECEIVE_MIN;
    join_domain(endpoint, domain);
    *fid = &endpoint->fid;
    return 0;
}
