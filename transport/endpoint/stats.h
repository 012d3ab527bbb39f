/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats.h - the counters of an endpoint, readable by other processes: `beowire top`.
 *
 * Each endpoint has an unnamed file (memfd_create(2)). Processes that may inspect this process find
 * it in /proc/PID/fd as a descriptor whose link reads "/memfd:beowire-stats (deleted)". It
 * disappears with the process.
 *
 *      struct stats_header        magic, version, length, and sequence lock
 *      struct stats_table [n]     directly behind it: the tables and their places
 *      struct stats_field [...]   the columns of each table
 *      rows                       each begins with its name; unused if the first byte is 0
 *
 * The file describes itself: it contains the names, places and lengths of tables and columns, so a
 * reader can show counters that it does not know. Within a version the header and the descriptors
 * do not change; tables, columns and rows may. Numbers have the processor's byte order
 * (little-endian on all that Beowire supports).
 *
 * Consistent reading (a sequence lock): read `sequence`; if it is odd, or has changed after
 * everything else was read, read again. The file is sealed against changes of its size, but a
 * reader cannot know who made it. So read it with pread(2): in a mapping, SIGBUS could kill the
 * reader.
 *
 * Cost. Counters are copied here at most every STATS_INTERVAL_NS by the thread that makes progress,
 * if something has happened since. So a frame costs one comparison. Each time a few peers are
 * copied in turn, so the work does not grow with their number. Neither does the memory: peer i has
 * row i % STATS_PEERS, and of peers with the same row the one with the most traffic is shown.
 *
 * One thread at a time, in the endpoint's turn.
 */
#ifndef BEOWIRE_ENDPOINT_STATS_H
#define BEOWIRE_ENDPOINT_STATS_H

#include "core/core.h"
#include "endpoint/lanes.h"
#include "tuning.h"

#define STATS_NAME "beowire-stats"
#define STATS_MAGIC "beostats" /* without its zero byte */
#define STATS_VERSION 1

struct stats_header {
    char magic[8]; /**< STATS_MAGIC; written last when the file is made */
    uint32_t version;
    uint32_t tables; /**< number of tables */
    uint64_t bytes;  /**< length of the file */
    uint64_t sequence;
    uint64_t published_ns; /**< when the counters were copied, CLOCK_MONOTONIC */
    uint64_t opened_ns;    /**< when the endpoint was opened */
    uint32_t process;      /**< its id in its own process namespace */
    uint32_t reserved[3];
};
static_assert(sizeof(struct stats_header) == 64, "part of the version");

struct stats_table {
    char name[16];      /**< ends with a zero byte, like all texts here */
    uint32_t fields_at; /**< offset in the file */
    uint32_t fields;
    uint32_t rows_at;
    uint32_t row_bytes;
    uint32_t rows;
    uint32_t reserved[3];
};
static_assert(sizeof(struct stats_table) == 48, "part of the version");

enum stats_kind {
    STATS_TEXT = 1,   /**< ends with a zero byte */
    STATS_NUMBER = 2, /**< 8 bytes, unsigned: a counter, or a state */
};

struct stats_field {
    char name[24];
    uint16_t offset; /**< in the row */
    uint16_t bytes;
    uint32_t kind; /**< enum stats_kind */
};
static_assert(sizeof(struct stats_field) == 32, "part of the version");

/* ---- rows; stats.c names their columns ----------------------------------------------------- */

struct stats_endpoint {
    char name[BEOWIRE_ADDRESS_TEXT_BYTES]; /**< the address */
    uint64_t number;
    uint64_t peers_known;
    uint64_t peers_connected;
};

