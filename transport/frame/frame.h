/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.h - what is on the wire: layout, encoding, and the one place that checks received bytes.
 *
 * A frame is a fixed header, an operation header that depends on the type, and the payload. The
 * lane puts its own envelope (Ethernet's 14 bytes) in front. docs/PROTOCOL.md is the reference;
 * the layouts here are asserted against it.
 *
 *      | frame_header 28 | operation header 0..200 | payload |
 *      | frame_data 16 | payload |                              DATA
 *
 * Of a connection whose frames are sealed, 24 more bytes follow either header (frame_seal). Over a
 * lane that has no checksum of its own a frame has ours (checksum.h): in its header, or, of DATA,
 * in 4 bytes behind that.
 *
 * DATA is what long messages are made of, so it has a header of its own, with nothing in it that
 * other frames say as well: who sends is known by the key, and it ends where its datagram ends.
 *
 * frame_decode() is the only way in: after FRAME_OK every field it returns has been checked
 * against the length of the frame and the rules for its type, and nothing else needs to look at
 * raw bytes. Pure: no state, no clock, no allocation. Thread-safe.
 */
#ifndef BEOWIRE_FRAME_FRAME_H
#define BEOWIRE_FRAME_FRAME_H

#include "wire_types.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#define FRAME_VERSION 3

/** Ethernet pads shorter payloads to this: up to here bytes may follow a frame's end. */
#define FRAME_PADDED_BYTES 46

/** Most padding of a sequenced frame. It makes the frame as long as the next one: lanes with
 *  segmentation offload carry frames of equal length together. */
#define FRAME_EVENED_BYTES 32

/** Types from here on are sequenced: delivered once and in order by `flow/`. */
#define FRAME_SEQUENCED 16

/** Types are below this; a power of two. */
#define FRAME_TYPES 32

/** A row for each type: its number on the wire; its name in capitals, and in counters and traces;
 *  bytes of its operation header; may a payload follow? DATA has another header, so it has neither
 *  (frame_data). If you add a type: describe it in docs/PROTOCOL.md, too. */
#define FRAME_TYPE_LIST(TYPE)                                                                      \
    TYPE(1, CONNECT, connect, sizeof(struct frame_connect), 0) /* asks for a connection */         \
    TYPE(2, ACCEPT, accept, sizeof(struct frame_connect), 0)   /* grants it */                     \
    TYPE(3, RESET, reset, sizeof(struct frame_reset), 0) /* "I do not know that connection" */     \
    TYPE(4, CLOSE, close, 0, 0)                          /* the sender's endpoint is closing */    \
    TYPE(5, ACK, ack, 0, 0) /* acknowledgement and credit with nothing to piggy-back on */         \
    TYPE(6, PROBE, probe, sizeof(struct frame_probe), 0) /* asks for an acknowledgement now */     \
    TYPE(7, SACK, sack, sizeof(struct frame_sack), 0)    /* ... and what came behind a gap */      \
    TYPE(8, CHALLENGE, challenge, sizeof(struct frame_challenge), 0) /* does it arrive? */         \
    TYPE(9, RESPONSE, response, sizeof(struct frame_challenge), 0)   /* it has: the same number */ \
    TYPE(10, PULL, pull, sizeof(struct frame_pull), 0)    /* asks for segments of what waits */    \
    TYPE(11, DATA, data, 0, 0)                            /* a segment of it */                    \
    TYPE(16, EAGER, eager, sizeof(struct frame_eager), 1) /* first (often only) of a message */    \
    TYPE(17, FRAGMENT, fragment, sizeof(struct frame_fragment), 1) /* more of a message */         \
    TYPE(18, ANNOUNCE, announce, sizeof(struct frame_announce), 1) /* a long message waits */      \
    TYPE(19, DONE, done, sizeof(struct frame_done), 0) /* the receiver has all it wants of it */   \
    TYPE(20, BUNDLE, bundle, 0, 1) /* several short messages: struct frame_bundled + data each */  \
    TYPE(21, PUT, put, sizeof(struct frame_put), 1)       /* part of a short put */                \
    TYPE(22, OFFER, offer, sizeof(struct frame_offer), 0) /* a long put waits at its initiator */  \
    TYPE(23, GET, get, sizeof(struct frame_get), 0)       /* asks for remote memory */             \
    TYPE(24, ATOMIC, atomic, sizeof(struct frame_atomic), 1) /* an operation, and its operands */  \
    TYPE(25, RESULT, result, 0, 1) /* how requests ended: one struct frame_result each */          \
    TYPE(26, REPLY, reply, sizeof(struct frame_reply), 1) /* data that was asked for */            \
    TYPE(27, GRANT, grant, sizeof(struct frame_grant), 0) /* a long get may be pulled */

enum frame_type {
#define FRAME_TYPE_NUMBER(number, capitals, name, operation_bytes, payload)                        \
    FRAME_##capitals = (number),
    FRAME_TYPE_LIST(FRAME_TYPE_NUMBER)
#undef FRAME_TYPE_NUMBER
};

/** Frames that need no memory at the receiver, because they answer its request. They are sent
 *  without credit, so that neither end waits for the other to match messages. */
static inline bool frame_is_exempt(enum frame_type type)
{
    return type == FRAME_DONE || type == FRAME_RESULT || type == FRAME_REPLY || type == FRAME_GRANT;
}

/** Flags. A receiver ignores bits of the low byte that it does not know, and drops a frame that
 *  has an unknown bit of the high byte. */
enum frame_flag {
    FRAME_ACK_REQUEST = 1 << 0,   /**< acknowledge without delay (frame_asks_now()) */
    FRAME_RETRANSMITTED = 1 << 2, /**< for observers; no effect */
    FRAME_LEAVING = 1 << 3,       /**< not in sequenced frames: the sender's application receives no
                                       more messages than it has answered before `sequence` */
    FRAME_CHECKED = 1 << 8,       /**< `checksum` is one; not in a frame with a seal */
};

struct frame_header {
    uint8_t version_words; /**< version << 4 | length of this header in 4-byte words */
    uint8_t type;          /**< enum frame_type */
    le16 flags;            /**< enum frame_flag */
    le16 destination;      /**< endpoint number on the receiving node */
    le16 source;           /**< endpoint number on the sending node */
    le32 key;              /**< chosen by the receiver of this frame; 0 on CONNECT */
    le32 sequence;         /**< of a sequenced frame; else the next one to be sent first */
    le32 acknowledgement;  /**< the sequence that the sender of this frame expects next */
    le16 credit;           /**< low 16 bits of the first sequence that may not be sent yet */
    le16 payload_bytes;    /**< after the operation header */
    le32 checksum;         /**< with FRAME_CHECKED (checksum.h); else 0, and ignored on receipt */
};
static_assert(sizeof(struct frame_header) == 28, "docs/PROTOCOL.md");

/** Proves that the frame is from the other end of the connection, unaltered, and new
 * (route/seal.h). It follows the frame's header, whose length includes it. CONNECT, ACCEPT and
 * RESET have none. */
struct frame_seal {
    le64 counter; /**< rises with each frame that its sender seals; its highest bit: enum
                       frame_seal_secret */
    uint8_t tag[16];
};
static_assert(sizeof(struct frame_seal) == 24, "docs/PROTOCOL.md");

/** The secret from which the key of a seal is derived. */
enum frame_seal_secret {
    FRAME_SEAL_RECEIVER = 0, /**< of the end to which the frame goes */
    FRAME_SEAL_SENDER = 1,   /**< of its sender, which does not know the other */
};

#define FRAME_NONCE_BYTES 16
#define FRAME_PROOF_BYTES 16
#define FRAME_PLACE_BYTES 128

struct frame_connect {
    le64 incarnation;          /**< of the sender's endpoint: new at each open */
    le64 expected_incarnation; /**< of the endpoint that is asked */
    le32 key;                  /**< for `key` of the receiver's frames from now on */
    le32 echoed_key;           /**< ACCEPT: `key` of the CONNECT that it answers; CONNECT: 0 */
    le32 features;             /**< enum frame_feature: offered (CONNECT), chosen (ACCEPT) */
    le16 frame_bytes;          /**< longest DATA of the connection, header included: asked for
                                    (CONNECT), or agreed on (ACCEPT) */
    le16 reserved;             /**< 0; ignored on receipt */
    le64 job_key;              /**< the same at both ends */
    uint8_t nonce[FRAME_NONCE_BYTES]; /**< random, the sender's for this connection */
    uint8_t proof[FRAME_PROOF_BYTES]; /**< that the sender knows the secret of the end that was
                                           asked (route/proof.h) */
    uint8_t
        place[FRAME_PLACE_BYTES]; /**< the address of the sender's endpoint without its secret */
};
static_assert(sizeof(struct frame_connect) == 200, "docs/PROTOCOL.md");

/** Optional features, used if both ends offer them. Unknown bits are not chosen. */
enum frame_feature {
    FRAME_FEATURE_SELECTIVE = 1 << 0, /**< receivers keep early frames; without it: go-back-N */
    FRAME_FEATURE_REMOTE = 1 << 1,    /**< remote memory: PUT to GRANT are understood */
    FRAME_FEATURE_SEAL = 1 << 2, /**< CONNECT: seals are understood; ACCEPT: frames have them */
    FRAME_FEATURE_SEAL_WANTED = 1 << 3, /**< CONNECT: frames must have seals */
    /** Frames over lanes without a checksum of their own have one (checksum.h), unless they are
     *  sealed. */
    FRAME_FEATURE_CHECKSUM = 1 << 4,
    /** The kernel proves that the process lives, at TCP ports with the numbers of its UDP ports. */
    FRAME_FEATURE_WITNESS = 1 << 5,
};

struct frame_reset {
    le32 echoed_key; /**< `key` of the frame that is refused (of a CONNECT: the key in its body) */
    le32 reason;     /**< enum frame_reset_reason; unknown values mean "refused" */
};
static_assert(sizeof(struct frame_reset) == 8, "docs/PROTOCOL.md");

enum frame_reset_reason {
    FRAME_RESET_UNKNOWN = 1, /**< no such connection: the endpoint was restarted or gave up */
    /* 2 was, until version 2 of the protocol: another incarnation was meant. */
    FRAME_RESET_FULL = 3,     /**< the endpoint knows as many peers as it can */
    FRAME_RESET_PROTOCOL = 4, /**< the connection broke a rule */
    FRAME_RESET_JOB = 5,      /**< the endpoint has another job key */
    FRAME_RESET_SEAL = 6,     /**< one end requires seals, the other does not support them */
};

struct frame_probe {
    le32 number; /**< counts the PROBEs of a connection from 1 on */
};
static_assert(sizeof(struct frame_probe) == 4, "docs/PROTOCOL.md");

struct frame_challenge {
    le64 number; /**< random, never 0; known only to receivers of that way's frames */
};
static_assert(sizeof(struct frame_challenge) == 8, "docs/PROTOCOL.md");

/** Sequences covered by one SACK. */
#define FRAME_SACK_FRAMES 256

struct frame_sack {
    le32 upto;  /**< the first sequence of which the receiver knows nothing */
    le32 probe; /**< number of the latest PROBE that has come; 0: none has */
    uint8_t received[FRAME_SACK_FRAMES / 8]; /**< bit i: sequence acknowledgement + 1 + i is here */
};
static_assert(sizeof(struct frame_sack) == 40, "docs/PROTOCOL.md");

struct frame_eager {
    le64 tag;
    le32 immediate;
    le32 message_bytes; /**< whole length; what is not in this frame follows in FRAGMENTs */
    le16 message;       /**< identifies the message in its FRAGMENTs; unique until all have come */
};
static_assert(sizeof(struct frame_header) + sizeof(struct frame_eager) == FRAME_PADDED_BYTES,
              "a 0-byte message is one minimum Ethernet frame");

struct frame_fragment {
    le16 message;
    le16 reserved; /**< 0; ignored on receipt */
    le64 offset;   /**< of the payload in the message */
};
static_assert(sizeof(struct frame_fragment) == 12, "docs/PROTOCOL.md");

struct frame_announce {
    le64 tag;
    le32 immediate;
    le64 message_bytes;
    le64 address;       /**< where it lies in the sender's memory, for a peer on its host; or 0 */
    le32 message;       /**< identifies it in PULL, DATA and DONE; not reused for long */
    le32 unasked_bytes; /**< length of its beginning that is sent without a PULL, ... */
    le16 segment_bytes; /**< payload of each DATA frame but the last */
    uint8_t lane_kind;  /**< ... over the lane of this kind, enum lane_kind (0: none are), ... */
    uint8_t lane_rail;  /**< ... and rail */
};
static_assert(sizeof(struct frame_announce) == 40, "docs/PROTOCOL.md");

struct frame_pull {
    le32 message;      /**< as announced */
    uint8_t lane_kind; /**< over which the data shall come: enum lane_kind */
    uint8_t lane_rail;
    le16 more;   /**< whole blocks wanted after that one: < FRAME_PULL_BLOCKS_MAX */
    le64 offset; /**< of the first segment; a multiple of segment_bytes */
    le64 wanted; /**< bit i: the segment at offset + i * segment_bytes */
};
static_assert(sizeof(struct frame_pull) == 24, "docs/PROTOCOL.md");

#define FRAME_PULL_BLOCKS_MAX 16 /**< of one PULL */

/** The whole header of DATA, in place of struct frame_header. The first two fields, destination and
 *  key are where every frame has them. */
struct frame_data {
    uint8_t version_words; /**< FRAME_VERSION << 4 | 4 */
    uint8_t type;          /**< FRAME_DATA */
    le16 segment_low;      /**< number of the segment, from 0 on: frame_data_segment() */
    le16 destination;
    le16 segment_high;
    le32 key;
    le32 message; /**< as announced */
};
static_assert(sizeof(struct frame_data) == 16, "docs/PROTOCOL.md");
static_assert(offsetof(struct frame_data, type) == offsetof(struct frame_header, type) &&
                  offsetof(struct frame_data, destination) ==
                      offsetof(struct frame_header, destination) &&
                  offsetof(struct frame_data, key) == offsetof(struct frame_header, key),
              "docs/PROTOCOL.md");

/** Which segment of its message the payload is. */
static inline uint32_t frame_data_segment(const struct frame_data *data)
{
    return from_le16(data->segment_low) | (uint32_t)from_le16(data->segment_high) << 16;
}

static inline void frame_data_set_segment(struct frame_data *data, uint32_t segment)
{
    data->segment_low = to_le16((uint16_t)segment);
    data->segment_high = to_le16((uint16_t)(segment >> 16));
}

/** One message in the payload of a BUNDLE; its data follows, and then the next one. */
struct frame_bundled {
    le64 tag;
    le32 immediate;
    le16 bytes; /**< of data */
};
static_assert(sizeof(struct frame_bundled) == 14, "docs/PROTOCOL.md");

struct frame_done {
    le32 message; /**< as announced, offered or granted */
    le32 status;  /**< of an offered put: enum frame_status; else 0, ignored on receipt */
};
static_assert(sizeof(struct frame_done) == 8, "docs/PROTOCOL.md");

/** How a request for remote memory ended. Unknown values mean "refused". */
enum frame_status {
    FRAME_STATUS_OK = 0,
    /** No memory has this key (any more), or does not allow that, or does not contain all of it.
     *  One status for all, so that a guesser learns nothing. 2 is reserved. */
    FRAME_STATUS_REFUSED = 1,
    FRAME_STATUS_OPERATION = 3, /**< no such atomic operation on that type */
};

enum frame_put_flag {
    FRAME_PUT_NOTIFY = 1 << 0, /**< the target's application is told, and gets `immediate` */
};

struct frame_put {
    le64 key;     /**< of the memory */
    le64 address; /**< of the put's first byte in that memory */
    le32 request; /**< identifies the operation in its RESULT */
    le32 immediate;
    le32 bytes;  /**< of the whole put; what is not in this frame follows in others */
    le32 offset; /**< of the payload in the put */
    le16 flags;  /**< enum frame_put_flag; the same in each; unknown bits are ignored */
    le16 reserved;
};
static_assert(sizeof(struct frame_put) == 36, "docs/PROTOCOL.md");

struct frame_offer {
    le64 key;
    le64 remote_address; /**< in the memory with that key */
    le64 bytes;
    le64 address; /**< where it lies in the initiator's memory, for a peer on its host; or 0 */
    le32 message; /**< names it in PULL, DATA and DONE */
    le32 immediate;
    le32 unasked_bytes; /**< this and the next three: as in frame_announce */
    le16 segment_bytes;
    uint8_t lane_kind;
    uint8_t lane_rail;
    le16 flags; /**< enum frame_put_flag; unknown bits are ignored */
    le16 reserved;
};
static_assert(sizeof(struct frame_offer) == 52, "docs/PROTOCOL.md");

struct frame_get {
    le64 key;
    le64 address;
    le64 bytes;
    le32 request; /**< identifies the operation in RESULT, REPLY and GRANT */
    le32 reserved;
};
static_assert(sizeof(struct frame_get) == 32, "docs/PROTOCOL.md");

enum frame_atomic_flag {
    FRAME_ATOMIC_FETCH = 1 << 0, /**< the old values are wanted, in REPLY */
};

struct frame_atomic {
    le64 key;
    le64 address;
    le32 request;
    le16 count;        /**< of elements */
    uint8_t operation; /**< enum beowire_atomic_operation */
    uint8_t type;      /**< enum beowire_atomic_type */
    le16 flags;        /**< enum frame_atomic_flag; unknown bits are ignored */
    le16 reserved;
};
static_assert(sizeof(struct frame_atomic) == 28, "docs/PROTOCOL.md");

/** One of those in the payload of a RESULT. */
struct frame_result {
    le32 request;
    le32 status; /**< enum frame_status */
};
static_assert(sizeof(struct frame_result) == 8, "docs/PROTOCOL.md");

struct frame_reply {
    le32 request;
    le32 offset; /**< of the payload in what was asked for */
};
static_assert(sizeof(struct frame_reply) == 8, "docs/PROTOCOL.md");

struct frame_grant {
    le64 address; /**< where it lies in the sender's memory, for a peer on its host; or 0 */
    le32 request;
    le32 message;       /**< names it in PULL, DATA and DONE */
    le32 unasked_bytes; /**< this and the next three: as in frame_announce */
    le16 segment_bytes;
    uint8_t lane_kind;
    uint8_t lane_rail;
};
static_assert(sizeof(struct frame_grant) == 24, "docs/PROTOCOL.md");

/** Longest header and operation header together. */
#define FRAME_HEAD_BYTES_MAX (sizeof(struct frame_header) + sizeof(struct frame_connect))

/** The same of sequenced frames, which are kept until acknowledged. */
#define FRAME_SEQUENCED_HEAD_BYTES_MAX (sizeof(struct frame_header) + 64)

/** A lane has to carry frames of more than this: every head, and some data. */
#define FRAME_BYTES_MIN 256

/** No frame is longer. */
#define FRAME_BYTES_MAX 65535

/** A frame that has been checked, in host order. Pointers are into the frame. Of DATA, flags,
 * source, sequence, acknowledgement and credit are 0: it has none; and to its payload belongs what
 * Ethernet has padded it with (frame_data_has()). */
struct frame {
    bool tacit; /**< says nothing of its sender: no source, acknowledgement or credit; DATA does not
                 */
    enum frame_type type;
    uint16_t flags;
    uint16_t destination;
    uint16_t source;
    uint32_t key;
    uint32_t sequence;
    uint32_t acknowledgement;
    uint16_t credit;
    uint32_t payload_bytes;
    const uint8_t *payload;
    const struct frame_seal *seal; /**< NULL: it has none */
    const le32 *checksum;          /**< NULL: it has none; else not compared yet (checksum.h) */
    union {
        const struct frame_connect *connect;     /**< CONNECT, ACCEPT */
        const struct frame_reset *reset;         /**< RESET */
        const struct frame_probe *probe;         /**< PROBE */
        const struct frame_sack *sack;           /**< SACK */
        const struct frame_challenge *challenge; /**< CHALLENGE, RESPONSE */
        const struct frame_eager *eager;         /**< EAGER */
        const struct frame_fragment *fragment;   /**< FRAGMENT */
        const struct frame_announce *announce;   /**< ANNOUNCE */
        const struct frame_done *done;           /**< DONE */
        const struct frame_pull *pull;           /**< PULL */
        const struct frame_data *data;           /**< DATA */
        const struct frame_put *put;             /**< PUT */
        const struct frame_offer *offer;         /**< OFFER */
        const struct frame_get *get;             /**< GET */
        const struct frame_atomic *atomic;       /**< ATOMIC */
        const struct frame_reply *reply;         /**< REPLY */
        const struct frame_grant *grant;         /**< GRANT */
    };
};

/** Is it the first frame of a message that FRAGMENTs go on with? */
static inline bool frame_begins_message(const struct frame *frame)
{
    return frame->type == FRAME_EAGER &&
           frame->payload_bytes < from_le32(frame->eager->message_bytes);
}

/** Is an acknowledgement asked for when this has come? A first frame asks for that of the last. */
static inline bool frame_asks_now(const struct frame *frame)
{
    return (frame->flags & FRAME_ACK_REQUEST) != 0 && !frame_begins_message(frame);
}

/** Why a frame was not accepted; each has a counter. */
enum frame_verdict {
    FRAME_OK,
    FRAME_BAD_VERSION, /**< another version of the protocol, or a header of unknown length */
    FRAME_BAD_TYPE,    /**< a type that we do not know */
    FRAME_BAD_FLAGS,   /**< a flag that must be understood, and is not */
    FRAME_BAD_LENGTH, /**< shorter than it says, or longer than it says and than padding explains */
    FRAME_BAD_FIELD,  /**< a field breaks the rules of its type */
    FRAME_VERDICTS,
};

/** Checks `bytes` bytes at `data` (without the lane's envelope) and fills `frame`.
 *  `data` needs no alignment and has to outlive the use of `frame`'s pointers. */
enum frame_verdict frame_decode(const uint8_t *data, size_t bytes, struct frame *frame);

/** The header of DATA, if these are the first bytes of such a frame, sealed or not, or NULL;
 * nothing else is checked. */
static inline const struct frame_data *frame_peek_data(const uint8_t *data, size_t bytes)
{
    return bytes >= sizeof(struct frame_data) && data[0] >> 4 == FRAME_VERSION &&
                   data[offsetof(struct frame_data, type)] == FRAME_DATA
               ? (const struct frame_data *)(const void *)data
               : NULL;
}

/** The headers of a frame without a seal, as they were given to frame_decode(); not for DATA. */
static inline const uint8_t *frame_begin(const struct frame *frame)
{
    return (const uint8_t *)frame->connect - sizeof(struct frame_header);
}

/** Copies the headers of a frame, without its seal; not for DATA.
 *  @param head gets frame_head_length() bytes */
void frame_copy_head(const struct frame *frame, uint8_t *head);

/** Says in the header of DATA that a checksum follows it. */
static inline void frame_data_has_checksum(struct frame_data *data)
{
    data->version_words = FRAME_VERSION << 4 | (sizeof *data + sizeof(le32)) / 4;
}

/** Copies a header to where there is room for a seal behind it, and says there that there is one.
 *  @param head what was encoded here, a header; its operation header is not copied
 *  @return where the seal belongs, behind the header */
struct frame_seal *frame_copy_for_seal(uint8_t *copy, const uint8_t *head);

/** Bytes of the header with which frames of this type begin. */
static inline size_t frame_header_bytes(enum frame_type type)
{
    return type == FRAME_DATA ? sizeof(struct frame_data) : sizeof(struct frame_header);
}

/** The name of a type, in lower case, as counters have it; NULL for one that this version does not
 *  know. */
const char *frame_type_name(unsigned type);

/** The type of a frame that was encoded here. */
static inline unsigned frame_type_of(const uint8_t *data)
{
    return data[offsetof(struct frame_header, type)] % FRAME_TYPES;
}

/** Is it of a type that has no seal: part of what makes a connection, or sent by who has none? */
static inline bool frame_is_never_sealed(unsigned type)
{
    return type == FRAME_CONNECT || type == FRAME_ACCEPT || type == FRAME_RESET;
}

/** What a frame that was encoded here says of its payload's length; not DATA, which says nothing.
 */
static inline uint32_t frame_payload_bytes(const uint8_t *data)
{
    return from_le16(((const struct frame_header *)(const void *)data)->payload_bytes);
}

/** Bytes of the operation header of a type that this version sends; 0 for DATA, and for one that it
 *  does not know. */
size_t frame_operation_bytes(enum frame_type type);

/** Bytes of all headers of a frame of this type. */
static inline size_t frame_head_bytes(enum frame_type type)
{
    return type == FRAME_DATA ? sizeof(struct frame_data)
                              : sizeof(struct frame_header) + frame_operation_bytes(type);
}

/** Bytes of a frame's headers, without the seal. Its payload follows them, or lies elsewhere
 *  (lane.h). */
static inline uint32_t frame_head_length(const struct frame *frame)
{
    return (uint32_t)frame_head_bytes(frame->type);
}

/** Bytes of the whole frame, without padding and seal. */
static inline uint32_t frame_length(const struct frame *frame)
{
    return frame_head_length(frame) + frame->payload_bytes;
}

/** Is the payload of this DATA `bytes` bytes, and perhaps padding after them? Only who knows the
 *  message can tell: the frame does not say how long it is. */
static inline bool frame_data_has(const struct frame *frame, uint64_t bytes)
{
    return frame->payload_bytes == bytes ||
           (frame->payload_bytes > bytes && frame_length(frame) <= FRAME_PADDED_BYTES);
}

/** What goes into a header when it is built; the rest is stamped when the frame leaves. */
struct frame_fields {
    enum frame_type type;
    uint16_t destination;
    uint16_t source;
    uint32_t key;
    uint32_t sequence;
    uint16_t payload_bytes;
};

/** Writes a header at `data` (28 bytes); flags, acknowledgement and credit are 0. Not for DATA. */
void frame_encode(uint8_t *data, const struct frame_fields *fields);

/** The header of DATA of this message; its segment is 0. */
struct frame_data frame_encode_data(uint16_t destination, uint32_t key, uint32_t message);

/** Writes what is known only when the frame leaves: flags are added to those set before. */
static inline void frame_stamp(uint8_t *data, uint16_t flags, uint32_t acknowledgement,
                               uint16_t credit)
{
    struct frame_header *header = (struct frame_header *)(void *)data;

    header->flags = to_le16((uint16_t)(from_le16(header->flags) | flags));
    header->acknowledgement = to_le32(acknowledgement);
    header->credit = to_le16(credit);
}

/** Is `a` before `b` in 32-bit sequence arithmetic (RFC 1982)? */
static inline bool sequence_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

#endif /* BEOWIRE_FRAME_FRAME_H */
