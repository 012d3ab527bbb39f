/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/stats.h"

#include "core/counters.h"
#include "frame/address_layout.h"
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PEERS_MAX 600
#define NOW_NS UINT64_C(5000000000)

/** A core with a lane, peers as each test wants them, and its published file as others read it. */
struct fixture {
    struct core core;
    struct lane lane;
    struct core_peer *peers[PEERS_MAX];
    struct core_slot slots[PEERS_MAX];
    struct stats stats;
    uint8_t seen[sizeof(struct stats_file)];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL) {
        return -1;
    }
    strcpy(fixture->lane.name, "packet/eth0"); /* NOLINT: it fits */
    fixture->core.options.lanes = (struct path_lanes){.lanes = {&fixture->lane}, .count = 1};
    fixture->core.peers = fixture->peers;
    fixture->core.slots = fixture->slots;
    fixture->core.endpoint = 7;
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .endpoint = to_le16(7),
        .ethertype = to_le16(0x88B5),
        .incarnation = to_le64(1),
        .host = to_le64(2),
        .process = to_le32(3),
    };
    memcpy(fixture->core.options.address.bytes, &layout, sizeof layout);
    stats_open(&fixture->stats, &fixture->core, NOW_NS);
    *state = fixture;
    return fixture->stats.file != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    stats_close(&fixture->stats);
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        free(fixture->peers[i]);
    }
    free(fixture);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, teardown)

static struct core_peer *add_peer(struct fixture *fixture, uint16_t number)
{
    struct core_peer *peer = calloc(1, sizeof *peer);
    uint32_t index = fixture->core.peer_count++;

    assert_non_null(peer);
    assert_true(index < PEERS_MAX);
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .rails = 1,
        .endpoint = to_le16(number),
        .rail = {{.mac = {2, 0, 0, 0, 0, 9},
                  .port = to_le16(4000),
                  .ip = {[10] = 0xFF, [11] = 0xFF, [12] = 10, [13] = 77, [14] = 0, [15] = 2}}},
    };
    memcpy(peer->address.bytes, &layout, sizeof layout);
    peer->message.index = peer->message.handle = index;
    fixture->slots[index].peer = peer;
    fixture->core.slots_used = index + 1;
    fixture->peers[index] = peer;
    return peer;
}

/* ---- reading, by nothing but what the file says of itself ------------------------------------ */

static void look(struct fixture *fixture)
{
    ssize_t bytes = pread(fixture->stats.descriptor, fixture->seen, sizeof fixture->seen, 0);

    assert_int_equal(bytes, sizeof fixture->seen);
}

static const struct stats_header *header_of(const struct fixture *fixture)
{
    return (const struct stats_header *)(const void *)fixture->seen;
}

static const struct stats_table *table_named(const struct fixture *fixture, const char *name)
{
    const struct stats_table *table =
        (const struct stats_table *)(const void *)(fixture->seen + sizeof(struct stats_header));

    for (uint32_t i = 0; i < header_of(fixture)->tables; i++, table++) {
        if (strcmp(table->name, name) == 0) {
            return table;
        }
    }
    fail_msg("there is no table %s", name);
    return NULL;
}

static const struct stats_field *field_at(const struct fixture *fixture,
                                          const struct stats_table *table, uint32_t index)
{
    return (const struct stats_field *)(const void *)(fixture->seen + table->fields_at) + index;
}

static const uint8_t *row_named(const struct fixture *fixture, const char *table_name,
                                const char *name)
{
    const struct stats_table *table = table_named(fixture, table_name);

    for (uint32_t i = 0; i < table->rows; i++) {
        const uint8_t *row = fixture->seen + table->rows_at + (size_t)i * table->row_bytes;
        if (strcmp((const char *)row, name) == 0) {
            return row;
        }
    }
    return NULL;
}

static const uint8_t *cell(const struct fixture *fixture, const char *table_name, const char *row,
                           const char *column)
{
    const struct stats_table *table = table_named(fixture, table_name);
    const uint8_t *found = row_named(fixture, table_name, row);

    assert_non_null(found);
    for (uint32_t i = 0; i < table->fields; i++) {
        const struct stats_field *field = field_at(fixture, table, i);
        if (strcmp(field->name, column) == 0) {
            return found + field->offset;
        }
    }
    fail_msg("there is no column %s", column);
    return NULL;
}

