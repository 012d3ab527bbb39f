/* SPDX-License-Identifier: BSD-3-Clause */
/* Who makes progress, and what programs sleep on in the meantime. */
#include "pair.h"

#include <poll.h>
#include <pthread.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LONG_BYTES (1u << 20)
#define PATIENCE_MS (PATIENCE_S * 1000)
#define KEY 42

static const struct pair_options sleeping = {.wait = FI_WAIT_FD};

static int descriptor_of(struct fid *fid)
{
    int fd = -1;

    assert_int_equal(fi_control(fid, FI_GETWAIT, &fd), 0);
    assert_true(fd >= 0);
    return fd;
}

static bool is_readable(struct fid *fid, int timeout_ms)
{
    struct pollfd readable = {.fd = descriptor_of(fid), .events = POLLIN};

    return poll(&readable, 1, timeout_ms) == 1;
}

static bool may_sleep(const struct side *side, struct fid *fid)
{
    int status = fi_trywait(side->fabric, &fid, 1);

    assert_true(status == 0 || status == -FI_EAGAIN);
    return status == 0;
}

/** An endpoint may have work of its own at first. */
static void sleep_in_the_end(const struct side *side, struct fid *fid)
{
    time_t start = time(NULL);

    while (!may_sleep(side, fid)) {
        assert_false(is_late(start));
    }
}

/** The next completion of a side, while both sleep whenever they may. */
static struct fi_cq_tagged_entry completed_asleep(struct pair *pair, unsigned index)
{
    struct pollfd readable[2];
    struct fi_cq_tagged_entry entry;

    for (unsigned i = 0; i < 2; i++) {
        readable[i] =
            (struct pollfd){.fd = descriptor_of(&pair->sides[i].cq->fid), .events = POLLIN};
    }
    for (;;) {
        ssize_t count = fi_cq_read(pair->sides[index].cq, &entry, 1);
        if (count == 1) {
            return entry;
        }
        assert_int_equal(count, -FI_EAGAIN);
        drive(&pair->sides[1 - index]);
        if (may_sleep(&pair->sides[0], &pair->sides[0].cq->fid) &&
            may_sleep(&pair->sides[1], &pair->sides[1].cq->fid)) {
            assert_true(poll(readable, 2, PATIENCE_MS) > 0);
        }
    }
}

TEST(fi_trywait__wakes_for_all_that_a_message_takes)
{
    static const size_t lengths[] = {1, 20000, LONG_BYTES};
    struct pair *pair = open_pair(&sleeping);
    uint8_t *got = calloc(1, LONG_BYTES);

    assert_non_null(got);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *data = pattern(lengths[i], i);
        assert_int_equal(
            fi_trecv(pair->sides[1].ep, got, LONG_BYTES, NULL, FI_ADDR_UNSPEC, 7, 0, got), 0);
        assert_int_equal(
            fi_tsend(pair->sides[0].ep, data, lengths[i], NULL, pair->sides[0].other, 7, data), 0);
        struct fi_cq_tagged_entry entry = completed_asleep(pair, 1);
        assert_ptr_equal(entry.op_context, got);
        assert_int_equal(entry.len, lengths[i]);
        assert_memory_equal(got, data, lengths[i]);
        /* The sender's queue was driven, not read. */
        entry = completed(pair, 0);
        assert_ptr_equal(entry.op_context, data);
        free(data);
    }
    close_pair(pair);
    free(got);
}

