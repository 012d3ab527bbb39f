/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole endpoint, without its clock, and a peer that says whatever the input says. The input is
 * a script: each step is a frame, a call, or time that passes. Frames are right by default (keys,
 * sequence numbers, the names of messages), so that the script gets deep, and wrong where it says
 * so. A script may begin with who wants frames to be sealed, and one that then says CUTTING has a
 * second lane, which cuts. Whatever happens: no crash, memory and credit in balance, every
 * operation ends at most once, and no message is delivered that was not sent in full, or with other
 * bytes. Nothing comes of frames that are right but for a wrong key or seal, or but for coming from
 * elsewhere, nor of sealed ones that come again.
 */
#include "endpoint_fuzz.h"
#include "endpoint_fuzz_remote.h"
#include "endpoint_fuzz_run.h"
#include "endpoint_fuzz_say.h"
#include "message/state.h"
#include "pull/pull.h"

#define CUTTING 0xFF
#define ENDPOINT_SEALS 0xFE
#define PEER_SEALS 0xFD
#define CHECKING 0xFC
#define STEPS 45
#define FORGED_STEPS 40 /* from this one on, another step follows, whose frame is forged */
#define TIME_STEP 44    /* but here nothing is said: time passes */

/* ---- what the peer says -------------------------------------------------------------------- */

/** What the peer offers of seals, and wants. */
static uint32_t seal_features(const struct fuzz *fuzz, enum frame_type type, uint8_t choice)
{
    if (fuzz->sealing == SEALING_NOBODY || (choice & 4) != 0) {
        return 0;
    }
    return fuzz->sealing == SEALING_PEER && type == FRAME_CONNECT
               ? (uint32_t)FRAME_FEATURE_SEAL | (uint32_t)FRAME_FEATURE_SEAL_WANTED
               : (uint32_t)FRAME_FEATURE_SEAL;
}

static void say_connect(struct fuzz *fuzz, enum frame_type type)
{
    uint8_t choice = take(fuzz);
    uint32_t longest = FRAME_BYTES_MIN + 1 + choice % (FRAME_BYTES - FRAME_BYTES_MIN);
    struct frame_connect body = {
        .incarnation = address_layout(&fuzz->peer_address)->incarnation,
        .expected_incarnation = to_le64(fuzz->core->incarnation),
        .key = to_le32(0x77),
        .echoed_key = to_le32(type == FRAME_ACCEPT ? fuzz->own_key : 0),
        .frame_bytes = to_le16((uint16_t)longest),
    };
    uint8_t credit = take(fuzz);

    body.features = to_le32(((credit & 1) != 0 ? 0 : FRAME_FEATURE_SELECTIVE) |
                            ((credit & 2) != 0 ? 0 : FRAME_FEATURE_REMOTE) |
                            ((credit & 8) != 0 || !fuzz->checks ? 0 : FRAME_FEATURE_CHECKSUM) |
                            seal_features(fuzz, type, credit));
    memset(body.nonce, 1 + choice, sizeof body.nonce);
    memcpy(body.place, fuzz->peer_address.bytes, sizeof body.place);
    struct says says = usual(fuzz, type, &body);
    says.key = type == FRAME_ACCEPT ? fuzz->own_key : 0;
    says.credit = credit;
    says.padded_bytes = longest - choice / 255u; /* or one byte too short */
    (void)say(fuzz, &says);
}

