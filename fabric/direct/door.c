/* SPDX-License-Identifier: BSD-3-Clause */
#include "direct.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME "beowire"
#define FILE_NAME "libbeowire-fi.so"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct fi_provider *loaded;

/** Loads the provider from a directory, unless it is loaded. */
static void load_from(const char *directory, int length, const char *below)
{
    char path[PATH_MAX];

    if (loaded != NULL ||
        snprintf(path, sizeof path, "%.*s/%s" FILE_NAME, length, directory, below) >= PATH_MAX) {
        return;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        FI_WARN(&direct_core, FI_LOG_CORE, "dlopen(%s): %s\n", path, dlerror());
        return;
    }
    struct fi_provider *(*begin)(void);
    *(void **)&begin = dlsym(library, "fi_prov_ini");
    if (begin != NULL) {
        loaded = begin(); /* which looks up this library by the address from which it is called */
    }
}

static void load(void)
{
    const char *directory = getenv("FI_PROVIDER_PATH");
    Dl_info self;

    direct_log_begin();
    while (directory != NULL && *directory != '\0') {
        size_t length = strcspn(directory, ":");
        load_from(directory, (int)length, "");
        directory += length;
        directory += *directory == ':';
    }
    if (dladdr(&once, &self) != 0 && strrchr(self.dli_fname, '/') != NULL) {
        int length = (int)(strrchr(self.dli_fname, '/') - self.dli_fname);
        load_from(self.dli_fname, length, "../fabric/"); /* as `beowire setup` puts it */
        load_from(self.dli_fname, length, "../");
    }
}

struct fi_provider *direct_provider(void)
{
    (void)pthread_once(&once, load);
    return loaded;
}

/** Whether hints allow the provider: names with `;` between them are those of providers on top of
 *  one another, which this one is not, or begin with `^` and exclude one. */
static bool is_asked_for(const char *names)
{
    bool asked = true;

    while (asked && names != NULL && *names != '\0') {
        size_t length = strcspn(names, ";");
        bool excludes = *names == '^';
        asked = length == excludes + strlen(NAME) &&
                strncasecmp(names + excludes, NAME, strlen(NAME)) == 0;
        asked = asked != excludes;
        names += length;
        names += *names == ';';
    }
    return asked;
}

/** Sets what libfabric itself says in each description. @return false: there is no memory. */
static bool sign(struct fi_info *info, uint32_t version)
{
    bool signed_all = true;

    for (; info != NULL; info = info->next) {
        info->fabric_attr->prov_name = strdup(loaded->name);
        info->fabric_attr->prov_version = loaded->version;
        info->fabric_attr->api_version = version;
        signed_all = signed_all && info->fabric_attr->prov_name != NULL;
    }
    return signed_all;
}

static int direct_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                          const struct fi_info *hints, struct fi_info **info)
{
    const struct fi_provider *provider = direct_provider();
    bool named = hints != NULL && hints->fabric_attr != NULL;
    const char *names = named ? hints->fabric_attr->prov_name : NULL;

    *info = NULL;
    if (FI_MAJOR(version) > FI_MAJOR(DIRECT_VERSION)) {
        FI_WARN(&direct_core, FI_LOG_CORE, "version %u.%u is newer than this library's, %u.%u\n",
                FI_MAJOR(version), FI_MINOR(version), FI_MAJOR(DIRECT_VERSION),
                FI_MINOR(DIRECT_VERSION));
        return -FI_ENOSYS;
    }
    if (provider == NULL) {
        return -FI_ENODATA;
    }
    if (flags == FI_PROV_ATTR_ONLY) {
        *info = direct_dupinfo(NULL);
    } else if (!direct_is_chosen(getenv("FI_PROVIDER"), NAME) || !is_asked_for(names)) {
        FI_WARN(&direct_core, FI_LOG_CORE,
                "FI_PROVIDER, or the program, asks for another provider than " NAME
                ", which is the only one of this libfabric: take its directory out of "
                "LD_LIBRARY_PATH\n");
        return -FI_ENODATA;
    } else {
        int status = provider->getinfo(version, node, service, flags, hints, info);
        if (status != 0) {
            FI_LOG(&direct_core, names == NULL ? FI_LOG_INFO : FI_LOG_WARN, FI_LOG_CORE,
                   "fi_getinfo: " NAME " returned %d (%s)\n", status, fi_strerror(-status));
            return -FI_ENODATA;
        }
    }
    if (*info == NULL || !sign(*info, version)) {
        direct_freeinfo(*info);
        *info = NULL;
        return -FI_ENOMEM;
    }
    return 0;
}
DIRECT_SYMBOLS(direct_getinfo, "fi_getinfo");

static int direct_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    if (attr == NULL || attr->prov_name == NULL || attr->name == NULL) {
        return -FI_EINVAL;
    }
    const struct fi_provider *provider = direct_provider();
    if (provider == NULL || strcasecmp(attr->prov_name, NAME) != 0) {
        return -FI_ENODEV;
    }
    int status = provider->fabric(attr, fabric, context);
    if (status == 0) {
        (*fabric)->api_version = attr->api_version;
        FI_INFO(&direct_core, FI_LOG_CORE, "Opened fabric: %s\n", attr->name);
    }
    return status;
}
DIRECT_SYMBOL(direct_fabric, direct_fabric_1_1, "fi_fabric@@FABRIC_1.1");

/** Since 1.8; older headers do not declare it. */
static int direct_fabric2(struct fi_info *info, struct fid_fabric **fabric, uint64_t flags,
                          void *context)
{
    return info == NULL || flags != 0 ? -FI_EINVAL
                                      : direct_fabric(info->fabric_attr, fabric, context);
}
DIRECT_SYMBOL(direct_fabric2, direct_fabric2_1_8, "fi_fabric2@@FABRIC_1.8");

/** There is no cache of registered memory to watch, and no log to replace. */
DIRECT_EXPORTED int fi_open(uint32_t version, const char *name, void *attr, size_t attr_len,
                            uint64_t flags, struct fid **fid, void *context)
{
    (void)version;
    (void)name;
    (void)attr;
    (void)attr_len;
    (void)flags;
    (void)fid;
    (void)context;
    return -FI_ENOSYS;
}

DIRECT_EXPORTED uint32_t fi_version(void)
{
    return DIRECT_VERSION;
}