TEST(fi_trywait__only_while_there_is_nothing)
{
    struct pair *pair = open_pair(&sleeping);
    struct side *side = &pair->sides[1];
    struct fi_cq_err_entry error = {0};
    struct fi_cq_tagged_entry entry;
    char got = 0;

    sleep_in_the_end(side, &side->cq->fid);
    assert_false(is_readable(&side->cq->fid, 0));
    assert_int_equal(fi_trecv(side->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, &got), 0);
    assert_int_equal(fi_cancel(&side->ep->fid, &got), 0);
    assert_false(may_sleep(side, &side->cq->fid));
    assert_false(may_sleep(side, &side->cq->fid));
    assert_int_equal(fi_cq_read(side->cq, &entry, 1), -FI_EAVAIL);
    assert_false(may_sleep(side, &side->cq->fid));
    assert_int_equal(fi_cq_readerr(side->cq, &error, 0), 1);
    sleep_in_the_end(side, &side->cq->fid);
    close_pair(pair);
}

TEST(fi_cq_signal__wakes_who_sleeps)
{
    struct pair *pair = open_pair(&sleeping);
    struct side *side = &pair->sides[1];

    sleep_in_the_end(side, &side->cq->fid);
    assert_int_equal(fi_cq_signal(side->cq), 0);
    assert_true(is_readable(&side->cq->fid, 0));
    assert_false(may_sleep(side, &side->cq->fid)); /* once, so that it looks why */
    sleep_in_the_end(side, &side->cq->fid);
    assert_false(is_readable(&side->cq->fid, 0));
    close_pair(pair);
}

TEST(fi_control__what_has_no_descriptor)
{
    struct pair *pair = open_pair(&(struct pair_options){.wait = FI_WAIT_UNSPEC, .counters = true});
    enum fi_wait_obj object = FI_WAIT_SET;
    int fd = -1;

    assert_int_equal(fi_control(&pair->sides[0].cq->fid, FI_GETWAITOBJ, &object), 0);
    assert_int_equal(object, FI_WAIT_UNSPEC);
    assert_int_equal(fi_control(&pair->sides[0].cq->fid, FI_GETWAIT, &fd), -FI_ENOSYS);
    assert_int_equal(fi_control(&pair->sides[0].sent->fid, FI_GETWAIT, &fd), -FI_ENOSYS);
    close_pair(pair);
}

/** Programs have an epoll descriptor of their own, and there is a bound on how deep they nest. */
TEST(descriptor__in_the_user_s_epoll)
{
    struct pair *pair = open_pair(&sleeping);
    struct side *side = &pair->sides[1];
    struct epoll_event event = {.events = EPOLLIN};
    int all = epoll_create1(EPOLL_CLOEXEC);

    assert_int_equal(epoll_ctl(all, EPOLL_CTL_ADD, descriptor_of(&side->cq->fid), &event), 0);
    sleep_in_the_end(side, &side->cq->fid);
    assert_int_equal(epoll_wait(all, &event, 1, 0), 0);
    /* Short, and its sender asks for a connection first: frames, over whichever lane. */
    assert_int_equal(fi_tinject(pair->sides[0].ep, "a", 1, pair->sides[0].other, 1), 0);
    drive(&pair->sides[0]);
    assert_int_equal(epoll_wait(all, &event, 1, PATIENCE_MS), 1);
    assert_int_equal(close(all), 0);
    close_pair(pair);
}

/* ---- others act while one sleeps ------------------------------------------------------------- */

TEST(asleep__another_s_call_ends_an_operation)
{
    struct pair *pair = open_pair(&sleeping);
    struct side *side = &pair->sides[1];
    char got = 0;

    sleep_in_the_end(side, &side->cq->fid);
    assert_int_equal(fi_trecv(side->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, &got), 0);
    assert_false(is_readable(&side->cq->fid, 0)); /* nothing for it */
    assert_int_equal(fi_cancel(&side->ep->fid, &got), 0);
    assert_true(is_readable(&side->cq->fid, 0));
    assert_int_equal(failed(pair, 1).err, FI_ECANCELED);
    close_pair(pair);
}

