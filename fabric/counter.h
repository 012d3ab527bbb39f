/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counter.h - counters of successful and failed operations.
 */
#ifndef BEOWIRE_FABRIC_COUNTER_H
#define BEOWIRE_FABRIC_COUNTER_H

#include "domain.h"
#include "progress.h"

#include <rdma/fi_eq.h>

struct counter {
    struct fid_cntr fid;
    struct domain *domain;
    uint32_t sets; /**< number of poll sets that contain it */
    uint64_t value;
    uint64_t errors;
    uint64_t seen; /**< sum of value and errors at the user's last read */
    struct progress progress;
};

/** fi_cntr_open(). */
int counter_open(struct fid_domain *domain, struct fi_cntr_attr *attributes, struct fid_cntr **fid,
                 void *context);

/** Makes progress. @return true: there is an unread value. The domain must be locked. */
bool counter_has_news(const struct counter *counter);

/** Counts an operation with this status; `counter` may be NULL. */
static inline void counter_count(struct counter *counter, int status)
{
    if (counter != NULL) {
        counter->value += status == 0;
        counter->errors += status != 0;
    }
}

#endif /* BEOWIRE_FABRIC_COUNTER_H */
