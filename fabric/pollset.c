/* SPDX-License-Identifier: BSD-3-Clause */
#include "pollset.h"

#include "counter.h"
#include "cq.h"
#include "domain.h"
#include "libfabric.h"
#include "unsupported.h"

#include <stdlib.h>

struct pollset {
    struct fid_poll fid;
    struct domain *domain;
    struct fid **members;
    size_t count;
};

static struct pollset *pollset_of(struct fid_poll *fid)
{
    return (struct pollset *)(void *)fid;
}

/** Makes progress. @return true: there is something to read. */
static bool has_news(struct fid *member)
{
    return member->fclass == FI_CLASS_CQ ? cq_has_news((struct cq *)(void *)member)
                                         : counter_has_news((struct counter *)(void *)member);
}

static int pollset_poll(struct fid_poll *fid, void **contexts, int count)
{
    struct pollset *set = pollset_of(fid);
    int found = 0;

    domain_lock(set->domain);
    for (size_t i = 0; i < set->count && found < count; i++) {
        if (has_news(set->members[i])) {
            contexts[found++] = set->members[i]->context;
        }
    }
    domain_unlock(set->domain);
    return found;
}

/** Index of a member; `count`: it is not in the set. */
static size_t place_of(const struct pollset *set, const struct fid *member)
{
    size_t i = 0;

    while (i < set->count && set->members[i] != member) {
        i++;
    }
    return i;
}

static const struct domain *domain_of_member(struct fid *member)
{
    if (member->fclass == FI_CLASS_CQ) {
        return ((struct cq *)(void *)member)->domain;
    }
    return member->fclass == FI_CLASS_CNTR ? ((struct counter *)(void *)member)->domain : NULL;
}

/** Number of sets that contain a member, which cannot be closed meanwhile. */
static uint32_t *sets_of(struct fid *member)
{
    return member->fclass == FI_CLASS_CQ ? &((struct cq *)(void *)member)->sets
                                         : &((struct counter *)(void *)member)->sets;
}

static int pollset_add(struct fid_poll *fid, struct fid *member, uint64_t flags)
{
    struct pollset *set = pollset_of(fid);
    int status = 0;

    if (flags != 0) {
        return -FI_EBADFLAGS;
    }
    const struct domain *domain = domain_of_member(member);
    if (domain == NULL || domain != set->domain) {
        return -FI_EINVAL;
    }
    domain_lock(set->domain);
    if (place_of(set, member) == set->count) {
        struct fid **more = realloc(set->members, (set->count + 1) * sizeof(struct fid *));
        if (more != NULL) {
            set->members = more;
            more[set->count++] = member;
            (*sets_of(member))++;
        } else {
            status = -FI_ENOMEM;
        }
    }
    domain_unlock(set->domain);
    return status;
}

static int pollset_remove(struct fid_poll *fid, struct fid *member, uint64_t flags)
{
    struct pollset *set = pollset_of(fid);

    if (flags != 0) {
        return -FI_EBADFLAGS;
    }
    domain_lock(set->domain);
    size_t place = place_of(set, member);
    bool is_there = place < set->count;
    if (is_there) {
        set->members[place] = set->members[--set->count];
        (*sets_of(member))--;
    }
    domain_unlock(set->domain);
    return is_there ? 0 : -FI_EINVAL;
}

static int pollset_close(struct fid *fid)
{
    struct pollset *set = (struct pollset *)(void *)fid;

    domain_lock(set->domain);
    for (size_t i = 0; i < set->count; i++) {
        (*sets_of(set->members[i]))--;
    }
    domain_unlock(set->domain);
    (void)atomic_fetch_sub(&set->domain->references, 1);
    free(set->members);
    free(set);
    return 0;
}

static struct fi_ops pollset_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = pollset_close,
    .bind = unsupported_bind,
    .control = unsupported_control,
    .ops_open = unsupported_ops_open,
};

static struct fi_ops_poll pollset_ops = {
    .size = sizeof(struct fi_ops_poll),
    .poll = pollset_poll,
    .poll_add = pollset_add,
    .poll_del = pollset_remove,
};

int pollset_open(struct fid_domain *domain, struct fi_poll_attr *attributes, struct fid_poll **fid)
{
    if (attributes != NULL && attributes->flags != 0) {
        return -FI_EINVAL;
    }
    struct pollset *set = calloc(1, sizeof *set);
    if (set == NULL) {
        return -FI_ENOMEM;
    }
    set->fid.fid.fclass = FI_CLASS_POLL;
    set->fid.fid.ops = &pollset_fid_ops;
    set->fid.ops = &pollset_ops;
    set->domain = domain_of(domain);
    (void)atomic_fetch_add(&set->domain->references, 1);
    *fid = &set->fid;
    return 0;
}
