/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.h - carries frames from this process to others.
 *
 * A lane may lose, duplicate and reorder frames, but it does not alter them, and delivers to this
 * endpoint only frames that were sent to it. All else is done by the layers above. An endpoint has
 * several lanes; a peer's address says which of them reach the peer.
 *
 * Memory: a frame to send has LANE_HEADROOM writable bytes in front of its head, where the lane
 * writes its envelope. A received frame belongs to the lane, and is valid until release().
 * Threads: one at a time.
 *
 * A new lane NAME is
 *
 *  1. a row of LANE_KINDS (frame/lane_kinds.h): its name, its number on the wire, its place among
 *     the others;
 *  2. transport/lane/NAME.c, in transport/meson.build, too, with
 *       - a struct that begins with struct lane, and its struct lane_operations;
 *       - every field of struct lane that says what the lane can do ("What it can do", below):
 *         the layers above use nothing else. A new ability is a new field;
 *       - `const struct lane_type NAME_lane_type` (lane_type.h);
 *  3. only if an address lacks what is needed to reach it: frame/address_layout.h and
 *     route/address.c;
 *  4. its name in documents and other programs: docs/EXTENDING.md lists the places and the tests.
 */
#ifndef BEOWIRE_LANE_LANE_H
#define BEOWIRE_LANE_LANE_H

#include "frame/lane_kinds.h"

#include <stdbool.h>
#include <stdint.h>

/** Bytes in front of each frame's head that belong to the lane. */
#define LANE_HEADROOM 16

/** A byte for each lane that an endpoint may have. */
struct lane_of_each {
#define LANE_KIND_BYTES(capitals, name, number, of) uint8_t name[of];
    LANE_KINDS(LANE_KIND_BYTES)
#undef LANE_KIND_BYTES
};

/** Maximum number of lanes of one endpoint, over all kinds. TIPC and verbs take the place of an
 * interface in the address, and xdp that of packet, so they do not count. */
enum {
    LANES_MAX = sizeof(struct lane_of_each) - sizeof((struct lane_of_each *)0)->tipc -
                sizeof((struct lane_of_each *)0)->verbs - sizeof((struct lane_of_each *)0)->xdp
};

struct address_layout;

/** An address of one lane, comparable bytewise. Each lane lays a struct of its own over it. */
struct lane_address {
    _Alignas(8) uint8_t bytes[24];
};

struct lane_outgoing {
    uint8_t *head;
    uint32_t head_bytes;
    uint32_t payload_bytes; /**< 0: none */
    const uint8_t *payload; /**< follows the head */
    /** The next frame is longer by this much. With zeros after this frame, both fit one train (at
     * most FRAME_EVENED_BYTES; a lane without trains ignores it). */
    uint32_t shorter_bytes;
    /** 0: a frame. Otherwise this is DATA (frame.h) in segments of this many bytes, the last
     * perhaps shorter, with the head of the first. DATA has this form on lanes with segmentation
     * offload, and only there. */
    uint32_t segment_bytes;
};

/** Number of frames on the wire. */
static inline uint32_t lane_segments(uint32_t payload_bytes, uint32_t segment_bytes)
{
    return segment_bytes == 0 ? 1 : (payload_bytes + segment_bytes - 1) / segment_bytes;
}

struct lane_incoming {
    const uint8_t *data; /**< without the lane's envelope */
    uint32_t bytes;      /**< of the whole frame */
    /** NULL: the whole frame is at `data`. Otherwise the frame came as expected (see expect()): the
     *  first `head_bytes` are at `data`, the others here. */
    const uint8_t *payload;
    uint32_t segment_bytes; /**< as in struct lane_outgoing; set only by lanes that cut */
    /** The frame has no source, acknowledgement and credit (0); its key tells the sender. Set only
     * by lanes that cut. */
    bool tacit;
    /** The lane's own checksum is wrong. Only the source is known. Set only by lanes that cut. */
    bool damaged;
    struct lane_address from;
};

/** The frames that probably come next, so that the lane can have payloads placed in the user's
 *  buffer: consecutive frames of equal length, of one message. */
struct lane_expectation {
    uint8_t *target;          /**< where the payload of the first frame goes */
    uint32_t frames;          /**< 0: nothing is expected */
    uint32_t head_bytes;      /**< of each frame, before the payload */
    uint32_t payload_bytes;   /**< of each frame, except perhaps the last */
    uint64_t bytes;           /**< of payload in all, including what may follow `frames` */
    uint32_t key;             /**< the frames are DATA (frame.h) with this key, ... */
    uint32_t message;         /**< ... of this name, ... */
    uint64_t offset;          /**< ... the first of them at this offset: whole payloads */
    struct lane_address from; /**< and come from here */
};