static uint64_t number(const struct fixture *fixture, const char *table, const char *row,
                       const char *column)
{
    uint64_t value;

    memcpy(&value, cell(fixture, table, row, column), sizeof value);
    return value;
}

static const char *text(const struct fixture *fixture, const char *table, const char *row,
                        const char *column)
{
    return (const char *)cell(fixture, table, row, column);
}

/** Publishes, later than ever before, until there is nothing new. @return how many times. */
static unsigned publish_all(struct fixture *fixture)
{
    unsigned times = 0;

    while (stats_is_stale(&fixture->stats, &fixture->core)) {
        stats_publish(&fixture->stats, &fixture->core, fixture->stats.due_ns);
        times++;
    }
    look(fixture);
    return times;
}

/* ---- tests ----------------------------------------------------------------------------------- */

FIXTURE_TEST(stats_open__says_what_it_is)
{
    look(fixture);
    const struct stats_header *header = header_of(fixture);
    assert_memory_equal(header->magic, STATS_MAGIC, sizeof header->magic);
    assert_int_equal(header->version, STATS_VERSION);
    assert_int_equal(header->bytes, sizeof(struct stats_file));
    assert_int_equal(header->process, getpid());
    assert_int_equal(header->opened_ns, NOW_NS);
    assert_int_equal(header->published_ns, NOW_NS);
    assert_int_equal(header->sequence % 2, 0);
}

FIXTURE_TEST(stats_open__all_tables_and_columns_are_inside)
{
    look(fixture);
    const struct stats_table *table =
        (const struct stats_table *)(const void *)(fixture->seen + sizeof(struct stats_header));
    uint64_t rows_end = 0;
    for (uint32_t i = 0; i < header_of(fixture)->tables; i++, table++) {
        assert_true(table->fields_at + (uint64_t)table->fields * sizeof(struct stats_field) <=
                    sizeof fixture->seen);
        assert_true(table->rows_at >= rows_end); /* none overlaps another */
        rows_end = table->rows_at + (uint64_t)table->rows * table->row_bytes;
        assert_true(rows_end <= sizeof fixture->seen);
        for (uint32_t j = 0; j < table->fields; j++) {
            const struct stats_field *field = field_at(fixture, table, j);
            assert_non_null(memchr(field->name, 0, sizeof field->name));
            assert_true(field->offset + field->bytes <= table->row_bytes);
            assert_int_equal(field->kind, j == 0 ? STATS_TEXT : field->kind);
            assert_true(field->kind == STATS_TEXT || field->bytes == sizeof(uint64_t));
        }
        assert_string_equal(field_at(fixture, table, 0)->name, "name");
        assert_int_equal(field_at(fixture, table, 0)->offset, 0);
    }
}

FIXTURE_TEST(stats_open__is_found_by_its_name_and_cannot_shrink)
{
    char path[64];
    char link[64] = {0};

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fixture->stats.descriptor);
    assert_true(readlink(path, link, sizeof link - 1) > 0);
    assert_string_equal(link, "/memfd:" STATS_NAME " (deleted)");
    assert_int_equal(ftruncate(fixture->stats.descriptor, 0), -1);
}

FIXTURE_TEST(stats_open__without_descriptors_nothing_is_published)
{
    struct stats stats;
    struct rlimit before;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    stats_open(&stats, &fixture->core, NOW_NS);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_null(stats.file);
    assert_int_equal(stats.due_ns, UINT64_MAX);
    fixture->lane.sent_frames++;
    assert_false(stats_is_stale(&stats, &fixture->core));
    stats_publish(&stats, &fixture->core, UINT64_MAX);
    stats_close(&stats);
}

FIXTURE_TEST(stats_missing__names_lanes_and_says_why)
{
    const struct lanes_missing missing = {.count = 1, .at = {{"tso/eth0", -EUSERS, "so many"}}};
    struct stats none = {.descriptor = -1};

    stats_missing(&none, &missing);
    assert_string_equal(fixture->stats.file->missing[0].name, "");
    stats_missing(&fixture->stats, &missing);
    assert_string_equal(fixture->stats.file->missing[0].name, "tso/eth0");
    assert_string_equal(fixture->stats.file->missing[0].reason, "so many");
    assert_string_equal(fixture->stats.file->missing[1].name, "");
}

