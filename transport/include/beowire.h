/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * beowire.h - reliable tagged messages between processes of an Ethernet cluster, and access to
 * each other's memory.
 *
 * An *endpoint* is one process's door to the network. A *peer* is another endpoint, known by its
 * *address*: opaque bytes that the application carries from one process to the other by any
 * means (a file, PMIx, a socket). The first send to a peer connects to it; nothing else is needed.
 * Whoever has the address may talk to the endpoint, and nobody else: it holds a secret that never
 * goes over the network in any frame of ours. So carry it by ways that only your own processes can
 * read, and let it stand in no log, no name and no command line.
 *
 *      beowire_open()               beowire_open()
 *      beowire_address()  --------> beowire_peer_add()
 *      beowire_receive(tag)         beowire_send(tag)
 *      beowire_poll() ...           beowire_poll() ...
 *      beowire_close()              beowire_close()
 *
 * Order and delivery: a message arrives exactly once and intact, or its operation completes with
 * an error that names the peer. Messages between two endpoints match receives in the order in
 * which they were sent.
 *
 * Remote memory: a process registers memory and tells others its key; they put data into it, get
 * data from it, and have atomic operations carried out on it. Each is carried out exactly once, or
 * completes with an error; its completion means that it has been done there.
 *
 * Progress is made inside the calls below, and, while there are none, by a thread of the endpoint
 * (enum beowire_progress).
 *
 * Threads: an endpoint is used by one thread at a time; different endpoints are independent. Its
 * own thread has all signals blocked, and is ended by beowire_close(). Fork: an endpoint stays the
 * process's that opened it. All that a child may do with its copy is to beowire_close() it, which
 * neither waits nor tells anybody anything: the parent goes on. Every other function answers a
 * child with -ECHILD, and touches nothing (so also after clone(2) without CLONE_VM; Linux before
 * 4.14 cannot tell). A child of vfork() has its parent's memory, not a copy: it must not call any.
 * A child that does not close keeps sockets open until it calls exec() or ends. Ownership: a buffer
 * handed to an operation belongs to the endpoint until its completion has been returned by
 * beowire_poll(), or beowire_close() has returned. Errors: 0 (or a count) is success, a negative
 * errno value is a failure. Nothing is printed.
 *
 * NULL in place of an endpoint is answered with -EINVAL, and one that has been closed with -EBADF
 * (the 64 that were closed last are known); a parent's with -ECHILD: by functions that return no
 * status with 0, by beowire_address() with an address of zeros, which no other function takes. No
 * other endpoint comes to harm.
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

/** A receive with this peer takes a message from anyone. That a peer fails does not end it: any
 *  other may still send. */
#define BEOWIRE_ANY_PEER UINT32_MAX

typedef struct beowire_endpoint beowire_endpoint;

/** A peer of one endpoint: a number given by beowire_peer_add(), or met in a completion. One that
 *  the application has named stays until beowire_peer_forget(). One that was met goes when it has
 *  failed or closed, and all of its messages have been received; its number is then nobody's. */
typedef uint32_t beowire_peer;

/** A part of a beowire_peer that no two peers have at the same time: less than twice
 *  beowire_options.peers, so that arrays can be indexed by it. */
#define BEOWIRE_PEER_SLOT_BITS 17
#define BEOWIRE_PEER_SLOT(peer) ((peer) & ((1u << BEOWIRE_PEER_SLOT_BITS) - 1))

/** A message that beowire_claim() took aside; never 0. */
typedef uint64_t beowire_message;

/** Where an endpoint is; plain data that may be copied and sent about. */
struct beowire_address {
    uint8_t bytes[BEOWIRE_ADDRESS_BYTES];
};

/** Who makes progress while the application does not call. */
enum beowire_progress {
    /** A thread that looks ten times a second whether the application has called, and if not, does
     *  what is due: peers know that the process lives, and what was lost is repeated. While much
     *  moves it looks every millisecond. */
    BEOWIRE_PROGRESS_KEEPER = 0,
    /** The same thread looks every millisecond, and while the application is away it sleeps until a
     *  frame comes: messages move while the application computes. */
    BEOWIRE_PROGRESS_THREAD = 1,
    /** Nobody: no thread is started, and the application has to poll or wait at least every
     *  `peer_timeout_ns`, or its peers find that it stands still (beowire_event()), or is dead. */
    BEOWIRE_PROGRESS_CALLS = 2,
};

