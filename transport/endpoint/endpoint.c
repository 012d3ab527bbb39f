/* SPDX-License-Identifier: BSD-3-Clause */
/* The public interface: a core, its lanes, and the clock. */
#include "beowire.h"

#include "endpoint/address.h"
#include "endpoint/endpoint.h"
#include "endpoint/lanes.h"
#include "endpoint/number.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/** While nothing arrives, the clock is read only at every so many polls. */
#define POLLS_PER_CLOCK 16

/** And the lanes are asked whether they still work at every so many. */
#define POLLS_PER_STATUS (1u << 20)

static uint64_t clock_ns(void *unused)
{
    struct timespec now;

    (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t random_number(void *unused)
{
    uint64_t number = 0;

    (void)unused;
    while (getrandom(&number, sizeof number, 0) != sizeof number) {
        /* interrupted before the pool was ready: only early at boot */
    }
    return number;
}

static int check_options(const struct beowire_options *options)
{
    if (options == NULL || options->size != sizeof *options || options->interface == NULL ||
        options->interface[0] == '\0' || options->ethertype < 0x0600 || options->operations < 1 ||
        options->operations > 32768 || options->peers < 1 || options->peers > 65536 ||
        options->peer_timeout_ns == 0) {
        return -EINVAL;
    }
    return 0;
}

static void own_address(const struct path_lanes *lanes, uint16_t ethertype, uint16_t endpoint,
                        struct beowire_address *address)
{
    uint64_t incarnation = 0;

    while (incarnation == 0) {
        incarnation = random_number(NULL);
    }
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .endpoint = to_le16(endpoint),
        .ethertype = to_le16(ethertype),
        .incarnation = to_le64(incarnation),
    };
    paths_publish(lanes, &layout);
    memcpy(address->bytes, &layout, sizeof layout);
}

/** Makes everything behind the handle; what was made is taken back by give_up(). */
static int set_up(struct beowire_endpoint *endpoint, const struct beowire_options *options)
{
    struct core_options core_options = {
        .operations = options->operations,
        .peers = options->peers,
        .peer_timeout_ns = options->peer_timeout_ns,
        .random = random_number,
    };
    uint16_t number = options->endpoint;
    int status = number_reserve(options->ethertype, &number, &endpoint->number_holder);

    if (status == 0) {
        status = lanes_open(options, number, &core_options.lanes);
    }
    if (status == 0) {
        own_address(&core_options.lanes, options->ethertype, number, &core_options.address);
        status = core_open(&endpoint->core, &core_options);
    }
    if (status != 0) {
        lanes_close(&core_options.lanes);
    }
    return status;
}

int beowire_open(const struct beowire_options *options, beowire_endpoint **endpoint)
{
    int status = check_options(options);

    if (status != 0 || endpoint == NULL) {
        return -EINVAL;
    }
    struct beowire_endpoint *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return -ENOMEM;
    }
    opened->number_holder = -1;
    status = set_up(opened, options);
    if (status != 0) {
        if (opened->number_holder >= 0) {
            close(opened->number_holder);
        }
        free(opened);
        return status;
    }
    *endpoint = opened;
    return 0;
}

/** Takes what has arrived and runs timers that are due. */
static void progress(struct beowire_endpoint *endpoint)
{
    struct core *core = &endpoint->core;

    if (core_receive(core, clock_ns, NULL) > 0) {
        endpoint->idle_polls = 0;
        return;
    }
    if (core_has_bulk(core)) {
        core_bulk(core, clock_ns(NULL));
    }
    unsigned polls = ++endpoint->idle_polls;
    if (core->deadline_ns != UINT64_MAX && polls % POLLS_PER_CLOCK == 0) {
        core_timers(core, clock_ns(NULL));
    }
    if (polls % POLLS_PER_STATUS == 0) {
        endpoint->status = core_status(core);
    }
}

