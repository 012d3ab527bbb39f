/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/trace_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "readers take it for that");
static_assert((TRACE_POINTS & (TRACE_POINTS - 1)) == 0, "places are found by masking");

/** The most traced endpoints of a process. */
#define NUMBERS 4096

#define FILE_BYTES (sizeof(struct trace_header) + TRACE_POINTS * sizeof(struct trace_point))

static uint64_t kernel_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return kernel_ns();
#endif
}

/** Creates and maps a file. @return NULL: errno says why. */
static struct trace_header *map_new(const char *name)
{
    int descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (descriptor < 0) {
        return NULL;
    }
    void *mapped = MAP_FAILED;
    /* Writing to a mapped file on a full disk would end the process. */
    int reason = posix_fallocate(descriptor, 0, (off_t)FILE_BYTES);
    if (reason == 0) {
        mapped = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      descriptor, 0);
        reason = errno;
    }
    (void)close(descriptor);
    if (mapped == MAP_FAILED) {
        (void)unlink(name);
        errno = reason;
        return NULL;
    }
    return mapped;
}

/** Uses the first free number. @return NULL: errno says why. */
static struct trace_header *map_next(const char *path, char name[PATH_MAX])
{
    struct trace_header *header = NULL;

    for (unsigned number = 0; number < NUMBERS; number++) {
        int length = snprintf(name, PATH_MAX, "%s.%d.%u", path, (int)getpid(), number);
        if (length < 0 || length >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return NULL;
        }
        header = map_new(name);
        if (header != NULL || errno != EEXIST) {
            return header;
        }
    }
    return NULL;
}

int trace_file_open(struct trace_file *file, const char *path)
{
    char name[PATH_MAX];

    *file = (struct trace_file){.header = NULL};
    if (path == NULL || *path == '\0') {
        return 0;
    }
    struct trace_header *header = map_next(path, name);
    if (header == NULL) {
        return -errno;
    }
    file->name = strdup(name);
    if (file->name == NULL) {
        (void)munmap(header, FILE_BYTES);
        (void)unlink(name);
        return -ENOMEM;
    }
    memcpy(header->magic, TRACE_MAGIC, sizeof header->magic);
    header->points = TRACE_POINTS;
    header->pid = (uint64_t)getpid();
    header->first_ticks = ticks();
    header->first_ns = kernel_ns();
    file->header = header;
    file->trace = (struct trace){
        .points = (struct trace_point *)(void *)(header + 1),
        .noted = &header->noted,
        .ticks = ticks,
        .mask = TRACE_POINTS - 1,
    };
    return 0;
}

int trace_file_check(const char *path, char *reason, size_t reason_bytes)
{
    char name[PATH_MAX];

    if (path == NULL || *path == '\0') {
        return 0;
    }
    struct trace_header *header = map_next(path, name);
    if (header == NULL) {
        const char *why = strerror(errno);
        if (reason != NULL && reason_bytes > 0) {
            (void)snprintf(reason, reason_bytes, "%s: cannot make %.300s: %s", TRACE_VARIABLE, name,
                           why);
        }
        return -EBADMSG;
    }
    (void)munmap(header, FILE_BYTES);
    (void)unlink(name);
    return 0;
}

void trace_file_close(struct trace_file *file)
{
    if (file->header != NULL) {
        file->header->last_ticks = ticks();
        file->header->last_ns = kernel_ns();
        (void)munmap(file->header, FILE_BYTES);
        file->header = NULL;
        free(file->name);
        file->name = NULL;
    }
}

void trace_file_discard(struct trace_file *file)
{
    if (file->header != NULL) {
        (void)unlink(file->name);
    }
    trace_file_close(file);
}
