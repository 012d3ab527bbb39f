/* SPDX-License-Identifier: BSD-3-Clause */
#include "tipc_fake.h"

#include "lane/lane_type.h"
#include "tuning.h"

TEST_AROUND(tipc_lane_open__what_it_says_of_itself, fake_setup, NULL)
{
    struct lane *lane = open_on(NODE_A);

    assert_int_equal(lane->kind, LANE_TIPC);
    assert_true(lane->of_host);
    assert_false(lane->shares_memory);
    assert_false(lane->is_certain); /* an address is what its owner says */
    assert_true(lane->polling_is_costly);
    assert_int_equal(lane->frame_bytes, LANE_TIPC_FRAME_BYTES);
    assert_true(lane->capacity_bytes > 0 && lane->capacity_bytes <= 1u << 21);
    assert_int_equal(lane->operations->status(lane), 0);
    close_lane(lane);
}

TEST_AROUND(tipc_lane_open__a_kernel_without, fake_setup, NULL)
{
    static const int errors[] = {EAFNOSUPPORT, EMFILE, EPERM};
    struct lane *lane = NULL;

    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
        fake.error = errors[i];
        assert_int_equal(tipc_lane_open(&lane), -errors[i]);
    }
    fake.error = 0;
    fake.node = 0; /* no bearer */
    assert_int_equal(tipc_lane_open(&lane), -ENONET);
    assert_null(lane);
}

/** An address has room for four ways. */
TEST_AROUND(tipc_lane_type__beside_three_interfaces_at_most, fake_setup, NULL)
{
    struct lane_opening opening = {.rails = ADDRESS_RAILS};
    struct lane *lane = NULL;

    fake.node = NODE_A;
    assert_int_equal(tipc_lane_type.open(&opening, &lane), -EUSERS);
    opening.rails = ADDRESS_RAILS - 1;
    assert_int_equal(tipc_lane_type.open(&opening, &lane), 0);
    close_lane(lane);
    assert_true(tipc_lane_type.on_request);
}

/** Behind the interfaces, wherever they are after they have been matched; and whoever has none is
 *  not reached. */
TEST_AROUND(tipc_reach__those_that_have_it, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct address_layout address = {.rails = 1, .rail[0].mac = {2}};
    struct lane_address to;

    assert_int_equal(pair.a->operations->reach(pair.a, &address, &to), -EHOSTUNREACH);
    pair.b->operations->publish(pair.b, &address);
    struct address_rail moved = address.rail[0];
    address.rail[0] = address.rail[1];
    address.rail[1] = moved;
    assert_int_equal(pair.a->operations->reach(pair.a, &address, &to), 0);
    assert_memory_equal(&to, &pair.at_b, sizeof to);
    address.rails = 0;
    assert_int_equal(pair.a->operations->reach(pair.a, &address, &to), -EHOSTUNREACH);
    close_pair(&pair);
}

TEST_AROUND(tipc_send__a_message_each, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    static uint8_t rooms[FLOW_BATCH_FRAMES + 1][LANE_HEADROOM + HEAD_BYTES];
    struct lane_outgoing frames[FLOW_BATCH_FRAMES + 1];
    struct lane_incoming incoming[FLOW_BATCH_FRAMES + 1];
    unsigned got = 0;

    for (unsigned i = 0; i <= FLOW_BATCH_FRAMES; i++) {
        memset(rooms[i], (int)i, sizeof rooms[i]);
        frames[i] =
            (struct lane_outgoing){.head = rooms[i] + LANE_HEADROOM, .head_bytes = HEAD_BYTES};
    }
    assert_int_equal(pair.a->operations->send(pair.a, &pair.at_b, frames, FLOW_BATCH_FRAMES + 1),
                     FLOW_BATCH_FRAMES + 1);
    assert_int_equal(pair.a->sent_frames, FLOW_BATCH_FRAMES + 1);
    assert_int_equal(pair.a->sent_calls, 2);
    assert_int_equal(pair.a->sent_bytes, HEAD_BYTES * (FLOW_BATCH_FRAMES + 1));
    while (got <= FLOW_BATCH_FRAMES) {
        unsigned some = pair.b->operations->receive(pair.b, incoming, FLOW_BATCH_FRAMES);
        assert_true(some > 0);
        for (unsigned i = 0; i < some; i++) {
            assert_int_equal(incoming[i].bytes, HEAD_BYTES);
            assert_int_equal(incoming[i].data[HEAD_BYTES - 1], got++);
            assert_memory_equal(&incoming[i].from, &pair.at_a, sizeof pair.at_a);
        }
        pair.b->operations->release(pair.b);
    }
    close_pair(&pair);
}