/** Begins a message: in whole or in part. */
static void say_eager(struct fuzz *fuzz, bool whole)
{
    uint32_t message = fuzz->begun_count;
    uint8_t name = take(fuzz) % NAMES;
    uint64_t bytes = take_bytes(fuzz);
    uint64_t room = room_beside_seal(fuzz->core, FRAME_BYTES - 46);
    uint64_t part = whole ? bytes : 1 + take_16(fuzz) % room;

    part = part < bytes ? part : bytes;
    part = part < room ? part : room;
    const struct frame_eager body = {.tag = to_le64(take(fuzz) % 2),
                                     .immediate = to_le32(message),
                                     .message_bytes = to_le32((uint32_t)bytes),
                                     .message = to_le16(name)};
    struct says says = usual(fuzz, FRAME_EAGER, &body);
    says.payload_bytes = (uint32_t)part;
    says.message = message;
    says.effect = (struct effect){
        .some = true, .names = part < bytes, .name = name, .message = message, .sent = part};
    fuzz->begun[message] =
        (struct begun){.bytes = bytes,
                       .said = part,
                       .delivered = fuzz->forgery != FORGED_NOT, /* it may never be */
                       .cut_bytes = TSO_MESSAGE_HEAD_BYTES + (uint32_t)part};
    fuzz->last_eager = message;
    fuzz->begun_count++;
    (void)say(fuzz, &says);
}

static void say_announce(struct fuzz *fuzz)
{
    uint32_t message = fuzz->begun_count;
    uint8_t choice = take(fuzz);
    uint64_t bytes = take_bytes(fuzz);
    uint32_t segment_bytes = SEGMENT_BYTES_MIN + choice % 86u; /* the longest breaks a rule */
    const struct frame_announce body = {
        .tag = to_le64(take(fuzz) % 2),
        .immediate = to_le32(message),
        .message_bytes = to_le64(bytes),
        .address = to_le64(choice), /* nobody shares memory with the peer */
        .message = to_le32(ANNOUNCED + ((choice & 0x80) != 0 ? message - 1 : message)),
        .unasked_bytes = to_le32((choice & 0x40) != 0 ? take_16(fuzz) : 0),
        .segment_bytes = to_le16((uint16_t)segment_bytes),
        .lane_kind = (uint8_t)((choice & 0x20) != 0 ? LANE_SIM : choice % 8),
        .lane_rail = choice & 1};
    struct says says = usual(fuzz, FRAME_ANNOUNCE, &body);
    uint32_t tail_bytes = pull_tail_bytes(bytes, segment_bytes);

    if ((choice & 0x10) != 0) {
        says.payload_bytes = tail_bytes;
        says.message = message;
        says.offset = bytes - tail_bytes;
    }
    if ((choice & 0x80) != 0 && message > 0 && fuzz->forgery == FORGED_NOT) {
        fuzz->begun[message - 1].segment_bytes = 0; /* no more is said under its name */
    }
    fuzz->begun[message] = (struct begun){
        .bytes = bytes, .delivered = fuzz->forgery != FORGED_NOT, .segment_bytes = segment_bytes};
    if (says.payload_bytes > 0 && fuzz->forgery == FORGED_NOT) {
        note_segment(&fuzz->begun[message], says.offset / segment_bytes);
    }
    says.effect =
        (struct effect){.some = true, .message = message, .sent = fuzz->begun[message].sent};
    fuzz->last_announced = message;
    fuzz->begun_count++;
    (void)say(fuzz, &says);
}

/** A segment of an announced message; asked for or not. */
static void say_data(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    uint32_t message = (choice & 0x80) != 0 ? choice % MESSAGES : fuzz->last_announced;
    struct begun *begun = &fuzz->begun[message];
    uint32_t segment_bytes = begun->segment_bytes != 0 ? begun->segment_bytes : SEGMENT_BYTES_MIN;
    uint64_t segments = (begun->bytes + segment_bytes - 1) / segment_bytes;
    uint64_t segment = (choice & 0x40) != 0 || segments == 0 ? take(fuzz) : begun->said % segments;
    uint64_t offset = segment * segment_bytes;
    uint64_t left = offset < begun->bytes ? begun->bytes - offset : 1;
    uint64_t part = left < segment_bytes ? left : segment_bytes;
    const uint64_t room = room_beside_seal(fuzz->core, FRAME_BYTES) - sizeof(struct frame_data);

    part = (choice & 0x30) == 0x20 ? 1 + take(fuzz) : part;
    part = part < room ? part : room;
    const uint64_t padded = FRAME_PADDED_BYTES - sizeof(struct frame_data) -
                            (has_checksums(fuzz->core) ? sizeof(le32) : 0);
    if ((choice & 0x30) == 0x30 && part < padded) {
        part = padded;
    }
    struct frame_data body =
        frame_encode_data(CLUSTER_ENDPOINT, fuzz->own_key, ANNOUNCED + message);
    frame_data_set_segment(&body, (uint32_t)segment);
    struct says says = usual(fuzz, FRAME_DATA, &body);
    says.payload_bytes = (uint32_t)part;
    says.message = message;
    says.offset = offset;
    if (begun->segment_bytes != 0 && fuzz->forgery == FORGED_NOT) {
        /* else it came otherwise, or not at all */
        note_segment(begun, segment);
    }
    (void)say(fuzz, &says);
}

