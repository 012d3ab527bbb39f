/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ucx.c - drivers over UCX, as MPI libraries use it: tagged messages of its protocol layer (UCP),
 * one worker that is polled. The time that MPI adds is not included. There is one driver per
 * transport: `ucx:tcp`, `ucx:posix` and so on, named as by `ucx_info -d`.
 *
 * The tag of messages to an end is its random key, so other senders' messages are never taken. UCX
 * falls back to another transport for features that one lacks, so there are no drivers for
 * transports that cannot carry messages alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <ucp/api/ucp.h>
#include <ucs/config/global_opts.h>

#include "driver.h"
#include "fail.h"
#include "local.h"
#include "spin.h"
#include "text.h"

/* The most operations of a stream under way, as in drivers/beowire.c. */
#define STREAM_WINDOW 64

/* Longest address of a worker; its hexadecimal digits fit into an address. */
#define NAME_BYTES ((DRIVER_ADDRESS_BYTES - 18) / 2)

/* Polls in close() for the completion of operations. */
#define CLOSE_POLLS 1000

/* Polls for a cancelled receive. */
#define CANCEL_POLLS 1000

struct session {
    const struct driver_host *host;
    enum driver_role role;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *name;
    size_t name_bytes;
    ucp_ep_h peer;
    uint64_t key;      /* the tag of messages to this end */
    uint64_t peer_key; /* the tag of messages to the other end */
    uint64_t sending;  /* sends not yet completed */
    uint64_t expected; /* receives not yet completed */
    uint64_t arrived;  /* completed receives not yet returned */
    int failure;       /* of a completed operation: a negative errno */
    void *waiting;     /* the last posted receive */
};

static int to_errno(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
    case UCS_INPROGRESS:
        return 0;
    case UCS_ERR_NO_DEVICE:
        return -ENODEV;
    case UCS_ERR_UNREACHABLE:
        return -EHOSTUNREACH;
    case UCS_ERR_NO_MEMORY:
        return -ENOMEM;
    case UCS_ERR_MESSAGE_TRUNCATED:
        return -EMSGSIZE;
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_NOT_CONNECTED:
        return -ECONNRESET;
    default:
        return -EIO;
    }
}

static int explain(ucs_status_t status, const char *what, char *error, size_t error_bytes)
{
    (void)snprintf(error, error_bytes, "UCX: %s: %s", what, ucs_status_string(status));
    return to_errno(status);
}

/* The configuration: one transport, the interface if the transport uses one, and no output on
 * standard output, which is the engine's. */
static ucs_status_t configure(const char *transport, const char *interface, ucp_config_t **config)
{
    ucs_status_t status = ucs_global_opts_set_value("LOG_LEVEL", "fatal");
    if (status == UCS_OK) {
        status = ucp_config_read(NULL, NULL, config);
    }
    if (status != UCS_OK) {
        return status;
    }
    status = ucp_config_modify(*config, "TLS", transport);
    if (status == UCS_OK && strcmp(transport, "tcp") == 0) {
        status = ucp_config_modify(*config, "NET_DEVICES", interface);
    }
    return status;
}

static int open_context(const char *transport, const struct driver_options *options,
                        ucp_context_h *context, char *error, size_t error_bytes)
{
    char interface[IF_NAMESIZE];
    ucp_config_t *config = NULL;
    const ucp_params_t parameters = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                     .features = UCP_FEATURE_TAG};
    int result = local_interface(options, interface, error, error_bytes);
    if (result != 0) {
        return result;
    }
    ucs_status_t status = configure(transport, interface, &config);
    if (status == UCS_OK) {
        status = ucp_init(&parameters, config, context);
    }
    if (config != NULL) {
        ucp_config_release(config);
    }
    if (status == UCS_ERR_NO_DEVICE) {
        (void)snprintf(error, error_bytes,
                       "UCX has no transport %s here, or no device for it: see `ucx_info -d`",
                       transport);
        return -ENODEV;
    }
    return status == UCS_OK ? 0 : explain(status, transport, error, error_bytes);
}

