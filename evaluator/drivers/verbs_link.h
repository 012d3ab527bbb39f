/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_link.h - what joins two ends over RDMA: reliable connections, their completion queues, and
 * short words and messages through buffers of the driver's.
 *
 *      connection `words`     everything short: it has VERBS_SLOTS receives posted at all times
 *      connection `direct`    (VERBS_SEND only) sends from the sender's memory into the receiver's;
 *                             a receive is posted there before the other end is told to send
 *
 * What arrives on `words` carries 32 bits besides (immediate data): its kind, and how many copied
 * messages its sender has taken so far, modulo 2^28. An end sends a copied message only while less
 * than VERBS_CREDITS of its own have not been taken; the number of other words follows from the
 * number of messages under way. So a receive is posted for each that can come, and no end ever has
 * to be asked to wait ("receiver not ready"), which takes it milliseconds.
 *
 *      VERBS_SLOTS = VERBS_CREDITS copied + 64 offers + 64 ends + some returns of credit
 *
 * With VERBS_WRITE copied messages are written into a ring of VERBS_CREDITS places, with immediate
 * data: these use up a receive, and complete it when the data is there. To look at the last byte of
 * the place instead would be quicker on some cards, but neither InfiniBand's nor RoCE's
 * specification promises that bytes of a message arrive in order, or when they can be seen. With
 * VERBS_READ they wait in such a ring of the sender's, and are read into that of the receiver's.
 *
 * One thread.
 */
#ifndef BEOWIRE_DRIVERS_VERBS_LINK_H
#define BEOWIRE_DRIVERS_VERBS_LINK_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "verbs_device.h"
#include "verbs_queue.h"

/** Longest message that is copied. */
#define VERBS_COPIED_BYTES 4096

/** Copied messages that may be under way. */
#define VERBS_CREDITS 128

#define VERBS_SLOTS (VERBS_CREDITS + 2 * VERBS_WINDOW + 8)

/** wr_id of what moves a message from memory to memory, of a word, and of the reading of a copied
 *  message; others are a slot's number. */
#define VERBS_DIRECT UINT64_MAX
#define VERBS_WORD (UINT64_MAX - 1)
#define VERBS_FETCHED (UINT64_MAX - 2)

/** How messages go from memory to memory. */
enum verbs_way {
    VERBS_SEND,
    VERBS_WRITE,
    VERBS_READ,
};

enum verbs_kind {
    VERBS_GREETING, /**< the first word of a session */
    VERBS_CREDIT,   /**< copied messages were taken */
    VERBS_COPIED,   /**< a copied message; with VERBS_READ where it is: struct verbs_offer */
    VERBS_WRITTEN,  /**< a message was written to where it was offered to */
    VERBS_OFFER,    /**< struct verbs_offer */
    VERBS_ENDED,    /**< a message was read, from where it was offered */
    VERBS_KINDS,
};

/** Memory of a message: of the receiver's; with VERBS_READ of the sender's. */
struct verbs_offer {
    uint64_t address;
    uint64_t size;
    uint32_t key;
    uint32_t run; /**< how often prepare() had been called */
};

/** What an end tells the other before it can reach it. */
struct verbs_name {
    uint32_t words;  /**< number of the connection */
    uint32_t direct; /**< and of the other; 0 without one */
    uint32_t psn;    /**< with which both begin */
    uint32_t mtu;    /**< enum ibv_mtu */
    uint32_t reads;  /**< RDMA reads that it takes at once */
    uint64_t ring;   /**< where copied messages are written to */
    uint32_t ring_key;
    uint64_t message_bytes_max;
    union ibv_gid gid;
};

struct verbs_link {
    enum verbs_way way;
    struct verbs_device device;
    struct verbs_name own;
    struct verbs_name peer;
    struct ibv_pd *domain;
    struct ibv_comp_channel *events; /**< NULL: it is polled */
    struct ibv_cq *sent;
    struct ibv_cq *received;
    struct ibv_qp *words;
    struct ibv_qp *direct; /**< or NULL */
    struct ibv_mr *registered;
    uint8_t *memory;      /**< slots that receive, slots that send, the rings */
    size_t inline_bytes;  /**< what is sent so needs no memory that the device knows */
    uint64_t next_slot;   /**< counts words */
    uint64_t copied_sent; /**< copied messages */
    uint32_t words_under_way;
};

/** Opens this end; the link is all 0 but for `way`. `sleeps`: its completions can be waited for.
 *  0, or a negative errno with a line in `error`; then verbs_link_close() is due, too. */
int verbs_link_open(struct verbs_link *link, const struct driver_options *options, bool sleeps,
                    char *error, size_t error_bytes);

/** Ends the connections: from then on nothing that was posted moves. */
void verbs_link_disconnect(struct verbs_link *link);

void verbs_link_close(struct verbs_link *link);

/** What verbs_link_read() reads at the other end. 0, or -ENOSPC. */
int verbs_link_write(const struct verbs_link *link, char *text, size_t text_bytes);

/** Reads the other end's name into `link->peer`. 0, or -EINVAL. */
int verbs_link_read(struct verbs_link *link, const char *text);

/** Connects both connections to the peer, or does so again from the beginning, with all receives
 *  posted. 0, or a negative errno with a line in `error`. */
int verbs_link_connect(struct verbs_link *link, char *error, size_t error_bytes);

/** Whether another word may be sent now. */
static inline bool verbs_link_has_room(const struct verbs_link *link)
{
    return link->words_under_way < VERBS_SLOTS;
}

/** Sends a word, or a copied message, of which nothing is needed afterwards. There is room. */
int verbs_link_word(struct verbs_link *link, enum verbs_kind kind, uint64_t taken, const void *data,
                    size_t bytes);

/** Sends, writes or reads a message from memory to memory: it completes with VERBS_DIRECT. There is
 *  room, and no more than VERBS_WINDOW are under way. */
int verbs_link_move(struct verbs_link *link, const struct verbs_transfer *transfer,
                    uint32_t own_key, const struct verbs_offer *offer, uint64_t taken);

/** Reads a copied message into the ring: it completes with VERBS_FETCHED. There is room. */
int verbs_link_fetch(struct verbs_link *link, uint64_t number, const struct verbs_offer *offer);

/** Uses up the oldest receive of `direct` at the other end, without data. */
int verbs_link_void(struct verbs_link *link);

/** Posts a receive to `direct`. */
int verbs_link_expect(struct verbs_link *link, const struct verbs_transfer *transfer,
                      uint32_t own_key);

/** Gives a slot back, to receive again. */
int verbs_link_return(struct verbs_link *link, uint64_t slot);

uint8_t *verbs_link_slot(const struct verbs_link *link, uint64_t slot);
uint8_t *verbs_link_place(const struct verbs_link *link, uint64_t number);

/** The completions that have come, at most `count`; words that have left are accounted for. Their
 *  number, or a negative errno. */
int verbs_link_poll(struct verbs_link *link, struct ibv_cq *queue, struct ibv_wc *completions,
                    int count);

/** Has the next completion wake whoever waits: of what is received, and with `sends` of the other.
 */
int verbs_link_arm(struct verbs_link *link, bool sends);

/** Waits for that, at most so long. 1: it has come; 0: not; or a negative errno. */
int verbs_link_sleep(struct verbs_link *link, int wait_ms);

/** A completion's status as a negative errno. */
int verbs_link_errno(enum ibv_wc_status status);

#endif
