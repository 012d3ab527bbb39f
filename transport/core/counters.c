/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of all counters of an endpoint. */
#include "core/counters.h"

#include <string.h>

enum place {
    OF_CORE,  /* in struct core_counters */
    OF_LAYER, /* in struct message_counters */
    OF_LANE,  /* in struct lane: the sum over all lanes */
    OF_KIND,  /* number of open lanes of this kind (in place of an offset) */
    BY_KIND,  /* bytes sent by lanes of this kind (likewise) */
    OF_FLOWS, /* in struct flow: the sum over all peers */
};

struct counter {
    const char *name;
    enum place place;
    size_t offset;
};

#define CORE(name, member)                                                                         \
    {                                                                                              \
        (name), OF_CORE, offsetof(struct core_counters, member)                                    \
    }
#define LAYER(name, member)                                                                        \
    {                                                                                              \
        (name), OF_LAYER, offsetof(struct message_counters, member)                                \
    }
/* Frames of a type: two counters. */
#define TYPE(number, capitals, name, operation_bytes, payload)                                     \
    CORE("sent_" #name, sent[number]), CORE("received_" #name, received[number]),
#define LANE(name, member)                                                                         \
    {                                                                                              \
        (name), OF_LANE, offsetof(struct lane, member)                                             \
    }
#define FLOWS(name, member)                                                                        \
    {                                                                                              \
        (name), OF_FLOWS, offsetof(struct flow, member)                                            \
    }

#define KIND(capitals, name, number, of) {"lanes_" #name, OF_KIND, LANE_##capitals},
#define SENT(capitals, name, number, of) {"sent_by_" #name, BY_KIND, LANE_##capitals},

static const struct counter counters[] = {
    LANE_KINDS(KIND) LANE_KINDS(SENT) LANE("lane_sent_frames", sent_frames),
    LANE("lane_sent_bytes", sent_bytes),
    LANE("lane_sent_calls", sent_calls),
    LANE("lane_refused_frames", refused_frames),
    LANE("lane_refused_trains", refused_trains),
    LANE("lane_received_frames", received_frames),
    LANE("lane_received_bytes", received_bytes),
    LANE("lane_placed_frames", placed_frames),
    LANE("lane_foreign_frames", foreign_frames),
    LANE("lane_dropped_frames", dropped_frames),
    FLOWS("flow_sent_frames", sent_frames),
    FLOWS("flow_retransmitted_frames", retransmitted_frames),
    FLOWS("flow_gaps_reported", gaps),
    FLOWS("flow_timeouts", probes),
    FLOWS("flow_kept_frames", kept_frames),
    FLOWS("flow_spurious_frames", loss.spurious_frames),
    LAYER("message_eager", eager_messages),
    LAYER("message_announced", announced_messages),
    LAYER("message_received", received_messages),
    LAYER("message_unexpected", unexpected_messages),
    LAYER("message_truncated", truncated_messages),
    LAYER("message_protocol_errors", protocol_errors),
    FRAME_TYPE_LIST(TYPE) CORE("suppressed_reset", resets_suppressed),
    CORE("peers_stood_still", peers_stood_still),
    CORE("hosts_asked", hosts_asked),
    CORE("refusals_heard", refusals_heard),
    CORE("refusals_strange", refusals_strange),
    CORE("memory_left", memory_left),
    CORE("dropped_version", dropped[FRAME_BAD_VERSION]),
    CORE("dropped_type", dropped[FRAME_BAD_TYPE]),
    CORE("dropped_flags", dropped[FRAME_BAD_FLAGS]),
    CORE("dropped_length", dropped[FRAME_BAD_LENGTH]),
    CORE("dropped_field", dropped[FRAME_BAD_FIELD]),
    CORE("dropped_key", dropped_key),
    CORE("dropped_source", dropped_source),
    CORE("dropped_proof", dropped_proof),
    CORE("dropped_seal", dropped_seal),
    CORE("dropped_damaged", dropped_damaged),
    CORE("dropped_state", dropped_state),
    CORE("dropped_acknowledgement", dropped_acknowledgement),
    CORE("dropped_duplicate", dropped_duplicate),
    CORE("dropped_gap", dropped_gap),
    CORE("dropped_overrun", dropped_overrun),
    CORE("dropped_data_unknown", dropped_data_unknown),
    CORE("dropped_data_duplicate", dropped_data_duplicate),
    LAYER("message_own", own_messages),
    LAYER("message_bundles", bundles_sent),
    LAYER("message_bundled", bundled_messages),
    LAYER("message_read", messages_read),
    LAYER("pull_read_blocks", blocks_read),
    LAYER("one_sided_lent", lent_messages),
    LAYER("one_sided_lend_refused", lend_refused),
    LAYER("one_sided_read", one_sided_messages),
    LAYER("one_sided_refused", one_sided_refused),
    LAYER("one_sided_failed", one_sided_failed),
    LAYER("pull_repeated", pulls_repeated),
    LAYER("pull_timeouts", pull_timeouts),
    LAYER("pull_served_frames", data_frames_sent),
    LAYER("pull_unasked_blocks", data_unasked),
    LAYER("pull_requests_dropped", requests_dropped),
    LAYER("remote_puts", remote_puts),
    LAYER("remote_gets", remote_gets),
    LAYER("remote_atomics", remote_atomics),
    LAYER("remote_refused", remote_refused),
    LAYER("remote_guesses", remote_guesses),
    LAYER("remote_written", remote_written),
    LAYER("remote_read", remote_read),
    CORE("peers_failed", peers_failed),
    CORE("peers_forgotten", peers_forgotten),
    CORE("path_changes", path_changes),
};

static_assert(sizeof counters / sizeof *counters <= CORE_COUNTERS_MAX, "core.retired has room");

static uint64_t read_at(const void *base, size_t offset)
{
    uint64_t value;

    memcpy(&value, (const uint8_t *)base + offset, sizeof value);
    return value;
}

static uint64_t sum_over_flows(const struct core *core, unsigned index)
{
    uint64_t sum = core->retired[index];

    for (uint32_t i = 0; i < core->peer_count; i++) {
        sum += counters_read_flow(&core->peers[i]->message.flow, index);
    }
    return sum;
}

static uint64_t sum_over_lanes(const struct core *core, size_t offset)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < core->options.lanes.count; i++) {
        sum += read_at(core->options.lanes.lanes[i], offset);
    }
    return sum;
}