static int probe_over(const char *transport, const struct driver_options *options, char *reason,
                      size_t reason_bytes)
{
    ucp_context_h context = NULL;
    int result = open_context(transport, options, &context, reason, reason_bytes);
    if (result == 0) {
        ucp_cleanup(context);
    }
    return result;
}

/* Closes the connection without asking the other end, which may be gone. */
static void close_peer(struct session *session)
{
    const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                     .flags = UCP_EP_CLOSE_FLAG_FORCE};
    void *request = ucp_ep_close_nbx(session->peer, &how);
    if (!UCS_PTR_IS_PTR(request)) {
        return;
    }
    for (int i = 0; i < CLOSE_POLLS && ucp_request_check_status(request) == UCS_INPROGRESS; i++) {
        (void)ucp_worker_progress(session->worker);
    }
    ucp_request_free(request);
}

static void driver_close(void *opened)
{
    struct session *session = opened;
    if (session->peer != NULL) {
        close_peer(session);
    }
    if (session->name != NULL) {
        ucp_worker_release_address(session->worker, session->name);
    }
    if (session->worker != NULL) {
        ucp_worker_destroy(session->worker);
    }
    if (session->context != NULL) {
        ucp_cleanup(session->context);
    }
    free(session);
}

static int open_worker(struct session *session, char *error, size_t error_bytes)
{
    const ucp_worker_params_t parameters = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                            .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucs_status_t status = ucp_worker_create(session->context, &parameters, &session->worker);
    if (status == UCS_OK) {
        status = ucp_worker_get_address(session->worker, &session->name, &session->name_bytes);
    }
    if (status != UCS_OK) {
        return explain(status, "cannot open a worker", error, error_bytes);
    }
    if (session->name_bytes > NAME_BYTES) {
        (void)snprintf(error, error_bytes, "UCX: an address of %zu bytes is too long",
                       session->name_bytes);
        return -ENOSPC;
    }
    if (getrandom(&session->key, sizeof session->key, 0) != (ssize_t)sizeof session->key) {
        return fail(error, error_bytes, "no random numbers");
    }
    return 0;
}

static int open_over(const char *transport, const struct driver_options *options, void **opened,
                     char *error, size_t error_bytes)
{
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return -ENOMEM;
    }
    session->host = options->host;
    session->role = options->role;
    int result = open_context(transport, options, &session->context, error, error_bytes);
    if (result == 0) {
        result = open_worker(session, error, error_bytes);
    }
    if (result != 0) {
        driver_close(session);
        return result;
    }
    *opened = session;
    return 0;
}

/* "KEY@NAME": the worker's address in hexadecimal, because its format is UCX's. */
static int driver_address(void *opened, char *text, size_t text_bytes)
{
    const struct session *session = opened;
    const uint8_t *name = (const uint8_t *)session->name;
    int used = snprintf(text, text_bytes, "%016" PRIx64 "@", session->key);
    if (used < 0 || (size_t)used + 2 * session->name_bytes >= text_bytes) {
        return -ENOSPC;
    }
    for (size_t i = 0; i < session->name_bytes; i++) {
        (void)snprintf(text + used + 2 * i, text_bytes - (size_t)used - 2 * i, "%02x", name[i]);
    }
    return 0;
}

static void sent(void *request, ucs_status_t status, void *context)
{
    struct session *session = context;
    session->sending--;
    session->failure = status == UCS_OK ? session->failure : to_errno(status);
    ucp_request_free(request);
}

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                     void *context)
{
    struct session *session = context;
    (void)info;
    session->expected--;
    if (status == UCS_ERR_CANCELED) {
        ucp_request_free(request);
        return;
    }
    session->arrived++;
    session->failure = status == UCS_OK ? session->failure : to_errno(status);
    ucp_request_free(request);
}

/* One turn of a wait: 0, or why the wait ends. */
static int progress(struct session *session, struct spin *spin)
{
    if (ucp_worker_progress(session->worker) == 0) {
        int error = spin_turn(spin);
        if (error != 0) {
            return error;
        }
    }
    return session->failure;
}

