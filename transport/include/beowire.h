/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * beowire.h - reliable tagged messages between processes of an Ethernet cluster, and access to
 * each other's memory.
 *
 * An *endpoint* is a process's connection to the network. A *peer* is another endpoint, named by
 * its *address*: opaque bytes that the application passes from one process to the other by any
 * means (a file, PMIx, a socket). The first send to a peer connects to it; nothing else is needed.
 * Only a process that has an endpoint's address can connect to it: the address contains a secret,
 * which BeoWire sends in no frame. So pass it by means that only your own processes can read, and
 * write it into no log, no name and no command line.
 *
 *      beowire_open()               beowire_open()
 *      beowire_address()  --------> beowire_peer_add()
 *      beowire_receive(tag)         beowire_send(tag)
 *      beowire_poll() ...           beowire_poll() ...
 *      beowire_close()              beowire_close()
 *
 * Order and delivery: a message arrives exactly once and intact, or its operation completes with
 * an error that names the peer. Messages between two endpoints match receives in sending order.
 *
 * Remote memory: a process registers memory and tells others its key. They put data into it, get
 * data from it, and execute atomic operations on it. Each operation is executed exactly once before
 * it completes, or completes with an error.
 *
 * Progress is made inside the calls below, and, while there are none, by a thread of the endpoint
 * (enum beowire_progress).
 *
 * Threads: an endpoint is used by one thread at a time; different endpoints are independent. Its
 * own thread blocks all signals, and beowire_close() ends it.
 *
 * Fork: an endpoint belongs to the process that opened it. A child may only call beowire_close() on
 * its copy, which neither waits nor sends anything, and does not affect the parent. Every other
 * function returns -ECHILD and does nothing (also after clone(2) without CLONE_VM, but not detected
 * on Linux before 4.14). A child of vfork() shares its parent's memory and must call no function. A
 * child that does not close keeps sockets open until it calls exec() or ends.
 *
 * Ownership: a buffer of an operation belongs to the endpoint until beowire_poll() has returned its
 * completion, or beowire_close() has returned. Errors: 0 (or a count) is success, a negative errno
 * value is a failure. Nothing is printed. For NULL as an endpoint functions return -EINVAL, for one
 * of the last 64 that were closed -EBADF, for a parent's -ECHILD. Functions without a status return
 * 0, and beowire_address() writes zeros, an invalid address. No other endpoint is affected.
 */
#ifndef BEOWIRE_H
#define BEOWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BEOWIRE_API __attribute__((visibility("default")))

/** Length of an endpoint's address, in bytes, and of its short form. */
#define BEOWIRE_ADDRESS_BYTES 144
#define BEOWIRE_ADDRESS_SHORT_BYTES 64

/** Room for an address as text, with its end. */
#define BEOWIRE_ADDRESS_TEXT_BYTES 304

/** Longest message, in bytes. */
#define BEOWIRE_MESSAGE_BYTES_MAX (UINT64_C(1) << 40)

/** A receive with this peer takes a message from any peer, and no peer's failure ends it. */
#define BEOWIRE_ANY_PEER UINT32_MAX

typedef struct beowire_endpoint beowire_endpoint;

/** A peer of one endpoint: a number from beowire_peer_add(), or from a completion. A peer that the
 *  application has added stays until beowire_peer_forget(). Any other is removed when it has failed
 *  or closed and all of its messages have been received; its number is then invalid. */
typedef uint32_t beowire_peer;

/** A part of a beowire_peer that no two peers have at the same time: less than twice
 *  beowire_options.peers, so that arrays can be indexed by it. */
#define BEOWIRE_PEER_SLOT_BITS 17
#define BEOWIRE_PEER_SLOT(peer) ((peer) & ((1u << BEOWIRE_PEER_SLOT_BITS) - 1))

/** A message claimed by beowire_claim(); never 0. */
typedef uint64_t beowire_message;

/** Address of an endpoint: plain data that may be copied and sent. */
struct beowire_address {
    uint8_t bytes[BEOWIRE_ADDRESS_BYTES];
};

