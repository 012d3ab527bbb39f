/* SPDX-License-Identifier: BSD-3-Clause */
#include "eq.h"

#include "domain.h"
#include "lane/clock.h"
#include "libfabric.h"
#include "progress.h"
#include "unsupported.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/** Longest event; libfabric's have tens of bytes. */
#define EVENT_BYTES_MAX 65536

struct event {
    struct event *next;
    uint32_t kind;
    size_t bytes;
    uint8_t data[];
};

struct eq {
    struct fid_eq fid;
    struct fabric *fabric;
    enum fi_wait_obj wait;
    bool writable; /**< by the user */
    int fd;        /**< readable while there are events; -1: FI_WAIT_FD was not asked for */
    pthread_mutex_t lock;
    pthread_cond_t written; /**< counts in CLOCK_MONOTONIC */
    struct event *first;
    struct event **end; /**< where the next one is linked */
    atomic_uint references;
};

static struct eq *eq_of(struct fid_eq *fid)
{
    return (struct eq *)(void *)fid;
}

atomic_uint *eq_references(struct eq *eq)
{
    return &eq->references;
}

/** The descriptor is readable from the first event until the last is read. */
static void set_readable(const struct eq *eq, bool readable)
{
    uint64_t count = 1;
    ssize_t done = 0;

    if (eq->fd >= 0) {
        done = readable ? write(eq->fd, &count, sizeof count) : read(eq->fd, &count, sizeof count);
    }
    (void)done; /* neither can fail: it is written once and read once */
}

/** Takes the oldest event, or leaves it there with FI_PEEK. The queue is locked. */
static ssize_t take(struct eq *eq, uint32_t *kind, void *buffer, size_t bytes, uint64_t flags)
{
    struct event *event = eq->first;

    if (event == NULL) {
        return -FI_EAGAIN;
    }
    if (event->bytes > bytes) {
        return -FI_ETOOSMALL;
    }
    size_t length = event->bytes;
    *kind = event->kind;
    memcpy(buffer, event->data, length);
    if ((flags & FI_PEEK) == 0) {
        eq->first = event->next;
        if (eq->first == NULL) {
            eq->end = &eq->first;
            set_readable(eq, false);
        }
        free(event);
    }
    return (ssize_t)length;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *kind, void *buffer, size_t bytes,
                       uint64_t flags)
{
    struct eq *eq = eq_of(fid);

    if ((flags & ~FI_PEEK) != 0) {
        return -FI_EBADFLAGS;
    }
    (void)pthread_mutex_lock(&eq->lock);
    ssize_t length = take(eq, kind, buffer, bytes, flags);
    (void)pthread_mutex_unlock(&eq->lock);
    return length;
}

/** All calls here complete at once, so there are no errors. */
static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *error, uint64_t flags)
{
    (void)fid;
    (void)error;
    (void)flags;
    return -FI_EAGAIN;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t kind, const void *data, size_t bytes,
                        uint64_t flags)
{
    struct eq *eq = eq_of(fid);

    if (!eq->writable || flags != 0 || bytes > EVENT_BYTES_MAX) {
        return -FI_EINVAL;
    }
    struct event *event = malloc(sizeof *event + bytes);
    if (event == NULL) {
        return -FI_ENOMEM;
    }
    event->next = NULL;
    event->kind = kind;
    event->bytes = bytes;
    memcpy(event->data, data, bytes);
    (void)pthread_mutex_lock(&eq->lock);
    if (eq->first == NULL) {
        set_readable(eq, true);
    }
    *eq->end = event;
    eq->end = &event->next;
    (void)pthread_cond_signal(&eq->written);
    (void)pthread_mutex_unlock(&eq->lock);
    return (ssize_t)bytes;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *kind, void *buffer, size_t bytes,
                        int timeout_ms, uint64_t flags)
{
    struct eq *eq = eq_of(fid);
    uint64_t deadline_ns = progress_deadline(timeout_ms);
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / NS_PER_SECOND),
                                .tv_nsec = (long)(deadline_ns % NS_PER_SECOND)};
    int status = 0;

    if (eq->wait == FI_WAIT_NONE) {
        return -FI_EINVAL;
    }
    if ((flags & ~FI_PEEK) != 0) {
        return -FI_EBADFLAGS;
    }
    (void)pthread_mutex_lock(&eq->lock);
    while (eq->first == NULL && status == 0) {
        status = timeout_ms < 0 ? pthread_cond_wait(&eq->written, &eq->lock)
                                : pthread_cond_timedwait(&eq->written, &eq->lock, &deadline);
    }
    ssize_t length = take(eq, kind, buffer, bytes, flags);
    (void)pthread_mutex_unlock(&eq->lock);
    return length;
}

