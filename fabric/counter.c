/* SPDX-License-Identifier: BSD-3-Clause */
#include "counter.h"

#include "libfabric.h"
#include "unsupported.h"

#include <stdlib.h>

static struct counter *counter_of(struct fid_cntr *fid)
{
    return (struct counter *)(void *)fid;
}

static bool has_news(const struct progress *progress)
{
    const struct counter *counter =
        (const void *)((const char *)progress - offsetof(struct counter, progress));

    return counter->value + counter->errors != counter->seen;
}

bool counter_has_news(const struct counter *counter)
{
    (void)progress_make(&counter->progress);
    return has_news(&counter->progress);
}

static uint64_t counter_read(struct fid_cntr *fid)
{
    struct counter *counter = counter_of(fid);

    domain_lock(counter->domain);
    progress_awake(&counter->progress, counter->domain);
    (void)progress_make(&counter->progress);
    uint64_t value = counter->value;
    counter->seen = value + counter->errors;
    domain_unlock(counter->domain);
    return value;
}

static uint64_t counter_readerr(struct fid_cntr *fid)
{
    struct counter *counter = counter_of(fid);

    domain_lock(counter->domain);
    progress_awake(&counter->progress, counter->domain);
    (void)progress_make(&counter->progress);
    uint64_t errors = counter->errors;
    counter->seen = counter->value + errors;
    domain_unlock(counter->domain);
    return errors;
}

/** Sets or adds, to either number. */
static int change(struct fid_cntr *fid, bool errors, uint64_t base, uint64_t value)
{
    struct counter *counter = counter_of(fid);

    domain_lock(counter->domain);
    uint64_t *number = errors ? &counter->errors : &counter->value;
    *number = (*number & base) + value;
    domain_unlock(counter->domain);
    return 0;
}

static int counter_add(struct fid_cntr *fid, uint64_t value)
{
    return change(fid, false, UINT64_MAX, value);
}

static int counter_set(struct fid_cntr *fid, uint64_t value)
{
    return change(fid, false, 0, value);
}

static int counter_adderr(struct fid_cntr *fid, uint64_t value)
{
    return change(fid, true, UINT64_MAX, value);
}

static int counter_seterr(struct fid_cntr *fid, uint64_t value)
{
    return change(fid, true, 0, value);
}

/** @return 0: the value is reached; -FI_EAVAIL: one has failed since; -FI_EAGAIN: neither. */
static int progress_to(const struct counter *counter, uint64_t threshold, uint64_t errors)
{
    int status = progress_make(&counter->progress);

    if (counter->value >= threshold) {
        return 0;
    }
    return counter->errors != errors ? -FI_EAVAIL : status != 0 ? status : -FI_EAGAIN;
}

static int counter_wait(struct fid_cntr *fid, uint64_t threshold, int timeout_ms)
{
    struct counter *counter = counter_of(fid);
    uint64_t deadline_ns = progress_deadline(timeout_ms);

    domain_lock(counter->domain);
    progress_awake(&counter->progress, counter->domain);
    uint64_t errors = counter->errors;
    for (;;) {
        int status = progress_to(counter, threshold, errors);
        if (status == -FI_EAGAIN && !progress_wait(&counter->progress, deadline_ns)) {
            status = progress_to(counter, threshold, errors);
            status = status == -FI_EAGAIN ? -FI_ETIMEDOUT : status;
        }
        if (status != -FI_EAGAIN) {
            domain_unlock(counter->domain);
            return status;
        }
        progress_let_in(counter->domain);
        domain_lock(counter->domain);
    }
}

static int counter_close(struct fid *fid)
{
    struct counter *counter = (struct counter *)(void *)fid;

    domain_lock(counter->domain);
    bool is_busy = counter->progress.count > 0 || counter->sets > 0;
    if (!is_busy) {
        progress_awake(&counter->progress, counter->domain);
    }
    domain_unlock(counter->domain);
    if (is_busy) {
        return -FI_EBUSY;
    }
    (void)atomic_fetch_sub(&counter->domain->references, 1);
    progress_close(&counter->progress);
    free(counter);
    return 0;
}

static int counter_control(struct fid *fid, int command, void *argument)
{
    const struct counter *counter = (struct counter *)(void *)fid;

    return wait_control(&counter->progress.wait, command, argument);
}

static struct fi_ops counter_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = counter_close,
    .bind = unsupported_bind,
    .control = counter_control,
    .ops_open = unsupported_ops_open,
};

static struct fi_ops_cntr counter_ops = {
    .size = sizeof(struct fi_ops_cntr),
    .read = counter_read,
    .readerr = counter_readerr,
    .add = counter_add,
    .set = counter_set,
    .wait = counter_wait,
    .adderr = counter_adderr,
    .seterr = counter_seterr,
};

int counter_open(struct fid_domain *fid_domain, struct fi_cntr_attr *attributes,
                 struct fid_cntr **fid, void *context)
{
    if (attributes != NULL &&
        (attributes->events != FI_CNTR_EVENTS_COMP || attributes->flags != 0)) {
        return -FI_EINVAL;
    }
    struct counter *counter = calloc(1, sizeof *counter);
    if (counter == NULL) {
        return -FI_ENOMEM;
    }
    int status = progress_open(
        &counter->progress, attributes != NULL ? attributes->wait_obj : FI_WAIT_UNSPEC, has_news);
    if (status != 0) {
        free(counter);
        return status;
    }
    counter->fid.fid.fclass = FI_CLASS_CNTR;
    counter->fid.fid.context = context;
    counter->fid.fid.ops = &counter_fid_ops;
    counter->fid.ops = &counter_ops;
    counter->domain = domain_of(fid_domain);
    (void)atomic_fetch_add(&counter->domain->references, 1);
    *fid = &counter->fid;
    return 0;
}