/** Who makes progress while the application does not call. */
enum beowire_progress {
    /** A thread checks every 100 ms whether the application has called. If not, it makes progress:
     *  it answers peers, and repeats lost frames. Under load it checks every millisecond. */
    BEOWIRE_PROGRESS_KEEPER = 0,
    /** The thread checks every millisecond, and handles frames as they come while the application
     *  does not call: messages move while the application computes. */
    BEOWIRE_PROGRESS_THREAD = 1,
    /** No thread is started. The application has to poll or wait at least every `peer_timeout_ns`,
     *  or its peers take it for standing still (beowire_event()), or dead. */
    BEOWIRE_PROGRESS_CALLS = 2,
};

/** As `operations`: as many sends and receives as there is memory for. Those on remote memory, and
 *  long messages that peers do not receive, are 32768 at most. */
#define BEOWIRE_OPERATIONS_ANY UINT32_MAX

/** How to open an endpoint. Start from BEOWIRE_OPTIONS_DEFAULT. */
struct beowire_options {
    size_t size;           /**< sizeof(struct beowire_options) of the caller */
    const char *interface; /**< network interfaces, such as "eth0" or "eth0,eth1"; NULL if `lanes`
                              is "shm": peers on other hosts are then unreachable */
    const char *lanes;     /**< which of "shm,xdp,packet,tso,udp,verbs,tipc" may be used ("tso"
                              only beside "packet"; "xdp" in place of "packet", which is opened
                              where "xdp" cannot be); NULL: all that can be opened but "xdp",
                              "verbs" and "tipc" */
    uint16_t ethertype;    /**< EtherType of BeoWire's frames; the same for all peers */
    uint16_t endpoint;     /**< wanted endpoint number, 0: any that is free */
    uint32_t operations;   /**< most sends, and most receives, outstanding at once (1..32768), or
                              BEOWIRE_OPERATIONS_ANY; operations on remote memory count as sends */
    uint32_t peers;        /**< most peers that are added, and as many that connect by themselves
                              (1..65536) */
    uint64_t peer_timeout_ns;       /**< a peer that owes an answer and is silent this long is dead,
                                       unless it only stands still: beowire_event() */
    enum beowire_progress progress; /**< while the application does not call */
    const char *configuration;      /**< file of `beowire tune`; "": none; NULL: BEOWIRE_CONFIG, or
                                       beowire/beowire.conf of the user or of the host */
    bool go_back_n;   /**< after a loss, send all frames from it on again (the classic protocol, for
                         comparison), not only the lost ones; either end may require it */
    uint64_t job_key; /**< the same for all peers: endpoints of different jobs never connect */
};

/** The members in order: C++ before C++20 has no designated initializers. */
#define BEOWIRE_OPTIONS_DEFAULT                                                                    \
    {                                                                                              \
        sizeof(struct beowire_options), NULL, NULL, 0x88B5, 0, 1024, 1024, UINT64_C(4000000000),   \
            BEOWIRE_PROGRESS_KEEPER, NULL, false, 0                                                \
    }

enum beowire_operation {
    BEOWIRE_SEND = 1,
    BEOWIRE_RECEIVE = 2,
    BEOWIRE_PUT = 3,
    BEOWIRE_GET = 4,
    BEOWIRE_ATOMIC = 5,
    BEOWIRE_PUT_ARRIVED = 6, /**< a peer's put with BEOWIRE_PUT_NOTIFY is in our memory */
};

/** The end of one operation. */
struct beowire_completion {
    void *context;                    /**< as given when the operation was posted */
    enum beowire_operation operation; /**< which operation has ended */
    int status;                       /**< 0, or a negative errno: see beowire_poll() */
    beowire_peer peer;                /**< its destination or source */
    uint32_t immediate;               /**< receive, put arrived: the 32 bits sent beside the data */
    uint64_t tag;                     /**< the message's tag; remote memory: its key */
    uint64_t bytes; /**< the message's length; may exceed the buffer's if -EMSGSIZE */
};

