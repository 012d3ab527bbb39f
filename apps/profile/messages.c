/* SPDX-License-Identifier: BSD-3-Clause */
/* messages.c - the functions of C that send and receive messages, and wait for them. */
#include "profile.h"

/** A way to send: the function that waits, and the one that returns at once. */
#define SENDS(name, lower)                                                                         \
    int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag,              \
                   MPI_Comm comm)                                                                  \
    {                                                                                              \
        PROFILED(name, profile_sent(count, type, to),                                              \
                 PMPI_##name(buffer, count, type, to, tag, comm));                                 \
    }                                                                                              \
    int MPI_I##lower(const void *buffer, int count, MPI_Datatype type, int to, int tag,            \
                     MPI_Comm comm, MPI_Request *request)                                          \
    {                                                                                              \
        PROFILED(I##lower, profile_sent(count, type, to),                                          \
                 PMPI_I##lower(buffer, count, type, to, tag, comm, request));                      \
    }

SENDS(Send, send)
SENDS(Ssend, ssend)
SENDS(Bsend, bsend)
SENDS(Rsend, rsend)

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void *in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    PROFILED(Sendrecv, profile_sent(out_count, out_type, to),
             PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from,
                           in_tag, comm, status));
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int to, int out_tag, int from,
                         int in_tag, MPI_Comm comm, MPI_Status *status)
{
    PROFILED(Sendrecv_replace, profile_sent(count, type, to),
             PMPI_Sendrecv_replace(buffer, count, type, to, out_tag, from, in_tag, comm, status));
}

/** A function of which nothing but the time is of interest. */
#define TIMED(name, parameters, arguments)                                                         \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        PROFILED(name, (void)0, PMPI_##name arguments);                                            \
    }

TIMED(Recv,
      (void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
       MPI_Status *status),
      (buffer, count, type, from, tag, comm, status))

TIMED(Irecv,
      (void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
       MPI_Request *request),
      (buffer, count, type, from, tag, comm, request))

TIMED(Mrecv, (void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
      (buffer, count, type, message, status))

TIMED(Imrecv,
      (void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
      (buffer, count, type, message, request))

TIMED(Wait, (MPI_Request * request, MPI_Status *status), (request, status))

TIMED(Waitall, (int count, MPI_Request requests[], MPI_Status *statuses),
      (count, requests, statuses))

TIMED(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status),
      (count, requests, index, status))

TIMED(Waitsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status *statuses),
      (count, requests, done, indices, statuses))

TIMED(Test, (MPI_Request * request, int *done, MPI_Status *status), (request, done, status))

TIMED(Testall, (int count, MPI_Request requests[], int *done, MPI_Status *statuses),
      (count, requests, done, statuses))

TIMED(Testany, (int count, MPI_Request requests[], int *index, int *done, MPI_Status *status),
      (count, requests, index, done, status))

TIMED(Testsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status *statuses),
      (count, requests, done, indices, statuses))

TIMED(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status), (from, tag, comm, status))

TIMED(Iprobe, (int from, int tag, MPI_Comm comm, int *found, MPI_Status *status),
      (from, tag, comm, found, status))

TIMED(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
      (from, tag, comm, message, status))

TIMED(Improbe,
      (int from, int tag, MPI_Comm comm, int *found, MPI_Message *message, MPI_Status *status),
      (from, tag, comm, found, message, status))