static bool is_of_kind(const struct lane *lane, enum lane_kind kind)
{
    return (lane->opened_as != LANE_NONE ? lane->opened_as : lane->kind) == kind;
}

static uint64_t lanes_of_kind(const struct core *core, enum lane_kind kind)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < core->options.lanes.count; i++) {
        count += is_of_kind(core->options.lanes.lanes[i], kind);
    }
    return count;
}

static uint64_t sent_by_kind(const struct core *core, enum lane_kind kind)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < core->options.lanes.count; i++) {
        const struct lane *lane = core->options.lanes.lanes[i];
        bytes += is_of_kind(lane, kind) ? lane->sent_bytes : 0;
    }
    return bytes;
}

unsigned counters_count(void)
{
    return sizeof counters / sizeof *counters;
}

const char *counters_name(unsigned index)
{
    return counters[index].name;
}

bool counters_is_of_flows(unsigned index)
{
    return counters[index].place == OF_FLOWS;
}

uint64_t counters_read_flow(const struct flow *flow, unsigned index)
{
    return read_at(flow, counters[index].offset);
}

uint64_t counters_read(const struct core *core, unsigned index)
{
    const struct counter *counter = &counters[index];

    switch (counter->place) {
    case OF_CORE:
        return read_at(&core->counters, counter->offset);
    case OF_LAYER:
        return read_at(&core->messages.counters, counter->offset);
    case OF_LANE:
        return sum_over_lanes(core, counter->offset);
    case OF_KIND:
        return lanes_of_kind(core, (enum lane_kind)counter->offset);
    case BY_KIND:
        return sent_by_kind(core, (enum lane_kind)counter->offset);
    case OF_FLOWS:
        return sum_over_flows(core, index);
    }
    return 0;
}
