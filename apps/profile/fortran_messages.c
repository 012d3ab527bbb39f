/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fortran_messages.c - sending, receiving and waiting for messages from Fortran.
 */
#include "fortran.h"

static void sends(const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *to)
{
    profile_sent(*count, PMPI_Type_f2c(*type), *to);
}

FORTRAN_BOTH(Send, send, sends(count, type, to), (buffer, count, type, to, tag, comm))
FORTRAN_BOTH(Ssend, ssend, sends(count, type, to), (buffer, count, type, to, tag, comm))
FORTRAN_BOTH(Bsend, bsend, sends(count, type, to), (buffer, count, type, to, tag, comm))
FORTRAN_BOTH(Rsend, rsend, sends(count, type, to), (buffer, count, type, to, tag, comm))
FORTRAN(Sendrecv, sendrecv, sends(count, type, to),
        (out, count, type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status))
FORTRAN(Sendrecv_replace, sendrecv_replace, sends(count, type, to),
        (buffer, count, type, to, out_tag, from, in_tag, comm, status))
FORTRAN(Recv, recv, (void)0, (buffer, count, type, from, tag, comm, status))
FORTRAN(Irecv, irecv, (void)0, (buffer, count, type, from, tag, comm, request))
FORTRAN(Mrecv, mrecv, (void)0, (buffer, count, type, message, status))
FORTRAN(Imrecv, imrecv, (void)0, (buffer, count, type, message, request))
FORTRAN(Recv_init, recv_init, (void)0, (buffer, count, type, from, tag, comm, request))
FORTRAN(Wait, wait, (void)0, (request, status))
FORTRAN(Waitall, waitall, (void)0, (count, requests, statuses))
FORTRAN(Waitany, waitany, (void)0, (count, requests, index, status))
FORTRAN(Waitsome, waitsome, (void)0, (count, requests, done, indices, statuses))
FORTRAN(Test, test, (void)0, (request, done, status))
FORTRAN(Testall, testall, (void)0, (count, requests, done, statuses))
FORTRAN(Testany, testany, (void)0, (count, requests, index, done, status))
FORTRAN(Testsome, testsome, (void)0, (count, requests, done, indices, statuses))
FORTRAN(Probe, probe, (void)0, (from, tag, comm, status))
FORTRAN(Iprobe, iprobe, (void)0, (from, tag, comm, found, status))
FORTRAN(Mprobe, mprobe, (void)0, (from, tag, comm, message, status))
FORTRAN(Improbe, improbe, (void)0, (from, tag, comm, found, message, status))

/* Persistent requests: what one sends is known once it is made. */

static void keeps(const MPI_Fint *request, const MPI_Fint *count, const MPI_Fint *type,
                  const MPI_Fint *to)
{
    profile_persistent(PMPI_Request_f2c(*request), *count, PMPI_Type_f2c(*type), *to);
}

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

static void frees(const MPI_Fint *request)
{
    profile_freed(PMPI_Request_f2c(*request));
}

FORTRAN_THEN(Send_init, send_init, keeps(request, count, type, to),
             (buffer, count, type, to, tag, comm, request))
FORTRAN_THEN(Ssend_init, ssend_init, keeps(request, count, type, to),
             (buffer, count, type, to, tag, comm, request))
FORTRAN_THEN(Bsend_init, bsend_init, keeps(request, count, type, to),
             (buffer, count, type, to, tag, comm, request))
FORTRAN_THEN(Rsend_init, rsend_init, keeps(request, count, type, to),
             (buffer, count, type, to, tag, comm, request))
FORTRAN(Start, start, starts(request), (request))
FORTRAN(Startall, startall, starts_all(count, requests), (count, requests))
FORTRAN(Request_free, request_free, frees(request), (request))
