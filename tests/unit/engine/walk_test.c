/* SPDX-License-Identifier: BSD-3-Clause */
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

#define MIB (UINT64_C(1) << 20)

static struct walk walk;

/* A walk of 2 MiB: as if it had been decided so. */
static int start(void **state)
{
    walk = (struct walk){.wanted = 2 * MIB};
    return walk_begin(&walk, 64);
}

static int finish(void **state)
{
    walk_end(&walk);
    return walk.memory == NULL && walk.bytes == 0 ? 0 : -1;
}

#define STARTED_TEST(name) TEST_AROUND(name, start, finish)

static void write_size(const char *directory, int index, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/index%d", directory, index);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/index%d/size", directory, index);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "%s\n", text);
    assert_int_equal(fclose(file), 0);
}

TEST(cache__is_the_largest_that_the_kernel_names)
{
    char directory[] = "/tmp/beowire-walk-XXXXXX";
    assert_non_null(mkdtemp(directory));
    assert_int_equal(walk_cache_bytes(directory), 0);
    write_size(directory, 0, "48K");
    write_size(directory, 2, "2048K");
    write_size(directory, 3, "36M");
    assert_int_equal(walk_cache_bytes(directory), 36 * MIB);
    for (int i = 0; i < 4; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/index%d/size", directory, i);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s/index%d", directory, i);
        (void)rmdir(path);
    }
    assert_int_equal(rmdir(directory), 0);
}

TEST(wanted__twice_the_cache_as_far_as_there_is_memory)
{
    assert_int_equal(walk_wanted_bytes(30 * MIB, UINT64_C(1) << 40), 60 * MIB);
    assert_int_equal(walk_wanted_bytes(30 * MIB, 40 * MIB * WALK_MEMORY_SHARE), 40 * MIB);
    assert_int_equal(walk_wanted_bytes(30 * MIB, 0), 60 * MIB);
    assert_int_equal(walk_wanted_bytes(0, UINT64_C(1) << 40), 128 * MIB);
    assert_int_equal(walk_wanted_bytes(1000, 0), MIB);
}

/* Each line of memory once before any comes again, and none right after its neighbour. */
STARTED_TEST(next__short_messages_meet_each_place_once)
{
    const size_t lines = MIB / 64;
    uint8_t *met = calloc(1, lines);
    assert_non_null(met);
    const uint8_t *last = NULL;
    for (size_t i = 0; i < lines; i++) {
        const uint8_t *at = walk_next(&walk);
        const size_t line = (size_t)(at - walk.memory) / 64;
        assert_true(line < lines);
        assert_int_equal(met[line], 0);
        met[line] = 1;
        assert_true(last == NULL || labs(at - last) > 4096);
        last = at;
    }
    free(met);
    assert_true(walk_next(&walk) >= walk.memory + MIB);
}

STARTED_TEST(next__long_messages_stay_inside)
{
    const uint64_t sizes[] = {1, 100, 4095, 4096, 4097, 3 * MIB + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(walk_begin(&walk, sizes[i]), 0);
        const uint8_t *before = walk_next(&walk);
        for (uint64_t k = 0; k < 3 * walk.bytes / walk.slot_bytes + 3; k++) {
            const uint8_t *at = walk_next(&walk);
            assert_true(at >= walk.memory && at + sizes[i] <= walk.memory + walk.bytes);
            assert_true(at >= before + sizes[i] || before >= at + sizes[i]);
            before = at;
        }
    }
}

/* What is sent and what is received are two messages. */
STARTED_TEST(begin__grows_for_messages_that_do_not_fit_twice)
{
    const uint64_t bytes = walk.bytes;
    assert_int_equal(walk_begin(&walk, bytes), 0);
    assert_true(walk.bytes >= 2 * bytes);
    assert_ptr_not_equal(walk_next(&walk), walk_next(&walk));
    assert_int_equal(walk_begin(&walk, UINT64_C(1) << 62), -12);
    assert_int_equal(walk.bytes, 0);
}