static void say_fragment(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    uint8_t name = choice % NAMES;
    uint32_t message = fuzz->named[name];
    struct begun *begun = &fuzz->begun[message];
    uint64_t offset = begun->said;
    uint64_t room = room_beside_seal(fuzz->core, FRAME_BYTES - 40);
    uint64_t left = begun->bytes > offset ? begun->bytes - offset : 0;
    uint64_t part = (choice & 0x40) != 0 ? 1 + take_16(fuzz) % room : room;

    part = (choice & 0x20) == 0 && part > left ? left : part;
    part = part > 0 ? part : 1;
    offset += (choice & 0x10) != 0 ? take(fuzz) : 0;
    const struct frame_fragment body = {.message = to_le16(name), .offset = to_le64(offset)};
    struct says says = usual(fuzz, FRAME_FRAGMENT, &body);
    says.payload_bytes = (uint32_t)part;
    says.message = message;
    says.offset = offset;
    says.effect = (struct effect){
        .some = true, .continues = true, .name = name, .message = message, .sent = offset + part};
    if (say(fuzz, &says)) {
        begun->said = offset + part;
    }
}

/** The name of the endpoint's last announced message, or not. */
static le32 some_name(const struct fuzz *fuzz, uint8_t choice)
{
    return to_le32((choice & 0x40) != 0 ? choice % 20 | (uint32_t)choice << 16 : fuzz->announced);
}

static void say_pull(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    uint64_t segment = take(fuzz);
    uint64_t offset = segment * fuzz->announced_segment + ((choice & 0x20) != 0 ? 1 : 0);
    uint64_t wanted = (choice & 0x10) != 0 ? UINT64_MAX : (uint64_t)take(fuzz) + 1;
    const struct frame_pull body = {
        .message = some_name(fuzz, choice),
        .lane_kind = (uint8_t)((choice & 8) != 0 ? choice : LANE_SIM),
        .lane_rail = (choice & 7) == 7,
        .offset = to_le64((choice & 0x80) != 0 ? UINT64_MAX - offset : offset),
        .wanted = to_le64(wanted),
        .more = to_le16((choice & 0x40) != 0 ? (uint16_t)segment : 0)};
    struct says says = usual(fuzz, FRAME_PULL, &body);

    (void)say(fuzz, &says);
}

static void say_done(struct fuzz *fuzz)
{
    const struct frame_done body = {.message = some_name(fuzz, take(fuzz))};
    struct says says = usual(fuzz, FRAME_DONE, &body);

    (void)say(fuzz, &says);
}

/** Adds a message to a bundle. @return behind it; at the same place: there is no room */
static uint32_t bundle_message(struct fuzz *fuzz, uint8_t *payload, uint32_t at)
{
    const uint32_t room =
        room_beside_seal(fuzz->core, FRAME_BYTES) - (uint32_t)sizeof(struct frame_header);
    uint32_t message = fuzz->begun_count;
    uint8_t choice = take(fuzz);
    uint32_t bytes = choice % 64;
    struct frame_bundled head = {.tag = to_le64(choice >> 7), .immediate = to_le32(message)};

    if (at + sizeof head + bytes > room || message == MESSAGES - 1) {
        return at;
    }
    head.bytes = to_le16((uint16_t)bytes);
    memcpy(payload + at, &head, sizeof head);
    at += (uint32_t)sizeof head;
    for (uint32_t i = 0; i < bytes; i++) {
        payload[at + i] = content(message, i);
    }
    fuzz->begun[message] = (struct begun){.bytes = bytes};
    fuzz->begun_count++;
    return at + bytes;
}

