/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

static struct pair *open_counted_pair(void)
{
    return open_pair(&(struct pair_options){.counters = true, .cq_flags = FI_SELECTIVE_COMPLETION});
}

TEST(fi_cntr_read__counts_what_ended)
{
    struct pair *pair = open_counted_pair();
    const struct side *sender = &pair->sides[0];
    const struct side *receiver = &pair->sides[1];
    char got[2];
    time_t start = time(NULL);

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fi_trecv(receiver->ep, &got[i], 1, NULL, FI_ADDR_UNSPEC, 7, 0, NULL), 0);
    }
    assert_int_equal(fi_tinject(sender->ep, "a", 1, sender->other, 7), 0);
    assert_int_equal(fi_tsend(sender->ep, "b", 1, NULL, sender->other, 7, NULL), 0);
    uint64_t sent = 0;
    uint64_t received = 0;
    while (sent < 2 || received < 2) {
        sent = fi_cntr_read(sender->sent);
        received = fi_cntr_read(receiver->received);
        assert_false(is_late(start));
    }
    assert_int_equal(fi_cntr_read(sender->sent), 2);
    assert_int_equal(fi_cntr_read(sender->received), 0);
    assert_int_equal(fi_cntr_readerr(receiver->received), 0);
    close_pair(pair);
}

TEST(fi_cntr_readerr__counts_failures)
{
    struct pair *pair = open_counted_pair();
    const struct side *receiver = &pair->sides[1];
    char got = 0;

    assert_int_equal(fi_trecv(receiver->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 7, 0, &got), 0);
    assert_int_equal(fi_cancel(&receiver->ep->fid, &got), 0);
    assert_int_equal(fi_cntr_readerr(receiver->received), 1);
    assert_int_equal(fi_cntr_read(receiver->received), 0);
    /* Failures are reported whatever is selected. */
    assert_int_equal(failed(pair, 1).err, FI_ECANCELED);
    close_pair(pair);
}

TEST(fi_cntr_wait__ends_at_the_threshold_or_in_time)
{
    struct pair *pair = open_counted_pair();
    struct fid_cntr *counter = pair->sides[0].sent;

    assert_int_equal(fi_cntr_wait(counter, 1, 0), -FI_ETIMEDOUT);
    assert_int_equal(fi_cntr_wait(counter, 1, 5), -FI_ETIMEDOUT);
    /* Something is on its way to side 0, and side 1 needs nothing more for that. */
    char got = 0;
    assert_int_equal(fi_trecv(pair->sides[0].ep, &got, 1, NULL, FI_ADDR_UNSPEC, 7, 0, NULL), 0);
    assert_int_equal(fi_tinject(pair->sides[1].ep, "a", 1, pair->sides[1].other, 7), 0);
    time_t start = time(NULL);
    while (fi_cntr_wait(pair->sides[0].received, 1, 10) != 0) {
        assert_false(is_late(start));
        drive(&pair->sides[1]);
    }
    assert_int_equal(got, 'a');
    assert_int_equal(fi_cntr_wait(pair->sides[0].received, 1, -1), 0);
    close_pair(pair);
}

/* ---- what peers do to our memory ------------------------------------------------------------ */

#define KEY 5
#define BYTES 100000

/** Two sides, of which the second offers memory, and counts what is done to it. */
struct offered {
    struct pair *pair;
    const struct side *ours;
    const struct side *owner;
    uint8_t *memory;
    uint8_t *data;
    struct fid_mr *region;
};

static struct offered offer(struct pair_options options)
{
    options.caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_RMA_EVENT;
    options.counters = true;
    struct offered offered = {.pair = open_pair(&options), .memory = pattern(BYTES, 1)};

    offered.ours = &offered.pair->sides[0];
    offered.owner = &offered.pair->sides[1];
    offered.data = pattern(BYTES, 2);
    assert_int_equal(fi_mr_reg(offered.owner->domain, offered.memory, BYTES,
                               FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &offered.region, NULL),
                     0);
    return offered;
}

static void withdraw(const struct offered *offered)
{
    assert_int_equal(fi_close(&offered->region->fid), 0);
    close_pair(offered->pair);
    free(offered->memory);
    free(offered->data);
}

static void put(const struct offered *offered, size_t bytes, uint64_t address)
{
    assert_int_equal(fi_write(offered->ours->ep, offered->data, bytes, NULL, offered->ours->other,
                              address, KEY, NULL),
                     0);
}

/** Until our operation has ended: then the owner has counted it, or will never. */
static void check_counted(const struct offered *offered, uint64_t written, uint64_t read)
{
    (void)completed(offered->pair, 0);
    time_t start = time(NULL);
    while (fi_cntr_read(offered->owner->written_by_peers) < written ||
           fi_cntr_read(offered->owner->read_by_peers) < read) {
        assert_false(is_late(start)); /* of a long get, the peer knows first */
        drive(&offered->pair->sides[0]);
    }
    assert_int_equal(fi_cntr_read(offered->owner->written_by_peers), written);
    assert_int_equal(fi_cntr_read(offered->owner->read_by_peers), read);
}

