/* SPDX-License-Identifier: BSD-3-Clause */
#include "many.h"

#include <stdbool.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const int one = *(const int *)a;
    const int other = *(const int *)b;

    return (one > other) - (one < other);
}

int many_sort(int *tasks, int count, int own)
{
    int left = 0;

    qsort(tasks, (size_t)count, sizeof *tasks, compare);
    for (int i = 0; i < count; i++) {
        const bool again = left > 0 && tasks[i] == tasks[left - 1];
        if (!again && tasks[i] != own) {
            tasks[left++] = tasks[i];
        }
    }
    return left;
}

int many_send(int *tasks, int count, many_one *send, void *context, int *error)
{
    int left = 0;
    bool failed = false;

    for (int i = 0; i < count; i++) {
        const int task = tasks[i];
        const int status = send(context, task);
        if (status == MANY_STOCK) {
            tasks[left++] = task;
        } else if (status < 0 && !failed) {
            failed = true;
            *error = status;
        }
    }
    return left;
}