/** Opens an endpoint.
 *
 * @return 0; -EINVAL: an option is out of range or the interface is missing; -EBADMSG: the
 * configuration is wrong: beowire_configuration_check() tells where; -ENOENT: it is missing;
 * -ENODEV: no such interface; -ENETDOWN: the interface is down; -EPERM: needs CAP_NET_RAW (only if
 * no other lane than "packet" can be opened); -EADDRNOTAVAIL: the interface has no IP address
 * (likewise for "udp"); -EAFNOSUPPORT, -ENONET: this kernel has no TIPC, or TIPC no network
 * (likewise for "tipc"); -EADDRINUSE: another endpoint of this network namespace has that endpoint
 * number, and both have the lane "packet" (which alone needs it); -EMFILE, -ENFILE: no descriptor
 * is left for its sockets; -ENOMEM. */
BEOWIRE_API int beowire_open(const struct beowire_options *options, beowire_endpoint **endpoint);

/** Reads a configuration as beowire_open() would, and describes the first error in one line:
 *  "FILE:LINE: TEXT". After the file it checks BEOWIRE_SETTINGS in the environment
 *  ("key=value,key=value"), and whether the file of BEOWIRE_TRACE can be created:
 *  "BEOWIRE_TRACE: TEXT".
 *
 * @param path as `configuration` in beowire_options
 * @param reason may be NULL; 512 bytes are always enough
 * @return 0; -EBADMSG: something in it is wrong; -ENOENT or another errno: it cannot be read. */
BEOWIRE_API int beowire_configuration_check(const char *path, char *reason, size_t reason_bytes);

/** Closes an endpoint and frees it, even with operations outstanding.
 *
 * First waits until peers have acknowledged all frames, at most `linger_ns` (UINT64_MAX: until they
 * fail or leave, too), then informs the peers. Outstanding receives end without a completion. In a
 * child of the process that opened it (see above) it only frees, and returns 0.
 * @return 0; -ETIMEDOUT: some messages may not have arrived. The endpoint is freed in any case. */
BEOWIRE_API int beowire_close(beowire_endpoint *endpoint, uint64_t linger_ns);

/** Declares that the application receives no more. Peers' sends that it has not received, and later
 *  ones, end with -ECONNRESET instead of waiting. Its own sends continue. Call it before a
 *  beowire_flush() that precedes beowire_close(), which does this first. @return 0. */
BEOWIRE_API int beowire_leave(beowire_endpoint *endpoint);

/** Writes the endpoint's own address. */
BEOWIRE_API void beowire_address(const beowire_endpoint *endpoint, struct beowire_address *address);

/** Writes an address, secret included, as text without spaces:
 *  "beowire:3:88b5:0007:0123456789abcdef:..."
 *  @return 0; -EINVAL: no valid address; -ENOSPC: `bytes` is below BEOWIRE_ADDRESS_TEXT_BYTES. */
BEOWIRE_API int beowire_address_format(const struct beowire_address *address, char *text,
                                       size_t bytes);

/** The same without the secret, for logs and people: not enough to connect to the endpoint. */
BEOWIRE_API int beowire_address_describe(const struct beowire_address *address, char *text,
                                         size_t bytes);

/** Reads what beowire_address_format() wrote, or beowire_address_describe(). @return 0, or -EINVAL.
 */
BEOWIRE_API int beowire_address_parse(const char *text, struct beowire_address *address);

/** Writes the short form of an address, for small buffers (libfabric's FI_NAME_MAX). It is as
 * secret as the address. Endpoints with one network interface, or with two with IPv4 addresses,
 * have one.
 *  @return 0; -EINVAL: no valid address, or one without its secret; -EMSGSIZE: other interfaces. */
BEOWIRE_API int beowire_address_shorten(const struct beowire_address *address,
                                        uint8_t short_form[BEOWIRE_ADDRESS_SHORT_BYTES]);

