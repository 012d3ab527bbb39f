/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include "atomic.h"
#include "av.h"
#include "counter.h"
#include "cq.h"
#include "deprecated.h"
#include "endpoint.h"
#include "eq.h"
#include "libfabric.h"
#include "mr.h"
#include "pollset.h"
#include "unsupported.h"

#include <rdma/fi_eq.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int fabric_close(struct fid *fid)
{
    struct fabric *fabric = (struct fabric *)(void *)fid;

    if (atomic_load(&fabric->references) > 0) {
        return -FI_EBUSY;
    }
    free(fabric->name);
    free(fabric);
    return 0;
}

int domain_try_sleep(struct domain *domain, struct progress *progress)
{
    domain_lock(domain);
    int status = progress_try_sleep(progress, domain);
    domain_release(domain);
    return status;
}

/** May the caller sleep on the wait objects of these queues and counters? Only if none has, or may
 *  already have, something to read. */
static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    (void)fabric;
    for (int i = 0; i < count; i++) {
        int status = 0;
        if (fids[i]->fclass == FI_CLASS_CQ) {
            struct cq *cq = (struct cq *)(void *)fids[i];
            status = domain_try_sleep(cq->domain, &cq->progress);
        } else if (fids[i]->fclass == FI_CLASS_CNTR) {
            struct counter *counter = (struct counter *)(void *)fids[i];
            status = domain_try_sleep(counter->domain, &counter->progress);
        } else if (fids[i]->fclass == FI_CLASS_EQ) {
            status = eq_try_wait((struct eq *)(void *)fids[i]);
        } else {
            status = -FI_ENOSYS;
        }
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static struct fi_ops fabric_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = fabric_close,
    .bind = unsupported_bind,
    .control = unsupported_control,
    .ops_open = unsupported_ops_open,
};

static struct fi_ops_fabric fabric_ops = {
    .size = sizeof(struct fi_ops_fabric),
    .domain = domain_open,
    .passive_ep = unsupported_passive_ep,
    .eq_open = eq_open,
    .wait_open = unsupported_wait_open,
    .trywait = fabric_trywait,
};

int fabric_open(struct fi_fabric_attr *attributes, struct fid_fabric **fid, void *context)
{
    struct fabric *fabric = calloc(1, sizeof *fabric);
    if (fabric == NULL) {
        return -FI_ENOMEM;
    }
    fabric->name = strdup(attributes->name);
    if (fabric->name == NULL) {
        free(fabric);
        return -FI_ENOMEM;
    }
    fabric->fid.fid.fclass = FI_CLASS_FABRIC;
    fabric->fid.fid.context = context;
    fabric->fid.fid.ops = &fabric_fid_ops;
    fabric->fid.ops = &fabric_ops;
    fabric->api_version = attributes->api_version;
    *fid = &fabric->fid;
    return 0;
}

bool fabric_is_named(const struct fid_fabric *fabric, const char *name)
{
    return fabric->ops == &fabric_ops &&
           strcmp(((const struct fabric *)(const void *)fabric)->name, name) == 0;
}

static int domain_close(struct fid *fid)
{
    struct domain *domain = (struct domain *)(void *)fid;

    if (atomic_load(&domain->references) > 0) {
        return -FI_EBUSY;
    }
    (void)atomic_fetch_sub(&domain->fabric->references, 1);
    (void)pthread_mutex_destroy(&domain->lock);
    free(domain);
    return 0;
}

static int domain_query_collective(struct fid_domain *domain, enum fi_collective_op collective,
                                   struct fi_collective_attr *attributes, uint64_t flags)
{
    (void)domain;
    (void)collective;
    (void)attributes;
    (void)flags;
    return -FI_EOPNOTSUPP;
}

static struct fi_ops domain_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = domain_close,
    .bind = unsupported_bind,
    .control = unsupported_control,
    .ops_open = unsupported_ops_open,
};

static struct fi_ops_domain domain_ops = {
    .size = sizeof(struct fi_ops_domain),
    .av_open = av_open,
    .cq_open = cq_open,
    .endpoint = endpoint_open,
    .scalable_ep = unsupported_scalable_ep,
    .cntr_open = counter_open,
    .poll_open = pollset_open,
    .stx_ctx = unsupported_stx_ctx,
    .srx_ctx = unsupported_srx_ctx,
    .query_atomic = atomic_query,
    .query_collective = domain_query_collective,
};

bool domain_is_of(const struct fid_domain *domain, const char *interface)
{
    return domain->ops == &domain_ops &&
           strcmp(((const struct domain *)(const void *)domain)->interface, interface) == 0;
}

int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **fid,
                void *context)
{
    if (info->domain_attr == NULL || info->domain_attr->name == NULL ||
        strlen(info->domain_attr->name) >= IF_NAMESIZE) {
        return -FI_EINVAL;
    }
    struct domain *domain = calloc(1, sizeof *domain);
    if (domain == NULL) {
        return -FI_ENOMEM;
    }
    if (!parameters_read(&domain->parameters)) {
        free(domain);
        return -FI_EINVAL;
    }
    domain->fid.fid.fclass = FI_CLASS_DOMAIN;
    domain->fid.fid.context = context;
    domain->fid.fid.ops = &domain_fid_ops;
    domain->fid.ops = &domain_ops;
    domain->fid.mr = &mr_ops;
    domain->fabric = (struct fabric *)(void *)fabric;
    (void)atomic_fetch_add(&domain->fabric->references, 1);
    memcpy(domain->interface, info->domain_attr->name, strlen(info->domain_attr->name));
    domain->av_type = info->domain_attr->av_type;
    uint64_t mode = (uint64_t)info->domain_attr->mr_mode;
    domain->mr_virtual = (mode & (OLD_MR_BASIC | FI_MR_VIRT_ADDR)) != 0;
    domain->mr_own_keys = (mode & (OLD_MR_BASIC | FI_MR_PROV_KEY)) != 0;
    domain->automatic = info->domain_attr->data_progress == FI_PROGRESS_AUTO ||
                        info->domain_attr->control_progress == FI_PROGRESS_AUTO;
    domain->locked = info->domain_attr->threading != FI_THREAD_DOMAIN;
    (void)pthread_mutex_init(&domain->lock, NULL);
    *fid = &domain->fid;
    return 0;
}
