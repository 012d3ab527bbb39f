/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/** fi_trecvmsg() with these flags, for tag 7. */
static ssize_t look(const struct side *side, uint64_t flags, void *buffer, size_t bytes,
                    void *context)
{
    const struct iovec part = {buffer, bytes};
    const struct fi_msg_tagged message = {.msg_iov = &part,
                                          .iov_count = buffer != NULL,
                                          .addr = FI_ADDR_UNSPEC,
                                          .tag = 7,
                                          .context = context};

    return fi_trecvmsg(side->ep, &message, flags);
}

PAIR_TEST(fi_peek__nothing_there)
{
    struct fi_context context;

    assert_int_equal(look(&pair->sides[1], FI_PEEK, NULL, 0, &context), 0);
    struct fi_cq_err_entry error = failed(pair, 1);
    assert_int_equal(error.err, FI_ENOMSG);
    assert_ptr_equal(error.op_context, &context);
    assert_int_equal(error.tag, 7);
}

/** Programs that only expect this hand in what they never set. */
PAIR_TEST(fi_peek__nothing_there_needs_no_buffer_for_a_text)
{
    struct fi_context context;
    struct fi_cq_err_entry error;
    struct fi_cq_tagged_entry entry;
    time_t start = time(NULL);

    memset(&error, 0x5A, sizeof error); /* no such address */
    assert_int_equal(look(&pair->sides[1], FI_PEEK, NULL, 0, &context), 0);
    while (fi_cq_read(pair->sides[1].cq, &entry, 1) != -FI_EAVAIL) {
        assert_false(is_late(start));
    }
    assert_int_equal(fi_cq_readerr(pair->sides[1].cq, &error, 0), 1);
    assert_int_equal(error.err, FI_ENOMSG);
    assert_int_equal(error.err_data_size, 0);
}

PAIR_TEST(fi_peek__shows_a_message_and_leaves_it)
{
    const struct side *sender = &pair->sides[0];
    struct fi_context context;
    char got[10];

    assert_int_equal(fi_tinjectdata(sender->ep, "abc", 3, 44, sender->other, 7), 0);
    let_arrive(pair, 0);
    assert_int_equal(look(&pair->sides[1], FI_PEEK, NULL, 0, &context), 0);
    struct fi_cq_tagged_entry found = completed(pair, 1);
    assert_ptr_equal(found.op_context, &context);
    assert_int_equal(found.len, 3);
    assert_int_equal(found.tag, 7);
    assert_int_equal(found.data, 44);
    assert_true((found.flags & FI_REMOTE_CQ_DATA) != 0);
    assert_null(found.buf);
    assert_int_equal(fi_trecv(pair->sides[1].ep, got, sizeof got, NULL, FI_ADDR_UNSPEC, 7, 0, NULL),
                     0);
    assert_int_equal(completed(pair, 1).len, 3);
    assert_memory_equal(got, "abc", 3);
}

PAIR_TEST(fi_claim__only_its_owner_gets_the_message)
{
    const struct side *sender = &pair->sides[0];
    const struct side *receiver = &pair->sides[1];
    struct fi_context context;
    char got[2] = "";

    assert_int_equal(fi_tinject(sender->ep, "a", 1, sender->other, 7), 0);
    assert_int_equal(fi_tinject(sender->ep, "b", 1, sender->other, 7), 0);
    let_arrive(pair, 0);
    assert_int_equal(look(receiver, FI_PEEK | FI_CLAIM, NULL, 0, &context), 0);
    assert_int_equal(completed(pair, 1).len, 1);
    assert_int_equal(fi_trecv(receiver->ep, &got[1], 1, NULL, FI_ADDR_UNSPEC, 7, 0, &got[1]), 0);
    assert_ptr_equal(completed(pair, 1).op_context, &got[1]);
    assert_int_equal(look(receiver, FI_CLAIM, &got[0], 1, &context), 0);
    struct fi_cq_tagged_entry in = completed(pair, 1);
    assert_ptr_equal(in.op_context, &context);
    assert_int_equal(in.tag, 7);
    assert_memory_equal(got, "ab", 2);
    /* It can be had once. */
    assert_int_equal(look(receiver, FI_CLAIM, &got[0], 1, &context), -FI_ENOMSG);
}

PAIR_TEST(fi_discard__throws_messages_away)
{
    const struct side *sender = &pair->sides[0];
    const struct side *receiver = &pair->sides[1];
    struct fi_context context;
    char got = 0;

    for (const char *byte = "abc"; *byte != '\0'; byte++) {
        assert_int_equal(fi_tinject(sender->ep, byte, 1, sender->other, 7), 0);
    }
    let_arrive(pair, 0);
    assert_int_equal(look(receiver, FI_PEEK | FI_DISCARD, NULL, 0, &context), 0);
    struct fi_cq_tagged_entry gone = completed(pair, 1);
    assert_ptr_equal(gone.op_context, &context);
    assert_int_equal(gone.len, 1);
    assert_int_equal(look(receiver, FI_PEEK | FI_CLAIM, NULL, 0, &context), 0);
    (void)completed(pair, 1);
    assert_int_equal(look(receiver, FI_CLAIM | FI_DISCARD, NULL, 0, &context), 0);
    assert_ptr_equal(completed(pair, 1).op_context, &context);
    assert_int_equal(fi_trecv(receiver->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 7, 0, NULL), 0);
    (void)completed(pair, 1);
    assert_int_equal(got, 'c');
}

