/* SPDX-License-Identifier: BSD-3-Clause */
/* The public interface: a core, its lanes, and the clock. */
#include "beowire.h"

#include "endpoint/configuration.h"
#include "endpoint/endpoint.h"
#include "endpoint/handle.h"
#include "endpoint/lanes.h"
#include "lane/entropy.h"
#include "route/address.h"
#include "route/proof.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/** The next random number of an endpoint. Once it is open, this makes no system call, which might
 * be refused. */
static uint64_t random_number(void *context)
{
    struct beowire_endpoint *endpoint = context;

    return proof_number(endpoint->random_key, endpoint->random_count++);
}

/** Limit because names of sends have 15 bits (spare.h). */
#define OPERATIONS_MAX 32768

/** Length of the options in the first beowire.h, and in a later one. */
#define FIRST_OPTIONS_BYTES offsetof(struct beowire_options, configuration)
#define SECOND_OPTIONS_BYTES offsetof(struct beowire_options, job_key)

/** Copies the options that the caller's beowire.h has; later ones get defaults. */
static int read_options(const struct beowire_options *given, struct beowire_options *options)
{
    *options = (struct beowire_options)BEOWIRE_OPTIONS_DEFAULT;
    if (given == NULL || (given->size != sizeof *options && given->size != SECOND_OPTIONS_BYTES &&
                          given->size != FIRST_OPTIONS_BYTES)) {
        return -EINVAL;
    }
    memcpy(options, given, given->size);
    options->size = sizeof *options;
    /* Lists are checked where they are read. */
    bool bounded = options->operations != BEOWIRE_OPERATIONS_ANY;
    if (options->ethertype < 0x0600 || options->operations < 1 ||
        (bounded && options->operations > OPERATIONS_MAX) || options->peers < 1 ||
        options->peers > 65536 || options->peer_timeout_ns == 0 ||
        options->progress > BEOWIRE_PROGRESS_CALLS) {
        return -EINVAL;
    }
    return 0;
}

/** Makes a secret whose incarnation is not 0. @return 0; a negative errno: no random bytes. */
static int new_secret(uint8_t secret[ADDRESS_SECRET_BYTES])
{
    do {
        int status = entropy_fill(secret, ADDRESS_SECRET_BYTES);
        if (status != 0) {
            return status;
        }
        /* The time differs if a snapshot of the machine is resumed. */
        struct timespec now[2] = {0};
        clock_gettime(CLOCK_REALTIME, &now[0]);
        clock_gettime(CLOCK_MONOTONIC, &now[1]);
        proof_mix_secret(secret, now, sizeof now);
    } while (proof_incarnation(secret) == 0 || !proof_secret_is_known(secret));
    return 0;
}

static void make_address(const struct path_lanes *lanes, const uint8_t secret[ADDRESS_SECRET_BYTES],
                         uint16_t ethertype, uint16_t endpoint, struct beowire_address *address)
{
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .endpoint = to_le16(endpoint),
        .ethertype = to_le16(ethertype),
        .incarnation = to_le64(proof_incarnation(secret)),
    };
    memcpy(layout.secret, secret, sizeof layout.secret);
    paths_publish(lanes, &layout);
    memcpy(address->bytes, &layout, sizeof layout);
}

