/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

static void send_and_receive(size_t bytes, bool unexpected)
{
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];
    const struct side *receiver = &pair->sides[1];
    uint8_t *sent = pattern(bytes, 1);
    uint8_t *got = calloc(1, bytes + 1);
    char contexts[2];

    assert_non_null(got);
    if (unexpected) {
        assert_int_equal(fi_tsend(sender->ep, sent, bytes, NULL, sender->other, 7, &contexts[0]),
                         0);
        let_arrive(pair, 0);
    }
    assert_int_equal(
        fi_trecv(receiver->ep, got, bytes + 1, NULL, FI_ADDR_UNSPEC, 7, 0, &contexts[1]), 0);
    if (!unexpected) {
        assert_int_equal(fi_tsend(sender->ep, sent, bytes, NULL, sender->other, 7, &contexts[0]),
                         0);
        struct fi_cq_tagged_entry out = completed(pair, 0);
        assert_ptr_equal(out.op_context, &contexts[0]);
        assert_int_equal(out.flags, FI_SEND | FI_TAGGED);
    }
    struct fi_cq_tagged_entry in = completed(pair, 1);
    assert_ptr_equal(in.op_context, &contexts[1]);
    assert_int_equal(in.flags, FI_RECV | FI_TAGGED);
    assert_int_equal(in.len, bytes);
    assert_int_equal(in.tag, 7);
    assert_memory_equal(got, sent, bytes);
    close_pair(pair);
    free(sent);
    free(got);
}

TEST(fi_tsend__of_each_size)
{
    send_and_receive(0, false);
    send_and_receive(8, false);
    send_and_receive(1500, false);
    send_and_receive(16384, false);
    send_and_receive(1000003, false);
}

TEST(fi_tsend__short_and_unexpected)
{
    send_and_receive(8, true);
}

PAIR_TEST(fi_tsenddata__comes_with_its_data)
{
    const struct side *sender = &pair->sides[0];
    char got = 0;

    assert_int_equal(fi_trecv(pair->sides[1].ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
    assert_int_equal(fi_trecv(pair->sides[1].ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
    assert_int_equal(fi_tsenddata(sender->ep, "a", 1, NULL, UINT32_MAX, sender->other, 1, NULL), 0);
    assert_int_equal(fi_tinjectdata(sender->ep, "b", 1, 5, sender->other, 1), 0);
    struct fi_cq_tagged_entry in = completed(pair, 1);
    assert_int_equal(in.flags, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
    assert_int_equal(in.data, UINT32_MAX);
    assert_int_equal(in.tag, 1);
    assert_int_equal(completed(pair, 1).data, 5);
    /* More than the 4 bytes that were promised cannot be sent. */
    assert_int_equal(
        fi_tsenddata(sender->ep, "a", 1, NULL, UINT64_C(1) << 32, sender->other, 1, NULL),
        -FI_EINVAL);
}

PAIR_TEST(fi_tsendv__parts_become_one)
{
    const struct side *sender = &pair->sides[0];
    char first[3];
    char second[10];
    const struct iovec out[] = {{"abc", 3}, {"", 0}, {"defgh", 5}};
    const struct iovec in[] = {{first, sizeof first}, {second, sizeof second}};

    assert_int_equal(fi_trecvv(pair->sides[1].ep, in, NULL, 2, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
    assert_int_equal(fi_tsendv(sender->ep, out, NULL, 3, sender->other, 1, NULL), 0);
    assert_int_equal(completed(pair, 1).len, 8);
    assert_memory_equal(first, "abc", 3);
    assert_memory_equal(second, "defgh", 5);
    assert_int_equal(fi_tsendv(sender->ep, out, NULL, sender->info->tx_attr->iov_limit + 1,
                               sender->other, 1, NULL),
                     -FI_EINVAL);
}

TEST(fi_tsendmsg__flags_decide)
{
    struct pair *pair = open_pair(&(struct pair_options){.cq_flags = FI_SELECTIVE_COMPLETION});
    const struct side *sender = &pair->sides[0];
    char got[2] = "";
    struct iovec part = {got, 1};
    struct fi_msg_tagged message = {
        .msg_iov = &part, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 4, .context = got};

    assert_int_equal(fi_trecvmsg(pair->sides[1].ep, &message, FI_COMPLETION), 0);
    part.iov_base = "z";
    message.addr = sender->other;
    message.data = 3;
    assert_int_equal(fi_tsendmsg(sender->ep, &message, FI_REMOTE_CQ_DATA), 0);
    assert_int_equal(completed(pair, 1).data, 3);
    assert_int_equal(got[0], 'z');
    /* The send was not to be reported; the next one is. */
    message.context = &pair;
    assert_int_equal(fi_tsendmsg(sender->ep, &message, FI_COMPLETION | FI_INJECT), 0);
    assert_ptr_equal(completed(pair, 0).op_context, &pair);
    assert_int_equal(fi_tsendmsg(sender->ep, &message, FI_TRIGGER), -FI_EBADFLAGS);
    assert_int_equal(fi_tsendmsg(sender->ep, &message, FI_FENCE), -FI_EBADFLAGS);
    close_pair(pair);
}

PAIR_TEST(fi_trecv__takes_only_its_tag)
{
    const struct side *sender = &pair->sides[0];
    char got[2] = "";

    assert_int_equal(
        fi_trecv(pair->sides[1].ep, &got[0], 1, NULL, FI_ADDR_UNSPEC, 0x102, 0, &got[0]), 0);
    assert_int_equal(
        fi_trecv(pair->sides[1].ep, &got[1], 1, NULL, FI_ADDR_UNSPEC, 0x100, 0xFF, &got[1]), 0);
    assert_int_equal(fi_tinject(sender->ep, "a", 1, sender->other, 0x105), 0);
    struct fi_cq_tagged_entry in = completed(pair, 1);
    assert_ptr_equal(in.op_context, &got[1]);
    assert_int_equal(in.tag, 0x105);
    assert_int_equal(fi_tinject(sender->ep, "b", 1, sender->other, 0x102), 0);
    assert_ptr_equal(completed(pair, 1).op_context, &got[0]);
    /* Two bits of the 64 are not the user's. */
    assert_int_equal(fi_tinject(sender->ep, "b", 1, sender->other, UINT64_C(1) << 62), -FI_EINVAL);
    assert_int_equal(fi_tinject(sender->ep, "b", 1, sender->other, UINT64_C(1) << 63), -FI_EINVAL);
    assert_int_equal(
        fi_trecv(pair->sides[1].ep, got, 1, NULL, FI_ADDR_UNSPEC, UINT64_C(1) << 62, 0, NULL),
        -FI_EINVAL);
}
