/* SPDX-License-Identifier: BSD-3-Clause */
/* The public interface to remote memory. */
#include "remote/remote.h"

#include "endpoint/endpoint.h"
#include "remote/atomic.h"

#include <errno.h>

#define MEMORY_FLAGS                                                                               \
    ((unsigned)BEOWIRE_MEMORY_READ | (unsigned)BEOWIRE_MEMORY_WRITE |                              \
     (unsigned)BEOWIRE_MEMORY_VIRTUAL | (unsigned)BEOWIRE_MEMORY_KEY)

#define PUT_FLAGS ((unsigned)BEOWIRE_PUT_NOTIFY | (unsigned)BEOWIRE_PUT_INJECT)

static uint64_t new_key(struct core *core)
{
    uint64_t key = 0;

    while (key == 0 || region_exists(&core->messages.regions, key)) {
        key = core->options.random(core->options.random_context);
    }
    return key;
}

int beowire_memory_register(beowire_endpoint *endpoint, void *base, uint64_t bytes, unsigned flags,
                            uint64_t *key)
{
    int status = key == NULL || (flags & ~MEMORY_FLAGS) != 0 ? -EINVAL : endpoint_enter(endpoint);

    if (status != 0) {
        return status;
    }
    struct region region = {.base = base, .bytes = bytes, .flags = flags};
    region.key = (flags & BEOWIRE_MEMORY_KEY) != 0 ? *key : new_key(&endpoint->core);
    status = region_add(&endpoint->core.messages.regions, &region);
    if (status == 0) {
        *key = region.key;
    }
    endpoint_leave(endpoint);
    return status;
}

static int do_unregister(struct beowire_endpoint *endpoint, uint64_t key)
{
    struct core *core = &endpoint->core;
    int status = remote_unregister(&core->messages, key);

    for (uint32_t i = 0; i < core->peer_count && status == 0; i++) {
        if (message_has_work(&core->peers[i]->message)) {
            core_service(core, core->peers[i],
                         endpoint_clock(endpoint)); /* tells peers that it has ended */
        }
    }
    return status;
}

int beowire_memory_unregister(beowire_endpoint *endpoint, uint64_t key)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        status = do_unregister(endpoint, key);
        endpoint_leave(endpoint);
    }
    return status;
}

/** Services the peer, for which something may have been posted. */
static void go_on(struct beowire_endpoint *endpoint, struct core_peer *to, int status)
{
    struct core *core = &endpoint->core;

    if (status == 0 || status == -EAGAIN) {
        uint64_t now_ns = endpoint_clock(endpoint);
        core_connect(core, to, now_ns);
        if (core_has_bulk(core)) {
            core_bulk(core, now_ns);
        }
    }
}

int beowire_put(beowire_endpoint *endpoint, beowire_peer peer, const struct beowire_remote *remote,
                const void *data, uint64_t bytes, unsigned flags, uint32_t immediate, void *context)
{
    int status = endpoint_check(endpoint);

    if (status != 0) {
        return status;
    }
    struct core *core = &endpoint->core;
    if (remote == NULL || (data == NULL && bytes > 0) || (flags & ~PUT_FLAGS) != 0) {
        return -EINVAL;
    }
    if (bytes > BEOWIRE_MESSAGE_BYTES_MAX ||
        ((flags & BEOWIRE_PUT_INJECT) != 0 && bytes > beowire_put_inject_bytes(endpoint))) {
        return -EMSGSIZE;
    }
    turn_enter(&endpoint->turn);
    struct core_peer *to = core_peer_at(core, peer);
    status = -EINVAL;
    if (to != NULL) {
        status = remote_put(&core->messages, &to->message, remote, data, bytes, flags, immediate,
                            context);
        go_on(endpoint, to, status);
    }
    endpoint_leave(endpoint);
    return status;
}

int beowire_get(beowire_endpoint *endpoint, beowire_peer peer, const struct beowire_remote *remote,
                void *data, uint64_t bytes, void *context)
{
    int status = endpoint_check(endpoint);

    if (status != 0) {
        return status;
    }
    struct core *core = &endpoint->core;
    if (remote == NULL || (data == NULL && bytes > 0)) {
        return -EINVAL;
    }
    if (bytes > BEOWIRE_MESSAGE_BYTES_MAX) {
        return -EMSGSIZE;
    }
    turn_enter(&endpoint->turn);
    struct core_peer *to = core_peer_at(core, peer);
    status = -EINVAL;
    if (to != NULL) {
        status = remote_get(&core->messages, &to->message, remote, data, bytes, context);
        go_on(endpoint, to, status);
    }
    endpoint_leave(endpoint);
    return status;
}

static int check_atomic(const beowire_endpoint *endpoint, const struct beowire_atomic *atomic)
{
    if (atomic == NULL) {
        return -EINVAL;
    }
    uint32_t most = beowire_atomic_count(endpoint, atomic->operation, atomic->type);
    if (most == 0) {
        return -EOPNOTSUPP;
    }
    if ((atomic->operand == NULL && atomic_has_operand(atomic->operation)) ||
        (atomic->compare == NULL && atomic_has_compare(atomic->operation)) ||
        (atomic->result == NULL && atomic->operation == BEOWIRE_ATOMIC_READ) ||
        atomic->count == 0) {
        return -EINVAL;
    }
    return atomic->count > most ? -EMSGSIZE : 0;
}

int beowire_atomic(beowire_endpoint *endpoint, beowire_peer peer,
                   const struct beowire_remote *remote, const struct beowire_atomic *atomic,
                   void *context)
{
    int status = endpoint_check(endpoint);

    if (status == 0) {
        status = remote == NULL ? -EINVAL : check_atomic(endpoint, atomic);
    }
    if (status != 0) {
        return status;
    }
    struct core *core = &endpoint->core;
    turn_enter(&endpoint->turn);
    struct core_peer *to = core_peer_at(core, peer);
    status = -EINVAL;
    if (to != NULL) {
        status = remote_atomic(&core->messages, &to->message, remote, atomic, context);
        go_on(endpoint, to, status);
    }
    endpoint_leave(endpoint);
    return status;
}

uint64_t beowire_put_inject_bytes(const beowire_endpoint *endpoint)
{
    return endpoint_check(endpoint) == 0 ? endpoint_inject_bytes(endpoint, sizeof(struct frame_put))
                                         : 0;
}

uint32_t beowire_atomic_count(const beowire_endpoint *endpoint,
                              enum beowire_atomic_operation operation,
                              enum beowire_atomic_type type)
{
    return endpoint_check(endpoint) == 0 ? atomic_count_max(operation, type) : 0;
}
