/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fortran_collectives.c - collective functions and one-sided communication from Fortran.
 */
#include "fortran.h"

static MPI_Comm comm_of(const MPI_Fint *comm)
{
    return PMPI_Comm_f2c(*comm);
}

static MPI_Datatype type_of(const MPI_Fint *type)
{
    return PMPI_Type_f2c(*type);
}

FORTRAN(Barrier, barrier, profile_gives(0, MPI_BYTE), (const MPI_Fint *comm, MPI_Fint *error),
        (comm, error))

FORTRAN(Ibarrier, ibarrier, profile_gives(0, MPI_BYTE),
        (const MPI_Fint *comm, void *request, MPI_Fint *error), (comm, request, error))

FORTRAN(Bcast, bcast,
        profile_is_root(*root, comm_of(comm)) ? profile_gives(*count, type_of(type))
                                              : profile_gives(0, MPI_BYTE),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *root,
         const MPI_Fint *comm, MPI_Fint *error),
        (buffer, count, type, root, comm, error))

FORTRAN(Ibcast, ibcast,
        profile_is_root(*root, comm_of(comm)) ? profile_gives(*count, type_of(type))
                                              : profile_gives(0, MPI_BYTE),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *root,
         const MPI_Fint *comm, void *request, MPI_Fint *error),
        (buffer, count, type, root, comm, request, error))

FORTRAN(Reduce, reduce, profile_gives(*count, type_of(type)),
        (void *out, void *in, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
         const MPI_Fint *root, const MPI_Fint *comm, MPI_Fint *error),
        (out, in, count, type, op, root, comm, error))

FORTRAN(Ireduce, ireduce, profile_gives(*count, type_of(type)),
        (void *out, void *in, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
         const MPI_Fint *root, const MPI_Fint *comm, void *request, MPI_Fint *error),
        (out, in, count, type, op, root, comm, request, error))

FORTRAN(Allreduce, allreduce, profile_gives(*count, type_of(type)),
        (void *out, void *in, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
         const MPI_Fint *comm, MPI_Fint *error),
        (out, in, count, type, op, comm, error))

FORTRAN(Iallreduce, iallreduce, profile_gives(*count, type_of(type)),
        (void *out, void *in, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
         const MPI_Fint *comm, void *request, MPI_Fint *error),
        (out, in, count, type, op, comm, request, error))

FORTRAN(Scan, scan, profile_gives(*count, type_of(type)),
        (void *out, void *in, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
         const MPI_Fint *comm, MPI_Fint *error),
        (out, in, count, type, op, comm, error))

FORTRAN(Exscan, exscan, profile_gives(*count, type_of(type)),
        (void *out, void *in, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
         const MPI_Fint *comm, MPI_Fint *error),
        (out, in, count, type, op, comm, error))

FORTRAN(Gather, gather,
        fortran_in_place(out) ? profile_gives(0, MPI_BYTE)
                              : profile_gives(*out_count, type_of(out_type)),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_count, const MPI_Fint *in_type, const MPI_Fint *root,
         const MPI_Fint *comm, MPI_Fint *error),
        (out, out_count, out_type, in, in_count, in_type, root, comm, error))

FORTRAN(Igather, igather,
        fortran_in_place(out) ? profile_gives(0, MPI_BYTE)
                              : profile_gives(*out_count, type_of(out_type)),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_count, const MPI_Fint *in_type, const MPI_Fint *root,
         const MPI_Fint *comm, void *request, MPI_Fint *error),
        (out, out_count, out_type, in, in_count, in_type, root, comm, request, error))

FORTRAN(Gatherv, gatherv,
        fortran_in_place(out) ? profile_gives(0, MPI_BYTE)
                              : profile_gives(*out_count, type_of(out_type)),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_counts, const MPI_Fint *in_starts, const MPI_Fint *in_type,
         const MPI_Fint *root, const MPI_Fint *comm, MPI_Fint *error),
        (out, out_count, out_type, in, in_counts, in_starts, in_type, root, comm, error))

FORTRAN(Igatherv, igatherv,
        fortran_in_place(out) ? profile_gives(0, MPI_BYTE)
                              : profile_gives(*out_count, type_of(out_type)),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_counts, const MPI_Fint *in_starts, const MPI_Fint *in_type,
         const MPI_Fint *root, const MPI_Fint *comm, void *request, MPI_Fint *error),
        (out, out_count, out_type, in, in_counts, in_starts, in_type, root, comm, request, error))

FORTRAN(Scatter, scatter,
        profile_is_root(*root, comm_of(comm))
            ? profile_gives_each(*out_count, type_of(out_type), comm_of(comm))
            : profile_gives(0, MPI_BYTE),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_count, const MPI_Fint *in_type, const MPI_Fint *root,
         const MPI_Fint *comm, MPI_Fint *error),
        (out, out_count, out_type, in, in_count, in_type, root, comm, error))

