/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The types and numbers of the PMIx standard used here (versions 2 to 5), copied so that the build
 * needs no header of PMIx.
 */
#include "pmix.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PMIX_SUCCESS 0
#define PMIX_STRING 3
#define PMIX_UINT32 14
#define PMIX_GLOBAL 3
#define PMIX_RANK_WILDCARD (UINT32_MAX - 1)
#define PMIX_JOB_SIZE "pmix.job.size"

struct pmix_process {
    char space[256];
    uint32_t rank;
};

/** A value. The standard's union has more members, which are not used here. */
struct pmix_value {
    uint16_t type;
    union {
        char *string;
        uint32_t uint32;
        uint64_t room[7]; /* as long as in any version */
    } data;
};

typedef int pmix_init(struct pmix_process *self, void *info, size_t count);
typedef int pmix_put(uint8_t scope, const char *key, struct pmix_value *value);
typedef int pmix_commit(void);
typedef int pmix_fence(const struct pmix_process *processes, size_t count, const void *info,
                       size_t info_count);
typedef int pmix_get(const struct pmix_process *process, const char *key, const void *info,
                     size_t count, struct pmix_value **value);
typedef int pmix_finalize(const void *info, size_t count);
typedef const char *pmix_error(int status);

struct pmix {
    void *library;
    struct pmix_process self;
    pmix_init *init;
    pmix_put *put;
    pmix_commit *commit;
    pmix_fence *fence;
    pmix_get *get;
    pmix_finalize *finalize;
    pmix_error *error;
};

bool pmix_is_present(void)
{
    return getenv("PMIX_NAMESPACE") != NULL && getenv("PMIX_RANK") != NULL;
}

static int refused(const struct pmix *pmix, const char *call, int status, struct reason reason)
{
    return reason_set(reason, -EPROTO, "%s: %s (%d)", call, pmix->error(status), status);
}

static int publish(void *context, const char *key, const char *value, struct reason reason)
{
    struct pmix *pmix = context;
    char copy[JOB_VALUE_BYTES];
    struct pmix_value text = {.type = PMIX_STRING, .data.string = copy};

    (void)snprintf(copy, sizeof copy, "%s", value);
    int status = pmix->put(PMIX_GLOBAL, key, &text);
    if (status != PMIX_SUCCESS) {
        return refused(pmix, "PMIx_Put", status, reason);
    }
    status = pmix->commit();
    if (status != PMIX_SUCCESS) {
        return refused(pmix, "PMIx_Commit", status, reason);
    }
    status = pmix->fence(NULL, 0, NULL, 0);
    return status == PMIX_SUCCESS ? 0 : refused(pmix, "PMIx_Fence", status, reason);
}

static int look_up(void *context, uint32_t rank, const char *key, char value[JOB_VALUE_BYTES],
                   struct reason reason)
{
    struct pmix *pmix = context;
    struct pmix_process process = pmix->self;
    struct pmix_value *found = NULL;
    int result = 0;

    process.rank = rank;
    int status = pmix->get(&process, key, NULL, 0, &found);
    if (status != PMIX_SUCCESS) {
        return refused(pmix, "PMIx_Get", status, reason);
    }
    if (found->type != PMIX_STRING || found->data.string == NULL ||
        strlen(found->data.string) >= JOB_VALUE_BYTES) {
        result = reason_set(reason, -EPROTO, "PMIx_Get: process %u published something else",
                            (unsigned)rank);
    } else {
        memcpy(value, found->data.string, strlen(found->data.string) + 1);
    }
    if (found->type == PMIX_STRING) {
        free(found->data.string);
    }
    free(found);
    return result;
}

static void close_pmix(void *context)
{
    struct pmix *pmix = context;

    (void)pmix->finalize(NULL, 0);
    /* The library stays loaded: its threads may still be ending. */
    free(pmix);
}

static const struct job_launcher launcher = {publish, look_up, close_pmix};

/** Opens the library: the one that the user names, that of the launcher's installation, or the
 *  system's. In a program with more privileges than its user (setuid, setcap) only the system's, as
 *  in the dynamic linker. */
