/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_internal.h - shared by the files of the lane over RDMA devices. For lane/verbs*.c only.
 *
 * Memory: `slots_in` slots to receive into, then `slots_out` to send from, all registered.
 *
 *      a slot in     the card's (posted) -> `polled` -> returned (`held`) -> posted again
 *      a slot out    free -> the card's, until it or a later one completes
 *
 * Data read from a peer's memory goes directly to its place, over a reliable connection to that
 * peer (verbs_link.h), into memory that is registered meanwhile (verbs_memory.h).
 */
#ifndef BEOWIRE_LANE_VERBS_INTERNAL_H
#define BEOWIRE_LANE_VERBS_INTERNAL_H

#include "lane/verbs/verbs.h"
#include "lane/verbs/verbs_hosts.h"
#include "lane/verbs/verbs_library.h"
#include "lane/verbs/verbs_memory.h"
#include "tuning.h"

#include <assert.h>
#include <string.h>

/** Bytes before each received datagram; the second half is IPv4's header. */
#define VERBS_GRH_BYTES 40
#define VERBS_IPV4_BYTES 20

/** The key of all our queue pairs: it excludes datagrams of other programs, and is no secret. */
#define VERBS_QKEY 0x42574644u

/** The most completions taken from the card at once. */
#define VERBS_POLLED_MAX 32

/** One frame in this many is reported by the card when it was sent. */
#define VERBS_REPORTED_EACH 16
static_assert(LANE_VERBS_SEND_FRAMES > 2 * VERBS_REPORTED_EACH, "one of them is reported");

/** Buckets of the table of reliable connections; a power of two. */
#define VERBS_LINK_BUCKETS 256

struct verbs_link;

/** A message being read, or read. */
struct verbs_read {
    void *context; /* the caller's; NULL: the entry is free */
    struct verbs_link *link;
    struct verbs_registration *target; /* NULL: ended with `status`, or the entry is free */
    unsigned requests;                 /* number of posted requests */
    uint16_t serial;                   /* of the use of this entry */
    int status;
};

struct verbs_lane {
    struct lane lane; /* first: the layers above know only this */
    const struct verbs_library *library;
    struct ibv_context *context;
    uint8_t port;
    uint8_t gid_index;
    uint8_t reads_most; /* requests of a connection that its other end answers at once */
    enum ibv_mtu mtu;
    uint32_t ipv4; /* our own, as in a packet */
    struct ibv_pd *domain;
    struct ibv_comp_channel *channel;
    struct ibv_cq *sent;
    struct ibv_cq *received;
    struct ibv_qp *pair;
    struct ibv_mr *region;
    uint8_t *memory;
    size_t memory_bytes;
    uint32_t slot_bytes;
    uint32_t inline_bytes; /* frames of up to this length are inline in the request */
    uint64_t posted;       /* frames sent, the first of them in slot 0 */
    uint64_t gone;         /* frames whose slots are free again */
    unsigned polled_first; /* of `polled` */
    unsigned polled_end;
    unsigned held_count;
    bool armed;  /* an event is requested, or pending */
    bool broken; /* the queue pair: it neither sends nor receives */
    struct ibv_wc polled[VERBS_POLLED_MAX];
    uint32_t held[LANE_RING_FRAMES]; /* slots */
    struct verbs_hosts hosts;
    struct ibv_cq *reads_ended;
    unsigned reads_requests; /* posted, of all existing connections */
    unsigned reads_count;    /* entries of `reads` in use */
    unsigned reads_over;     /* ended ones that were not reported */
    struct verbs_read reads[LANE_VERBS_READS];
    struct verbs_memory registered;
    unsigned links_open; /* links with a queue pair */
    struct verbs_link *links[VERBS_LINK_BUCKETS];
};

/** The contents of a lane_address of this lane. */
struct verbs_place {
    uint32_t ipv4; /* as in a packet */
    uint32_t queue_pair;
    uint8_t none[16]; /* 0 */
};
static_assert(sizeof(struct verbs_place) == sizeof(struct lane_address), "lane.h");

static inline struct verbs_lane *verbs_of(struct lane *lane)
{
    return (struct verbs_lane *)(void *)lane;
}

static inline uint8_t *verbs_slot_in(const struct verbs_lane *verbs, uint32_t slot)
{
    return verbs->memory + (size_t)slot * verbs->slot_bytes;
}

static inline uint8_t *verbs_slot_out(const struct verbs_lane *verbs, uint64_t number)
{
    return verbs_slot_in(verbs, LANE_RING_FRAMES + (uint32_t)(number % LANE_VERBS_SEND_FRAMES));
}

/** Opens the device of an interface (NULL: any), and sets its address and the length of frames.
 *  @return 0; -ENXIO, -ENETDOWN or -EADDRNOTAVAIL as verbs_lane_open(), and nothing is open. */
int verbs_device_open(struct verbs_lane *verbs, const char *interface);

/** 0, or -ENETDOWN. Updates the length of frames. */
int verbs_device_status(struct verbs_lane *verbs);

/** Allocates all resources of an open device, and begins to receive. @return 0; -ENOBUFS or another
 *  negative errno. */
int verbs_pair_open(struct verbs_lane *verbs);

/** Resets a broken queue pair; frames under way are lost. @return 0, or -ENETDOWN. */
int verbs_pair_revive(struct verbs_lane *verbs);

/** Frees all resources, also of a partial setup. */
void verbs_pair_close(struct verbs_lane *verbs);

/** Posts slots to receive into. @return false: refused. */
bool verbs_post_slots(struct verbs_lane *verbs, const uint32_t *slots, unsigned count);

/** As in struct lane_operations. */
unsigned verbs_send(struct lane *lane, const struct lane_address *to,
                    const struct lane_outgoing *frames, unsigned count);
unsigned verbs_receive(struct lane *lane, struct lane_incoming *frames, unsigned count);
void verbs_release(struct lane *lane);
bool verbs_arm(struct lane *lane);
uint64_t verbs_lend(struct lane *lane, const struct lane_address *to, const void *memory,
                    uint64_t bytes);
void verbs_take_back(struct lane *lane, uint64_t lent);
int verbs_begin_read(struct lane *lane, const struct lane_address *from, uint64_t lent,
                     void *target, uint64_t bytes, void *context);
bool verbs_read_ended(struct lane *lane, void **read, int *status);
void verbs_stop_read(struct lane *lane, void *context);

/** Sends a datagram that is no frame, if there is room and the host is known; it may be lost.
 *  @param immediate distinguishes it from frames */
void verbs_send_note(struct verbs_lane *verbs, const struct verbs_place *to, uint32_t immediate,
                     const void *bytes, uint32_t count);

/** The link is unusable: fails all reads over it. */
void verbs_reads_fail(struct verbs_lane *verbs, const struct verbs_link *link);

/** Has a read ended that was not reported? */
bool verbs_reads_have_ended(struct verbs_lane *verbs);

#endif /* BEOWIRE_LANE_VERBS_INTERNAL_H */
