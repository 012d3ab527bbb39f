/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports of the network that a peer has ended are hints, because anybody who knows our address can
 * forge them. So the peer is asked over all lanes, and only silence decides.
 *
 * A refusal counts if it quotes the key of the connection, which only hosts that saw our frames
 * know. For any other the peer is asked, and the refusal is then ignored. So is one from an address
 * where the peer has never answered, because another host may have that address, too. Before the
 * peer has answered anywhere, all such addresses must refuse. If frames are sealed, a refusal that
 * counts ends nothing, because it has no seal: the peer is asked, and its host's answers no longer
 * count as signs of a stopped process.
 */
#include "core/core_internal.h"
#include "peers/peers.h"

#include <errno.h>

/** One question in this many is also sent over lanes whose hosts refuse. Hosts limit refusals
 *  (net.ipv4.icmp_ratelimit), and other peers need them, too. */
#define QUESTIONS_PER_REFUSAL 5

/** A frame sent this often that does not arrive within a quarter of the peer timeout may be too
 *  long for the path. The peer is given up later. */
#define CUT_TRANSMISSIONS 4

/** After a probe, lanes are asked for refusals at this interval. */
#define REFUSAL_CHECK_NS 500000u

#define KEY_AT offsetof(struct frame_header, key)
#define ASKED_KEY_AT (sizeof(struct frame_header) + offsetof(struct frame_connect, key))
static_assert(ASKED_KEY_AT + sizeof(le32) <= LANE_QUOTE_BYTES, "CONNECT can be told by its quote");
static_assert(offsetof(struct frame_data, key) == KEY_AT, "both headers have it there");

static uint32_t quoted_key(const struct lane_loss *loss, size_t at)
{
    le32 key;

    memcpy(&key, loss->quote + at, sizeof key);
    return from_le32(key);
}

/** Does the refusal quote a frame of this connection? */
static bool is_of_connection(const struct core_peer *peer, const struct lane_loss *loss)
{
    const struct connection *connection = &peer->connection;

    if (loss->quote_bytes < KEY_AT + sizeof(le32)) {
        return false;
    }
    if (frame_type_of(loss->quote) == FRAME_CONNECT) {
        return loss->quote_bytes >= ASKED_KEY_AT + sizeof(le32) &&
               quoted_key(loss, ASKED_KEY_AT) == connection->own_key;
    }
    return connection->state == CONNECTION_OPEN && quoted_key(loss, KEY_AT) == connection->peer_key;
}

/** A checksum that distinguishes the quoted frames. */
static uint32_t sum_of(const struct lane_loss *loss)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < loss->quote_bytes; i++) {
        sum = sum * 31 + loss->quote[i];
    }
    return sum;
}

/** Records a refusal that counts; a later one only if it is for another frame, or came much
 *  later. */
static void note_refusal(struct suspicion *suspicion, uint32_t sum, uint64_t now_ns)
{
    if (suspicion->refused_ns == 0) {
        suspicion->refused_ns = now_ns;
        suspicion->refused_sum = sum;
    } else if (sum != suspicion->refused_sum ||
               now_ns - suspicion->refused_ns >= SUSPICION_QUESTION_NS) {
        suspicion->repeated = true;
    }
}

/** @param lane_index the lane, or PATH_NONE: any @param counts it is from a host that has seen our
 *  frames @param sum distinguishes such refusals */
static void suspect(struct core *core, struct core_peer *peer, unsigned lane_index, bool counts,
                    uint32_t sum, uint64_t now_ns)
{
    core->counters.refusals_heard++;
    core->counters.refusals_strange += !counts;
    if (peer->connection.state != CONNECTION_OPEN && !peer->connection.asks) {
        return;
    }
    struct doubt *doubt = core_doubt(peer);
    if (doubt == NULL) {
        return;
    }
    struct suspicion *suspicion = &doubt->suspicion;
    if (suspicion->since_ns == 0) {
        suspicion->since_ns = now_ns;
        suspicion->questions = 0;
        if (suspicion->ask_at_ns < now_ns) { /* otherwise it was just asked */
            suspicion->ask_at_ns = now_ns;
        }
    }
    if (counts) {
        note_refusal(suspicion, sum, now_ns);
        suspicion->refused_by |= (uint16_t)(lane_index != PATH_NONE ? 1u << lane_index : 0);
    }
    core_note_deadline(core, suspicion->ask_at_ns);
}

