/* SPDX-License-Identifier: BSD-3-Clause */
#include "notice.h"

#include "hash.h"
#include "libfabric.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 512
#define HOST_BYTES 65

#define LINE_BYTES (TEXT_BYTES + HOST_BYTES + 16)

/** The most different lines that are printed. */
#define LINES_MAX 64

static uint64_t hash_of(const char *text)
{
    return hash_bytes(text, strlen(text)) | 1; /* 0 is a free place */
}

/** @return true: this line is new, and there is room to remember it. */
static bool remember(const char *text)
{
    static _Atomic uint64_t said[LINES_MAX];
    uint64_t hash = hash_of(text);

    for (unsigned i = 0; i < LINES_MAX; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&said[i], &found, hash)) {
            return true;
        }
        if (found == hash) {
            return false;
        }
    }
    return false;
}

void notice_write(const char *line)
{
    (void)fflush(stderr); /* other output comes first */
    while (write(STDERR_FILENO, line, strlen(line)) < 0 && errno == EINTR) {
    }
}

void notice(enum fi_log_subsys subsystem, const char *format, ...)
{
    char text[TEXT_BYTES];
    char line[LINE_BYTES];
    char host[HOST_BYTES] = "";
    va_list arguments;

    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it has just been started */
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (libfabric.log_enabled(&fabric_provider, FI_LOG_WARN, subsystem)) {
        FABRIC_WARN(subsystem, "%s\n", text);
        return;
    }
    if (remember(text)) {
        (void)gethostname(host, sizeof host - 1);
        (void)snprintf(line, sizeof line, "beowire: %s: %s\n", host, text);
        notice_write(line);
    }
}

bool notice_first_of_host(void)
{
    /* Of Open MPI; of the launcher of MPICH and Intel MPI; of Slurm. */
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "SLURM_LOCALID"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL) {
            return strcmp(value, "0") == 0;
        }
    }
    return true;
}
