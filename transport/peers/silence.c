/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a peer may be silent. A stopped process (by a signal, a debugger, a batch system, or
 * swapping) does not count as silent while its host answers, because the host would report the end
 * of the process. */
#include "core/core_internal.h"
#include "peers/peers.h"

uint64_t core_counted_absence(const struct core *core)
{
    uint64_t part_ns = core->options.peer_timeout_ns / 8;

    return part_ns > ABSENCE_COUNTED_NS ? part_ns : ABSENCE_COUNTED_NS;
}

static uint64_t later(uint64_t since_ns, uint64_t by_ns, uint64_t now_ns)
{
    if (since_ns == 0) {
        return 0; /* nothing is awaited */
    }
    return now_ns - since_ns < by_ns ? now_ns : since_ns + by_ns;
}

/** Since when the owner of the core has been late. */
static uint64_t late_since(const struct core *core)
{
    return core->deadline_ns > core->attended_ns ? core->deadline_ns : core->attended_ns;
}

void core_attend(struct core *core, uint64_t now_ns)
{
    uint64_t since_ns = late_since(core);

    if (since_ns < now_ns && now_ns - since_ns > core_counted_absence(core)) {
        core_forgive_absence(core, now_ns - since_ns, now_ns);
    }
    core->attended_ns = now_ns;
}

/** Does not count this much past time as silence of the peer. */
static void forgive(struct core_peer *peer, uint64_t by_ns, uint64_t now_ns)
{
    struct flow *flow = &peer->message.flow;

    peer->connection.asking_since_ns = later(peer->connection.asking_since_ns, by_ns, now_ns);
    peer->connection.answered_ns = later(peer->connection.answered_ns, by_ns, now_ns);
    flow->waiting_since_ns = later(flow->waiting_since_ns, by_ns, now_ns);
    flow->stuck_since_ns = later(flow->stuck_since_ns, by_ns, now_ns);
    peer->message.data_silent_since_ns = later(peer->message.data_silent_since_ns, by_ns, now_ns);
}

void core_forgive_absence(struct core *core, uint64_t absence_ns, uint64_t now_ns)
{
    uint64_t by_ns = absence_ns - core_counted_absence(core);

    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct doubt *doubt = core->peers[i]->doubt;
        forgive(core->peers[i], by_ns, now_ns);
        if (doubt != NULL) {
            doubt->suspicion.since_ns = later(doubt->suspicion.since_ns, absence_ns, now_ns);
        }
    }
}

/** The time after this many timeouts. @param since_ns 0: not begun */
static uint64_t end_of(const struct core *core, uint64_t since_ns, unsigned timeouts)
{
    uint64_t patience_ns = core->options.peer_timeout_ns;

    if (since_ns == 0 || patience_ns > (UINT64_MAX - since_ns) / timeouts) {
        return UINT64_MAX;
    }
    return since_ns + timeouts * patience_ns;
}

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/** When requested data of a peer that answers has been missing for too long. */
static uint64_t unserved_at(const struct core *core, const struct message_peer *peer)
{
    return peer->pulls > 0 && peer->flow.unanswered == 0
               ? end_of(core, peer->data_silent_since_ns, PULL_STUCK_TIMEOUTS)
               : UINT64_MAX;
}

uint64_t core_dies_at(const struct core *core, const struct core_peer *peer)
{
    const struct flow *flow = &peer->message.flow;

    switch (peer->connection.state) {
    case CONNECTION_ASKING:
        return end_of(core, peer->connection.asking_since_ns, 1);
    case CONNECTION_ANSWERED:
        return sooner(end_of(core, peer->connection.asking_since_ns, 1),
                      end_of(core, peer->connection.answered_ns, HALF_OPEN_TIMEOUTS));
    case CONNECTION_OPEN:
        if (!paths_is_proven(&peer->route.paths)) {
            return end_of(core, peer->connection.answered_ns, HALF_OPEN_TIMEOUTS);
        }
        return sooner(sooner(end_of(core, flow->waiting_since_ns, 1),
                             end_of(core, flow_stuck_since(flow), 1)),
                      unserved_at(core, &peer->message));
    default:
        return UINT64_MAX;
    }
}

/* ---- stopped peers ------------------------------------------------------------------------- */

/** Since when the peer has not answered. 0: it owes no answer. */
static uint64_t silent_since(const struct core_peer *peer)
{
    switch (peer->connection.state) {
    case CONNECTION_ASKING:
    case CONNECTION_ANSWERED:
        return peer->connection.asking_since_ns;
    case CONNECTION_OPEN:
        return peer->message.flow.waiting_since_ns;
    default:
        return 0;
    }
}

