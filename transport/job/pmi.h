/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi.h - PMI-1, the protocol of MPICH's and Intel MPI's mpiexec, Slurm's srun --mpi=pmi2 and
 * `beowire run`.
 *
 * The wire protocol is that of MPICH's simple PMI (src/pmi in its sources): lines of text,
 * "cmd=NAME key=value ...", a question and an answer, over a socket that the launcher left open as
 * descriptor PMI_FD. If a descriptor cannot be inherited (ssh), `beowire run` sets
 * BEOWIRE_JOB_SOCKET to a path instead.
 */
#ifndef BEOWIRE_JOB_PMI_H
#define BEOWIRE_JOB_PMI_H

#include "job/job.h"

/** Does the environment name such a launcher, and does it exist? */
bool pmi_is_present(void);

/** Connects to the launcher. On success the job has its launcher, context, rank and size. @return
 *  0; -EPROTO, -ECONNRESET or another negative errno; -ENOMEM. */
int pmi_open(struct beowire_job *job, struct reason reason);

#endif /* BEOWIRE_JOB_PMI_H */
