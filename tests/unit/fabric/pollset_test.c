/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

static struct fid_poll *open_set(const struct side *side)
{
    struct fi_poll_attr attributes = {0};
    struct fid_poll *set = NULL;

    assert_int_equal(fi_poll_open(side->domain, &attributes, &set), 0);
    return set;
}

/** Polls until so many members have news. */
static void wait_for(struct pair *pair, struct fid_poll *set, void **contexts, int count)
{
    time_t start = time(NULL);

    while (fi_poll(set, contexts, 4) < count) {
        drive(&pair->sides[0]);
        assert_false(is_late(start));
    }
}

TEST(fi_poll__names_those_that_have_something)
{
    struct pair *pair = open_pair(&(struct pair_options){.counters = true});
    struct side *receiver = &pair->sides[1];
    struct fid_poll *set = open_set(receiver);
    struct fi_cq_tagged_entry entry;
    void *contexts[4];
    char got = 0;

    receiver->cq->fid.context = receiver->cq;
    receiver->sent->fid.context = receiver->sent;
    receiver->received->fid.context = receiver->received;
    assert_int_equal(fi_poll_add(set, &receiver->cq->fid, 0), 0);
    assert_int_equal(fi_poll_add(set, &receiver->sent->fid, 0), 0);
    assert_int_equal(fi_poll_add(set, &receiver->received->fid, 0), 0);
    assert_int_equal(fi_poll(set, contexts, 4), 0);

    /* What polls makes progress: nothing else does here for side 1. */
    assert_int_equal(fi_trecv(receiver->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 7, 0, &got), 0);
    assert_int_equal(fi_tinject(pair->sides[0].ep, "a", 1, pair->sides[0].other, 7), 0);
    wait_for(pair, set, contexts, 2);
    assert_ptr_equal(contexts[0], receiver->cq);
    assert_ptr_equal(contexts[1], receiver->received);
    assert_int_equal(fi_poll(set, contexts, 1), 1); /* no more than there is room for */

    assert_int_equal(fi_cntr_read(receiver->received), 1);
    assert_int_equal(fi_poll(set, contexts, 4), 1);
    assert_int_equal(fi_cq_read(receiver->cq, &entry, 1), 1);
    assert_int_equal(fi_poll(set, contexts, 4), 0);
    assert_int_equal(fi_close(&set->fid), 0);
    close_pair(pair);
}

PAIR_TEST(fi_poll_add__and_remove)
{
    struct side *side = &pair->sides[0];
    struct fid_poll *set = open_set(side);

    assert_int_equal(fi_poll_del(set, &side->cq->fid, 0), -FI_EINVAL);
    assert_int_equal(fi_poll_add(set, &side->cq->fid, 1), -FI_EBADFLAGS);
    assert_int_equal(fi_poll_add(set, &side->av->fid, 0), -FI_EINVAL);
    assert_int_equal(fi_poll_add(set, &pair->sides[1].cq->fid, 0), -FI_EINVAL);
    assert_int_equal(fi_poll_add(set, &side->cq->fid, 0), 0);
    assert_int_equal(fi_poll_add(set, &side->cq->fid, 0), 0); /* is there once */
    assert_int_equal(fi_poll_del(set, &side->cq->fid, 1), -FI_EBADFLAGS);
    assert_int_equal(fi_poll_del(set, &side->cq->fid, 0), 0);
    assert_int_equal(fi_poll_del(set, &side->cq->fid, 0), -FI_EINVAL);
    assert_int_equal(fi_close(&side->domain->fid), -FI_EBUSY);
    assert_int_equal(fi_close(&set->fid), 0);
}

/** The set would look at what is no more. */
PAIR_TEST(fi_close__of_what_is_in_a_set)
{
    struct fid_domain *domain = pair->sides[0].domain;
    struct fi_cq_attr of_queue = {0};
    struct fi_cntr_attr of_counter = {0};
    struct fid_cntr *counter = NULL;
    struct fid_cq *queue = NULL;
    void *contexts[4];

    assert_int_equal(fi_cq_open(domain, &of_queue, &queue, NULL), 0);
    assert_int_equal(fi_cntr_open(domain, &of_counter, &counter, NULL), 0);
    struct fid_poll *set = open_set(&pair->sides[0]);
    struct fid_poll *other = open_set(&pair->sides[0]);
    assert_int_equal(fi_poll_add(set, &queue->fid, 0), 0);
    assert_int_equal(fi_poll_add(set, &queue->fid, 0), 0); /* is there once */
    assert_int_equal(fi_poll_add(other, &queue->fid, 0), 0);
    assert_int_equal(fi_poll_add(set, &counter->fid, 0), 0);
    assert_int_equal(fi_close(&queue->fid), -FI_EBUSY);
    assert_int_equal(fi_close(&counter->fid), -FI_EBUSY);
    assert_int_equal(fi_poll(set, contexts, 4), 0);
    assert_int_equal(fi_poll_del(set, &queue->fid, 0), 0);
    assert_int_equal(fi_close(&queue->fid), -FI_EBUSY);
    assert_int_equal(fi_close(&other->fid), 0);
    assert_int_equal(fi_close(&queue->fid), 0);
    assert_int_equal(fi_close(&set->fid), 0);
    assert_int_equal(fi_close(&counter->fid), 0);
}

PAIR_TEST(fi_poll_open__bad_attributes)
{
    struct fi_poll_attr attributes = {.flags = 1};
    struct fid_poll *set = NULL;

    assert_int_equal(fi_poll_open(pair->sides[0].domain, &attributes, &set), -FI_EINVAL);
}