/** Several messages in one frame. If there are too many, or the last is not whole, it breaks a
 *  rule, and none of them may be delivered. */
static void say_bundle(struct fuzz *fuzz)
{
    struct says says = usual(fuzz, FRAME_BUNDLE, NULL);
    uint8_t payload[FRAME_BYTES];
    uint8_t choice = take(fuzz);
    uint32_t first = fuzz->begun_count;
    uint32_t wanted = 1 + choice % (BUNDLE_MESSAGES_MAX + 2u);
    uint32_t count = 0;

    for (uint32_t at = 0; count < wanted; count++) {
        at = bundle_message(fuzz, payload, at);
        if (at == says.payload_bytes) {
            break;
        }
        says.payload_bytes = at;
    }
    bool breaks = count > BUNDLE_MESSAGES_MAX || (choice & 0x80) != 0;
    says.payload_bytes -= choice >> 7;
    for (uint32_t i = 0; i < count; i++) {
        fuzz->begun[first + i].delivered = breaks || fuzz->forgery != FORGED_NOT;
    }
    says.payload = payload;
    if (!breaks) {
        says.effect = (struct effect){.some = true, .message = first, .bundled = count};
    }
    (void)say(fuzz, &says);
}

/** CLOSE, ACK or PROBE. */
static void say_bare(struct fuzz *fuzz, enum frame_type type)
{
    uint8_t choice = take(fuzz);
    const struct frame_probe probe = {.number = to_le32(choice)};
    struct says says = usual(fuzz, type, type == FRAME_PROBE ? &probe : NULL);

    says.flags = choice & 0xF;
    says.credit = (choice & 0x80) != 0 ? (uint16_t)take_16(fuzz) : 64;
    (void)say(fuzz, &says);
}

/** What came and what did not, true or not. */
static void say_sack(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    uint32_t behind = 1 + choice % 16u;
    uint32_t begin = fuzz->highest_sent - behind;
    uint32_t upto = begin + 1 + take(fuzz) % 32u;
    struct frame_sack body = {
        .upto = to_le32(upto),
        .probe = to_le32((uint32_t)peer_of(fuzz)->message.flow.probes - (choice >> 4 & 1))};

    for (uint32_t bit = 0; bit + begin + 1 != upto; bit += 8) {
        uint32_t bits = upto - begin - 1 - bit;
        uint8_t mask = bits >= 8 ? 0xFF : (uint8_t)((1u << bits) - 1);
        body.received[bit / 8] = take(fuzz) & ((choice & 0x40) != 0 ? 0xFF : mask);
        if (bits < 8) {
            break;
        }
    }
    struct says says = usual(fuzz, FRAME_SACK, &body);
    says.behind = behind;
    (void)say(fuzz, &says);
}

static void say_reset(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    const struct frame_reset body = {.echoed_key =
                                         to_le32((choice & 1) != 0 ? 0x77 : fuzz->own_key),
                                     .reason = to_le32(choice >> 1)};
    struct says says = usual(fuzz, FRAME_RESET, &body);

    says.key = 0;
    (void)say(fuzz, &says);
}

/** Asks, or answers what nobody has asked. */
static void say_challenge(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    const struct frame_challenge body = {.number = to_le64(choice)};
    struct says says = usual(fuzz, (choice & 1) != 0 ? FRAME_CHALLENGE : FRAME_RESPONSE, &body);

    says.padded_bytes = (choice & 1) != 0 ? choice : 0;
    (void)say(fuzz, &says);
}

