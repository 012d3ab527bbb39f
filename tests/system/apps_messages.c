/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apps_messages.c - for the tests of apps/profile: two ranks or more, and messages that are known.
 *
 * With the argument `fortran` it calls what a Fortran compiler would have it call.
 */
#include <mpi.h>
#include <stdbool.h>
#include <string.h>

#define MOST_RANKS 16
#define LONG_BYTES 70000

static char buffer[LONG_BYTES], other[LONG_BYTES];
static int rank, ranks;

/** Messages from rank 0 to rank 1: 0, 1, 8 and 70000 bytes, 9 to and fro, 3 times 16, and one to
 *  nobody. */
static void send_messages(void)
{
    MPI_Request requests[2];

    if (rank == 0) {
        MPI_Send(buffer, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Ssend(buffer, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Isend(buffer, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(buffer, LONG_BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Send(buffer, 100, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        MPI_Send_init(buffer, 4, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
        for (int i = 0; i < 3; i++) {
            MPI_Start(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&requests[0]);
    } else if (rank == 1) {
        for (int i = 0; i < 7; i++) {
            MPI_Recv(other, LONG_BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank < 2) {
        MPI_Sendrecv(buffer, 9, MPI_BYTE, 1 - rank, 1, other, 9, MPI_BYTE, 1 - rank, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/** Collectives of all ranks: a broadcast of 32 bytes, a sum of 8, blocks of 4 and of 64 bytes. */
static void call_collectives(void)
{
    int counts[MOST_RANKS], starts[MOST_RANKS];

    for (int i = 0; i < ranks; i++) {
        counts[i] = 8;
        starts[i] = 8 * i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(buffer, 8, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(buffer, other, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(buffer, 1, MPI_INT, other, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(buffer, counts, starts, MPI_DOUBLE, other, counts, starts, MPI_DOUBLE,
                  MPI_COMM_WORLD);
}

#ifdef WITH_FORTRAN
void mpi_init_(MPI_Fint *error);
void mpi_finalize_(MPI_Fint *error);
void mpi_send_(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag,
               MPI_Fint *comm, MPI_Fint *error);
void mpi_recv_(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *from, MPI_Fint *tag,
               MPI_Fint *comm, MPI_Fint *status, MPI_Fint *error);
void mpi_send_init_(void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag,
                    MPI_Fint *comm, MPI_Fint *request, MPI_Fint *error);
void mpi_start_(MPI_Fint *request, MPI_Fint *error);
void mpi_wait_(MPI_Fint *request, MPI_Fint *status, MPI_Fint *error);
void mpi_allreduce_(void *data, void *result, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op,
                    MPI_Fint *comm, MPI_Fint *error);

/** From rank 0 to rank 1 two messages of 24 bytes and one of 8; a sum of 16 bytes. */
static void run_as_fortran(void)
{
    MPI_Fint comm = MPI_Comm_c2f(MPI_COMM_WORLD), number = MPI_Type_c2f(MPI_DOUBLE);
    MPI_Fint sum = MPI_Op_c2f(MPI_SUM), three = 3, two = 2, one = 1, zero = 0, error = 0;
    MPI_Fint status[sizeof(MPI_Status)], request = 0;

    if (rank == 0) {
        mpi_send_(buffer, &three, &number, &one, &zero, &comm, &error);
        mpi_send_(buffer, &three, &number, &one, &zero, &comm, &error);
        mpi_send_init_(buffer, &one, &number, &one, &zero, &comm, &request, &error);
        mpi_start_(&request, &error);
        mpi_wait_(&request, status, &error);
    } else if (rank == 1) {
        for (int i = 0; i < 3; i++) {
            mpi_recv_(other, &three, &number, &zero, &zero, &comm, status, &error);
        }
    }
    mpi_allreduce_(buffer, other, &two, &number, &sum, &comm, &error);
    mpi_finalize_(&error);
}
#endif

int main(int argc, char **argv)
{
    bool fortran = argc > 1 && strcmp(argv[1], "fortran") == 0;
#ifdef WITH_FORTRAN
    MPI_Fint error = 0;

    if (fortran) {
        mpi_init_(&error);
    }
#endif
    if (!fortran) {
        MPI_Init(&argc, &argv);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef WITH_FORTRAN
    if (fortran) {
        run_as_fortran();
        return 0;
    }
#endif
    send_messages();
    call_collectives();
    MPI_Finalize();
    return 0;
}
