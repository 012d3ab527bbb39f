/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include "core/control.h"
#include "core/core_internal.h"
#include "message/bundle.h"
#include "peers/peers.h"
#include "route/address.h"

#include <errno.h>
#include <string.h>

/** How often lanes that are down are asked again. */
#define LANES_LOOK_NS 100000000u

/** @param count a multiple of 8 */
static void fill_randomly(struct core *core, uint8_t *bytes, size_t count)
{
    for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
        uint64_t number = core->options.random(core->options.random_context);
        memcpy(bytes + at, &number, sizeof number);
    }
}

int core_open(struct core *core, const struct core_options *options)
{
    *core = (struct core){.options = *options, .deadline_ns = UINT64_MAX};
    core->routes = (struct routes){.lanes = &core->options.lanes, .sent = core->counters.sent};
    const struct address_layout *layout = address_layout(&core->options.address);
    core->incarnation = from_le64(layout->incarnation);
    core->endpoint = from_le16(layout->endpoint);
    core_bear_witness(core);
    fill_randomly(core, core->proof_key, sizeof core->proof_key);

    uint32_t frame_bytes = 0;
    for (unsigned i = 0; i < options->lanes.count; i++) {
        const struct lane *lane = options->lanes.lanes[i];
        frame_bytes = lane->frame_bytes > frame_bytes ? lane->frame_bytes : frame_bytes;
    }
    int status =
        message_open(&core->messages, options->operations, 2 * options->peers, frame_bytes);
    if (status != 0) {
        return status;
    }
    core->messages.grows = options->grow;
    if (options->limits != NULL) {
        core->messages.limits = *options->limits;
    }
    hold_init(&core->hold, core->messages.limits.hold_posts);
    core->turn_frames = UINT32_MAX;
    core->vain_ns = QUIET_LANE_VAIN_NS;
    core->messages.read_memory = core_read_memory;
    core->messages.withdraw_memory = core_withdraw_memory;
    core->messages.read_context = core;
    core_open_one_sided(core);
    for (unsigned i = 0; i < options->lanes.count; i++) {
        struct lane *lane = options->lanes.lanes[i];
        lane->verify = options->checksums;
        core->messages.lanes[i] = (struct message_lane){
            .kind = (uint8_t)lane->kind,
            .rail = lane->rail,
            .of_host = lane->of_host,
            .capacity_bytes = lane->capacity_bytes / 2,
        };
    }
    if (core_open_peers(core) != 0) {
        core_close(core);
        return -ENOMEM;
    }
    return 0;
}

void core_close(struct core *core)
{
    core_close_peers(core);
    message_close(&core->messages);
}

void core_reserve_credit(struct core *core, struct core_peer *peer)
{
    if (!peer->credit_reserved) {
        const struct lane *lane = core->options.lanes.lanes[peer->route.paths.fast];
        peer->first_credit = message_initial_credit(&core->messages, &peer->message,
                                                    lane->shares_memory ? 0 : lane->frame_bytes);
        peer->credit_reserved = true;
    }
}

/** Sends PROBE or CONNECT also over lanes other than `lane_index` and the usual one: over all of
 * them, or, if `refused`, over those whose kernel reports that a process has ended. */
static void ask_elsewhere(struct core *core, struct core_peer *peer, unsigned lane_index,
                          enum frame_type type, bool refused)
{
    const struct path_lanes *lanes = &core->options.lanes;
    bool suspected = core_is_suspected(peer); /* then suspicion.c asks, at longer intervals */

    for (unsigned i = 0; i < lanes->count; i++) {
        bool usable = type == FRAME_CONNECT ? paths_may_ask(&peer->route.paths, lanes, i)
                                            : paths_is_usable(&peer->route.paths, lanes, i);
        if (i == peer->route.paths.fast || i == lane_index || !paths_is_for_all(lanes, i) ||
            !usable || (refused && lanes->lanes[i]->operations->lost == NULL) ||
            (suspected && lanes->lanes[i]->operations->lost != NULL)) {
            continue;
        }
        if (type == FRAME_CONNECT) {
            core_ask_by(core, peer, i);
        } else if (refused) { /* a new number would ask the peer to use this lane */
            control_repeat_probe_by(core, peer, i);
        } else {
            control_send_probe_by(core, peer, i);
        }
    }
}

/** Asks whether frames have arrived. */
static void probe(struct core *core, struct core_peer *peer)
{
    const struct flow *flow = &peer->message.flow;
    uint8_t behind = convoy_lane_of(&peer->route.convoy, flow_probe_way(flow));

    if (behind == PATH_NONE) {
        control_send_probe(core, peer);
    } else {
        control_send_probe_by(core, peer, behind);
        if (paths_is_for_all(&core->options.lanes, behind)) { /* the usual lane does not fail */
            control_repeat_probe_by(core, peer, peer->route.paths.fast);
        }
    }
    ask_elsewhere(core, peer, behind, FRAME_PROBE, flow->unanswered < PATH_PATIENCE_PROBES);
}

/** A request is also answered over the lanes on which it arrived, because its sender may not
 * receive what we send over another. @return these lanes (bits), without the usual one. */
