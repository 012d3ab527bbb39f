/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * domain.h - fabric and domain, the first objects that a program opens.
 *
 * A domain is one network interface. Its lock protects everything opened in it, including endpoints
 * and their queues. The lock is not used if the user promised one thread at a time
 * (FI_THREAD_DOMAIN).
 */
#ifndef BEOWIRE_FABRIC_DOMAIN_H
#define BEOWIRE_FABRIC_DOMAIN_H

#include "parameters.h"
#include "progress.h"

#include <net/if.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fabric {
    struct fid_fabric fid;
    char *name;
    uint32_t api_version;   /**< for which the program was written; 0: unknown, before 1.5 */
    atomic_uint references; /**< domains and event queues */
};

struct region;

struct domain {
    struct fid_domain fid;
    struct fabric *fabric;
    char interface[IF_NAMESIZE];
    struct parameters parameters;
    enum fi_av_type av_type;    /**< default of address vectors; may be FI_AV_UNSPEC */
    bool mr_virtual;            /**< addresses in regions are those of their process, not offsets */
    bool mr_own_keys;           /**< the provider chooses keys */
    struct endpoint *endpoints; /**< open in it */
    struct region *regions;     /**< that peers may use */
    unsigned closing;           /**< endpoints being closed that may still serve regions */
    bool automatic;             /**< a thread makes progress while the program does not call */
    struct progress *asleep;    /**< queues and counters on which programs sleep */
    bool locked;                /**< the lock is used */
    pthread_mutex_t lock;
    atomic_uint waiting;    /**< threads that wait for the lock */
    atomic_uint let_in;     /**< times that a waiting thread has got it */
    atomic_uint references; /**< objects opened in it */
};

/** The provider's fi_fabric(). */
int fabric_open(struct fi_fabric_attr *attributes, struct fid_fabric **fid, void *context);

/** fi_domain(). Checks that the info names an interface; endpoints check that it is usable. */
int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **fid,
                void *context);

/** Does this domain belong to us and this interface? It may be another provider's. */
bool domain_is_of(const struct fid_domain *domain, const char *interface);

/** Does this fabric belong to us, with this name? It may be another provider's. */
bool fabric_is_named(const struct fid_fabric *fabric, const char *name);

static inline struct domain *domain_of(struct fid_domain *fid)
{
    return (struct domain *)(void *)fid; /* the first member */
}

static inline void domain_lock(struct domain *domain)
{
    if (domain->locked && pthread_mutex_trylock(&domain->lock) != 0) {
        (void)atomic_fetch_add(&domain->waiting, 1);
        (void)pthread_mutex_lock(&domain->lock);
        (void)atomic_fetch_sub(&domain->waiting, 1);
        (void)atomic_fetch_add(&domain->let_in, 1);
    }
}

/** Unlocks it, without waking threads that sleep in it. */
static inline void domain_release(struct domain *domain)
{
    if (domain->locked) {
        (void)pthread_mutex_unlock(&domain->lock);
    }
}

static inline void domain_unlock(struct domain *domain)
{
    if (domain->asleep != NULL) {
        progress_settle(domain);
    }
    domain_release(domain);
}

/** Do others wait for the lock? */
static inline bool domain_is_wanted(struct domain *domain)
{
    return atomic_load(&domain->waiting) > 0;
}

/** fi_trywait() of a queue or a counter. @return 0: the caller may sleep; -FI_EAGAIN: not now. */
int domain_try_sleep(struct domain *domain, struct progress *progress);

#endif /* BEOWIRE_FABRIC_DOMAIN_H */
