/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h - what asks a launcher: one table of functions for each language that launchers speak.
 */
#ifndef BEOWIRE_JOB_JOB_H
#define BEOWIRE_JOB_JOB_H

#include "beowire_job.h"

/** Text for people: where to write it, and how much fits. */
struct reason {
    char *text; /**< may be NULL */
    size_t bytes;
};

/** Writes a reason. @return `status`, so that it can be returned at once. */
int reason_set(struct reason reason, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Longest text of a value: BEOWIRE_JOB_BYTES_MAX bytes as hexadecimal digits, and its end. */
#define JOB_VALUE_BYTES (2 * BEOWIRE_JOB_BYTES_MAX + 1)

/** Room for the name of a value. */
#define JOB_KEY_BYTES 48

struct job_launcher {
    /** Publishes a text for all processes under a name that no other has, and returns when every
     *  process has done so. */
    int (*publish)(void *context, const char *key, const char *value, struct reason reason);
    /** Reads what the process `rank` published. */
    int (*look_up)(void *context, uint32_t rank, const char *key, char value[JOB_VALUE_BYTES],
                   struct reason reason);
    void (*close)(void *context);
};

struct beowire_job {
    const struct job_launcher *launcher; /**< NULL: nobody, this process is alone */
    void *context;
    uint32_t rank;
    uint32_t size;
    uint32_t round; /**< so many gathers were made */
};

#endif /* BEOWIRE_JOB_JOB_H */
