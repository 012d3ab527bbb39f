/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi.c - drivers over libfabric, as MPI libraries use it: reliable datagram endpoints (FI_EP_RDM),
 * tagged messages, one completion queue that is polled. The time that MPI adds is not included.
 *
 *   fi-tcp   the provider `tcp`, which MPI uses on clusters with Ethernet only
 *   fi:NAME  each other provider that libfabric has here, named as by `fi_info -l`
 *
 * If a provider has only connected or unreliable endpoints, libfabric's own layer above it
 * (`ofi_rxm`, `ofi_rxd`) is used, as in an application.
 *
 * The tag of messages to an end is its random key, so other senders' messages are never taken.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "driver.h"
#include "fail.h"
#include "local.h"
#include "spin.h"
#include "text.h"

/* The requested version; later libraries still offer it. */
#define API_VERSION FI_VERSION(1, 14)

/* The most operations of a stream under way, as in drivers/beowire.c. */
#define STREAM_WINDOW 64

#define QUEUE_ENTRIES 1024

/* Bits of a tag that every provider leaves to applications. */
#define TAG_MASK ((UINT64_C(1) << 60) - 1)

/* Longest name of an endpoint; its hexadecimal digits fit into an address. */
#define NAME_BYTES 112

/* Longest name of a provider, with its zero byte, and the most providers. libfabric has hardly
 * more, and few of them are in one library. */
#define PROVIDER_BYTES 32
#define PLACES 12

/* Polls in flush() for queued operations of a provider. */
#define FLUSH_POLLS 16

struct session {
    const struct driver_host *host;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *queue;
    struct fid_av *addresses;
    struct fid_ep *endpoint;
    fi_addr_t peer;
    uint64_t key;      /* the tag of messages to this end */
    uint64_t peer_key; /* the tag of messages to the other end */
    uint64_t sending;  /* sends not yet completed */
    uint64_t expected; /* receives not yet completed */
    uint64_t arrived;  /* completed receives not yet returned */
    uint64_t injected; /* posted sends that completed at once, not yet reported */
    char sent;         /* its address is the context of sends */
    char received;     /* and of receives */
};

static int explain(int status, const char *what, char *error, size_t error_bytes)
{
    (void)snprintf(error, error_bytes, "libfabric: %s: %s", what, fi_strerror(-status));
    return status;
}

/* The address of this end for libfabric, without a port, which libfabric chooses. */
static int source_text(const struct driver_options *options, char *text, size_t text_bytes,
                       uint32_t *format, char *error, size_t error_bytes)
{
    struct sockaddr_storage address;
    int status = local_address(options, &address, error, error_bytes);

    if (status != 0) {
        return status;
    }
    *format = address.ss_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
    if (getnameinfo((const struct sockaddr *)&address, local_address_bytes(&address), text,
                    (socklen_t)text_bytes, NULL, 0, NI_NUMERICHOST) != 0) {
        (void)snprintf(error, error_bytes, "this node's address cannot be written");
        return -EINVAL;
    }
    return 0;
}

static struct fi_info *new_hints(const char *provider)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints != NULL) {
        hints->caps = FI_TAGGED;
        hints->ep_attr->type = FI_EP_RDM;
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
        hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
        hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
        hints->tx_attr->msg_order = FI_ORDER_SAS;
        hints->rx_attr->msg_order = FI_ORDER_SAS;
        hints->fabric_attr->prov_name = strdup(provider);
    }
    return hints;
}

/* The provider's offer at an IP address of this node. */
static int ask_by_address(const char *provider, const char *source, uint32_t format,
                          struct fi_info **info)
{
    struct fi_info *hints = new_hints(provider);

    if (hints == NULL) {
        return -ENOMEM;
    }
    hints->addr_format = format;
    int status = fi_getinfo(API_VERSION, source, NULL, FI_SOURCE, hints, info);
    fi_freeinfo(hints);
    return status;
}

/* The offer of a provider without IP addresses: at the interface, if a domain has its name. */
static int ask_by_interface(const char *provider, const char *interface, struct fi_info **info)
{
    struct fi_info *hints = new_hints(provider);

    if (hints == NULL) {
        return -ENOMEM;
    }
    hints->domain_attr->name = strdup(interface);
    int status = fi_getinfo(API_VERSION, NULL, NULL, 0, hints, info);
    if (status != 0) {
        free(hints->domain_attr->name);
        hints->domain_attr->name = NULL;
        status = fi_getinfo(API_VERSION, NULL, NULL, 0, hints, info);
    }
    fi_freeinfo(hints);
    return status;
}

