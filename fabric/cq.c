/* SPDX-License-Identifier: BSD-3-Clause */
#include "cq.h"

#include "endpoint.h"
#include "info.h"
#include "libfabric.h"
#include "unsupported.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MIN 64
#define ENTRIES_MAX (1u << 24)

static_assert(offsetof(struct fi_cq_tagged_entry, flags) ==
                      offsetof(struct fi_cq_msg_entry, flags) &&
                  offsetof(struct fi_cq_tagged_entry, data) ==
                      offsetof(struct fi_cq_data_entry, data),
              "shorter formats are beginnings of the longest");

static struct cq *cq_of(struct fid_cq *fid)
{
    return (struct cq *)(void *)fid;
}

static bool is_empty(const struct cq *cq)
{
    return cq->head == cq->tail;
}

static struct cq_slot *oldest(const struct cq *cq)
{
    return &cq->ring[cq->head & (cq->capacity - 1)];
}

/** Takes up to `count` completions, up to the next error. @return how many; -FI_EAVAIL: an error is
 * next; -FI_EAGAIN: there is none. */
static ssize_t take(struct cq *cq, uint8_t *buffer, size_t count, fi_addr_t *sources)
{
    size_t taken = 0;

    for (; taken < count && !is_empty(cq); taken++, cq->head++) {
        const struct cq_slot *slot = oldest(cq);
        if (slot->status != 0) {
            break;
        }
        memcpy(buffer + taken * cq->entry_bytes, &slot->entry, cq->entry_bytes);
        if (sources != NULL) {
            sources[taken] = slot->source;
        }
    }
    if (taken > 0) {
        return (ssize_t)taken;
    }
    /* A call for zero completions makes progress, and reports whether there are any. */
    return is_empty(cq) ? -FI_EAGAIN : count == 0 ? 0 : -FI_EAVAIL;
}

static ssize_t read_locked(struct cq *cq, void *buffer, size_t count, fi_addr_t *sources)
{
    /* If there is a completion already, the core is not yielded. */
    int status = is_empty(cq) ? progress_make(&cq->progress) : progress_look(&cq->progress);
    ssize_t taken = take(cq, buffer, count, sources);

    return taken == -FI_EAGAIN && status != 0 ? status : taken;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources)
{
    struct cq *cq = cq_of(fid);

    domain_lock(cq->domain);
    progress_awake(&cq->progress, cq->domain);
    ssize_t taken = read_locked(cq, buffer, count, sources);
    domain_unlock(cq->domain);
    return taken;
}

static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
    return cq_readfrom(fid, buffer, count, NULL);
}

/** Since version 1.5 the user may pass a buffer for the text; earlier, it was ours, and the field
 * has no meaning. A peek that found nothing has no text, because programs do not set the field
 * then. */
static void hand_over_text(struct cq *cq, struct fi_cq_err_entry *error)
{
    size_t bytes = strlen(cq->text) + 1;

    if (FI_VERSION_LT(cq->domain->fabric->api_version, FI_VERSION(1, 5))) {
        error->err_data = cq->text;
    } else if (error->err == FI_ENOMSG) {
        error->err_data_size = 0;
    } else if (error->err_data != NULL && error->err_data_size > 0) {
        size_t room = error->err_data_size;
        memcpy(error->err_data, cq->text, bytes < room ? bytes : room);
        error->err_data_size = bytes < room ? bytes : room;
    } else {
        error->err_data = cq->text;
        error->err_data_size = bytes;
    }
}

static void describe_error(struct cq *cq, const struct cq_slot *slot, struct fi_cq_err_entry *error)
{
    struct beowire_address address;
    bool has_peer =
        slot->endpoint != NULL && endpoint_peer_address(slot->endpoint, slot->peer, &address);

    error_text(cq->text, slot->status, has_peer ? &address : NULL);
    error->op_context = slot->entry.op_context;
    error->flags = slot->entry.flags;
    error->len = slot->entry.len;
    error->buf = slot->entry.buf;
    error->data = slot->entry.data;
    error->tag = slot->entry.tag;
    error->olen = slot->overflow;
    error->err = error_number(slot->status);
    error->prov_errno = slot->status;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *error, uint64_t flags)
{
    struct cq *cq = cq_of(fid);
    ssize_t result = -FI_EAGAIN;

    (void)flags;
    domain_lock(cq->domain);
    if (!is_empty(cq) && oldest(cq)->status != 0) {
        const struct cq_slot *slot = oldest(cq);
        describe_error(cq, slot, error);
        hand_over_text(cq, error);
        cq->head++;
        result = 1;
    }
    domain_unlock(cq->domain);
    return result;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources,
                            const void *condition, int timeout_ms)
{
    struct cq *cq = cq_of(fid);
    uint64_t deadline_ns = progress_deadline(timeout_ms);

    (void)condition; /* a threshold is a hint */
    if (cq->progress.wait.object == FI_WAIT_NONE) {
        return -FI_EINVAL;
    }
    for (;;) {
        bool in_time = true;
        domain_lock(cq->domain);
        progress_awake(&cq->progress, cq->domain);
        ssize_t taken = read_locked(cq, buffer, count, sources);
        if (taken == -FI_EAGAIN) {
            in_time = progress_wait(&cq->progress, deadline_ns);
            taken = read_locked(cq, buffer, count, sources);
        }
        if (taken != -FI_EAGAIN || !in_time || atomic_exchange(&cq->signalled, false)) {
            domain_unlock(cq->domain);
            return taken;
        }
        progress_let_in(cq->domain);
    }
}

