/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counter.h - counters of completed operations, and of failed ones.
 */
#ifndef BEOWIRE_FABRIC_COUNTER_H
#define BEOWIRE_FABRIC_COUNTER_H

#include "domain.h"
#include "progress.h"

#include <rdma/fi_eq.h>

struct counter {
    struct fid_cntr fid;
    struct domain *domain;
    uint32_t sets; /**< poll sets that it is in */
    uint64_t value;
    uint64_t errors;
    uint64_t seen; /**< value and errors together, as the user has read them last */
    struct progress progress;
};

/** fi_cntr_open(). */
int counter_open(struct fid_domain *domain, struct fi_cntr_attr *attributes, struct fid_cntr **fid,
                 void *context);

/** Makes progress. @return has anything ended since the user read it? The domain is locked. */
bool counter_has_news(const struct counter *counter);

/** An operation has ended with this status; `counter` NULL: nobody counts. */
static inline void counter_count(struct counter *counter, int status)
{
    if (counter != NULL) {
        counter->value += status == 0;
        counter->errors += status != 0;
    }
}

#endif /* BEOWIRE_FABRIC_COUNTER_H */
