/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_link.h - the reliable connections (RC) of the lane over RDMA devices, by which long
 * messages are read: one for each peer, made when there is the first long message, and only for
 * reading. Frames go by datagrams all the while.
 *
 *      one end                                  the other
 *        HELLO pair 7, start 100, yours 0 ------>   makes its own pair, connects it to 7
 *        <------ HELLO pair 9, start 500, yours 7   (it can be read from)
 *      connects to 9, and may read
 *
 * HELLO is a datagram between the pairs by which frames go (docs/PROTOCOL.md), told from them by
 * immediate data, which older versions take for foreign. It is lost now and then: whoever wants to
 * lend asks again. Both may ask at once. `yours` is the pair that the sender of HELLO knows as the
 * other's; if it is another one than there is, that end says its own again, so both come to know
 * what there is now, whatever was lost, doubled or late. A pair is told from one that had its
 * number before by where its sequence starts.
 *
 * A HELLO counts only from an address that was named by verbs_link_meet(), with the key of ours
 * that the peer has from the connection above the lanes: who cannot send frames in the peer's name,
 * cannot have itself connected in its name either.
 *
 * A link that breaks takes what was being read with it (verbs_read.c), says so (HELLO pair 0), and
 * is made anew later. One thread.
 */
#ifndef BEOWIRE_LANE_VERBS_LINK_H
#define BEOWIRE_LANE_VERBS_LINK_H

#include "frame/wire_types.h"
#include "lane/verbs/verbs_internal.h"

/** What HELLO consists of. */
struct verbs_hello {
    le32 key;   /**< the receiver's, of the connection above */
    le32 pair;  /**< reliable queue pair of the sender; 0: it has none any more */
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
    struct ibv_pd *domain; /**< NULL: nothing was made yet */
    struct ibv_qp *pair;   /**< NULL: there is none (any more) */
    bool open;             /**< `pair` is connected to `peer_pair` */
    uint32_t start;        /**< of `pair` */
    uint32_t peer_pair;    /**< valid if open, as is the next */
    uint32_t peer_start;
    uint64_t not_before_ns; /**< HELLO is not sent unasked */
    unsigned requests;      /**< posted, and not known to have ended */
};

/** The peer at this address. @return NULL: nobody has named it. */
struct verbs_link *verbs_link_find(const struct verbs_lane *verbs, const struct verbs_place *place);

/** lane_operations.meet and .withdraw */
void verbs_link_meet(struct lane *lane, const struct lane_address *to, uint32_t own_key,
                     uint32_t peer_key);
void verbs_link_withdraw(struct lane *lane, const struct lane_address *to);

/** There is a long message for the peer, and the link is not open: asks for it, unless that was
 * done lately, or it broke lately. */
void verbs_link_ask(struct verbs_lane *verbs, struct verbs_link *link);

/** Takes a HELLO. @return false: it is none, or from nobody that we know. */
bool verbs_link_hello(struct verbs_lane *verbs, const struct verbs_place *from,
                      const uint8_t *bytes, uint32_t count);

/** The link is of no use any more: when this returns nothing is read by it, or from us. All its
 *  reads have failed. */
void verbs_link_break(struct verbs_lane *verbs, struct verbs_link *link);

/** Gives all back. */
void verbs_links_close(struct verbs_lane *verbs);

#endif /* BEOWIRE_LANE_VERBS_LINK_H */