TEST(fi_cntr_read__counts_what_peers_write_and_read)
{
    static const size_t sizes[] = {0, 8, 20000, BYTES};
    struct offered offered = offer((struct pair_options){0});
    struct fid_ep *ep = offered.ours->ep;
    fi_addr_t to = offered.ours->other;
    uint64_t operand = 1;
    uint64_t old = 0;

    for (unsigned i = 0; i < 4; i++) {
        put(&offered, sizes[i], 0);
        check_counted(&offered, i + 1, i);
        assert_memory_equal(offered.memory, offered.data, sizes[i]);
        assert_int_equal(fi_read(ep, offered.data, sizes[i], NULL, to, 0, KEY, NULL), 0);
        check_counted(&offered, i + 1, i + 1);
    }
    assert_int_equal(fi_atomic(ep, &operand, 1, NULL, to, 0, KEY, FI_UINT64, FI_SUM, NULL), 0);
    check_counted(&offered, 5, 4);
    assert_int_equal(
        fi_fetch_atomic(ep, &operand, 1, NULL, &old, NULL, to, 0, KEY, FI_UINT64, FI_SUM, NULL), 0);
    check_counted(&offered, 5, 5);
    assert_int_equal(fi_cntr_read(offered.ours->written_by_peers), 0);
    withdraw(&offered);
}

TEST(fi_cntr_read__does_not_count_what_is_refused)
{
    struct offered offered = offer((struct pair_options){0});

    put(&offered, 8, BYTES - 7);
    assert_int_equal(failed(offered.pair, 0).prov_errno, -EACCES);
    put(&offered, 8, BYTES - 8);
    check_counted(&offered, 1, 0);
    withdraw(&offered);
}

TEST(fi_cntr_wait__until_a_peer_has_written)
{
    struct offered offered = offer((struct pair_options){0});

    put(&offered, 8, 0);
    time_t start = time(NULL);
    while (fi_cntr_wait(offered.owner->written_by_peers, 1, 10) != 0) {
        assert_false(is_late(start));
        drive(&offered.pair->sides[0]);
    }
    assert_memory_equal(offered.memory, offered.data, 8);
    withdraw(&offered);
}

/** Whoever makes the progress: with automatic one, it is a thread of the endpoint. */
TEST(fi_trywait__of_a_counter_that_a_peer_changes)
{
    const enum fi_progress progress[] = {FI_PROGRESS_MANUAL, FI_PROGRESS_AUTO};

    for (unsigned i = 0; i < 2; i++) {
        struct offered offered =
            offer((struct pair_options){.counter_wait = FI_WAIT_FD, .progress = progress[i]});
        struct fid *fids[] = {&offered.owner->written_by_peers->fid};
        struct pollfd waits = {.fd = -1, .events = POLLIN};
        assert_int_equal(fi_control(fids[0], FI_GETWAIT, &waits.fd), 0);
        put(&offered, 0, 0);
        check_counted(&offered, 1, 0); /* connected */
        int status = 0;
        while ((status = fi_trywait(offered.owner->fabric, fids, 1)) == -FI_EAGAIN) {
            (void)fi_cntr_read(offered.owner->written_by_peers);
        }
        assert_int_equal(status, 0);
        put(&offered, 8, 0);
        for (time_t start = time(NULL); fi_cntr_read(offered.owner->written_by_peers) < 2;) {
            assert_false(is_late(start));
            drive(&offered.pair->sides[0]);
            if (fi_trywait(offered.owner->fabric, fids, 1) == 0) {
                assert_int_equal(poll(&waits, 1, PATIENCE_S * 1000), 1);
            }
        }
        withdraw(&offered);
    }
}

TEST(fi_cntr_set__and_add)
{
    struct pair *pair = open_counted_pair();
    struct fid_cntr *counter = pair->sides[0].sent;

    assert_int_equal(fi_cntr_set(counter, 5), 0);
    assert_int_equal(fi_cntr_add(counter, 2), 0);
    assert_int_equal(fi_cntr_read(counter), 7);
    assert_int_equal(fi_cntr_seterr(counter, 3), 0);
    assert_int_equal(fi_cntr_adderr(counter, 1), 0);
    assert_int_equal(fi_cntr_readerr(counter), 4);
    assert_int_equal(fi_close(&counter->fid), -FI_EBUSY);
    close_pair(pair);
}

PAIR_TEST(fi_cntr_open__bad_attributes)
{
    struct fid_cntr *counter = NULL;
    struct fi_cntr_attr attributes = {.wait_obj = FI_WAIT_MUTEX_COND};

    assert_int_equal(fi_cntr_open(pair->sides[0].domain, &attributes, &counter, NULL), -FI_ENOSYS);
    attributes = (struct fi_cntr_attr){.flags = 1};
    assert_int_equal(fi_cntr_open(pair->sides[0].domain, &attributes, &counter, NULL), -FI_EINVAL);
}
