/* SPDX-License-Identifier: BSD-3-Clause */
#include "pe.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../library.h"
#include "../spin.h"

/* Limit of the farewell, within the second that close() has. */
#define FAREWELL_NS UINT64_C(700000000)

/* Polls for queued operations of the library. */
#define PROGRESS_POLLS 16

/* Polls of the library, a millisecond apart: after a run, because the peer may be slightly behind,
 * and after an interrupted wait. */
#define IDLE_LOOKS_RUN 100
#define IDLE_LOOKS_STOPPED 2000

#define PAGE_BYTES UINT64_C(4096)

/* The library's own share of the symmetric memory. */
#define HEAP_EXTRA_BYTES (UINT64_C(4) << 20)

#define PLACE_OUTGOING (UINT64_C(1) << 31)
#define PLACE_BITS 32

/* Open MPI's shmem_wait_until() calls this between two checks of its word, but shmem_test() does
 * not. With it a wait here acts like shmem_wait_until(), but can be interrupted. */
static void (*make_progress)(void);

static bool finalized;

int pe_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    (void)reason;
    (void)reason_bytes;
    return 0;
}

/* This file is loaded with local symbols, and so is the library. But the library loads plug-ins,
 * which need its symbols to be global. */
static int publish_library(void)
{
    Dl_info found;
    void (*function)(void) = shmem_init;
    void *address = NULL;

    memcpy(&address, &function, sizeof address);
    if (dladdr(address, &found) == 0 || found.dli_fname == NULL) {
        return -ELIBBAD;
    }
    void *library = dlopen(found.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    address = library == NULL ? NULL : dlsym(library, "opal_progress");
    memcpy(&make_progress, &address, sizeof make_progress);
    return address == NULL ? -ELIBBAD : 0;
}

/* In Open MPI 4, shmem_finalize() unloads this library while one of its functions is still
 * registered as a hook for freed memory, and the process ends by SIGSEGV (Open MPI 4.1.4 of Debian
 * 12; similar: github.com/open-mpi/ompi/pull/10758). So it must stay loaded. */
static void keep_what_is_called_later(void)
{
    (void)dlopen("libmca_common_ucx.so.40", RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* At exit the library would call shmem_finalize(), which would wait for a peer that may be gone. */
static void leave_without_it(int status, void *unused)
{
    (void)unused;
    if (!finalized) {
        _exit(status);
    }
}

static uint64_t pages(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* The library may round each of the three allocations up to a power of two. */
static void make_heap_large_enough(uint64_t buffer_bytes)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, 4 * pages(buffer_bytes) + HEAP_EXTRA_BYTES);
    (void)unsetenv("SHMEM_SYMMETRIC_HEAP_SIZE"); /* an older name, which must not contradict them */
    (void)setenv("SMA_SYMMETRIC_SIZE", text, 1); /* Open MPI 4's name for it */
    (void)setenv("SHMEM_SYMMETRIC_SIZE", text, 1);
}

static int initialise(const struct driver_options *options, uint64_t bytes, char *error,
                      size_t error_bytes)
{
    static bool before;

    if (before) {
        (void)snprintf(error, error_bytes, "OpenSHMEM can be started only once in a process");
        return -EBUSY;
    }
    if (publish_library() != 0) {
        (void)snprintf(error, error_bytes, "this OpenSHMEM is not Open MPI's");
        return -ELIBBAD;
    }
    before = true;
    make_heap_large_enough(bytes);
    shmem_init();
    keep_what_is_called_later();
    (void)on_exit(leave_without_it, NULL);
    const int own = shmem_my_pe();
    const int all = shmem_n_pes();
    if (all != 2) {
        (void)snprintf(error, error_bytes,
                       "it was started as %d PE%s, not two: the launcher and the library are not "
                       "of the same Open MPI",
                       all, all == 1 ? "" : "s");
        return -EINVAL;
    }
    if (own != (options->role == DRIVER_INITIATOR ? 0 : 1)) {
        (void)snprintf(error, error_bytes, "PE %d was started on the wrong node", own);
        return -EINVAL;
    }
    return 0;
}

/* Both PEs make the same allocations in the same order. */
static int allocate(struct pe *pe)
{
    pe->words = shmem_align(PAGE_BYTES, sizeof *pe->words);
    for (int i = 0; i < PE_BUFFERS; i++) {
        pe->memory[i] = shmem_align(PAGE_BYTES, pages(pe->bytes));
    }
    if (pe->words == NULL || pe->memory[PE_INCOMING] == NULL || pe->memory[PE_OUTGOING] == NULL) {
        return -ENOMEM;
    }
    memset(pe->words, 0, sizeof *pe->words);
    shmem_barrier_all(); /* before the peer writes there */
    return 0;
}

int pe_open(size_t session_bytes, const struct driver_options *options, void **session, char *error,
            size_t error_bytes)
{
    struct pe *pe = calloc(1, session_bytes);

    if (pe == NULL) {
        return -ENOMEM;
    }
    pe->host = options->host;
    pe->peer = options->role == DRIVER_INITIATOR ? 1 : 0;
    pe->bytes = options->max_size + DRIVER_SLACK_BYTES;
    int status = initialise(options, pe->bytes, error, error_bytes);
    if (status == 0) {
        status = allocate(pe);
        if (status != 0) {
            (void)snprintf(error, error_bytes,
                           "no symmetric memory for two messages of %" PRIu64
                           " bytes: ask for a smaller size",
                           options->max_size);
        }
    }
    if (status != 0) {
        free(pe);
        return status;
    }
    *session = pe;
    return 0;
}

void pe_buffers(void *session, void **outgoing, void **incoming)
{
    const struct pe *pe = session;

    *outgoing = pe->memory[PE_OUTGOING];
    *incoming = pe->memory[PE_INCOMING];
}

int pe_address(void *session, char *text, size_t text_bytes)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    (void)session;
    (void)MPI_Get_library_version(version, &length); /* shmem_info_get_name() has no version */
    return library_address(version, text, text_bytes);
}

static bool has_come(const uint64_t *word, uint64_t least)
{
    return (int64_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) - least) >= 0;
}

