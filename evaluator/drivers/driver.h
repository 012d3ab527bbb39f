/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver.h - the contract between the measuring engine and a protocol.
 *
 * A driver moves messages of a known size between two ends over one protocol, and does nothing
 * else: it never reads a clock to time anything, never chooses sizes or counts, never prints. The
 * engine owns the measuring loop, so every protocol is measured on the same work.
 *
 * A driver file is one protocol. It is built as a shared object `beowire-driver-NAME.so` that
 * exports `beowire_driver_table()`, is loaded when it is needed, and so hides only itself when a
 * library that it wants is missing.
 *
 *      initiator                                   responder
 *        open()  -> address "a"                      open()  -> address "b"
 *                      (the engine's caller swaps the two texts)
 *        connect("b")                                connect("a")
 *        prepare(size)                               prepare(size)
 *        send, receive, send, receive ...            receive, send, receive, send ...
 *        close()                                     close()
 *
 * Threads: all calls on a session come from one thread. Ownership: texts handed in are valid only
 * during the call; a session is the driver's from open() until close(), and close() is called
 * exactly once for each successful open(), also after an error.
 *
 * Errors: 0 is success, a negative errno value is a failure. -ECANCELED: the host asked to stop;
 * if it was receive(), and nothing of a message had come, the session stays usable: what comes
 * after the next prepare() goes to whoever receives then, and nothing waits for it elsewhere.
 * -ETIMEDOUT from receive() of an unreliable driver: no message arrived within the loss timeout
 * (the session stays usable). -EMSGSIZE from prepare(): this size cannot be carried. Anything else
 * ends the session. -EOWNERDEAD: a daemon of this node that messages go through has ended.
 */
#ifndef BEOWIRE_DRIVER_H
#define BEOWIRE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Changes whenever this file changes incompatibly; the engine refuses other values. */
#define DRIVER_ABI 6

/** Longest text of an address, with its end. */
#define DRIVER_ADDRESS_BYTES 320

/** Longest text of a reason or an error, with its end. */
#define DRIVER_REASON_BYTES 256

/** Bytes that a message may be moved up in its buffer: two pages. */
#define DRIVER_SLACK_BYTES 8192

enum driver_role {
    DRIVER_INITIATOR, /**< the end that measures */
    DRIVER_RESPONDER, /**< the end that answers */
};

/** Where the two ends of a session can be. */
enum driver_placement {
    DRIVER_PAIR,    /**< on two nodes, or on one (tcp, packet, beowire) */
    DRIVER_HOST,    /**< two processes of one host (shm) */
    DRIVER_PROCESS, /**< no other end at all: send() does the whole work (memcpy) */
};

/** What all ends can do together. */
enum driver_collective {
    DRIVER_BARRIER,   /**< nobody goes on before all have come */
    DRIVER_BROADCAST, /**< what the root has gets to all */
    DRIVER_ALLREDUCE, /**< the sum of what each has, byte by byte, of at most 255 */
    DRIVER_ALLTOALL,  /**< each has a message for each, itself included */
};

/** What the engine gives to a driver, valid from open() until close() has returned. */
struct driver_host {
    /** True once the session should end: the caller went away, asked to stop, or time ran out.
     *  Costs a system call: a driver that spins calls it about every millisecond, a driver that
     *  blocks at least every 100 ms (SO_RCVTIMEO). After true, return -ECANCELED. */
    bool (*stopped)(void *context);
    void *context;
};

/** What has ended of what was posted, since it was last asked. */
struct driver_ended {
    uint64_t sends;    /**< their data may be reused */
    uint64_t receives; /**< their messages are there, whole */
};

struct driver_options {
    enum driver_role role;
    const char *interface;     /**< network interface, such as "eth0"; "" lets the driver choose */
    const char *local_address; /**< this end's IPv4 or IPv6 address, as text; "" for any */
    uint64_t max_size;         /**< no message will be longer, in bytes */
    /** The buffers of `max_size` and DRIVER_SLACK_BYTES more bytes in which what send() and
     *  receive() are given lies, for protocols that have to know their memory in advance: messages
     *  leave from either, and arrive in `incoming`. NULL: they are not known, or the driver's own
     *  (buffers()). Patterns that use other memory are only run over drivers that are not
     *  `fixed`. */
    void *outgoing;
    void *incoming;
    uint64_t loss_timeout_ns; /**< how long receive() of an unreliable driver waits */
    const struct driver_host *host;
    uint64_t socket_buffer_bytes; /**< of socket buffers, if the user says so; else 0 */
};

struct driver {
    uint32_t abi;        /**< DRIVER_ABI */
    const char *name;    /**< lower case, digits and any of "-_:/": what `--drivers` takes */
    const char *summary; /**< one line: what it is, and how it waits */
    enum driver_placement placement;
    bool reliable;     /**< every message arrives once and in order, or the session fails */
    bool spins;        /**< takes a whole core while it waits */
    bool fixed;        /**< messages have to lie in the buffers of its options */
    uint64_t min_size; /**< bytes of the smallest message that it can carry */
    uint64_t max_size; /**< bytes of the largest; prepare() may know a tighter limit */

    /** Can this run here? Returns 0, or a negative errno with a reason of one line that says what
     *  to do. Must leave nothing open. `options->role`, `host` are not meaningful here. */
    int (*probe)(const struct driver_options *options, char *reason, size_t reason_bytes);

    /** Opens this end. On failure fills `error` with one line that a person can act on. */
    int (*open)(const struct driver_options *options, void **session, char *error,
                size_t error_bytes);

    /** Writes the text that the other end's connect() needs, opaque to the engine: printable
     *  ASCII without spaces. NULL for DRIVER_PROCESS. */
    int (*address)(void *session, char *text, size_t text_bytes);

    /** Connects to the other end; both ends are called, at the same time, in either order.
     *  NULL for DRIVER_PROCESS. */
    int (*connect)(void *session, const char *peer_address, char *error, size_t error_bytes);

    /** Before each run: messages from now on have exactly `size` bytes, or, either way, up to 8 (or
     *  `min_size`) where they only answer or ask. Memory that messages lay in before may be another
     *  by now; until the next call none is given back. Not timed. May be NULL. */
    int (*prepare)(void *session, uint64_t size);

    /** Sends one message; returns when `data` may be reused. */
    int (*send)(void *session, const void *data, uint64_t size);

    /** Receives one whole message of exactly `size` bytes into `data`. NULL for DRIVER_PROCESS. */
    int (*receive)(void *session, void *data, uint64_t size);

    /** Sends one message of a stream in which `more` follow; NULL: send() is used. For protocols in
     *  which sending and waiting are two calls: many messages may be under way at once. `data` is
     *  the same, unchanged, for all messages of a stream, and may be reused when the call with
     *  `more` 0 has returned. Waits while too many are under way. */
    int (*stream_send)(void *session, const void *data, uint64_t size, uint64_t more);

    /** Receives one message of a stream, of which `more` follow, of the same size and into the same
     *  `data`; NULL: receive() is used. So that what follows can be waited for in advance; beyond
     *  `more` nothing may be. `data` holds a message for certain only after the call with `more` 0:
     *  before, those that are waited for in advance may be half there. After an error, and after a
     *  stream that was left before its end, the session is only closed. */
    int (*stream_receive)(void *session, void *data, uint64_t size, uint64_t more);

    /** Returns when everything sent has left this process for good, as far as the protocol can
     *  tell. Not timed. May be NULL. */
    int (*flush)(void *session);

    /** Ends the session and frees it. Bounded in time (at most 1 s), whatever the other end
     *  does. */
    void (*close)(void *session);

    /** The next three are for patterns in which an end sends and receives at the same time, or goes
     *  on with other work meanwhile: all of them, or all NULL, and then such patterns are not for
     *  this driver. What is posted is of each kind ended in the order in which it was posted.
     *  While anything is posted, send(), receive() and the functions of a stream are not called.
     *  After an error, the session is only closed.
     *
     *  Begins to send one message, and returns at once. -EAGAIN: there is no room for it now, which
     *  progress() makes. `data` stays as it is until that has ended. */
    int (*post_send)(void *session, const void *data, uint64_t size);

    /** Begins to receive one message of exactly `size` bytes, and returns at once. -EAGAIN as
     *  above, but there is room for at least 64, also into the same `data`: what is there then is
     * known only when all of them have ended. */
    int (*post_receive)(void *session, void *data, uint64_t size);

    /** Moves on what is posted, and adds to `ended` what of it has ended. With `wait` it returns
     *  when something has, waiting as the driver's other calls wait; without, it looks once. */
    int (*progress)(void *session, bool wait, struct driver_ended *ended);

    /** An operation that all ends begin, in the same order; returns when this end is done. It gives
     *  `size` bytes of `data` (a broadcast: the root), which stay as they are, and puts as many
     *  into `result` (a broadcast: who is not the root). Of an alltoall both are `size` bytes for
     *  each end, one after the other, the initiator's first. NULL: it has none. After an error, the
     *  session is only closed. */
    int (*collective)(void *session, enum driver_collective what, enum driver_role root,
                      const void *data, void *result, uint64_t size);

    /** For libraries that move messages on only when they are called: looks once, and returns at
     *  once. Called about every millisecond while the engine waits for a command, until it returns
     *  false: the other end needs nothing more of this one. NULL: it never does. */
    bool (*idle)(void *session);

    /** For libraries that make the memory in which messages have to lie: the two buffers, of as
     * many bytes as those of the options, from the beginning of a page on, which then take their
     * place. Called once, after open(); they are there until close(). Such a driver is `fixed`, and
     * has no collective(). NULL: they are the engine's. */
    void (*buffers)(void *session, void **outgoing, void **incoming);
};

/** Exported by each driver's shared object: a table of drivers ended by NULL, static storage. */
__attribute__((visibility("default"))) const struct driver *const *beowire_driver_table(void);

#endif /* BEOWIRE_DRIVER_H */
