/* SPDX-License-Identifier: BSD-3-Clause */
#include "openmpi.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The layout of tags that mtl/ofi uses with providers that carry immediate data. */
#define SYNCHRONOUS (UINT64_C(1) << 32)
#define ANSWER (UINT64_C(1) << 33)

/** More than any Open MPI needs (MPI_MAX_LIBRARY_VERSION_STRING is 256). */
#define VERSION_BYTES 1024

/** "4.1.4" as a number: 40104. */
static uint32_t number_of(const char *text)
{
    uint32_t number = 0;

    for (int part = 0; part < 3; part++) {
        char *end = NULL;
        number = number * 100 + (uint32_t)strtoul(text, &end, 10);
        text = *end == '.' ? end + 1 : end;
    }
    return number;
}

uint32_t openmpi_version(void)
{
    static const char before[] = "Open MPI v";
    char version[VERSION_BYTES] = "";
    int bytes = 0;
    int (*get_version)(char *text, int *bytes) = NULL;
    void *library = dlopen(OPENMPI_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);

    if (library == NULL) {
        return 0;
    }
    *(void **)&get_version = dlsym(library, "PMPI_Get_library_version");
    if (get_version != NULL) {
        (void)get_version(version, &bytes);
    }
    (void)dlclose(library); /* the program keeps it loaded */
    return strncmp(version, before, sizeof before - 1) == 0 ? number_of(version + sizeof before - 1)
                                                            : 0;
}

bool openmpi_is_before_5(void)
{
    const uint32_t version = openmpi_version();

    return version != 0 && version < 50000;
}

bool openmpi_wants_answer(uint64_t tag, uint64_t *answer)
{
    *answer = (tag & ~SYNCHRONOUS) | ANSWER;
    return (tag & (SYNCHRONOUS | ANSWER)) == SYNCHRONOUS;
}
