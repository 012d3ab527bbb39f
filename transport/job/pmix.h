/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmix.h - PMIx, the protocol of Open MPI's mpiexec, prterun and Slurm's srun --mpi=pmix.
 *
 * PMIx does not specify its wire protocol, so the host's library is loaded when a job needs it:
 * libbeowire itself needs only libc.
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