/* Finds a provider, alone or below a layer that makes its endpoints reliable datagram endpoints. */
static int find_provider(const char *name, const struct driver_options *options,
                         struct fi_info **info, char *error, size_t error_bytes)
{
    static const char *const LAYERS[] = {"", ";ofi_rxm", ";ofi_rxd"};
    char source[NI_MAXHOST];
    char interface[IF_NAMESIZE];
    uint32_t format;
    int status = local_interface(options, interface, error, error_bytes);

    if (status == 0) {
        status = source_text(options, source, sizeof source, &format, error, error_bytes);
    }
    if (status != 0) {
        return status;
    }
    /* The provider `net` reorders messages unless the layer is used. */
    const size_t first = strcmp(name, "net") == 0 ? 1 : 0;
    for (size_t i = first; i < sizeof LAYERS / sizeof LAYERS[0]; i++) {
        char provider[PROVIDER_BYTES + 16];
        (void)snprintf(provider, sizeof provider, "%s%s", name, LAYERS[i]);
        status = ask_by_address(provider, source, format, info);
        if (status == 0) {
            return 0;
        }
    }
    status = ask_by_interface(name, interface, info);
    if (status == -FI_ENODATA) {
        (void)snprintf(error, error_bytes,
                       "its provider %s has nothing for reliable tagged messages here: see"
                       " `fi_info -p %s`",
                       name, name);
        return status;
    }
    return status == 0 ? 0 : explain(status, name, error, error_bytes);
}

static void close_fid(struct fid *fid)
{
    if (fid != NULL) {
        (void)fi_close(fid);
    }
}

static void driver_close(void *opened)
{
    struct session *session = opened;

    close_fid(session->endpoint == NULL ? NULL : &session->endpoint->fid);
    close_fid(session->addresses == NULL ? NULL : &session->addresses->fid);
    close_fid(session->queue == NULL ? NULL : &session->queue->fid);
    close_fid(session->domain == NULL ? NULL : &session->domain->fid);
    close_fid(session->fabric == NULL ? NULL : &session->fabric->fid);
    if (session->info != NULL) {
        fi_freeinfo(session->info);
    }
    free(session);
}

