/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collective.c - MPI's collective operations, as programs call them. They return when they are
 * done, and the host is not asked meanwhile. If a rank fails there, its job is ended.
 */
#include <errno.h>

#include "rank.h"

int rank_collective(void *session, enum driver_collective what, enum driver_role root,
                    const void *data, void *result, uint64_t size)
{
    struct rank *rank = session;
    const int own = 1 - rank->peer;
    const int from = root == DRIVER_INITIATOR ? 0 : 1;
    const int bytes = (int)size;

    switch (what) {
    case DRIVER_BARRIER:
        return rank_status(rank, MPI_Barrier(rank->world));
    case DRIVER_BROADCAST: {
        /* MPI only reads the root's data. */
        void *buffer = from == own ? (void *)(uintptr_t)data : result;
        return rank_status(rank, MPI_Bcast(buffer, bytes, MPI_BYTE, from, rank->world));
    }
    case DRIVER_ALLREDUCE:
        return rank_status(rank,
                           MPI_Allreduce(data, result, bytes, MPI_UINT8_T, MPI_SUM, rank->world));
    case DRIVER_ALLTOALL:
        return rank_status(
            rank, MPI_Alltoall(data, bytes, MPI_BYTE, result, bytes, MPI_BYTE, rank->world));
    }
    return -EINVAL;
}