void core_suspect(struct core *core, struct core_peer *peer, unsigned lane_index,
                  const struct lane_loss *loss, uint64_t now_ns)
{
    bool is_there = peer->connection.state != CONNECTION_OPEN ||
                    paths_has_proven(&peer->route.paths, lane_index);

    suspect(core, peer, lane_index, is_there && is_of_connection(peer, loss), sum_of(loss), now_ns);
}

static void ask_over_all(struct core *core, struct core_peer *peer, bool refusable)
{
    const struct path_lanes *lanes = &core->options.lanes;

    for (unsigned i = 0; i < lanes->count; i++) {
        bool refuses = lanes->lanes[i]->operations->lost != NULL;
        if (paths_is_for_all(lanes, i) && core_may_ask_over(core, peer, i) &&
            (refusable || !refuses)) {
            core_ask_over(core, peer, i);
        }
    }
}

/** Has it been asked for long enough, with a question that can be refused? */
static bool is_old(const struct suspicion *suspicion, uint64_t now_ns)
{
    return now_ns >= suspicion->since_ns + SUSPICION_NS &&
           suspicion->questions >= QUESTIONS_PER_REFUSAL;
}

void core_ask_suspect(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    if (!core_is_suspected(peer)) {
        return;
    }
    struct suspicion *suspicion = &peer->doubt->suspicion;
    bool old = is_old(suspicion, now_ns);
    if (old && suspicion->refused_ns == 0) {
        *suspicion = (struct suspicion){.ask_at_ns = suspicion->ask_at_ns};
        return; /* only a hint; its silence is checked anyway */
    }
    if (now_ns >= suspicion->ask_at_ns) {
        ask_over_all(core, peer, old || suspicion->questions % QUESTIONS_PER_REFUSAL == 0);
        if (suspicion->questions < UINT8_MAX) {
            suspicion->questions++;
        }
        suspicion->ask_at_ns = now_ns + (old ? FLOW_BACKOFF_MAX_NS : SUSPICION_QUESTION_NS);
        if (peer->connection.state == CONNECTION_OPEN) {
            flow_asked(&peer->message.flow, now_ns);
        }
        core_expect_refusal(core, now_ns);
    }
    core_note_deadline(core, suspicion->ask_at_ns);
}

/** May it be at a place that has not refused? A lane that is down may work again. */
static bool may_be_elsewhere(const struct core *core, const struct core_peer *peer)
{
    const struct path_lanes *lanes = &core->options.lanes;
    bool any = false;

    if (peer->connection.state == CONNECTION_OPEN) {
        return false;
    }
    for (unsigned i = 0; i < lanes->count; i++) {
        any = any ||
              (lanes->lanes[i]->operations->lost != NULL && paths_reaches(&peer->route.paths, i) &&
               (peer->doubt->suspicion.refused_by >> i & 1) == 0);
    }
    return any;
}

bool core_is_refused(const struct core *core, const struct core_peer *peer, uint64_t now_ns)
{
    bool sealed = peer->route.seal != NULL && peer->connection.state == CONNECTION_OPEN;

    if (!core_is_suspected(peer) || sealed) {
        return false;
    }
    const struct suspicion *suspicion = &peer->doubt->suspicion;
    return suspicion->refused_ns != 0 && is_old(suspicion, now_ns) &&
           !may_be_elsewhere(core, peer) &&
           (suspicion->repeated || now_ns - suspicion->since_ns >= core->options.peer_timeout_ns);
}

/** Over shared memory it is unknown whether the peer exists until both ends have met there. Before,
 *  another lane decides, if there is one. Frames that cannot be sent now are retried first. @return
 *  true: the peer is tried over other lanes. */
static bool is_looked_for(struct core *core, struct core_peer *peer, const struct lane_loss *loss,
                          uint64_t now_ns)
{
    return (loss->certain || peer->connection.attempts > PATH_PATIENCE_CONNECTS) &&
           core_leave_memory(core, peer, now_ns);
}

/** Must the frame arrive: is it of an open connection, or the shortest CONNECT? Longer ones only
 *  test what arrives. */
