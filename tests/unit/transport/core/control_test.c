/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/control.h"

#include "stranger.h"

static struct core_peer *known(struct stranger *stranger)
{
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    return peer;
}

/** A peer with which frames of this length were agreed on. */
static struct core_peer *agreed_on(struct stranger *stranger, uint32_t bytes)
{
    struct core_peer *peer = known(stranger);

    peer->connection.peer_key = STRANGER_KEY;
    peer->data_bytes = bytes;
    peer->frame_bytes = bytes;
    return peer;
}

/** Whoever has asked may not be who the address belongs to. */
STRANGER_TEST(control_send_accept__is_no_longer_than_what_asked)
{
    struct core_peer *peer = agreed_on(stranger, 1300);

    control_send_accept(stranger->core, peer, 0, 1290);
    pass(stranger, 1000000);
    (void)hear_type(stranger, FRAME_ACCEPT);
    assert_int_equal(stranger->heard_bytes, 1290);
    peer->data_bytes = 2000; /* nor than the lane carries */
    peer->frame_bytes = 2000;
    control_send_accept(stranger->core, peer, 0, 2000);
    pass(stranger, 1000000);
    (void)hear_type(stranger, FRAME_ACCEPT);
    assert_int_equal(stranger->heard_bytes, 1500);
}

STRANGER_TEST(control_send_reset__no_more_than_so_many_in_a_second)
{
    const struct frame refused = {.type = FRAME_ACK};
    const struct core_counters *counters = &stranger->core->counters;

    for (unsigned i = 0; i < ENDPOINT_RESETS_PER_SECOND + 10; i++) {
        control_send_reset(stranger->core, &refused,
                           &(struct arrival){.address = sim_address(1, 0)}, FRAME_RESET_UNKNOWN,
                           7 * UINT64_C(1000000000) + i);
    }
    assert_int_equal(counters->sent[FRAME_RESET], ENDPOINT_RESETS_PER_SECOND);
    assert_int_equal(counters->resets_suppressed, 10);
    control_send_reset(stranger->core, &refused, &(struct arrival){.address = sim_address(1, 0)},
                       FRAME_RESET_UNKNOWN, 8 * UINT64_C(1000000000));
    assert_int_equal(counters->sent[FRAME_RESET], ENDPOINT_RESETS_PER_SECOND + 1);
}