static ssize_t cq_sread(struct fid_cq *fid, void *buffer, size_t count, const void *condition,
                        int timeout_ms)
{
    return cq_sreadfrom(fid, buffer, count, NULL, condition, timeout_ms);
}

static int cq_signal(struct fid_cq *fid)
{
    struct cq *cq = cq_of(fid);

    atomic_store(&cq->signalled, true);
    wait_ring(&cq->progress.wait);
    return 0;
}

static const char *cq_strerror(struct fid_cq *fid, int number, const void *data, char *buffer,
                               size_t bytes)
{
    const char *text = data != NULL ? data : beowire_error(number);

    (void)fid;
    if (buffer != NULL && bytes > 0) {
        size_t length = strnlen(text, bytes - 1);
        memcpy(buffer, text, length);
        buffer[length] = '\0';
        return buffer;
    }
    return text;
}

void cq_forget(struct cq *cq, const struct endpoint *endpoint)
{
    progress_remove(&cq->progress, endpoint);
    for (uint32_t i = cq->head; i != cq->tail; i++) {
        struct cq_slot *slot = &cq->ring[i & (cq->capacity - 1)];
        if (slot->endpoint == endpoint) {
            slot->endpoint = NULL;
        }
    }
}

bool cq_has_news(const struct cq *cq)
{
    (void)progress_make(&cq->progress);
    return !is_empty(cq);
}

static bool has_news(const struct progress *progress)
{
    return !is_empty(
        (const struct cq *)(const void *)((const char *)progress - offsetof(struct cq, progress)));
}

static int cq_control(struct fid *fid, int command, void *argument)
{
    const struct cq *cq = (struct cq *)(void *)fid;

    return wait_control(&cq->progress.wait, command, argument);
}

static void destroy(struct cq *cq)
{
    progress_close(&cq->progress);
    free(cq->ring);
    free(cq);
}

static int cq_close(struct fid *fid)
{
    struct cq *cq = (struct cq *)(void *)fid;

    domain_lock(cq->domain);
    bool is_busy = cq->progress.count > 0 || cq->sets > 0;
    if (!is_busy) {
        progress_awake(&cq->progress, cq->domain);
    }
    domain_unlock(cq->domain);
    if (is_busy) {
        return -FI_EBUSY;
    }
    (void)atomic_fetch_sub(&cq->domain->references, 1);
    destroy(cq);
    return 0;
}

static struct fi_ops cq_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = cq_close,
    .bind = unsupported_bind,
    .control = cq_control,
    .ops_open = unsupported_ops_open,
};

static struct fi_ops_cq cq_ops = {
    .size = sizeof(struct fi_ops_cq),
    .read = cq_read,
    .readfrom = cq_readfrom,
    .readerr = cq_readerr,
    .sread = cq_sread,
    .sreadfrom = cq_sreadfrom,
    .signal = cq_signal,
    .strerror = cq_strerror,
};

static size_t bytes_of(enum fi_cq_format format)
{
    switch (format) {
    case FI_CQ_FORMAT_UNSPEC:
    case FI_CQ_FORMAT_TAGGED:
        return sizeof(struct fi_cq_tagged_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(struct fi_cq_data_entry);
    case FI_CQ_FORMAT_MSG:
        return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_CONTEXT:
        return sizeof(struct fi_cq_entry);
    }
    return 0;
}

int cq_open(struct fid_domain *fid_domain, struct fi_cq_attr *attributes, struct fid_cq **fid,
            void *context)
{
    if (attributes == NULL || bytes_of(attributes->format) == 0 || attributes->size > ENTRIES_MAX) {
        return -FI_EINVAL;
    }
    struct cq *cq = calloc(1, sizeof *cq);
    if (cq == NULL) {
        return -FI_ENOMEM;
    }
    int status = progress_open(&cq->progress, attributes->wait_obj, has_news);
    size_t wanted = attributes->size != 0 ? attributes->size : INFO_CQ_ENTRIES;
    cq->capacity = ENTRIES_MIN;
    while (cq->capacity < wanted) {
        cq->capacity *= 2;
    }
    cq->ring = calloc(cq->capacity, sizeof *cq->ring);
    if (status != 0 || cq->ring == NULL) {
        destroy(cq);
        return status != 0 ? status : -FI_ENOMEM;
    }
    cq->fid.fid.fclass = FI_CLASS_CQ;
    cq->fid.fid.context = context;
    cq->fid.fid.ops = &cq_fid_ops;
    cq->fid.ops = &cq_ops;
    cq->domain = domain_of(fid_domain);
    cq->entry_bytes = bytes_of(attributes->format);
    if (attributes->format == FI_CQ_FORMAT_UNSPEC) {
        attributes->format = FI_CQ_FORMAT_TAGGED;
    }
    (void)atomic_fetch_add(&cq->domain->references, 1);
    *fid = &cq->fid;
    return 0;
}