/** Reads what beowire_address_shorten() wrote, which needs no alignment. @return 0, or -EINVAL. */
BEOWIRE_API int beowire_address_lengthen(const uint8_t short_form[BEOWIRE_ADDRESS_SHORT_BYTES],
                                         struct beowire_address *address);

/** Are these addresses of the same endpoint? One, or both, may lack the secret. */
BEOWIRE_API bool beowire_address_same(const struct beowire_address *a,
                                      const struct beowire_address *b);

/** Adds a peer; the same address gives the same peer again. Sends nothing yet.
 *  @return 0; -EINVAL: no valid address, or another than this peer has already; -EACCES: no secret,
 *  and no connection of that endpoint with this one; -EHOSTUNREACH: no lane of this endpoint
 * reaches it; -ENOSPC: `options.peers` have been added already; -ENOMEM. */
BEOWIRE_API int beowire_peer_add(beowire_endpoint *endpoint, const struct beowire_address *address,
                                 beowire_peer *peer);

/** Gives up a peer that the application added. Posted operations continue. Its memory is reused
 * when the peer has failed or closed, or at once if it was never used; until then
 * beowire_peer_add() adds it again. @return 0; -EINVAL: no such peer, or it was not added. */
BEOWIRE_API int beowire_peer_forget(beowire_endpoint *endpoint, beowire_peer peer);

/** Writes the address of a peer, without its secret unless it was added by beowire_peer_add().
 *  @return 0, or -EINVAL: no such peer. */
BEOWIRE_API int beowire_peer_address(const beowire_endpoint *endpoint, beowire_peer peer,
                                     struct beowire_address *address);

/** Has any frame come from this peer? If not, and an operation with it fails, its address may be
 *  wrong for this host: reachable only over other network interfaces, or that of two hosts.
 *  @return 1: yes; 0: no; -EINVAL: no such peer. */
BEOWIRE_API int beowire_peer_was_heard(const beowire_endpoint *endpoint, beowire_peer peer);

/** Posts a send. The completion comes when `data` may be reused: at once when the message was
 *  copied (it is short, and there is room), else when the peer has all of it.
 *
 * @param immediate 32 bits that the receiver gets beside the data
 * @return 0: posted; -EAGAIN: no room now, poll and try again; -EINVAL: no such peer, or NULL
 * data; -EMSGSIZE: longer than BEOWIRE_MESSAGE_BYTES_MAX; a peer's error once it has failed. */
BEOWIRE_API int beowire_send(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                             uint32_t immediate, const void *data, uint64_t bytes, void *context);

/** As beowire_send(), but the completion comes when the peer's endpoint has all of the message,
 *  matched by a receive or not, or with the peer's error if the peer fails before. The peer is
 * asked to acknowledge without delay. */
BEOWIRE_API int beowire_send_confirmed(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                                       uint32_t immediate, const void *data, uint64_t bytes,
                                       void *context);

/** As beowire_send(), but the completion comes when the peer has received or discarded the message,
 *  or with the peer's error if the peer fails or closes before. */
BEOWIRE_API int beowire_send_matched(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                                     uint32_t immediate, const void *data, uint64_t bytes,
                                     void *context);

/** Sends a message at once, without a completion; `data` may be reused on return.
 *
 * @return 0; -EMSGSIZE: longer than beowire_inject_bytes(), or than there is room for at present:
 * use beowire_send(); -EAGAIN, -EINVAL and a peer's error as for beowire_send(). After -EAGAIN the
 * peer is asked for credit. A peer without a progress thread that computes for longer than the peer
 * timeout does not answer, and may count as dead. */
BEOWIRE_API int beowire_inject(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                               uint32_t immediate, const void *data, uint64_t bytes);

/** The longest message that beowire_inject() takes, in bytes. */
BEOWIRE_API uint64_t beowire_inject_bytes(const beowire_endpoint *endpoint);

