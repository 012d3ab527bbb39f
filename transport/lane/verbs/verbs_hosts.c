/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_hosts.h"

#include "lane/clock.h"

#include <errno.h>
#include <netinet/ip.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#define STACK_BYTES (256u << 10)
#define SETS (LANE_VERBS_HOSTS / VERBS_HOST_WAYS)

_Static_assert((SETS & (SETS - 1)) == 0, "a power of two");

static struct ibv_ah *make(const struct verbs_hosts *hosts, uint32_t ipv4)
{
    struct ibv_ah_attr attributes = {
        .is_global = 1,
        .port_num = hosts->port,
        .grh = {.sgid_index = hosts->gid_index, .hop_limit = IPDEFTTL},
    };

    verbs_gid_of(ipv4, &attributes.grh.dgid);
    return hosts->library->create_ah(hosts->domain, &attributes);
}

static struct verbs_host *next_wanted(struct verbs_hosts *hosts)
{
    for (unsigned i = 0; hosts->wanted > 0 && i < LANE_VERBS_HOSTS; i++) {
        struct verbs_host *host = &hosts->hosts[i];
        if (atomic_load_explicit(&host->state, memory_order_acquire) == VERBS_HOST_WANTED) {
            return host;
        }
    }
    return NULL;
}

static void *make_handles(void *argument)
{
    struct verbs_hosts *hosts = argument;

    (void)pthread_mutex_lock(&hosts->lock);
    while (!hosts->ends) {
        struct verbs_host *host = next_wanted(hosts);
        if (host == NULL) {
            (void)pthread_cond_wait(&hosts->news, &hosts->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&hosts->lock);
        host->handle = make(hosts, host->ipv4); /* only this thread writes a wanted host */
        (void)pthread_mutex_lock(&hosts->lock);
        hosts->wanted--;
        atomic_store_explicit(&host->state,
                              host->handle != NULL ? VERBS_HOST_KNOWN : VERBS_HOST_SILENT,
                              memory_order_release);
    }
    (void)pthread_mutex_unlock(&hosts->lock);
    return NULL;
}

int verbs_hosts_open(struct verbs_hosts *hosts)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;

    (void)pthread_mutex_init(&hosts->lock, NULL);
    (void)pthread_cond_init(&hosts->news, NULL);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    /* Signals are for the application. */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&hosts->thread, &attributes, make_handles, hosts);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    hosts->is_open = status == 0;
    return -status;
}

/** Makes the thread create this host's handle. */
static void want(struct verbs_hosts *hosts, struct verbs_host *host, uint32_t ipv4)
{
    (void)pthread_mutex_lock(&hosts->lock);
    host->ipv4 = ipv4;
    host->asked_ns = clock_now_ns();
    hosts->wanted++;
    atomic_store_explicit(&host->state, VERBS_HOST_WANTED, memory_order_release);
    (void)pthread_cond_signal(&hosts->news);
    (void)pthread_mutex_unlock(&hosts->lock);
}

static enum verbs_host_state state_of(const struct verbs_host *host)
{
    return atomic_load_explicit(&host->state, memory_order_acquire);
}

/** A place for another host. @return NULL: not at present. */
static struct verbs_host *free_place(struct verbs_hosts *hosts, struct verbs_host *set, bool quiet)
{
    for (unsigned way = 0; way < VERBS_HOST_WAYS; way++) {
        if (state_of(&set[way]) == VERBS_HOST_NONE) {
            return &set[way];
        }
    }
    struct verbs_host *host = &set[hosts->next_way++ % VERBS_HOST_WAYS];
    enum verbs_host_state state = state_of(host);
    if (state == VERBS_HOST_WANTED || (state == VERBS_HOST_KNOWN && !quiet)) {
        return NULL;
    }
    if (host->handle != NULL) {
        (void)hosts->library->destroy_ah(host->handle);
        host->handle = NULL;
    }
    return host;
}

int verbs_hosts_find(struct verbs_hosts *hosts, uint32_t ipv4, bool quiet, struct ibv_ah **handle)
{
    /* Addresses of a cluster's hosts are consecutive; the last byte is the highest. */
    struct verbs_host *set = &hosts->hosts[(ipv4 >> 24 ^ ipv4 >> 16) % SETS * VERBS_HOST_WAYS];

    if (ipv4 == 0) { /* no host; unused places have it */
        return -EHOSTUNREACH;
    }
    for (unsigned way = 0; way < VERBS_HOST_WAYS; way++) {
        struct verbs_host *host = &set[way];
        if (host->ipv4 != ipv4) {
            continue;
        }
        enum verbs_host_state state = state_of(host);
        if (__builtin_expect(state == VERBS_HOST_KNOWN, 1)) {
            *handle = host->handle;
            return 0;
        }
        if (state == VERBS_HOST_SILENT) {
            if (clock_now_ns() - host->asked_ns >= LANE_VERBS_SILENT_NS) {
                want(hosts, host, ipv4);
            }
            return -EHOSTUNREACH;
        }
        return -EAGAIN;
    }
    struct verbs_host *host = free_place(hosts, set, quiet);
    if (host != NULL) {
        want(hosts, host, ipv4);
    }
    return -EAGAIN;
}

void verbs_hosts_close(struct verbs_hosts *hosts)
{
    if (!hosts->is_open) {
        return;
    }
    (void)pthread_mutex_lock(&hosts->lock);
    hosts->ends = true;
    (void)pthread_cond_signal(&hosts->news);
    (void)pthread_mutex_unlock(&hosts->lock);
    (void)pthread_join(hosts->thread, NULL);
    for (unsigned i = 0; i < LANE_VERBS_HOSTS; i++) {
        if (hosts->hosts[i].handle != NULL) {
            (void)hosts->library->destroy_ah(hosts->hosts[i].handle);
        }
    }
    (void)pthread_cond_destroy(&hosts->news);
    (void)pthread_mutex_destroy(&hosts->lock);
    hosts->is_open = false;
}
