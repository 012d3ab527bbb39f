/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/** One message of each of two lengths is there to be read by side 1. */
static void send_two(struct pair *pair, char got[2])
{
    const struct side *sender = &pair->sides[0];

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            fi_trecv(pair->sides[1].ep, &got[i], 1, NULL, FI_ADDR_UNSPEC, i, 0, &got[i]), 0);
        assert_int_equal(fi_tinjectdata(sender->ep, &"ab"[i], 1, 50 + i, sender->other, i), 0);
    }
}

TEST(fi_cq_read__each_format)
{
    const enum fi_cq_format formats[] = {FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA,
                                         FI_CQ_FORMAT_TAGGED};

    for (unsigned i = 0; i < 4; i++) {
        struct pair *pair = open_pair(&(struct pair_options){.format = formats[i]});
        struct fid_cq *cq = pair->sides[1].cq;
        char got[2];
        union {
            struct fi_cq_entry context[2];
            struct fi_cq_msg_entry message[2];
            struct fi_cq_data_entry data[2];
            struct fi_cq_tagged_entry tagged[2];
        } entries;
        ssize_t count = 0;
        time_t start = time(NULL);

        send_two(pair, got);
        /* Both at once, so that the second shows how long an entry is. */
        while (got[1] != 'b' || count != 2) {
            drive(&pair->sides[0]);
            drive(&pair->sides[1]);
            if (got[1] == 'b') {
                count = fi_cq_read(cq, &entries, 2);
            }
            assert_false(is_late(start));
        }
        switch (formats[i]) {
        case FI_CQ_FORMAT_CONTEXT:
            assert_ptr_equal(entries.context[1].op_context, &got[1]);
            break;
        case FI_CQ_FORMAT_MSG:
            assert_ptr_equal(entries.message[1].op_context, &got[1]);
            assert_int_equal(entries.message[1].len, 1);
            break;
        case FI_CQ_FORMAT_DATA:
            assert_ptr_equal(entries.data[1].op_context, &got[1]);
            assert_int_equal(entries.data[1].data, 51);
            assert_ptr_equal(entries.data[1].buf, &got[1]);
            break;
        default:
            assert_ptr_equal(entries.tagged[1].op_context, &got[1]);
            assert_int_equal(entries.tagged[1].tag, 1);
            break;
        }
        close_pair(pair);
    }
}

PAIR_TEST(fi_cq_read__errors_keep_their_place)
{
    const struct side *sender = &pair->sides[0];
    struct fid_cq *cq = pair->sides[1].cq;
    char got[3][2];
    struct fi_cq_tagged_entry entries[3];
    struct fi_cq_err_entry error = {0};
    char text[600];

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fi_trecv(pair->sides[1].ep, got[i], 1, NULL, FI_ADDR_UNSPEC, 7, 0, got[i]),
                         0);
        assert_int_equal(fi_tinject(sender->ep, "ab", i == 1 ? 2 : 1, sender->other, 7), 0);
    }
    let_arrive(pair, 1);
    time_t start = time(NULL);
    while (got[2][0] != 'a') {
        drive(&pair->sides[0]);
        drive(&pair->sides[1]);
        assert_false(is_late(start));
    }
    assert_int_equal(fi_cq_read(cq, entries, 3), 1);
    assert_ptr_equal(entries[0].op_context, got[0]);
    assert_int_equal(fi_cq_read(cq, entries, 3), -FI_EAVAIL);
    assert_int_equal(fi_cq_read(cq, entries, 3), -FI_EAVAIL);
    assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
    assert_int_equal(error.err, FI_ETRUNC);
    assert_ptr_equal(error.op_context, got[1]);
    (void)fi_cq_strerror(cq, error.prov_errno, error.err_data, text, sizeof text);
    assert_non_null(strstr(text, " (beowire:"));
    assert_int_equal(fi_cq_readerr(cq, &error, 0), -FI_EAGAIN);
    assert_int_equal(fi_cq_read(cq, entries, 3), 1);
    assert_ptr_equal(entries[0].op_context, got[2]);
}

/** Whoever always has something to read answers its peers all the same. */
PAIR_TEST(fi_cq_read__makes_progress_while_there_is_something_to_read)
{
    struct side *sender = &pair->sides[0];
    const struct side *reader = &pair->sides[1];
    struct fi_cq_tagged_entry entries[2];
    char got[2] = {0};
    time_t start = time(NULL);

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fi_trecv(reader->ep, &got[i], 1, NULL, FI_ADDR_UNSPEC, i, 0, &got[i]), 0);
    }
    assert_int_equal(fi_tinject(sender->ep, "a", 1, sender->other, 0), 0);
    while (fi_cq_read(reader->cq, NULL, 0) != 0) {
        drive(sender);
        assert_false(is_late(start));
    }
    assert_int_equal(fi_tinject(sender->ep, "b", 1, sender->other, 1), 0);
    while (got[1] != 'b') {
        drive(sender);
        assert_int_equal(fi_cq_read(reader->cq, NULL, 0), 0); /* the first stays there */
        assert_false(is_late(start));
    }
    assert_int_equal(fi_cq_read(reader->cq, entries, 2), 2);
}