static int open_endpoint(struct session *session)
{
    struct fi_cq_attr queue = {
        .size = QUEUE_ENTRIES, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    struct fi_av_attr addresses = {.type = FI_AV_UNSPEC, .count = 1};
    int status = fi_fabric(session->info->fabric_attr, &session->fabric, NULL);

    if (status == 0) {
        status = fi_domain(session->fabric, session->info, &session->domain, NULL);
    }
    if (status == 0) {
        status = fi_cq_open(session->domain, &queue, &session->queue, NULL);
    }
    if (status == 0) {
        status = fi_av_open(session->domain, &addresses, &session->addresses, NULL);
    }
    if (status == 0) {
        status = fi_endpoint(session->domain, session->info, &session->endpoint, NULL);
    }
    if (status == 0) {
        status = fi_ep_bind(session->endpoint, &session->queue->fid, FI_TRANSMIT | FI_RECV);
    }
    if (status == 0) {
        status = fi_ep_bind(session->endpoint, &session->addresses->fid, 0);
    }
    return status == 0 ? fi_enable(session->endpoint) : status;
}

static int open_over(const char *provider, const struct driver_options *options, void **opened,
                     char *error, size_t error_bytes)
{
    struct session *session = calloc(1, sizeof *session);

    if (session == NULL) {
        return -ENOMEM;
    }
    session->host = options->host;
    int status = find_provider(provider, options, &session->info, error, error_bytes);
    if (status == 0 &&
        getrandom(&session->key, sizeof session->key, 0) != (ssize_t)sizeof session->key) {
        status = fail(error, error_bytes, "no random numbers");
    }
    if (status == 0) {
        session->key &= TAG_MASK;
        status = open_endpoint(session);
        if (status != 0) {
            (void)explain(status, "cannot open an endpoint", error, error_bytes);
        }
    }
    if (status != 0) {
        driver_close(session);
        return status;
    }
    *opened = session;
    return 0;
}

static int probe_over(const char *provider, const struct driver_options *options, char *reason,
                      size_t reason_bytes)
{
    struct fi_info *info = NULL;
    int status = find_provider(provider, options, &info, reason, reason_bytes);

    if (status == 0) {
        fi_freeinfo(info);
    }
    return status;
}

/* "KEY@NAME": the endpoint's name in hexadecimal, because its format is the provider's. */
static int driver_address(void *opened, char *text, size_t text_bytes)
{
    struct session *session = opened;
    uint8_t name[NAME_BYTES];
    size_t name_bytes = sizeof name;
    int status = fi_getname(&session->endpoint->fid, name, &name_bytes);

    if (status != 0) {
        return status;
    }
    int used = snprintf(text, text_bytes, "%016" PRIx64 "@", session->key);
    if (used < 0 || (size_t)used + 2 * name_bytes >= text_bytes) {
        return -ENOSPC;
    }
    for (size_t i = 0; i < name_bytes; i++) {
        (void)snprintf(text + used + 2 * i, text_bytes - (size_t)used - 2 * i, "%02x", name[i]);
    }
    return 0;
}

static int read_address(struct session *session, const char *text)
{
    uint8_t own[NAME_BYTES];
    uint8_t name[NAME_BYTES + 1] = {0}; /* terminated by a zero byte if it is a text */
    size_t name_bytes = sizeof own;

    if (!text_number(&text, 16, '@', UINT64_MAX, &session->peer_key) ||
        fi_getname(&session->endpoint->fid, own, &name_bytes) != 0) {
        return -EINVAL;
    }
    size_t digits_there = strlen(text);
    bool as_ours = digits_there == 2 * name_bytes;
    bool may_differ = session->info->addr_format == FI_ADDR_STR;
    if (!as_ours && (!may_differ || digits_there == 0 || digits_there % 2 != 0 ||
                     digits_there > 2 * NAME_BYTES)) {
        return -EINVAL;
    }
    name_bytes = digits_there / 2;
    for (size_t i = 0; i < name_bytes; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        const char *at = digits;
        uint64_t value;
        if (!text_number(&at, 16, '\0', UINT8_MAX, &value) || *at != '\0') {
            return -EINVAL;
        }
        name[i] = (uint8_t)value;
    }
    return fi_av_insert(session->addresses, name, 1, &session->peer, 0, NULL) == 1 ? 0 : -EINVAL;
}

/* Takes all available completions. Returns their number, or a failure. */
static int collect(struct session *session)
{
    struct fi_cq_entry entries[STREAM_WINDOW];
    ssize_t count = fi_cq_read(session->queue, entries, STREAM_WINDOW);

    if (count == -FI_EAGAIN) {
        return 0;
    }
    if (count == -FI_EAVAIL) {
        struct fi_cq_err_entry failed = {0};
        bool known = fi_cq_readerr(session->queue, &failed, 0) == 1;
        session->expected -= known && failed.err == FI_ECANCELED;
        return known && failed.err != 0 ? -failed.err : -EIO;
    }
    for (ssize_t i = 0; i < count; i++) {
        if (entries[i].op_context == &session->sent) {
            session->sending--;
        } else if (entries[i].op_context == &session->received) {
            session->expected--;
            session->arrived++;
        }
    }
    return (int)count;
}

/* One turn of a wait: 0, or why the wait ends. */
static int progress(struct session *session, struct spin *spin)
{
    int status = collect(session);

    return status == 0 ? spin_turn(spin) : status < 0 ? status : 0;
}

/* Posts a send, and returns when at most `allowed` sends are under way. */
static int send_within(struct session *session, const void *data, uint64_t size, uint64_t allowed)
{
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    const bool inject = size <= session->info->tx_attr->inject_size;

    for (;;) {
        ssize_t status =
            inject ? fi_tinject(session->endpoint, data, size, session->peer, session->peer_key)
                   : fi_tsend(session->endpoint, data, size, NULL, session->peer, session->peer_key,
                              &session->sent);
        if (status == 0) {
            break;
        }
        int waited = status == -FI_EAGAIN ? progress(session, &spin) : (int)status;
        if (waited != 0) {
            return waited;
        }
    }
    session->sending += inject ? 0 : 1;
    while (session->sending > allowed) {
        int status = progress(session, &spin);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/* Posts receives until `wanted` are posted or complete, and returns when one is complete. */
static int receive_within(struct session *session, void *data, uint64_t size, uint64_t wanted)
{
    struct spin spin = spin_start(session->host, SPIN_FOREVER);

    while (session->expected + session->arrived < wanted) {
        ssize_t status = fi_trecv(session->endpoint, data, size, NULL, FI_ADDR_UNSPEC, session->key,
                                  0, &session->received);
        if (status == -FI_EAGAIN) {
            int waited = progress(session, &spin);
            if (waited != 0) {
                return waited;
            }
            continue;
        }
        if (status != 0) {
            return (int)status;
        }
        session->expected++;
    }
    while (session->arrived == 0) {
        int status = progress(session, &spin);
        if (status != 0) {
            return status;
        }
    }
    session->arrived--;
    return 0;
}

static int driver_send(void *opened, const void *data, uint64_t size)
{
    return send_within(opened, data, size, 0);
}

/* A receive that is given up is cancelled, or it would take the next message. One that has part of
 * its message stays. */
static int driver_receive(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    int status = receive_within(session, data, size, 1);

    if (status == -ECANCELED && fi_cancel(&session->endpoint->fid, &session->received) == 0) {
        for (int i = 0; session->expected > 0 && i < FLUSH_POLLS; i++) {
            (void)collect(session);
        }
    }
    return status;
}

static int driver_stream_send(void *opened, const void *data, uint64_t size, uint64_t more)
{
    return send_within(opened, data, size, more == 0 ? 0 : STREAM_WINDOW - 1);
}

static int driver_stream_receive(void *opened, void *data, uint64_t size, uint64_t more)
{
    return receive_within(opened, data, size, more < STREAM_WINDOW ? more + 1 : STREAM_WINDOW);
}

static int driver_post_send(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;
    const bool inject = size <= session->info->tx_attr->inject_size;
    ssize_t status =
        inject ? fi_tinject(session->endpoint, data, size, session->peer, session->peer_key)
               : fi_tsend(session->endpoint, data, size, NULL, session->peer, session->peer_key,
                          &session->sent);

    if (status == 0) {
        session->injected += inject ? 1 : 0;
        session->sending += inject ? 0 : 1;
    }
    return status == -FI_EAGAIN ? -EAGAIN : (int)status;
}

static int driver_post_receive(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    ssize_t status = fi_trecv(session->endpoint, data, size, NULL, FI_ADDR_UNSPEC, session->key, 0,
                              &session->received);

    session->expected += status == 0 ? 1 : 0;
    return status == -FI_EAGAIN ? -EAGAIN : (int)status;
}

static int driver_progress(void *opened, bool wait, struct driver_ended *ended)
{
    struct session *session = opened;
    struct spin spin = spin_start(session->host, SPIN_FOREVER);

    for (;;) {
        const uint64_t sending = session->sending;
        int status = collect(session);
        if (status < 0) {
            return status;
        }
        const uint64_t sends = session->injected + (sending - session->sending);
        const uint64_t receives = session->arrived;
        session->injected = 0;
        session->arrived = 0;
        ended->sends += sends;
        ended->receives += receives;
        if (!wait || sends + receives > 0) {
            return 0;
        }
        status = status == 0 ? spin_turn(&spin) : 0;
        if (status < 0) {
            return status;
        }
    }
}

/* Injected messages have no completion. Polling lets a provider that queued them send them. */
static int driver_flush(void *opened)
{
    for (int i = 0; i < FLUSH_POLLS; i++) {
        int status = collect(opened);
        if (status < 0) {
            return status;
        }
    }
    return 0;
}

/* Both ends send a greeting, so that the connection exists before anything is measured. */
static int driver_connect(void *opened, const char *peer_address, char *error, size_t error_bytes)
{
    struct session *session = opened;
    char greeting = 0;
    int status = read_address(session, peer_address);

    if (status != 0) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end",
                       peer_address);
        return status;
    }
    status = driver_send(session, &greeting, sizeof greeting);
    if (status == 0) {
        status = driver_receive(session, &greeting, sizeof greeting);
    }
    if (status == 0) {
        status = driver_flush(session);
    }
    return status == 0 ? 0 : explain(status, "cannot reach the other end", error, error_bytes);
}

#define COMMON                                                                                     \
    .abi = DRIVER_ABI, .reliable = true, .spins = true, .min_size = 1,                             \
    .max_size = UINT64_C(1) << 30, .address = driver_address, .connect = driver_connect,           \
    .send = driver_send, .receive = driver_receive, .stream_send = driver_stream_send,             \
    .stream_receive = driver_stream_receive, .flush = driver_flush, .close = driver_close,         \
    .post_send = driver_post_send, .post_receive = driver_post_receive,                            \
    .progress = driver_progress

static int tcp_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    return probe_over("tcp", options, reason, reason_bytes);
}

