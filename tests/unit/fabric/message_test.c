/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

PAIR_TEST(fi_send__is_apart_from_tagged)
{
    const struct side *sender = &pair->sides[0];
    char got[2] = "";

    assert_int_equal(
        fi_trecv(pair->sides[1].ep, &got[0], 1, NULL, FI_ADDR_UNSPEC, 0, UINT64_MAX, &got[0]), 0);
    assert_int_equal(fi_recv(pair->sides[1].ep, &got[1], 1, NULL, FI_ADDR_UNSPEC, &got[1]), 0);
    assert_int_equal(fi_send(sender->ep, "m", 1, NULL, sender->other, NULL), 0);
    struct fi_cq_tagged_entry in = completed(pair, 1);
    assert_ptr_equal(in.op_context, &got[1]);
    assert_int_equal(in.flags, FI_RECV | FI_MSG);
    assert_int_equal(in.tag, 0);
    assert_int_equal(completed(pair, 0).flags, FI_SEND | FI_MSG);
    assert_int_equal(fi_tinject(sender->ep, "t", 1, sender->other, 3), 0);
    assert_ptr_equal(completed(pair, 1).op_context, &got[0]);
    assert_memory_equal(got, "tm", 2);
}

PAIR_TEST(fi_sendv__and_data)
{
    const struct side *sender = &pair->sides[0];
    char got[8] = "";
    struct iovec in[] = {{got, 4}, {got + 4, 4}};
    const struct iovec out[] = {{"ab", 2}, {"cdef", 4}};

    assert_int_equal(fi_recvv(pair->sides[1].ep, in, NULL, 2, FI_ADDR_UNSPEC, NULL), 0);
    assert_int_equal(fi_sendv(sender->ep, out, NULL, 2, sender->other, NULL), 0);
    assert_int_equal(completed(pair, 1).len, 6);
    assert_string_equal(got, "abcdef");
    assert_int_equal(fi_recv(pair->sides[1].ep, got, 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
    assert_int_equal(fi_senddata(sender->ep, "x", 1, NULL, 9, sender->other, NULL), 0);
    struct fi_cq_tagged_entry with_data = completed(pair, 1);
    assert_int_equal(with_data.data, 9);
    assert_int_equal(with_data.flags, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA);
    assert_int_equal(fi_recv(pair->sides[1].ep, got, 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
    assert_int_equal(fi_injectdata(sender->ep, "y", 1, 10, sender->other), 0);
    assert_int_equal(completed(pair, 1).data, 10);
}

/** Posts a buffer that takes message after message. */
static void post_multi(const struct side *side, void *buffer, size_t bytes, size_t min)
{
    const struct iovec part = {buffer, bytes};
    const struct fi_msg message = {
        .msg_iov = &part, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buffer};

    assert_int_equal(
        fi_setopt(&side->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof min), 0);
    assert_int_equal(fi_recvmsg(side->ep, &message, FI_MULTI_RECV), 0);
}

TEST(fi_recvmsg__a_buffer_for_many_messages)
{
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];
    uint8_t buffer[3000];
    uint8_t *sent = pattern(700, 0);

    post_multi(&pair->sides[1], buffer, sizeof buffer, 1000);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fi_inject(sender->ep, sent, 700, sender->other), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        struct fi_cq_tagged_entry in = completed(pair, 1);
        assert_ptr_equal(in.op_context, buffer);
        assert_ptr_equal(in.buf, buffer + (size_t)700 * i);
        assert_int_equal(in.len, 700);
        assert_memory_equal(in.buf, sent, 700);
        /* After three, 900 bytes are left, which are too few. */
        assert_int_equal(in.flags & FI_MULTI_RECV, i == 2 ? FI_MULTI_RECV : 0);
    }
    close_pair(pair);
    free(sent);
}

TEST(fi_recvmsg__messages_go_on_to_the_next_buffer)
{
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];
    uint8_t buffers[2][1500];
    uint8_t *sent = pattern(1000, 0);

    post_multi(&pair->sides[1], buffers[0], sizeof buffers[0], 1000);
    post_multi(&pair->sides[1], buffers[1], sizeof buffers[1], 1000);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fi_inject(sender->ep, sent, 1000, sender->other), 0);
        struct fi_cq_tagged_entry in = completed(pair, 1);
        assert_ptr_equal(in.buf, buffers[i]);
        assert_true((in.flags & FI_MULTI_RECV) != 0);
    }
    close_pair(pair);
    free(sent);
}

PAIR_TEST(fi_cancel__a_buffer_for_many_messages)
{
    uint8_t buffer[1000];

    post_multi(&pair->sides[1], buffer, sizeof buffer, 100);
    assert_int_equal(fi_cancel(&pair->sides[1].ep->fid, buffer), 0);
    struct fi_cq_err_entry error = failed(pair, 1);
    assert_int_equal(error.err, FI_ECANCELED);
    assert_ptr_equal(error.op_context, buffer);
    assert_true((error.flags & FI_MULTI_RECV) != 0);
}

/** It has a message already, and ends with that. */
TEST(fi_cancel__a_buffer_that_is_being_filled)
{
    struct pair *pair = open_default_pair();
    const size_t bytes = 16 << 20;
    uint8_t *sent = pattern(bytes, 1);
    uint8_t *buffer = calloc(2, bytes);

    assert_non_null(buffer);
    let_arrive(pair, 0);
    post_multi(&pair->sides[1], buffer, 2 * bytes, 1);
    assert_int_equal(fi_send(pair->sides[0].ep, sent, bytes, NULL, pair->sides[0].other, sent), 0);
    let_begin(pair, buffer);
    assert_int_equal(fi_cancel(&pair->sides[1].ep->fid, buffer), 0);
    struct fi_cq_tagged_entry in = completed(pair, 1);
    assert_ptr_equal(in.op_context, buffer);
    assert_int_equal(in.len, bytes);
    assert_true((in.flags & FI_MULTI_RECV) != 0);
    assert_memory_equal(buffer, sent, bytes);
    close_pair(pair);
    free(sent);
    free(buffer);
}
