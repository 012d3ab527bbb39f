/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.h - a way for frames to leave this process and to arrive in another.
 *
 * A lane may lose, double and reorder frames, but it does not alter them, and delivers to this
 * endpoint only frames that were sent to it. Everything else is the business of the layers above.
 * An endpoint has several: which of them reach a peer follows from the peer's address.
 *
 * Memory: a frame to be sent has LANE_HEADROOM writable bytes in front of its head, where the lane
 * writes its envelope. A received frame is the lane's, and valid until release().
 * Threads: one at a time.
 *
 * A new lane NAME is
 *
 *  1. a row of LANE_KINDS (frame/lane_kinds.h): its name, its number on the wire, its place among
 *     the others;
 *  2. transport/lane/NAME.c, in transport/meson.build, too, with
 *       - a struct that begins with struct lane, and its struct lane_operations;
 *       - every field of struct lane that says what the lane can do ("What it can do", below):
 * those above ask for nothing else. If it can do what none before it could, that is a new field;
 *       - `const struct lane_type NAME_lane_type` (lane_type.h);
 *  3. only if an address does not have yet what it takes to reach it: frame/address_layout.h and
 *     core/address.c;
 *  4. what users and other programs read of it: docs/EXTENDING.md lists the places and the tests.
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

/** Lanes of one endpoint at most: of each kind as many as it may have. Whoever has TIPC or
 * verbs, which are in the place of an interface in its address, has no lanes of a fourth one: so
 * they take no room. Nor does xdp, which is in the place of packet. */
enum {
    LANES_MAX = sizeof(struct lane_of_each) - sizeof((struct lane_of_each *)0)->tipc -
                sizeof((struct lane_of_each *)0)->verbs - sizeof((struct lane_of_each *)0)->xdp
};

struct address_layout;

/** Where frames go to or come from: meaningful to one lane only, comparable bytewise. Lanes lay
 *  structs of their own over it. */
struct lane_address {
    _Alignas(8) uint8_t bytes[24];
};

struct lane_outgoing {
    uint8_t *head;
    uint32_t head_bytes;
    uint32_t payload_bytes; /**< 0: none */
    const uint8_t *payload; /**< follows the head */
    /** The next frame is so much longer: zeros after this one let both travel in one train (at most
     *  FRAME_EVENED_BYTES; a lane without trains leaves them out). */
    uint32_t shorter_bytes;
    /** 0: a frame. Else this is DATA (frame.h) of as many segments of so many bytes as the payload
     *  has, the last perhaps shorter, and the head that of the first. Only for lanes that cut, and
     *  over these DATA has no other form. */
    uint32_t segment_bytes;
};

/** Frames on the wire that it is. */
static inline uint32_t lane_segments(uint32_t payload_bytes, uint32_t segment_bytes)
{
    return segment_bytes == 0 ? 1 : (payload_bytes + segment_bytes - 1) / segment_bytes;
}

struct lane_incoming {
    const uint8_t *data; /**< without the lane's envelope */
    uint32_t bytes;      /**< of the whole frame */
    /** NULL: all bytes follow one another at `data`. Else the frame came as was expected (see
     *  expect()): at `data` are the first `head_bytes`, and the others lie here. */
    const uint8_t *payload;
    uint32_t segment_bytes; /**< as in struct lane_outgoing; others than lanes that cut leave it */
    /** A frame whose source, acknowledgement and credit are not known (0): its key says from whom
     * it is. Others than lanes that cut leave it. */
    bool tacit;
    /** The lane's own checksum says that it is not what was sent. Nothing else is known of it than
     *  where it came from. Others than lanes that cut leave it. */
    bool damaged;
    struct lane_address from;
};

/** What a lane may assume about the frames that come next, so that it can have them put where they
 *  belong: frames of equal length, of the same message, one after the other. */
struct lane_expectation {
    uint8_t *target;        /**< where the payload of the first frame goes */
    uint32_t frames;        /**< so many; 0: nothing is expected */
    uint32_t head_bytes;    /**< of each frame, before the payload */
    uint32_t payload_bytes; /**< of each frame but perhaps the last */
    uint64_t bytes;   /**< of payload in all; more than that of `frames`: so many may follow */
    uint32_t key;     /**< the frames are DATA (frame.h) with this key, ... */
    uint32_t message; /**< ... of this name, ... */
    uint64_t offset;  /**< ... the first of them at this offset: whole payloads */
    struct lane_address from; /**< and come from here */
};

