/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <poll.h>

/** A fabric alone, with a queue in it. */
struct queue {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_eq *eq;
};

static struct queue open_queue(enum fi_wait_obj wait, uint64_t flags)
{
    struct fi_eq_attr attributes = {.size = 8, .flags = flags, .wait_obj = wait};
    struct queue queue = {.info = get_info("end0", &(struct pair_options){0})};

    assert_int_equal(fi_fabric(queue.info->fabric_attr, &queue.fabric, NULL), 0);
    assert_int_equal(fi_eq_open(queue.fabric, &attributes, &queue.eq, NULL), 0);
    return queue;
}

static void close_queue(struct queue *queue)
{
    assert_int_equal(fi_close(&queue->eq->fid), 0);
    assert_int_equal(fi_close(&queue->fabric->fid), 0);
    fi_freeinfo(queue->info);
}

static void put(struct queue *queue, uintptr_t number)
{
    struct fi_eq_entry entry = {.fid = &queue->eq->fid, .context = (void *)number};

    assert_int_equal(fi_eq_write(queue->eq, FI_NOTIFY, &entry, sizeof entry, 0), sizeof entry);
}

/** Reads, or peeks at, an event, which has to be this one. */
static void expect(struct queue *queue, uintptr_t number, uint64_t flags)
{
    struct fi_eq_entry entry = {0};
    uint32_t kind = UINT32_MAX;

    assert_int_equal(fi_eq_read(queue->eq, &kind, &entry, sizeof entry, flags), sizeof entry);
    assert_int_equal(kind, FI_NOTIFY);
    assert_int_equal((uintptr_t)entry.context, number);
}

static void expect_empty(struct queue *queue)
{
    struct fi_eq_entry entry;
    struct fi_eq_err_entry error = {0};
    uint32_t kind = 0;

    assert_int_equal(fi_eq_read(queue->eq, &kind, &entry, sizeof entry, 0), -FI_EAGAIN);
    assert_int_equal(fi_eq_readerr(queue->eq, &error, 0), -FI_EAGAIN);
}

TEST(fi_eq_read__what_was_written_in_its_order)
{
    struct queue queue = open_queue(FI_WAIT_NONE, FI_WRITE);

    expect_empty(&queue);
    for (uintptr_t i = 0; i < 100; i++) {
        put(&queue, i);
    }
    for (uintptr_t i = 0; i < 100; i++) {
        expect(&queue, i, FI_PEEK);
        expect(&queue, i, 0);
    }
    expect_empty(&queue);
    put(&queue, 1); /* stays there, and leaks nothing */
    close_queue(&queue);
}

TEST(fi_eq_read__bad_arguments)
{
    struct queue queue = open_queue(FI_WAIT_NONE, FI_WRITE);
    struct fi_eq_entry entry;
    uint32_t kind = 0;

    put(&queue, 5);
    assert_int_equal(fi_eq_read(queue.eq, &kind, &entry, sizeof entry - 1, 0), -FI_ETOOSMALL);
    assert_int_equal(fi_eq_read(queue.eq, &kind, &entry, sizeof entry, FI_TRIGGER), -FI_EBADFLAGS);
    assert_int_equal(fi_eq_sread(queue.eq, &kind, &entry, sizeof entry, 0, 0), -FI_EINVAL);
    expect(&queue, 5, 0);
    close_queue(&queue);
}

TEST(fi_eq_write__only_if_opened_for_it)
{
    struct queue queue = open_queue(FI_WAIT_NONE, 0);
    struct fi_eq_entry entry = {0};

    assert_int_equal(fi_eq_write(queue.eq, FI_NOTIFY, &entry, sizeof entry, 0), -FI_EINVAL);
    expect_empty(&queue);
    close_queue(&queue);
}

TEST(fi_eq_sread__waits_until_then)
{
    struct queue queue = open_queue(FI_WAIT_UNSPEC, FI_WRITE);
    struct fi_eq_entry entry;
    uint32_t kind = 0;

    assert_int_equal(fi_eq_sread(queue.eq, &kind, &entry, sizeof entry, 5, 0), -FI_EAGAIN);
    put(&queue, 3);
    assert_int_equal(fi_eq_sread(queue.eq, &kind, &entry, sizeof entry, -1, FI_PEEK), sizeof entry);
    assert_int_equal(fi_eq_sread(queue.eq, &kind, &entry, sizeof entry, -1, 0), sizeof entry);
    assert_int_equal((uintptr_t)entry.context, 3);
    close_queue(&queue);
}

static bool is_readable(int fd)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1;
}

TEST(fi_eq_open__with_a_descriptor_that_is_readable_while_there_are_events)
{
    struct queue queue = open_queue(FI_WAIT_FD, FI_WRITE);
    struct fid *fids[] = {&queue.eq->fid};
    int fd = -1;

    assert_int_equal(fi_control(&queue.eq->fid, FI_GETWAIT, &fd), 0);
    assert_int_equal(fi_trywait(queue.fabric, fids, 1), 0);
    assert_false(is_readable(fd));
    put(&queue, 1);
    put(&queue, 2);
    assert_true(is_readable(fd));
    assert_int_equal(fi_trywait(queue.fabric, fids, 1), -FI_EAGAIN);
    expect(&queue, 1, FI_PEEK);
    expect(&queue, 1, 0);
    assert_true(is_readable(fd));
    expect(&queue, 2, 0);
    assert_false(is_readable(fd));
    close_queue(&queue);
}

TEST(fi_eq_open__bad_attributes)
{
    struct queue queue = open_queue(FI_WAIT_UNSPEC, 0);
    struct fi_eq_attr attributes = {.wait_obj = FI_WAIT_MUTEX_COND};
    struct fid_eq *eq = NULL;
    int fd = -1;

    assert_int_equal(fi_eq_open(queue.fabric, &attributes, &eq, NULL), -FI_ENOSYS);
    attributes = (struct fi_eq_attr){.flags = FI_AFFINITY};
    assert_int_equal(fi_eq_open(queue.fabric, &attributes, &eq, NULL), -FI_EINVAL);
    assert_int_equal(fi_control(&queue.eq->fid, FI_GETWAIT, &fd), -FI_ENOSYS);
    assert_int_equal(fi_close(&queue.fabric->fid), -FI_EBUSY);
    close_queue(&queue);
}

TEST(fi_close__a_queue_that_an_endpoint_is_bound_to)
{
    struct side side = {0};
    struct fi_eq_attr attributes = {.wait_obj = FI_WAIT_NONE};
    struct fid_eq *eq = NULL;

    open_domain(&side, "end0", &(struct pair_options){0});
    assert_int_equal(fi_eq_open(side.fabric, &attributes, &eq, NULL), 0);
    assert_int_equal(fi_endpoint(side.domain, side.info, &side.ep, NULL), 0);
    assert_int_equal(fi_ep_bind(side.ep, &eq->fid, 0), 0);
    assert_int_equal(fi_ep_bind(side.ep, &eq->fid, 0), -FI_EINVAL);
    assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
    assert_int_equal(fi_close(&side.ep->fid), 0);
    assert_int_equal(fi_close(&eq->fid), 0);
    assert_int_equal(fi_close(&side.domain->fid), 0);
    assert_int_equal(fi_close(&side.fabric->fid), 0);
    fi_freeinfo(side.info);
}
