/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_link.h - the link between two ends over RDMA: reliable connections, their completion
 * queues, and short words and messages through buffers of the driver.
 *
 *      connection `words`     everything short: it has VERBS_SLOTS receives posted at all times
 *      connection `direct`    (VERBS_SEND only) sends from the sender's memory into the receiver's;
 *                             a receive is posted there before the other end is told to send
 *
 * Everything on `words` carries 32 bits of immediate data: its kind, and the number of copied
 * messages that its sender has taken so far, modulo 2^28. An end sends a copied message only while
 * fewer than VERBS_CREDITS of its own are not taken; the number of other words is bounded by the
 * messages under way. So there is a receive for each, and "receiver not ready", which costs
 * milliseconds, does not occur.
 *
 *      VERBS_SLOTS = VERBS_CREDITS copied + 64 offers + 64 ends + some returns of credit
 *
 * With VERBS_WRITE copied messages are written with immediate data into a ring of VERBS_CREDITS
 * places. Each uses up a receive, which completes when the data has arrived. Polling the last byte
 * of the place would be quicker on some cards, but neither InfiniBand nor RoCE guarantees that the
 * bytes of a message arrive in order, or when they are visible. With VERBS_READ copied messages
 * wait in such a ring of the sender, and are read into that of the receiver.
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

/** The most copied messages under way. */
#define VERBS_CREDITS 128

#define VERBS_SLOTS (VERBS_CREDITS + 2 * VERBS_WINDOW + 8)

/** wr_id of a direct message, of a word, and of the read of a copied message; others are the number
 *  of a slot. */
#define VERBS_DIRECT UINT64_MAX
#define VERBS_WORD (UINT64_MAX - 1)
#define VERBS_FETCHED (UINT64_MAX - 2)

/** How direct messages move. */
enum verbs_way {
    VERBS_SEND,
    VERBS_WRITE,
    VERBS_READ,
};

enum verbs_kind {
    VERBS_GREETING, /**< the first word of a session */
    VERBS_CREDIT,   /**< copied messages were taken */
    VERBS_COPIED,   /**< a copied message; with VERBS_READ its place: struct verbs_offer */
    VERBS_WRITTEN,  /**< a message was written into offered memory */
    VERBS_OFFER,    /**< struct verbs_offer */
    VERBS_ENDED,    /**< a message was read from offered memory */
    VERBS_KINDS,
};

/** Memory of a message: the receiver's, or with VERBS_READ the sender's. */
struct verbs_offer {
    uint64_t address;
    uint64_t size;
    uint32_t key;
    uint32_t run; /**< the number of prepare() calls */
};

/** What an end must know to connect to the other. */
struct verbs_name {
    uint32_t words;  /**< queue pair number of `words` */
    uint32_t direct; /**< queue pair number of `direct`, or 0 */
    uint32_t psn;    /**< initial packet sequence number of both */
    uint32_t mtu;    /**< enum ibv_mtu */
    uint32_t reads;  /**< RDMA reads that it accepts at once */
    uint64_t ring;   /**< address of the ring for copied messages */
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
    struct ibv_comp_channel *events; /**< NULL: polls */
    struct ibv_cq *sent;
    struct ibv_cq *received;
    struct ibv_qp *words;
    struct ibv_qp *direct; /**< or NULL */
    struct ibv_mr *registered;
    uint8_t *memory;      /**< receive slots, send slots, the rings */
    size_t inline_bytes;  /**< the most that can be sent inline, without registered memory */
    uint64_t next_slot;   /**< counts words */
    uint64_t copied_sent; /**< copied messages */
    uint32_t words_under_way;
};

/** Opens this end. All of the link but `way` must be 0. `sleeps`: its completions can be waited
 *  for. 0, or a negative errno with a line in `error`; verbs_link_close() must follow then, too. */
int verbs_link_open(struct verbs_link *link, const struct driver_options *options, bool sleeps,
                    char *error, size_t error_bytes);

/** Ends the connections, and with them all posted operations. */
void verbs_link_disconnect(struct verbs_link *link);

void verbs_link_close(struct verbs_link *link);

/** Writes the address for verbs_link_read() at the other end. 0, or -ENOSPC. */
int verbs_link_write(const struct verbs_link *link, char *text, size_t text_bytes);

/** Parses the other end's address into `link->peer`. 0, or -EINVAL. */
int verbs_link_read(struct verbs_link *link, const char *text);

/** Connects, or reconnects, both connections to the peer, and posts all receives. 0, or a negative
 *  errno with a line in `error`. */
int verbs_link_connect(struct verbs_link *link, char *error, size_t error_bytes);

/** Whether another word may be sent now. */
static inline bool verbs_link_has_room(const struct verbs_link *link)
{
    return link->words_under_way < VERBS_SLOTS;
}

/** Sends a word, or a copied message; `data` may be reused at once. There must be room. */
int verbs_link_word(struct verbs_link *link, enum verbs_kind kind, uint64_t taken, const void *data,
                    size_t bytes);

/** Sends, writes or reads a direct message. It completes with VERBS_DIRECT. There must be room, and
 *  at most VERBS_WINDOW may be under way. */
int verbs_link_move(struct verbs_link *link, const struct verbs_transfer *transfer,
                    uint32_t own_key, const struct verbs_offer *offer, uint64_t taken);

/** Reads a copied message into the ring. It completes with VERBS_FETCHED. There must be room. */
int verbs_link_fetch(struct verbs_link *link, uint64_t number, const struct verbs_offer *offer);

/** Uses up the oldest receive of `direct` at the other end, without data. */
int verbs_link_void(struct verbs_link *link);

/** Posts a receive to `direct`. */
int verbs_link_expect(struct verbs_link *link, const struct verbs_transfer *transfer,
                      uint32_t own_key);

/** Posts the receive of a slot again. */
int verbs_link_return(struct verbs_link *link, uint64_t slot);

uint8_t *verbs_link_slot(const struct verbs_link *link, uint64_t slot);
uint8_t *verbs_link_place(const struct verbs_link *link, uint64_t number);

/** Takes at most `count` completions, and counts the words that have left. Their number, or a
 *  negative errno. */
int verbs_link_poll(struct verbs_link *link, struct ibv_cq *queue, struct ibv_wc *completions,
                    int count);

/** Requests an event for the next receive completion, and with `sends` for the next send
 *  completion. */
int verbs_link_arm(struct verbs_link *link, bool sends);

/** Waits for it for at most `wait_ms`. 1: it has come; 0: not; or a negative errno. */
int verbs_link_sleep(struct verbs_link *link, int wait_ms);

/** A completion's status as a negative errno. */
int verbs_link_errno(enum ibv_wc_status status);

#endif