/** Could a frame of any bytes be believed? Then nobody knows what it did. */
static bool is_believable(const struct fuzz *fuzz)
{
    struct frame frame;

    return frame_decode(fuzz->frame, fuzz->frame_bytes, &frame) == FRAME_OK &&
           (frame.type == FRAME_CONNECT ||
            (frame.key == fuzz->own_key &&
             (sealed_peer(fuzz->core) == NULL || frame_is_never_sealed(frame.type))));
}

/** Any bytes, of any length up to beyond what the lane carries. */
static void say_anything(struct fuzz *fuzz)
{
    fuzz->frame_bytes = take_16(fuzz) % (2 * FRAME_BYTES);
    fuzz->frame = malloc(fuzz->frame_bytes > 0 ? fuzz->frame_bytes : 1);
    require(fuzz->frame != NULL);
    for (uint32_t i = 0; i < fuzz->frame_bytes; i++) {
        fuzz->frame[i] = take(fuzz);
    }
    fuzz->mangled = fuzz->mangled || is_believable(fuzz);
    settle(fuzz);
}

/* ---- what the application does ------------------------------------------------------------- */

static void post_send(struct fuzz *fuzz, bool inject)
{
    struct core_peer *peer = peer_of(fuzz);
    uint64_t bytes = take_bytes(fuzz);

    (void)(inject ? cluster_inject(&fuzz->cluster, 0, peer, 1, 0, fuzz->send_buffer, bytes)
                  : cluster_send(&fuzz->cluster, 0, peer, 1, 0, fuzz->send_buffer, bytes, NULL));
    settle(fuzz);
}

static void post_receive(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    uint64_t bytes = take_bytes(fuzz);
    struct core_peer *peer = (choice & 1) != 0 ? peer_of(fuzz) : NULL;

    for (size_t slot = 0; slot < OPERATIONS; slot++) {
        if (!fuzz->posted[slot]) {
            fuzz->capacities[slot] = bytes;
            memset(fuzz->buffers[slot] + bytes, 0, bytes_behind(fuzz, slot));
            fuzz->posted[slot] =
                cluster_receive(&fuzz->cluster, 0, peer, choice >> 1 & 1,
                                (choice & 4) != 0 ? UINT64_MAX : 0, fuzz->buffers[slot], bytes,
                                fuzz->buffers[slot]) == 0;
            break;
        }
    }
    settle(fuzz);
}

static void let_time_pass(struct fuzz *fuzz)
{
    static const uint64_t times_ns[] = {1000,     FLOW_ACK_DELAY_NS, FLOW_RTO_MIN_NS,
                                        20000000, FLOW_WATCH_NS,     UINT64_C(6000000000)};

    sim_wire_advance(fuzz->cluster.wire, cluster_now(&fuzz->cluster) + times_ns[take(fuzz) % 6]);
    settle(fuzz);
}

static void carry_out(struct fuzz *fuzz, uint8_t step)
{
    switch (step % FORGED_STEPS) {
    case 0:
        say_connect(fuzz, FRAME_CONNECT);
        break;
    case 1:
        say_connect(fuzz, FRAME_ACCEPT);
        break;
    case 2:
    case 3:
        say_eager(fuzz, true);
        break;
    case 4:
        say_eager(fuzz, false);
        break;
    case 5:
    case 6:
    case 7:
        say_fragment(fuzz);
        break;
    case 8:
        say_announce(fuzz);
        break;
    case 9:
        say_done(fuzz);
        break;
    case 20:
    case 21:
        say_data(fuzz);
        break;
    case 22:
        say_pull(fuzz);
        break;
    case 23:
        say_bundle(fuzz);
        break;
    case 10:
        say_bare(fuzz, FRAME_ACK);
        break;
    case 11:
        say_bare(fuzz, FRAME_PROBE);
        break;
    case 12:
        say_reset(fuzz);
        break;
    case 13:
        if (take(fuzz) % 8 == 7) {
            say_bare(fuzz, FRAME_CLOSE);
        } else {
            say_anything(fuzz);
        }
        break;
    case 14:
        post_send(fuzz, false);
        break;
    case 15:
        post_send(fuzz, true);
        break;
    case 16:
        post_receive(fuzz);
        break;
    case 17:
        say_challenge(fuzz);
        break;
    case 18:
    case 19:
        say_sack(fuzz);
        break;
    case 24:
        say_put(fuzz);
        break;
    case 25:
        say_offer(fuzz);
        break;
    case 26:
        say_get(fuzz);
        break;
    case 27:
        say_atomic(fuzz);
        break;
    case 28:
        say_answer(fuzz);
        break;
    case 29:
    case 30:
        ask_peer(fuzz);
        break;
    case 31:
        change_memory(fuzz);
        break;
    case 32:
    case 33:
    case 34:
    case 35:
        say_run(fuzz);
        break;
    default:
        say_joined(fuzz);
        break;
    }
}