static void *load(void)
{
    static const char *const prefixes[] = {"PMIX_INSTALL_PREFIX", "PMIX_PREFIX", "OPAL_PREFIX"};
    const char *named = secure_getenv("BEOWIRE_PMIX");
    char path[4096];
    void *library = NULL;

    if (named != NULL) {
        if (named[0] != '/' && strchr(named, '/') != NULL) {
            (void)dlerror(); /* an earlier library's error is not the reason */
            return NULL;
        }
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; library == NULL && i < sizeof prefixes / sizeof *prefixes; i++) {
        const char *prefix = secure_getenv(prefixes[i]);
        /* A relative one would be in the working directory, which anybody may own. */
        if (prefix != NULL && prefix[0] == '/' &&
            (size_t)snprintf(path, sizeof path, "%s/lib/libpmix.so.2", prefix) < sizeof path) {
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    }
    return library != NULL ? library : dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
}

/** Finds a function. ISO C has no cast from a pointer to data; POSIX guarantees that an integer
 *  holds both. */
static uintptr_t find(const struct pmix *pmix, const char *name, const char **missing)
{
    uintptr_t found = (uintptr_t)dlsym(pmix->library, name);

    if (found == 0 && *missing == NULL) {
        *missing = name;
    }
    return found;
}

static int find_functions(struct pmix *pmix, struct reason reason)
{
    const char *missing = NULL;

    pmix->library = load();
    if (pmix->library == NULL) {
        const char *said = dlerror();
        (void)reason_set(reason, -ELIBACC,
                         "this job needs the PMIx library: install libpmix2, or set BEOWIRE_PMIX "
                         "to its path (%.90s)",
                         said == NULL ? "a relative path is not loaded" : said);
        return -ELIBACC;
    }
    pmix->init = (pmix_init *)find(pmix, "PMIx_Init", &missing);
    pmix->put = (pmix_put *)find(pmix, "PMIx_Put", &missing);
    pmix->commit = (pmix_commit *)find(pmix, "PMIx_Commit", &missing);
    pmix->fence = (pmix_fence *)find(pmix, "PMIx_Fence", &missing);
    pmix->get = (pmix_get *)find(pmix, "PMIx_Get", &missing);
    pmix->finalize = (pmix_finalize *)find(pmix, "PMIx_Finalize", &missing);
    pmix->error = (pmix_error *)find(pmix, "PMIx_Error_string", &missing);
    if (missing != NULL) {
        (void)reason_set(reason, -ELIBACC, "the PMIx library has no %s", missing);
        return -ELIBACC;
    }
    return 0;
}

static int join(struct pmix *pmix, uint32_t *size, struct reason reason)
{
    struct pmix_value *found = NULL;
    int status = pmix->init(&pmix->self, NULL, 0);

    if (status != PMIX_SUCCESS) {
        return refused(pmix, "PMIx_Init", status, reason);
    }
    struct pmix_process all = pmix->self;
    all.rank = PMIX_RANK_WILDCARD;
    status = pmix->get(&all, PMIX_JOB_SIZE, NULL, 0, &found);
    if (status == PMIX_SUCCESS && found->type == PMIX_UINT32) {
        *size = found->data.uint32;
        free(found);
        if (pmix->self.rank < *size) {
            return 0;
        }
    }
    (void)pmix->finalize(NULL, 0);
    return reason_set(reason, -EPROTO, "PMIx does not tell how many processes this job has");
}

int pmix_open(struct beowire_job *job, struct reason reason)
{
    struct pmix *pmix = calloc(1, sizeof *pmix);

    if (pmix == NULL) {
        return reason_set(reason, -ENOMEM, "out of memory");
    }
    int status = find_functions(pmix, reason);
    if (status == 0) {
        status = join(pmix, &job->size, reason);
    }
    if (status != 0) {
        free(pmix);
        return status;
    }
    job->launcher = &launcher;
    job->context = pmix;
    job->rank = pmix->self.rank;
    return 0;
}