/** How well a lane carries the data of long messages: of those that reach a peer and work, the best
 *  are used, all rails at once. */
enum lane_bulk {
    LANE_BULK_LAST,   /**< after all others */
    LANE_BULK_FRAMES, /**< each frame takes a way through the kernel of its own */
    LANE_BULK_TRAINS, /**< many share one */
    LANE_BULK_CUT,    /**< and without headers of ours between the payloads */
    LANE_BULK_MEMORY, /**< no network is quicker */
    LANE_BULK_KINDS
};

/** Bytes of a frame that was refused, from its first on, that are of use: with the key that its
 *  header has, and the one in CONNECT. */
#define LANE_QUOTE_BYTES 64

/** Word that nobody is at an address any more, or that what was sent there has not arrived. */
struct lane_loss {
    struct lane_address address;
    /** This host's own kernel knows it, of a peer that was met there. Else the network has said so,
     *  which anybody can who knows our address: a hint. */
    bool certain;
    /** Said instead: what goes there is too long for the way. A hint, too. */
    bool too_long;
    uint8_t quote_bytes; /**< how many bytes of the frame of ours that was refused came with it */
    uint8_t quote[LANE_QUOTE_BYTES];
};

/** What call_witness() has found out of a process that says nothing. */
enum lane_witness {
    LANE_WITNESS_UNKNOWN, /**< nothing comes back from there, whoever is asked */
    LANE_WITNESS_PROVES,  /**< its kernel has its key: it is there */
    LANE_WITNESS_SILENT,  /**< others are answered there: nobody has the key */
    LANE_WITNESS_ENDED,   /**< it was proven, and is not any more; may be called again */
};

#define LANE_WITNESS_KEY_BYTES 16

/** What a lane keeps of a question to a kernel. */
#define LANE_WITNESS_CALLS 4

/** What ask_host() has found out. */
enum lane_host {
    LANE_HOST_ASKED,   /**< nothing yet: what it answers comes with host_answer() */
    LANE_HOST_ANSWERS, /**< the host is there */
    LANE_HOST_VOUCHES, /**< and would say so if the process were not */
};

struct lane;

/** Of one lane: those of packet(7), and an XDP one. To close one the kernel waits for a grace
 * period of RCU (some 15 ms), for one with a ring of packet(7) twice. */
#define LANE_SLOW_SOCKETS_MAX 3