/** How well a lane carries the data of long messages. Of the lanes that reach a peer and work, the
 *  best of each rail are used, all rails at once. */
enum lane_bulk {
    LANE_BULK_LAST,   /**< after all others */
    LANE_BULK_FRAMES, /**< each frame passes the kernel separately */
    LANE_BULK_TRAINS, /**< many frames pass the kernel together */
    LANE_BULK_CUT,    /**< the same, without headers between the payloads */
    LANE_BULK_MEMORY, /**< shared memory, quicker than any network */
    LANE_BULK_KINDS
};

/** First bytes of a refused frame that are useful: they contain the key of its header, and the one
 * in CONNECT. */
#define LANE_QUOTE_BYTES 64

/** A report that no process has an address any more, or that frames to it did not arrive. */
struct lane_loss {
    struct lane_address address;
    /** This host's kernel knows it. Otherwise the report came from the network, where anybody who
     *  knows our address can send it: a hint. */
    bool certain;
    /** A report that frames are too long for the path. Also a hint. */
    bool too_long;
    uint8_t quote_bytes; /**< bytes of the refused frame that the report quotes */
    uint8_t quote[LANE_QUOTE_BYTES];
};

/** The result of call_witness() about a silent process. */
enum lane_witness {
    LANE_WITNESS_UNKNOWN, /**< no answer of any kind */
    LANE_WITNESS_PROVES,  /**< its kernel has its key, so the process exists */
    LANE_WITNESS_SILENT,  /**< the kernel answers, but has no such key */
    LANE_WITNESS_ENDED,   /**< the kernel had the key, and has it no longer; may be called again */
};

#define LANE_WITNESS_KEY_BYTES 16

/** Integers in which a lane stores a question to a kernel. */
#define LANE_WITNESS_CALLS 4

/** The result of ask_host(). */
enum lane_host {
    LANE_HOST_ASKED,   /**< no answer yet: see host_answer() */
    LANE_HOST_ANSWERS, /**< the host answers */
    LANE_HOST_VOUCHES, /**< and would report the end of the process */
};

struct lane;

/** Slow sockets of one lane: those of packet(7), and an XDP socket. Closing one takes an RCU grace
 * period (some 15 ms); with a ring of packet(7), two. */
#define LANE_SLOW_SOCKETS_MAX 3

