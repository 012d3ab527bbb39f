/* SPDX-License-Identifier: BSD-3-Clause */
/* persistent.c - requests that send the same again and again, which are counted when they start. */
#include "profile.h"

#include <pthread.h>

/** Requests whose messages can be counted; of those beyond, only the time. */
#define MOST 4096

static struct {
    MPI_Request request;
    uint64_t bytes;
    bool used;
} table[MOST];
static int used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/** Where a request is, or a free place if there is room for it; MOST if neither. A request that was
 *  taken out leaves no gap that a search would end at: all are looked at. */
static int find(MPI_Request request)
{
    int place = MOST;

    for (int i = 0; i < used; i++) {
        if (table[i].used && table[i].request == request) {
            return i;
        }
        if (!table[i].used && place == MOST) {
            place = i;
        }
    }
    return place == MOST ? used : place;
}

void profile_persistent(MPI_Request request, int count, MPI_Datatype type, int to)
{
    int place = 0;

    if (to == MPI_PROC_NULL) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    place = find(request);
    if (place < MOST) {
        table[place].request = request;
        table[place].bytes = profile_bytes(count, type);
        table[place].used = true;
        used = place < used ? used : place + 1;
    }
    (void)pthread_mutex_unlock(&lock);
}

void profile_started(MPI_Request request)
{
    int place = 0;

    (void)pthread_mutex_lock(&lock);
    place = find(request);
    if (place < used && table[place].used) {
        profile_count(WAY_MESSAGE, table[place].bytes);
    }
    (void)pthread_mutex_unlock(&lock);
}

void profile_freed(MPI_Request request)
{
    int place = 0;

    (void)pthread_mutex_lock(&lock);
    place = find(request);
    if (place < used) {
        table[place].used = false;
    }
    (void)pthread_mutex_unlock(&lock);
}

#define SEND_INIT(name)                                                                            \
    int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag,              \
                   MPI_Comm comm, MPI_Request *request)                                            \
    {                                                                                              \
        struct profile_span span = profile_enter(CALL_##name);                                     \
        int result = PMPI_##name(buffer, count, type, to, tag, comm, request);                     \
                                                                                                   \
        if (span.outer && result == MPI_SUCCESS) {                                                 \
            profile_persistent(*request, count, type, to);                                         \
        }                                                                                          \
        profile_leave(span);                                                                       \
        return result;                                                                             \
    }

SEND_INIT(Send_init)
SEND_INIT(Ssend_init)
SEND_INIT(Bsend_init)
SEND_INIT(Rsend_init)

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    PROFILED(Recv_init, (void)0, PMPI_Recv_init(buffer, count, type, from, tag, comm, request));
}

int MPI_Start(MPI_Request *request)
{
    PROFILED(Start, profile_started(*request), PMPI_Start(request));
}

static void started(int count, const MPI_Request requests[])
{
    for (int i = 0; i < count; i++) {
        profile_started(requests[i]);
    }
}

int MPI_Startall(int count, MPI_Request requests[])
{
    PROFILED(Startall, started(count, requests), PMPI_Startall(count, requests));
}

int MPI_Request_free(MPI_Request *request)
{
    PROFILED(Request_free, profile_freed(*request), PMPI_Request_free(request));
}
