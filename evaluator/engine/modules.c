/* SPDX-License-Identifier: BSD-3-Clause */
#include "modules.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "owner.h"
#include "trial.h"

#define FILE_PREFIX "beowire-driver-"
#define FILE_SUFFIX ".so"

int modules_open(struct modules *modules, const char *directories)
{
    *modules = (struct modules){0};
    modules->directories = strdup(directories);
    return modules->directories == NULL ? -ENOMEM : 0;
}

void modules_close(struct modules *modules)
{
    free(modules->directories);
    for (size_t i = 0; i < modules->file_count; i++) {
        free(modules->files[i]);
    }
    for (size_t i = 0; i < modules->broken_count; i++) {
        free(modules->broken[i].file);
        free(modules->broken[i].reason);
    }
    *modules = (struct modules){0};
}

static void note_broken(struct modules *modules, const char *path, const char *reason)
{
    const char *slash = strrchr(path, '/');
    char *file = strdup(slash == NULL ? path : slash + 1);
    char *copy = strdup(reason);
    if (file == NULL || copy == NULL || modules->broken_count == MODULES_FILES_MAX) {
        free(file);
        free(copy);
        return;
    }
    modules->broken[modules->broken_count].file = file;
    modules->broken[modules->broken_count].reason = copy;
    modules->broken_count++;
}

/* Allowed in a name besides letters and digits: "tcp-spin", "ucx:rc_mlx5", "mpi:openmpi/tcp". */
#define NAME_SEPARATORS "-:/_"

static bool name_is_valid(const char *name)
{
    if (name == NULL || *name == '\0') {
        return false;
    }
    for (; *name != '\0'; name++) {
        if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) &&
            strchr(NAME_SEPARATORS, *name) == NULL) {
            return false;
        }
    }
    return true;
}

static const struct driver *loaded(const struct modules *modules, const char *name)
{
    for (size_t i = 0; i < modules->driver_count; i++) {
        if (strcmp(modules->drivers[i]->name, name) == 0) {
            return modules->drivers[i];
        }
    }
    return NULL;
}

/* Why a driver cannot be used, or NULL. */
static const char *defect(const struct modules *modules, const struct driver *driver)
{
    if (driver->abi != DRIVER_ABI) {
        return "built for another version of the driver interface: build it again";
    }
    if (!name_is_valid(driver->name) || driver->summary == NULL) {
        return "its name or summary is missing or malformed";
    }
    if (loaded(modules, driver->name) != NULL) {
        return "a driver of the same name was found before it";
    }
    if (driver->probe == NULL || driver->open == NULL || driver->send == NULL ||
        driver->close == NULL) {
        return "a function that every driver needs is missing from its table";
    }
    if (driver->placement != DRIVER_PROCESS &&
        (driver->address == NULL || driver->connect == NULL || driver->receive == NULL)) {
        return "a function that a driver with two ends needs is missing from its table";
    }
    if (driver->placement == DRIVER_PROCESS && driver->receive != NULL) {
        return "a driver without another end cannot receive";
    }
    if (driver->min_size == 0 || driver->min_size > driver->max_size) {
        return "its message sizes are wrong: min_size is 0, or above max_size";
    }
    if (driver->buffers != NULL && (!driver->fixed || driver->collective != NULL)) {
        return "a driver with buffers() must be fixed, and have no collective()";
    }
    return NULL;
}

static void take_table(struct modules *modules, const char *path, const struct driver *const *table)
{
    for (; table != NULL && *table != NULL; table++) {
        const char *reason = defect(modules, *table);
        if (reason == NULL && modules->driver_count == MODULES_DRIVERS_MAX) {
            reason = "too many drivers";
        }
        if (reason != NULL) {
            note_broken(modules, path, reason);
        } else {
            modules->drivers[modules->driver_count++] = *table;
        }
    }
}

/* Loads a file and gets its table. @return 0, or -ELIBBAD with the reason. */
static int load(const char *path, const struct driver *const **table, char *reason,
                size_t reason_bytes)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *said = dlerror();
        (void)snprintf(reason, reason_bytes, "%s", said == NULL ? "cannot be loaded" : said);
        return -ELIBBAD;
    }
    const struct driver *const *(*get_table)(void) = NULL;
    /* How POSIX converts the result of dlsym() to a function pointer. */
    *(void **)&get_table = dlsym(handle, "beowire_driver_table");
    if (get_table == NULL) {
        (void)snprintf(reason, reason_bytes,
                       "is no driver: it does not export beowire_driver_table");
        (void)dlclose(handle);
        return -ELIBBAD;
    }
    *table = get_table();
    return 0;
}

