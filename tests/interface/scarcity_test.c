/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What beowire.h promises where memory or descriptors run out: -ENOMEM, -ENFILE, and nothing that
 * had been made before stays behind. The library's calls of the functions below come here: the one
 * that is to fail fails, and blocks that are there are counted.
 */
#include "beowire.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "endpoints.h"
#include "unit/test.h"

/** More calls than anything here makes. */
#define CALLS_MAX 200

/** Of one kind of calls. */
struct scarce {
    bool armed;     /**< calls of this thread are counted and may fail */
    unsigned calls; /**< since then */
    unsigned fails; /**< the number of the call that fails, from 0 on */
};

static _Thread_local struct scarce memory;
static _Thread_local struct scarce files;
static long blocks; /**< that were allocated while `memory` was armed, and not freed */
static void *held[CALLS_MAX * 4];
static bool overflowed; /**< there were more of them than that */

static bool runs_out(struct scarce *scarce)
{
    return scarce->armed && scarce->calls++ == scarce->fails;
}

/* ---- in place of the C library's ------------------------------------------------------------ */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

static void *note(void *block)
{
    if (!memory.armed || block == NULL) {
        return block;
    }
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        if (held[i] == NULL) {
            held[i] = block;
            blocks++;
            return block;
        }
    }
    overflowed = true;
    return block;
}

static void forget(const void *block)
{
    for (size_t i = 0; block != NULL && blocks > 0 && i < sizeof held / sizeof *held; i++) {
        if (held[i] == block) {
            held[i] = NULL;
            blocks--;
            break;
        }
    }
}

static void *none(void)
{
    errno = ENOMEM;
    return NULL;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's are reserved */
void *malloc(size_t bytes)
{
    return runs_out(&memory) ? none() : note(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return runs_out(&memory) ? none() : note(__libc_calloc(count, bytes));
}

void *realloc(void *block, size_t bytes)
{
    if (runs_out(&memory)) {
        return none();
    }
    forget(block);
    return note(__libc_realloc(block, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return runs_out(&memory) ? none() : note(__libc_memalign(alignment, bytes));
}

void free(void *block)
{
    forget(block);
    __libc_free(block);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (runs_out(&memory)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the kernel answers */
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

static int no_file(void)
{
    errno = ENFILE;
    return -1;
}

int epoll_create1(int flags)
{
    return runs_out(&files) ? no_file() : (int)syscall(SYS_epoll_create1, flags);
}

int eventfd(unsigned count, int flags)
{
    return runs_out(&files) ? no_file() : (int)syscall(SYS_eventfd2, count, flags);
}

int timerfd_create(int clock, int flags)
{
    return runs_out(&files) ? no_file() : (int)syscall(SYS_timerfd_create, clock, flags);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* ---- tests ---------------------------------------------------------------------------------- */

static unsigned open_files(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(directory);
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

static unsigned mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned count = 0;
    int c = 0;

    assert_non_null(maps);
    while ((c = fgetc(maps)) != EOF) {
        count += c == '\n';
    }
    (void)fclose(maps);
    return count;
}

/** What a process has. */
struct belongings {
    unsigned files;
    unsigned mappings;
    long blocks;
};

static struct belongings belongings(void)
{
    return (struct belongings){.files = open_files(), .mappings = mappings(), .blocks = blocks};
}

/** Opens an endpoint, and closes it if that succeeds. @return whether it does */
static int open_and_close(const struct beowire_options *options)
{
    beowire_endpoint *endpoint = NULL;
    int status = beowire_open(options, &endpoint);

    memory.armed = false;
    if (status == 0) {
        assert_int_equal(beowire_close(endpoint, 0), 0);
    }
    return status;
}

TEST(beowire_open__without_memory)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    unsigned refused = 0;

    options.interface = "end0";
    options.progress = BEOWIRE_PROGRESS_CALLS;
    struct belongings before = {.blocks = -1};
    while (before.blocks != blocks) { /* some closed handles are kept for good */
        assert_true(blocks < CALLS_MAX);
        before = belongings();
        memory = (struct scarce){.armed = true, .fails = CALLS_MAX};
        assert_int_equal(open_and_close(&options), 0);
    }
    before = belongings();
    for (unsigned fails = 0; fails < CALLS_MAX; fails++) {
        memory = (struct scarce){.armed = true, .fails = fails};
        int status = open_and_close(&options);
        const struct belongings after = belongings();
        assert_int_equal(after.files, before.files);
        assert_int_equal(after.mappings, before.mappings);
        assert_int_equal(after.blocks, before.blocks);
        assert_false(overflowed);
        if (memory.calls <= fails) {
            assert_int_equal(status, 0);
            assert_true(refused >= 10);
            return;
        }
        assert_true(status == 0 || status == -ENOMEM); /* it can do without some */
        refused += status != 0;
    }
    fail_msg("memory ran out in every case");
}

TEST(beowire_peer_add__without_memory)
{
    beowire_endpoint *a = open_with_lanes("end0", "packet,udp");
    beowire_endpoint *b = open_with_lanes("end1", "packet,udp");
    struct beowire_address address;
    beowire_peer peer = BEOWIRE_ANY_PEER;

    beowire_address(b, &address);
    memory = (struct scarce){.armed = true};
    assert_int_equal(beowire_peer_add(a, &address, &peer), -ENOMEM);
    assert_int_equal(beowire_peer_add(a, &address, &peer), 0);
    memory.armed = false;
    assert_int_equal(beowire_send(a, peer, 1, 0, "x", 1, NULL), 0);
    assert_int_equal(beowire_close(a, 0), -ETIMEDOUT);
    assert_int_equal(beowire_close(b, 0), 0);
}

TEST(beowire_memory_register__without_memory)
{
    beowire_endpoint *a = open_with_lanes("end0", "udp");
    char bytes[8];
    uint64_t key = 0;
    unsigned refused = 0;

    for (unsigned i = 0; i < 100; i++) {
        memory = (struct scarce){.armed = true};
        int status = beowire_memory_register(a, bytes, sizeof bytes, 0, &key);
        bool wanted = memory.calls > 0;
        memory.armed = false;
        assert_int_equal(status, wanted ? -ENOMEM : 0);
        if (wanted) {
            refused++;
            assert_int_equal(beowire_memory_register(a, bytes, sizeof bytes, 0, &key), 0);
        }
        if (i % 3 == 0) {
            assert_int_equal(beowire_memory_unregister(a, key), 0);
        }
    }
    assert_true(refused > 0);
    assert_int_equal(beowire_close(a, 0), 0);
}

TEST(beowire_descriptor__without_descriptors)
{
    beowire_endpoint *a = open_with_lanes("end0", "packet,udp");
    unsigned before = open_files();

    for (unsigned fails = 0; fails < 3; fails++) {
        files = (struct scarce){.armed = true, .fails = fails};
        assert_int_equal(beowire_descriptor(a), -ENFILE);
        files.armed = false;
        assert_int_equal(open_files(), before);
    }
    assert_true(beowire_descriptor(a) >= 0);
    assert_int_equal(beowire_close(a, 0), 0);
}
