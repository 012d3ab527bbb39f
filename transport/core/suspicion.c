/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the network says of a peer's end is a hint: anybody can say so who knows our address. So the
 * peer is asked, over all lanes, and only silence decides.
 *
 * A refusal counts that quotes what only those have seen who saw our frames: the key of the
 * connection. Any other just has us ask; then it is forgotten. So does one from where the peer has
 * never answered: another host may have that address, too. Before the peer has answered anywhere,
 * all such places have to refuse.
 */
#include "core/control.h"
#include "core/core_internal.h"

#include <errno.h>

/** Lanes whose hosts refuse are asked with each so many questions: hosts refuse seldom
 *  (net.ipv4.icmp_ratelimit), and others may need to hear it as well. */
#define QUESTIONS_PER_REFUSAL 5

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

/** Tells frames apart by what is quoted of them. */
static uint32_t sum_of(const struct lane_loss *loss)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < loss->quote_bytes; i++) {
        sum = sum * 31 + loss->quote[i];
    }
    return sum;
}

/** One that counts; not the first if it is for another frame, or came much later. */
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

/** @param by the lane, or PATH_NONE: any
 *  @param counts whoever says so has seen our frames @param sum tells such refusals apart */
static void suspect(struct core *core, struct core_peer *peer, unsigned by, bool counts,
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
        if (suspicion->ask_at_ns < now_ns) { /* else one has just been asked, for another hint */
            suspicion->ask_at_ns = now_ns;
        }
    }
    if (counts) {
        note_refusal(suspicion, sum, now_ns);
        suspicion->refused_by |= (uint16_t)(by != PATH_NONE ? 1u << by : 0);
    }
    core_note_deadline(core, suspicion->ask_at_ns);
}

void core_suspect(struct core *core, struct core_peer *peer, unsigned by,
                  const struct lane_loss *loss, uint64_t now_ns)
{
    bool is_there = peer->connection.state != CONNECTION_OPEN || paths_has_proven(&peer->paths, by);

    suspect(core, peer, by, is_there && is_of_connection(peer, loss), sum_of(loss), now_ns);
}

void core_suspect_reset(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    suspect(core, peer, PATH_NONE, true, 0, now_ns);
}

void core_ask_over(struct core *core, struct core_peer *peer, unsigned by)
{
    if (peer->connection.asks) {
        core_ask_by(core, peer, by);
    } else {
        control_send_probe_by(core, peer, by);
    }
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

/** Has it been asked for long enough, by somebody who was there? */
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
        return; /* no more than a hint, and its silence is looked at anyway */
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

/** Is there a place where it may be, and that has not refused? A lane that is down may be back. */
static bool may_be_elsewhere(const struct core *core, const struct core_peer *peer)
{
    const struct path_lanes *lanes = &core->options.lanes;
    bool any = false;

    if (peer->connection.state == CONNECTION_OPEN) {
        return false;
    }
    for (unsigned i = 0; i < lanes->count; i++) {
        any = any || (lanes->lanes[i]->operations->lost != NULL && paths_reaches(&peer->paths, i) &&
                      (peer->doubt->suspicion.refused_by >> i & 1) == 0);
    }
    return any;
}

bool core_is_refused(const struct core *core, const struct core_peer *peer, uint64_t now_ns)
{
    if (!core_is_suspected(peer)) {
        return false;
    }
    const struct suspicion *suspicion = &peer->doubt->suspicion;
    return suspicion->refused_ns != 0 && is_old(suspicion, now_ns) &&
           !may_be_elsewhere(core, peer) &&
           (suspicion->repeated || now_ns - suspicion->since_ns >= core->options.peer_timeout_ns);
}