/** Creates everything behind the handle; take_down() destroys it. */
static int set_up(struct beowire_endpoint *endpoint, const struct beowire_options *options,
                  const struct settings *settings)
{
    bool grow = options->operations == BEOWIRE_OPERATIONS_ANY;
    struct core_options core_options = {
        .operations = grow ? OPERATIONS_MAX : options->operations,
        .grow = grow,
        .peers = options->peers,
        .peer_timeout_ns = options->peer_timeout_ns,
        /* Without a keeper nobody would send the messages held back. */
        .hold = options->progress != BEOWIRE_PROGRESS_CALLS,
        .job_key = options->job_key,
        .go_back_n = options->go_back_n || settings->go_back_n,
        .authenticate = settings->authenticate,
        .checksums = settings->checksums,
        .limits = &settings->message,
        .packet_bulk_rails = settings_packet_rails(settings, options->interface),
        .random = random_number,
        .random_context = endpoint,
    };
    uint8_t secret[ADDRESS_SECRET_BYTES];
    uint16_t number = options->endpoint;
    int status = new_secret(secret);
    if (status == 0) {
        status = entropy_fill(endpoint->random_key, sizeof endpoint->random_key);
    }
    if (status != 0) {
        return status;
    }
    if (trace_file_open(&endpoint->trace, secure_getenv(TRACE_VARIABLE)) != 0) {
        return -EBADMSG; /* beowire_configuration_check() tells why */
    }
    status = lanes_open(options, proof_incarnation(secret), &number, &core_options.lanes,
                        &endpoint->missing);
    if (status == 0) {
        if (settings->busy_poll_us != SETTINGS_AS_HOST) {
            lanes_busy_poll(&core_options.lanes, settings->busy_poll_us);
        }
        make_address(&core_options.lanes, secret, options->ethertype, number,
                     &core_options.address);
        status = core_open(&endpoint->core, &core_options);
        endpoint->core.options.limits = NULL; /* copied; they do not outlive this call */
    }
    if (status != 0) {
        lanes_close(&core_options.lanes, true);
        trace_file_discard(&endpoint->trace);
        return status;
    }
    endpoint->core.routes.trace = trace_file_ring(&endpoint->trace);
    ticks_open(&endpoint->ticks, TICKS_SOURCE);
    stats_open(&endpoint->stats, &endpoint->core, endpoint_clock(endpoint));
    stats_missing(&endpoint->stats, &endpoint->missing);
    return 0;
}

/** Destroys what set_up() created. @param is_child this process is a child of fork(). */
static void take_down(struct beowire_endpoint *endpoint, bool is_child)
{
    struct path_lanes lanes = endpoint->core.options.lanes;

    descriptor_close(&endpoint->descriptor);
    contention_close(&endpoint->contention);
    stats_close(&endpoint->stats);
    core_close(&endpoint->core);
    trace_file_close(&endpoint->trace);
    lanes_close(&lanes, !is_child);
}

int beowire_open(const struct beowire_options *options, beowire_endpoint **endpoint)
{
    struct beowire_options read;
    struct settings settings;
    int status = read_options(options, &read);

    if (status != 0 || endpoint == NULL) {
        return -EINVAL;
    }
    status = configuration_read(read.configuration, &settings, NULL, 0);
    if (status != 0) {
        return status;
    }
    struct beowire_endpoint *opened = handle_take();
    if (opened == NULL) {
        return -ENOMEM;
    }
    opened->process = getpid();
    turn_open(&opened->turn);
    patience_open(&opened->patience);
    contention_open(&opened->contention);
    patience_limit(&opened->patience, settings.spin_ns);
    status = set_up(opened, &read, &settings);
    if (status == 0) {
        status = endpoint_keeper(opened, read.progress);
        if (status != 0) {
            trace_file_discard(&opened->trace);
            take_down(opened, false);
        }
    }
    if (status != 0) {
        handle_give(opened);
        return status;
    }
    opened->is_open = true;
    *endpoint = opened;
    return 0;
}

int beowire_flush(beowire_endpoint *endpoint, uint64_t timeout_ns)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        status = endpoint_flush(endpoint, timeout_ns);
        endpoint_leave(endpoint);
    }
    return status;
}

int beowire_leave(beowire_endpoint *endpoint)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        core_leave(&endpoint->core);
        endpoint_leave(endpoint);
    }
    return status;
}

/** Says goodbye repeatedly until all peers have answered. A peer that misses it and our last
 *  acknowledgement could not know that we have all its messages. */
static void say_goodbye(struct beowire_endpoint *endpoint, uint64_t linger_ns)
{
    uint64_t patience_ns = linger_ns < ENDPOINT_GOODBYE_NS ? linger_ns : ENDPOINT_GOODBYE_NS;
    uint64_t start_ns = endpoint_clock(endpoint);
    uint64_t pause_ns = ENDPOINT_GOODBYE_NS / 16;
    uint64_t now_ns = start_ns;

    while (core_say_goodbye(&endpoint->core) && now_ns - start_ns < patience_ns) {
        uint64_t said_ns = now_ns;
        while (now_ns - said_ns < pause_ns && core_has_connections(&endpoint->core)) {
            endpoint_progress(endpoint);
            now_ns = endpoint_clock(endpoint);
        }
        pause_ns *= 2;
    }
}