TEST(asleep__another_takes_the_frames)
{
    struct pair *pair = open_pair(
        &(struct pair_options){.wait = FI_WAIT_FD, .counters = true, .counter_wait = FI_WAIT_FD});
    struct side *side = &pair->sides[1];
    char got = 0;

    assert_int_equal(fi_trecv(side->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, &got), 0);
    sleep_in_the_end(side, &side->received->fid);
    assert_int_equal(fi_tinject(pair->sides[0].ep, "a", 1, pair->sides[0].other, 1), 0);
    /* Whoever reads the queue counts what has come: whoever sleeps at the counter is to know. */
    assert_ptr_equal(completed(pair, 1).op_context, &got);
    assert_true(is_readable(&side->received->fid, 0));
    assert_false(may_sleep(side, &side->received->fid));
    assert_int_equal(fi_cntr_read(side->received), 1);
    sleep_in_the_end(side, &side->received->fid);
    close_pair(pair);
}

TEST(asleep__at_a_counter)
{
    struct pair *pair =
        open_pair(&(struct pair_options){.counters = true, .counter_wait = FI_WAIT_FD});
    struct side *side = &pair->sides[1];
    char got = 0;
    time_t start = time(NULL);

    assert_int_equal(fi_trecv(side->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
    assert_int_equal(fi_tinject(pair->sides[0].ep, "a", 1, pair->sides[0].other, 1), 0);
    while (fi_cntr_read(side->received) < 1) {
        assert_false(is_late(start));
        drive(&pair->sides[0]);
        if (may_sleep(side, &side->received->fid)) {
            (void)is_readable(&side->received->fid, 1);
        }
    }
    assert_int_equal(got, 'a');
    sleep_in_the_end(side, &side->received->fid);
    assert_int_equal(fi_cntr_add(side->received, 1), 0);
    assert_true(is_readable(&side->received->fid, 0));
    assert_int_equal(fi_cntr_wait(side->received, 2, -1), 0);
    close_pair(pair);
}

/* ---- automatic progress ---------------------------------------------------------------------- */

static struct pair *open_automatic_pair(enum fi_wait_obj wait)
{
    struct pair_options manual = {.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC};
    struct pair_options automatic = manual;
    struct pair *pair = calloc(1, sizeof *pair);

    assert_non_null(pair);
    automatic.progress = FI_PROGRESS_AUTO;
    automatic.wait = wait;
    open_side(&pair->sides[0], "end0", &manual);
    open_side(&pair->sides[1], "end1", &automatic);
    introduce(&pair->sides[0], &pair->sides[1]);
    introduce(&pair->sides[1], &pair->sides[0]);
    return pair;
}

/** The next completion of side 0; side 1 does nothing for it. */
static void await_alone(const struct pair *pair, const void *context)
{
    struct fi_cq_tagged_entry entry;
    time_t start = time(NULL);
    ssize_t count = 0;

    while ((count = fi_cq_read(pair->sides[0].cq, &entry, 1)) == -FI_EAGAIN) {
        assert_false(is_late(start));
    }
    assert_int_equal(count, 1);
    assert_ptr_equal(entry.op_context, context);
}

TEST(automatic__the_target_calls_nothing)
{
    /* With a keeper alone, which comes ten times a second, these take longer than anyone waits. */
    enum { ROUNDS = 400 };
    struct pair *pair = open_automatic_pair(FI_WAIT_NONE);
    struct side *side = &pair->sides[0];
    uint64_t memory[2] = {0};
    struct fid_mr *region = NULL;
    time_t start = time(NULL);

    assert_int_equal(fi_mr_reg(pair->sides[1].domain, memory, sizeof memory,
                               FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &region, NULL),
                     0);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t one = 1;
        uint64_t before = UINT64_MAX;
        uint64_t got = UINT64_MAX;
        assert_int_equal(fi_fetch_atomic(side->ep, &one, 1, NULL, &before, NULL, side->other, 0,
                                         KEY, FI_UINT64, FI_SUM, &before),
                         0);
        await_alone(pair, &before);
        assert_int_equal(before, i);
        assert_int_equal(fi_write(side->ep, &i, sizeof i, NULL, side->other, 8, KEY, &i), 0);
        await_alone(pair, &i);
        assert_int_equal(fi_read(side->ep, &got, sizeof got, NULL, side->other, 8, KEY, &got), 0);
        await_alone(pair, &got);
        assert_int_equal(got, i);
        assert_false(is_late(start));
    }
    assert_int_equal(fi_close(&region->fid), 0);
    close_pair(pair);
}

TEST(automatic__the_receiver_of_a_long_message_calls_nothing)
{
    struct pair *pair = open_automatic_pair(FI_WAIT_FD);
    struct side *side = &pair->sides[0];
    struct side *receiver = &pair->sides[1];
    uint8_t *data = pattern(LONG_BYTES, 3);
    uint8_t *got = calloc(1, LONG_BYTES);
    struct fi_cq_tagged_entry entry;

    assert_non_null(got);
    assert_int_equal(fi_trecv(receiver->ep, got, LONG_BYTES, NULL, FI_ADDR_UNSPEC, 7, 0, got), 0);
    sleep_in_the_end(receiver, &receiver->cq->fid);
    assert_int_equal(fi_tsend(side->ep, data, LONG_BYTES, NULL, side->other, 7, data), 0);
    await_alone(pair, data);
    assert_memory_equal(got, data, LONG_BYTES);
    /* All frames have been taken: it is the thread that wakes whoever sleeps. */
    assert_true(is_readable(&receiver->cq->fid, PATIENCE_MS));
    assert_int_equal(fi_cq_read(receiver->cq, &entry, 1), 1);
    assert_ptr_equal(entry.op_context, got);
    close_pair(pair);
    free(data);
    free(got);
}

/** Threads of ours and of the transport at one endpoint: side 1 answers what it is sent. */
static void *answer(void *argument)
{
    struct side *side = argument;
    struct fi_cq_tagged_entry entry;
    time_t start = time(NULL);
    uint32_t got = 0;

    for (uint32_t i = 0; i < 300; i++) {
        if (fi_trecv(side->ep, &got, sizeof got, NULL, FI_ADDR_UNSPEC, 1, 0, &got) != 0) {
            return side;
        }
        while (fi_cq_read(side->cq, &entry, 1) == -FI_EAGAIN && !is_late(start)) {
            struct fid *fids[] = {&side->cq->fid};
            struct pollfd readable = {.events = POLLIN};
            (void)fi_control(&side->cq->fid, FI_GETWAIT, &readable.fd);
            if (fi_trywait(side->fabric, fids, 1) == 0 && poll(&readable, 1, PATIENCE_MS) != 1) {
                return side;
            }
        }
        while (fi_tinject(side->ep, &got, sizeof got, side->other, 2) == -FI_EAGAIN) {
            if (is_late(start)) {
                return side;
            }
        }
        if (got != i) {
            return side;
        }
    }
    return NULL;
}

TEST(automatic__asleep_and_awake_in_turns)
{
    struct pair *pair = open_automatic_pair(FI_WAIT_FD);
    struct side *side = &pair->sides[0];
    pthread_t thread;
    void *failure = NULL;

    assert_int_equal(pthread_create(&thread, NULL, answer, &pair->sides[1]), 0);
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t got = UINT32_MAX;
        time_t start = time(NULL);
        assert_int_equal(fi_trecv(side->ep, &got, sizeof got, NULL, FI_ADDR_UNSPEC, 2, 0, &got), 0);
        while (fi_tinject(side->ep, &i, sizeof i, side->other, 1) == -FI_EAGAIN) {
            assert_false(is_late(start));
        }
        await_alone(pair, &got);
        assert_int_equal(got, i);
        if (i % 30 == 0) {
            (void)poll(NULL, 0, 5); /* long enough for the thread to step in */
        }
    }
    assert_int_equal(pthread_join(thread, &failure), 0);
    assert_null(failure);
    close_pair(pair);
}