FORTRAN(Iscatter, iscatter,
        profile_is_root(*root, comm_of(comm))
            ? profile_gives_each(*out_count, type_of(out_type), comm_of(comm))
            : profile_gives(0, MPI_BYTE),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_count, const MPI_Fint *in_type, const MPI_Fint *root,
         const MPI_Fint *comm, void *request, MPI_Fint *error),
        (out, out_count, out_type, in, in_count, in_type, root, comm, request, error))

FORTRAN(Scatterv, scatterv,
        profile_is_root(*root, comm_of(comm))
            ? profile_gives_counts(out_counts, type_of(out_type), comm_of(comm))
            : profile_gives(0, MPI_BYTE),
        (void *out, const MPI_Fint *out_counts, const MPI_Fint *out_starts,
         const MPI_Fint *out_type, void *in, const MPI_Fint *in_count, const MPI_Fint *in_type,
         const MPI_Fint *root, const MPI_Fint *comm, MPI_Fint *error),
        (out, out_counts, out_starts, out_type, in, in_count, in_type, root, comm, error))

FORTRAN(Iscatterv, iscatterv,
        profile_is_root(*root, comm_of(comm))
            ? profile_gives_counts(out_counts, type_of(out_type), comm_of(comm))
            : profile_gives(0, MPI_BYTE),
        (void *out, const MPI_Fint *out_counts, const MPI_Fint *out_starts,
         const MPI_Fint *out_type, void *in, const MPI_Fint *in_count, const MPI_Fint *in_type,
         const MPI_Fint *root, const MPI_Fint *comm, void *request, MPI_Fint *error),
        (out, out_counts, out_starts, out_type, in, in_count, in_type, root, comm, request, error))

FORTRAN(Allgather, allgather,
        fortran_in_place(out) ? profile_gives(*in_count, type_of(in_type))
                              : profile_gives(*out_count, type_of(out_type)),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_count, const MPI_Fint *in_type, const MPI_Fint *comm, MPI_Fint *error),
        (out, out_count, out_type, in, in_count, in_type, comm, error))

FORTRAN(Iallgather, iallgather,
        fortran_in_place(out) ? profile_gives(*in_count, type_of(in_type))
                              : profile_gives(*out_count, type_of(out_type)),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_count, const MPI_Fint *in_type, const MPI_Fint *comm, void *request,
         MPI_Fint *error),
        (out, out_count, out_type, in, in_count, in_type, comm, request, error))

FORTRAN(Allgatherv, allgatherv,
        fortran_in_place(out) ? profile_gives_own(in_counts, type_of(in_type), comm_of(comm))
                              : profile_gives(*out_count, type_of(out_type)),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_counts, const MPI_Fint *in_starts, const MPI_Fint *in_type,
         const MPI_Fint *comm, MPI_Fint *error),
        (out, out_count, out_type, in, in_counts, in_starts, in_type, comm, error))

FORTRAN(Iallgatherv, iallgatherv,
        fortran_in_place(out) ? profile_gives_own(in_counts, type_of(in_type), comm_of(comm))
                              : profile_gives(*out_count, type_of(out_type)),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_counts, const MPI_Fint *in_starts, const MPI_Fint *in_type,
         const MPI_Fint *comm, void *request, MPI_Fint *error),
        (out, out_count, out_type, in, in_counts, in_starts, in_type, comm, request, error))

FORTRAN(Alltoall, alltoall,
        fortran_in_place(out) ? profile_gives_each(*in_count, type_of(in_type), comm_of(comm))
                              : profile_gives_each(*out_count, type_of(out_type), comm_of(comm)),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_count, const MPI_Fint *in_type, const MPI_Fint *comm, MPI_Fint *error),
        (out, out_count, out_type, in, in_count, in_type, comm, error))

FORTRAN(Ialltoall, ialltoall,
        fortran_in_place(out) ? profile_gives_each(*in_count, type_of(in_type), comm_of(comm))
                              : profile_gives_each(*out_count, type_of(out_type), comm_of(comm)),
        (void *out, const MPI_Fint *out_count, const MPI_Fint *out_type, void *in,
         const MPI_Fint *in_count, const MPI_Fint *in_type, const MPI_Fint *comm, void *request,
         MPI_Fint *error),
        (out, out_count, out_type, in, in_count, in_type, comm, request, error))

FORTRAN(Alltoallv, alltoallv,
        fortran_in_place(out) ? profile_gives_counts(in_counts, type_of(in_type), comm_of(comm))
                              : profile_gives_counts(out_counts, type_of(out_type), comm_of(comm)),
        (void *out, const MPI_Fint *out_counts, const MPI_Fint *out_starts,
         const MPI_Fint *out_type, void *in, const MPI_Fint *in_counts, const MPI_Fint *in_starts,
         const MPI_Fint *in_type, const MPI_Fint *comm, MPI_Fint *error),
        (out, out_counts, out_starts, out_type, in, in_counts, in_starts, in_type, comm, error))