TEST(fi_discard__without_room_loses_nothing)
{
    struct pair *pair = open_pair_with("FI_BEOWIRE_OPERATIONS", "4");
    const struct side *receiver = &pair->sides[1];
    struct fi_context context;
    char got[5] = "";

    assert_int_equal(fi_tinject(pair->sides[0].ep, "a", 1, pair->sides[0].other, 7), 0);
    let_arrive(pair, 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(fi_trecv(receiver->ep, &got[i], 1, NULL, FI_ADDR_UNSPEC, 99, 0, &got[i]),
                         0);
    }
    assert_int_equal(look(receiver, FI_PEEK | FI_DISCARD, NULL, 0, &context), -FI_EAGAIN);
    assert_int_equal(fi_cancel(&receiver->ep->fid, &got[2]), 0);
    assert_int_equal(failed(pair, 1).err, FI_ECANCELED);
    assert_int_equal(fi_trecv(receiver->ep, &got[2], 1, NULL, FI_ADDR_UNSPEC, 7, 0, NULL), 0);
    (void)completed(pair, 1);
    assert_int_equal(got[2], 'a');
    close_pair(pair);
}

/** Of two with one context the first has a message already, so it is the other that ends. */
TEST(fi_cancel__passes_over_what_comes_already)
{
    struct pair *pair = open_default_pair();
    const struct side *receiver = &pair->sides[1];
    const size_t bytes = 16 << 20;
    uint8_t *sent = pattern(bytes, 1);
    uint8_t *buffer = calloc(1, bytes);
    uint8_t other[1];

    assert_non_null(buffer);
    let_arrive(pair, 0);
    assert_int_equal(fi_trecv(receiver->ep, buffer, bytes, NULL, FI_ADDR_UNSPEC, 1, 0, buffer), 0);
    assert_int_equal(fi_trecv(receiver->ep, other, 1, NULL, FI_ADDR_UNSPEC, 2, 0, buffer), 0);
    assert_int_equal(fi_tsend(pair->sides[0].ep, sent, bytes, NULL, pair->sides[0].other, 1, sent),
                     0);
    let_begin(pair, buffer);
    assert_int_equal(fi_cancel(&receiver->ep->fid, buffer), 0);
    assert_int_equal(failed(pair, 1).err, FI_ECANCELED);
    assert_int_equal(completed(pair, 1).len, bytes);
    assert_memory_equal(buffer, sent, bytes);
    close_pair(pair);
    free(sent);
    free(buffer);
}

PAIR_TEST(fi_trecvmsg__flags_that_mean_nothing)
{
    const struct side *receiver = &pair->sides[1];
    struct fi_context context;
    char got = 0;

    assert_int_equal(look(receiver, FI_CLAIM, &got, 1, NULL), -FI_EINVAL);
    assert_int_equal(look(receiver, FI_DISCARD, &got, 1, &context), -FI_EINVAL);
    assert_int_equal(look(receiver, FI_PEEK | FI_CLAIM | FI_DISCARD, &got, 1, &context),
                     -FI_EINVAL);
    assert_int_equal(look(receiver, FI_PEEK | FI_TRIGGER, &got, 1, &context), -FI_EBADFLAGS);
    assert_int_equal(look(receiver, FI_TRIGGER, &got, 1, &context), -FI_EBADFLAGS);
    assert_int_equal(look(receiver, FI_MULTI_RECV, &got, 1, &context), -FI_EINVAL);
}

PAIR_TEST(fi_trecv__message_longer_than_the_buffer)
{
    const struct side *sender = &pair->sides[0];
    char got[4] = "";

    assert_int_equal(fi_trecv(pair->sides[1].ep, got, 3, NULL, FI_ADDR_UNSPEC, 7, 0, got), 0);
    assert_int_equal(fi_tinject(sender->ep, "abcdefgh", 8, sender->other, 7), 0);
    struct fi_cq_err_entry error = failed(pair, 1);
    assert_int_equal(error.err, FI_ETRUNC);
    assert_ptr_equal(error.op_context, got);
    assert_int_equal(error.len, 3);
    assert_int_equal(error.olen, 5);
    assert_string_equal(got, "abc");
}

TEST(fi_trecv__directed_takes_only_from_its_peer)
{
    struct pair *pair =
        open_pair(&(struct pair_options){.caps = FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE});
    struct side *receiver = &pair->sides[1];
    struct side third = {0};
    struct fi_cq_tagged_entry entry;
    fi_addr_t source = FI_ADDR_NOTAVAIL;
    fi_addr_t first = receiver->other;
    char got = 0;
    ssize_t count = 0;
    time_t start = time(NULL);

    open_side(&third, "end0", &(struct pair_options){.caps = FI_TAGGED});
    introduce(receiver, &third);
    assert_int_equal(fi_trecv(receiver->ep, &got, 1, NULL, receiver->other, 7, 0, &third), 0);
    assert_int_equal(fi_trecv(receiver->ep, &got, 1, NULL, first, 7, 0, &got), 0);
    assert_int_equal(fi_tinject(pair->sides[0].ep, "a", 1, pair->sides[0].other, 7), 0);
    while ((count = fi_cq_readfrom(receiver->cq, &entry, 1, &source)) == -FI_EAGAIN) {
        assert_false(is_late(start));
        drive(&pair->sides[0]);
    }
    assert_int_equal(count, 1);
    assert_ptr_equal(entry.op_context, &got);
    assert_int_equal(source, first);
    assert_int_equal(fi_trecv(receiver->ep, &got, 1, NULL, 77, 7, 0, &got), -FI_EINVAL);
    close_side(&third);
    close_pair(pair);
}
