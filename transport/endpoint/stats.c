/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/stats.h"

#include "core/counters.h"
#include "lane/shm_segment.h"
#include "route/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "readers take it for that");

#define DROPPED "dropped_"

/* ---- tables and columns ---------------------------------------------------------------------- */

#define TEXT(row, member)                                                                          \
    {                                                                                              \
#member, offsetof(struct row, member), sizeof(((struct row *)0)->member), STATS_TEXT       \
    }
#define NUMBER(row, member)                                                                        \
    {                                                                                              \
#member, offsetof(struct row, member), sizeof(uint64_t), STATS_NUMBER                      \
    }

static const struct stats_field endpoint_fields[] = {
    TEXT(stats_endpoint, name),
    NUMBER(stats_endpoint, number),
    NUMBER(stats_endpoint, peers_known),
    NUMBER(stats_endpoint, peers_connected),
};

static const struct stats_field lane_fields[] = {
    TEXT(stats_lane, name),
    NUMBER(stats_lane, down),
    NUMBER(stats_lane, peers),
    NUMBER(stats_lane, frame_bytes),
    NUMBER(stats_lane, sent_frames),
    NUMBER(stats_lane, sent_bytes),
    NUMBER(stats_lane, sent_calls),
    NUMBER(stats_lane, refused_frames),
    NUMBER(stats_lane, refused_trains),
    NUMBER(stats_lane, received_frames),
    NUMBER(stats_lane, received_bytes),
    NUMBER(stats_lane, placed_frames),
    NUMBER(stats_lane, foreign_frames),
    NUMBER(stats_lane, dropped_frames),
    NUMBER(stats_lane, damaged_frames),
};

static const struct stats_field damage_fields[] = {
    TEXT(stats_damage, name),
    NUMBER(stats_damage, frames),
};

static const struct stats_field missing_fields[] = {
    TEXT(stats_missing, name),
    TEXT(stats_missing, reason),
};

static const struct stats_field type_fields[] = {
    TEXT(stats_type, name),
    NUMBER(stats_type, sent),
    NUMBER(stats_type, received),
};

static const struct stats_field counter_fields[] = {
    TEXT(stats_counter, name),
    NUMBER(stats_counter, value),
};

static const struct stats_field peer_fields[] = {
    TEXT(stats_peer, name),
    TEXT(stats_peer, state),
    TEXT(stats_peer, lane),
    NUMBER(stats_peer, index),
    NUMBER(stats_peer, error),
    NUMBER(stats_peer, rtt_ns),
    NUMBER(stats_peer, rtt_minimum_ns),
    NUMBER(stats_peer, in_flight_frames),
    NUMBER(stats_peer, waiting_frames),
    NUMBER(stats_peer, credit_frames),
    NUMBER(stats_peer, sent_frames),
    NUMBER(stats_peer, retransmitted_frames),
    NUMBER(stats_peer, accepted_frames),
    NUMBER(stats_peer, duplicate_frames),
    NUMBER(stats_peer, probes),
    NUMBER(stats_peer, pulls),
};

#define TABLE(name, columns, rows)                                                                 \
    {                                                                                              \
        (name), (columns), sizeof(columns) / sizeof *(columns), offsetof(struct stats_file, rows), \
            sizeof(((struct stats_file *)0)->rows)                                                 \
    }

static const struct {
    const char *name;
    const struct stats_field *fields;
    uint32_t field_count;
    uint32_t rows_at;
    uint32_t rows_bytes;
} tables[STATS_TABLES] = {
    TABLE("endpoint", endpoint_fields, endpoint), TABLE("lanes", lane_fields, lanes),
    TABLE("damage", damage_fields, damage),       TABLE("missing", missing_fields, missing),
    TABLE("frames", type_fields, types),          TABLE("drops", counter_fields, drops),
    TABLE("counters", counter_fields, counters),  TABLE("peers", peer_fields, peers),
};

/** Tables have one row or an array of them. A row ends with its last column. */
static uint32_t row_bytes_of(unsigned table)
{
    const struct stats_field *last = &tables[table].fields[tables[table].field_count - 1];

    return (uint32_t)last->offset + last->bytes;
}

static void describe(struct stats_file *file)
{
    uint32_t fields = 0;

    for (unsigned i = 0; i < STATS_TABLES; i++) {
        struct stats_table *table = &file->tables[i];
        *table = (struct stats_table){
            .fields_at =
                (uint32_t)(offsetof(struct stats_file, fields) + fields * sizeof *file->fields),
            .fields = tables[i].field_count,
            .rows_at = tables[i].rows_at,
            .row_bytes = row_bytes_of(i),
            .rows = tables[i].rows_bytes / row_bytes_of(i),
        };
        (void)snprintf(table->name, sizeof table->name, "%s", tables[i].name);
        memcpy(&file->fields[fields], tables[i].fields, table->fields * sizeof *file->fields);
        fields += table->fields;
    }
}

