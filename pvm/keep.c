/* SPDX-License-Identifier: BSD-3-Clause */
#include "keep.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Takes one out. */
static void *take_out(struct keep *keep, size_t at)
{
    void *block = keep->blocks[at];

    keep->count--;
    keep->bytes -= malloc_usable_size(block);
    memmove(&keep->blocks[at], &keep->blocks[at + 1], (keep->count - at) * sizeof(void *));
    return block;
}

void *keep_take(struct keep *keep, size_t bytes)
{
    /* Not one that is far too long: a longer message will need it. */
    for (size_t at = keep->count; bytes >= KEEP_BYTES_MIN && at > 0; at--) {
        const size_t there = malloc_usable_size(keep->blocks[at - 1]);
        if (there >= bytes && there / 2 <= bytes) {
            return take_out(keep, at - 1);
        }
    }
    void *block = malloc(bytes);
    if (block == NULL && keep->count > 0) {
        keep_clear(keep);
        block = malloc(bytes);
    }
    return block;
}

void keep_give(struct keep *keep, void *block)
{
    const size_t bytes = block != NULL ? malloc_usable_size(block) : 0;

    if (bytes < KEEP_BYTES_MIN || bytes > KEEP_BYTES_MAX) {
        free(block);
        return;
    }
    while (keep->count == KEEP_BLOCKS || keep->bytes + bytes > KEEP_BYTES_MAX) {
        free(take_out(keep, 0));
    }
    keep->blocks[keep->count++] = block;
    keep->bytes += bytes;
}

void keep_clear(struct keep *keep)
{
    while (keep->count > 0) {
        free(take_out(keep, keep->count - 1));
    }
}
