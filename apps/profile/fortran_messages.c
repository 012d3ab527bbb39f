/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fortran_messages.c - sending, receiving and waiting for messages from Fortran.
 */
#include "fortran.h"

static void sends(const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to)
{
    profile_sent(*count, PMPI_Type_f2c(*type), *to);
}

FORTRAN(Send, send, sends(count, type, to),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
         const MPI_Fint *tag, const MPI_Fint *comm, MPI_Fint *error),
        (buffer, count, type, to, tag, comm, error))

FORTRAN(Ssend, ssend, sends(count, type, to),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
         const MPI_Fint *tag, const MPI_Fint *comm, MPI_Fint *error),
        (buffer, count, type, to, tag, comm, error))

FORTRAN(Bsend, bsend, sends(count, type, to),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
         const MPI_Fint *tag, const MPI_Fint *comm, MPI_Fint *error),
        (buffer, count, type, to, tag, comm, error))

FORTRAN(Rsend, rsend, sends(count, type, to),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
         const MPI_Fint *tag, const MPI_Fint *comm, MPI_Fint *error),
        (buffer, count, type, to, tag, comm, error))

FORTRAN(Isend, isend, sends(count, type, to),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
         const MPI_Fint *tag, const MPI_Fint *comm, void *request, MPI_Fint *error),
        (buffer, count, type, to, tag, comm, request, error))

FORTRAN(Issend, issend, sends(count, type, to),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
         const MPI_Fint *tag, const MPI_Fint *comm, void *request, MPI_Fint *error),
        (buffer, count, type, to, tag, comm, request, error))

FORTRAN(Ibsend, ibsend, sends(count, type, to),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
         const MPI_Fint *tag, const MPI_Fint *comm, void *request, MPI_Fint *error),
        (buffer, count, type, to, tag, comm, request, error))

FORTRAN(Irsend, irsend, sends(count, type, to),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
         const MPI_Fint *tag, const MPI_Fint *comm, void *request, MPI_Fint *error),
        (buffer, count, type, to, tag, comm, request, error))

FORTRAN(Sendrecv, sendrecv, sends(count, type, to),
        (void *out, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
         const MPI_Fint *out_tag, void *in, const MPI_Fint *in_count, const MPI_Fint *in_type,
         const MPI_Fint *from, const MPI_Fint *in_tag, const MPI_Fint *comm, void *status,
         MPI_Fint *error),
        (out, count, type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status, error))

FORTRAN(Sendrecv_replace, sendrecv_replace, sends(count, type, to),
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
         const MPI_Fint *out_tag, const MPI_Fint *from, const MPI_Fint *in_tag,
         const MPI_Fint *comm, void *status, MPI_Fint *error),
        (buffer, count, type, to, out_tag, from, in_tag, comm, status, error))

FORTRAN(Recv, recv, (void)0,
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *from,
         const MPI_Fint *tag, const MPI_Fint *comm, void *status, MPI_Fint *error),
        (buffer, count, type, from, tag, comm, status, error))

FORTRAN(Irecv, irecv, (void)0,
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *from,
         const MPI_Fint *tag, const MPI_Fint *comm, void *request, MPI_Fint *error),
        (buffer, count, type, from, tag, comm, request, error))

FORTRAN(Mrecv, mrecv, (void)0,
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, void *message, void *status,
         MPI_Fint *error),
        (buffer, count, type, message, status, error))

FORTRAN(Imrecv, imrecv, (void)0,
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, void *message, void *request,
         MPI_Fint *error),
        (buffer, count, type, message, request, error))

FORTRAN(Recv_init, recv_init, (void)0,
        (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *from,
         const MPI_Fint *tag, const MPI_Fint *comm, void *request, MPI_Fint *error),
        (buffer, count, type, from, tag, comm, request, error))

FORTRAN(Wait, wait, (void)0, (void *request, void *status, MPI_Fint *error),
        (request, status, error))

FORTRAN(Waitall, waitall, (void)0,
        (const MPI_Fint *count, void *requests, void *statuses, MPI_Fint *error),
        (count, requests, statuses, error))

FORTRAN(Waitany, waitany, (void)0,
        (const MPI_Fint *count, void *requests, void *index, void *status, MPI_Fint *error),
        (count, requests, index, status, error))

