/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include "core/address.h"
#include "core/control.h"
#include "core/core_internal.h"
#include "flow/proof.h"
#include "message/bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Lanes that are down are asked this often whether they still are. */
#define LANES_LOOK_NS 100000000u

/** After a probe, lanes are asked this often whether it was refused. */
#define REFUSAL_CHECK_NS 500000u

/** @param count a multiple of 8 */
static void fill_randomly(struct core *core, uint8_t *bytes, size_t count)
{
    for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
        uint64_t number = core->options.random(core->options.random_context);
        memcpy(bytes + at, &number, sizeof number);
    }
}

/** The peer may be about to read what the application gets back now (message_layer). */
static void withdraw_memory(void *context, const struct message_peer *message)
{
    const struct core *core = context;
    const struct core_peer *peer = core->peers[message->index];
    const struct path_lanes *lanes = &core->options.lanes;

    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (lane->operations->withdraw != NULL && paths_reaches(&peer->paths, i)) {
            lane->operations->withdraw(lane, &peer->paths.to[i]);
        }
    }
}

int core_open(struct core *core, const struct core_options *options)
{
    *core = (struct core){.options = *options, .deadline_ns = UINT64_MAX};
    const struct address_layout *layout = address_layout(&core->options.address);
    core->incarnation = from_le64(layout->incarnation);
    core->endpoint = from_le16(layout->endpoint);
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
    core->messages.read_memory = core_read_memory;
    core->messages.withdraw_memory = withdraw_memory;
    core->messages.read_context = core;
    for (unsigned i = 0; i < options->lanes.count; i++) {
        const struct lane *lane = options->lanes.lanes[i];
        core->messages.lanes[i] = (struct message_lane){
            .kind = (uint8_t)lane->kind,
            .rail = lane->rail,
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

/* ---- frames out ---------------------------------------------------------------------------- */

/** May this frame go to a place before it is known whose that is? */
static bool is_of_opening(const uint8_t *head)
{
    unsigned type = frame_type_of(head);

    return type == FRAME_CONNECT || type == FRAME_ACCEPT || type == FRAME_CHALLENGE ||
           type == FRAME_RESPONSE;
}

unsigned core_send(struct core *core, struct core_peer *peer, unsigned by,
                   const struct lane_outgoing *frames, unsigned count)
{
    struct lane *lane = core->options.lanes.lanes[by];

    if (__builtin_expect(!paths_has_proven(&peer->paths, by), 0) && count > 0 &&
        !is_of_opening(frames->head)) {
        return 0;
    }
    unsigned taken = __builtin_expect(peer->seal != NULL, 0)
                         ? core_send_sealed(core, peer, by, frames, count)
                         : lane->operations->send(lane, &peer->paths.to[by], frames, count);

    if (taken == 1) { /* by itself, a short message does without the loop: 6 ns */
        core->counters.sent[frame_type_of(frames->head)] +=
            lane_segments(frames->payload_bytes, frames->segment_bytes);
        return 1;
    }
    for (unsigned i = 0; i < taken; i++) {
        core->counters.sent[frame_type_of(frames[i].head)]++;
    }
    if (taken == 0) {
        core_check_lane(core, by);
    }
    return taken;
}

void core_reserve_credit(struct core *core, struct core_peer *peer)
{
    if (!peer->credit_reserved) {
        peer->first_credit = message_initial_credit(&core->messages, &peer->message);
        peer->credit_reserved = true;
    }
}

void core_fail_peer(struct core *core, struct core_peer *peer, int error)
{
    WIRE_TO(wire, core, peer);

    if (peer->gone) {
        return; /* what it had has been given back */
    }
    core->lane_users[peer->paths.fast]--;
    peer->gone = true;
    peer->gone_ns = core->attended_ns;
    withdraw_memory(core, &peer->message);
    core_end_doubt(core, peer);
    (void)connection_fail(&peer->connection, error);
    core->counters.peers_failed++;
    core->undelivered = core->undelivered || !message_is_flushed(&peer->message);
    if (peer->credit_reserved && !peer->message.ready) {
        message_return_credit(&core->messages, &peer->message, peer->first_credit);
    }
    message_peer_failed(&core->messages, &peer->message, peer->connection.error, &wire);
    core_note_gone(core, peer);
}

void core_expect_refusal(struct core *core, uint64_t now_ns)
{
    const struct path_lanes *lanes = &core->options.lanes;

    for (unsigned i = 0; i < lanes->count; i++) {
        if (lanes->lanes[i]->operations->lost != NULL) {
            core->refusals_until_ns = now_ns + PROBE_REFUSAL_NS;
            core_note_deadline(core, now_ns + REFUSAL_CHECK_NS);
        }
    }
}

/** Asks the lanes for refusals as long as some are expected, and once more: the application may
 *  have been away meanwhile. */
static void look_for_refusals(struct core *core, uint64_t now_ns)
{
    if (core->refusals_until_ns == 0) {
        return;
    }
    core_notice_lost(core, true, now_ns);
    if (now_ns < core->refusals_until_ns) {
        core_note_deadline(core, now_ns + REFUSAL_CHECK_NS);
    } else {
        core->refusals_until_ns = 0;
    }
}

void core_ask_by(struct core *core, struct core_peer *peer, unsigned by)
{
    static const uint32_t shorter[] = CONNECTION_SHORTER_MTUS;
    const struct lane *lane = core->options.lanes.lanes[by];

    control_send_connect(core, peer, by, PATHS_ANY_MTU);
    for (unsigned i = 0; i < sizeof shorter / sizeof *shorter; i++) {
        if (peer->connection.attempts > CONNECTION_LONG_ATTEMPTS && shorter[i] < lane->mtu) {
            control_send_connect(core, peer, by, shorter[i]);
        }
    }
}

/** Sends PROBE or CONNECT over the other lanes, too: all, or those `refused` whose kernel says so
 *  when a process has ended. */
static void ask_elsewhere(struct core *core, struct core_peer *peer, enum frame_type type,
                          bool refused)
{
    const struct path_lanes *lanes = &core->options.lanes;
    bool suspected = core_is_suspected(peer); /* then it is asked there, and not too often */

    for (unsigned i = 0; i < lanes->count; i++) {
        bool usable = type == FRAME_CONNECT ? paths_may_ask(&peer->paths, lanes, i)
                                            : paths_is_usable(&peer->paths, lanes, i);
        if (i == peer->paths.fast || !paths_is_for_all(lanes, i) || !usable ||
            (refused && lanes->lanes[i]->operations->lost == NULL) ||
            (suspected && lanes->lanes[i]->operations->lost != NULL)) {
            continue;
        }
        if (type == FRAME_CONNECT) {
            core_ask_by(core, peer, i);
        } else {
            control_send_probe_by(core, peer, i);
        }
    }
}

static void notice_loss(struct core *core, unsigned by, const struct lane_loss *loss,
                        uint64_t now_ns)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct core_peer *peer = core->peers[i];
        if (peer->gone || !paths_is_to(&peer->paths, by, &loss->address)) {
            continue;
        }
        if (loss->certain) {
            core_fail_peer(core, peer, -ECONNRESET);
        } else {
            core_suspect(core, peer, by, loss, now_ns);
        }
    }
}

void core_notice_lost(struct core *core, bool costly, uint64_t now_ns)
{
    const struct path_lanes *lanes = &core->options.lanes;
    struct lane_loss loss;

    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        while (lane->operations->lost != NULL && (costly || !lane->polling_is_costly) &&
               lane->operations->lost(lane, &loss)) {
            notice_loss(core, i, &loss, now_ns);
        }
    }
}

