/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmix.h - PMIx: what Open MPI's mpiexec, prterun and Slurm's srun --mpi=pmix speak.
 *
 * PMIx is a library whose wire protocol is its own affair, so the library of the host is loaded
 * when a job needs it, and not before: libbeowire itself needs only libc.
 */
#ifndef BEOWIRE_JOB_PMIX_H
#define BEOWIRE_JOB_PMIX_H

#include "job/job.h"

/** Does the environment name such a launcher? */
bool pmix_is_present(void);

/** Loads the library and joins the job. On success the job has its launcher, context, rank and
 *  size. @return 0; -ELIBACC: no usable library; -EPROTO: the launcher refuses; -ENOMEM. */
int pmix_open(struct beowire_job *job, struct reason reason);

#endif /* BEOWIRE_JOB_PMIX_H */
