/* SPDX-License-Identifier: BSD-3-Clause */
#include "wait.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void close_if_open(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

/** False in a child of fork(), which shares the descriptors. */
static bool is_own(const struct wait *wait)
{
    return wait->process == getpid();
}

void wait_close(struct wait *wait)
{
    close_if_open(wait->fd);
    close_if_open(wait->bell);
    wait->fd = -1;
    wait->bell = -1;
}

int wait_open(struct wait *wait, enum fi_wait_obj object)
{
    *wait = (struct wait){.object = object, .fd = -1, .bell = -1, .process = getpid()};
    switch ((int)object) {
    case FI_WAIT_NONE:
    case FI_WAIT_UNSPEC:
    case FI_WAIT_YIELD: /* our calls that wait yield to other threads */
        return 0;
    case FI_WAIT_FD:
        break;
    default:
        return -FI_ENOSYS;
    }
    wait->fd = epoll_create1(EPOLL_CLOEXEC);
    wait->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int status = wait->fd >= 0 && wait->bell >= 0 ? wait_add(wait, wait->bell) : -FI_EMFILE;
    if (status != 0) {
        wait_close(wait);
    }
    return status;
}

int wait_control(const struct wait *wait, int command, void *argument)
{
    if (argument == NULL) {
        return -FI_EINVAL;
    }
    if (command == FI_GETWAITOBJ) {
        *(enum fi_wait_obj *)argument = wait->object;
        return 0;
    }
    if (command == FI_GETWAIT && wait->fd >= 0) {
        *(int *)argument = wait->fd;
        return 0;
    }
    return -FI_ENOSYS;
}

int wait_add(struct wait *wait, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (wait->fd < 0 || epoll_ctl(wait->fd, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST) {
        return 0;
    }
    return -FI_ENOMEM;
}

void wait_remove(struct wait *wait, int fd)
{
    if (wait->fd >= 0 && is_own(wait)) {
        (void)epoll_ctl(wait->fd, EPOLL_CTL_DEL, fd, NULL);
    }
}

void wait_ring(struct wait *wait)
{
    uint64_t one = 1;

    if (wait->bell >= 0 && !atomic_load(&wait->rung) && is_own(wait)) {
        /* In this order: whoever quietens in between leaves a bell that the next one quietens, and
         * never one that nobody would. */
        (void)!write(wait->bell, &one, sizeof one);
        atomic_store(&wait->rung, true);
    }
}

bool wait_quieten(struct wait *wait)
{
    uint64_t count = 0;

    if (!atomic_exchange(&wait->rung, false)) {
        return false;
    }
    if (is_own(wait)) {
        (void)!read(wait->bell, &count, sizeof count);
    }
    return true;
}