/** As `operations`: as many sends and receives as there is memory for. Those on remote memory, and
 *  long messages that peers do not receive, are 32768 at most. */
#define BEOWIRE_OPERATIONS_ANY UINT32_MAX

/** How to open an endpoint. Start from BEOWIRE_OPTIONS_DEFAULT. */
struct beowire_options {
    size_t size;           /**< sizeof(struct beowire_options) of the caller */
    const char *interface; /**< network interfaces, such as "eth0" or "eth0,eth1"; NULL if `lanes`
                              is "shm": peers on other hosts are then out of reach */
    const char *lanes;     /**< which of "shm,xdp,packet,tso,udp,verbs,tipc" may be used ("tso"
                              only beside "packet"; "xdp" in place of "packet", which is opened
                              where "xdp" cannot be); NULL: all that can be opened but "xdp",
                              "verbs" and "tipc" */
    uint16_t ethertype;    /**< EtherType of our frames; all peers have the same */
    uint16_t endpoint;     /**< wanted endpoint number, 0: any that is free */
    uint32_t operations;   /**< most sends, and most receives, outstanding at once (1..32768), or
                              BEOWIRE_OPERATIONS_ANY; operations on remote memory count as sends */
    uint32_t peers;        /**< most peers that are named, and as many that come by themselves
                              (1..65536) */
    uint64_t peer_timeout_ns;       /**< a peer that owes an answer and is silent this long is dead,
                                       unless       it only stands still: beowire_event() */
    enum beowire_progress progress; /**< while the application does not call */
    const char *configuration;      /**< file of `beowire tune`; "": none; NULL: BEOWIRE_CONFIG, or
                                       beowire/beowire.conf in the user's or the host's configuration */
    bool go_back_n;   /**< after a loss, send everything again from there on (the classic protocol,
                         for comparison) and not only what was lost; either end may ask for it */
    uint64_t job_key; /**< all peers have the same: endpoints of different jobs never talk */
};

/** The members in their order: C++ before C++20 has no other way to say this. */
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
    enum beowire_operation operation; /**< what has ended */
    int status;                       /**< 0, or a negative errno: see beowire_poll() */
    beowire_peer peer;                /**< whom it went to or came from */
    uint32_t immediate;               /**< receive, put arrived: the 32 bits sent beside the data */
    uint64_t tag;                     /**< the message's tag; remote memory: its key */
    uint64_t bytes; /**< the message's length; may exceed the buffer's if -EMSGSIZE */
};

/** Opens an endpoint.
 *
 * @return 0; -EINVAL: an option is out of range or the interface is missing; -EBADMSG: the
 * configuration is wrong, and beowire_configuration_check() says where; -ENOENT: it is not there;
 * -ENODEV: no such interface; -ENETDOWN: the interface is down; -EPERM: needs CAP_NET_RAW (only if
 * no other lane than "packet" can be opened); -EADDRNOTAVAIL: the interface has no IP address
 * (likewise for "udp"); -EAFNOSUPPORT, -ENONET: this kernel has no TIPC, or TIPC no network
 * (likewise for "tipc"); -EADDRINUSE: another endpoint of this network namespace has that endpoint
 * number, and both have the lane "packet" (which alone needs it); -EMFILE, -ENFILE: no descriptor
 * is left for its sockets; -ENOMEM. */
BEOWIRE_API int beowire_open(const struct beowire_options *options, beowire_endpoint **endpoint);

/** Reads a configuration as beowire_open() would, and says in one line what is wrong with it:
 *  "FILE:LINE: TEXT". BEOWIRE_SETTINGS in the environment ("key=value,key=value") comes after the
 *  file, and is checked too, and so is whether the file can be made that BEOWIRE_TRACE asks for:
 *  "BEOWIRE_TRACE: TEXT".
 *
 * @param path as `configuration` in beowire_options
 * @param reason may be NULL; 512 bytes are always enough
 * @return 0; -EBADMSG: something in it is wrong; -ENOENT or another errno: it cannot be read. */
BEOWIRE_API int beowire_configuration_check(const char *path, char *reason, size_t reason_bytes);

/** Closes an endpoint and frees it, whatever is outstanding.
 *
 * First waits until peers have acknowledged what was sent, at most `linger_ns` (UINT64_MAX: as long
 * as they are there, unless they leave, too); then tells the peers. Outstanding receives end
 * without a completion. In a child of the process that opened it (see above) it does neither, and
 * returns 0.
 * @return 0; -ETIMEDOUT: something sent may not have arrived. The endpoint is gone in any case. */
