/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace_file.h - the ring of an endpoint's trace (route/trace.h), in a file that is mapped.
 *
 * Where BEOWIRE_TRACE names a path in a process, each endpoint that it opens makes a file
 * PATH.PID.NUMBER (mode 600, never one that is there) and writes its points to it as they happen:
 * nothing has to be saved when the process ends, however it ends. `beowire explain` reads it.
 *
 * All numbers are little-endian. The two clocks are noted together when the file is opened and when
 * it is closed, so a reader can tell nanoseconds from ticks.
 */
#ifndef BEOWIRE_ENDPOINT_TRACE_FILE_H
#define BEOWIRE_ENDPOINT_TRACE_FILE_H

#include <stddef.h>

#include "route/trace.h"

/** The variable that asks for it. */
#define TRACE_VARIABLE "BEOWIRE_TRACE"

#define TRACE_MAGIC "BWTRACE1"

/** Points in a ring: 1 MiB of them. */
#define TRACE_POINTS 65536

/** The beginning of the file; the points follow. */
struct trace_header {
    char magic[8]; /**< TRACE_MAGIC */
    uint64_t points;
    uint64_t noted; /**< all in all: the last `points` of them are there */
    uint64_t first_ticks;
    uint64_t first_ns; /**< CLOCK_MONOTONIC at `first_ticks` */
    uint64_t last_ticks;
    uint64_t last_ns; /**< the same when it was closed; 0: it was not */
    uint64_t pid;
};

struct trace_file {
    struct trace trace;
    struct trace_header *header; /**< NULL: nothing is traced */
    char *name;                  /**< of the file, ours; NULL: nothing is traced */
};

/** Opens a file, if `path` is not NULL or empty. @return 0, or a negative errno: there is none
 *  then. */
int trace_file_open(struct trace_file *file, const char *path);

/** Tries whether there can be one, and leaves none.
 *  @param reason one line that says why not; may be NULL
 *  @return 0, also if `path` is NULL or empty; -EBADMSG. */
int trace_file_check(const char *path, char *reason, size_t reason_bytes);

/** Notes the clocks. May be called without an open file. */
void trace_file_close(struct trace_file *file);

/** Closes it and takes it away: the endpoint was not opened after all. May be called without an
 *  open file. */
void trace_file_discard(struct trace_file *file);

/** @return what the core notes its points in; NULL: nothing is traced. */
static inline struct trace *trace_file_ring(struct trace_file *file)
{
    return file->header != NULL ? &file->trace : NULL;
}

#endif /* BEOWIRE_ENDPOINT_TRACE_FILE_H */