FIXTURE_TEST(stats_open__takes_and_gives_back_one_descriptor)
{
    struct stats stats;

    int before = dup(0);
    close(before);
    stats_open(&stats, &fixture->core, NOW_NS);
    assert_int_equal(stats.descriptor, before);
    stats_close(&stats);
    int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

FIXTURE_TEST(stats_publish__copies_lanes_types_drops_and_counters)
{
    struct core_counters *counters = &fixture->core.counters;

    fixture->lane.sent_frames = 3;
    fixture->lane.sent_bytes = 300;
    fixture->lane.sent_calls = 2;
    fixture->lane.received_frames = 4;
    fixture->lane.received_bytes = 400;
    fixture->core.options.lanes.down[0] = true;
    counters->sent[FRAME_EAGER] = 5;
    counters->received[FRAME_DATA] = 6;
    counters->dropped_key = 7;
    counters->dropped[FRAME_BAD_FIELD] = 8;
    fixture->core.messages.counters.received_messages = 9;
    (void)publish_all(fixture);
    assert_int_equal(number(fixture, "lanes", "packet/eth0", "sent_frames"), 3);
    assert_int_equal(number(fixture, "lanes", "packet/eth0", "sent_bytes"), 300);
    assert_int_equal(number(fixture, "lanes", "packet/eth0", "sent_calls"), 2);
    assert_int_equal(number(fixture, "lanes", "packet/eth0", "received_frames"), 4);
    assert_int_equal(number(fixture, "lanes", "packet/eth0", "received_bytes"), 400);
    assert_int_equal(number(fixture, "lanes", "packet/eth0", "down"), 1);
    assert_int_equal(number(fixture, "frames", "eager", "sent"), 5);
    assert_int_equal(number(fixture, "frames", "data", "received"), 6);
    assert_int_equal(number(fixture, "drops", "key", "value"), 7);
    assert_int_equal(number(fixture, "drops", "field", "value"), 8);
    assert_int_equal(number(fixture, "counters", "message_received", "value"), 9);
}

FIXTURE_TEST(stats_publish__has_every_counter_and_every_type)
{
    look(fixture);
    assert_true(counters_count() <= STATS_COUNTERS);
    unsigned drops = 0;
    for (unsigned i = 0; i < counters_count(); i++) {
        assert_non_null(row_named(fixture, "counters", counters_name(i)));
        if (strncmp(counters_name(i), "dropped_", 8) == 0) {
            assert_non_null(row_named(fixture, "drops", counters_name(i) + 8));
            drops++;
        }
    }
    assert_true(drops >= 14 && drops <= STATS_DROPS);
    for (unsigned i = 0; i < FRAME_TYPES; i++) {
        if (frame_type_name(i) != NULL) {
            assert_non_null(row_named(fixture, "frames", frame_type_name(i)));
        }
    }
}

TEST_AROUND(stats_publish__copies_peers, setup, teardown)
{
    struct fixture *fixture = *state;
    struct core_peer *peer = add_peer(fixture, 4711);
    struct flow *flow = &peer->message.flow;

    peer->connection.state = CONNECTION_OPEN;
    flow->rtt.smoothed_ns = 8000;
    flow->rtt.minimum_ns = 7000;
    flow->first = 10;
    flow->highest = 13;
    flow->next = 15;
    flow->limit = 20;
    flow->sent_frames = 14;
    flow->retransmitted_frames = 1;
    flow->expected = 12;
    (void)publish_all(fixture);
    const char *name = "10.77.0.2/4711";
    assert_string_equal(text(fixture, "peers", name, "state"), "connected");
    assert_string_equal(text(fixture, "peers", name, "lane"), "packet/eth0");
    assert_int_equal(number(fixture, "peers", name, "rtt_ns"), 8000);
    assert_int_equal(number(fixture, "peers", name, "rtt_minimum_ns"), 7000);
    assert_int_equal(number(fixture, "peers", name, "in_flight_frames"), 3);
    assert_int_equal(number(fixture, "peers", name, "waiting_frames"), 2);
    assert_int_equal(number(fixture, "peers", name, "credit_frames"), 7);
    assert_int_equal(number(fixture, "peers", name, "retransmitted_frames"), 1);
    assert_int_equal(number(fixture, "peers", name, "accepted_frames"), 12);
    assert_int_equal(number(fixture, "counters", "flow_sent_frames", "value"), 14);

    peer->connection.state = CONNECTION_FAILED;
    peer->connection.error = -110;
    flow->limit = 5; /* all used up */
    fixture->core.counters.peers_failed++;
    (void)publish_all(fixture);
    assert_string_equal(text(fixture, "peers", name, "state"), "failed");
    assert_int_equal(number(fixture, "peers", name, "error"), 110);
    assert_int_equal(number(fixture, "peers", name, "credit_frames"), 0);
}

FIXTURE_TEST(stats_publish__names_peers_by_what_there_is)
{
    struct core_peer *ethernet = add_peer(fixture, 1);
    struct core_peer *v6 = add_peer(fixture, 2);
    struct core_peer *memory = add_peer(fixture, 3);

    struct address_layout *layout = (void *)ethernet->address.bytes;
    layout->rail[0].port = to_le16(0);
    layout = (void *)v6->address.bytes;
    layout->rail[0].ip[0] = 0xFD;
    layout = (void *)memory->address.bytes;
    layout->rails = 0;
    layout->process = to_le32(99);
    (void)publish_all(fixture);
    assert_non_null(row_named(fixture, "peers", "02:00:00:00:00:09/1"));
    assert_non_null(row_named(fixture, "peers", "fd00::ffff:a4d:2/2"));
    assert_non_null(row_named(fixture, "peers", "process 99/3"));
}

FIXTURE_TEST(stats_publish__many_peers_in_turn_and_all_of_them_in_sums)
{
    for (unsigned i = 0; i < 100; i++) {
        add_peer(fixture, 1)->message.flow.sent_frames = 1;
    }
    /* As many at once as tuning.h says, so that the work is bounded. */
    assert_int_equal(publish_all(fixture), (100 + STATS_PEERS_AT_ONCE - 1) / STATS_PEERS_AT_ONCE);
    assert_int_equal(number(fixture, "counters", "flow_sent_frames", "value"), 100);

    /* One that has been looked at in this round sends something: the next round shows it. */
    fixture->lane.sent_frames++;
    stats_publish(&fixture->stats, &fixture->core, NOW_NS);
    fixture->peers[0]->message.flow.sent_frames++;
    fixture->lane.sent_frames++;
    (void)publish_all(fixture);
    assert_int_equal(number(fixture, "counters", "flow_sent_frames", "value"), 101);
    assert_false(stats_is_stale(&fixture->stats, &fixture->core));
}

FIXTURE_TEST(stats_publish__of_peers_that_share_a_row_the_busiest_is_shown)
{
    for (unsigned i = 0; i < 2 * STATS_PEERS; i++) {
        add_peer(fixture, (uint16_t)(i + 1));
    }
    fixture->peers[STATS_PEERS + 5]->message.flow.sent_frames = 9;
    fixture->peers[6]->message.flow.sent_frames = 9;
    (void)publish_all(fixture);
    assert_null(row_named(fixture, "peers", "10.77.0.2/6"));
    assert_non_null(row_named(fixture, "peers", "10.77.0.2/262")); /* 256 + 5, from 1 on */
    assert_non_null(row_named(fixture, "peers", "10.77.0.2/7"));
    assert_null(row_named(fixture, "peers", "10.77.0.2/263"));

    fixture->peers[5]->message.flow.sent_frames = 10;
    fixture->lane.sent_frames++;
    (void)publish_all(fixture);
    assert_non_null(row_named(fixture, "peers", "10.77.0.2/6"));
    assert_null(row_named(fixture, "peers", "10.77.0.2/262"));
}

FIXTURE_TEST(stats_publish__nothing_new_nothing_written)
{
    look(fixture);
    uint64_t sequence = header_of(fixture)->sequence;
    assert_false(stats_is_stale(&fixture->stats, &fixture->core));
    stats_publish(&fixture->stats, &fixture->core, NOW_NS + STATS_INTERVAL_NS);
    look(fixture);
    assert_int_equal(header_of(fixture)->sequence, sequence);
    assert_int_equal(fixture->stats.due_ns, NOW_NS + 2 * (uint64_t)STATS_INTERVAL_NS);

    fixture->lane.received_frames++;
    assert_true(stats_is_stale(&fixture->stats, &fixture->core));
    stats_publish(&fixture->stats, &fixture->core, fixture->stats.due_ns);
    look(fixture);
    assert_int_equal(header_of(fixture)->sequence, sequence + 2);
}