struct lane_operations {
    /** Writes into our own address what others need to reach us here. */
    void (*publish)(const struct lane *lane, struct address_layout *address);
    /** Can the endpoint with this address be reached over this lane?
     *  @return 0, and `to` is written; -EHOSTUNREACH: not this way. */
    int (*reach)(struct lane *lane, const struct address_layout *address, struct lane_address *to);
    /** Sends frames in order; returns how many were taken (0 .. count): they have been copied. 0
     *  means "not now". */
    unsigned (*send)(struct lane *lane, const struct lane_address *to,
                     const struct lane_outgoing *frames, unsigned count);
    /** Takes up to `count` frames that have arrived; never blocks. */
    unsigned (*receive)(struct lane *lane, struct lane_incoming *frames, unsigned count);
    /** Gives back what the last receive() handed out. */
    void (*release)(struct lane *lane);
    /** Says what is likely to come next; NULL if the lane has no use for it. `expectation` is
     *  copied; until the next expect() the bytes at its `target` may be overwritten with anything
     *  by receive(), but frames that did not come as expected are handed out in the lane's own
     *  memory. */
    void (*expect)(struct lane *lane, const struct lane_expectation *expectation);
    /** Names an address whose process is said to have ended (a refusal by its host's kernel), or
     *  known to (a closed socket), each once; and one to which nothing can be sent just now, as
     *  often as that was tried, where memory is shared; and one to which frames are said to be too
     *  long for the way. NULL if the lane never hears of it.
     *  @return false: there is none. */
    bool (*lost)(struct lane *lane, struct lane_loss *loss);
    /** What is too long for its way is cut there from now on, and joined by who gets it, at a
     * price: of use only if the way has become narrower since connections were made. NULL: that is
     * not possible. @param known someone who saw a frame says so; else a frame just does not arrive
     */
    void (*cut)(struct lane *lane, bool known);
    /** Asks whether the host at this address is there, of which the process may stand still. What
     *  it answers comes back with `mark`. NULL: the lane cannot.
     *  @param vouch ask for proof that the end of a process there would be told of, too. */
    enum lane_host (*ask_host)(struct lane *lane, const struct lane_address *to, uint32_t mark,
                               bool vouch);
    /** Takes an answer that has come since; NULL: ask_host() knows at once, or there is none.
     *  @return LANE_HOST_ASKED: there is none; else `mark` is that of the question. */
    enum lane_host (*host_answer)(struct lane *lane, uint32_t *mark);
    /** Has our kernel prove with this key, whatever becomes of us, that we are there; NULL, and so
     *  the next three: the lane cannot. @return 0, or a negative errno: the kernel cannot. */
    int (*bear_witness)(struct lane *lane, const uint8_t key[LANE_WITNESS_KEY_BYTES]);
    /** Asks the kernel at this address whether it has the key.
     *  @param called gets what the next two want to have
     *  @return 0; a negative errno: there is no room to ask, and nothing was. */
    int (*call_witness)(struct lane *lane, const struct lane_address *to,
                        const uint8_t key[LANE_WITNESS_KEY_BYTES], int called[LANE_WITNESS_CALLS]);
    enum lane_witness (*witness)(struct lane *lane, int called[LANE_WITNESS_CALLS]);
    void (*dismiss_witness)(struct lane *lane, const int called[LANE_WITNESS_CALLS]);
    /** Copies `bytes` bytes from the memory of the process at `from`; NULL if the lane cannot.
     *  @return 0; a negative errno: it is not allowed or not possible. */
    int (*read_memory)(struct lane *lane, const struct lane_address *from, uint64_t address,
                       void *target, uint64_t bytes);
    /** Whoever is at `to` reads no more of our memory from now on: what its read_memory() copies
     *  later fails (-ECONNRESET), and so does what it has not finished. For good; with lend(),
     * until meet() again, and what we read there has failed, too. NULL if nobody can read. */
    void (*withdraw)(struct lane *lane, const struct lane_address *to);
    /** Lets go of whoever is at `to`, with whom no memory is to be shared after all: it hears of it
     *  as of our end, and lost() does not name it. NULL if nothing is kept of those who are met. */
    void (*leave)(struct lane *lane, const struct lane_address *to);
    /* Memory that the other end reads by itself, over the wire: this and the next five, or NULL if
     * the lane cannot. Unlike read_memory() it takes a name that the owner gives for the time
     * being, and ends later. */
    /** Whoever is at `to` may read what is lent to it, and lend to us. Both ends have to say so,
     * with the keys that each has chosen for their connection, and again if they change, until
     *  withdraw(). */
    void (*meet)(struct lane *lane, const struct lane_address *to, uint32_t own_key,
                 uint32_t peer_key);
    /** Lets whoever is at `to` read so much memory, until take_back(), or withdraw().
     *  @return what the peer has to give to its begin_read(); 0: it cannot (now). */
    uint64_t (*lend)(struct lane *lane, const struct lane_address *to, const void *memory,
                     uint64_t bytes);
    /** Nobody reads it from now on. */
    void (*take_back)(struct lane *lane, uint64_t lent);
    /** Begins to read from the beginning of what was lent to us. It has ended when read_ended()
     *  says so, or stop_read() returns; until then `target` is the lane's to write.
     *  @return 0; a negative errno: not now, or not any more, and nothing was begun. */
    int (*begin_read)(struct lane *lane, const struct lane_address *from, uint64_t lent,
                      void *target, uint64_t bytes, void *read);
    /** Takes a read that has ended: `status` 0, all is there; else a negative errno, and anything
     *  may be there. What ends makes descriptor() readable, as a frame does.
     *  @return false: none has. */
    bool (*read_ended)(struct lane *lane, void **read, int *status);
    /** Ends a read at once, if it has not ended: others of the same peer may fail by that. */
    void (*stop_read)(struct lane *lane, void *read);
    /** 0, or a negative errno once the lane is of no use any more (-ENETDOWN). It may recover. */
    int (*status)(struct lane *lane);
    /** Makes ready to sleep: from now on, a frame that arrives makes descriptor() readable. NULL
     *  if it always does.
     *  @return false: frames are there already, do not sleep. */
    bool (*arm)(struct lane *lane);
    /** Has the kernel look into the network card's queue, for at most so long, when receive() finds
     *  nothing (queue_poll.h); 0: it does not.
     *  @param by a socket of the same card by which the kernel may know the queue; -1: there is
     *  none. It is open for longer than receive() is called. NULL: only what its descriptor() does
     *  itself. */
    void (*busy_poll)(struct lane *lane, uint32_t time_us, int by);
    /** A file descriptor to poll(2) for reading; -1: none (a simulated lane). */
    int (*descriptor)(const struct lane *lane);
    /** Another one, for frames that do not come through that; NULL: they all do. */
    int (*other_descriptor)(const struct lane *lane);
    /** Gives away its sockets that are slow to close: the caller closes them, all lanes' at the
     *  same time, and calls close() alone afterwards. NULL: it has none.
     *  @return how many it has written */
    unsigned (*part_with)(struct lane *lane, int sockets[LANE_SLOW_SOCKETS_MAX]);
    void (*close)(struct lane *lane);
};

