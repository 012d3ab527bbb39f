/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 30
#define BYTES 100000
#define TAG 8

/** A child that ends at once, that is another program, or that ends as programs do. */
static void be_child(int kind)
{
    if (kind == 0) {
        _exit(3);
    }
    if (kind == 1) {
        (void)execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(4);
    }
    exit(3);
}

void check_forking(void)
{
    uint8_t *in = check_memory(BYTES);
    uint8_t *out = check_memory(BYTES);

    CHECK(ranks == 2, "needs two ranks");
    for (int i = 0; i < TIMES; i++) {
        MPI_Request requests[2];
        int status = 0;
        fill(out, BYTES, (uint32_t)(2 * i + rank));
        MPI_Irecv(in, BYTES, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, BYTES, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &requests[1]);
        pid_t child = fork();
        if (child == 0) {
            be_child(i % 3);
        }
        CHECK(child > 0, "cannot fork");
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3,
              "child %d ended with %#x", i % 3, (unsigned)status);
        CHECK(first_wrong(in, BYTES, (uint32_t)(2 * i + 1 - rank)) == BYTES, "bytes are wrong");
    }
    free(in);
    free(out);
}
