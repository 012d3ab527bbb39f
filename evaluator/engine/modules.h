/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * modules.h - finds and loads driver files (`*.so`), and keeps the reason if one cannot be loaded.
 *
 * A file is loaded only when it is needed: opening "tcp" loads no MPI library. Loaded files stay
 * loaded until the process ends. One thread.
 *
 * Each file is first loaded in a child process (trial.h), because it might end the process. Files
 * that another user could have written (owner.h), and relative paths, are not loaded.
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
    char *files[MODULES_FILES_MAX]; /* paths already tried */
    size_t file_count;
    struct {
        char *file;   /* the file's name */
        char *reason; /* one line */
    } broken[MODULES_FILES_MAX];
    size_t broken_count;
};

/** Copies `directories`, which are searched in order; the first driver of a name is used. 0 or
 *  -ENOMEM. */
int modules_open(struct modules *modules, const char *directories);

/** Loads every file. */
void modules_load_all(struct modules *modules);

/** The driver of a name, or NULL. Loads no more files than necessary. */
const struct driver *modules_find(struct modules *modules, const char *name);

/** Why the file named after this driver could not be loaded; NULL if it was, or does not exist.
 *  Valid until modules_close(). */
const char *modules_fault(const struct modules *modules, const char *name);

/** Frees the lists; the drivers stay loaded. */
void modules_close(struct modules *modules);

#endif
