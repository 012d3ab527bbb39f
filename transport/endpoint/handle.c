/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/handle.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/** Closed endpoints, the first to be closed first. */
static struct beowire_endpoint *oldest;
static struct beowire_endpoint *latest;
static unsigned kept;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

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
        return calloc(1, sizeof *taken);
    }
    memset(taken, 0, sizeof *taken);
    return taken;
}

void handle_give(struct beowire_endpoint *endpoint)
{
    endpoint->is_open = false;
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