static int tcp_open(const struct driver_options *options, void **session, char *error,
                    size_t error_bytes)
{
    return open_over("tcp", options, session, error, error_bytes);
}

static const struct driver FI_TCP = {
    COMMON,
    .name = "fi-tcp",
    .summary = "libfabric's tcp provider, tagged messages, as MPI libraries use it; spins",
    .placement = DRIVER_PAIR,
    .probe = tcp_probe,
    .open = tcp_open,
};

/* The other providers are known at run time only, and a driver's functions do not get its name. So
 * there is a fixed number of places, each with its own functions. */
static struct {
    char provider[PROVIDER_BYTES];
    char name[PROVIDER_BYTES + 8];
    char summary[PROVIDER_BYTES + 80];
} places[PLACES];

#define PLACE(number)                                                                              \
    static int probe_##number(const struct driver_options *options, char *reason,                  \
                              size_t reason_bytes)                                                 \
    {                                                                                              \
        return probe_over(places[number].provider, options, reason, reason_bytes);                 \
    }                                                                                              \
    static int open_##number(const struct driver_options *options, void **session, char *error,    \
                             size_t error_bytes)                                                   \
    {                                                                                              \
        return open_over(places[number].provider, options, session, error, error_bytes);           \
    }

PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
PLACE(5)
PLACE(6)
PLACE(7)
PLACE(8)
PLACE(9)
PLACE(10)
PLACE(11)

