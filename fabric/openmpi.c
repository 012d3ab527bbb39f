/* SPDX-License-Identifier: BSD-3-Clause */
#include "openmpi.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* Of the layout of tags that mtl/ofi has with providers that carry immediate data. */
#define SYNCHRONOUS (UINT64_C(1) << 32)
#define ANSWER (UINT64_C(1) << 33)

/** More than any Open MPI has (MPI_MAX_LIBRARY_VERSION_STRING is 256). */
#define VERSION_BYTES 1024

bool openmpi_is_before_5(void)
{
    static const char before[] = "Open MPI v";
    char version[VERSION_BYTES] = "";
    int bytes = 0;
    int (*get_version)(char *text, int *bytes) = NULL;
    void *library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD); /* Open MPI 3 to 5 */

    if (library == NULL) {
        return false;
    }
    *(void **)&get_version = dlsym(library, "PMPI_Get_library_version");
    if (get_version != NULL) {
        (void)get_version(version, &bytes);
    }
    (void)dlclose(library); /* it is the program's, and stays */
    const char *number = version + sizeof before - 1;
    return strncmp(version, before, sizeof before - 1) == 0 && number[0] >= '1' &&
           number[0] < '5' && number[1] == '.';
}

bool openmpi_wants_answer(uint64_t tag, uint64_t *answer)
{
    *answer = (tag & ~SYNCHRONOUS) | ANSWER;
    return (tag & (SYNCHRONOUS | ANSWER)) == SYNCHRONOUS;
}
