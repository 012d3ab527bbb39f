/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rank, ranks;

void check_failed(const char *file, int line, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "mpi_check: rank %d: %s:%d: %s\n", rank, file, line, text);
    (void)fflush(stderr);
    (void)MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void *check_memory(size_t bytes)
{
    void *memory = malloc(bytes + 1);

    CHECK(memory != NULL, "no memory for %zu bytes", bytes);
    return memory;
}

uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/** The eight bytes at an offset that is a multiple of eight. */
static uint64_t word_of(uint32_t seed, size_t offset)
{
    uint64_t word = (seed + UINT64_C(0x9E3779B97F4A7C15)) * (offset + 8);

    return word ^ word >> 29;
}

void fill(uint8_t *buffer, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = word_of(seed, i);
        memcpy(buffer + i, &word, bytes - i < sizeof word ? bytes - i : sizeof word);
    }
}

size_t first_wrong(const uint8_t *buffer, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = word_of(seed, i);
        if (memcmp(buffer + i, &word, bytes - i < sizeof word ? bytes - i : sizeof word) != 0) {
            return i;
        }
    }
    return bytes;
}

static const struct {
    const char *name;
    void (*run)(void);
} checks[] = {
    {"pingpong", check_pingpong},
    {"ordering", check_ordering},
    {"collectives", check_collectives},
    {"onesided", check_onesided},
    {"endless", check_endless},
    {"ending", check_ending},
    {"huge", check_huge},
    {"gaps", check_gaps},
    {"matched", check_matched},
    {"persistent", check_persistent},
    {"forking", check_forking},
};
#define CHECKS (sizeof checks / sizeof *checks)

static void run(const char *name)
{
    for (size_t i = 0; i < CHECKS; i++) {
        if (strcmp(checks[i].name, name) == 0) {
            checks[i].run();
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) {
                printf("mpi_check: %s is right on %d ranks\n", name, ranks);
                (void)fflush(stdout);
            }
            return;
        }
    }
    CHECK(0, "no check is named %s", name);
}

int main(int count, char **words)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    int length = 0;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(host, &length);
    printf("mpi_check: rank %d of %d is on %s\n", rank, ranks, host);
    (void)fflush(stdout);
    for (int i = 1; i < count; i++) {
        run(words[i]);
    }
    MPI_Finalize();
    return 0;
}
