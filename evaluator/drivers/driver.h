/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver.h - the contract between the measuring engine and a protocol.
 *
 * A driver moves messages of a known size between two ends over one protocol, and does nothing
 * else: it never reads a clock to time anything, never chooses sizes or counts, never prints. The
 * engine owns the measuring loop, so every protocol is measured on the same work.
 *
 * A driver file is one protocol, built as a shared object `beowire-driver-NAME.so` that exports
 * `beowire_driver_table()`. It is loaded only when it is needed, so a missing library affects only
 * its own drivers.
 *
 *      initiator                                   responder
 *        open()  -> address "a"                      open()  -> address "b"
 *                      (the engine's caller swaps the two texts)
 *        connect("b")                                connect("a")
 *        prepare(size)                               prepare(size)
 *        send, receive, send, receive ...            receive, send, receive, send ...
 *        close()                                     close()
 *
 * Threads: all calls on a session come from one thread. Ownership: texts passed to functions are
 * valid only during the call. The driver owns a session from open() to close(), and close() is
 * called exactly once for each successful open(), also after an error.
 *
 * Errors: 0 is success, a negative errno value is a failure.
 * - -ECANCELED: the host asked to stop. If receive() returns it before any part of a message has
 *   arrived, the session stays usable, and receive() must leave nothing posted that would take a
 *   message after the next prepare().
 * - -ETIMEDOUT from receive() of an unreliable driver: no message arrived within the loss timeout
 *   (the session stays usable).
 * - -EMSGSIZE from prepare(): this size is not possible.
 * - -EOWNERDEAD: a daemon of this node that carries messages has ended.
 * - Anything but the first three ends the session.
 */
#ifndef BEOWIRE_DRIVER_H
#define BEOWIRE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Changes when this file changes incompatibly; the engine refuses other values. */
#define DRIVER_ABI 6

/** Longest address, with its zero byte. */
#define DRIVER_ADDRESS_BYTES 320

/** Longest reason or error, with its zero byte. */
#define DRIVER_REASON_BYTES 256

/** The most bytes by which a message may be moved in its buffer: two pages. */
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

/** Collective operations. */
enum driver_collective {
    DRIVER_BARRIER,   /**< each end waits for all others */
    DRIVER_BROADCAST, /**< all get the root's data */
    DRIVER_ALLREDUCE, /**< all get the sum of all data, byte by byte; no sum is above 255 */
    DRIVER_ALLTOALL,  /**< each end sends a message to each, itself included */
};

/** The engine's functions for a driver, valid from open() until close() has returned. */
struct driver_host {
    /** True if the session should end: the caller is gone, asked to stop, or the time is over.
     *  Costs a system call: a driver that polls calls it about every millisecond, a driver that
     *  blocks at least every 100 ms (SO_RCVTIMEO). After true, return -ECANCELED. */
    bool (*stopped)(void *context);
    void *context;
};

/** Posted operations that have completed since the last call. */
struct driver_ended {
    uint64_t sends;    /**< their data may be reused */
    uint64_t receives; /**< their messages are complete */
};

struct driver_options {
    enum driver_role role;
    const char *interface;     /**< network interface, such as "eth0"; "" lets the driver choose */
    const char *local_address; /**< this end's IPv4 or IPv6 address, as text; "" for any */
    uint64_t max_size;         /**< size of the largest message, in bytes */
    /** The buffers of send() and receive(), each `max_size` and DRIVER_SLACK_BYTES bytes, for
     *  protocols that must know their memory in advance: messages are sent from either, and
     *  received into `incoming`. NULL if unknown, or made by the driver (buffers()). Patterns that
     *  use other memory run only over drivers that are not `fixed`. */
    void *outgoing;
    void *incoming;
    uint64_t loss_timeout_ns; /**< how long receive() of an unreliable driver waits */
    const struct driver_host *host;
    uint64_t socket_buffer_bytes; /**< size that the user set for socket buffers; 0: default */
};

struct driver {
    uint32_t abi;        /**< DRIVER_ABI */
    const char *name;    /**< lower case, digits and any of "-_:/": what `--drivers` takes */
    const char *summary; /**< one line: the protocol, and how it waits */
    enum driver_placement placement;
    bool reliable;     /**< every message arrives once and in order, or the session fails */
    bool spins;        /**< occupies a core while it waits */
    bool fixed;        /**< messages must be in the buffers of its options */
    uint64_t min_size; /**< smallest message, in bytes */
    uint64_t max_size; /**< largest message, in bytes; prepare() may refuse smaller ones */

    /** Can this run here? Returns 0, or a negative errno with a reason of one line that says what
     *  to do. Leaves nothing open. `options->role` and `host` are not set. */
    int (*probe)(const struct driver_options *options, char *reason, size_t reason_bytes);

    /** Opens this end. On failure `error` gets one line that says what to do. */
    int (*open)(const struct driver_options *options, void **session, char *error,
                size_t error_bytes);

    /** Writes the text that the other end's connect() needs, opaque to the engine: printable
     *  ASCII without spaces. NULL for DRIVER_PROCESS. */
    int (*address)(void *session, char *text, size_t text_bytes);

    /** Connects to the other end. It is called at both ends at the same time, in either order. NULL
     *  for DRIVER_PROCESS. */
    int (*connect)(void *session, const char *peer_address, char *error, size_t error_bytes);

    /** Called before each run: from now on messages have exactly `size` bytes, or, in either
     *  direction, up to 8 (or `min_size`) if they are requests or answers. The buffers of earlier
     *  messages may have been freed or remapped; none are until the next call. Not timed. May be
     *  NULL. */
    int (*prepare)(void *session, uint64_t size);

    /** Sends one message; returns when `data` may be reused. */
    int (*send)(void *session, const void *data, uint64_t size);

    /** Receives one whole message of exactly `size` bytes into `data`. NULL for DRIVER_PROCESS. */
    int (*receive)(void *session, void *data, uint64_t size);

    /** Sends one message of a stream; `more` follow. NULL: send() is used. For protocols with
     *  separate calls to send and to wait: many messages may be under way at once. `data` is the
     *  same, unchanged, for all messages of a stream, and may be reused when the call with `more` 0
     *  has returned. Waits while too many are under way. */
    int (*stream_send)(void *session, const void *data, uint64_t size, uint64_t more);

    /** Receives one message of a stream; `more` follow, of the same size and into the same `data`.
     *  NULL: receive() is used. The driver may post receives in advance, but no more than `more`.
     *  So `data` is certain to hold a whole message only after the call with `more` 0. After an
     *  error, or if a stream ends early, the session is only closed. */
    int (*stream_receive)(void *session, void *data, uint64_t size, uint64_t more);

    /** Returns when all messages have left this process, as far as the protocol can tell. Not
     *  timed. May be NULL. */
    int (*flush)(void *session);

    /** Ends the session and frees it, in at most 1 s, whatever the other end does. */
    void (*close)(void *session);

    /** The next three are for patterns in which an end sends and receives at the same time, or does
     *  other work meanwhile. Either all or none are NULL; if they are, such patterns cannot use
     *  this driver. Posted operations of each kind complete in order. While any is posted, send(),
     *  receive() and the functions of a stream are not called. After an error, the session is only
     *  closed.
     *
     *  Posts the send of one message, and returns at once. -EAGAIN: no room; progress() makes room.
     *  `data` must not change until the send has completed. */
    int (*post_send)(void *session, const void *data, uint64_t size);

    /** Posts the receive of one message of exactly `size` bytes, and returns at once. -EAGAIN as
     *  above, but there is room for at least 64, also into the same `data`, which then is valid
     *  only when all of them have completed. */
    int (*post_receive)(void *session, void *data, uint64_t size);

    /** Makes progress on posted operations, and adds the completed ones to `ended`. With `wait` it
     *  returns when one has completed, and waits as the driver's other calls do; without, it polls
     *  once. */
    int (*progress)(void *session, bool wait, struct driver_ended *ended);

    /** A collective operation. All ends call it in the same order; it returns when this end is
     *  done. `data` (of a broadcast: the root's) has `size` bytes and is not changed; `result` (of
     *  a broadcast: of all but the root) gets as many. In an alltoall both have `size` bytes for
     *  each end, the initiator's first. NULL: none. After an error, the session is only closed. */
    int (*collective)(void *session, enum driver_collective what, enum driver_role root,
                      const void *data, void *result, uint64_t size);

    /** For libraries that make progress only when called: polls once, and returns at once. Called
     *  about every millisecond between commands, until it returns false: the other end needs
     *  nothing more. NULL: it never does. */
    bool (*idle)(void *session);

    /** For libraries that allocate the memory of messages: returns two buffers that replace those
     *  of the options. They have the same size, begin at a page, and are valid until close().
     *  Called once, after open(). Such a driver is `fixed`, and has no collective(). NULL: the
     *  engine's buffers are used. */
    void (*buffers)(void *session, void **outgoing, void **incoming);
};

/** Exported by each driver's shared object: a table of drivers, and NULL at its end, in static
 *  storage. */
__attribute__((visibility("default"))) const struct driver *const *beowire_driver_table(void);

#endif /* BEOWIRE_DRIVER_H */
