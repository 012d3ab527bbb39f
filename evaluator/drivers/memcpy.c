/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memcpy.c - copies each message from one buffer to another inside one process: what moving the
 * bytes costs when there is nothing to cross. The bound for every protocol that copies once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"

struct copy {
    uint8_t *target;
    uint64_t bytes;
};

static int memcpy_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    (void)reason;
    (void)reason_bytes;
    return 0;
}

static int memcpy_open(const struct driver_options *options, void **session, char *error,
                       size_t error_bytes)
{
    struct copy *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        return -ENOMEM;
    }
    copy->bytes = options->max_size;
    void *target = mmap(NULL, copy->bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (target == MAP_FAILED) {
        free(copy);
        (void)snprintf(error, error_bytes, "no memory for a message of %llu bytes",
                       (unsigned long long)options->max_size);
        return -ENOMEM;
    }
    copy->target = target;
    *session = copy;
    return 0;
}

static int memcpy_send(void *session, const void *data, uint64_t size)
{
    const struct copy *copy = session;
    memcpy(copy->target, data, size);
    /* The compiler has to believe that somebody reads the copy. */
    __asm__ volatile("" : : "r"(copy->target) : "memory");
    return 0;
}

static void memcpy_close(void *session)
{
    struct copy *copy = session;
    munmap(copy->target, copy->bytes);
    free(copy);
}

static const struct driver MEMCPY = {
    .abi = DRIVER_ABI,
    .name = "memcpy",
    .summary = "a copy inside one process: the bound for whatever copies once",
    .placement = DRIVER_PROCESS,
    .reliable = true,
    .spins = false,
    .min_size = 1,
    .max_size = UINT64_C(1) << 30,
    .probe = memcpy_probe,
    .open = memcpy_open,
    .send = memcpy_send,
    .close = memcpy_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&MEMCPY, NULL};
    return TABLE;
}
