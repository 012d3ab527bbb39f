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

FORTRAN_BOTH(Barrier, barrier, profile_gives(0, MPI_BYTE), (comm))
FORTRAN_BOTH(Bcast, bcast,
             profile_is_root(value(root), comm_of(comm))
                 ? profile_gives(value(count), type_of(type))
                 : profile_gives(0, MPI_BYTE),
             (buffer, count, type, root, comm))
FORTRAN_BOTH(Reduce, reduce, profile_gives(value(count), type_of(type)),
             (out, in, count, type, op, root, comm))
FORTRAN_BOTH(Allreduce, allreduce, profile_gives(value(count), type_of(type)),
             (out, in, count, type, op, comm))
FORTRAN(Scan, scan, profile_gives(value(count), type_of(type)), (out, in, count, type, op, comm))
FORTRAN(Exscan, exscan, profile_gives(value(count), type_of(type)),
        (out, in, count, type, op, comm))
FORTRAN_BOTH(Gather, gather,
             fortran_in_place(out) ? profile_gives(0, MPI_BYTE)
                                   : profile_gives(value(out_count), type_of(out_type)),
             (out, out_count, out_type, in, in_count, in_type, root, comm))
FORTRAN_BOTH(Gatherv, gatherv,
             fortran_in_place(out) ? profile_gives(0, MPI_BYTE)
                                   : profile_gives(value(out_count), type_of(out_type)),
             (out, out_count, out_type, in, in_counts, in_starts, in_type, root, comm))
FORTRAN_BOTH(Scatter, scatter,
             profile_is_root(value(root), comm_of(comm))
                 ? profile_gives_each(value(out_count), type_of(out_type), comm_of(comm))
                 : profile_gives(0, MPI_BYTE),
             (out, out_count, out_type, in, in_count, in_type, root, comm))
FORTRAN_BOTH(Scatterv, scatterv,
             profile_is_root(value(root), comm_of(comm))
                 ? profile_gives_counts(out_counts, type_of(out_type), comm_of(comm))
                 : profile_gives(0, MPI_BYTE),
             (out, out_counts, out_starts, out_type, in, in_count, in_type, root, comm))
FORTRAN_BOTH(Allgather, allgather,
             fortran_in_place(out) ? profile_gives(value(in_count), type_of(in_type))
                                   : profile_gives(value(out_count), type_of(out_type)),
             (out, out_count, out_type, in, in_count, in_type, comm))
FORTRAN_BOTH(Allgatherv, allgatherv,
             fortran_in_place(out) ? profile_gives_own(in_counts, type_of(in_type), comm_of(comm))
                                   : profile_gives(value(out_count), type_of(out_type)),
             (out, out_count, out_type, in, in_counts, in_starts, in_type, comm))
FORTRAN_BOTH(Alltoall, alltoall,
             fortran_in_place(out)
                 ? profile_gives_each(value(in_count), type_of(in_type), comm_of(comm))
                 : profile_gives_each(value(out_count), type_of(out_type), comm_of(comm)),
             (out, out_count, out_type, in, in_count, in_type, comm))
FORTRAN_BOTH(Alltoallv, alltoallv,
             fortran_in_place(out)
                 ? profile_gives_counts(in_counts, type_of(in_type), comm_of(comm))
                 : profile_gives_counts(out_counts, type_of(out_type), comm_of(comm)),
             (out, out_counts, out_starts, out_type, in, in_counts, in_starts, in_type, comm))
FORTRAN(Reduce_scatter, reduce_scatter, profile_gives_counts(counts, type_of(type), comm_of(comm)),
        (out, in, counts, type, op, comm))
FORTRAN(Reduce_scatter_block, reduce_scatter_block,
        profile_gives_each(value(count), type_of(type), comm_of(comm)),
        (out, in, count, type, op, comm))
FORTRAN(Comm_dup, comm_dup, (void)0, (comm, made))
FORTRAN(Comm_split, comm_split, (void)0, (comm, color, key, made))
FORTRAN(Put, put, profile_count(WAY_PUT, profile_bytes(value(own_count), type_of(own_type))),
        (own, own_count, own_type, rank, at, count, type, win))
FORTRAN(Get, get, profile_count(WAY_PUT, profile_bytes(value(own_count), type_of(own_type))),
        (own, own_count, own_type, rank, at, count, type, win))
FORTRAN(Accumulate, accumulate,
        profile_count(WAY_PUT, profile_bytes(value(own_count), type_of(own_type))),
        (own, own_count, own_type, rank, at, count, type, op, win))
FORTRAN(Win_fence, win_fence, (void)0, (assertion, win))
FORTRAN(Win_lock, win_lock, (void)0, (kind, rank, assertion, win))
FORTRAN(Win_unlock, win_unlock, (void)0, (rank, win))
FORTRAN(Win_lock_all, win_lock_all, (void)0, (assertion, win))
FORTRAN(Win_unlock_all, win_unlock_all, (void)0, (win))
FORTRAN(Win_flush, win_flush, (void)0, (rank, win))
FORTRAN(Win_flush_all, win_flush_all, (void)0, (win))
FORTRAN(Win_start, win_start, (void)0, (group, assertion, win))
FORTRAN(Win_complete, win_complete, (void)0, (win))
FORTRAN(Win_post, win_post, (void)0, (group, assertion, win))
FORTRAN(Win_wait, win_wait, (void)0, (win))
