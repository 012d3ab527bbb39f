/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.c - RDMA over Ethernet (RoCE v2) through libibverbs only: reliable connections
 * (verbs_link.h).
 *
 *   verbs-send    the receiver posts a receive, the sender sends into it
 *   verbs-write   the sender writes into the receiver's memory (RDMA write with immediate data)
 *   verbs-read    the sender announces the message, the receiver reads it (RDMA read) and says so
 *
 * and each as -events, which sleeps until the card reports a completion; the others poll.
 *
 * Messages of up to 4 KiB are copied through buffers that are posted in advance, as in MPI
 * libraries, without any prior agreement. With verbs-read, too, they are copied, from a buffer of
 * the sender. Longer ones go from memory to memory: one end offers memory, and the other uses it
 * (verbs_session.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "spin.h"
#include "verbs_link.h"
#include "verbs_queue.h"
#include "verbs_regions.h"
#include "verbs_session.h"

#define MESSAGE_BYTES_MAX (UINT64_C(1) << 30)

/* How long close() waits until the card has delivered what was sent. */
#define CLOSE_NS UINT64_C(200000000)

/* Posts a send, and returns when at most `allowed` sends are under way. */
static int send_within(struct verbs_session *session, const void *data, uint64_t size,
                       uint64_t allowed)
{
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    void *where = (void *)(uintptr_t)data;
    if (!verbs_queue_add(&session->out, where, size, size > VERBS_COPIED_BYTES)) {
        return -ENOBUFS;
    }
    int result = verbs_session_pump(session);
    while (result == 0) {
        (void)verbs_queue_settle(&session->out);
        if (verbs_queue_length(&session->out) <= allowed) {
            return 0;
        }
        result = verbs_session_turn(session, &spin);
    }
    return result;
}

/* Posts receives until `wanted` are posted or complete, and returns when one is complete. */
static int receive_within(struct verbs_session *session, void *data, uint64_t size, uint64_t wanted)
{
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    while (verbs_queue_length(&session->in) + session->received < wanted) {
        (void)verbs_queue_add(&session->in, data, size, size > VERBS_COPIED_BYTES);
    }
    int result = verbs_session_pump(session);
    for (;;) {
        session->received += verbs_queue_settle(&session->in);
        if (session->received > 0) { /* even if the connection has failed since */
            session->received--;
            return 0;
        }
        if (result != 0) {
            return result;
        }
        result = verbs_session_turn(session, &spin);
    }
}

static int verbs_send(void *opened, const void *data, uint64_t size)
{
    return send_within(opened, data, size, 0);
}

static int verbs_receive(void *opened, void *data, uint64_t size)
{
    return receive_within(opened, data, size, 1);
}

static int verbs_stream_send(void *opened, const void *data, uint64_t size, uint64_t more)
{
    return send_within(opened, data, size, more == 0 ? 0 : VERBS_WINDOW - 1);
}

static int verbs_stream_receive(void *opened, void *data, uint64_t size, uint64_t more)
{
    return receive_within(opened, data, size, more < VERBS_WINDOW ? more + 1 : VERBS_WINDOW);
}

static int verbs_post_send(void *opened, const void *data, uint64_t size)
{
    struct verbs_session *session = opened;
    void *where = (void *)(uintptr_t)data;
    return verbs_queue_add(&session->out, where, size, size > VERBS_COPIED_BYTES)
               ? verbs_session_pump(session)
               : -EAGAIN;
}

static int verbs_post_receive(void *opened, void *data, uint64_t size)
{
    struct verbs_session *session = opened;
    return verbs_queue_add(&session->in, data, size, size > VERBS_COPIED_BYTES)
               ? verbs_session_pump(session)
               : -EAGAIN;
}

static int verbs_progress(void *opened, bool wait, struct driver_ended *ended)
{
    struct verbs_session *session = opened;
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    int result = verbs_session_advance(session);
    for (;;) {
        const uint64_t sends = verbs_queue_settle(&session->out);
        const uint64_t receives = verbs_queue_settle(&session->in);
        ended->sends += sends;
        ended->receives += receives;
        if (result < 0 && sends + receives == 0) {
            return result;
        }
        if (!wait || sends + receives > 0) {
            return 0; /* the next call reports a failure again */
        }
        result = verbs_session_turn(session, &spin);
    }
}

static int verbs_flush(void *opened)
{
    struct verbs_session *session = opened;
    int result = verbs_session_tell(session);
    return result != 0 ? result : verbs_session_drain(session, false, session->host, SPIN_FOREVER);
}

/* Receives without a message are cancelled or abandoned. */
static int drop_receives(struct verbs_session *session)
{
    while (verbs_queue_length(&session->in) > 0) {
        struct verbs_region *region = verbs_queue_drop(&session->in);
        if (region == NULL) {
            continue;
        }
        if (session->link.way == VERBS_WRITE) {
            verbs_regions_release(region); /* the other end no longer writes there */
        } else if (session->left_count == VERBS_OFFERS) {
            return -ESTALE;
        } else {
            session->left[session->left_count++] = region;
        }
    }
    return 0;
}

static int verbs_prepare(void *opened, uint64_t size)
{
    struct verbs_session *session = opened;
    const struct verbs_name *own = &session->link.own;
    const struct verbs_name *peer = &session->link.peer;
    session->run++;
    session->received = 0;
    int result = verbs_queue_length(&session->out) == 0 ? drop_receives(session) : -ESTALE;
    if (result == 0) {
        result = verbs_session_advance(session);
    }
    if (result < 0) {
        return result;
    }
    verbs_regions_forget(&session->regions);
    return size > own->message_bytes_max || size > peer->message_bytes_max ? -EMSGSIZE : 0;
}

static bool never(void *context)
{
    (void)context;
    return false;
}

static void verbs_close(void *opened)
{
    static const struct driver_host PATIENT = {.stopped = never};
    struct verbs_session *session = opened;
    if (session->greeted && verbs_session_tell(session) == 0) {
        (void)verbs_session_drain(session, true, &PATIENT, CLOSE_NS);
    }
    /* Posted operations must end before their memory is freed. */
    struct verbs_regions *regions = &session->regions;
    verbs_link_disconnect(&session->link);
    verbs_regions_close(regions);
    verbs_link_close(&session->link);
    free(session);
}

static int keep_buffers(struct verbs_session *session, const struct driver_options *options,
                        char *error, size_t error_bytes)
{
    const uint64_t bytes = options->max_size + DRIVER_SLACK_BYTES;
    int result = options->outgoing == NULL
                     ? 0
                     : verbs_regions_keep(&session->regions, options->outgoing, bytes);
    if (result == 0 && options->incoming != NULL) {
        result = verbs_regions_keep(&session->regions, options->incoming, bytes);
    }
    if (result != 0) {
        (void)snprintf(error, error_bytes,
                       "cannot register two messages of %llu bytes with the RDMA device: %s"
                       " (ulimit -l shows how much memory may be locked)",
                       (unsigned long long)options->max_size, strerror(-result));
    }
    return result;
}

static int open_over(enum verbs_way way, bool sleeps, const struct driver_options *options,
                     void **opened, char *error, size_t error_bytes)
{
    static const unsigned ACCESS[] = {
        [VERBS_SEND] = IBV_ACCESS_LOCAL_WRITE,
        [VERBS_WRITE] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
        [VERBS_READ] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
    };
    struct verbs_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return -ENOMEM;
    }
    session->host = options->host;
    session->role = options->role;
    session->sleeps = sleeps;
    session->link.way = way;
    int result = verbs_link_open(&session->link, options, sleeps, error, error_bytes);
    if (result == 0) {
        session->regions.domain = session->link.domain;
        session->regions.access = ACCESS[way];
        result = keep_buffers(session, options, error, error_bytes);
    }
    if (result != 0) {
        verbs_close(session);
        return result;
    }
    *opened = session;
    return 0;
}

