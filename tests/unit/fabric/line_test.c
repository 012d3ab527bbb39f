/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

enum { MESSAGE = 100, FIT = 4, BUFFER = MESSAGE * FIT };

/** Posts a buffer for many messages, its own context. */
static void post_buffer(const struct side *side, uint8_t *buffer, fi_addr_t from)
{
    size_t min = MESSAGE;
    struct iovec part = {buffer, BUFFER};
    struct fi_msg message = {.msg_iov = &part, .iov_count = 1, .addr = from, .context = buffer};

    assert_int_equal(
        fi_setopt(&side->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof min), 0);
    assert_int_equal(fi_recvmsg(side->ep, &message, FI_MULTI_RECV), 0);
}

static void send_numbered(const struct side *sender, unsigned number)
{
    uint8_t data[MESSAGE];

    memset(data, (int)number, sizeof data);
    assert_int_equal(fi_inject(sender->ep, data, sizeof data, sender->other), 0);
}

/** The next message has this number, and is where it belongs; is it the buffer's last? */
static void expect(struct pair *pair, unsigned number, const uint8_t *place, bool last)
{
    struct fi_cq_tagged_entry in = completed(pair, 1);

    assert_ptr_equal(in.buf, place);
    assert_int_equal(in.len, MESSAGE);
    assert_int_equal(place[0], number);
    assert_int_equal((in.flags & FI_MULTI_RECV) != 0, last);
}

PAIR_TEST(buffers__are_filled_one_after_the_other)
{
    uint8_t buffers[3][BUFFER];

    for (unsigned i = 0; i < 3; i++) {
        post_buffer(&pair->sides[1], buffers[i], FI_ADDR_UNSPEC);
    }
    /* All before anything is looked at, so that they arrive together. */
    for (unsigned i = 0; i < 3 * FIT; i++) {
        send_numbered(&pair->sides[0], i);
    }
    for (unsigned i = 0; i < 3 * FIT; i++) {
        expect(pair, i, buffers[i / FIT] + (size_t)(i % FIT) * MESSAGE, i % FIT == FIT - 1);
    }
}

PAIR_TEST(receives__between_buffers_keep_their_turn)
{
    uint8_t first[BUFFER];
    uint8_t single[MESSAGE];
    uint8_t second[BUFFER];

    post_buffer(&pair->sides[1], first, FI_ADDR_UNSPEC);
    assert_int_equal(
        fi_recv(pair->sides[1].ep, single, sizeof single, NULL, FI_ADDR_UNSPEC, single), 0);
    post_buffer(&pair->sides[1], second, FI_ADDR_UNSPEC);
    for (unsigned i = 0; i < FIT + 2; i++) {
        send_numbered(&pair->sides[0], i);
    }
    for (unsigned i = 0; i < FIT; i++) {
        expect(pair, i, first + (size_t)i * MESSAGE, i == FIT - 1);
    }
    expect(pair, FIT, single, false);
    expect(pair, FIT + 1, second, false);
}

PAIR_TEST(tagged_receives__do_not_stand_in_line)
{
    const struct side *sender = &pair->sides[0];
    uint8_t buffer[BUFFER];
    uint8_t got[MESSAGE];

    post_buffer(&pair->sides[1], buffer, FI_ADDR_UNSPEC);
    assert_int_equal(fi_trecv(pair->sides[1].ep, got, sizeof got, NULL, FI_ADDR_UNSPEC, 7, 0, got),
                     0);
    assert_int_equal(fi_tinject(sender->ep, "a", 1, sender->other, 7), 0);
    assert_ptr_equal(completed(pair, 1).op_context, got);
}

PAIR_TEST(fi_cancel__in_line)
{
    uint8_t buffers[4][BUFFER];

    for (unsigned i = 0; i < 4; i++) {
        post_buffer(&pair->sides[1], buffers[i], FI_ADDR_UNSPEC);
    }
    /* One between others, the last, and then the one that holds up the rest. */
    const unsigned order[] = {1, 3, 0};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fi_cancel(&pair->sides[1].ep->fid, buffers[order[i]]), 0);
        struct fi_cq_err_entry error = failed(pair, 1);
        assert_int_equal(error.err, FI_ECANCELED);
        assert_ptr_equal(error.op_context, buffers[order[i]]);
        assert_true((error.flags & FI_MULTI_RECV) != 0);
    }
    send_numbered(&pair->sides[0], 5);
    expect(pair, 5, buffers[2], false);
}

/** As many receives as can be outstanding, in line or not, leave room for as many sends. */
TEST(receives__in_line_leave_room_for_sends)
{
    struct pair *pair = open_pair_with("FI_BEOWIRE_OPERATIONS", "8");
    struct side *side = &pair->sides[1];
    const size_t bytes = 1 << 20;
    uint8_t *sent = pattern(bytes, 1);
    uint8_t *got = calloc(1, bytes);
    uint8_t buffer[BUFFER];
    uint8_t single[8][MESSAGE];

    assert_non_null(got);
    post_buffer(side, buffer, FI_ADDR_UNSPEC);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(fi_recv(side->ep, single[i], MESSAGE, NULL, FI_ADDR_UNSPEC, single[i]),
                         i < 7 ? 0 : -FI_EAGAIN);
    }
    assert_int_equal(fi_trecv(pair->sides[0].ep, got, bytes, NULL, FI_ADDR_UNSPEC, 1, 0, got), 0);
    assert_int_equal(fi_tsend(side->ep, sent, bytes, NULL, side->other, 1, sent), 0);
    assert_ptr_equal(completed(pair, 0).op_context, got);
    assert_ptr_equal(completed(pair, 1).op_context, sent);
    assert_memory_equal(got, sent, bytes);
    close_pair(pair);
    free(sent);
    free(got);
}

PAIR_TEST(fi_close__with_receives_in_line)
{
    uint8_t buffers[2][BUFFER];

    post_buffer(&pair->sides[1], buffers[0], FI_ADDR_UNSPEC);
    post_buffer(&pair->sides[1], buffers[1], FI_ADDR_UNSPEC);
}

TEST(buffers__of_one_peer_hold_up_nobody)
{
    struct pair *pair = open_pair(&(struct pair_options){.caps = FI_MSG | FI_DIRECTED_RECV});
    struct side *receiver = &pair->sides[1];
    struct side third = {0};
    uint8_t directed[BUFFER];
    uint8_t any[MESSAGE];
    struct fi_cq_tagged_entry entry;
    time_t start = time(NULL);

    open_side(&third, "end0", &(struct pair_options){.caps = FI_MSG});
    uint8_t name[FI_NAME_MAX];
    size_t bytes = sizeof name;
    assert_int_equal(fi_getname(&receiver->ep->fid, name, &bytes), 0);
    assert_int_equal(fi_av_insert(third.av, name, 1, &third.other, 0, NULL), 1);
    post_buffer(receiver, directed, receiver->other);
    assert_int_equal(fi_recv(receiver->ep, any, sizeof any, NULL, FI_ADDR_UNSPEC, any), 0);
    send_numbered(&third, 9);
    while (fi_cq_read(receiver->cq, &entry, 1) != 1) {
        drive(&third);
        assert_false(is_late(start));
    }
    assert_ptr_equal(entry.op_context, any);
    assert_int_equal(any[0], 9);
    send_numbered(&pair->sides[0], 3);
    expect(pair, 3, directed, false);
    close_side(&third);
    close_pair(pair);
}
