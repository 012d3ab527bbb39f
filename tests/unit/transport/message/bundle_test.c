/* SPDX-License-Identifier: BSD-3-Clause */
#include "message/bundle.h"

#include "simulation/cluster.h"
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND UINT64_C(1000000)

/** Two nodes; node 0 knows node 1 and has an open connection to it. */
struct pair {
    struct cluster cluster;
    struct message_layer *from;
    struct message_layer *to;
    struct core_peer *peer;
};

static void run(struct pair *pair)
{
    cluster_run(&pair->cluster, cluster_now(&pair->cluster) + 10 * MILLISECOND);
}

static int setup(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    if (pair == NULL) {
        return -1;
    }
    cluster_open(&pair->cluster, &wire);
    cluster_start(&pair->cluster, 0);
    cluster_start(&pair->cluster, 1);
    pair->from = &pair->cluster.nodes[0].core.messages;
    pair->to = &pair->cluster.nodes[1].core.messages;
    pair->peer = cluster_peer(&pair->cluster, 0, 1);
    assert_int_equal(cluster_send(&pair->cluster, 0, pair->peer, 0, 0, NULL, 0, NULL), 0);
    run(pair);
    struct beowire_completion done;
    assert_int_equal(cluster_receive(&pair->cluster, 1, NULL, 0, 0, NULL, 0, NULL), 0);
    assert_true(message_complete(pair->from, &done));
    assert_true(message_complete(pair->to, &done));
    *state = pair;
    return 0;
}

static int teardown(void **state)
{
    struct pair *pair = *state;

    cluster_close(&pair->cluster);
    free(pair);
    return 0;
}

#define PAIR_TEST(name) TEST_WITH(struct pair *pair, name, setup, teardown)

/** Sends messages 1 .. `count`, each of its number as tag and as its 4 bytes. */
static void send_many(struct pair *pair, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        assert_int_equal(cluster_inject(&pair->cluster, 0, pair->peer, i, i, &i, sizeof i), 0);
    }
}

/** Receives message `tag` and checks it. */
static void receive_one(struct pair *pair, uint32_t tag)
{
    struct beowire_completion done;
    uint32_t value = 0;

    assert_int_equal(cluster_receive(&pair->cluster, 1, NULL, tag, 0, &value, sizeof value, NULL),
                     0);
    assert_true(message_complete(pair->to, &done));
    assert_int_equal(done.status, 0);
    assert_int_equal(done.bytes, sizeof value);
    assert_int_equal(done.immediate, tag);
    assert_int_equal(value, tag);
}

PAIR_TEST(bundle__the_rest_waits_in_one_frame)
{
    uint64_t frames = pair->peer->message.flow.sent_frames;

    send_many(pair, HOLD_RUN_MIN + 5);
    assert_int_equal(pair->from->counters.bundles_sent, 1);
    assert_int_equal(pair->from->counters.bundled_messages, 5);
    assert_non_null(pair->peer->message.open_bundle);
    run(pair);
    assert_null(pair->peer->message.open_bundle);
    assert_int_equal(pair->peer->message.flow.sent_frames - frames, HOLD_RUN_MIN + 1);
    for (uint32_t tag = HOLD_RUN_MIN + 5; tag > 0; tag--) {
        receive_one(pair, tag); /* in any order, as they are asked for */
    }
    cluster_check_empty(&pair->cluster);
}

PAIR_TEST(bundle__full_frame_leaves)
{
    send_many(pair, HOLD_RUN_MIN + BUNDLE_MESSAGES_MAX + 1);
    assert_int_equal(pair->from->counters.bundles_sent, 2);
    assert_int_equal(pair->peer->message.open_messages, 1);
    assert_int_equal(pair->peer->message.flow.highest + 1, pair->peer->message.flow.next);
}

PAIR_TEST(bundle__order_is_kept_among_all_sizes)
{
    static uint8_t data[20000];
    uint8_t buffer[20000];
    const uint32_t sizes[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 300, 8, 20000, 8, 8, 5000, 1};
    const uint32_t count = sizeof sizes / sizeof *sizes;

    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(cluster_send(&pair->cluster, 0, pair->peer, 7, i, data, sizes[i], NULL),
                         0);
    }
    assert_true(pair->from->counters.bundled_messages > 0);
    for (uint32_t i = 0; i < count; i++) {
        struct beowire_completion done = {0};
        assert_int_equal(
            cluster_receive(&pair->cluster, 1, NULL, 7, 0, buffer, sizeof buffer, NULL), 0);
        run(pair);
        assert_true(message_complete(pair->to, &done));
        assert_int_equal(done.immediate, i);
        assert_int_equal(done.bytes, sizes[i]);
    }
}

PAIR_TEST(bundle__peer_fails_while_one_is_open)
{
    send_many(pair, HOLD_RUN_MIN + 3);
    assert_non_null(pair->peer->message.open_bundle);
    cluster_crash(&pair->cluster, 1);
    cluster_run(&pair->cluster, cluster_now(&pair->cluster) + 100000 * MILLISECOND);
    assert_int_not_equal(pair->peer->message.error, 0);
    assert_null(pair->peer->message.open_bundle);
    assert_true(list_is_empty(&pair->from->bundling));
    cluster_check(&pair->cluster);
}

