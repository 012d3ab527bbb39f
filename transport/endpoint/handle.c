/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/handle.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/** List of closed endpoints, in the order of closing. */
static struct beowire_endpoint *oldest;
static struct beowire_endpoint *latest;
static unsigned kept;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct beowire_endpoint *make(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = page - OWN_MARK_BYTES + sizeof(struct beowire_endpoint);
    uint8_t *block = aligned_alloc(page, (bytes + page - 1) / page * page);

    if (block == NULL) {
        return NULL;
    }
    memset(block, 0, bytes);
    /* If the kernel does not support it, misuse by a child is not detected. */
    (void)madvise(block, page, MADV_WIPEONFORK);
    return (struct beowire_endpoint *)(void *)(block + page - OWN_MARK_BYTES);
}

struct beowire_endpoint *handle_take(void)
{
    struct beowire_endpoint *taken = NULL;

    pthread_mutex_lock(&mutex);
    if (kept > HANDLE_CLOSED_KEPT) {
        taken = oldest;
        oldest = taken->closed_next;
        kept--;
    }
    pthread_mutex_unlock(&mutex);
    if (taken == NULL) {
        return make();
    }
    memset(taken, 0, sizeof *taken);
    return taken;
}

void handle_give(struct beowire_endpoint *endpoint)
{
    endpoint->is_open = false;
    endpoint->process = 0;
    endpoint->closed_next = NULL;
    pthread_mutex_lock(&mutex);
    if (kept == 0) {
        oldest = endpoint;
    } else {
        latest->closed_next = endpoint;
    }
    latest = endpoint;
    kept++;
    pthread_mutex_unlock(&mutex);
}