/** An honest peer says what has come, so that all lanes are used. */
static void answer_challenge(struct fuzz *fuzz)
{
    const struct frame_challenge body = {.number = to_le64(fuzz->challenge)};
    const struct says says = usual(fuzz, FRAME_RESPONSE, &body);

    fuzz->challenge = 0;
    fuzz->frame_bytes = (uint32_t)frame_head_bytes(FRAME_RESPONSE);
    fuzz->frame = calloc(1, fuzz->frame_bytes);
    require(fuzz->frame != NULL);
    write_head(fuzz, &says, peer_of(fuzz)->message.flow.expected, fuzz->highest_sent);
    (void)seal_said(fuzz, false);
    settle(fuzz);
}

/** What is wrong with the frame of a step that forges one. */
static enum forgery forgery_of(const struct fuzz *fuzz, uint8_t step)
{
    if (step % 2 != 0) {
        return FORGED_SOURCE;
    }
    return step % 4 != 0 && fuzz->sealing != SEALING_NOBODY ? FORGED_SEAL : FORGED_KEY;
}

static void step(struct fuzz *fuzz)
{
    if (fuzz->challenge != 0) {
        answer_challenge(fuzz);
    }
    uint8_t step = take(fuzz) % STEPS;

    if (step == TIME_STEP) {
        let_time_pass(fuzz);
        return;
    }
    if (step < FORGED_STEPS) {
        carry_out(fuzz, step);
        return;
    }
    settle(fuzz); /* so that all that comes of it can only be the forged frame's doing */
    fuzz->forgery = forgery_of(fuzz, step);
    carry_out(fuzz, take(fuzz));
    fuzz->forgery = FORGED_NOT;
}

/** Is that the first byte of the rest? Then it is taken. */
static bool begins_with(struct fuzz *fuzz, uint8_t byte)
{
    bool found = fuzz->script.left > 0 && *fuzz->script.at == byte;

    if (found) {
        (void)take(fuzz);
    }
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz fuzz;

    fuzz = (struct fuzz){.script = {data, size}};
    if (begins_with(&fuzz, ENDPOINT_SEALS)) {
        fuzz.sealing = SEALING_ENDPOINT;
    } else if (begins_with(&fuzz, PEER_SEALS)) {
        fuzz.sealing = SEALING_PEER;
    }
    fuzz.cuts = begins_with(&fuzz, CUTTING);
    fuzz.checks = begins_with(&fuzz, CHECKING);
    open_fuzz(&fuzz);
    open_memory(&fuzz);
    for (unsigned i = 0; i < STEPS_MAX && fuzz.script.left > 0 && fuzz.begun_count < MESSAGES - 1;
         i++) {
        step(&fuzz);
    }
    /* Silence for long enough: the peer is given up, and what depends on it ends. */
    for (unsigned i = 0; i < 20; i++) {
        sim_wire_advance(fuzz.cluster.wire, cluster_now(&fuzz.cluster) + 1000000000u);
        settle(&fuzz);
    }
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        require(fuzz.core->messages.operations[i].state == OPERATION_FREE);
    }
    check_memory(&fuzz);
    close_fuzz(&fuzz);
    return 0;
}
