/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memcpy.c - drivers that copy each message from one buffer to another inside one process: the cost
 * of moving the bytes alone.
 *
 *   memcpy              the C library's: the lower bound for protocols that copy once
 *   memcpy-bytes        a loop over bytes
 *   memcpy-movsb        the instruction rep movsb (x86)
 *   memcpy-nontemporal  stores that bypass the caches (x86)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "copies.h"
#include "driver.h"

struct copy {
    uint8_t *target;
    uint64_t bytes;
};

static int copy_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    (void)reason;
    (void)reason_bytes;
    return 0;
}

static int copy_open(const struct driver_options *options, void **session, char *error,
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
    /* The compiler must assume that the copy is read. */
    __asm__ volatile("" : : "r"(copy->target) : "memory");
    return 0;
}

static int bytes_send(void *session, const void *data, uint64_t size)
{
    const struct copy *copy = session;
    copy_bytes(copy->target, data, size);
    return 0;
}

#if COPIES_ON_X86
#define x86_probe copy_probe
#define x86_open copy_open

static int movsb_send(void *session, const void *data, uint64_t size)
{
    const struct copy *copy = session;
    copy_movsb(copy->target, data, size);
    return 0;
}

static int nontemporal_send(void *session, const void *data, uint64_t size)
{
    const struct copy *copy = session;
    copy_nontemporal(copy->target, data, size);
    return 0;
}
#else
static int x86_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    (void)snprintf(reason, reason_bytes,
                   "this copy needs instructions of x86 processors: measure memcpy");
    return -ENOSYS;
}

static int x86_open(const struct driver_options *options, void **session, char *error,
                    size_t error_bytes)
{
    (void)session;
    return x86_probe(options, error, error_bytes);
}

/* open() always fails, so these are never called, but the engine requires a complete table. */
#define movsb_send memcpy_send
#define nontemporal_send memcpy_send
#endif

static void copy_close(void *session)
{
    struct copy *copy = session;
    munmap(copy->target, copy->bytes);
    free(copy);
}

#define COMMON                                                                                     \
    .abi = DRIVER_ABI, .placement = DRIVER_PROCESS, .reliable = true, .min_size = 1,               \
    .max_size = UINT64_C(1) << 30, .close = copy_close

static const struct driver MEMCPY = {
    COMMON,
    .name = "memcpy",
    .summary = "a copy inside one process: the lower bound for one copy",
    .probe = copy_probe,
    .open = copy_open,
    .send = memcpy_send,
};

static const struct driver BYTES = {
    COMMON,
    .name = "memcpy-bytes",
    .summary = "a copy inside one process, byte by byte in a loop",
    .probe = copy_probe,
    .open = copy_open,
    .send = bytes_send,
};

static const struct driver MOVSB = {
    COMMON,
    .name = "memcpy-movsb",
    .summary = "a copy inside one process by the instruction rep movsb",
    .probe = x86_probe,
    .open = x86_open,
    .send = movsb_send,
};

static const struct driver NONTEMPORAL = {
    COMMON,
    .name = "memcpy-nontemporal",
    .summary = "a copy inside one process by stores that bypass the caches",
    .probe = x86_probe,
    .open = x86_open,
    .send = nontemporal_send,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&MEMCPY, &BYTES, &MOVSB, &NONTEMPORAL, NULL};
    return TABLE;
}