/** Cancels a receive, and reads that it was. */
static void read_cancelled(const struct side *side, struct fi_cq_err_entry *error)
{
    struct fi_cq_tagged_entry entry;
    char got = 0;

    assert_int_equal(fi_trecv(side->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 7, 0, &got), 0);
    assert_int_equal(fi_cancel(&side->ep->fid, &got), 0);
    assert_int_equal(fi_cq_read(side->cq, &entry, 1), -FI_EAVAIL);
    assert_int_equal(fi_cq_readerr(side->cq, error, 0), 1);
    assert_int_equal(error->err, FI_ECANCELED);
}

PAIR_TEST(fi_cq_readerr__text_into_the_users_buffer)
{
    char text[8];
    struct fi_cq_err_entry error = {.err_data = text, .err_data_size = sizeof text};

    read_cancelled(&pair->sides[1], &error);
    assert_ptr_equal(error.err_data, text);
    assert_int_equal(error.err_data_size, sizeof text);
}

/** Before 1.5 there was no size, so what lies there is something else of the program's, and the
 * text was the provider's: the field is only written. */
TEST(fi_cq_readerr__programs_that_have_no_size_of_the_text)
{
    struct pair *pair = open_pair(&(struct pair_options){.version = FI_VERSION(1, 4)});
    char something[8] = "as ever";
    struct fi_cq_err_entry error = {.err_data = something, .err_data_size = sizeof something};

    read_cancelled(&pair->sides[1], &error);
    assert_string_equal(something, "as ever");
    assert_ptr_not_equal(error.err_data, something);
    assert_string_equal(error.err_data,
                        fi_cq_strerror(pair->sides[1].cq, error.prov_errno, NULL, NULL, 0));
    assert_int_equal(error.err_data_size, sizeof something);
    close_pair(pair);
}

TEST(fi_cq_read__a_full_queue_loses_nothing)
{
    enum { MESSAGES = 500 };
    struct pair *pair = open_pair(&(struct pair_options){.cq_entries = 64});
    const struct side *sender = &pair->sides[0];
    static uint32_t got[MESSAGES];

    for (uint32_t i = 0; i < MESSAGES; i++) {
        assert_int_equal(fi_trecv(pair->sides[1].ep, &got[i], sizeof got[i], NULL, FI_ADDR_UNSPEC,
                                  7, 0, &got[i]),
                         0);
    }
    time_t start = time(NULL);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        while (fi_tinject(sender->ep, &i, sizeof i, sender->other, 7) == -FI_EAGAIN) {
            assert_false(is_late(start));
            drive(&pair->sides[0]);
            drive(&pair->sides[1]); /* does not read what it finds */
        }
    }
    for (uint32_t i = 0; i < MESSAGES; i++) {
        assert_ptr_equal(completed(pair, 1).op_context, &got[i]);
        assert_int_equal(got[i], i);
    }
    close_pair(pair);
}

/** What has been received and nobody reads does not hold up the end of what is sent. */
TEST(fi_cq_read__a_full_queue_holds_up_no_other)
{
    enum { MESSAGES = 200 };
    struct pair *pair =
        open_pair(&(struct pair_options){.cq_entries = 64, .two_queues = true, .wait = FI_WAIT_FD});
    const struct side *other = &pair->sides[0];
    struct side *side = &pair->sides[1];
    struct fid *sent_queue = &side->cq->fid;
    const size_t bytes = 1 << 20;
    uint8_t *sent = pattern(bytes, 1);
    uint8_t *taken = calloc(1, bytes);
    uint8_t got[MESSAGES] = {0};
    time_t start = time(NULL);

    assert_non_null(taken);
    for (unsigned i = 0; i < MESSAGES; i++) {
        assert_int_equal(fi_trecv(side->ep, &got[i], 1, NULL, FI_ADDR_UNSPEC, i, 0, &got[i]), 0);
        while (fi_tinject(other->ep, "x", 1, other->other, i) == -FI_EAGAIN) {
            drive(side);
            assert_false(is_late(start));
        }
    }
    while (got[MESSAGES - 1] == 0) {
        drive(&pair->sides[0]);
        drive(side);
        assert_false(is_late(start));
    }
    drive(side); /* so all have ended, and 64 are in the queue */
    assert_int_equal(fi_trecv(other->ep, taken, bytes, NULL, FI_ADDR_UNSPEC, 1, 0, taken), 0);
    assert_int_equal(fi_tsend(side->ep, sent, bytes, NULL, side->other, 1, sent), 0);
    assert_ptr_equal(completed(pair, 1).op_context, sent);
    while (fi_trywait(side->fabric, &sent_queue, 1) != 0) { /* nor does anything else */
        assert_false(is_late(start));
    }
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct fi_cq_tagged_entry entry;
        while (fi_cq_read(side->received_cq, &entry, 1) != 1) {
            assert_false(is_late(start));
        }
        assert_ptr_equal(entry.op_context, &got[i]);
    }
    close_pair(pair);
    free(sent);
    free(taken);
}

