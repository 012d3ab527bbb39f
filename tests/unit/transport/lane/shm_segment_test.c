/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/shm_segment.h"
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 8192

TEST(shm_segment_map__is_the_same_memory)
{
    void *made = NULL;
    void *mapped = NULL;
    int file = -1;

    assert_int_equal(shm_segment_make("test", BYTES, &made, &file), 0);
    assert_int_equal(shm_segment_map(file, BYTES, &mapped), 0);
    close(file);
    assert_ptr_not_equal(made, mapped);
    for (size_t i = 0; i < BYTES; i++) {
        assert_int_equal(((uint8_t *)mapped)[i], 0);
    }
    ((uint8_t *)made)[BYTES - 1] = 7;
    assert_int_equal(((uint8_t *)mapped)[BYTES - 1], 7);
    shm_segment_unmap(made, BYTES);
    assert_int_equal(((uint8_t *)mapped)[BYTES - 1], 7);
    shm_segment_unmap(mapped, BYTES);
    shm_segment_unmap(NULL, BYTES);
}

TEST(shm_segment_make__cannot_be_truncated_or_grown)
{
    void *memory = NULL;
    int file = -1;

    assert_int_equal(shm_segment_make("test", BYTES, &memory, &file), 0);
    assert_int_equal(ftruncate(file, 0), -1);
    assert_int_equal(ftruncate(file, (off_t)2 * BYTES), -1);
    close(file);
    shm_segment_unmap(memory, BYTES);
}

static void refuse(int file, size_t bytes)
{
    void *memory = NULL;

    assert_true(file >= 0);
    assert_int_equal(shm_segment_map(file, bytes, &memory), -EINVAL);
    assert_null(memory);
    close(file);
}

static int memory_file(unsigned flags, off_t bytes, int seals)
{
    int file = memfd_create("test", flags | MFD_ALLOW_SEALING);

    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, bytes), 0);
    assert_int_equal(fcntl(file, F_ADD_SEALS, seals), 0);
    return file;
}

TEST(shm_segment_map__refuses_what_could_vanish)
{
    int ends[2];

    refuse(memory_file(0, BYTES, F_SEAL_GROW), BYTES);
    refuse(memory_file(0, BYTES, F_SEAL_SHRINK), BYTES);
    refuse(memory_file(0, BYTES / 2, F_SEAL_SHRINK | F_SEAL_GROW), BYTES);
    refuse(memory_file(0, (off_t)2 * BYTES, F_SEAL_SHRINK | F_SEAL_GROW), BYTES);
    refuse(memory_file(0, BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), BYTES);
    refuse(memory_file(MFD_HUGETLB, 2 << 20, F_SEAL_SHRINK | F_SEAL_GROW), 2 << 20);
    refuse(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), BYTES);
    assert_int_equal(pipe(ends), 0);
    refuse(ends[0], BYTES);
    close(ends[1]);
}