static_assert(sizeof endpoint_fields + sizeof lane_fields + sizeof type_fields +
                      2 * sizeof counter_fields + sizeof peer_fields + sizeof missing_fields +
                      sizeof damage_fields <=
                  STATS_FIELDS * sizeof(struct stats_field),
              "room for all columns");

/* ---- names, which do not change -------------------------------------------------------------- */

/** Names a peer by the first of its addresses that is useful to people. */
static void name_peer(const struct beowire_address *address, char *name, size_t bytes)
{
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    const struct address_layout *layout = address_layout(address);
    const struct address_rail *rail = &layout->rail[0];
    unsigned number = from_le16(layout->endpoint);
    char text[INET6_ADDRSTRLEN];

    if (layout->rails > 0 && from_le16(rail->port) != 0) {
        bool v4 = memcmp(rail->ip, mapped, sizeof mapped) == 0;
        (void)inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? rail->ip + sizeof mapped : rail->ip, text,
                        sizeof text);
        (void)snprintf(name, bytes, "%s/%u", text, number);
    } else if (layout->rails > 0 && address_rail_is_verbs(rail)) {
        struct address_verbs verbs;
        memcpy(&verbs, rail, sizeof verbs);
        (void)inet_ntop(AF_INET, verbs.ipv4, text, sizeof text);
        (void)snprintf(name, bytes, "verbs %s:%u/%u", text, from_le32(verbs.queue_pair), number);
    } else if (layout->rails > 0 && address_rail_is_tipc(rail)) {
        struct address_tipc tipc;
        memcpy(&tipc, rail, sizeof tipc);
        (void)snprintf(name, bytes, "tipc %08x:%u/%u", from_le32(tipc.node), from_le32(tipc.socket),
                       number);
    } else if (layout->rails > 0) {
        (void)snprintf(name, bytes, "%02x:%02x:%02x:%02x:%02x:%02x/%u", rail->mac[0], rail->mac[1],
                       rail->mac[2], rail->mac[3], rail->mac[4], rail->mac[5], number);
    } else {
        (void)snprintf(name, bytes, "process %u/%u", from_le32(layout->process), number);
    }
}