/** Posts a receive. It takes the oldest message, waiting or to come, from `peer` (or from
 * BEOWIRE_ANY_PEER) whose tag equals `tag` in all bits that are 0 in `ignore`. Any `ignore` is
 * valid.
 *
 * A receive from one peer ends with the peer's error if the peer fails before a message has come; a
 * receive from BEOWIRE_ANY_PEER continues.
 *
 * @return 0: posted; -EAGAIN: no room now; -EINVAL: no such peer, or NULL data with bytes > 0; a
 * peer's error once it has failed and nothing from it is waiting. */
BEOWIRE_API int beowire_receive(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                                uint64_t ignore, void *data, uint64_t bytes, void *context);

/** Finds the oldest message that a receive with these arguments would take, without receiving it.
 *  `found` gets its peer, tag, length and immediate; its other members are 0. Makes no progress:
 *  poll first.
 *  @return 0: there is one; -ENOMSG: none has arrived; -EINVAL: no such peer, or NULL. */
BEOWIRE_API int beowire_peek(const beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                             uint64_t ignore, struct beowire_completion *found);

/** Like beowire_peek(), and claims the message: only beowire_receive_claimed() can receive it.
 * Until then it occupies memory of the endpoint. */
BEOWIRE_API int beowire_claim(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                              uint64_t ignore, struct beowire_completion *found,
                              beowire_message *message);

/** Posts a receive for a claimed message. To discard it, receive 0 bytes.
 *
 * @return 0: posted; -EAGAIN: no room now; -EINVAL: NULL data with bytes > 0; -ENOENT: no such
 * message is claimed: it was received, or its peer failed before all of it was here. */
BEOWIRE_API int beowire_receive_claimed(beowire_endpoint *endpoint, beowire_message message,
                                        void *data, uint64_t bytes, void *context);

/* ---- remote memory -------------------------------------------------------------------------- */

enum beowire_memory_flag {
    BEOWIRE_MEMORY_READ = 1 << 0,  /**< peers may get it, and fetch by atomic operations */
    BEOWIRE_MEMORY_WRITE = 1 << 1, /**< peers may put into it, and change it by atomic operations */
    /** Peers address it as this process does; without this flag, from 0 on. */
    BEOWIRE_MEMORY_VIRTUAL = 1 << 2,
    /** The caller chooses the key. Peers that guess it can use it, but a peer that keeps using
     *  invalid keys is disconnected (-EPROTO). */
    BEOWIRE_MEMORY_KEY = 1 << 3,
};

/** Lets peers use `bytes` bytes at `base`, until beowire_memory_unregister(). Any number of
 *  registrations may overlap. A peer's access to unmapped memory ends this process like its own
 *  access. Base NULL and UINT64_MAX bytes register all memory, present and future.
 *
 * @param flags of enum beowire_memory_flag
 * @param key gets the key, which is hard to guess; with BEOWIRE_MEMORY_KEY: is the key
 * @return 0; -EINVAL: key NULL, unknown flags, or memory that wraps around; -EEXIST: that key is in
 * use; -ENOMEM. */
BEOWIRE_API int beowire_memory_register(beowire_endpoint *endpoint, void *base, uint64_t bytes,
                                        unsigned flags, uint64_t *key);

/** Ends a registration: after it returns, no peer accesses the memory by this key. Peers'
 * operations in progress end with -EACCES.
 *  @return 0; -ENOENT: no such key. */
BEOWIRE_API int beowire_memory_unregister(beowire_endpoint *endpoint, uint64_t key);

/** A place in a peer's memory. */
struct beowire_remote {
    uint64_t key;
    uint64_t address; /**< the peer's own with BEOWIRE_MEMORY_VIRTUAL, else an offset */
};

enum beowire_put_flag {
    BEOWIRE_PUT_NOTIFY = 1 << 0, /**< the peer gets a completion (BEOWIRE_PUT_ARRIVED), too */
    /** `data` may be reused on return. Of at most beowire_put_inject_bytes(). */
    BEOWIRE_PUT_INJECT = 1 << 1,
};