struct lane_operations {
    /** Writes into our own address what others need to reach us here. */
    void (*publish)(const struct lane *lane, struct address_layout *address);
    /** Can the endpoint with this address be reached over this lane?
     *  @return 0, and `to` is written; -EHOSTUNREACH: no. */
    int (*reach)(struct lane *lane, const struct address_layout *address, struct lane_address *to);
    /** Sends frames in order; returns how many were taken (0 .. count): they have been copied. 0
     *  means "not now". */
    unsigned (*send)(struct lane *lane, const struct lane_address *to,
                     const struct lane_outgoing *frames, unsigned count);
    /** Takes up to `count` frames that have arrived; never blocks. */
    unsigned (*receive)(struct lane *lane, struct lane_incoming *frames, unsigned count);
    /** Returns the frames of the last receive() to the lane. */
    void (*release)(struct lane *lane);
    /** Tells which frames are likely to come next; NULL if the lane cannot use this. `expectation`
     *  is copied. Until the next expect(), receive() may overwrite the bytes at its `target` with
     *  anything. Frames that do not come as expected are in the lane's own memory. */
    void (*expect)(struct lane *lane, const struct lane_expectation *expectation);
    /** Reports an address whose process has ended, as its host's kernel says (a refusal) or as is
     *  certain (a closed socket), once each; with shared memory, an address to which nothing can be
     *  sent now, at each attempt; and one to which frames are too long for the path. NULL if the
     *  lane gets no such reports.
     *  @return false: there is none. */
    bool (*lost)(struct lane *lane, struct lane_loss *loss);
    /** From now on, datagrams that are too long for the path are fragmented there and reassembled
     * by the receiver. This is slow, and useful only if the path's MTU has decreased since
     * connections were made. NULL: not possible. @param known a router has reported it; otherwise a
     * frame just does not arrive */
    void (*cut)(struct lane *lane, bool known);
    /** Asks whether the host at this address answers, although a process there may be stopped. The
     *  answer comes with `mark`. NULL: the lane cannot.
     *  @param vouch also ask for proof that the end of a process there would be reported. */
    enum lane_host (*ask_host)(struct lane *lane, const struct lane_address *to, uint32_t mark,
                               bool vouch);
    /** Takes an answer that has come since; NULL: ask_host() returns it, or there is no ask_host().
     *  @return LANE_HOST_ASKED: no answer; otherwise `mark` is that of the question. */
    enum lane_host (*host_answer)(struct lane *lane, uint32_t *mark);
    /** Has our kernel answer for us with this key while the process exists, even if it is stopped;
     *  NULL, and so the next three: the lane cannot. @return 0; a negative errno: the kernel
     * cannot.
     */
    int (*bear_witness)(struct lane *lane, const uint8_t key[LANE_WITNESS_KEY_BYTES]);
    /** Asks the kernel at this address whether it has the key.
     *  @param called gets the question, for the next two functions
     *  @return 0; a negative errno: nothing was asked, for lack of room. */
    int (*call_witness)(struct lane *lane, const struct lane_address *to,
                        const uint8_t key[LANE_WITNESS_KEY_BYTES], int called[LANE_WITNESS_CALLS]);
    enum lane_witness (*witness)(struct lane *lane, int called[LANE_WITNESS_CALLS]);
    void (*dismiss_witness)(struct lane *lane, const int called[LANE_WITNESS_CALLS]);
    /** Copies `bytes` bytes from the memory of the process at `from`; NULL if the lane cannot.
     *  @return 0; a negative errno: it is not allowed or not possible. */
    int (*read_memory)(struct lane *lane, const struct lane_address *from, uint64_t address,
                       void *target, uint64_t bytes);
    /** Prevents the process at `to` from reading our memory: its later and unfinished read_memory()
     *  fail (-ECONNRESET). For good; with lend() until the next meet(), and our reads from it fail,
     * too. NULL if nobody can read. */
    void (*withdraw)(struct lane *lane, const struct lane_address *to);
    /** Stops sharing memory with the process at `to`. It is told as if we had ended, and lost()
     * does not report it. NULL if the lane keeps nothing about processes. */
    void (*leave)(struct lane *lane, const struct lane_address *to);
    /* Memory that the other end reads over the wire without us: this and the next five, or NULL if
     * the lane cannot. Unlike read_memory(), a read needs a temporary name given by the owner, and
     * ends later. */
    /** The process at `to` may read memory that is lent to it, and lend to us. Both ends must call
     * this, with the keys that each has chosen for the connection, and again if these change. Valid
     *  until withdraw(). */
    void (*meet)(struct lane *lane, const struct lane_address *to, uint32_t own_key,
                 uint32_t peer_key);
    /** Lets the process at `to` read this memory, until take_back() or withdraw().
     *  @return the argument for the peer's begin_read(); 0: not possible (now). */
    uint64_t (*lend)(struct lane *lane, const struct lane_address *to, const void *memory,
                     uint64_t bytes);
    /** Ends the loan: nobody reads the memory from now on. */
    void (*take_back)(struct lane *lane, uint64_t lent);
    /** Begins to read lent memory, from its beginning. The read ends with read_ended() or
     *  stop_read(); until then the lane may write to `target`.
     *  @return 0; a negative errno: not now, or not any more; nothing was begun. */
    int (*begin_read)(struct lane *lane, const struct lane_address *from, uint64_t lent,
                      void *target, uint64_t bytes, void *read);
    /** Takes a read that has ended. `status` 0: the data is complete; a negative errno: `target`
     * has undefined contents. The end of a read makes descriptor() readable, as a frame does.
     *  @return false: none has ended. */
    bool (*read_ended)(struct lane *lane, void **read, int *status);
    /** Ends a read at once, if it has not ended. Other reads from the same peer may then fail. */
    void (*stop_read)(struct lane *lane, void *read);
    /** 0; a negative errno: the lane does not work (-ENETDOWN). It may recover. */
    int (*status)(struct lane *lane);
    /** Prepares for sleep: from now on, an arriving frame makes descriptor() readable. NULL if it
     *  always does.
     *  @return false: frames have arrived already; do not sleep. */
    bool (*arm)(struct lane *lane);
    /** Has the kernel poll the network card's queue, for at most `time_us`, when receive() finds
     *  nothing (queue_poll.h); 0: not at all.
     *  @param by a socket of the same card from which the kernel may learn the queue; -1: none. It
     *  stays open as long as receive() is called. NULL: only what descriptor() does by itself. */
    void (*busy_poll)(struct lane *lane, uint32_t time_us, int by);
    /** A file descriptor to poll(2) for reading; -1: none (a simulated lane). */
    int (*descriptor)(const struct lane *lane);
    /** A second one, for frames that do not come through the first; NULL: all do. */
    int (*other_descriptor)(const struct lane *lane);
    /** Hands over its sockets that are slow to close. The caller closes those of all lanes at the
     *  same time, and then calls close(). NULL: it has none.
     *  @return how many were written to `sockets` */
    unsigned (*part_with)(struct lane *lane, int sockets[LANE_SLOW_SOCKETS_MAX]);
    void (*close)(struct lane *lane);
};

