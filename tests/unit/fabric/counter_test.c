/* SPDX-License-Identifier: BSD-3-Clause */
#include "namespace.h"
#include "pair.h"

static struct pair *open_counted_pair(void)
{
    return open_pair(&(struct pair_options){.counters = true, .cq_flags = FI_SELECTIVE_COMPLETION});
}

static void fi_cntr_read__counts_what_ended(void **state)
{
    struct pair *pair = open_counted_pair();
    const struct side *sender = &pair->sides[0];
    const struct side *receiver = &pair->sides[1];
    char got[2];
    time_t start = time(NULL);

    (void)state;
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

static void fi_cntr_readerr__counts_failures(void **state)
{
    struct pair *pair = open_counted_pair();
    const struct side *receiver = &pair->sides[1];
    char got = 0;

    (void)state;
    assert_int_equal(fi_trecv(receiver->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 7, 0, &got), 0);
    assert_int_equal(fi_cancel(&receiver->ep->fid, &got), 0);
    assert_int_equal(fi_cntr_readerr(receiver->received), 1);
    assert_int_equal(fi_cntr_read(receiver->received), 0);
    /* Failures are reported whatever is selected. */
    assert_int_equal(failed(pair, 1).err, FI_ECANCELED);
    close_pair(pair);
}

static void fi_cntr_wait__ends_at_the_threshold_or_in_time(void **state)
{
    struct pair *pair = open_counted_pair();
    struct fid_cntr *counter = pair->sides[0].sent;

    (void)state;
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

static void fi_cntr_set__and_add(void **state)
{
    struct pair *pair = open_counted_pair();
    struct fid_cntr *counter = pair->sides[0].sent;

    (void)state;
    assert_int_equal(fi_cntr_set(counter, 5), 0);
    assert_int_equal(fi_cntr_add(counter, 2), 0);
    assert_int_equal(fi_cntr_read(counter), 7);
    assert_int_equal(fi_cntr_seterr(counter, 3), 0);
    assert_int_equal(fi_cntr_adderr(counter, 1), 0);
    assert_int_equal(fi_cntr_readerr(counter), 4);
    assert_int_equal(fi_close(&counter->fid), -FI_EBUSY);
    close_pair(pair);
}

static void fi_cntr_open__bad_attributes(void **state)
{
    struct pair *pair = open_default_pair();
    struct fid_cntr *counter = NULL;
    struct fi_cntr_attr attributes = {.wait_obj = FI_WAIT_MUTEX_COND};

    (void)state;
    assert_int_equal(fi_cntr_open(pair->sides[0].domain, &attributes, &counter, NULL), -FI_ENOSYS);
    attributes = (struct fi_cntr_attr){.flags = 1};
    assert_int_equal(fi_cntr_open(pair->sides[0].domain, &attributes, &counter, NULL), -FI_EINVAL);
    close_pair(pair);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fi_cntr_read__counts_what_ended),
        cmocka_unit_test(fi_cntr_readerr__counts_failures),
        cmocka_unit_test(fi_cntr_wait__ends_at_the_threshold_or_in_time),
        cmocka_unit_test(fi_cntr_set__and_add),
        cmocka_unit_test(fi_cntr_open__bad_attributes),
    };

    (void)argc;
    namespace_enter(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