/** Writes into a peer's memory. The completion comes when all of it is written; after an error the
 *  contents are undefined. Operations on remote memory are begun in the order of posting, after
 *  earlier messages to the same peer have begun to arrive; up to 16 KiB they are also executed in
 *  that order.
 *
 * @param flags of enum beowire_put_flag
 * @param immediate 32 bits that the peer gets with BEOWIRE_PUT_NOTIFY
 * @return 0: posted; -EAGAIN: no room now, poll and try again; -EINVAL: no such peer, NULL, or
 * unknown flags; -EMSGSIZE: longer than BEOWIRE_MESSAGE_BYTES_MAX, or than can be injected (or, as
 * for beowire_inject(), than there is room for just now); a peer's error once it has failed. */
BEOWIRE_API int beowire_put(beowire_endpoint *endpoint, beowire_peer peer,
                            const struct beowire_remote *remote, const void *data, uint64_t bytes,
                            unsigned flags, uint32_t immediate, void *context);

/** The longest put with BEOWIRE_PUT_INJECT, in bytes. */
BEOWIRE_API uint64_t beowire_put_inject_bytes(const beowire_endpoint *endpoint);

/** Reads from a peer's memory. @return as beowire_put(). */
BEOWIRE_API int beowire_get(beowire_endpoint *endpoint, beowire_peer peer,
                            const struct beowire_remote *remote, void *data, uint64_t bytes,
                            void *context);

/** Effect on each element t of the target, with the operand o and the value c to compare. */
enum beowire_atomic_operation {
    BEOWIRE_ATOMIC_MIN = 0,
    BEOWIRE_ATOMIC_MAX = 1,
    BEOWIRE_ATOMIC_SUM = 2,
    BEOWIRE_ATOMIC_PRODUCT = 3,
    BEOWIRE_ATOMIC_LOGICAL_OR = 4, /**< t = t || o, likewise the other logical ones: 0 or 1 */
    BEOWIRE_ATOMIC_LOGICAL_AND = 5,
    BEOWIRE_ATOMIC_BIT_OR = 6, /**< operations on bits: integers only */
    BEOWIRE_ATOMIC_BIT_AND = 7,
    BEOWIRE_ATOMIC_LOGICAL_XOR = 8,
    BEOWIRE_ATOMIC_BIT_XOR = 9,
    BEOWIRE_ATOMIC_READ = 10,
    BEOWIRE_ATOMIC_WRITE = 11,
    BEOWIRE_ATOMIC_SWAP_EQUAL = 12, /**< if (c == t) t = o */
    BEOWIRE_ATOMIC_SWAP_NOT_EQUAL = 13,
    BEOWIRE_ATOMIC_SWAP_LESS_EQUAL = 14, /**< if (c <= t) t = o */
    BEOWIRE_ATOMIC_SWAP_LESS = 15,
    BEOWIRE_ATOMIC_SWAP_GREATER_EQUAL = 16,
    BEOWIRE_ATOMIC_SWAP_GREATER = 17,
    BEOWIRE_ATOMIC_SWAP_MASKED = 18, /**< t = (o & c) | (t & ~c): integers only */
};

enum beowire_atomic_type {
    BEOWIRE_INT8 = 0,
    BEOWIRE_UINT8 = 1,
    BEOWIRE_INT16 = 2,
    BEOWIRE_UINT16 = 3,
    BEOWIRE_INT32 = 4,
    BEOWIRE_UINT32 = 5,
    BEOWIRE_INT64 = 6,
    BEOWIRE_UINT64 = 7,
    BEOWIRE_FLOAT = 8,
    BEOWIRE_DOUBLE = 9,
};

struct beowire_atomic {
    enum beowire_atomic_operation operation;
    enum beowire_atomic_type type;
    uint32_t count;      /**< of elements; up to beowire_atomic_count() */
    const void *operand; /**< not for BEOWIRE_ATOMIC_READ */
    const void *compare; /**< for BEOWIRE_ATOMIC_SWAP_EQUAL and those after it */
    void *result;        /**< gets the old values; or NULL, but for BEOWIRE_ATOMIC_READ */
};