/** For a child of fork(): connections and outstanding operations stay with the parent, so nothing
 * is sent; the keeper is a thread of the parent. If a thread was using the endpoint at the fork, it
 * is not destroyed. */
static void abandon(struct beowire_endpoint *endpoint)
{
    keeper_abandon(&endpoint->keeper);
    if (turn_is_free(&endpoint->turn)) {
        take_down(endpoint, true);
    }
    handle_give(endpoint);
}

int beowire_close(beowire_endpoint *endpoint, uint64_t linger_ns)
{
    int status = endpoint_check(endpoint);

    if (status != 0 && status != -ECHILD) {
        return status;
    }
    if (endpoint->process != getpid()) { /* for kernels that do not wipe pages (handle.h) */
        abandon(endpoint);
        return 0;
    }
    keeper_stop(&endpoint->keeper);
    endpoint->core.undelivered = false; /* the application knows of earlier failures */
    core_leave(&endpoint->core);
    status = endpoint_flush(endpoint, linger_ns);
    if (status != 0 || endpoint->core.undelivered) {
        status = -ETIMEDOUT;
    }
    say_goodbye(endpoint, linger_ns);
    take_down(endpoint, false);
    handle_give(endpoint);
    return status;
}

void beowire_address(const beowire_endpoint *endpoint, struct beowire_address *address)
{
    if (address != NULL) {
        *address = endpoint_check(endpoint) == 0 ? endpoint->core.options.address
                                                 : (struct beowire_address){0};
    }
}

int beowire_missing_lane(const beowire_endpoint *endpoint, unsigned index, const char **name,
                         int *reason)
{
    int status = endpoint_check(endpoint);

    if (status == 0 && (name == NULL || reason == NULL)) {
        status = -EINVAL;
    }
    if (status == 0 && index >= endpoint->missing.count) {
        status = -ENOENT;
    }
    if (status == 0) {
        *name = endpoint->missing.at[index].name;
        *reason = endpoint->missing.at[index].status;
    }
    return status;
}

const char *beowire_missing_lane_reason(const beowire_endpoint *endpoint, unsigned index)
{
    return endpoint_check(endpoint) == 0 && index < endpoint->missing.count
               ? endpoint->missing.at[index].reason
               : NULL;
}

static int do_peer_add(beowire_endpoint *endpoint, const struct beowire_address *address,
                       beowire_peer *peer)
{
    struct core_peer *added = NULL;

    if (address == NULL || peer == NULL) {
        return -EINVAL;
    }
    int status = core_peer_add(&endpoint->core, address, &added);
    if (status == 0) {
        *peer = added->message.handle;
    }
    return status;
}

int beowire_peer_add(beowire_endpoint *endpoint, const struct beowire_address *address,
                     beowire_peer *peer)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        status = do_peer_add(endpoint, address, peer);
        endpoint_leave(endpoint);
    }
    return status;
}

int beowire_peer_forget(beowire_endpoint *endpoint, beowire_peer peer)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        struct core_peer *found = core_peer_at(&endpoint->core, peer);
        status = found != NULL ? core_peer_forget(&endpoint->core, found) : -EINVAL;
        endpoint_leave(endpoint);
    }
    return status;
}

int beowire_peer_address(const beowire_endpoint *endpoint, beowire_peer peer,
                         struct beowire_address *address)
{
    beowire_endpoint *own = endpoint_writable(endpoint);
    int status = address == NULL ? -EINVAL : endpoint_enter(own);

    if (status == 0) {
        const struct core_peer *found = core_peer_at(&own->core, peer);
        if (found == NULL) {
            status = -EINVAL;
        } else {
            *address = found->address;
        }
        endpoint_leave(own);
    }
    return status;
}