BEOWIRE_API int beowire_close(beowire_endpoint *endpoint, uint64_t linger_ns);

/** The application receives no more. Peers that send to this endpoint all the same learn it in
 * place of waiting: what they have sent and it has not received ends with -ECONNRESET. What was
 * sent here goes on. For whoever waits by beowire_flush() before beowire_close(), which does this
 * first.
 *  @return 0. */
BEOWIRE_API int beowire_leave(beowire_endpoint *endpoint);

/** Writes the endpoint's own address. */
BEOWIRE_API void beowire_address(const beowire_endpoint *endpoint, struct beowire_address *address);

/** Writes an address, secret included, as text without spaces:
 *  "beowire:3:88b5:0007:0123456789abcdef:..."
 *  @return 0; -EINVAL: no valid address; -ENOSPC: `bytes` is below BEOWIRE_ADDRESS_TEXT_BYTES. */
BEOWIRE_API int beowire_address_format(const struct beowire_address *address, char *text,
                                       size_t bytes);

/** The same without its secret: for logs, and for people. What it writes is not enough to talk to
 *  the endpoint. */
BEOWIRE_API int beowire_address_describe(const struct beowire_address *address, char *text,
                                         size_t bytes);

/** Reads what beowire_address_format() wrote, or beowire_address_describe(). @return 0, or -EINVAL.
 */
BEOWIRE_API int beowire_address_parse(const char *text, struct beowire_address *address);

/** Writes the short form of an address, for those who have no more room (libfabric's FI_NAME_MAX).
 *  It is as secret as the address. Endpoints with one network interface have one, and
 *  those with two that both have an IPv4 address.
 *  @return 0; -EINVAL: no valid address, or one without its secret; -EMSGSIZE: it has other
 * interfaces. */
BEOWIRE_API int beowire_address_shorten(const struct beowire_address *address,
                                        uint8_t short_form[BEOWIRE_ADDRESS_SHORT_BYTES]);

/** Reads what beowire_address_shorten() wrote, which needs no alignment. @return 0, or -EINVAL. */
BEOWIRE_API int beowire_address_lengthen(const uint8_t short_form[BEOWIRE_ADDRESS_SHORT_BYTES],
                                         struct beowire_address *address);

/** Do these two name the same endpoint? One, or both, may lack the secret. */
BEOWIRE_API bool beowire_address_same(const struct beowire_address *a,
                                      const struct beowire_address *b);

/** Makes a peer known; the same address gives the same peer again. Sends nothing yet.
 *  @return 0; -EINVAL: no valid address, or another than the one that is known of this peer;
 * -EACCES: it lacks its secret, and its endpoint has no connection with this one; -EHOSTUNREACH: no
 * lane of this endpoint reaches it; -ENOSPC: `options.peers` are known already; -ENOMEM. */
BEOWIRE_API int beowire_peer_add(beowire_endpoint *endpoint, const struct beowire_address *address,
                                 beowire_peer *peer);

/** The application has no more use for a peer that it named. What it has posted goes on; once the
 *  peer has failed or closed, which is at once if nothing was ever asked of it, its room is
 *  another's.
 *  Until then beowire_peer_add() names it again.
 *  @return 0; -EINVAL: no such peer, or nobody has named it. */
BEOWIRE_API int beowire_peer_forget(beowire_endpoint *endpoint, beowire_peer peer);

/** Writes the address of a peer: without its secret if it was met (it connected to us), and not
 *  made known by beowire_peer_add(). @return 0, or -EINVAL: no such peer. */
BEOWIRE_API int beowire_peer_address(const beowire_endpoint *endpoint, beowire_peer peer,
                                     struct beowire_address *address);

/** Has this peer ever answered, or asked? If an operation with it fails, and it has not, it may not
 *  be where its address says, for this host: that is reached over other network interfaces, or
 *  another host has it, too. @return 1: it has; 0; or -EINVAL: no such peer. */
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
 *  however short it is; whether a receive has matched it is not said. If the peer fails before, it
 *  comes with the peer's error. The peer is asked to acknowledge without delay. */
BEOWIRE_API int beowire_send_confirmed(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                                       uint32_t immediate, const void *data, uint64_t bytes,
                                       void *context);