/** Executes an operation on each element of an array in a peer's memory. It is atomic with respect
 *  to every other such operation on that peer, and for aligned elements to atomic instructions of
 *  the peer's threads, but not to puts and gets. The memory must be writable, and readable if there
 *  is a result.
 *
 * The arrays, but not `atomic` itself, belong to the endpoint until the completion.
 * @return as beowire_put(); -EINVAL also: an array is missing, or `count` is 0; -EOPNOTSUPP: no
 * such operation on this type; -EMSGSIZE: more than beowire_atomic_count(). */
BEOWIRE_API int beowire_atomic(beowire_endpoint *endpoint, beowire_peer peer,
                               const struct beowire_remote *remote,
                               const struct beowire_atomic *atomic, void *context);

/** Most elements of one beowire_atomic(), to any peer: what the shortest frame of a connection
 * holds. 0: there is no such operation on this type. */
BEOWIRE_API uint32_t beowire_atomic_count(const beowire_endpoint *endpoint,
                                          enum beowire_atomic_operation operation,
                                          enum beowire_atomic_type type);

/** Makes progress until all peers that have not failed have acknowledged all frames. Acknowledges
 *  received ones, too, so that peers can flush. Call it before a long pause: a lost message, even
 * if injected, is repeated only while this endpoint makes progress.
 *  @return 0; -ETIMEDOUT: not within `timeout_ns` (it may be called again); -ENETDOWN: as for
 *  beowire_poll(). */
BEOWIRE_API int beowire_flush(beowire_endpoint *endpoint, uint64_t timeout_ns);

/** Cancels a receive that no message has matched. Its completion (-ECANCELED) follows.
 *  @return 0; -ENOENT: no unmatched receive has this context. */
BEOWIRE_API int beowire_cancel(beowire_endpoint *endpoint, const void *context);

/** Makes progress, and returns ended operations, oldest first. Never blocks.
 *
 * A completion's status is 0, or: -EMSGSIZE: the message was longer than the receive's buffer,
 * which holds its beginning; -ECANCELED: beowire_cancel(); -ETIMEDOUT: the peer is silent for
 * `peer_timeout_ns` and does not only stand still (beowire_event()), or it answers, but its data or
 * data for it never arrives, which may take four times as long to detect (docs/PROTOCOL.md,
 * "Connection"); -ECONNRESET: the peer closed, restarted, or does not know us; -EKEYREJECTED: it
 * has another job key; -EPROTONOSUPPORT: one end requires seals, the other has none;
 * -EPROTO: the peer broke the protocol; of remote memory: -EACCES: the peer has no memory with this
 * key (any more), or it does not allow this, or does not contain all of it (one error for all);
 * -EOPNOTSUPP: the peer does not support this. The last two affect neither other operations nor the
 * connection.
 * @return the number of completions written (0 .. count); -EINVAL: `completions` is NULL and
 * `count` not 0; -ENETDOWN: no lane of the endpoint works, because its interfaces are down or
 * gone, and no operation has ended. Checked only from time to time; it ends when an interface is
 * back. The lane "shm" always works, so an endpoint that has it (the default) never gets this: its
 * peers on other hosts are silent instead. */
BEOWIRE_API int beowire_poll(beowire_endpoint *endpoint, struct beowire_completion *completions,
                             size_t count);

/** Waits until beowire_poll() has something to do or `timeout_ns` has passed (0: no wait), making
 *  progress meanwhile: polls for a short time (with the setting busy_poll_us the kernel then polls
 *  the network card, too), then sleeps in the kernel.
 *  @return 1: completions are ready; 0: time ran out; -EINTR: a signal came while it slept;
 *  -ENETDOWN: as for beowire_poll(). */
BEOWIRE_API int beowire_wait(beowire_endpoint *endpoint, uint64_t timeout_ns);

