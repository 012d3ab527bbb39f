/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include "job/hex.h"
#include "job/pmi.h"
#include "job/pmix.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int reason_set(struct reason reason, int status, const char *format, ...)
{
    va_list arguments;

    if (reason.text != NULL && reason.bytes > 0) {
        va_start(arguments, format);
        (void)vsnprintf(reason.text, reason.bytes, format, arguments);
        va_end(arguments);
    }
    return status;
}

/** Has a launcher started several processes that cannot connect? Each would silently do the whole
 *  work alone. */
static const char *mute_launcher(void)
{
    static const struct {
        const char *variable;
        const char *advice;
    } launchers[] = {
        {"SLURM_STEP_NUM_TASKS", "start it with srun --mpi=pmi2, or with mpiexec or `beowire run`"},
        {"OMPI_COMM_WORLD_SIZE", "this Open MPI starts without PMIx: start it with `beowire run`"},
    };

    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *size = getenv(launchers[i].variable);
        if (size != NULL && strtol(size, NULL, 10) > 1) {
            return launchers[i].advice;
        }
    }
    return NULL;
}

static int join(struct beowire_job *job, struct reason reason)
{
    if (pmi_is_present()) {
        return pmi_open(job, reason);
    }
    if (pmix_is_present()) {
        return pmix_open(job, reason);
    }
    const char *advice = mute_launcher();
    if (advice != NULL) {
        return reason_set(reason, -ENOTSUP, "the processes of this job cannot find one another: %s",
                          advice);
    }
    job->size = 1;
    return 0;
}

int beowire_job_open(beowire_job **job, char *reason, size_t reason_bytes)
{
    struct reason why = {reason, reason_bytes};

    if (job == NULL) {
        return reason_set(why, -EINVAL, "there is nowhere to put the job");
    }
    struct beowire_job *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return reason_set(why, -ENOMEM, "out of memory");
    }
    int status = join(opened, why);
    if (status != 0) {
        free(opened);
        return status;
    }
    *job = opened;
    return 0;
}

uint32_t beowire_job_rank(const beowire_job *job)
{
    return job != NULL ? job->rank : 0;
}

uint32_t beowire_job_size(const beowire_job *job)
{
    return job != NULL ? job->size : 0;
}

static void name_value(const struct beowire_job *job, uint32_t rank, char key[JOB_KEY_BYTES])
{
    (void)snprintf(key, JOB_KEY_BYTES, "beowire-%u-%u", (unsigned)job->round, (unsigned)rank);
}

int beowire_job_gather(beowire_job *job, const void *mine, size_t bytes, void *all, char *reason,
                       size_t reason_bytes)
{
    struct reason why = {reason, reason_bytes};
    char key[JOB_KEY_BYTES];
    char value[JOB_VALUE_BYTES];

    if (job == NULL || bytes > BEOWIRE_JOB_BYTES_MAX ||
        (bytes > 0 && (mine == NULL || all == NULL))) {
        return reason_set(why, -EINVAL, "a process contributes at most %d bytes",
                          BEOWIRE_JOB_BYTES_MAX);
    }
    if (job->launcher == NULL) {
        if (bytes > 0) {
            memmove(all, mine, bytes);
        }
        return 0;
    }
    name_value(job, job->rank, key);
    /* Not every launcher supports an empty value. */
    (void)snprintf(value, sizeof value, "-");
    if (bytes > 0) {
        hex_write(mine, bytes, value);
    }
    int status = job->launcher->publish(job->context, key, value, why);
    for (uint32_t rank = 0; status == 0 && bytes > 0 && rank < job->size; rank++) {
        name_value(job, rank, key);
        status = job->launcher->look_up(job->context, rank, key, value, why);
        if (status == 0 && !hex_read(value, (uint8_t *)all + rank * bytes, bytes)) {
            status = reason_set(why, -EPROTO, "process %u contributed another number of bytes",
                                (unsigned)rank);
        }
    }
    job->round++;
    return status;
}

void beowire_job_close(beowire_job *job)
{
    if (job != NULL && job->launcher != NULL) {
        job->launcher->close(job->context);
    }
    free(job);
}
