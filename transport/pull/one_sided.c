/* SPDX-License-Identifier: BSD-3-Clause */
#include "pull/one_sided.h"

#include "message/internal.h"

uint64_t one_sided_offer(struct message_layer *layer, const struct message_peer *peer,
                         struct operation *operation)
{
    if (peer->shares_memory) {
        return (uint64_t)(uintptr_t)operation->source;
    }
    if (!peer->one_sided || operation->bytes < layer->limits.one_sided_bytes) {
        return 0;
    }
    operation->lent =
        layer->one_sided->lend(layer->read_context, peer, operation->source, operation->bytes);
    layer->counters.lent_messages += operation->lent != 0;
    layer->counters.lend_refused += operation->lent == 0;
    return operation->lent;
}

bool one_sided_begin(struct message_layer *layer, struct inbound *inbound)
{
    const struct message_peer *peer = inbound->peer;

    if (!peer->one_sided || peer->shares_memory || inbound->address == 0) {
        return false;
    }
    if (layer->one_sided->begin_read(layer->read_context, peer, inbound->address,
                                     inbound_target(inbound), inbound->expected_bytes,
                                     inbound) != 0) {
        layer->counters.one_sided_refused++;
        return false;
    }
    inbound->one_sided = true;
    inbound->one_sided_due_ns =
        layer->now_ns + ONE_SIDED_PATIENCE_NS + inbound->expected_bytes * ONE_SIDED_NS_PER_BYTE;
    list_append(&layer->reads, &inbound->waiting);
    layer->pulls_changed = true; /* its deadline counts */
    return true;
}

void one_sided_stop(struct message_layer *layer, struct inbound *inbound)
{
    if (inbound->one_sided) {
        inbound->one_sided = false;
        list_remove(&inbound->waiting);
        layer->one_sided->stop_read(layer->read_context, inbound);
    }
}