static int verbs_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    struct verbs_device device;
    int result = verbs_device_open(&device, options, reason, reason_bytes);
    if (result == 0) {
        verbs_device_close(&device);
    }
    return result;
}

static int verbs_address(void *opened, char *text, size_t text_bytes)
{
    const struct verbs_session *session = opened;
    return verbs_link_write(&session->link, text, text_bytes);
}

static int await_greeting(struct verbs_session *session)
{
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    int result = 0;
    while (result == 0 && !session->greeted) {
        result = verbs_session_turn(session, &spin);
    }
    return result;
}

/* The initiator sends a greeting, and the responder answers it. An end that is not connected yet
 * does not answer, and the card times out after two seconds. Then the initiator reconnects. The
 * responder does not notice, because it sends nothing before the greeting. */
static int greet(struct verbs_session *session, char *error, size_t error_bytes)
{
    int result = -ECONNRESET;
    while (result == -ECONNRESET) {
        session->failure = 0;
        result = verbs_link_connect(&session->link, error, error_bytes);
        if (result == 0 && session->role == DRIVER_INITIATOR) {
            result = verbs_session_say(session, VERBS_GREETING, NULL, 0);
        }
        result = result != 0 ? result : await_greeting(session);
    }
    return result == 0 && session->role == DRIVER_RESPONDER
               ? verbs_session_say(session, VERBS_GREETING, NULL, 0)
               : result;
}

