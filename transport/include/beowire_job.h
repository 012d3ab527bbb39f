/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * beowire_job.h - the processes of a parallel program find one another.
 *
 * Whoever started them knows how many there are: mpiexec (MPICH, Intel MPI: PMI-1; Open MPI: PMIx),
 * prterun (PMIx), srun (with --mpi=pmi2 or pmix), or `beowire run`; examples/README.md says which
 * of these have been tried. This asks it, and carries addresses between the processes:
 *
 *      beowire_job_open(&job, ...);
 *      beowire_job_connect(job, NULL, &endpoint, peers, ...);
 *      beowire_send(endpoint, peers[(beowire_job_rank(job) + 1) % beowire_job_size(job)], ...);
 *      ...
 *      beowire_close(endpoint, ...);
 *      beowire_job_close(job);
 *
 * A program that nobody started in this way is a job of one process.
 *
 * A process asks its launcher once: a program that also uses an MPI library leaves this to it (and
 * exchanges addresses with MPI_Allgather).
 *
 * Threads: a job is used by one thread at a time. Errors: 0 is success, a negative errno value a
 * failure, and `reason` then holds one line for a person (BEOWIRE_JOB_REASON_BYTES are always
 * enough, and a NULL with 0 bytes is allowed). Nothing is printed.
 *
 * Environment: BEOWIRE_INTERFACE and BEOWIRE_LANES stand for what the options leave open
 * (`interface` and `lanes` in beowire.h); BEOWIRE_PMIX names the PMIx library to load, except in a
 * program that has more rights than its user (setuid, setcap).
 */
#ifndef BEOWIRE_JOB_H
#define BEOWIRE_JOB_H

#include <beowire.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most bytes that one process contributes to beowire_job_gather(). */
#define BEOWIRE_JOB_BYTES_MAX 256

/** Room for any reason, with its end. */
#define BEOWIRE_JOB_REASON_BYTES 256

typedef struct beowire_job beowire_job;

/** Joins the job that this process was started in.
 *
 * @return 0; -ENOTSUP: it was started with others, but in a way that does not let them find one
 * another; -ELIBACC: the PMIx library cannot be used; -EPROTO, -ECONNRESET: the launcher does not
 * answer as it should, or has gone; -ENOMEM. */
BEOWIRE_API int beowire_job_open(beowire_job **job, char *reason, size_t reason_bytes);

/** Which of the processes this is: 0 .. size - 1. (NULL: 0.) */
BEOWIRE_API uint32_t beowire_job_rank(const beowire_job *job);

/** How many processes there are. (NULL: 0.) */
BEOWIRE_API uint32_t beowire_job_size(const beowire_job *job);

/** Hands `bytes` bytes of each process to all, in the order of their ranks. Every process calls it,
 *  with the same `bytes` (0: they only wait for one another), and it returns when all have.
 *
 * @param mine `bytes` bytes of this process
 * @param all room for size * bytes bytes
 * @return 0; -EINVAL: more than BEOWIRE_JOB_BYTES_MAX, or NULL; -EPROTO: another process did not
 * contribute so many; -ECONNRESET: the launcher has gone. */
BEOWIRE_API int beowire_job_gather(beowire_job *job, const void *mine, size_t bytes, void *all,
                                   char *reason, size_t reason_bytes);

/** Opens an endpoint and makes every other process of the job known to it. Every process calls it.
 *
 * If neither the options nor the environment name an interface or lanes: when all processes are on
 * one host, they use its memory and no network; otherwise the fastest interface that is up and has
 * an IP address.
 *
 * @param options NULL: BEOWIRE_OPTIONS_DEFAULT, with room for all processes
 * @param peers room for `size` peers; that of this process itself is BEOWIRE_ANY_PEER
 * @return 0; as beowire_job_gather(), beowire_open() and beowire_peer_add(). */
BEOWIRE_API int beowire_job_connect(beowire_job *job, const struct beowire_options *options,
                                    beowire_endpoint **endpoint, beowire_peer *peers, char *reason,
                                    size_t reason_bytes);

/** Leaves the job: its launcher may now end without taking that for a failure. NULL is allowed. */
BEOWIRE_API void beowire_job_close(beowire_job *job);

#ifdef __cplusplus
}
#endif

#endif /* BEOWIRE_JOB_H */