static bool has_to_arrive(const struct core *core, const struct core_peer *peer,
                          const struct lane_loss *loss)
{
    struct frame_connect connect;

    if (frame_type_of(loss->quote) != FRAME_CONNECT) {
        return true;
    }
    if (loss->quote_bytes <
        sizeof(struct frame_header) + offsetof(struct frame_connect, reserved)) {
        return false;
    }
    memcpy(&connect, loss->quote + sizeof(struct frame_header),
           offsetof(struct frame_connect, reserved));
    return from_le16(connect.frame_bytes) <=
           paths_data_bytes(&peer->route.paths, &core->options.lanes, CONNECTION_SHORTEST_MTU);
}

/** Frames to the peer are reported as too long. The report quotes a frame, so it is from the path;
 *  and such frames have arrived before, so the path has changed. */
static void notice_narrow_way(struct core *core, struct core_peer *peer, unsigned lane_index,
                              const struct lane_loss *loss)
{
    struct lane *lane = core->options.lanes.lanes[lane_index];
    bool counts = is_of_connection(peer, loss);

    core->counters.refusals_heard++;
    core->counters.refusals_strange += !counts;
    if (counts && has_to_arrive(core, peer, loss) && lane->operations->cut != NULL) {
        lane->operations->cut(lane, true);
    }
}

void core_cut_stuck(struct core *core, const struct core_peer *peer, uint64_t now_ns)
{
    const struct path_lanes *lanes = &core->options.lanes;
    const struct flow *flow = &peer->message.flow;

    if (flow->stuck_since_ns == 0 ||
        now_ns - flow->stuck_since_ns < core->options.peer_timeout_ns / 4 ||
        flow_ring_at(flow, flow->first)->transmissions < CUT_TRANSMISSIONS) {
        return;
    }
    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (lane->operations->cut != NULL && paths_is_usable(&peer->route.paths, lanes, i)) {
            lane->operations->cut(lane, false);
        }
    }
}

static void notice_loss(struct core *core, unsigned lane_index, const struct lane_loss *loss,
                        uint64_t now_ns)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct core_peer *peer = core->peers[i];
        if (peer->gone || !paths_is_to(&peer->route.paths, lane_index, &loss->address)) {
            continue;
        }
        if (core->options.lanes.lanes[lane_index]->shares_memory &&
            (is_looked_for(core, peer, loss, now_ns) || !loss->certain)) {
            continue;
        }
        if (loss->too_long) {
            notice_narrow_way(core, peer, lane_index, loss);
        } else if (loss->certain) {
            core_fail_peer(core, peer, -ECONNRESET);
        } else {
            core_suspect(core, peer, lane_index, loss, now_ns);
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

/** @return true: this peer has refused. */
static bool is_reset_by(struct core *core, uint32_t index, const struct frame *frame,
                        const struct arrival *from, uint64_t now_ns)
{
    struct core_peer *peer = core->peers[index];

    if (peer->message.destination != frame->source ||
        !paths_is_to(&peer->route.paths, from->lane_index, &from->address)) {
        return false;
    }
    bool of_frame = from_le32(frame->reset->echoed_key) == peer->connection.peer_key;
    if (of_frame && core_lacks_checksum(peer, frame, core->options.lanes.lanes[from->lane_index])) {
        core_note_damage(core, from); /* the refused frame had a checksum */
        return true;
    }
    if (of_frame && core_ask_who_it_is(core, peer, now_ns)) {
        return true;
    }
    if (peer->route.seal != NULL && peer->connection.state == CONNECTION_OPEN &&
        connection_is_echoed(&peer->connection, frame)) {
        suspect(core, peer, PATH_NONE, true, 0, now_ns); /* it has no seal, so the peer is asked */
        return true;
    }
    if (connection_receive(&peer->connection, frame, 0) != CONNECTION_BROKEN) {
        return false;
    }
    core_fail_peer(core, peer, peer->connection.error);
    return true;
}

void core_receive_reset(struct core *core, const struct frame *frame, const struct arrival *from,
                        uint64_t now_ns)
{
    uint32_t echoed = from_le32(frame->reset->echoed_key);
    uint32_t index = map_find(&core->by_key, echoed);
    uint32_t at = map_first(&core->by_peer_key, echoed);

    if (echoed != 0) {
        if (index != MAP_NONE && is_reset_by(core, index, frame, from, now_ns)) {
            return;
        }
        while ((index = map_next(&core->by_peer_key, echoed, &at)) != MAP_NONE) {
            if (is_reset_by(core, index, frame, from, now_ns)) {
                return;
            }
        }
    }
    core->counters.dropped_key++;
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

void core_look_for_refusals(struct core *core, uint64_t now_ns)
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