#define AT(number)                                                                                 \
    {                                                                                              \
        COMMON, .name = places[number].name, .summary = places[number].summary,                    \
                .probe = probe_##number, .open = open_##number                                     \
    }

static struct driver drivers[PLACES] = {AT(0), AT(1), AT(2), AT(3), AT(4),  AT(5),
                                        AT(6), AT(7), AT(8), AT(9), AT(10), AT(11)};

/* Is it a provider for a driver of its own: not `tcp`, no layer or hook, and with a valid name? */
static bool is_provider(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length < PROVIDER_BYTES && strcmp(name, "tcp") != 0 &&
           strncmp(name, "ofi_", 4) != 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

static bool is_listed(const char *provider, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(places[i].provider, provider) == 0) {
            return true;
        }
    }
    return false;
}

static void fill_place(size_t number, const char *provider)
{
    const bool within_host = strcmp(provider, "shm") == 0;

    (void)snprintf(places[number].provider, sizeof places[number].provider, "%s", provider);
    (void)snprintf(places[number].name, sizeof places[number].name, "fi:%s", provider);
    (void)snprintf(places[number].summary, sizeof places[number].summary,
                   "libfabric's %s provider, tagged messages, as MPI libraries use it; spins",
                   provider);
    drivers[number].placement = within_host ? DRIVER_HOST : DRIVER_PAIR;
}

/* Beowire's own provider is beside the drivers: libfabric searches there besides its usual
 * places. */
static void find_our_provider(void)
{
    Dl_info here;
    Dl_info library;
    char path[2 * PATH_MAX];
    /* How POSIX converts a function pointer for dladdr(). */
    const struct driver *const *(*own)(void) = beowire_driver_table;
    void (*foreign)(struct fi_info *) = fi_freeinfo;

    if (getenv("FI_PROVIDER_PATH") != NULL || dladdr(*(void **)&own, &here) == 0 ||
        dladdr(*(void **)&foreign, &library) == 0) {
        return;
    }
    const char *slash = strrchr(here.dli_fname, '/');
    const char *end = strrchr(library.dli_fname, '/');
    if (slash != NULL && end != NULL) {
        int length = snprintf(path, sizeof path, "%.*s/../fabric:%.*s/libfabric",
                              (int)(slash - here.dli_fname), here.dli_fname,
                              (int)(end - library.dli_fname), library.dli_fname);
        if (length > 0 && (size_t)length < sizeof path) {
            (void)setenv("FI_PROVIDER_PATH", path, 0);
        }
    }
}

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *table[PLACES + 2] = {&FI_TCP};
    struct fi_info *all = NULL;
    size_t count = 0;

    if (table[1] != NULL) {
        return table;
    }
    find_our_provider();
    if (fi_getinfo(API_VERSION, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &all) != 0) {
        return table; /* probing fi-tcp reports why */
    }
    for (const struct fi_info *one = all; one != NULL && count < PLACES; one = one->next) {
        const char *provider = one->fabric_attr->prov_name;
        if (provider != NULL && is_provider(provider) && !is_listed(provider, count)) {
            fill_place(count, provider);
            table[count + 1] = &drivers[count];
            count++;
        }
    }
    fi_freeinfo(all);
    return table;
}
