/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collective.c - the collective operations of an MPI, as programs call them: they return when they
 * are done, and nothing is asked meanwhile. A rank that fails there is ended with its job.
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
        /* What the root gives is only read. */
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