int beowire_peer_was_heard(const beowire_endpoint *endpoint, beowire_peer peer)
{
    beowire_endpoint *own = endpoint_writable(endpoint);
    int status = endpoint_enter(own);

    if (status == 0) {
        const struct core_peer *found = core_peer_at(&own->core, peer);
        status =
            found == NULL ? -EINVAL : found->message.key != 0; /* it gives one when it begins */
        endpoint_leave(own);
    }
    return status;
}

static int post(beowire_endpoint *endpoint, beowire_peer peer, const struct core_post *message)
{
    struct core *core = &endpoint->core;
    struct core_peer *to = core_peer_at(core, peer);

    if (to == NULL) {
        return -EINVAL;
    }
    if (message->how == CORE_INJECT &&
        message->bytes > message_limits_inject(&core->messages.limits) &&
        message->bytes > endpoint_inject_bytes(endpoint, sizeof(struct frame_eager))) {
        return -EMSGSIZE;
    }
    return core_post(core, to, message, endpoint_clock_of, endpoint);
}

static int post_message(beowire_endpoint *endpoint, beowire_peer peer,
                        const struct core_post *message)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        status = post(endpoint, peer, message);
        endpoint_leave(endpoint);
    }
    return status;
}

int beowire_send(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint32_t immediate,
                 const void *data, uint64_t bytes, void *context)
{
    return post_message(endpoint, peer,
                        &(struct core_post){.how = CORE_SEND,
                                            .tag = tag,
                                            .immediate = immediate,
                                            .data = data,
                                            .bytes = bytes,
                                            .context = context});
}

int beowire_send_confirmed(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                           uint32_t immediate, const void *data, uint64_t bytes, void *context)
{
    return post_message(endpoint, peer,
                        &(struct core_post){.how = CORE_SEND_CONFIRMED,
                                            .tag = tag,
                                            .immediate = immediate,
                                            .data = data,
                                            .bytes = bytes,
                                            .context = context});
}

int beowire_send_matched(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                         uint32_t immediate, const void *data, uint64_t bytes, void *context)
{
    return post_message(endpoint, peer,
                        &(struct core_post){.how = CORE_SEND_MATCHED,
                                            .tag = tag,
                                            .immediate = immediate,
                                            .data = data,
                                            .bytes = bytes,
                                            .context = context});
}

uint64_t endpoint_inject_bytes(const beowire_endpoint *endpoint, size_t operation_bytes)
{
    const struct path_lanes *lanes = &endpoint->core.options.lanes;
    uint32_t frame_bytes = UINT32_MAX;

    for (unsigned i = 0; i < lanes->count; i++) {
        frame_bytes =
            lanes->lanes[i]->frame_bytes < frame_bytes ? lanes->lanes[i]->frame_bytes : frame_bytes;
    }
    uint64_t room = frame_bytes - sizeof(struct frame_header) - operation_bytes;
    uint32_t several = message_limits_inject(&endpoint->core.messages.limits);
    return room > several ? room : several;
}

int beowire_inject(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint32_t immediate,
                   const void *data, uint64_t bytes)
{
    return post_message(
        endpoint, peer,
        &(struct core_post){
            .how = CORE_INJECT, .tag = tag, .immediate = immediate, .data = data, .bytes = bytes});
}

uint64_t beowire_inject_bytes(const beowire_endpoint *endpoint)
{
    return endpoint_check(endpoint) == 0
               ? endpoint_inject_bytes(endpoint, sizeof(struct frame_eager))
               : 0;
}

static int do_receive(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint64_t ignore,
                      void *data, uint64_t bytes, void *context)
{
    struct core *core = &endpoint->core;
    struct core_peer *from = core_peer_at(core, peer);

    if (from == NULL && peer != BEOWIRE_ANY_PEER) {
        return -EINVAL;
    }
    struct message_peer *touched = NULL;
    int status = message_receive(&core->messages, from != NULL ? &from->message : NULL, tag, ignore,
                                 data, bytes, context, &touched);
    if (touched != NULL) {
        uint64_t now_ns = endpoint_clock(endpoint);
        core_service(core, core->peers[touched->index], now_ns);
        core_bulk(core, now_ns);
    } else if (status == 0 && from != NULL && !core_watch(core, from)) {
        core_connect(core, from, endpoint_clock(endpoint));
    }
    return status;
}