static unsigned take_asked_by(struct core_peer *peer)
{
    unsigned lanes = peer->asked_by & ~(1u << peer->route.paths.fast);

    peer->asked_by = 0;
    return lanes;
}

static void service_connection(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    if (peer->connection.state <= CONNECTION_ANSWERED && message_has_work(&peer->message)) {
        (void)core_ask(peer, now_ns);
    }
    if (connection_ask_due(&peer->connection, now_ns)) {
        core_reserve_credit(core, peer);
        core_ask_by(core, peer, peer->route.paths.fast);
        if (peer->connection.attempts > PATH_PATIENCE_CONNECTS) {
            ask_elsewhere(core, peer, PATH_NONE, FRAME_CONNECT, false);
        }
        core_expect_refusal(core, now_ns);
    }
    if (peer->connection.state == CONNECTION_OPEN) {
        core_service_paths(core, peer, now_ns);
    }
}

/** Is an answer of the peer awaited? A peer that has asked us, and that the application has not
 * named, is probed now and then, or it might never be freed. */
static bool awaits_word(struct core *core, const struct core_peer *peer, uint64_t now_ns)
{
    if (!peer->confirmed || message_depends_on(&peer->message)) {
        return true;
    }
    if (peer->announced) {
        return false;
    }
    if (now_ns < peer->heard_ns + PEER_QUIET_NS) {
        core_note_deadline(core, peer->heard_ns + PEER_QUIET_NS);
        return false;
    }
    return true;
}

/** For a peer that has not answered a probe, or is doubted. @return core_is_silent() from now on.
 */
__attribute__((noinline, cold)) static bool note_silence(struct core_peer *peer, uint64_t now_ns)
{
    uint64_t since_ns = peer->message.flow.waiting_since_ns;

    if (since_ns != 0 && now_ns > since_ns && now_ns - since_ns > SUSPICION_NS) {
        struct doubt *doubt = core_doubt(peer);
        if (doubt != NULL) {
            doubt->stillness.silent = true;
        }
    }
    return core_is_silent(peer);
}

static void service_flow(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    struct flow *flow = &peer->message.flow;
    uint32_t left = core->turn_frames;

    bundle_gathered(&core->messages, &peer->message);
    message_renew_credit(&core->messages, &peer->message);
    bool silent = __builtin_expect(flow->unanswered > 0 || peer->doubt != NULL, 0) &&
                  note_silence(peer, now_ns);
    if (silent) {
        flow_hold_back(flow, now_ns);
    } else {
        if (message_needs_pump(&peer->message)) {
            message_pump(&core->messages, &peer->message);
        }
        left = flow_transmit(flow, &core->routes, &peer->route, left, now_ns);
        peer->message.gathers = peer->route.gathers;
        if (core->routes.refusing != 0) {
            core_note_deadline(core, 0);
        }
    }
    message_take_back(&core->messages, &peer->message);
    if (!flow_awaits_answer(flow)) { /* otherwise it is probed anyway */
        bool waits = silent && message_has_work(&peer->message);
        flow_watch(flow, waits || awaits_word(core, peer, now_ns), now_ns);
    }
    unsigned due = flow_due(flow, now_ns);
    if ((due & FLOW_DUE_ACK) != 0) {
        control_send_ack(core, peer, take_asked_by(peer), now_ns);
    }
    if ((due & FLOW_DUE_PROBE) != 0) {
        if (flow->unanswered > 0) { /* without a carrier, frames are lost silently */
            core_check_lane(core, peer->route.paths.fast);
        }
        if (flow->backoff >= PATH_PATIENCE_PROBES && flow->unanswered == 0 &&
            flow->first != flow->highest) {
            core_try_another_path(core, peer, now_ns);
        }
        probe(core, peer);
        core_expect_refusal(core, now_ns);
        flow_timeout(flow, now_ns);
    }
    peer->message.waits_for_lane = !silent && flow_waits_for_lane(flow);
    if (left == 0) {
        core_touch(core, peer);
        core->goes_on = true;
    } else if (peer->message.waits_for_lane) {
        core_note_deadline(core, now_ns); /* the lane was busy: retry at the next progress */
    }
    if (message_has_work(&peer->message) && flow_has_room(flow)) {
        core_note_deadline(core, now_ns + FLOW_RTO_MIN_NS); /* other peers have all the frames */
    }
    core_note_deadline(core, flow_deadline(flow));
    if (flow->backoff > 0) {
        core_note_deadline(core, core_dies_at(core, peer)); /* the next probe may be later */
    }
}

void core_service(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    service_connection(core, peer, now_ns);
    if (peer->message.ready) {
        service_flow(core, peer, now_ns);
    } else {
        core_note_deadline(core, connection_deadline(&peer->connection));
        core_note_deadline(core, core_dies_at(core, peer));
    }
}

void core_service_touched(struct core *core, uint64_t now_ns)
{
    uint32_t count = core->touched_count;

    /* A peer with more to send than a turn allows is touched again, at most once in each place. */
    core->touched_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct core_peer *peer = core->peers[core->touched[i]];
        peer->touched = false;
        core_service(core, peer, now_ns);
    }
}

