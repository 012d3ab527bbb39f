/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * modules.h - finds and loads driver files (`*.so`), and knows why some cannot be loaded.
 *
 * A file is loaded only when it is needed: opening "tcp" does not load an MPI library into the
 * process. Loaded files stay loaded until the process ends. One thread.
 *
 * A file that would end the process is found out in a child (trial.h). Nothing is loaded that
 * another user could have put there (owner.h), nor from a relative path.
 */
#ifndef BEOWIRE_ENGINE_MODULES_H
#define BEOWIRE_ENGINE_MODULES_H

#include <stdbool.h>
#include <stddef.h>

#include "../drivers/driver.h"

#define MODULES_DRIVERS_MAX 128
#define MODULES_FILES_MAX 64

struct modules {
    char *directories; /* "DIR[:DIR]" */
    const struct driver *drivers[MODULES_DRIVERS_MAX];
    size_t driver_count;
    char *files[MODULES_FILES_MAX]; /* paths that were tried, so that each is tried once */
    size_t file_count;
    struct {
        char *file;   /* the file's name */
        char *reason; /* one line */
    } broken[MODULES_FILES_MAX];
    size_t broken_count;
};

/** `directories` is copied. The files are looked for in their order; the first of a name wins.
 *  0 or -ENOMEM. */
int modules_open(struct modules *modules, const char *directories);

/** Loads every file. */
void modules_load_all(struct modules *modules);

/** The driver of a name, loading no more files than it takes; NULL when there is none. */
const struct driver *modules_find(struct modules *modules, const char *name);

/** Why the file that is named after this driver could not be loaded; NULL when it was, or is not
 *  there. Valid until modules_close(). */
const char *modules_fault(const struct modules *modules, const char *name);

/** Frees the lists; the drivers stay loaded. */
void modules_close(struct modules *modules);

#endif