/** What every lane begins with. */
/** What of the kernel a lane does without, since it lacks or refuses it. */
struct lane_lack {
    const char
        *what; /**< as the kernel calls it, short: with the lane's name it is to fit in that */
    const char *cost; /**< what comes of it, for people */
};

/** Of one lane at most. */
#define LANE_LACKS_MAX 6

struct lane {
    const struct lane_operations *operations;
    enum lane_kind kind;      /**< as frames name it: nobody asks it for anything else */
    enum lane_kind opened_as; /**< its own, if it has the place, and so the kind, of another one */
    uint8_t rail; /**< the network interface it belongs to, in the endpoint's order; 0 if
                       it is of the host */
    /* What it can do. */
    enum lane_bulk bulk;    /**< how well it carries the data of long messages */
    bool takes_trains;      /**< frames of equal length sent together cost little more than one */
    bool cuts;              /**< carries DATA, many segments at once, and sequenced frames; those of
                                 one message cost little more than one */
    bool polling_is_costly; /**< receive() is a system call even if nothing has arrived */
    bool shares_memory;     /**< it leads to processes of this host, and messages may be read from
                                 their memory: whoever is reached so is reached by nothing else */
    bool of_host;           /**< it belongs to no rail, but to the host (LANE_OF_HOST) */
    bool learns_queue;      /**< what comes through descriptor() tells the kernel of which queue of
                                 the network card it is (queue_poll.h) */
    bool needs_checksum;    /**< nothing above Ethernet's frame check sequence finds out whether a
                                 frame was damaged on its way: it gets one of ours (checksum.h) */
    bool is_certain;        /**< what goes to an address reaches whom it names, or nobody: other
                                 lanes' addresses are only what somebody says */
    uint32_t frame_bytes;   /**< longest frame, without the envelope; if it cuts: or segment */
    /** Not 0: the interface's MTU has been lowered since, and longer frames than this are not taken
     *  now. */
    uint32_t narrowed_bytes;
    uint32_t mtu; /**< of the wire that this has come of: with headers below ours; 0: none */
    uint32_t batch_frames;   /**< send() likes to be given so many at once */
    uint64_t capacity_bytes; /**< what may be on the way to us without being lost for want of room;
                                  UINT64_MAX: no limit */
    uint64_t sent_frames;
    uint64_t sent_bytes;
    uint64_t sent_calls;     /**< system calls that sent them */
    uint64_t refused_frames; /**< offered and not taken */
    uint64_t refused_trains; /**< the kernel would not segment them, so sent frame by frame */
    uint64_t received_frames;
    uint64_t received_bytes;
    uint64_t foreign_frames; /**< arrived, but not for us or not whole */
    uint64_t dropped_frames; /**< lost by the kernel for want of room in our ring */
    uint64_t damaged_frames; /**< that a checksum has found to be, ours or the lane's */
    bool verify; /**< frames whose checksum nobody else has looked at are to be looked at by the
                      lane, if it has one of its own; set by whoever opens it */
    uint64_t placed_frames; /**< came as expected, so their payload needed no copy */
    struct lane_lack lacks[LANE_LACKS_MAX]; /**< as long as it does not count: it works */
    uint8_t lack_count;
    char name[24]; /**< for people: its kind, and its interface if it has one, such as
                        "packet/eth0"; written by whoever opens it */
};

/** Notes that the lane does without something. Both are static text. */
static inline void lane_lacks(struct lane *lane, const char *what, const char *cost)
{
    if (lane->lack_count < LANE_LACKS_MAX) {
        lane->lacks[lane->lack_count++] = (struct lane_lack){what, cost};
    }
}

#endif /* BEOWIRE_LANE_LANE_H */