bool core_watch(struct core *core, struct core_peer *peer)
{
    struct flow *flow = &peer->message.flow;

    if (peer->message.ready && flow->timeout_at_ns == 0) {
        /* The time of the last frame is accurate enough, without reading the clock. */
        flow_watch(flow, true, core->messages.now_ns);
        core_note_deadline(core, flow->timeout_at_ns != 0 ? flow->timeout_at_ns : UINT64_MAX);
    }
    return connection_is_in_earnest(&peer->connection);
}

int core_cancel(struct core *core, const void *context)
{
    struct message_peer *message = NULL;
    int status = message_cancel(&core->messages, context, &message);

    if (message != NULL && !message_has_work(message) && !message_depends_on(message)) {
        struct core_peer *peer = core->peers[message->index];
        connection_relent(&peer->connection);
        core_drop_unwanted(core, peer);
    }
    return status;
}

void core_connect(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    (void)core_ask(peer, now_ns);
    core_service(core, peer, now_ns);
}

struct core_peer *core_taken(struct core *core, const struct beowire_completion *completion)
{
    if (completion->operation != BEOWIRE_PUT_ARRIVED) {
        return NULL; /* received messages have left the pile when they were matched */
    }
    struct core_peer *peer = core_peer_at(core, completion->peer);
    if (peer == NULL || !peer->message.ready) {
        return NULL;
    }
    message_renew_credit(&core->messages, &peer->message);
    return flow_grant_is_due(&peer->message.flow) ? peer : NULL;
}

/* ---- time ---------------------------------------------------------------------------------- */

/** Lanes that took no frame may be down; those that are down or narrowed may work again. */
static void look_for_lanes(struct core *core, uint64_t now_ns)
{
    uint32_t refusing = core->routes.refusing;
    bool due = now_ns - core->looked_for_lanes_ns >= LANES_LOOK_NS;

    core->routes.refusing = 0;
    core->looked_for_lanes_ns = due ? now_ns : core->looked_for_lanes_ns;
    for (unsigned i = 0; (due || refusing != 0) && i < core->options.lanes.count; i++) {
        const struct lane *lane = core->options.lanes.lanes[i];
        if ((refusing >> i & 1) != 0 ||
            (due && (core->options.lanes.down[i] || lane->narrowed_bytes != 0))) {
            core_check_lane(core, i);
        }
    }
}

/** Have we waited long enough for the peer, and for answers of its host? */
static bool is_over(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    if (now_ns >= core_dies_at(core, peer) && core_is_doubted(peer)) {
        core_hear_hosts(core, now_ns);
    }
    return now_ns >= core_dies_at(core, peer);
}

void core_timers(struct core *core, uint64_t now_ns)
{
    if (core->touched_count > 0 && !core->goes_on) {
        core_service_touched(core, now_ns);
    }
    core_attend(core, now_ns);
    if (now_ns < core->deadline_ns) {
        return;
    }
    core->deadline_ns = UINT64_MAX;
    look_for_lanes(core, now_ns);
    core_look_for_refusals(core, now_ns);
    if (core->hosts_look_ns != 0) {
        if (now_ns >= core->hosts_look_ns) {
            core_hear_hosts(core, now_ns);
        } else {
            core_note_deadline(core, core->hosts_look_ns);
        }
    }
    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct core_peer *peer = core->peers[i];
        if (is_over(core, peer, now_ns)) {
            core_fail_peer(core, peer, -ETIMEDOUT);
        } else if (core_is_refused(core, peer, now_ns)) {
            core_fail_peer(core, peer, -ECONNRESET);
        } else {
            core_cut_stuck(core, peer, now_ns);
            core_service(core, peer, now_ns);
            core_ask_suspect(core, peer, now_ns);
            core_ask_host(core, peer, now_ns);
        }
    }
    core_bulk(core, now_ns);
    core_forget_peers(core, now_ns);
}

bool core_is_flushed(const struct core *core)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        const struct core_peer *peer = core->peers[i];
        if (peer->connection.state == CONNECTION_FAILED) {
            continue;
        }
        if (!message_is_flushed(&peer->message)) {
            return false;
        }
    }
    return true;
}

void core_acknowledge(struct core *core, uint64_t now_ns)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct core_peer *peer = core->peers[i];
        struct flow *flow = &peer->message.flow;
        if (peer->message.ready && (flow->unacknowledged > 0 || flow->acknowledge_now)) {
            control_send_ack(core, peer, 0, now_ns);
        }
    }
}

bool core_has_connections(const struct core *core)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        if (core->peers[i]->connection.state == CONNECTION_OPEN) {
            return true;
        }
    }
    return false;
}

bool core_say_goodbye(struct core *core)
{
    bool any = false;

    for (uint32_t i = 0; i < core->peer_count; i++) {
        if (core->peers[i]->connection.state == CONNECTION_OPEN) {
            control_send_close(core, core->peers[i], true);
            any = true;
        }
    }
    return any;
}
