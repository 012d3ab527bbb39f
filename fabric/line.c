/* SPDX-License-Identifier: BSD-3-Clause */
#include "line.h"

#include "complete.h"

#include <rdma/fi_errno.h>

/** Does it hold up all others while the transport has it? */
static bool holds_up(const struct request *request)
{
    return request->kind == REQUEST_MULTI_RECEIVE && request->peer == BEOWIRE_ANY_PEER;
}

static int hand_over(struct endpoint *endpoint, struct request *request)
{
    uint8_t *target = request->gathered != NULL ? request->gathered->data
                      : request->buffer != NULL ? request->buffer + request->used
                                                : NULL;
    int status = beowire_receive(endpoint->transport, request->peer, TAG_MESSAGE, ~TAG_MESSAGE,
                                 target, request->bytes - request->used, request);

    if (status == 0 && holds_up(request)) {
        endpoint->line_head = request;
    }
    return status;
}

int line_post(struct endpoint *endpoint, struct request *request)
{
    if (endpoint->line_head == NULL && endpoint->line_first == NULL) {
        return hand_over(endpoint, request);
    }
    request->next = NULL;
    request->in_line = true;
    if (endpoint->line_first == NULL) {
        endpoint->line_first = request;
    } else {
        endpoint->line_last->next = request;
    }
    endpoint->line_last = request;
    return 0;
}

bool line_post_rest(struct endpoint *endpoint, struct request *request)
{
    return hand_over(endpoint, request) == 0;
}

void line_leave(struct endpoint *endpoint, const struct request *request)
{
    if (endpoint->line_head == request) {
        endpoint->line_head = NULL;
    }
}

struct request *line_advance(struct endpoint *endpoint, int *status)
{
    while (endpoint->line_head == NULL && endpoint->line_first != NULL &&
           complete_has_room(endpoint->rx_cq)) {
        struct request *request = endpoint->line_first;
        *status = hand_over(endpoint, request);
        if (*status == -FI_EAGAIN) {
            return NULL; /* the next progress tries again */
        }
        (void)line_remove(endpoint, request);
        if (*status != 0) {
            return request;
        }
    }
    return NULL;
}

bool line_remove(struct endpoint *endpoint, struct request *request)
{
    struct request *before = NULL;

    if (!request->in_line) {
        return false;
    }
    for (struct request *one = endpoint->line_first; one != request; one = one->next) {
        before = one;
    }
    if (before != NULL) {
        before->next = request->next;
    } else {
        endpoint->line_first = request->next;
    }
    if (endpoint->line_last == request) {
        endpoint->line_last = before;
    }
    request->next = NULL;
    request->in_line = false;
    return true;
}