TEST_AROUND(tipc_send__while_the_link_is_full, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();

    fake.link = 1;
    assert_int_equal(send_data(pair.a, &pair.at_b, 1, 0, 7, 1000), 1);
    assert_int_equal(send_data(pair.a, &pair.at_b, 1, 1, 7, 1000), 0);
    assert_int_equal(pair.a->sent_frames, 1);
    assert_int_equal(pair.a->refused_frames, 1);
    close_pair(&pair);
}

/** Nobody waits for what goes nowhere: it is lost, as on a wire. */
TEST_AROUND(tipc_send__where_no_link_leads, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct lane_incoming incoming;
    struct lane_loss loss;

    fake.apart = NODE_B;
    assert_int_equal(send_data(pair.a, &pair.at_b, 1, 0, 7, 1000), 1);
    fake.apart = 0;
    fake.wrong = EINVAL;
    assert_int_equal(send_data(pair.a, &pair.at_b, 1, 1, 7, 1000), 1);
    assert_int_equal(send_data(pair.a, &pair.at_b, 1, 2, 7, 1000), 1);
    assert_int_equal(pair.b->operations->receive(pair.b, &incoming, 1), 1);
    assert_int_equal(frame_data_segment((const void *)incoming.data), 2);
    assert_int_equal(pair.a->operations->receive(pair.a, &incoming, 1), 0);
    assert_false(pair.a->operations->lost(pair.a, &loss));
    close_pair(&pair);
}

/** A host that is there says so, of whichever process; one that is not says nothing. */
TEST_AROUND(tipc_ask_host__what_is_for_nobody_comes_back, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct lane_incoming incoming;
    struct lane_loss loss;
    uint32_t mark = 0;

    assert_int_equal(pair.a->operations->ask_host(pair.a, &pair.at_b, 77, true), LANE_HOST_ASKED);
    assert_int_equal(pair.a->operations->receive(pair.a, &incoming, 1), 0);
    assert_int_equal(pair.a->operations->host_answer(pair.a, &mark), LANE_HOST_VOUCHES);
    assert_int_equal(mark, 77);
    assert_int_equal(pair.a->operations->host_answer(pair.a, &mark), LANE_HOST_ASKED);
    assert_false(pair.a->operations->lost(pair.a, &loss)); /* it says nothing of the process */
    fake.apart = NODE_B;
    assert_int_equal(pair.a->operations->ask_host(pair.a, &pair.at_b, 78, false), LANE_HOST_ASKED);
    assert_int_equal(pair.a->operations->receive(pair.a, &incoming, 1), 0);
    assert_int_equal(pair.a->operations->host_answer(pair.a, &mark), LANE_HOST_ASKED);
    close_pair(&pair);
}

TEST_AROUND(tipc_status__counts_what_found_no_room, fake_setup, NULL)
{
    struct lane *lane = open_on(NODE_A);

    fake.drops = 3;
    assert_int_equal(lane->operations->status(lane), 0);
    assert_int_equal(lane->operations->status(lane), 0);
    assert_int_equal(lane->dropped_frames, 3);
    close_lane(lane);
}