/** Sends messages that fill frames and then a bundle; of those in the bundle every second is to be
 *  confirmed. Their contexts are the addresses of `marks`. */
static void bundle_some_confirmed(struct pair *pair, const char marks[6])
{
    struct beowire_completion done;

    send_many(pair, HOLD_RUN_MIN);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal((i % 2 == 0 ? cluster_send : cluster_send_confirmed)(
                             &pair->cluster, 0, pair->peer, 100 + i, 0, &marks[i], 1,
                             (void *)(uintptr_t)&marks[i]),
                         0);
    }
    assert_non_null(pair->peer->message.open_bundle);
    assert_int_equal(pair->from->counters.bundled_messages, 6);
    for (unsigned i = 0; i < 6; i += 2) {
        assert_true(message_complete(pair->from, &done));
        assert_ptr_equal(done.context, &marks[i]);
    }
    assert_false(message_complete(pair->from, &done));
}

PAIR_TEST(bundle__those_to_be_confirmed_end_with_their_frame)
{
    const char marks[] = "abcdef";
    struct beowire_completion done;

    bundle_some_confirmed(pair, marks);
    uint32_t last = pair->peer->message.flow.next;
    while (!message_has_completions(pair->from)) {
        assert_int_not_equal(pair->peer->message.flow.first, last);
        (void)cluster_step(&pair->cluster, UINT64_MAX);
    }
    assert_int_equal(pair->peer->message.flow.first, last);
    for (unsigned i = 1; i < 6; i += 2) {
        assert_true(message_complete(pair->from, &done));
        assert_int_equal(done.status, 0);
        assert_ptr_equal(done.context, &marks[i]);
    }
    assert_false(message_complete(pair->from, &done));
    cluster_check(&pair->cluster);
}

/** Hands a BUNDLE with this payload to node 1. */
static int arrive(struct pair *pair, const uint8_t *payload, uint32_t bytes)
{
    const struct frame frame = {.type = FRAME_BUNDLE, .payload = payload, .payload_bytes = bytes};
    struct core_peer *from = cluster_peer(&pair->cluster, 1, 0);

    return message_frame(pair->to, &from->message, &frame);
}

PAIR_TEST(bundle_arrive__payload_that_breaks_rules)
{
    uint8_t payload[(BUNDLE_MESSAGES_MAX + 1) * sizeof(struct frame_bundled)] = {0};
    struct frame_bundled *first = (struct frame_bundled *)(void *)payload;

    assert_int_equal(arrive(pair, payload, sizeof *first - 1), -EPROTO); /* half a header */
    first->bytes = to_le16(1);
    assert_int_equal(arrive(pair, payload, sizeof *first), -EPROTO); /* no data */
    first->bytes = to_le16(UINT16_MAX);
    assert_int_equal(arrive(pair, payload, sizeof payload), -EPROTO);
    first->bytes = to_le16(0);
    assert_int_equal(arrive(pair, payload, sizeof payload), -EPROTO); /* too many */
    assert_int_equal(pair->to->counters.unexpected_messages, 1);      /* the one of setup() */
}

/** In memory that is shared with its sender, which may alter it meanwhile (here: the first message
 *  is delivered over the second), it has no more messages than were counted. */
PAIR_TEST(bundle_arrive__payload_that_changes_under_way)
{
    enum { EMPTY = 2 * BUNDLE_MESSAGES_MAX };
    static uint8_t payload[2 * (1 + EMPTY) * sizeof(struct frame_bundled)];
    uint32_t part = sizeof payload / 2 - sizeof(struct frame_bundled);
    struct frame_bundled *first = (struct frame_bundled *)(void *)payload;
    struct frame_bundled *second = (struct frame_bundled *)(void *)(payload + sizeof payload / 2);

    memset(payload, 0, sizeof payload);
    first->tag = to_le64(7);
    first->bytes = to_le16((uint16_t)part);
    second->bytes = to_le16((uint16_t)part);
    assert_int_equal(cluster_receive(&pair->cluster, 1, NULL, 7, 0, second, part, NULL), 0);
    assert_int_equal(arrive(pair, payload, sizeof payload), 0);
    assert_int_equal(pair->to->counters.unexpected_messages, 2); /* and the one of setup() */
}

TEST(bundle_next__all_for_which_something_is_held_back)
{
    struct message_layer *layer = calloc(1, sizeof *layer);
    struct message_peer *peers = calloc(3, sizeof *peers);

    assert_non_null(layer);
    assert_non_null(peers);
    list_init(&layer->bundling);
    assert_false(message_holds(layer));
    assert_null(bundle_first(layer));
    for (unsigned i = 0; i < 3; i++) {
        bundle_gather(layer, &peers[i]);
    }
    bundle_gathered(layer, &peers[1]);
    assert_true(message_holds(layer));
    assert_ptr_equal(bundle_first(layer), &peers[0]);
    assert_ptr_equal(bundle_next(layer, &peers[0]), &peers[2]);
    assert_null(bundle_next(layer, &peers[2]));
    free(peers);
    free(layer);
}
