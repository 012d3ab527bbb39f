/* SPDX-License-Identifier: BSD-3-Clause */
#include "missing.h"

#include "beowire.h"

#include <stdio.h>

struct lane_missing *missing_add(struct lanes_missing *missing, int status)
{
    if (missing->count == sizeof missing->at / sizeof missing->at[0]) {
        return NULL;
    }
    struct lane_missing *added = &missing->at[missing->count++];
    added->status = status;
    (void)snprintf(added->reason, sizeof added->reason, "%s", beowire_error(status));
    return added;
}

void missing_add_lacks(struct lanes_missing *missing, const struct lane *lane)
{
    for (unsigned i = 0; i < lane->lack_count; i++) {
        struct lane_missing *added = missing_add(missing, LANES_LACK);
        if (added != NULL) {
            (void)snprintf(added->name, sizeof added->name, "%s of %s", lane->lacks[i].what,
                           lane->name);
            (void)snprintf(added->reason, sizeof added->reason, "%s", lane->lacks[i].cost);
        }
    }
}