static void write_names(struct stats_file *file, const struct core *core)
{
    const struct path_lanes *lanes = &core->options.lanes;
    unsigned drops = 0;

    (void)beowire_address_describe(&core->options.address, file->endpoint.name,
                                   sizeof file->endpoint.name);
    for (unsigned i = 0; i < lanes->count; i++) {
        (void)snprintf(file->lanes[i].name, sizeof file->lanes[i].name, "%s",
                       lanes->lanes[i]->name);
    }
    for (unsigned i = 0; i < FRAME_TYPES; i++) {
        if (frame_type_name(i) != NULL) {
            (void)snprintf(file->types[i].name, sizeof file->types[i].name, "%s",
                           frame_type_name(i));
        }
    }
    for (unsigned i = 0; i < counters_count() && i < STATS_COUNTERS; i++) {
        const char *name = counters_name(i);
        (void)snprintf(file->counters[i].name, sizeof file->counters[i].name, "%s", name);
        if (strncmp(name, DROPPED, sizeof DROPPED - 1) == 0 && drops < STATS_DROPS) {
            (void)snprintf(file->drops[drops].name, sizeof file->drops[drops].name, "%s",
                           name + sizeof DROPPED - 1);
            drops++;
        }
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void copy_lanes(struct stats_file *file, const struct core *core)
{
    const struct path_lanes *lanes = &core->options.lanes;

    for (unsigned i = 0; i < lanes->count; i++) {
        const struct lane *lane = lanes->lanes[i];
        struct stats_lane *row = &file->lanes[i];
        row->down = lanes->down[i];
        row->peers = core->lane_users[i];
        row->frame_bytes = lane->frame_bytes;
        row->sent_frames = lane->sent_frames;
        row->sent_bytes = lane->sent_bytes;
        row->sent_calls = lane->sent_calls;
        row->refused_frames = lane->refused_frames;
        row->refused_trains = lane->refused_trains;
        row->received_frames = lane->received_frames;
        row->received_bytes = lane->received_bytes;
        row->placed_frames = lane->placed_frames;
        row->foreign_frames = lane->foreign_frames;
        row->dropped_frames = lane->dropped_frames;
        row->damaged_frames = lane->damaged_frames;
    }
}

static void copy_damage(struct stats_file *file, const struct core *core)
{
    for (unsigned i = 0; i < core->damaged_links; i++) {
        const struct core_damage *damage = &core->damage[i];
        const struct core_peer *peer = core_peer_at(core, damage->handle);
        struct stats_damage *row = &file->damage[i];
        char name[sizeof((struct stats_peer *)0)->name] = "a peer that has gone";
        if (row->name[0] == '\0') { /* while the peer is known */
            if (peer != NULL) {
                name_peer(&peer->address, name, sizeof name);
            }
            (void)snprintf(row->name, sizeof row->name, "%s from %s",
                           core->options.lanes.lanes[damage->lane_index]->name, name);
        }
        row->frames = damage->frames;
    }
}

static void copy_counters(struct stats_file *file, const struct core *core)
{
    unsigned drops = 0;

    for (unsigned i = 0; i < FRAME_TYPES; i++) {
        file->types[i].sent = core->counters.sent[i];
        file->types[i].received = core->counters.received[i];
    }
    for (unsigned i = 0; i < counters_count() && i < STATS_COUNTERS; i++) {
        if (counters_is_of_flows(i)) {
            continue; /* a sum over peers */
        }
        file->counters[i].value = counters_read(core, i);
        if (strncmp(counters_name(i), DROPPED, sizeof DROPPED - 1) == 0 && drops < STATS_DROPS) {
            file->drops[drops++].value = file->counters[i].value;
        }
    }
    file->endpoint.number = core->endpoint;
    file->endpoint.peers_known = core->peer_count;
    file->endpoint.peers_connected = core->messages.ready_peers;
}

static const char *state_of(const struct core_peer *peer)
{
    switch (peer->connection.state) {
    case CONNECTION_NONE:
        return "known";
    case CONNECTION_ASKING:
    case CONNECTION_ANSWERED:
        return core_stands_still(peer) ? "standing still" : "connecting";
    case CONNECTION_OPEN:
        return core_stands_still(peer) ? "standing still" : "connected";
    case CONNECTION_FAILED:
        return "failed";
    }
    return "";
}

static void copy_peer(struct stats_file *file, const struct core *core,
                      const struct core_peer *peer)
{
    const struct flow *flow = &peer->message.flow;
    uint32_t index = peer->message.handle;
    struct stats_peer *row = &file->peers[BEOWIRE_PEER_SLOT(index) % STATS_PEERS];
    bool used = row->name[0] != '\0' && core_peer_at(core, (uint32_t)row->index) != NULL;

    if (used && row->index != index &&
        row->sent_frames + row->accepted_frames >= flow->sent_frames + flow->expected) {
        return; /* the other peer of this row has more traffic */
    }
    if (!used || row->index != index) {
        name_peer(&peer->address, row->name, sizeof row->name);
    }
    (void)snprintf(row->state, sizeof row->state, "%s", state_of(peer));
    (void)snprintf(row->lane, sizeof row->lane, "%s",
                   core->options.lanes.lanes[peer->route.paths.fast]->name);
    row->index = index;
    row->error = (uint64_t)-peer->connection.error;
    row->rtt_ns = flow->rtt.smoothed_ns;
    row->rtt_minimum_ns = flow->rtt.minimum_ns;
    row->in_flight_frames = flow->highest - flow->first;
    row->waiting_frames = flow->next - flow->highest;
    row->credit_frames =
        sequence_before(flow->highest, flow->limit) ? flow->limit - flow->highest : 0;
    row->sent_frames = flow->sent_frames;
    row->retransmitted_frames = flow->retransmitted_frames;
    row->accepted_frames = flow->expected;
    row->duplicate_frames = flow->duplicates;
    row->probes = flow->probes;
    row->pulls = peer->message.pulls;
}

/** Adds the peer's counters to the sums. */
static void add_flow(struct stats *stats, const struct flow *flow)
{
    for (unsigned i = 0; i < counters_count() && i < STATS_COUNTERS; i++) {
        if (counters_is_of_flows(i)) {
            stats->sums[i] += counters_read_flow(flow, i);
        }
    }
}

static void end_round(struct stats *stats, const struct core *core)
{
    for (unsigned i = 0; i < counters_count() && i < STATS_COUNTERS; i++) {
        if (counters_is_of_flows(i)) {
            stats->file->counters[i].value = stats->sums[i] + core->retired[i];
        }
    }
    memset(stats->sums, 0, sizeof stats->sums);
    stats->next_peer = 0;
}

static void look_at_peers(struct stats *stats, const struct core *core)
{
    /* Peers already copied may have been removed since. */
    stats->next_peer = stats->next_peer < core->peer_count ? stats->next_peer : core->peer_count;
    uint32_t left = core->peer_count - stats->next_peer;
    uint32_t count = left < STATS_PEERS_AT_ONCE ? left : STATS_PEERS_AT_ONCE;

    for (uint32_t i = 0; i < count; i++) {
        const struct core_peer *peer = core->peers[stats->next_peer++];
        copy_peer(stats->file, core, peer);
        add_flow(stats, &peer->message.flow);
    }
    stats->peers_to_look_at -= count < stats->peers_to_look_at ? count : stats->peers_to_look_at;
    if (stats->next_peer == core->peer_count) {
        end_round(stats, core);
    }
}

/* ---- when ------------------------------------------------------------------------------------ */

/** A number that changes when anything has happened. */
static uint64_t activity_of(const struct core *core)
{
    const struct path_lanes *lanes = &core->options.lanes;
    uint64_t sum = core->peer_count + core->counters.peers_failed + core->counters.peers_forgotten;

    for (unsigned i = 0; i < lanes->count; i++) {
        const struct lane *lane = lanes->lanes[i];
        sum += lane->sent_frames + lane->received_frames + lane->foreign_frames;
    }
    return sum;
}

bool stats_is_stale(const struct stats *stats, const struct core *core)
{
    return stats->file != NULL &&
           (stats->peers_to_look_at > 0 || stats->activity != activity_of(core));
}

static void copy_all(struct stats *stats, const struct core *core, uint64_t now_ns)
{
    struct stats_header *header = &stats->file->header;
    uint64_t sequence = header->sequence;

    __atomic_store_n(&header->sequence, sequence | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* readers see nothing that follows before it */
    header->published_ns = now_ns;
    copy_lanes(stats->file, core);
    copy_damage(stats->file, core);
    copy_counters(stats->file, core);
    look_at_peers(stats, core);
    /* Release: a reader that sees it sees all of the above. */
    __atomic_store_n(&header->sequence, (sequence | 1) + 1, __ATOMIC_RELEASE);
}

void stats_publish(struct stats *stats, const struct core *core, uint64_t now_ns)
{
    stats->due_ns = now_ns + STATS_INTERVAL_NS;
    if (!stats_is_stale(stats, core)) {
        return;
    }
    uint64_t activity = activity_of(core);
    if (activity != stats->activity) {
        /* The rest of this round, and a whole one. */
        stats->activity = activity;
        stats->peers_to_look_at = (stats->next_peer > 0 && stats->next_peer < core->peer_count
                                       ? core->peer_count - stats->next_peer
                                       : 0) +
                                  core->peer_count;
    }
    copy_all(stats, core, now_ns);
}

void stats_open(struct stats *stats, const struct core *core, uint64_t now_ns)
{
    void *memory = NULL;

    *stats = (struct stats){.descriptor = -1, .due_ns = UINT64_MAX};
    if (shm_segment_make(STATS_NAME, sizeof(struct stats_file), &memory, &stats->descriptor) != 0) {
        stats->descriptor = -1;
        return;
    }
    struct stats_file *file = memory;
    stats->file = file;
    describe(file);
    write_names(file, core);
    file->header.version = STATS_VERSION;
    file->header.tables = STATS_TABLES;
    file->header.bytes = sizeof *file;
    file->header.opened_ns = now_ns;
    file->header.process = (uint32_t)getpid();
    copy_all(stats, core, now_ns);
    stats->activity = activity_of(core);
    stats->due_ns = now_ns + STATS_INTERVAL_NS;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(file->header.magic, STATS_MAGIC, sizeof file->header.magic);
}

void stats_missing(struct stats *stats, const struct lanes_missing *missing)
{
    for (unsigned i = 0; stats->file != NULL && i < missing->count; i++) {
        struct stats_missing *row = &stats->file->missing[i];
        (void)snprintf(row->reason, sizeof row->reason, "%s", missing->at[i].reason);
        (void)snprintf(row->name, sizeof row->name, "%s", missing->at[i].name);
    }
}

void stats_close(struct stats *stats)
{
    if (stats->file != NULL) {
        shm_segment_unmap(stats->file, sizeof *stats->file);
        close(stats->descriptor);
    }
    *stats = (struct stats){.descriptor = -1, .due_ns = UINT64_MAX};
}