static int try_to_load(const void *path, char *reason, size_t reason_bytes)
{
    const struct driver *const *table = NULL;

    return load(path, &table, reason, reason_bytes);
}

static void load_file(struct modules *modules, const char *path)
{
    for (size_t i = 0; i < modules->file_count; i++) {
        if (strcmp(modules->files[i], path) == 0) {
            return;
        }
    }
    char *copy = strdup(path);
    if (copy == NULL || modules->file_count == MODULES_FILES_MAX) {
        free(copy);
        note_broken(modules, path, "too many driver files");
        return;
    }
    modules->files[modules->file_count++] = copy;

    const char *fault = owner_fault(path);
    if (fault != NULL) {
        note_broken(modules, path, fault);
        return;
    }
    char reason[DRIVER_REASON_BYTES] = "";
    const struct driver *const *table = NULL;
    if (trial(try_to_load, path, TRIAL_MS, reason, sizeof reason) != 0 ||
        load(path, &table, reason, sizeof reason) != 0) {
        note_broken(modules, path, reason);
        return;
    }
    take_table(modules, path, table);
}

static bool is_driver_file(const char *name)
{
    size_t length = strlen(name);
    return name[0] != '.' && length > strlen(FILE_SUFFIX) &&
           strcmp(name + length - strlen(FILE_SUFFIX), FILE_SUFFIX) == 0;
}

static int only_driver_files(const struct dirent *entry)
{
    return is_driver_file(entry->d_name);
}

static void load_directory(struct modules *modules, const char *directory)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, only_driver_files, alphasort);
    if (count < 0) {
        note_broken(modules, directory, "this directory of drivers cannot be read");
        return;
    }
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        if (length > 0 && (size_t)length < sizeof path) {
            load_file(modules, path);
        }
        free(entries[i]);
    }
    free(entries);
}

/* Loads beowire-driver-NAME.so from the directory, if it is there. */
static void load_named(struct modules *modules, const char *directory, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/" FILE_PREFIX "%s" FILE_SUFFIX, directory, name);
    if (length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0) {
        load_file(modules, path);
    }
}

static void each_directory(struct modules *modules, const char *name)
{
    char *copy = strdup(modules->directories);
    char *rest = copy;
    while (rest != NULL) {
        const char *directory = strsep(&rest, ":");
        if (*directory == '\0') {
            continue;
        }
        const char *fault = *directory == '/' ? owner_fault(directory) : "its path is not absolute";
        if (fault != NULL) {
            if (name == NULL) { /* otherwise modules_load_all() reports it */
                note_broken(modules, directory, fault);
            }
            continue;
        }
        if (name == NULL) {
            load_directory(modules, directory);
        } else {
            load_named(modules, directory, name);
        }
    }
    free(copy);
}

void modules_load_all(struct modules *modules)
{
    each_directory(modules, NULL);
}

const struct driver *modules_find(struct modules *modules, const char *name)
{
    const struct driver *driver = loaded(modules, name);
    if (driver != NULL || !name_is_valid(name)) {
        return driver;
    }
    /* "tcp-spin" may be in its own file or in that of "tcp". */
    char *guess = strdup(name);
    for (size_t end = guess == NULL ? 0 : strlen(guess); end > 0 && driver == NULL; end--) {
        if (guess[end] != '\0' && strchr(NAME_SEPARATORS, guess[end]) == NULL) {
            continue;
        }
        guess[end] = '\0';
        if (strchr(guess, '/') == NULL) {
            each_directory(modules, guess);
            driver = loaded(modules, name);
        }
    }
    free(guess);
    if (driver == NULL) {
        modules_load_all(modules);
        driver = loaded(modules, name);
    }
    return driver;
}

const char *modules_fault(const struct modules *modules, const char *name)
{
    char file[PATH_MAX];

    (void)snprintf(file, sizeof file, FILE_PREFIX "%s" FILE_SUFFIX, name);
    for (size_t i = 0; i < modules->broken_count; i++) {
        if (strcmp(modules->broken[i].file, file) == 0) {
            return modules->broken[i].reason;
        }
    }
    return NULL;
}
