/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ways to a peer are used: only those on which it has answered. */
#include "core/control.h"
#include "core/core_internal.h"
#include "stranger.h"

#define SECOND UINT64_C(1000000000)
#define RAILS 3

/** Two nodes with several networks between them; node 0 has sent a message, which has arrived. */
static struct core_peer *connected(struct cluster *cluster, uint32_t unplugged)
{
    static char byte;
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct beowire_completion done;

    wire.rails = RAILS;
    cluster_open(cluster, &wire);
    cluster_start(cluster, 0);
    cluster_start(cluster, 1);
    for (uint32_t rail = 0; rail < RAILS; rail++) {
        sim_wire_unplug(cluster->wire, 1, rail, (unplugged >> rail & 1) != 0);
    }
    struct core_peer *peer = cluster_peer(cluster, 0, 1);
    assert_int_equal(cluster_send(cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    assert_int_equal(cluster_receive(cluster, 1, NULL, 1, 0, &byte, 1, NULL), 0);
    cluster_run(cluster, cluster_now(cluster) + SECOND / 10);
    assert_true(cluster_take(cluster, 1, &done));
    assert_int_equal(done.status, 0);
    return peer;
}

static void core_service_paths__all_ways_are_tried_and_proven(void **state)
{
    struct cluster cluster;
    const struct core_peer *peer = connected(&cluster, 0);

    (void)state;
    assert_int_equal(peer->paths.proven, (1u << RAILS) - 1);
    assert_int_equal(cluster.nodes[1].core.peers[0]->paths.proven, (1u << RAILS) - 1);
    assert_int_equal(peer->challenge_at_ns, UINT64_MAX);
    assert_int_equal(cluster.nodes[0].core.counters.sent[FRAME_CHALLENGE], RAILS - 1);
    assert_int_equal(cluster.nodes[1].core.counters.sent[FRAME_RESPONSE], RAILS - 1);
    cluster_close(&cluster);
}

/** An address that another host has, too; a cable that is not plugged in: it costs a frame now and
 *  then, and nothing else. */
static void core_service_paths__one_that_leads_nowhere_is_not_used(void **state)
{
    struct cluster cluster;
    struct core_peer *peer = connected(&cluster, 1u << 1);
    uint64_t tried = cluster.nodes[0].core.counters.sent[FRAME_CHALLENGE];
    struct beowire_completion done;
    char byte = 0;

    (void)state;
    assert_int_equal(peer->paths.proven, 1 | 1u << 2);
    assert_int_equal(peer->message.usable_lanes & 1u << 1, 0);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(cluster_send(&cluster, 0, peer, 1, 0, "y", 1, NULL), 0);
        assert_int_equal(cluster_receive(&cluster, 1, NULL, 1, 0, &byte, 1, NULL), 0);
        cluster_run(&cluster, cluster_now(&cluster) + SECOND / 10);
        assert_true(cluster_take(&cluster, 1, &done));
    }
    assert_true(cluster.nodes[0].core.counters.sent[FRAME_CHALLENGE] - tried < 16);
    assert_int_equal(peer->paths.fast, 0);
    sim_wire_unplug(cluster.wire, 1, 1, false);
    cluster_run(&cluster, cluster_now(&cluster) + 121 * SECOND);
    assert_int_equal(peer->paths.proven, (1u << RAILS) - 1);
    cluster_close(&cluster);
}

/** The preferred way is not there when they connect: another is found, and left when it is. */
static void core_prove_path__the_preferred_one_comes_later(void **state)
{
    struct cluster cluster;
    const struct core_peer *peer = connected(&cluster, 1);

    (void)state;
    assert_true(peer->paths.fast != 0);
    assert_false(paths_has_proven(&peer->paths, 0));
    sim_wire_unplug(cluster.wire, 1, 0, false);
    cluster_run(&cluster, cluster_now(&cluster) + 121 * SECOND);
    assert_int_equal(peer->paths.fast, 0);
    cluster_close(&cluster);
}

/** The peer answers what was asked, as it came. */
static void core_receive__challenge_is_answered_with_its_number(void **state)
{
    struct stranger *stranger = *state;
    const struct frame_challenge body = {.number = to_le64(0x1234567890)};

    (void)be_accepted(stranger);
    say(stranger,
        &(struct says){.fields.type = FRAME_CHALLENGE, .body = &body, .padded_bytes = 1400});
    round_trip(stranger);
    assert_true(from_le64(hear_type(stranger, FRAME_RESPONSE)->challenge->number) == 0x1234567890);
}

/** Only the number that went that way proves it. */
static void core_receive__response_proves_one_way(void **state)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted(stranger);
    const struct core *core = stranger->core;
    struct frame_challenge body = {
        .number = to_le64(proof_challenge(core->proof_key, peer->connection.own_key, 1))};

    peer->paths.proven = 0;
    say(stranger, &(struct says){.fields.type = FRAME_RESPONSE, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->paths.proven, 0);
    body.number = to_le64(proof_challenge(core->proof_key, peer->connection.own_key, 0));
    say(stranger, &(struct says){.fields.type = FRAME_RESPONSE, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->paths.proven, 1);
}

/** A peer that has asked, and names places of others: no more goes there than three times what
 * came. */
static void control_send_challenge__no_more_than_thrice_what_came(void **state)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted(stranger);
    struct core *core = stranger->core;
    uint64_t sent;

    peer->paths.proven = 0;
    peer->allowance_bytes = 3200; /* two whole frames */
    for (unsigned i = 0; i < 100; i++) {
        control_send_challenge(core, peer, 0);
    }
    assert_int_equal(core->counters.sent[FRAME_CHALLENGE], 2);
    core_try_paths(core, peer);
    peer->challenge_at_ns = 1; /* some are being tried, so what comes counts */
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .padded_bytes = 46});
    round_trip(stranger);
    assert_int_equal(core->counters.sent[FRAME_CHALLENGE], 2);
    peer->announced = true; /* the application knows what it names */
    core->announced_peers++;
    sent = core->counters.sent[FRAME_CHALLENGE];
    control_send_challenge(core, peer, 0);
    assert_int_equal(core->counters.sent[FRAME_CHALLENGE], sent + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_service_paths__all_ways_are_tried_and_proven),
        cmocka_unit_test(core_service_paths__one_that_leads_nowhere_is_not_used),
        cmocka_unit_test(core_prove_path__the_preferred_one_comes_later),
        STRANGER_TEST(core_receive__challenge_is_answered_with_its_number),
        STRANGER_TEST(core_receive__response_proves_one_way),
        STRANGER_TEST(control_send_challenge__no_more_than_thrice_what_came),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