/** A descriptor for poll(2), select(2) or epoll(7): readable when this endpoint has something to
 * do, such as a frame, a timer, or a completion by the endpoint's own thread. Sleep only after
 *  beowire_arm() has returned 0:
 *
 *      while ((count = beowire_poll(endpoint, completions, room)) == 0) {
 *          if (beowire_arm(endpoint) == 0) {
 *              poll(&(struct pollfd){.fd = descriptor, .events = POLLIN}, 1, -1);
 *          }
 *      }
 *
 * It may be readable although beowire_poll() then finds nothing. The first call creates it, later
 * calls return the same. It belongs to the endpoint: do not read, write or close it.
 * @return the descriptor; -EMFILE, -ENFILE, -ENOMEM or another errno: it cannot be created. */
BEOWIRE_API int beowire_descriptor(beowire_endpoint *endpoint);

/** Makes progress, and arms beowire_descriptor() for the next event, until another function is
 * called with this endpoint.
 *  @return 0: the caller may sleep; -EAGAIN: there is something to do: call beowire_poll();
 *  -EINVAL: beowire_descriptor() was not called before; -ENETDOWN: as for beowire_poll(). */
BEOWIRE_API int beowire_arm(beowire_endpoint *endpoint);

/** One of the lanes that the endpoint's options allow and that could not be opened, by index from
 * 0: its name, such as "tso/eth0", and the reason. The endpoint uses other lanes, and some of its
 * traffic is slower. The list includes features of open lanes that the kernel lacks or refuses:
 * "UDP_GRO of udp/eth0", -EOPNOTSUPP. `beowire top` shows it, too.
 *
 * @param name gets static text of the endpoint's
 * @param reason gets -EPERM: this process lacks CAP_NET_RAW; -EUSERS: no further endpoint of the
 * interface can have that lane; -EADDRNOTAVAIL: the interface cannot have it, or has no IP address;
 * -EAFNOSUPPORT: this kernel has no TIPC; -ENONET: TIPC has no network; of "verbs" -ENXIO: there is
 * no RDMA device that can be used; -ELIBBAD: no libibverbs; -ENOPKG: built without it; -ENOBUFS: no
 * room in the device, or too little memory may be locked; -ENOLINK: a lane that it needs could not
 * be opened; another negative errno: beowire_error() describes each
 * @return 0; -ENOENT: `index` is past the last; -EINVAL: NULL. */
BEOWIRE_API int beowire_missing_lane(const beowire_endpoint *endpoint, unsigned index,
                                     const char **name, int *reason);

/** Why it is missing, in one line: beowire_error() of the reason, or more, such as the process that
 *  has the lane. @return text of the endpoint; NULL: no endpoint, or `index` is past the last. */
BEOWIRE_API const char *beowire_missing_lane_reason(const beowire_endpoint *endpoint,
                                                    unsigned index);

enum beowire_event_kind {
    BEOWIRE_PEER_STANDS_STILL = 1, /**< silent for longer than `peer_timeout_ns`, but its host
                                        answers, and does not report the process as ended: the
                                        endpoint waits for it */
    BEOWIRE_PEER_GOES_ON = 2,      /**< it was heard again */
};

/** A change in a peer's state, for the user. */
struct beowire_event {
    enum beowire_event_kind kind;
    beowire_peer peer;
    uint64_t since_ns; /**< how long it has been silent, or was */
};

/** Takes the next event, if there is one. Events not taken are dropped when they are over. Makes no
 *  progress.
 *  @return 1: `event` is written; 0: there is none; -EINVAL: NULL. */
BEOWIRE_API int beowire_event(beowire_endpoint *endpoint, struct beowire_event *event);

/** One of the endpoint's counters, by index from 0: its name, and its value since open.
 *  They count all peers together; `beowire top` shows peers one by one, at most 256 of them.
 *  @return 0; -ENOENT: `index` is past the last; -EINVAL: NULL. */
BEOWIRE_API int beowire_counter(const beowire_endpoint *endpoint, unsigned index, const char **name,
                                uint64_t *value);

/** Meaning of an error of this library, in one line of static text. */
BEOWIRE_API const char *beowire_error(int status);

#ifdef __cplusplus
}
#endif

#endif /* BEOWIRE_H */