static const char *eq_strerror(struct fid_eq *fid, int number, const void *data, char *buffer,
                               size_t bytes)
{
    const char *text = libfabric.strerror(abs(number));

    (void)fid;
    (void)data;
    if (buffer == NULL || bytes == 0) {
        return text;
    }
    size_t length = strnlen(text, bytes - 1);
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    return buffer;
}

int eq_try_wait(struct eq *eq)
{
    (void)pthread_mutex_lock(&eq->lock);
    int status = eq->first == NULL ? 0 : -FI_EAGAIN;
    (void)pthread_mutex_unlock(&eq->lock);
    return status;
}

static int eq_control(struct fid *fid, int command, void *argument)
{
    const struct eq *eq = (struct eq *)(void *)fid;

    if (argument == NULL) {
        return -FI_EINVAL;
    }
    if (command == FI_GETWAITOBJ) {
        *(enum fi_wait_obj *)argument = eq->wait;
        return 0;
    }
    if (command == FI_GETWAIT && eq->fd >= 0) {
        *(int *)argument = eq->fd;
        return 0;
    }
    return -FI_ENOSYS;
}

static void destroy(struct eq *eq)
{
    while (eq->first != NULL) {
        struct event *event = eq->first;
        eq->first = event->next;
        free(event);
    }
    if (eq->fd >= 0) {
        (void)close(eq->fd);
    }
    (void)pthread_cond_destroy(&eq->written);
    (void)pthread_mutex_destroy(&eq->lock);
    free(eq);
}

static int eq_close(struct fid *fid)
{
    struct eq *eq = (struct eq *)(void *)fid;

    if (atomic_load(&eq->references) > 0) {
        return -FI_EBUSY;
    }
    (void)atomic_fetch_sub(&eq->fabric->references, 1);
    destroy(eq);
    return 0;
}

static struct fi_ops eq_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = eq_close,
    .bind = unsupported_bind,
    .control = eq_control,
    .ops_open = unsupported_ops_open,
};

static struct fi_ops_eq eq_ops = {
    .size = sizeof(struct fi_ops_eq),
    .read = eq_read,
    .readerr = eq_readerr,
    .write = eq_write,
    .sread = eq_sread,
    .strerror = eq_strerror,
};

static void init_written(struct eq *eq)
{
    pthread_condattr_t attributes;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&eq->written, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

int eq_open(struct fid_fabric *fid_fabric, struct fi_eq_attr *attributes, struct fid_eq **fid,
            void *context)
{
    if (attributes == NULL || (attributes->flags & ~FI_WRITE) != 0) {
        return -FI_EINVAL;
    }
    if (attributes->wait_obj != FI_WAIT_NONE && attributes->wait_obj != FI_WAIT_UNSPEC &&
        attributes->wait_obj != FI_WAIT_FD) {
        return -FI_ENOSYS;
    }
    struct eq *eq = calloc(1, sizeof *eq);
    if (eq == NULL) {
        return -FI_ENOMEM;
    }
    (void)pthread_mutex_init(&eq->lock, NULL);
    init_written(eq);
    eq->end = &eq->first;
    eq->fd = attributes->wait_obj == FI_WAIT_FD ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (eq->fd < 0 && attributes->wait_obj == FI_WAIT_FD) {
        destroy(eq);
        return -FI_EMFILE;
    }
    eq->fid.fid.fclass = FI_CLASS_EQ;
    eq->fid.fid.context = context;
    eq->fid.fid.ops = &eq_fid_ops;
    eq->fid.ops = &eq_ops;
    eq->wait = attributes->wait_obj;
    eq->writable = (attributes->flags & FI_WRITE) != 0;
    eq->fabric = (struct fabric *)(void *)fid_fabric;
    (void)atomic_fetch_add(&eq->fabric->references, 1);
    *fid = &eq->fid;
    return 0;
}