/** What every lane begins with. */
/** A feature of the kernel that a lane does without, because it is missing or refused. */
struct lane_lack {
    const char
        *what; /**< as the kernel calls it; must fit in that many bytes with the lane's name */
    const char *cost; /**< the consequence, for people */
};

/** Maximum number for one lane. */
#define LANE_LACKS_MAX 6

struct lane {
    const struct lane_operations *operations;
    enum lane_kind kind;      /**< for frames only; nothing else depends on it */
    enum lane_kind opened_as; /**< its own kind, if it has the place and kind of another */
    uint8_t rail; /**< the network interface it belongs to, in the endpoint's order; 0 if
                       it is of the host */
    /* What it can do. */
    enum lane_bulk bulk;    /**< how well it carries the data of long messages */
    bool takes_trains;      /**< frames of equal length sent together cost little more than one */
    bool cuts;              /**< carries DATA, many segments at once, and sequenced frames; those of
                                 one message cost little more than one */
    bool polling_is_costly; /**< receive() is now a system call even if nothing has arrived */
    bool shares_memory;     /**< it reaches processes of this host, and messages may be read from
                                 their memory; no other lane is used for these processes */
    bool of_host;           /**< it belongs to no rail, but to the host (LANE_OF_HOST) */
    bool learns_queue;      /**< from frames through descriptor() the kernel learns the queue of the
                                 network card (queue_poll.h) */
    bool needs_checksum;  /**< only Ethernet's frame check sequence detects damage, so frames get a
                             checksum of ours (checksum.h) */
    bool is_certain;      /**< frames reach the process that the address names, or none; on other
                             lanes an address may be false */
    uint32_t frame_bytes; /**< longest frame, without the envelope; if it cuts: or segment */
    /** Not 0: the interface's MTU has been lowered, and longer frames than this are not taken now.
     */
    uint32_t narrowed_bytes;
    uint32_t mtu; /**< the MTU from which this follows, with the headers below ours; 0: none */
    uint32_t batch_frames;   /**< the best number of frames for one send() */
    uint64_t capacity_bytes; /**< bytes that may be in flight to us without overflow; UINT64_MAX: no
                                  limit */
    uint64_t sent_frames;
    uint64_t sent_bytes;
    uint64_t sent_calls;     /**< system calls that sent them */
    uint64_t refused_frames; /**< offered and not taken */
    uint64_t refused_trains; /**< the kernel would not segment them, so sent frame by frame */
    uint64_t received_frames;
    uint64_t received_bytes;
    uint64_t foreign_frames; /**< arrived, but not for us or not whole */
    uint64_t dropped_frames; /**< lost by the kernel because our ring was full */
    uint64_t damaged_frames; /**< with a wrong checksum, ours or the lane's */
    bool verify; /**< if the lane has a checksum of its own, it checks frames that nobody else has
                      checked; set by the opener */
    uint64_t placed_frames; /**< came as expected, so their payload needed no copy */
    struct lane_lack lacks[LANE_LACKS_MAX]; /**< it works without them */
    uint8_t lack_count;
    char name[24]; /**< for people: its kind, and its interface if it has one, such as
                        "packet/eth0"; written by the opener */
};

/** Notes that the lane does without something. Both are static text. */
static inline void lane_lacks(struct lane *lane, const char *what, const char *cost)
{
    if (lane->lack_count < LANE_LACKS_MAX) {
        lane->lacks[lane->lack_count++] = (struct lane_lack){what, cost};
    }
}

#endif /* BEOWIRE_LANE_LANE_H */