/** As beowire_send(), but the completion comes when a receive of the peer's has the message,
 * however short it is: its application wanted it, or wanted to be rid of it. If the peer fails or
 * closes before, it comes with the peer's error. */
BEOWIRE_API int beowire_send_matched(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                                     uint32_t immediate, const void *data, uint64_t bytes,
                                     void *context);

/** Sends a message at once, without a completion; `data` may be reused on return.
 *
 * @return 0; -EMSGSIZE: longer than beowire_inject_bytes(), or it takes more frames to this peer
 * than there is room for just now: send it; -EAGAIN, -EINVAL and a peer's error
 * as for beowire_send(). After -EAGAIN the peer is asked for room: one that computes for longer
 * than the peer timeout, and has no progress thread, does not answer, and may count as gone. */
BEOWIRE_API int beowire_inject(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                               uint32_t immediate, const void *data, uint64_t bytes);

/** The longest message that beowire_inject() takes, in bytes. */
BEOWIRE_API uint64_t beowire_inject_bytes(const beowire_endpoint *endpoint);

/** Posts a receive. It takes the oldest message, waiting or to come, from `peer` (or from
 *  BEOWIRE_ANY_PEER) whose tag equals `tag` in all bits that are 0 in `ignore`. Any 64 bits are a
 *  valid `ignore`; what `tag` has where they are 1 does not matter.
 *
 * A receive from one peer ends with the peer's error if that fails before a message has come; one
 * from BEOWIRE_ANY_PEER goes on waiting for one, whichever peers have failed.
 *
 * @return 0: posted; -EAGAIN: no room now; -EINVAL: no such peer, or NULL data with bytes > 0; a
 * peer's error once it has failed and nothing from it is waiting. */
BEOWIRE_API int beowire_receive(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                                uint64_t ignore, void *data, uint64_t bytes, void *context);

/** Looks for the oldest message that a receive with these arguments would take, and leaves it where
 *  it is. `found` gets its peer, tag, length and immediate; the rest of it is 0.
 *  Makes no progress: poll before, to see what has arrived.
 *  @return 0: there is one; -ENOMSG: none has arrived; -EINVAL: no such peer, or NULL. */
BEOWIRE_API int beowire_peek(const beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                             uint64_t ignore, struct beowire_completion *found);

/** Like beowire_peek(), and takes the message aside: receives do not find it any more, only
 *  beowire_receive_claimed() does. Until then it occupies memory of the endpoint. */
BEOWIRE_API int beowire_claim(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                              uint64_t ignore, struct beowire_completion *found,
                              beowire_message *message);

/** Posts a receive for a claimed message. To be rid of it, receive 0 bytes of it.
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
    /** The key is chosen by the caller. Whoever can guess it can use it; but a peer that goes on
     *  naming keys that no memory has, or had lately, is given up (-EPROTO). */
    BEOWIRE_MEMORY_KEY = 1 << 3,
};

/** Lets peers use `bytes` bytes at `base`, until beowire_memory_unregister(). Any number of
 *  registrations may overlap. What is not there when a peer uses it ends this process, as any other
 *  use of it does: base NULL and UINT64_MAX bytes stand for all that the process ever has.
 *
 * @param flags of enum beowire_memory_flag
 * @param key gets the key, which is hard to guess; with BEOWIRE_MEMORY_KEY: is the key
 * @return 0; -EINVAL: key NULL, unknown flags, or memory that wraps around; -EEXIST: that key is in
 * use; -ENOMEM. */
BEOWIRE_API int beowire_memory_register(beowire_endpoint *endpoint, void *base, uint64_t bytes,
                                        unsigned flags, uint64_t *key);

/** Ends that: when it returns, no peer reads or writes that memory by this key any more. Operations
 *  of peers that were in progress end with -EACCES.
 *  @return 0; -ENOENT: no such key. */
BEOWIRE_API int beowire_memory_unregister(beowire_endpoint *endpoint, uint64_t key);

/** A place in a peer's memory. */
struct beowire_remote {
    uint64_t key;
    uint64_t address; /**< the peer's own with BEOWIRE_MEMORY_VIRTUAL, else from the beginning on */
};

enum beowire_put_flag {
    BEOWIRE_PUT_NOTIFY = 1 << 0, /**< the peer gets a completion (BEOWIRE_PUT_ARRIVED), too */
    /** `data` may be reused on return. Of at most beowire_put_inject_bytes(). */
    BEOWIRE_PUT_INJECT = 1 << 1,
};

