/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include "domain.h"
#include "endpoint.h"
#include "lane/clock.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <time.h>

/** A thread that was woken because it may have the lock has taken it after some of these, each of
 *  which takes some 50 us more than it says, for the kernel's timers are not exact. */
#define LET_IN_PAUSE_NS 10000
#define LET_IN_PAUSES 15

/** Time of one sleep at one endpoint, because others may have work, and other threads need the
 * lock. */
#define SLICE_NS UINT64_C(200000)

int progress_open(struct progress *progress, enum fi_wait_obj object,
                  bool (*has_news)(const struct progress *progress))
{
    *progress = (struct progress){.has_news = has_news};
    return wait_open(&progress->wait, object);
}

int progress_add(struct progress *progress, struct endpoint *endpoint)
{
    for (size_t i = 0; i < progress->count; i++) {
        if (progress->endpoints[i] == endpoint) {
            return 0;
        }
    }
    struct endpoint **more =
        realloc(progress->endpoints, (progress->count + 1) * sizeof(struct endpoint *));
    if (more == NULL) {
        return -FI_ENOMEM;
    }
    progress->endpoints = more;
    more[progress->count++] = endpoint;
    return 0;
}

int progress_watch(struct progress *progress, const struct endpoint *endpoint)
{
    if (progress->wait.fd < 0) {
        return 0;
    }
    int fd = beowire_descriptor(endpoint->transport);
    return fd < 0 ? fd : wait_add(&progress->wait, fd);
}

void progress_remove(struct progress *progress, const struct endpoint *endpoint)
{
    for (size_t i = 0; i < progress->count; i++) {
        if (progress->endpoints[i] == endpoint) {
            if (progress->wait.fd >= 0 && endpoint->transport != NULL) {
                wait_remove(&progress->wait, beowire_descriptor(endpoint->transport));
            }
            progress->endpoints[i] = progress->endpoints[--progress->count];
            return;
        }
    }
}

void progress_close(struct progress *progress)
{
    free(progress->endpoints);
    progress->endpoints = NULL;
    progress->count = 0;
    wait_close(&progress->wait);
}

int progress_make(const struct progress *progress)
{
    int status = 0;

    for (size_t i = 0; i < progress->count; i++) {
        int one = complete_poll(progress->endpoints[i]);
        status = one != 0 ? one : status;
    }
    return status;
}

int progress_look(const struct progress *progress)
{
    for (size_t i = 0; i < progress->count; i++) {
        if (complete_wait(progress->endpoints[i], 0)) {
            return progress_make(progress); /* there is work, so the core is not yielded */
        }
    }
    return 0;
}

uint64_t progress_deadline(int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : clock_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
}

bool progress_wait(const struct progress *progress, uint64_t deadline_ns)
{
    for (size_t i = 0; i < progress->count; i++) {
        uint64_t now = clock_now_ns();
        if (now >= deadline_ns) {
            return false;
        }
        uint64_t left_ns = deadline_ns - now;
        if (complete_wait(progress->endpoints[i], left_ns < SLICE_NS ? left_ns : SLICE_NS) ||
            domain_is_wanted(progress->endpoints[i]->domain)) {
            return true;
        }
    }
    if (progress->count == 0) {
        /* Nothing can come except a signal of the user. */
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)SLICE_NS}, NULL);
    }
    return clock_now_ns() < deadline_ns;
}

/* ---- asleep on a descriptor ------------------------------------------------------------------ */

/** Lets new work of an endpoint wake those that sleep. @return false: there is work already. */
static bool arm(const struct progress *progress)
{
    for (size_t i = 0; i < progress->count; i++) {
        beowire_endpoint *transport = progress->endpoints[i]->transport;
        if (transport != NULL && beowire_arm(transport) != 0) {
            return false;
        }
    }
    return true;
}

void progress_leave_sleep(struct progress *progress, struct domain *domain)
{
    struct progress **link = &domain->asleep;

    while (*link != progress) {
        link = &(*link)->next_asleep;
    }
    *link = progress->next_asleep;
    progress->asleep = false;
}

void progress_settle(struct domain *domain)
{
    struct progress *next = NULL;

    for (struct progress *sleeper = domain->asleep; sleeper != NULL; sleeper = next) {
        next = sleeper->next_asleep;
        if (sleeper->has_news(sleeper) || !arm(sleeper)) {
            progress_leave_sleep(sleeper, domain);
            wait_ring(&sleeper->wait);
        }
    }
}

int progress_try_sleep(struct progress *progress, struct domain *domain)
{
    progress_awake(progress, domain);
    bool rung = wait_quieten(&progress->wait);
    (void)progress_make(progress);
    /* Progress may have served others; and armed endpoints must not be used. */
    progress_settle(domain);
    if (rung || progress->has_news(progress)) {
        return -FI_EAGAIN;
    }
    if (progress->wait.fd >= 0) {
        if (!arm(progress)) {
            return -FI_EAGAIN;
        }
        progress->asleep = true;
        progress->next_asleep = domain->asleep;
        domain->asleep = progress;
    }
    return 0;
}

void progress_let_in(struct domain *domain)
{
    const struct timespec pause = {.tv_nsec = LET_IN_PAUSE_NS};
    unsigned let_in = atomic_load(&domain->let_in);

    domain_unlock(domain);
    for (unsigned i = 0;
         i < LET_IN_PAUSES && domain_is_wanted(domain) && atomic_load(&domain->let_in) == let_in;
         i++) {
        (void)nanosleep(&pause, NULL);
    }
}