/* shmem_uint64_wait_until(word, SHMEM_CMP_GE, least) that can be interrupted. */
static int await_word(const struct driver_host *host, uint64_t limit_ns, const uint64_t *word,
                      uint64_t least)
{
    struct spin spin = spin_start(host, limit_ns);

    while (!has_come(word, least)) {
        make_progress();
        int status = spin_turn(&spin);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int hear(struct pe *pe, const uint64_t *word, uint64_t least)
{
    int status = await_word(pe->host, SPIN_FOREVER, word, least);

    if (status != 0) {
        pe->owed = IDLE_LOOKS_STOPPED;
    }
    return status;
}

int pe_connect(void *session, const char *peer_address, char *error, size_t error_bytes)
{
    struct pe *pe = session;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    (void)MPI_Get_library_version(version, &length);
    int status = library_compare(version, peer_address, error, error_bytes);
    if (status != 0) {
        return status;
    }
    shmem_uint64_p(&pe->words->greeting, 1, pe->peer);
    status = hear(pe, &pe->words->greeting, 1);
    if (status == 0) {
        pe->owed = IDLE_LOOKS_RUN;
    } else if (status != -ECANCELED) {
        (void)snprintf(error, error_bytes, "a first word did not reach the other PE");
    }
    return status;
}

int pe_flush(void *session)
{
    struct pe *pe = session;

    for (int i = 0; i < PROGRESS_POLLS; i++) {
        make_progress();
    }
    if (pe->owed < IDLE_LOOKS_RUN) {
        pe->owed = IDLE_LOOKS_RUN;
    }
    return 0;
}

bool pe_idle(void *session)
{
    struct pe *pe = session;

    if (pe->owed == 0) {
        return false;
    }
    pe->owed--;
    make_progress();
    return true;
}

int pe_place(const struct pe *pe, const void *data, uint64_t size, uint64_t *place)
{
    for (int i = 0; i < PE_BUFFERS; i++) {
        const uint64_t at = (uintptr_t)data - (uintptr_t)pe->memory[i];
        if (at <= pe->bytes && size <= pe->bytes - at) {
            *place = at | (i == PE_OUTGOING ? PLACE_OUTGOING : 0);
            return 0;
        }
    }
    return -EINVAL;
}

void *pe_at(const struct pe *pe, uint64_t place)
{
    uint8_t *buffer = pe->memory[(place & PLACE_OUTGOING) != 0 ? PE_OUTGOING : PE_INCOMING];

    return buffer + (place & ~PLACE_OUTGOING);
}

void pe_say_place(struct pe *pe, uint64_t number, uint64_t place)
{
    shmem_uint64_p(&pe->words->places[number % PE_WINDOW], (number + 1) << PLACE_BITS | place,
                   pe->peer);
}

int pe_hear_place(struct pe *pe, uint64_t number, uint64_t *place)
{
    const uint64_t *word = &pe->words->places[number % PE_WINDOW];
    int status = hear(pe, word, (number + 1) << PLACE_BITS);

    if (status == 0) {
        *place = *word & ((UINT64_C(1) << PLACE_BITS) - 1);
    }
    return status;
}

void pe_say_count(struct pe *pe, uint64_t count)
{
    shmem_uint64_p(&pe->words->count, count, pe->peer);
}

int pe_hear_count(struct pe *pe, uint64_t count)
{
    return hear(pe, &pe->words->count, count);
}

static bool never(void *context)
{
    (void)context;
    return false;
}

/* shmem_finalize() waits for the other PE, which may have failed or ended. So it must first
 * answer. */
static bool take_leave(struct pe *pe)
{
    static const struct driver_host PATIENT = {.stopped = never};

    shmem_uint64_p(&pe->words->farewell, 1, pe->peer);
    return await_word(&PATIENT, FAREWELL_NS, &pe->words->farewell, 1) == 0;
}

void pe_close(void *session)
{
    struct pe *pe = session;

    if (take_leave(pe)) {
        shmem_finalize();
        finalized = true;
    }
    free(pe);
}