int beowire_flush(beowire_endpoint *endpoint, uint64_t timeout_ns)
{
    struct core *core = &endpoint->core;
    uint64_t start_ns = clock_ns(NULL);
    uint64_t now_ns = start_ns;

    while (!core_is_flushed(core)) {
        if (endpoint->status != 0) {
            return endpoint->status;
        }
        progress(endpoint);
        now_ns = clock_ns(NULL);
        core_timers(core, now_ns);
        if (now_ns - start_ns >= timeout_ns && !core_is_flushed(core)) {
            return -ETIMEDOUT;
        }
    }
    core_acknowledge(core, now_ns);
    return 0;
}

int beowire_close(beowire_endpoint *endpoint, uint64_t linger_ns)
{
    endpoint->core.undelivered = false; /* of earlier failures the application knows */
    int status = beowire_flush(endpoint, linger_ns);
    if (status != 0 || endpoint->core.undelivered) {
        status = -ETIMEDOUT;
    }
    core_say_goodbye(&endpoint->core);
    struct path_lanes lanes = endpoint->core.options.lanes;
    core_close(&endpoint->core);
    lanes_close(&lanes);
    close(endpoint->number_holder);
    free(endpoint);
    return status;
}

void beowire_address(const beowire_endpoint *endpoint, struct beowire_address *address)
{
    *address = endpoint->core.options.address;
}

int beowire_peer_add(beowire_endpoint *endpoint, const struct beowire_address *address,
                     beowire_peer *peer)
{
    struct core_peer *added = NULL;

    if (address == NULL || peer == NULL) {
        return -EINVAL;
    }
    int status = core_peer_add(&endpoint->core, address, &added);
    if (status == 0) {
        *peer = added->message.index;
    }
    return status;
}

int beowire_peer_address(const beowire_endpoint *endpoint, beowire_peer peer,
                         struct beowire_address *address)
{
    const struct core_peer *found = core_peer_at(&endpoint->core, peer);

    if (found == NULL || address == NULL) {
        return -EINVAL;
    }
    *address = found->address;
    return 0;
}

int beowire_send(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint32_t immediate,
                 const void *data, uint64_t bytes, void *context)
{
    struct core *core = &endpoint->core;
    struct core_peer *to = core_peer_at(core, peer);

    if (to == NULL) {
        return -EINVAL;
    }
    int status = message_send(&core->messages, &to->message, tag, immediate, data, bytes, context);
    if (status == 0) {
        uint64_t now_ns = clock_ns(NULL);
        core_service(core, to, now_ns);
        if (core_has_bulk(core)) {
            core_bulk(core, now_ns);
        }
    }
    return status;
}

int beowire_inject(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint32_t immediate,
                   const void *data, uint64_t bytes)
{
    struct core *core = &endpoint->core;
    struct core_peer *to = core_peer_at(core, peer);

    if (to == NULL) {
        return -EINVAL;
    }
    if (bytes > beowire_inject_bytes(endpoint)) {
        return -EMSGSIZE;
    }
    int status = message_inject(&core->messages, &to->message, tag, immediate, data, bytes);
    uint64_t now_ns = clock_ns(NULL);
    if (status == -EAGAIN) {
        connection_ask(&to->connection, now_ns);
    }
    if (status == 0 || status == -EAGAIN) {
        core_service(core, to, now_ns);
    }
    return status;
}

uint64_t beowire_inject_bytes(const beowire_endpoint *endpoint)
{
    const struct path_lanes *lanes = &endpoint->core.options.lanes;
    uint32_t frame_bytes = UINT32_MAX;

    for (unsigned i = 0; i < lanes->count; i++) {
        frame_bytes =
            lanes->lanes[i]->frame_bytes < frame_bytes ? lanes->lanes[i]->frame_bytes : frame_bytes;
    }
    return frame_bytes - sizeof(struct frame_header) - sizeof(struct frame_eager);
}

int beowire_receive(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint64_t ignore,
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
        uint64_t now_ns = clock_ns(NULL);
        core_service(core, core->peers[touched->index], now_ns);
        core_bulk(core, now_ns);
    }
    return status;
}