FORTRAN(Ialltoallv, ialltoallv,
        fortran_in_place(out) ? profile_gives_counts(in_counts, type_of(in_type), comm_of(comm))
                              : profile_gives_counts(out_counts, type_of(out_type), comm_of(comm)),
        (void *out, const MPI_Fint *out_counts, const MPI_Fint *out_starts,
         const MPI_Fint *out_type, void *in, const MPI_Fint *in_counts, const MPI_Fint *in_starts,
         const MPI_Fint *in_type, const MPI_Fint *comm, void *request, MPI_Fint *error),
        (out, out_counts, out_starts, out_type, in, in_counts, in_starts, in_type, comm, request,
         error))

FORTRAN(Reduce_scatter, reduce_scatter, profile_gives_counts(counts, type_of(type), comm_of(comm)),
        (void *out, void *in, const MPI_Fint *counts, const MPI_Fint *type, const MPI_Fint *op,
         const MPI_Fint *comm, MPI_Fint *error),
        (out, in, counts, type, op, comm, error))

FORTRAN(Reduce_scatter_block, reduce_scatter_block,
        profile_gives_each(*count, type_of(type), comm_of(comm)),
        (void *out, void *in, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
         const MPI_Fint *comm, MPI_Fint *error),
        (out, in, count, type, op, comm, error))

FORTRAN(Comm_dup, comm_dup, (void)0, (const MPI_Fint *comm, void *made, MPI_Fint *error),
        (comm, made, error))

FORTRAN(Comm_split, comm_split, (void)0,
        (const MPI_Fint *comm, const MPI_Fint *color, const MPI_Fint *key, void *made,
         MPI_Fint *error),
        (comm, color, key, made, error))

FORTRAN(Put, put, profile_count(WAY_PUT, profile_bytes(*own_count, type_of(own_type))),
        (void *own, const MPI_Fint *own_count, const MPI_Fint *own_type, const MPI_Fint *rank,
         void *at, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *win,
         MPI_Fint *error),
        (own, own_count, own_type, rank, at, count, type, win, error))

FORTRAN(Get, get, profile_count(WAY_PUT, profile_bytes(*own_count, type_of(own_type))),
        (void *own, const MPI_Fint *own_count, const MPI_Fint *own_type, const MPI_Fint *rank,
         void *at, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *win,
         MPI_Fint *error),
        (own, own_count, own_type, rank, at, count, type, win, error))

FORTRAN(Accumulate, accumulate,
        profile_count(WAY_PUT, profile_bytes(*own_count, type_of(own_type))),
        (void *own, const MPI_Fint *own_count, const MPI_Fint *own_type, const MPI_Fint *rank,
         void *at, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *op,
         const MPI_Fint *win, MPI_Fint *error),
        (own, own_count, own_type, rank, at, count, type, op, win, error))

FORTRAN(Win_fence, win_fence, (void)0,
        (const MPI_Fint *assertion, const MPI_Fint *win, MPI_Fint *error), (assertion, win, error))

FORTRAN(Win_lock, win_lock, (void)0,
        (const MPI_Fint *kind, const MPI_Fint *rank, const MPI_Fint *assertion, const MPI_Fint *win,
         MPI_Fint *error),
        (kind, rank, assertion, win, error))

FORTRAN(Win_unlock, win_unlock, (void)0,
        (const MPI_Fint *rank, const MPI_Fint *win, MPI_Fint *error), (rank, win, error))

FORTRAN(Win_lock_all, win_lock_all, (void)0,
        (const MPI_Fint *assertion, const MPI_Fint *win, MPI_Fint *error), (assertion, win, error))

FORTRAN(Win_unlock_all, win_unlock_all, (void)0, (const MPI_Fint *win, MPI_Fint *error),
        (win, error))

FORTRAN(Win_flush, win_flush, (void)0, (const MPI_Fint *rank, const MPI_Fint *win, MPI_Fint *error),
        (rank, win, error))

FORTRAN(Win_flush_all, win_flush_all, (void)0, (const MPI_Fint *win, MPI_Fint *error), (win, error))

FORTRAN(Win_start, win_start, (void)0,
        (const MPI_Fint *group, const MPI_Fint *assertion, const MPI_Fint *win, MPI_Fint *error),
        (group, assertion, win, error))

FORTRAN(Win_complete, win_complete, (void)0, (const MPI_Fint *win, MPI_Fint *error), (win, error))

FORTRAN(Win_post, win_post, (void)0,
        (const MPI_Fint *group, const MPI_Fint *assertion, const MPI_Fint *win, MPI_Fint *error),
        (group, assertion, win, error))

FORTRAN(Win_wait, win_wait, (void)0, (const MPI_Fint *win, MPI_Fint *error), (win, error))