/** Finds the peer whose messages are wanted. @return 0; -EINVAL: no such peer. */
static int find_source(const struct core *core, beowire_peer peer, const struct message_peer **from)
{
    const struct core_peer *found = core_peer_at(core, peer);

    *from = found != NULL ? &found->message : NULL;
    return found == NULL && peer != BEOWIRE_ANY_PEER ? -EINVAL : 0;
}

int beowire_peek(const beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint64_t ignore,
                 struct beowire_completion *found)
{
    beowire_endpoint *own = endpoint_writable(endpoint);
    const struct message_peer *from = NULL;
    int status = found == NULL ? -EINVAL : endpoint_enter(own);

    if (status == 0) {
        status = find_source(&own->core, peer, &from);
        if (status == 0) {
            status = message_peek(&own->core.messages, from, tag, ignore, found);
        }
        endpoint_leave(own);
    }
    return status;
}

int beowire_claim(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint64_t ignore,
                  struct beowire_completion *found, beowire_message *message)
{
    const struct message_peer *from = NULL;
    int status = found == NULL || message == NULL ? -EINVAL : endpoint_enter(endpoint);

    if (status == 0) {
        status = find_source(&endpoint->core, peer, &from);
        if (status == 0) {
            status = message_claim(&endpoint->core.messages, from, tag, ignore, found, message);
        }
        endpoint_leave(endpoint);
    }
    return status;
}

static int do_receive_claimed(beowire_endpoint *endpoint, beowire_message message, void *data,
                              uint64_t bytes, void *context)
{
    struct core *core = &endpoint->core;
    struct message_peer *touched = NULL;
    int status = message_receive_claimed(&core->messages, message, data, bytes, context, &touched);

    if (touched != NULL) {
        uint64_t now_ns = endpoint_clock(endpoint);
        core_service(core, core->peers[touched->index], now_ns);
        core_bulk(core, now_ns);
    }
    return status;
}

int beowire_receive_claimed(beowire_endpoint *endpoint, beowire_message message, void *data,
                            uint64_t bytes, void *context)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        status = do_receive_claimed(endpoint, message, data, bytes, context);
        endpoint_leave(endpoint);
    }
    return status;
}

int beowire_receive(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint64_t ignore,
                    void *data, uint64_t bytes, void *context)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        status = do_receive(endpoint, peer, tag, ignore, data, bytes, context);
        endpoint_leave(endpoint);
    }
    return status;
}

int beowire_cancel(beowire_endpoint *endpoint, const void *context)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        status = core_cancel(&endpoint->core, context);
        endpoint_leave(endpoint);
    }
    return status;
}

static int do_poll(beowire_endpoint *endpoint, struct beowire_completion *completions, size_t count)
{
    int taken = 0;

    if (completions == NULL && count > 0) {
        return -EINVAL;
    }
    endpoint_progress(endpoint);
    while ((size_t)taken < count && taken < INT_MAX &&
           message_complete(&endpoint->core.messages, &completions[taken])) {
        struct core_peer *touched = core_taken(&endpoint->core, &completions[taken++]);
        if (touched != NULL) {
            core_service(&endpoint->core, touched, endpoint_clock(endpoint));
        }
    }
    if (endpoint->idle_polls % POLLS_PER_BREAK == POLLS_PER_BREAK - 1 && taken == 0) {
        endpoint_break(endpoint);
    } else if (crowd_is_there(&endpoint->crowd) && taken == 0 &&
               endpoint->idle_polls % POLLS_PER_CROWDED_LOOK == 1) {
        endpoint_idle(endpoint);
    }
    if (taken > 0) {
        trace_here(endpoint->core.routes.trace, TRACE_TAKEN, (uint64_t)taken);
    }
    endpoint->served_seen = endpoint_served(endpoint);
    return taken == 0 ? endpoint->status : taken;
}

int beowire_poll(beowire_endpoint *endpoint, struct beowire_completion *completions, size_t count)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        status = do_poll(endpoint, completions, count);
        endpoint_leave(endpoint);
    }
    return status;
}