/* Posts a send, and returns when at most `allowed` sends are under way. */
static int send_within(struct session *session, const void *data, uint64_t size, uint64_t allowed)
{
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    const ucp_request_param_t how = {.op_attr_mask =
                                         UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                     .cb.send = sent,
                                     .user_data = session};
    void *request = ucp_tag_send_nbx(session->peer, data, size, session->peer_key, &how);
    if (UCS_PTR_IS_ERR(request)) {
        return to_errno(UCS_PTR_STATUS(request));
    }
    session->sending += request == NULL ? 0 : 1;
    while (session->sending > allowed) {
        int error = progress(session, &spin);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* Posts receives until `wanted` are posted or complete, and returns when one is complete. */
static int receive_within(struct session *session, void *data, uint64_t size, uint64_t wanted)
{
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                     UCP_OP_ATTR_FIELD_USER_DATA |
                                                     UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                     .cb.recv = received,
                                     .user_data = session};
    while (session->expected + session->arrived < wanted) {
        void *request =
            ucp_tag_recv_nbx(session->worker, data, size, session->key, UINT64_MAX, &how);
        if (UCS_PTR_IS_ERR(request)) {
            return to_errno(UCS_PTR_STATUS(request));
        }
        session->waiting = request;
        session->expected++;
    }
    while (session->arrived == 0) {
        int error = progress(session, &spin);
        if (error != 0) {
            return error;
        }
    }
    session->arrived--;
    return session->failure;
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
    int error = receive_within(session, data, size, 1);
    if (error == -ECANCELED && session->expected > 0) {
        ucp_request_cancel(session->worker, session->waiting);
        for (int i = 0; session->expected > 0 && i < CANCEL_POLLS; i++) {
            (void)ucp_worker_progress(session->worker);
        }
    }
    return error;
}

static int driver_stream_send(void *opened, const void *data, uint64_t size, uint64_t more)
{
    return send_within(opened, data, size, more == 0 ? 0 : STREAM_WINDOW - 1);
}

static int driver_stream_receive(void *opened, void *data, uint64_t size, uint64_t more)
{
    return receive_within(opened, data, size, more < STREAM_WINDOW ? more + 1 : STREAM_WINDOW);
}

/* UCX may keep sent messages until it is called again. */
static int driver_flush(void *opened)
{
    struct session *session = opened;
    const ucp_request_param_t how = {0};
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    void *request = ucp_worker_flush_nbx(session->worker, &how);
    if (request == NULL || UCS_PTR_IS_ERR(request)) {
        return to_errno(UCS_PTR_STATUS(request));
    }
    int error = 0;
    while (error == 0 && ucp_request_check_status(request) == UCS_INPROGRESS) {
        error = progress(session, &spin);
    }
    ucp_request_free(request);
    return error;
}

/* UCX does not check addresses, so one with another length than ours is refused. */
static int read_address(struct session *session, const char *text, uint8_t name[NAME_BYTES])
{
    if (!text_number(&text, 16, '@', UINT64_MAX, &session->peer_key)) {
        return -EINVAL;
    }
    size_t digits_there = strlen(text);
    if (digits_there != 2 * session->name_bytes) {
        return -EINVAL;
    }
    for (size_t i = 0; i < digits_there / 2; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        const char *at = digits;
        uint64_t value;
        if (!text_number(&at, 16, '\0', UINT8_MAX, &value) || *at != '\0') {
            return -EINVAL;
        }
        name[i] = (uint8_t)value;
    }
    return 0;
}

static void peer_failed(void *context, ucp_ep_h endpoint, ucs_status_t status)
{
    struct session *session = context;
    (void)endpoint;
    session->failure = to_errno(status);
}

static int open_peer(struct session *session, const uint8_t name[NAME_BYTES], char *error,
                     size_t error_bytes)
{
    const ucp_ep_params_t parameters = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
        .address = (const ucp_address_t *)name,
        .err_mode = UCP_ERR_HANDLING_MODE_NONE,
        .err_handler = {.cb = peer_failed, .arg = session},
    };
    ucs_status_t status = ucp_ep_create(session->worker, &parameters, &session->peer);
    if (status != UCS_OK) {
        session->peer = NULL;
        return explain(status, "cannot reach the other end", error, error_bytes);
    }
    return 0;
}

