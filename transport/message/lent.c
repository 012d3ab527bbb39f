/* SPDX-License-Identifier: BSD-3-Clause */
#include "message/lent.h"

#include "lane/copy.h"
#include "message/internal.h"
#include "message/outgoing.h"

#include <string.h>

struct flow_frame *lent_begin(struct message_layer *layer, struct message_peer *peer,
                              enum frame_type type, struct operation *operation, uint32_t bytes)
{
    struct flow_frame *frame = outgoing_begin(layer, peer, type, bytes, 0);

    if (frame == NULL) {
        return NULL;
    }
    if (!peer->lends) {
        peer->lends = true;
        peer->lent_from = peer->flow.next;
    }
    frame->lent = true;
    frame->head_bytes -= bytes;
    frame->payload_bytes = bytes;
    outgoing_refer(frame, operation, bytes);
    return frame;
}

void message_take_back(struct message_layer *layer, struct message_peer *peer)
{
    if (!peer->lends) {
        return;
    }
    peer->lends = false;
    uint32_t sequence =
        sequence_before(peer->lent_from, peer->flow.first) ? peer->flow.first : peer->lent_from;
    for (; sequence != peer->flow.next; sequence++) {
        struct flow_frame *frame = flow_ring_at(&peer->flow, sequence);
        if (!frame->lent) {
            continue;
        }
        copy_bytes(frame->head + frame->head_bytes, frame->payload, frame->payload_bytes);
        frame->head_bytes += frame->payload_bytes;
        frame->payload_bytes = 0;
        frame->payload = NULL;
        frame->lent = false;
        message_disowned(layer, frame);
    }
}