/** Writes into a peer's memory. The completion comes when all of it is there; if it comes with an
 *  error, there may be anything in its place. Operations on remote
 *  memory are begun in the order of their posting, and after messages that were sent before to the
 *  same peer have begun to arrive; up to 16 KiB they are also carried out in that order.
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

/** What happens to each element t of the target, with the operand o and the value c to compare. */
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

/** Carries out an operation on each element of an array in a peer's memory. Each element is changed
 *  atomically towards every other such operation on that peer; not towards puts and gets. If it is
 *  aligned, also towards atomic instructions of the peer's own threads. Needs memory that may be
 *  written, and read if there is a result.
 *
 * The arrays are the endpoint's until the completion; `atomic` itself is not.
 * @return as beowire_put(); -EINVAL also: an array is missing, or `count` is 0; -EOPNOTSUPP: no
 * such operation on this type; -EMSGSIZE: more than beowire_atomic_count(). */
BEOWIRE_API int beowire_atomic(beowire_endpoint *endpoint, beowire_peer peer,
                               const struct beowire_remote *remote,
                               const struct beowire_atomic *atomic, void *context);

/** Most elements of one beowire_atomic(), to any peer: what the shortest frame carries that a
 *  connection can have. 0: there is no such operation on this type. */
BEOWIRE_API uint32_t beowire_atomic_count(const beowire_endpoint *endpoint,
                                          enum beowire_atomic_operation operation,
                                          enum beowire_atomic_type type);

/** Makes progress until everything sent to peers that have not failed is acknowledged: their
 *  endpoints have it. What was received is acknowledged, so that they can flush too. An injected
 * message is otherwise only on its way, and is repeated if it got lost only while this endpoint
 * makes progress: flush before a long pause.
 *  @return 0; -ETIMEDOUT: not within `timeout_ns` (it may be called again); -ENETDOWN: as for
 *  beowire_poll(). */
BEOWIRE_API int beowire_flush(beowire_endpoint *endpoint, uint64_t timeout_ns);

/** Takes back a receive that no message has matched. Its completion (-ECANCELED) follows.
 *  @return 0; -ENOENT: no unmatched receive has this context. */
BEOWIRE_API int beowire_cancel(beowire_endpoint *endpoint, const void *context);

/** Makes progress, and returns ended operations, oldest first. Never blocks.
 *
 * A completion's status is 0, or: -EMSGSIZE: the message was longer than the receive's buffer,
 * which holds its beginning; -ECANCELED: beowire_cancel(); -ETIMEDOUT: the peer is silent for
 * `peer_timeout_ns` and does not only stand still (beowire_event()), or it answers, but what it
 * sends or is sent never arrives, which may take four times as long to know (docs/PROTOCOL.md,
 * "Connection"); -ECONNRESET: the peer closed, restarted, or does not know us; -EKEYREJECTED: it
 * has another job key; -EPROTONOSUPPORT: frames are to be authenticated, and one end cannot;
 * -EPROTO: the peer broke the protocol; of remote memory: -EACCES: the peer has no memory with this
 * key (any more), or it does not allow this, or not all of it is inside (which of these it was is
 * not told); -EOPNOTSUPP: the peer does not support this. The last two leave all other operations
 * alone, and the connection.
 * @return the number of completions written (0 .. count); -EINVAL: nowhere to write them, and
 * `count` is not 0; -ENETDOWN: no lane of the endpoint works, because its interfaces are down or
 * gone, and no operation has ended. It is looked for now and then only. It works again when
 * one of them is back. The lane "shm" always works, so an endpoint that has
 * it (by default all have) never gets this: its peers on other hosts are silent, then. */
BEOWIRE_API int beowire_poll(beowire_endpoint *endpoint, struct beowire_completion *completions,
                             size_t count);

/** Waits until beowire_poll() has something to do or `timeout_ns` has passed (0: no wait), making
 *  progress meanwhile: spins a little (in its looks at a lane the kernel polls the network card, if
 *  the setting busy_poll_us says so), then sleeps in the kernel.
 *  @return 1: completions are ready; 0: time ran out; -EINTR: a signal came while it slept;
 *  -ENETDOWN: as for beowire_poll(). */
BEOWIRE_API int beowire_wait(beowire_endpoint *endpoint, uint64_t timeout_ns);

