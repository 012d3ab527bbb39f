/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_internal.h - what the files of the lane over RDMA devices share. For lane/verbs*.c only.
 *
 * Memory: `slots_in` slots to receive into, then `slots_out` to send from, all registered.
 *
 *      a slot in     the card's (posted) -> `polled` -> handed out (`held`) -> posted again
 *      a slot out    free -> the card's, until a completion says so of it or of a later one
 *
 * What is read of a peer's memory goes straight to where it belongs, over a reliable connection to
 * that peer (verbs_link.h), by memory that is registered for that time (verbs_memory.h).
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

/** In front of each datagram that was received: IPv4's header is the second half of it. */
#define VERBS_GRH_BYTES 40
#define VERBS_IPV4_BYTES 20

/** What every queue pair of ours lets in: it keeps others' datagrams apart, and is no secret. */
#define VERBS_QKEY 0x42574644u

/** Completions that are taken from the card at once. */
#define VERBS_POLLED_MAX 32

/** So many frames at most, and then one of which the card reports that it has been sent. */
#define VERBS_REPORTED_EACH 16
static_assert(LANE_VERBS_SEND_FRAMES > 2 * VERBS_REPORTED_EACH, "one of them is reported");

/** Of the table of reliable connections; a power of two. */
#define VERBS_LINK_BUCKETS 256

struct verbs_link;

/** A message that is read, or was. */
struct verbs_read {
    void *context; /* whose: NULL: the entry is free */
    struct verbs_link *link;
    struct verbs_registration *target; /* NULL: it has ended, with `status`; or the entry is free */
    unsigned requests;                 /* that it was posted by */
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
    uint32_t inline_bytes; /* frames of so many are in the request itself */
    uint64_t posted; /* frames that were sent, of the first LANE_VERBS_SEND_FRAMES in slot 0 */
    uint64_t gone;   /* those whose slots are free again */
    unsigned polled_first; /* of `polled` */
    unsigned polled_end;
    unsigned held_count;
    bool armed;  /* an event comes, or is there */
    bool broken; /* the queue pair: it sends and receives nothing any more */
    struct ibv_wc polled[VERBS_POLLED_MAX];
    uint32_t held[LANE_RING_FRAMES]; /* slots */
    struct verbs_hosts hosts;
    struct ibv_cq *reads_ended;
    unsigned reads_requests; /* posted, of all connections that there are */
    unsigned reads_count;    /* entries of `reads` that are in use */
    unsigned reads_over;     /* of these: have ended, which nobody was told of */
    struct verbs_read reads[LANE_VERBS_READS];
    struct verbs_memory registered;
    unsigned links_open; /* that have a queue pair */
    struct verbs_link *links[VERBS_LINK_BUCKETS];
};

/** How a lane_address of this lane looks inside. */
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

/** Opens the device of an interface, NULL: any, with its address and the length of its frames.
 *  @return 0; -ENXIO, -ENETDOWN or -EADDRNOTAVAIL as verbs_lane_open(), and nothing is open. */
int verbs_device_open(struct verbs_lane *verbs, const char *interface);

/** 0, or -ENETDOWN. Notes how long frames may be now. */
int verbs_device_status(struct verbs_lane *verbs);

/** Makes all that is needed on an open device, and begins to receive.
 *  @return 0; -ENOBUFS or another negative errno. */
int verbs_pair_open(struct verbs_lane *verbs);

/** Has a broken queue pair begin anew: what was on its way is lost. @return 0, or -ENETDOWN. */
int verbs_pair_revive(struct verbs_lane *verbs);

/** Gives everything back, also of what was opened in part. */
void verbs_pair_close(struct verbs_lane *verbs);

/** Gives slots to the card, to receive into. @return false: it does not take them. */
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

/** Sends a datagram that is no frame, if there is room for it and the host is known: it may be
 * lost.
 *  @param immediate tells it from frames */
void verbs_send_note(struct verbs_lane *verbs, const struct verbs_place *to, uint32_t immediate,
                     const void *bytes, uint32_t count);

/** The link does nothing more: what is read by it has failed. */
void verbs_reads_fail(struct verbs_lane *verbs, const struct verbs_link *link);

/** Has a read ended that was not taken? */
bool verbs_reads_have_ended(struct verbs_lane *verbs);

#endif /* BEOWIRE_LANE_VERBS_INTERNAL_H */