static int verbs_connect(void *opened, const char *peer_address, char *error, size_t error_bytes)
{
    struct verbs_session *session = opened;
    if (verbs_link_read(&session->link, peer_address) != 0) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end",
                       peer_address);
        return -EINVAL;
    }
    error[0] = '\0';
    int result = greet(session, error, error_bytes);
    if (result != 0 && error[0] == '\0') {
        (void)snprintf(error, error_bytes,
                       "the other end's RDMA device does not answer: UDP port 4791 has to pass"
                       " between the two: %s",
                       strerror(-result));
    }
    return result;
}

#define COMMON                                                                                     \
    .abi = DRIVER_ABI, .placement = DRIVER_PAIR, .reliable = true, .min_size = 1,                  \
    .max_size = MESSAGE_BYTES_MAX, .probe = verbs_probe, .address = verbs_address,                 \
    .connect = verbs_connect, .prepare = verbs_prepare, .send = verbs_send,                        \
    .receive = verbs_receive, .stream_send = verbs_stream_send,                                    \
    .stream_receive = verbs_stream_receive, .flush = verbs_flush, .close = verbs_close,            \
    .post_send = verbs_post_send, .post_receive = verbs_post_receive, .progress = verbs_progress

/* The functions of a driver do not get its name. */
#define WAY(id, way, what)                                                                         \
    static int id##_open(const struct driver_options *options, void **session, char *error,        \
                         size_t error_bytes)                                                       \
    {                                                                                              \
        return open_over(way, false, options, session, error, error_bytes);                        \
    }                                                                                              \
    static int id##_events_open(const struct driver_options *options, void **session, char *error, \
                                size_t error_bytes)                                                \
    {                                                                                              \
        return open_over(way, true, options, session, error, error_bytes);                         \
    }                                                                                              \
    static const struct driver id##_driver = {                                                     \
        COMMON,        .name = "verbs-" #id, .summary = "RDMA over Ethernet, " what "; spins",     \
        .spins = true, .open = id##_open,                                                          \
    };                                                                                             \
    static const struct driver id##_events_driver = {                                              \
        COMMON,                                                                                    \
        .name = "verbs-" #id "-events",                                                            \
        .summary = "RDMA over Ethernet, " what "; sleeps until the card reports",                  \
        .open = id##_events_open,                                                                  \
    };

WAY(send, VERBS_SEND, "sends into posted receives")
WAY(write, VERBS_WRITE, "writes with immediate data")
WAY(read, VERBS_READ, "reads of what was announced")

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {
        &send_driver,         &write_driver,       &read_driver, &send_events_driver,
        &write_events_driver, &read_events_driver, NULL,
    };
    return TABLE;
}
