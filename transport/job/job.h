/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h - the interface to launchers: a table of functions for each protocol.
 */
#ifndef BEOWIRE_JOB_JOB_H
#define BEOWIRE_JOB_JOB_H

#include "beowire_job.h"

/** Where to write a text for people, and its length. */
struct reason {
    char *text; /**< may be NULL */
    size_t bytes;
};

/** Writes a reason. @return `status`. */
int reason_set(struct reason reason, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Longest text of a value: BEOWIRE_JOB_BYTES_MAX bytes as hexadecimal digits, and a zero byte. */
#define JOB_VALUE_BYTES (2 * BEOWIRE_JOB_BYTES_MAX + 1)

/** Longest name of a value. */
#define JOB_KEY_BYTES 48

struct job_launcher {
    /** Publishes a text for all processes under a unique name, and returns when every process has
     *  done so. */
    int (*publish)(void *context, const char *key, const char *value, struct reason reason);
    /** Reads the text that process `rank` has published. */
    int (*look_up)(void *context, uint32_t rank, const char *key, char value[JOB_VALUE_BYTES],
                   struct reason reason);
    void (*close)(void *context);
};

struct beowire_job {
    const struct job_launcher *launcher; /**< NULL: none, this process is alone */
    void *context;
    uint32_t rank;
    uint32_t size;
    uint32_t round; /**< number of gathers so far */
};

#endif /* BEOWIRE_JOB_JOB_H */
