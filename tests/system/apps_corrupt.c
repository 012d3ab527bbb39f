/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apps_corrupt.c - for the tests of apps/: a library that stands in front of MPI (LD_PRELOAD) and
 * changes one number on the way, which every program has to notice.
 *
 * It is a number in the middle of what rank 1 sends, in the call that CORRUPT_CALL says (from 1 on,
 * of calls that send at least 8 bytes).
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static long calls;

/** What is sent in place of this data; the same, but in one call of rank 1. */
static const void *instead(const void *data, int count, MPI_Datatype type)
{
    static char *copy; /* kept: a send may not be over when its call is */
    const char *wanted = getenv("CORRUPT_CALL");
    int rank = 0, each = 0;
    size_t bytes = 0, middle = 0;

    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)PMPI_Type_size(type, &each);
    bytes = (size_t)count * (size_t)each;
    if (rank != 1 || bytes < 8 || wanted == NULL || ++calls != strtol(wanted, NULL, 10)) {
        return data;
    }
    copy = malloc(bytes);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, data, bytes);
    middle = bytes / 2 / (size_t)each * (size_t)each;
    if (type == MPI_DOUBLE) {
        double number = 0.0;

        memcpy(&number, copy + middle, sizeof number);
        number += 1.5;
        memcpy(copy + middle, &number, sizeof number);
    } else {
        copy[middle + 1] ^= 0x11;
    }
    return copy;
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    return PMPI_Send(instead(data, count, type), count, type, to, tag, comm);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    return PMPI_Isend(instead(data, count, type), count, type, to, tag, comm, request);
}

int MPI_Sendrecv(const void *data, int count, MPI_Datatype type, int to, int tag, void *in,
                 int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    return PMPI_Sendrecv(instead(data, count, type), count, type, to, tag, in, in_count, in_type,
                         from, in_tag, comm, status);
}

int MPI_Alltoall(const void *data, int count, MPI_Datatype type, void *in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm)
{
    int ranks = 1;

    (void)PMPI_Comm_size(comm, &ranks);
    return PMPI_Alltoall(instead(data, count * ranks, type), count, type, in, in_count, in_type,
                         comm);
}

int MPI_Alltoallv(const void *data, const int counts[], const int starts[], MPI_Datatype type,
                  void *in, const int in_counts[], const int in_starts[], MPI_Datatype in_type,
                  MPI_Comm comm)
{
    int ranks = 1;

    (void)PMPI_Comm_size(comm, &ranks);
    return PMPI_Alltoallv(instead(data, starts[ranks - 1] + counts[ranks - 1], type), counts,
                          starts, type, in, in_counts, in_starts, in_type, comm);
}

int MPI_Allreduce(const void *data, void *in, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    return PMPI_Allreduce(data == MPI_IN_PLACE ? data : instead(data, count, type), in, count, type,
                          op, comm);
}