/** What asks us is answered also over the lane by which it came: whoever asks there may hear
 *  nothing of what we send over another. @return that lane if it is not our usual one, or
 *  PATH_NONE. */
static unsigned take_asked_by(struct core_peer *peer)
{
    unsigned by = peer->asked_by;

    peer->asked_by = PATH_NONE;
    return by != peer->paths.fast ? by : PATH_NONE;
}

bool core_ask(struct core_peer *peer, uint64_t now_ns)
{
    if (!proof_secret_is_known(address_layout(&peer->address)->secret)) {
        return false;
    }
    connection_ask(&peer->connection, now_ns);
    return true;
}

bool core_ask_who_it_is(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    bool needed = peer->connection.asking_since_ns != 0;

    if (peer->connection.state != CONNECTION_ANSWERED || !core_ask(peer, now_ns)) {
        return false;
    }
    if (!needed) {
        connection_relent(&peer->connection); /* nothing of ours depends on it */
    }
    core_note_deadline(core, 0);
    return true;
}

static void service_connection(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    if (peer->connection.state <= CONNECTION_ANSWERED && message_has_work(&peer->message)) {
        (void)core_ask(peer, now_ns);
    }
    if (connection_ask_due(&peer->connection, now_ns)) {
        core_reserve_credit(core, peer);
        core_ask_by(core, peer, peer->paths.fast);
        if (peer->connection.attempts > PATH_PATIENCE_CONNECTS) {
            ask_elsewhere(core, peer, FRAME_CONNECT, false);
        }
        core_expect_refusal(core, now_ns);
    }
    if (peer->connection.state == CONNECTION_OPEN) {
        core_service_paths(core, peer, now_ns);
    }
}