int beowire_peek(const beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint64_t ignore,
                 struct beowire_completion *found)
{
    const struct core_peer *from = core_peer_at(&endpoint->core, peer);

    if (found == NULL || (from == NULL && peer != BEOWIRE_ANY_PEER)) {
        return -EINVAL;
    }
    return message_peek(&endpoint->core.messages, from != NULL ? &from->message : NULL, tag, ignore,
                        found);
}

int beowire_claim(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag, uint64_t ignore,
                  struct beowire_completion *found, beowire_message *message)
{
    const struct core_peer *from = core_peer_at(&endpoint->core, peer);

    if (found == NULL || message == NULL || (from == NULL && peer != BEOWIRE_ANY_PEER)) {
        return -EINVAL;
    }
    return message_claim(&endpoint->core.messages, from != NULL ? &from->message : NULL, tag,
                         ignore, found, message);
}

int beowire_receive_claimed(beowire_endpoint *endpoint, beowire_message message, void *data,
                            uint64_t bytes, void *context)
{
    struct core *core = &endpoint->core;
    struct message_peer *touched = NULL;
    int status = message_receive_claimed(&core->messages, message, data, bytes, context, &touched);

    if (touched != NULL) {
        uint64_t now_ns = clock_ns(NULL);
        core_service(core, core->peers[touched->index], now_ns);
        core_bulk(core, now_ns);
    }
    return status;
}

int beowire_cancel(beowire_endpoint *endpoint, const void *context)
{
    return message_cancel(&endpoint->core.messages, context);
}

int beowire_poll(beowire_endpoint *endpoint, struct beowire_completion *completions, size_t count)
{
    int taken = 0;

    progress(endpoint);
    while ((size_t)taken < count && taken < INT_MAX &&
           message_complete(&endpoint->core.messages, &completions[taken])) {
        taken++;
    }
    return taken == 0 ? endpoint->status : taken;
}

/** Sleeps until a frame comes, a timer is due, or the time is over. */
static int sleep_until(struct beowire_endpoint *endpoint, uint64_t now_ns, uint64_t end_ns)
{
    uint64_t wake_ns = endpoint->core.deadline_ns < end_ns ? endpoint->core.deadline_ns : end_ns;

    if (wake_ns <= now_ns) {
        return 0;
    }
    endpoint->status = core_status(&endpoint->core);
    if (endpoint->status != 0) {
        return endpoint->status;
    }
    const struct path_lanes *lanes = &endpoint->core.options.lanes;
    struct pollfd readable[LANES_MAX];
    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (lane->operations->arm != NULL && !lane->operations->arm(lane)) {
            return 0;
        }
        readable[i] = (struct pollfd){.fd = lane->operations->descriptor(lane), .events = POLLIN};
    }
    uint64_t pause_ns = wake_ns - now_ns;
    struct timespec timeout = {.tv_sec = (time_t)(pause_ns / 1000000000u),
                               .tv_nsec = (long)(pause_ns % 1000000000u)};
    return ppoll(readable, lanes->count, &timeout, NULL) < 0 ? -errno : 0;
}

int beowire_wait(beowire_endpoint *endpoint, uint64_t timeout_ns)
{
    uint64_t start_ns = clock_ns(NULL);
    uint64_t end_ns = start_ns + timeout_ns < start_ns ? UINT64_MAX : start_ns + timeout_ns;

    for (;;) {
        progress(endpoint);
        if (!list_is_empty(&endpoint->core.messages.completed)) {
            return 1;
        }
        if (endpoint->status != 0) {
            return endpoint->status;
        }
        uint64_t now_ns = clock_ns(NULL);
        core_timers(&endpoint->core, now_ns);
        if (now_ns >= end_ns) {
            return !list_is_empty(&endpoint->core.messages.completed);
        }
        if (now_ns - start_ns >= ENDPOINT_SPIN_NS) {
            int status = sleep_until(endpoint, now_ns, end_ns);
            if (status != 0) {
                return status;
            }
        }
    }
}
