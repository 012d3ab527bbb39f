/* SPDX-License-Identifier: BSD-3-Clause */
#include "namespace.h"
#include "pair.h"

static void fi_tinject__before_there_is_a_connection(void **state)
{
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];
    char buffer[8] = "first";
    char got[8] = "";

    (void)state;
    assert_int_equal(fi_tinject(sender->ep, buffer, sizeof buffer, sender->other, 1), 0);
    memset(buffer, 'x', sizeof buffer); /* it is ours again */
    assert_int_equal(fi_trecv(pair->sides[1].ep, got, sizeof got, NULL, FI_ADDR_UNSPEC, 1, 0, NULL),
                     0);
    (void)completed(pair, 1);
    assert_string_equal(got, "first");
    close_pair(pair);
}

static void fi_tinject__as_long_as_promised(void **state)
{
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];
    size_t most = sender->info->tx_attr->inject_size;
    uint8_t *data = pattern(most + 1, 3);
    uint8_t *got = calloc(1, most);

    (void)state;
    assert_non_null(got);
    assert_int_equal(fi_trecv(pair->sides[1].ep, got, most, NULL, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
    assert_int_equal(fi_tinject(sender->ep, data, most, sender->other, 1), 0);
    assert_int_equal(completed(pair, 1).len, most);
    assert_memory_equal(got, data, most);
    assert_int_equal(fi_tinject(sender->ep, data, most + 1, sender->other, 1), -FI_EMSGSIZE);
    close_pair(pair);
    free(data);
    free(got);
}

static void fi_tsend__keeps_the_order_whatever_the_length(void **state)
{
    enum { MESSAGES = 60 };
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];
    const size_t lengths[] = {4, 40000, 1000, 5000, 0, 100000};
    uint8_t *data = pattern(100000, 5);
    uint8_t *got = calloc(1, 100000);

    (void)state;
    assert_non_null(got);
    for (unsigned i = 0; i < MESSAGES; i++) {
        assert_int_equal(fi_tsend(sender->ep, data, lengths[i % 6], NULL, sender->other, 1, NULL),
                         0);
    }
    for (unsigned i = 0; i < MESSAGES; i++) {
        assert_int_equal(fi_trecv(pair->sides[1].ep, got, 100000, NULL, FI_ADDR_UNSPEC, 1, 0, NULL),
                         0);
        assert_int_equal(completed(pair, 1).len, lengths[i % 6]);
        assert_memory_equal(got, data, lengths[i % 6]);
    }
    for (unsigned i = 0; i < MESSAGES; i++) {
        assert_int_equal(completed(pair, 0).flags, FI_SEND | FI_TAGGED);
    }
    close_pair(pair);
    free(data);
    free(got);
}

static void fi_tsend__more_than_fit_are_refused_not_lost(void **state)
{
    assert_int_equal(setenv("FI_BEOWIRE_OPERATIONS", "4", 1), 0);
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];
    uint8_t *data = pattern(100000, 5);
    uint8_t *got = calloc(1, 100000);
    unsigned posted = 0;

    (void)state;
    assert_non_null(got);
    while (fi_tsend(sender->ep, data, 100000, NULL, sender->other, 1, NULL) == 0) {
        posted++;
    }
    assert_int_equal(posted, 4);
    assert_int_equal(fi_tsend(sender->ep, data, 100000, NULL, sender->other, 1, NULL), -FI_EAGAIN);
    for (unsigned i = 0; i < posted; i++) {
        assert_int_equal(fi_trecv(pair->sides[1].ep, got, 100000, NULL, FI_ADDR_UNSPEC, 1, 0, NULL),
                         0);
        assert_int_equal(completed(pair, 1).len, 100000);
        (void)completed(pair, 0);
    }
    close_pair(pair);
    free(data);
    free(got);
    assert_int_equal(unsetenv("FI_BEOWIRE_OPERATIONS"), 0);
}

static void fi_tsend__to_nobody(void **state)
{
    struct pair *pair = open_default_pair();

    (void)state;
    assert_int_equal(fi_tsend(pair->sides[0].ep, "a", 1, NULL, 99, 1, NULL), -FI_EINVAL);
    assert_int_equal(fi_tinject(pair->sides[0].ep, "a", 1, FI_ADDR_UNSPEC, 1), -FI_EINVAL);
    close_pair(pair);
}

/** A peer that closes with our message unmatched: the operation ends, with an error that names it.
 */
static void fi_tsend__to_a_peer_that_leaves(void **state)
{
    struct pair *pair = open_default_pair();
    struct side *sender = &pair->sides[0];
    uint8_t *data = pattern(1000000, 5);
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    ssize_t count = 0;
    time_t start = time(NULL);

    (void)state;
    let_arrive(pair, 0);
    assert_int_equal(fi_tsend(sender->ep, data, 1000000, NULL, sender->other, 1, data), 0);
    close_side(&pair->sides[1]);
    while ((count = fi_cq_read(sender->cq, &entry, 1)) == -FI_EAGAIN) {
        assert_false(is_late(start));
    }
    assert_int_equal(count, -FI_EAVAIL);
    assert_int_equal(fi_cq_readerr(sender->cq, &error, 0), 1);
    assert_int_equal(error.err, FI_ECONNRESET);
    assert_ptr_equal(error.op_context, data);
    assert_non_null(strstr(error.err_data, " (beowire:"));
    close_side(sender);
    free(pair);
    free(data);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fi_tinject__before_there_is_a_connection),
        cmocka_unit_test(fi_tinject__as_long_as_promised),
        cmocka_unit_test(fi_tsend__keeps_the_order_whatever_the_length),
        cmocka_unit_test(fi_tsend__more_than_fit_are_refused_not_lost),
        cmocka_unit_test(fi_tsend__to_nobody),
        cmocka_unit_test(fi_tsend__to_a_peer_that_leaves),
    };

    (void)argc;
    namespace_enter(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