/** The peer's host answers a question of that time. */
static void host_answers(struct core *core, struct core_peer *peer, uint64_t asked_ns,
                         uint64_t now_ns)
{
    struct stillness *stillness = &peer->doubt->stillness;
    uint64_t since_ns = silent_since(peer);

    if (since_ns == 0 || asked_ns <= since_ns) {
        return;
    }
    stillness->since_ns = stillness->since_ns != 0 ? stillness->since_ns : since_ns;
    if (peer->connection.asks &&
        now_ns >= end_of(core, stillness->since_ns, STILL_ASKING_TIMEOUTS)) {
        return; /* the process may be gone, or our frames may not arrive */
    }
    forgive(peer, asked_ns - since_ns, now_ns);
    if (!stillness->still && now_ns - stillness->since_ns >= core->options.peer_timeout_ns) {
        stillness->still = true;
        core->events += stillness->told ? UINT32_MAX : 1;
        core->counters.peers_stood_still++;
    }
}

/** @param lane_index the lane over which it was asked
 *  @param asked_ns when */
static void take_answer(struct core *core, struct core_peer *peer, unsigned lane_index,
                        enum lane_host answer, uint64_t asked_ns, uint64_t now_ns)
{
    if (answer == LANE_HOST_VOUCHES) {
        peer->route.paths.heard |= (uint16_t)(1u << lane_index);
    }
    /* If the peer was never heard on this lane, something may block its host's refusals. */
    if (answer != LANE_HOST_ASKED && (peer->route.paths.heard >> lane_index & 1) != 0 &&
        core_may_be_there(core, peer)) {
        host_answers(core, peer, asked_ns, now_ns);
    }
}

/** Asks the peer's host over all lanes that can. @return whether there is one. */
static bool ask_host(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    const struct path_lanes *lanes = &core->options.lanes;
    bool any = false;

    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        bool vouched = (peer->route.paths.heard >> i & 1) != 0;
        if (lane->operations->ask_host == NULL || !core_may_ask_over(core, peer, i)) {
            continue;
        }
        if (paths_is_for_all(lanes, i)) {
            core_ask_over(core, peer, i); /* first, so that both may be refused */
        }
        any = true;
        core->counters.hosts_asked++;
        core_call_witness(core, peer, i);
        enum lane_host answer = lane->operations->ask_host(lane, &peer->route.paths.to[i],
                                                           peer->message.handle, !vouched);
        take_answer(core, peer, i, answer, now_ns, now_ns);
    }
    return any;
}

void core_ask_host(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    uint64_t since_ns = silent_since(peer);
    uint64_t patience_ns = core->options.peer_timeout_ns;

    if (since_ns == 0 || patience_ns > INT64_MAX ||
        (peer->route.seal == NULL && core_is_refused_by_host(peer))) {
        return; /* no limit, or no need to ask, or its kernel has answered */
    }
    uint64_t retry_ns = patience_ns / 4 < STILL_RETRY_NS ? patience_ns / 4 : STILL_RETRY_NS;
    uint64_t asked_ns = core_is_doubted(peer) ? peer->doubt->stillness.asked_ns : 0;
    uint64_t at_ns = asked_ns > since_ns ? asked_ns + retry_ns : since_ns + patience_ns / 2;
    if (now_ns >= at_ns) {
        struct doubt *doubt = core_doubt(peer);
        if (doubt == NULL) {
            return;
        }
        doubt->stillness.asked_ns = now_ns;
        at_ns = now_ns + retry_ns;
        if (!ask_host(core, peer, now_ns)) {
            return;
        }
        if (core->hosts_look_ns == 0) {
            core->hosts_look_ns = now_ns + retry_ns / 2;
        }
        core_note_deadline(core, core->hosts_look_ns);
    }
    core_note_deadline(core, at_ns);
}

void core_hear_hosts(struct core *core, uint64_t now_ns)
{
    const struct path_lanes *lanes = &core->options.lanes;
    uint32_t index = 0;

    core->hosts_look_ns = 0;
    core_notice_lost(core, true, now_ns); /* first takes refusals, which are no answers */
    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        enum lane_host answer = LANE_HOST_ASKED;
        while (lane->operations->host_answer != NULL &&
               (answer = lane->operations->host_answer(lane, &index)) != LANE_HOST_ASKED) {
            struct core_peer *peer = core_peer_at(core, index);
            uint64_t asked_ns =
                peer != NULL && core_is_doubted(peer) ? peer->doubt->stillness.asked_ns : 0;
            if (asked_ns != 0) {
                take_answer(core, peer, i, answer, asked_ns, now_ns);
            }
        }
    }
}