/** A descriptor to sleep on in poll(2), select(2) or epoll(7), together with those of other things:
 *  readable when this endpoint has something to do, be it a frame, a timer, or a completion that
 * the endpoint's own thread has brought about. Before each sleep beowire_arm() has to agree:
 *
 *      while ((count = beowire_poll(endpoint, completions, room)) == 0) {
 *          if (beowire_arm(endpoint) == 0) {
 *              poll(&(struct pollfd){.fd = descriptor, .events = POLLIN}, 1, -1);
 *          }
 *      }
 *
 * It may be readable although beowire_poll() then finds nothing. It is made by the first call and
 * is the same in all others; it belongs to the endpoint: it is not to be read, written or closed.
 * @return the descriptor; -EMFILE, -ENFILE, -ENOMEM or another errno: none can be made. */
BEOWIRE_API int beowire_descriptor(beowire_endpoint *endpoint);

/** Makes progress, and has whatever comes next make beowire_descriptor() readable. That holds until
 *  another function is called with this endpoint.
 *  @return 0: the caller may sleep; -EAGAIN: not now, there is something to do: beowire_poll();
 *  -EINVAL: beowire_descriptor() was not called before; -ENETDOWN: as for beowire_poll(). */
BEOWIRE_API int beowire_arm(beowire_endpoint *endpoint);

/** One of the lanes that the endpoint's options allow and that could not be opened, by index from
 * 0: its name, such as "tso/eth0", and the reason. There was another lane, so the endpoint is open,
 * but some of its traffic takes a slower way. So it does where a lane that is open does without
 * something that the kernel lacks or refuses: "UDP_GRO of udp/eth0", -EOPNOTSUPP. `beowire top`
 * shows them, too.
 *
 * @param name gets static text of the endpoint's
 * @param reason gets -EPERM: this process lacks CAP_NET_RAW; -EUSERS: as many endpoints of the
 * interface have that lane as may; -EADDRNOTAVAIL: the interface cannot have it, or has no IP
 * address; -EAFNOSUPPORT: this kernel has no TIPC; -ENONET: TIPC has no network; of "verbs" -ENXIO:
 * there is no RDMA device that can be used; -ELIBBAD: no libibverbs; -ENOPKG: built without it;
 * -ENOBUFS: no room in the device, or too little memory may be locked; -ENOLINK: the lane without
 * which it is of no use could not be opened; another negative errno:
 * beowire_error() says each in a line
 * @return 0; -ENOENT: `index` is past the last; -EINVAL: NULL. */
BEOWIRE_API int beowire_missing_lane(const beowire_endpoint *endpoint, unsigned index,
                                     const char **name, int *reason);

/** Why it is missing, in a line: beowire_error() of the reason, or more than that, such as which
 *  process has the lane. @return text of the endpoint's; NULL: `index` is past the last, or this is
 *  no endpoint. */
BEOWIRE_API const char *beowire_missing_lane_reason(const beowire_endpoint *endpoint,
                                                    unsigned index);

enum beowire_event_kind {
    BEOWIRE_PEER_STANDS_STILL = 1, /**< silent for longer than `peer_timeout_ns`, but its host is
                                        there, and does not say that the process has ended: it is
                                        waited for */
    BEOWIRE_PEER_GOES_ON = 2,      /**< it was heard again */
};

/** Something that a user may want to be told. */
struct beowire_event {
    enum beowire_event_kind kind;
    beowire_peer peer;
    uint64_t since_ns; /**< how long it has been silent, or was */
};

/** Takes the next event, if there is one. What is not taken is forgotten when it is over. Makes no
 *  progress.
 *  @return 1: `event` is written; 0: there is none; -EINVAL: NULL. */
BEOWIRE_API int beowire_event(beowire_endpoint *endpoint, struct beowire_event *event);

/** One of the endpoint's counters, by index from 0: its name, and its value since open.
 *  They count all peers together; `beowire top` shows peers one by one, at most 256 of them.
 *  @return 0; -ENOENT: `index` is past the last; -EINVAL: NULL. */
BEOWIRE_API int beowire_counter(const beowire_endpoint *endpoint, unsigned index, const char **name,
                                uint64_t *value);

/** One line about an error of this library, static storage: what it means here. */
BEOWIRE_API const char *beowire_error(int status);

#ifdef __cplusplus
}
#endif

#endif /* BEOWIRE_H */