static int explain_greeting(int result, char *error, size_t error_bytes)
{
    if (result != 0) {
        (void)snprintf(error, error_bytes, "UCX: cannot reach the other end: %s",
                       strerror(-result));
    }
    return result;
}

/* Both ends send a greeting, so that the connection exists before anything is measured. The
 * responder connects only after the initiator's greeting. If both connect at once, UCX (1.13, over
 * TCP) makes two connections and gives one up; in one of about twenty runs, one end then waited
 * forever, while the other was done and no longer called UCX. */
static int driver_connect(void *opened, const char *peer_address, char *error, size_t error_bytes)
{
    struct session *session = opened;
    const bool first = session->role == DRIVER_INITIATOR;
    uint8_t name[NAME_BYTES] = {0};
    char greeting = 0;
    if (read_address(session, peer_address, name) != 0) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end",
                       peer_address);
        return -EINVAL;
    }
    int result = first ? 0 : driver_receive(session, &greeting, sizeof greeting);
    if (result != 0) {
        return explain_greeting(result, error, error_bytes);
    }
    result = open_peer(session, name, error, error_bytes);
    if (result != 0) {
        return result;
    }
    result = driver_send(session, &greeting, sizeof greeting);
    if (result == 0 && first) {
        result = driver_receive(session, &greeting, sizeof greeting);
    }
    if (result == 0) {
        result = driver_flush(session);
    }
    return explain_greeting(result, error, error_bytes);
}

#define COMMON                                                                                     \
    .abi = DRIVER_ABI, .reliable = true, .spins = true, .min_size = 1,                             \
    .max_size = UINT64_C(1) << 30, .address = driver_address, .connect = driver_connect,           \
    .send = driver_send, .receive = driver_receive, .stream_send = driver_stream_send,             \
    .stream_receive = driver_stream_receive, .flush = driver_flush, .close = driver_close

/* The functions of a driver do not get its name. */
#define TRANSPORT(id, where)                                                                       \
    static int id##_probe(const struct driver_options *options, char *reason, size_t reason_bytes) \
    {                                                                                              \
        return probe_over(#id, options, reason, reason_bytes);                                     \
    }                                                                                              \
    static int id##_open(const struct driver_options *options, void **session, char *error,        \
                         size_t error_bytes)                                                       \
    {                                                                                              \
        return open_over(#id, options, session, error, error_bytes);                               \
    }                                                                                              \
    static const struct driver id##_driver = {                                                     \
        COMMON,                                                                                    \
        .name = "ucx:" #id,                                                                        \
        .summary = "UCX over its transport " #id ", tagged messages; spins",                       \
        .placement = (where),                                                                      \
        .probe = id##_probe,                                                                       \
        .open = id##_open,                                                                         \
    };

TRANSPORT(tcp, DRIVER_PAIR)
TRANSPORT(rc_verbs, DRIVER_PAIR)
TRANSPORT(ud_verbs, DRIVER_PAIR)
TRANSPORT(rc_mlx5, DRIVER_PAIR)
TRANSPORT(ud_mlx5, DRIVER_PAIR)
TRANSPORT(dc_mlx5, DRIVER_PAIR)
TRANSPORT(posix, DRIVER_HOST)
TRANSPORT(sysv, DRIVER_HOST)

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {
        &tcp_driver,     &rc_verbs_driver, &ud_verbs_driver,
        &rc_mlx5_driver, &ud_mlx5_driver,  &dc_mlx5_driver,
        &posix_driver,   &sysv_driver,     NULL,
    };
    return TABLE;
}
