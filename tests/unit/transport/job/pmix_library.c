/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stands for the PMIx library in pmix_test.c: a job "job" of three processes, of which this is
 * number 2 and the others publish what this one does. FAIL in the environment names a call that
 * fails. Types as in transport/job/pmix.c.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct process {
    char space[256];
    uint32_t rank;
};

struct value {
    uint16_t type;
    union {
        char *string;
        uint32_t uint32;
        uint64_t room[4];
    } data;
};

#define EXPORT __attribute__((visibility("default")))

EXPORT int PMIx_Init(struct process *self, void *info, size_t count);
EXPORT int PMIx_Put(uint8_t scope, const char *key, struct value *value);
EXPORT int PMIx_Commit(void);
EXPORT int PMIx_Fence(const struct process *processes, size_t count, const void *info, size_t n);
EXPORT int PMIx_Get(const struct process *process, const char *key, const void *info, size_t count,
                    struct value **value);
EXPORT int PMIx_Finalize(const void *info, size_t count);
EXPORT const char *PMIx_Error_string(int status);

static char published_key[64];
static char published[1024];
static int ready;

static int result(const char *call)
{
    const char *failing = getenv("FAIL");

    return failing != NULL && strcmp(failing, call) == 0 ? -1 : 0;
}

int PMIx_Init(struct process *self, void *info, size_t count)
{
    (void)info;
    (void)count;
    (void)snprintf(self->space, sizeof self->space, "job");
    self->rank = 2;
    return result("PMIx_Init");
}

int PMIx_Put(uint8_t scope, const char *key, struct value *value)
{
    ready = 0;
    (void)snprintf(published_key, sizeof published_key, "%s", key);
    (void)snprintf(published, sizeof published, "%s", value->data.string);
    return scope == 3 && value->type == 3 ? result("PMIx_Put") : -2;
}

int PMIx_Commit(void)
{
    return result("PMIx_Commit");
}

int PMIx_Fence(const struct process *processes, size_t count, const void *info, size_t n)
{
    (void)processes;
    (void)info;
    ready = count == 0 && n == 0;
    return result("PMIx_Fence");
}

int PMIx_Get(const struct process *process, const char *key, const void *info, size_t count,
             struct value **value)
{
    int status = result("PMIx_Get");

    (void)info;
    (void)count;
    if (status != 0 || strcmp(process->space, "job") != 0) {
        return -1;
    }
    struct value *found = calloc(1, sizeof *found);
    if (strcmp(key, "pmix.job.size") == 0 && process->rank == UINT32_MAX - 1) {
        found->type = 14;
        found->data.uint32 = getenv("SMALL") != NULL ? 2 : 3;
    } else if (ready && process->rank < 3 && strcmp(key, published_key) == 0) {
        found->type = getenv("NUMBER") != NULL ? 14 : 3;
        if (found->type == 3) {
            found->data.string = strdup(published);
        }
    } else {
        free(found);
        return -1;
    }
    *value = found;
    return 0;
}

int PMIx_Finalize(const void *info, size_t count)
{
    (void)info;
    (void)count;
    return 0;
}

const char *PMIx_Error_string(int status)
{
    return status == -1 ? "NOT-FOUND" : "OTHER";
}