/** Does something depend on what the peer says next? Whoever has asked us, and that nobody has
 * named, is asked now and then whether it is still there: else it might have its room for ever. */
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

static void service_flow(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    WIRE_TO(wire, core, peer);
    struct flow *flow = &peer->message.flow;

    bundle_gathered(&core->messages, &peer->message);
    message_renew_credit(&core->messages, &peer->message);
    message_pump(&core->messages, &peer->message);
    flow_transmit(flow, now_ns, &wire);
    message_take_back(&core->messages, &peer->message);
    if (!flow_awaits_answer(flow)) { /* else it is probed anyway */
        flow_watch(flow, awaits_word(core, peer, now_ns), now_ns);
    }
    unsigned due = flow_due(flow, now_ns);
    if ((due & FLOW_DUE_ACK) != 0) {
        control_send_ack(core, peer, take_asked_by(peer), now_ns);
    }
    if ((due & FLOW_DUE_PROBE) != 0) {
        if (flow->unanswered > 0) { /* what is sent without a carrier just vanishes */
            core_check_lane(core, peer->paths.fast);
        }
        if (flow->backoff >= PATH_PATIENCE_PROBES && flow->unanswered == 0 &&
            flow->first != flow->highest) {
            core_try_another_path(core, peer, now_ns);
        }
        uint8_t behind = convoy_lane_of(&peer->convoy, flow_probe_way(flow));
        if (behind != PATH_NONE) {
            control_send_probe_by(core, peer, behind);
        } else {
            control_send_probe(core, peer);
        }
        ask_elsewhere(core, peer, FRAME_PROBE, flow->unanswered < PATH_PATIENCE_PROBES);
        core_expect_refusal(core, now_ns);
        flow_timeout(flow, now_ns);
    }
    if (flow_waits_for_lane(flow)) {
        core_note_deadline(core, now_ns); /* the lane was busy: again at the next progress */
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

bool core_watch(struct core *core, struct core_peer *peer)
{
    struct flow *flow = &peer->message.flow;

    if (peer->message.ready && flow->timeout_at_ns == 0) {
        /* The time of the last frame will do, and costs no look at the clock. */
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
        return NULL; /* what was received has left the pile when it was matched */
    }
    struct core_peer *peer = core_peer_at(core, completion->peer);
    if (peer == NULL || !peer->message.ready) {
        return NULL;
    }
    message_renew_credit(&core->messages, &peer->message);
    return flow_grant_is_due(&peer->message.flow) ? peer : NULL;
}

/* ---- time ---------------------------------------------------------------------------------- */

/** Those that are down, or narrowed, may be back. */
static void look_for_lanes(struct core *core, uint64_t now_ns)
{
    if (now_ns - core->looked_for_lanes_ns < LANES_LOOK_NS) {
        return;
    }
    core->looked_for_lanes_ns = now_ns;
    for (unsigned i = 0; i < core->options.lanes.count; i++) {
        if (core->options.lanes.down[i] || core->options.lanes.lanes[i]->narrowed_bytes != 0) {
            core_check_lane(core, i);
        }
    }
}

/** Has the peer been waited for long enough, and so have its host's answers? */
static bool is_over(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    if (now_ns >= core_dies_at(core, peer) && core_is_doubted(peer)) {
        core_hear_hosts(core, now_ns);
    }
    return now_ns >= core_dies_at(core, peer);
}

void core_timers(struct core *core, uint64_t now_ns)
{
    if (core->touched_count > 0) {
        core_service_touched(core, now_ns);
    }
    core_attend(core, now_ns);
    if (now_ns < core->deadline_ns) {
        return;
    }
    core->deadline_ns = UINT64_MAX;
    look_for_lanes(core, now_ns);
    look_for_refusals(core, now_ns);
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
            control_send_ack(core, peer, PATH_NONE, now_ns);
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
