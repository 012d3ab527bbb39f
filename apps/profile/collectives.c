/* SPDX-License-Identifier: BSD-3-Clause */
/* collectives.c - the collective functions of C, and those of one-sided communication. */
#include "profile.h"

/** What is given where the program has put it where the result is to be. */
static bool in_place(const void *buffer)
{
    return buffer == MPI_IN_PLACE;
}

/** A collective function: its name, what it gives, its parameters and their names. */
#define COLLECTIVE(name, given, parameters, arguments)                                             \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        PROFILED(name, given, PMPI_##name arguments);                                              \
    }

/** The same, and the function that returns at once. */
#define BOTH(name, lower, given, parameters, arguments)                                            \
    COLLECTIVE(name, given, parameters, arguments)                                                 \
    COLLECTIVE(I##lower, given, (PROFILE_LIST parameters, MPI_Request * request),                  \
               (PROFILE_LIST arguments, request))

BOTH(Barrier, barrier, profile_gives(0, MPI_BYTE), (MPI_Comm comm), (comm))

BOTH(Bcast, bcast,
     profile_is_root(root, comm) ? profile_gives(count, type) : profile_gives(0, MPI_BYTE),
     (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
     (buffer, count, type, root, comm))

BOTH(Reduce, reduce, profile_gives(count, type),
     (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (out, in, count, type, op, root, comm))

BOTH(Allreduce, allreduce, profile_gives(count, type),
     (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, count, type, op, comm))

COLLECTIVE(Scan, profile_gives(count, type),
           (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (out, in, count, type, op, comm))

COLLECTIVE(Exscan, profile_gives(count, type),
           (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (out, in, count, type, op, comm))

BOTH(Gather, gather,
     in_place(out) ? profile_gives(0, MPI_BYTE) : profile_gives(out_count, out_type),
     (const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
      MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, out_count, out_type, in, in_count, in_type, root, comm))

BOTH(Gatherv, gatherv,
     in_place(out) ? profile_gives(0, MPI_BYTE) : profile_gives(out_count, out_type),
     (const void *out, int out_count, MPI_Datatype out_type, void *in, const int in_counts[],
      const int in_starts[], MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, out_count, out_type, in, in_counts, in_starts, in_type, root, comm))

BOTH(Scatter, scatter,
     profile_is_root(root, comm) ? profile_gives_each(out_count, out_type, comm)
                                 : profile_gives(0, MPI_BYTE),
     (const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
      MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, out_count, out_type, in, in_count, in_type, root, comm))

BOTH(Scatterv, scatterv,
     profile_is_root(root, comm) ? profile_gives_counts(out_counts, out_type, comm)
                                 : profile_gives(0, MPI_BYTE),
     (const void *out, const int out_counts[], const int out_starts[], MPI_Datatype out_type,
      void *in, int in_count, MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, out_counts, out_starts, out_type, in, in_count, in_type, root, comm))

BOTH(Allgather, allgather,
     in_place(out) ? profile_gives(in_count, in_type) : profile_gives(out_count, out_type),
     (const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
      MPI_Datatype in_type, MPI_Comm comm),
     (out, out_count, out_type, in, in_count, in_type, comm))

BOTH(Allgatherv, allgatherv,
     in_place(out) ? profile_gives_own(in_counts, in_type, comm)
                   : profile_gives(out_count, out_type),
     (const void *out, int out_count, MPI_Datatype out_type, void *in, const int in_counts[],
      const int in_starts[], MPI_Datatype in_type, MPI_Comm comm),
     (out, out_count, out_type, in, in_counts, in_starts, in_type, comm))

BOTH(Alltoall, alltoall,
     in_place(out) ? profile_gives_each(in_count, in_type, comm)
                   : profile_gives_each(out_count, out_type, comm),
     (const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
      MPI_Datatype in_type, MPI_Comm comm),
     (out, out_count, out_type, in, in_count, in_type, comm))

BOTH(Alltoallv, alltoallv,
     in_place(out) ? profile_gives_counts(in_counts, in_type, comm)
                   : profile_gives_counts(out_counts, out_type, comm),
     (const void *out, const int out_counts[], const int out_starts[], MPI_Datatype out_type,
      void *in, const int in_counts[], const int in_starts[], MPI_Datatype in_type, MPI_Comm comm),
     (out, out_counts, out_starts, out_type, in, in_counts, in_starts, in_type, comm))

COLLECTIVE(Alltoallw,
           in_place(out) ? profile_gives_types(in_counts, in_types, comm)
                         : profile_gives_types(out_counts, out_types, comm),
           (const void *out, const int out_counts[], const int out_starts[],
            const MPI_Datatype out_types[], void *in, const int in_counts[], const int in_starts[],
            const MPI_Datatype in_types[], MPI_Comm comm),
           (out, out_counts, out_starts, out_types, in, in_counts, in_starts, in_types, comm))

COLLECTIVE(Reduce_scatter, profile_gives_counts(counts, type, comm),
           (const void *out, void *in, const int counts[], MPI_Datatype type, MPI_Op op,
            MPI_Comm comm),
           (out, in, counts, type, op, comm))

COLLECTIVE(Reduce_scatter_block, profile_gives_each(count, type, comm),
           (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (out, in, count, type, op, comm))

/* Making a communicator is collective, too, but carries nothing of the program's. */

COLLECTIVE(Comm_dup, (void)0, (MPI_Comm comm, MPI_Comm *made), (comm, made))

COLLECTIVE(Comm_split, (void)0, (MPI_Comm comm, int color, int key, MPI_Comm *made),
           (comm, color, key, made))

COLLECTIVE(Put, profile_count(WAY_PUT, profile_bytes(own_count, own_type)),
           (const void *own, int own_count, MPI_Datatype own_type, int rank, MPI_Aint at, int count,
            MPI_Datatype type, MPI_Win win),
           (own, own_count, own_type, rank, at, count, type, win))

COLLECTIVE(Get, profile_count(WAY_PUT, profile_bytes(own_count, own_type)),
           (void *own, int own_count, MPI_Datatype own_type, int rank, MPI_Aint at, int count,
            MPI_Datatype type, MPI_Win win),
           (own, own_count, own_type, rank, at, count, type, win))

COLLECTIVE(Accumulate, profile_count(WAY_PUT, profile_bytes(own_count, own_type)),
           (const void *own, int own_count, MPI_Datatype own_type, int rank, MPI_Aint at, int count,
            MPI_Datatype type, MPI_Op op, MPI_Win win),
           (own, own_count, own_type, rank, at, count, type, op, win))

COLLECTIVE(Win_fence, (void)0, (int assertion, MPI_Win win), (assertion, win))

COLLECTIVE(Win_lock, (void)0, (int kind, int rank, int assertion, MPI_Win win),
           (kind, rank, assertion, win))

COLLECTIVE(Win_unlock, (void)0, (int rank, MPI_Win win), (rank, win))

COLLECTIVE(Win_lock_all, (void)0, (int assertion, MPI_Win win), (assertion, win))

COLLECTIVE(Win_unlock_all, (void)0, (MPI_Win win), (win))

COLLECTIVE(Win_flush, (void)0, (int rank, MPI_Win win), (rank, win))

COLLECTIVE(Win_flush_all, (void)0, (MPI_Win win), (win))

COLLECTIVE(Win_start, (void)0, (MPI_Group group, int assertion, MPI_Win win),
           (group, assertion, win))

COLLECTIVE(Win_complete, (void)0, (MPI_Win win), (win))

COLLECTIVE(Win_post, (void)0, (MPI_Group group, int assertion, MPI_Win win),
           (group, assertion, win))

COLLECTIVE(Win_wait, (void)0, (MPI_Win win), (win))
