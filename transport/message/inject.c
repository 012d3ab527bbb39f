/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are sent at once or not at all, without completion. */
#include "message/bundle.h"
#include "message/internal.h"
#include "message/outgoing.h"

#include <assert.h>
#include <errno.h>

/** Pushes all frames of a message of several frames. */
static int inject_frames(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                         uint32_t immediate, const void *data, uint64_t bytes)
{
    if (bytes > message_limits_inject(&layer->limits) ||
        !outgoing_holds(layer, peer, bytes, FRAME_EAGER, FRAME_FRAGMENT)) {
        return -EMSGSIZE;
    }
    struct operation *operation = outgoing_take_send(layer, peer, tag, immediate, data, bytes);
    if (operation == NULL) {
        return -EAGAIN;
    }
    operation->is_silent = true;
    bundle_close(layer, peer);
    list_append(&peer->queue, &operation->link);
    bool pushed = true;
    while (pushed && operation->state == OPERATION_QUEUED) {
        pushed = outgoing_push_part(layer, peer, operation);
    }
    assert(pushed);
    return 0;
}

int message_inject(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                   uint32_t immediate, const void *data, uint64_t bytes)
{
    int status = outgoing_check_send(peer, data, bytes);

    if (status != 0) {
        return status;
    }
    if (!outgoing_is_clear(peer)) {
        return -EAGAIN;
    }
    if (bytes > outgoing_room(peer, FRAME_EAGER)) {
        return inject_frames(layer, peer, tag, immediate, data, bytes);
    }
    if (outgoing_can_bundle(layer, peer, bytes) &&
        bundle_add(layer, peer, tag, immediate, data, (uint32_t)bytes, NULL)) {
        return 0;
    }
    bundle_close(layer, peer);
    return outgoing_push_copied(layer, peer, tag, immediate, data, (uint32_t)bytes, NULL) ? 0
                                                                                          : -EAGAIN;
}