struct stats_lane {
    char name[24];  /**< such as "packet/eth0" */
    uint64_t down;  /**< 1: not working */
    uint64_t peers; /**< for which it is the fast lane */
    uint64_t frame_bytes;
    uint64_t sent_frames;
    uint64_t sent_bytes;
    uint64_t sent_calls;
    uint64_t refused_frames;
    uint64_t refused_trains;
    uint64_t received_frames;
    uint64_t received_bytes;
    uint64_t placed_frames;
    uint64_t foreign_frames;
    uint64_t dropped_frames;
    uint64_t damaged_frames;
};

/** A link that damages frames: "packet/eth0 from 10.77.0.2/4711". */
struct stats_damage {
    char name[96];
    uint64_t frames;
};

/** A requested lane that is missing, or a feature that an open lane lacks. */
struct stats_missing {
    char name[48];
    char reason[96];
};

/** Frames of one type. */
struct stats_type {
    char name[16];
    uint64_t sent;
    uint64_t received;
};

/** Any counter, including frames dropped for a reason. */
struct stats_counter {
    char name[40];
    uint64_t value;
};

struct stats_peer {
    char name[64];  /**< its address and endpoint number: "10.77.0.2/4711" */
    char state[16]; /**< known, connecting, connected, standing still,
                         failed */
    char lane[24];  /**< the fast lane */
    uint64_t index; /**< beowire_peer */
    uint64_t error; /**< failed: the errno value */
    uint64_t rtt_ns;
    uint64_t rtt_minimum_ns;
    uint64_t in_flight_frames;
    uint64_t waiting_frames; /**< waiting for credit, or for a window */
    uint64_t credit_frames;  /**< remaining credit */
    uint64_t sent_frames;    /**< sequenced frames, including retransmissions */
    uint64_t retransmitted_frames;
    uint64_t accepted_frames; /**< sequenced frames, modulo 2^32 */
    uint64_t duplicate_frames;
    uint64_t probes;
    uint64_t pulls; /**< active pulls of its messages */
};

#define STATS_TABLES 8
#define STATS_FIELDS 48
#define STATS_COUNTERS 136
#define STATS_DROPS 32

/** The whole file. Readers must rely only on its own description. */
struct stats_file {
    struct stats_header header;
    struct stats_table tables[STATS_TABLES];
    struct stats_field fields[STATS_FIELDS];
    struct stats_endpoint endpoint;
    struct stats_lane lanes[LANES_MAX];
    struct stats_damage damage[CORE_DAMAGED_LINKS];
    struct stats_missing missing[sizeof(struct lane_of_each) + LANE_LACKS_MAX];
    struct stats_type types[FRAME_TYPES];
    struct stats_counter drops[STATS_DROPS];
    struct stats_counter counters[STATS_COUNTERS];
    struct stats_peer peers[STATS_PEERS];
};
static_assert(sizeof(struct stats_file) <= 73728, "pages of shared memory, most of them for peers");

/* ---- the endpoint's side --------------------------------------------------------------------- */

struct stats {
    struct stats_file *file;       /**< NULL: not published */
    int descriptor;                /**< -1: none */
    uint64_t due_ns;               /**< earliest time of the next copy */
    uint64_t activity;             /**< activity_of() of the published state */
    uint32_t next_peer;            /**< the next one to copy in this round */
    uint32_t peers_to_look_at;     /**< until everything that has happened is published */
    uint64_t sums[STATS_COUNTERS]; /**< sums over all peers so far in this round */
};

/** Creates the file and publishes for the first time. If it cannot be created (no descriptors, no
 *  memory), the endpoint works without it. */
void stats_open(struct stats *stats, const struct core *core, uint64_t now_ns);

/** Publishes which lanes are missing. */
void stats_missing(struct stats *stats, const struct lanes_missing *missing);

void stats_close(struct stats *stats);

/** Has anything happened that is not published? */
bool stats_is_stale(const struct stats *stats, const struct core *core);

/** Copies the counters, if anything has happened. Call it when `due_ns` has come. */
void stats_publish(struct stats *stats, const struct core *core, uint64_t now_ns);

#endif /* BEOWIRE_ENDPOINT_STATS_H */
