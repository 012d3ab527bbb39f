/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_link.h - the reliable connections (RC) of the lane over RDMA devices, which read long
 * messages: one for each peer, made by the first long message, and only for reading. Frames always
 * use datagrams.
 *
 *      one end                                  the other
 *        HELLO pair 7, start 100, yours 0 ------>   makes its own pair, connects it to 7
 *        <------ HELLO pair 9, start 500, yours 7   (it can be read from)
 *      connects to 9, and may read
 *
 * HELLO is a datagram between the queue pairs for frames (docs/PROTOCOL.md). Immediate data
 * distinguishes it from frames, and older versions ignore it. It may be lost: an end that wants to
 * lend asks again. Both may ask at once. `yours` is the receiver's pair as the sender knows it. If
 * it is wrong, the receiver sends its own again. So both learn the present pairs, even if HELLOs
 * were lost, duplicated or late. Pairs that have the same number one after the other differ in the
 * start of their sequence.
 *
 * A HELLO is accepted only from an address named by verbs_link_meet(), with our key that the peer
 * has from the connection above the lanes. So only somebody who can send frames in the peer's name
 * can be connected in its name.
 *
 * A broken link fails its reads (verbs_read.c), reports this (HELLO pair 0), and is made again
 * later. One thread.
 */
#ifndef BEOWIRE_LANE_VERBS_LINK_H
#define BEOWIRE_LANE_VERBS_LINK_H

#include "frame/wire_types.h"
#include "lane/verbs/verbs_internal.h"

/** The contents of HELLO. */
struct verbs_hello {
    le32 key;   /**< the receiver's, of the connection above */
    le32 pair;  /**< reliable queue pair of the sender; 0: none any more */
    le32 start; /**< the first packet sequence number that it sends */
    le32 yours; /**< the receiver's reliable queue pair, as far as the sender knows; 0: it does not
                 */
};
static_assert(sizeof(struct verbs_hello) == 16, "docs/PROTOCOL.md");

/** Immediate data of HELLO: "BwRc". */
#define VERBS_HELLO_IMMEDIATE 0x42775263u

struct verbs_link {
    struct verbs_link *next; /**< of the same bucket */
    struct verbs_place place;
    uint32_t own_key;
    uint32_t peer_key;
    struct ibv_pd *domain; /**< NULL: nothing allocated yet */
    struct ibv_qp *pair;   /**< NULL: none (any more) */
    bool open;             /**< `pair` is connected to `peer_pair` */
    uint32_t start;        /**< of `pair` */
    uint32_t peer_pair;    /**< valid if open, as is the next */
    uint32_t peer_start;
    uint64_t not_before_ns; /**< no HELLO is sent unasked before */
    unsigned requests;      /**< posted, not known to have ended */
};

/** The peer at this address. @return NULL: not named. */
struct verbs_link *verbs_link_find(const struct verbs_lane *verbs, const struct verbs_place *place);

/** lane_operations.meet and .withdraw */
void verbs_link_meet(struct lane *lane, const struct lane_address *to, uint32_t own_key,
                     uint32_t peer_key);
void verbs_link_withdraw(struct lane *lane, const struct lane_address *to);

/** There is a long message for the peer, and the link is not open: asks for it, unless that was
 *  done lately, or the link broke lately. */
void verbs_link_ask(struct verbs_lane *verbs, struct verbs_link *link);

/** Handles a HELLO. @return false: it is none, or from an unknown address. */
bool verbs_link_hello(struct verbs_lane *verbs, const struct verbs_place *from,
                      const uint8_t *bytes, uint32_t count);

/** Ends the link: when this returns, nothing is read over it, or from us, and all its reads have
 *  failed. */
void verbs_link_break(struct verbs_lane *verbs, struct verbs_link *link);

/** Frees all. */
void verbs_links_close(struct verbs_lane *verbs);

#endif /* BEOWIRE_LANE_VERBS_LINK_H */
