/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace_file.h - the ring of an endpoint's trace (route/trace.h), in a mapped file.
 *
 * If BEOWIRE_TRACE is a path, each endpoint that the process opens creates a file PATH.PID.NUMBER
 * (mode 600, never an existing one) and writes its points to it as they happen. So nothing has to
 * be saved when the process ends. `beowire explain` reads it.
 *
 * All numbers are little-endian. Both clocks are recorded when the file is opened and when it is
 * closed, so a reader can convert ticks to nanoseconds.
 */
#ifndef BEOWIRE_ENDPOINT_TRACE_FILE_H
#define BEOWIRE_ENDPOINT_TRACE_FILE_H

#include <stddef.h>

#include "route/trace.h"

/** The variable with the path. */
#define TRACE_VARIABLE "BEOWIRE_TRACE"

#define TRACE_MAGIC "BWTRACE1"

/** Points in a ring: 1 MiB of them. */
#define TRACE_POINTS 65536

/** The beginning of the file, before the points. */
struct trace_header {
    char magic[8]; /**< TRACE_MAGIC */
    uint64_t points;
    uint64_t noted; /**< in total; the file has the last `points` of them */
    uint64_t first_ticks;
    uint64_t first_ns; /**< CLOCK_MONOTONIC at `first_ticks` */
    uint64_t last_ticks;
    uint64_t last_ns; /**< the same at `last_ticks`; 0: not closed */
    uint64_t pid;
};

struct trace_file {
    struct trace trace;
    struct trace_header *header; /**< NULL: no trace */
    char *name;                  /**< of the file, owned; NULL: no trace */
};

/** Opens a file, unless `path` is NULL or empty. @return 0, or a negative errno, and then there is
 *  no trace. */
int trace_file_open(struct trace_file *file, const char *path);

/** Tests whether a file can be created, and removes it. @param reason one line that says why not;
 *  may be NULL @return 0, also if `path` is NULL or empty; -EBADMSG. */
int trace_file_check(const char *path, char *reason, size_t reason_bytes);

/** Records the clocks, and closes the file, if one is open. */
void trace_file_close(struct trace_file *file);

/** Closes and removes the file, if one is open: the endpoint could not be opened. */
void trace_file_discard(struct trace_file *file);

/** @return the ring for the core; NULL: no trace. */
static inline struct trace *trace_file_ring(struct trace_file *file)
{
    return file->header != NULL ? &file->trace : NULL;
}

#endif /* BEOWIRE_ENDPOINT_TRACE_FILE_H */
