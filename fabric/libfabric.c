/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabric.h"

#include <dlfcn.h>

struct libfabric libfabric;

static void *open_library(const void *caller)
{
    Dl_info found;
    void *library = NULL;

    if (dladdr(caller, &found) != 0) {
        library = dlopen(found.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    }
    return library;
}

bool libfabric_find(const void *caller)
{
    void *library = open_library(caller);

    if (library == NULL) {
        return false;
    }
    const struct {
        const char *name;
        void *function; /* a pointer to a pointer to a function */
    } symbols[] = {
        {"fi_version", &libfabric.version},           {"fi_dupinfo", &libfabric.dupinfo},
        {"fi_freeinfo", &libfabric.freeinfo},         {"fi_strerror", &libfabric.strerror},
        {"fi_param_define", &libfabric.param_define}, {"fi_param_get", &libfabric.param_get},
        {"fi_log_enabled", &libfabric.log_enabled},   {"fi_log", &libfabric.log},
    };
    bool all = true;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        /* Without a version this finds the default, which is the newest. */
        void *address = dlsym(library, symbols[i].name);
        *(void **)symbols[i].function = address;
        all = all && address != NULL;
    }
    /* It is in the middle of calling us, so it stays without our reference. */
    (void)dlclose(library);
    return all;
}

struct fi_info *libfabric_info(void)
{
    return libfabric.dupinfo(NULL);
}