TEST(fi_cq_sread__waits_no_longer_than_told)
{
    struct pair *pair = open_pair(&(struct pair_options){.wait = FI_WAIT_UNSPEC});
    const struct side *sender = &pair->sides[0];
    struct fid_cq *cq = pair->sides[1].cq;
    struct fi_cq_tagged_entry entry;
    char got = 0;

    assert_int_equal(fi_cq_sread(cq, &entry, 1, NULL, 0), -FI_EAGAIN);
    assert_int_equal(fi_cq_sread(cq, &entry, 1, NULL, 5), -FI_EAGAIN);
    assert_int_equal(fi_trecv(pair->sides[1].ep, &got, 1, NULL, FI_ADDR_UNSPEC, 7, 0, &got), 0);
    assert_int_equal(fi_tinject(sender->ep, "a", 1, sender->other, 7), 0);
    time_t start = time(NULL);
    while (fi_cq_sread(cq, &entry, 1, NULL, 10) != 1) {
        assert_false(is_late(start));
        drive(&pair->sides[0]);
    }
    assert_ptr_equal(entry.op_context, &got);
    close_pair(pair);
}

/** A thread that waits for completions on a core of its own, and what it got. */
struct waiter {
    struct fid_cq *cq;
    unsigned cpu;
    atomic_bool begins;
    ssize_t got;
};

/** @return where this thread could run. */
static cpu_set_t run_on(unsigned cpu)
{
    cpu_set_t before;
    cpu_set_t only;

    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    (void)sched_getaffinity(0, sizeof before, &before);
    (void)sched_setaffinity(0, sizeof only, &only);
    return before;
}

static unsigned next_cpu(const cpu_set_t *among, unsigned cpu)
{
    do {
        cpu = (cpu + 1) % CPU_SETSIZE;
    } while (!CPU_ISSET(cpu, among));
    return cpu;
}

static void *wait_for_nothing(void *context)
{
    struct waiter *waiter = context;
    struct fi_cq_tagged_entry entry;

    (void)run_on(waiter->cpu);
    atomic_store(&waiter->begins, true);
    waiter->got = fi_cq_sread(waiter->cq, &entry, 1, NULL, 1000 * PATIENCE_S);
    return NULL;
}

/** Whoever unlocks what another thread waits for, and locks it again at once, is sooner than that
 *  thread, if it has a core of its own to wake up on: every time. */
TEST(fi_cq_sread__lets_other_threads_in)
{
    struct pair *pair =
        open_pair(&(struct pair_options){.wait = FI_WAIT_UNSPEC, .threading = FI_THREAD_SAFE});
    struct side *sender = &pair->sides[0];
    unsigned cpu = (unsigned)sched_getcpu();
    cpu_set_t cpus = run_on(cpu);
    struct waiter waiter = {.cq = sender->cq, .cpu = next_cpu(&cpus, cpu)};
    const size_t least = 64;
    pthread_t thread;

    time_t start = time(NULL);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_nothing, &waiter), 0);
    while (!atomic_load(&waiter.begins)) {
        assert_false(is_late(start));
    }
    for (unsigned i = 0; i < 200; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL); /* now and then */
        assert_int_equal(fi_setopt(&sender->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least,
                                   sizeof least),
                         0);
    }
    bool late = is_late(start - PATIENCE_S / 2); /* it was not let in before the waiting ended */
    assert_int_equal(fi_cq_signal(sender->cq), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
    assert_int_equal(waiter.got, -FI_EAGAIN);
    assert_false(late);
    close_pair(pair);
}

TEST(fi_cq_signal__wakes_who_waits)
{
    struct pair *pair = open_pair(&(struct pair_options){.wait = FI_WAIT_UNSPEC});
    struct fi_cq_tagged_entry entry;

    assert_int_equal(fi_cq_signal(pair->sides[1].cq), 0);
    assert_int_equal(fi_cq_sread(pair->sides[1].cq, &entry, 1, NULL, -1), -FI_EAGAIN);
    close_pair(pair);
}

PAIR_TEST(fi_cq_sread__a_queue_without_wait_object)
{
    struct fi_cq_tagged_entry entry;

    assert_int_equal(fi_cq_sread(pair->sides[1].cq, &entry, 1, NULL, 0), -FI_EINVAL);
}

PAIR_TEST(fi_cq_open__bad_attributes)
{
    struct fid_cq *cq = NULL;
    struct fi_cq_attr attributes = {.format = (enum fi_cq_format)77};

    assert_int_equal(fi_cq_open(pair->sides[0].domain, &attributes, &cq, NULL), -FI_EINVAL);
    attributes = (struct fi_cq_attr){.size = SIZE_MAX};
    assert_int_equal(fi_cq_open(pair->sides[0].domain, &attributes, &cq, NULL), -FI_EINVAL);
    attributes = (struct fi_cq_attr){.wait_obj = FI_WAIT_MUTEX_COND};
    assert_int_equal(fi_cq_open(pair->sides[0].domain, &attributes, &cq, NULL), -FI_ENOSYS);
    assert_int_equal(fi_close(&pair->sides[0].cq->fid), -FI_EBUSY);
}
