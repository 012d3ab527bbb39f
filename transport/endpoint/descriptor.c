/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/descriptor.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND UINT64_C(1000000000)

static int add(const struct descriptor *descriptor, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(descriptor->all, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int add_lanes(const struct descriptor *descriptor, const struct path_lanes *lanes)
{
    int status = 0;

    for (unsigned i = 0; i < lanes->count && status == 0; i++) {
        const struct lane *lane = lanes->lanes[i];
        int fd = lane->operations->descriptor(lane);
        status = fd >= 0 ? add(descriptor, fd) : 0;
        if (status == 0 && lane->operations->other_descriptor != NULL) {
            status = add(descriptor, lane->operations->other_descriptor(lane));
        }
    }
    return status;
}

int descriptor_open(struct descriptor *descriptor, const struct path_lanes *lanes)
{
    *descriptor = (struct descriptor){.is_open = true, .timer_ns = UINT64_MAX};
    descriptor->all = epoll_create1(EPOLL_CLOEXEC);
    int status = descriptor->all < 0 ? -errno : 0;
    descriptor->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    status = status == 0 && descriptor->news < 0 ? -errno : status;
    descriptor->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    status = status == 0 && descriptor->timer < 0 ? -errno : status;
    if (status == 0) {
        status = add(descriptor, descriptor->news);
    }
    if (status == 0) {
        status = add(descriptor, descriptor->timer);
    }
    if (status == 0) {
        status = add_lanes(descriptor, lanes);
    }
    if (status != 0) {
        descriptor_close(descriptor);
    }
    return status;
}

void descriptor_close(struct descriptor *descriptor)
{
    const int all[] = {descriptor->all, descriptor->news, descriptor->timer};

    for (unsigned i = 0; descriptor->is_open && i < sizeof all / sizeof all[0]; i++) {
        if (all[i] >= 0) {
            (void)close(all[i]);
        }
    }
    *descriptor = (struct descriptor){0};
}

void descriptor_ring(struct descriptor *descriptor)
{
    uint64_t one = 1;

    if (!descriptor->rung) {
        descriptor->rung = true;
        (void)!write(descriptor->news, &one, sizeof one);
    }
}

void descriptor_quieten(struct descriptor *descriptor)
{
    uint64_t count = 0;

    if (descriptor->rung) {
        descriptor->rung = false;
        (void)!read(descriptor->news, &count, sizeof count);
    }
}

void descriptor_set_timer(struct descriptor *descriptor, uint64_t time_ns)
{
    struct itimerspec when = {0};

    if (time_ns == descriptor->timer_ns) {
        return;
    }
    if (time_ns != UINT64_MAX) {
        /* Zero would disarm the timer. */
        uint64_t some_ns = time_ns > 0 ? time_ns : 1;
        when.it_value.tv_sec = (time_t)(some_ns / NS_PER_SECOND);
        when.it_value.tv_nsec = (long)(some_ns % NS_PER_SECOND);
    }
    descriptor->timer_ns = time_ns;
    (void)timerfd_settime(descriptor->timer, TFD_TIMER_ABSTIME, &when, NULL);
}
