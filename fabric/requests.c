/* SPDX-License-Identifier: BSD-3-Clause */
#include "requests.h"

#include "lane/clock.h"
#include "notice.h"

#include <inttypes.h>
#include <rdma/fabric.h>
#include <stdlib.h>

/** Requests are allocated in blocks of this many, when needed. */
#define REQUEST_BLOCK 1024

/** A limit reached for this long may be why a program hangs. */
#define PATIENCE_NS (10 * NS_PER_SECOND)

struct request_block {
    struct request_block *next; /* made before it, and used up */
    uint32_t used;              /* that have ever been used */
    struct request requests[REQUEST_BLOCK];
};

static bool is_for_receiving(enum request_kind kind)
{
    return kind == REQUEST_RECEIVE || kind == REQUEST_MULTI_RECEIVE || kind == REQUEST_DISCARD;
}

/** One never used before; NULL: no memory. */
static struct request *make_request(struct requests *requests)
{
    struct request_block *block = requests->blocks;

    if (block == NULL || block->used == REQUEST_BLOCK) {
        block = calloc(1, sizeof *block);
        if (block == NULL) {
            return NULL;
        }
        block->next = requests->blocks;
        requests->blocks = block;
    }
    return &block->requests[block->used++];
}

/** Records a refusal, and reports it if it lasts. */
static void refuse(struct requests *requests)
{
    uint64_t now = clock_now_ns();

    if (requests->refused_ns == 0) {
        requests->refused_ns = now;
    } else if (now - requests->refused_ns >= PATIENCE_NS) {
        notice(FI_LOG_EP_DATA,
               "for %d s as many operations have been outstanding as FI_BEOWIRE_OPERATIONS allows "
               "(%" PRIu64 " sends, and receives): if the program hangs, increase or remove this "
               "limit",
               (int)(PATIENCE_NS / NS_PER_SECOND), requests->max / 2);
    }
}

struct request *requests_take(struct requests *requests, enum request_kind kind)
{
    struct request *request = requests->free;
    bool receives = is_for_receiving(kind);

    if (requests->taken == requests->max ||
        (receives && requests->receiving == requests->max / 2)) {
        refuse(requests);
        return NULL;
    }
    if (request != NULL) {
        requests->free = request->next;
    } else {
        request = make_request(requests);
        if (request == NULL) {
            return NULL;
        }
    }
    *request = (struct request){.kind = kind, .serial = requests->serial++};
    requests->taken++;
    requests->receiving += receives;
    requests->refused_ns = 0;
    return request;
}

void requests_give(struct requests *requests, struct request *request)
{
    free(request->gathered);
    requests->taken--;
    requests->receiving -= is_for_receiving(request->kind);
    *request = (struct request){.next = requests->free};
    requests->free = request;
}

/** The older of two receives, if the first one has this context, and was posted after `after`
 * (NULL: at any time). */
static struct request *older(struct request *request, const void *context,
                             const struct request *after, struct request *oldest)
{
    bool receives = request->kind == REQUEST_RECEIVE || request->kind == REQUEST_MULTI_RECEIVE;

    return receives && request->context == context &&
                   (after == NULL || (int32_t)(request->serial - after->serial) > 0) &&
                   (oldest == NULL || (int32_t)(request->serial - oldest->serial) < 0)
               ? request
               : oldest;
}

struct request *requests_oldest_receive(const struct requests *requests, const void *context,
                                        const struct request *after)
{
    struct request *oldest = NULL;

    for (struct request_block *block = requests->blocks; block != NULL; block = block->next) {
        for (uint32_t i = 0; i < block->used; i++) {
            oldest = older(&block->requests[i], context, after, oldest);
        }
    }
    return oldest;
}

void requests_end(struct requests *requests)
{
    while (requests->blocks != NULL) {
        struct request_block *block = requests->blocks;
        requests->blocks = block->next;
        for (uint32_t i = 0; i < block->used; i++) {
            free(block->requests[i].gathered);
        }
        free(block);
    }
    *requests = (struct requests){.max = requests->max};
}

size_t iov_bytes(const struct iovec *parts, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        if (parts[i].iov_len > SIZE_MAX - bytes) {
            return SIZE_MAX;
        }
        bytes += parts[i].iov_len;
    }
    return bytes;
}
