/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats.h - the counters of an endpoint where other processes can see them: `beowire top`.
 *
 * Each endpoint has a file without a name in any directory (memfd_create(2)): whoever may look at
 * the process finds it as a descriptor whose link reads "/memfd:beowire-stats (deleted)", in
 * /proc/PID/fd, and it is gone with the process, however that ends.
 *
 *      struct stats_header        magic, version, length, and how to read all this consistently
 *      struct stats_table [n]     directly behind it: what tables there are, and where
 *      struct stats_field [...]   the columns of each table
 *      rows                       each begins with its name; one whose first byte is 0 is not used
 *
 * A reader needs to know nothing else: names, places and lengths of tables and columns are all in
 * the file, so it can show counters that it has never heard of. Within a version the header and the
 * descriptors stay as they are here; tables, columns and rows may come and go. All numbers are as
 * the processor has them (little-endian on all that Beowire runs on).
 *
 * Consistent reading (a sequence lock): read `sequence`; if it is odd, or another one when
 * everything else has been read, read again. The file is sealed against shrinking and growing, but
 * its reader cannot know who has made it: copying it out with pread(2) cannot be killed by SIGBUS,
 * mapping it can.
 *
 * Cost. Counters are counted where they always were, and copied here at most every
 * STATS_INTERVAL_NS by whoever makes progress, if something has happened since; so on the way of a
 * frame there is one comparison. Each time a few peers are looked at, in turn: the work does not
 * grow with their number. Nor does the memory: peer i has row i % STATS_PEERS, and of those that
 * share a row the one with the most traffic is shown.
 *
 * One thread at a time, in the endpoint's turn.
 */
#ifndef BEOWIRE_ENDPOINT_STATS_H
#define BEOWIRE_ENDPOINT_STATS_H

#include "core/core.h"
#include "endpoint/lanes.h"
#include "tuning.h"

#define STATS_NAME "beowire-stats"
#define STATS_MAGIC "beostats" /* without its end */
#define STATS_VERSION 1

struct stats_header {
    char magic[8]; /**< STATS_MAGIC; written last when the file is made */
    uint32_t version;
    uint32_t tables; /**< how many follow */
    uint64_t bytes;  /**< length of the file */
    uint64_t sequence;
    uint64_t published_ns; /**< when the counters were copied, CLOCK_MONOTONIC */
    uint64_t opened_ns;    /**< when the endpoint was */
    uint32_t process;      /**< as it is called in its own process namespace */
    uint32_t reserved[3];
};
static_assert(sizeof(struct stats_header) == 64, "part of the version");

struct stats_table {
    char name[16];      /**< ends with 0, as all text here */
    uint32_t fields_at; /**< offset in the file */
    uint32_t fields;
    uint32_t rows_at;
    uint32_t row_bytes;
    uint32_t rows;
    uint32_t reserved[3];
};
static_assert(sizeof(struct stats_table) == 48, "part of the version");

enum stats_kind {
    STATS_TEXT = 1,   /**< ends with 0 */
    STATS_NUMBER = 2, /**< 8 bytes, unsigned: it may be a counter, or the state of something */
};

struct stats_field {
    char name[24];
    uint16_t offset; /**< in the row */
    uint16_t bytes;
    uint32_t kind; /**< enum stats_kind */
};
static_assert(sizeof(struct stats_field) == 32, "part of the version");

/* ---- rows: their columns are named in stats.c ------------------------------------------------ */

struct stats_endpoint {
    char name[BEOWIRE_ADDRESS_TEXT_BYTES]; /**< its address */
    uint64_t number;
    uint64_t peers_known;
    uint64_t peers_connected;
};

struct stats_lane {
    char name[24];  /**< such as "packet/eth0" */
    uint64_t down;  /**< 1: it does not work just now */
    uint64_t peers; /**< to which it carries what has to be quick */
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

/** A lane that was wanted, and that the host did not grant; or what one that is there does without.
 */
struct stats_missing {
    char name[48];
    char reason[96];
};

/** Frames of a type. */
struct stats_type {
    char name[16];
    uint64_t sent;
    uint64_t received;
};

/** Any counter; also frames that were dropped for a reason. */
struct stats_counter {
    char name[40];
    uint64_t value;
};

struct stats_peer {
    char name[64];  /**< where it is, and its endpoint number: "10.77.0.2/4711" */
    char state[16]; /**< known, connecting, connected, standing still,
                         failed */
    char lane[24];  /**< that carries what has to be quick */
    uint64_t index; /**< beowire_peer */
    uint64_t error; /**< failed: the errno value */
    uint64_t rtt_ns;
    uint64_t rtt_minimum_ns;
    uint64_t in_flight_frames;
    uint64_t waiting_frames; /**< for credit, or for a window */
    uint64_t credit_frames;  /**< that may still be sent */
    uint64_t sent_frames;    /**< sequenced ones, each time that one was sent */
    uint64_t retransmitted_frames;
    uint64_t accepted_frames; /**< sequenced ones, modulo 2^32 */
    uint64_t duplicate_frames;
    uint64_t probes;
    uint64_t pulls; /**< of its messages, at this moment */
};

#define STATS_TABLES 8
#define STATS_FIELDS 48
#define STATS_COUNTERS 136
#define STATS_DROPS 32

/** The whole file. Readers do not rely on it, only on what it says of itself. */
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
    struct stats_file *file;       /**< NULL: nothing is published */
    int descriptor;                /**< -1: none */
    uint64_t due_ns;               /**< not to be published again before */
    uint64_t activity;             /**< of what is published, see activity_of() */
    uint32_t next_peer;            /**< the first that has not been looked at in this round */
    uint32_t peers_to_look_at;     /**< until all that has happened is published */
    uint64_t sums[STATS_COUNTERS]; /**< of this round: counters that are sums over all peers */
};

/** Makes the file and publishes for the first time. If it cannot be made (no descriptors, no
 *  memory), the endpoint does without: nothing depends on it. */
void stats_open(struct stats *stats, const struct core *core, uint64_t now_ns);

/** Says which lanes are missing. */
void stats_missing(struct stats *stats, const struct lanes_missing *missing);

void stats_close(struct stats *stats);

/** Has anything happened that is not published yet? */
bool stats_is_stale(const struct stats *stats, const struct core *core);

/** Copies the counters, if anything has happened. To be called when `due_ns` has come. */
void stats_publish(struct stats *stats, const struct core *core, uint64_t now_ns);

#endif /* BEOWIRE_ENDPOINT_STATS_H */