FORTRAN(Waitsome, waitsome, (void)0,
        (const MPI_Fint *count, void *requests, void *done, void *indices, void *statuses,
         MPI_Fint *error),
        (count, requests, done, indices, statuses, error))

FORTRAN(Test, test, (void)0, (void *request, void *done, void *status, MPI_Fint *error),
        (request, done, status, error))

FORTRAN(Testall, testall, (void)0,
        (const MPI_Fint *count, void *requests, void *done, void *statuses, MPI_Fint *error),
        (count, requests, done, statuses, error))

FORTRAN(Testany, testany, (void)0,
        (const MPI_Fint *count, void *requests, void *index, void *done, void *status,
         MPI_Fint *error),
        (count, requests, index, done, status, error))

FORTRAN(Testsome, testsome, (void)0,
        (const MPI_Fint *count, void *requests, void *done, void *indices, void *statuses,
         MPI_Fint *error),
        (count, requests, done, indices, statuses, error))

FORTRAN(Probe, probe, (void)0,
        (const MPI_Fint *from, const MPI_Fint *tag, const MPI_Fint *comm, void *status,
         MPI_Fint *error),
        (from, tag, comm, status, error))

FORTRAN(Iprobe, iprobe, (void)0,
        (const MPI_Fint *from, const MPI_Fint *tag, const MPI_Fint *comm, void *found, void *status,
         MPI_Fint *error),
        (from, tag, comm, found, status, error))

FORTRAN(Mprobe, mprobe, (void)0,
        (const MPI_Fint *from, const MPI_Fint *tag, const MPI_Fint *comm, void *message,
         void *status, MPI_Fint *error),
        (from, tag, comm, message, status, error))

FORTRAN(Improbe, improbe, (void)0,
        (const MPI_Fint *from, const MPI_Fint *tag, const MPI_Fint *comm, void *found,
         void *message, void *status, MPI_Fint *error),
        (from, tag, comm, found, message, status, error))

/* Persistent requests: what one sends is known once it is made. */

static void starts(const MPI_Fint *request)
{
    profile_started(PMPI_Request_f2c(*request));
}

static void starts_all(const MPI_Fint *count, const MPI_Fint *requests)
{
    for (MPI_Fint i = 0; i < *count; i++) {
        starts(requests + i);
    }
}

FORTRAN_THEN(Send_init, send_init,
             profile_persistent(PMPI_Request_f2c(*request), *count, PMPI_Type_f2c(*type), *to),
             (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
              const MPI_Fint *tag, const MPI_Fint *comm, const MPI_Fint *request, MPI_Fint *error),
             (buffer, count, type, to, tag, comm, request, error))

FORTRAN_THEN(Ssend_init, ssend_init,
             profile_persistent(PMPI_Request_f2c(*request), *count, PMPI_Type_f2c(*type), *to),
             (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
              const MPI_Fint *tag, const MPI_Fint *comm, const MPI_Fint *request, MPI_Fint *error),
             (buffer, count, type, to, tag, comm, request, error))

FORTRAN_THEN(Bsend_init, bsend_init,
             profile_persistent(PMPI_Request_f2c(*request), *count, PMPI_Type_f2c(*type), *to),
             (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
              const MPI_Fint *tag, const MPI_Fint *comm, const MPI_Fint *request, MPI_Fint *error),
             (buffer, count, type, to, tag, comm, request, error))

FORTRAN_THEN(Rsend_init, rsend_init,
             profile_persistent(PMPI_Request_f2c(*request), *count, PMPI_Type_f2c(*type), *to),
             (void *buffer, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to,
              const MPI_Fint *tag, const MPI_Fint *comm, const MPI_Fint *request, MPI_Fint *error),
             (buffer, count, type, to, tag, comm, request, error))

FORTRAN(Start, start, starts(request), (const MPI_Fint *request, MPI_Fint *error), (request, error))

FORTRAN(Startall, startall, starts_all(count, requests),
        (const MPI_Fint *count, const MPI_Fint *requests, MPI_Fint *error),
        (count, requests, error))

FORTRAN(Request_free, request_free, profile_freed(PMPI_Request_f2c(*request)),
        (const MPI_Fint *request, MPI_Fint *error), (request, error))
