/* SPDX-License-Identifier: BSD-3-Clause */
/* docs/protocol-examples.txt: endpoint 815 asks 4711 for a connection, and sends. */
#include "frame_samples.h"

#include "frame/checksum.h"
#include "lane/tso/tso_head.h"
#include "route/address.h"
#include "route/proof.h"
#include "route/seal.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ASKER 815
#define ASKED 4711
#define ASKER_KEY 0x11223344 /* chosen by it, so that the other end puts it into its frames */
#define ASKED_KEY 0x55667788
#define MESSAGE 0x00050006
#define JOB_KEY 0x3132333435363738
#define DATA_BYTES 1472
#define FIRST_CREDIT 32
#define ROW_BYTES 16
#define GROUP_BYTES 4

static const char asker_nonce[] = "nonce of asker 1";
static const char asked_nonce[] = "nonce of asked 2";

/** As short as a segment may be. */
static const char segment[] = "a segment has 64 bytes at least, so this is the shortest of them";

/** An address with one rail, whose secret counts on from `first`. */
static struct beowire_address address_of(uint16_t number, uint8_t first, uint8_t host)
{
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .rails = 1,
        .endpoint = to_le16(number),
        .ethertype = to_le16(0x88B5),
        .rail = {{.mac = {2, 0, 0, 0, 0, host},
                  .port = to_le16((uint16_t)(40000 + host)),
                  .ip = {[10] = 0xFF, [11] = 0xFF, [12] = 10, [13] = 77, [14] = 0, [15] = host}}},
    };
    struct beowire_address address;

    for (unsigned i = 0; i < sizeof layout.secret; i++) {
        layout.secret[i] = (uint8_t)(first + i);
    }
    layout.incarnation = to_le64(proof_incarnation(layout.secret));
    memcpy(address.bytes, &layout, sizeof layout);
    return address;
}

/** Prints a block of the document: a line that says what it is, and the bytes. Rows of zeros are
 * left out, but for the last row, which shows the length. */
static void dump(const char *what, const uint8_t *bytes, size_t count)
{
    static const uint8_t zeros[ROW_BYTES];

    printf("%s\n", what);
    for (size_t row = 0; row < count; row += ROW_BYTES) {
        size_t end = row + ROW_BYTES < count ? row + ROW_BYTES : count;

        if (end < count && memcmp(bytes + row, zeros, ROW_BYTES) == 0) {
            continue;
        }
        printf("%4zu ", row);
        for (size_t at = row; at < end; at++) {
            printf("%s%02x", at % GROUP_BYTES == 0 ? " " : "", bytes[at]);
        }
        printf("\n");
    }
    printf("\n");
}

/** @return is it an address in all its forms? */
static bool print_address(const struct beowire_address *address)
{
    char text[BEOWIRE_ADDRESS_TEXT_BYTES];
    uint8_t form[BEOWIRE_ADDRESS_SHORT_BYTES];

    if (beowire_address_format(address, text, sizeof text) != 0 ||
        beowire_address_shorten(address, form) != 0) {
        return false;
    }
    dump("the address of 4711: its place, and from 128 on its secret", address->bytes,
         sizeof address->bytes);
    printf("the same as text (one line)\n");
    for (size_t at = 0; at < strlen(text); at += 80) {
        printf("%.80s\n", text + at);
    }
    printf("\n");
    dump("the same in its short form", form, sizeof form);
    return true;
}

/** Begins a frame of the connection. */
static void begin_frame(struct sample *sample, const struct frame_fields *fields, uint16_t flags,
                        uint32_t acknowledgement, uint16_t credit)
{
    *sample =
        (struct sample){.length = (uint32_t)frame_head_bytes(fields->type) + fields->payload_bytes};
    frame_encode(sample->bytes, fields);
    frame_stamp(sample->bytes, flags, acknowledgement, credit);
}

static void fill_body(struct sample *sample, const struct beowire_address *from,
                      const struct beowire_address *to, uint32_t key, uint32_t echoed_key)
{
    struct frame_connect *body = body_of(sample);
    const char *nonce = echoed_key == 0 ? asker_nonce : asked_nonce;

    *body = (struct frame_connect){
        .incarnation = address_layout(from)->incarnation,
        .expected_incarnation = address_layout(to)->incarnation,
        .key = to_le32(key),
        .echoed_key = to_le32(echoed_key),
        .features = to_le32(FRAME_FEATURE_SELECTIVE | FRAME_FEATURE_REMOTE),
        .frame_bytes = to_le16(DATA_BYTES),
        .job_key = to_le64(JOB_KEY),
    };
    memcpy(body->nonce, nonce, sizeof body->nonce);
    memcpy(body->place, from->bytes, sizeof body->place);
}

/** @return is it a frame, with a proof if it has to have one? */
static bool print_frame(const char *what, const struct sample *sample, const uint8_t *secret,
                        const uint8_t *asked)
{
    struct frame frame;

    dump(what, sample->bytes, sample->length);
    return frame_decode(sample->bytes, sample->length, &frame) == FRAME_OK &&
           (secret == NULL || proof_is_right(&frame, secret, asked));
}

/** CONNECT, and the ACCEPT that answers it. */
static bool print_opening(const struct beowire_address *asker, const struct beowire_address *asked)
{
    const uint8_t *secret = address_layout(asked)->secret;
    struct sample connect;
    struct sample accept;

    begin_frame(&connect,
                &(struct frame_fields){
                    .type = FRAME_CONNECT, .destination = ASKED, .source = ASKER, .key = 0},
                0, 0, FIRST_CREDIT);
    fill_body(&connect, asker, asked, ASKER_KEY, 0);
    proof_write(connect.bytes, secret, NULL);
    const uint8_t *nonce = ((const struct frame_connect *)body_of(&connect))->nonce;

    begin_frame(&accept,
                &(struct frame_fields){
                    .type = FRAME_ACCEPT, .destination = ASKER, .source = ASKED, .key = ASKER_KEY},
                0, 0, FIRST_CREDIT);
    fill_body(&accept, asked, asker, ASKED_KEY, ASKER_KEY);
    proof_write(accept.bytes, secret, nonce);
    return print_frame("CONNECT, from 815 to 4711 (zeros follow)", &connect, secret, NULL) &&
           print_frame("ACCEPT, from 4711 to 815 (zeros follow)", &accept, secret, nonce);
}

static const char hello[] = "hello";

static void make_eager(struct sample *sample)
{
    begin_frame(sample,
                &(struct frame_fields){.type = FRAME_EAGER,
                                       .destination = ASKED,
                                       .source = ASKER,
                                       .key = ASKED_KEY,
                                       .sequence = 0,
                                       .payload_bytes = sizeof hello - 1},
                FRAME_ACK_REQUEST, 0, FIRST_CREDIT);
    *(struct frame_eager *)body_of(sample) = (struct frame_eager){
        .tag = to_le64(42), .immediate = to_le32(43), .message_bytes = to_le32(sizeof hello - 1)};
    memcpy(sample->bytes + frame_head_bytes(FRAME_EAGER), hello, sizeof hello - 1);
}

static bool print_eager(void)
{
    struct sample sample;

    make_eager(&sample);
    return print_frame("EAGER, from 815 to 4711, sequence 0", &sample, NULL, NULL);
}

/** @return is it what the other end takes? */
static bool print_checked(const char *what, const struct sample *sample)
{
    struct frame frame;

    return print_frame(what, sample, NULL, NULL) &&
           frame_decode(sample->bytes, sample->length, &frame) == FRAME_OK &&
           frame.checksum != NULL && checksum_is_right(sample->bytes, &frame);
}

static bool print_checked_eager(void)
{
    struct sample sample;

    make_eager(&sample);
    checksum_write(sample.bytes, sample.length, NULL, 0);
    return print_checked("the same EAGER, with a checksum", &sample);
}

/** @return is it what the other end takes? */
static bool print_sealed(const struct beowire_address *asker, const struct beowire_address *asked)
{
    const struct seal_end from = {.secret = address_layout(asker)->secret,
                                  .nonce = (const uint8_t *)asker_nonce};
    const struct seal_end to = {.secret = address_layout(asked)->secret,
                                .nonce = (const uint8_t *)asked_nonce};
    const size_t behind = frame_head_bytes(FRAME_EAGER) - sizeof(struct frame_header);
    struct sample plain;
    struct sample sealed;
    struct seal sends;
    struct seal receives;
    struct frame frame;

    make_eager(&plain);
    seal_begin(&sends, &from, &to);
    seal_begin(&receives, &to, &from);
    uint8_t *operation = (uint8_t *)(frame_copy_for_seal(sealed.bytes, plain.bytes) + 1);
    memcpy(operation, body_of(&plain), behind + sizeof hello - 1);
    sealed.length = plain.length + (uint32_t)sizeof(struct frame_seal);
    seal_write(&sends, sealed.bytes, operation, behind, operation + behind, sizeof hello - 1);
    return print_frame("the same EAGER, sealed", &sealed, NULL, NULL) &&
           frame_decode(sealed.bytes, sealed.length, &frame) == FRAME_OK &&
           seal_is_right(&receives, &frame);
}

static bool print_sack(void)
{
    struct sample sample;

    begin_frame(&sample,
                &(struct frame_fields){.type = FRAME_SACK,
                                       .destination = ASKER,
                                       .source = ASKED,
                                       .key = ASKER_KEY,
                                       .sequence = 0},
                0, 1, FIRST_CREDIT + 1);
    struct frame_sack *sack = body_of(&sample);
    sack->upto = to_le32(6);
    sack->probe = to_le32(1);
    sack->received[0] = 0x06; /* 3 and 4 */
    return print_frame(
        "SACK, from 4711 to 815: 0, 3 and 4 are here; 1, 2 and, as PROBE 1 says, 5 are not",
        &sample, NULL, NULL);
}

static bool print_data(void)
{
    struct frame_data head = frame_encode_data(ASKED, ASKED_KEY, MESSAGE);
    struct sample sample = {.length = sizeof head + sizeof segment - 1};

    frame_data_set_segment(&head, 0x10002);
    memcpy(sample.bytes, &head, sizeof head);
    memcpy(sample.bytes + sizeof head, segment, sizeof segment - 1);
    return print_frame("DATA, from 815 to 4711: segment 65,538", &sample, NULL, NULL);
}

static bool print_checked_data(void)
{
    struct frame_data head = frame_encode_data(ASKED, ASKED_KEY, MESSAGE);
    const size_t behind = sizeof head + sizeof(le32);
    struct sample sample = {.length = (uint32_t)(behind + sizeof segment - 1)};

    frame_data_set_segment(&head, 0x10002);
    frame_data_has_checksum(&head);
    memcpy(sample.bytes, &head, sizeof head);
    memcpy(sample.bytes + behind, segment, sizeof segment - 1);
    checksum_write(sample.bytes, sample.length, NULL, 0);
    return print_checked("the same segment, with a checksum", &sample);
}

/** The same segment as a network card makes it. */
static bool print_cut(void)
{
    const struct tso_segments segments = {
        .to = {2, 0, 0, 0, 0, 2},
        .from = {2, 0, 0, 0, 0, 1},
        .ethertype = 0x88B5,
        .destination = ASKED,
        .kind = TSO_DATA,
        .key = ASKED_KEY,
        .message = MESSAGE,
        .offset = 0x10002 * (sizeof segment - 1),
        .segment_bytes = sizeof segment - 1,
        .bytes = sizeof segment - 1,
    };
    const size_t headers = sizeof(struct tso_head) - offsetof(struct tso_head, ethernet);
    uint8_t packet[sizeof(struct tso_head) + sizeof segment];
    struct tso_head head;
    struct tso_segments back;

    tso_head_write(&head, &segments);
    memcpy(packet, head.ethernet, headers);
    memcpy(packet + headers, segment, segments.bytes);
    dump("the same segment as a cut frame, with its Ethernet header", packet,
         headers + segments.bytes);
    return tso_head_read(&head, segments.bytes, &back);
}

int write_document(void)
{
    const struct beowire_address asker = address_of(ASKER, 0x00, 1);
    const struct beowire_address asked = address_of(ASKED, 0x10, 2);

    if (!print_address(&asked) || !print_opening(&asker, &asked) || !print_eager() ||
        !print_checked_eager() || !print_sealed(&asker, &asked) || !print_sack() || !print_data() ||
        !print_checked_data() || !print_cut()) {
        (void)fputs("frame_samples: an example of the document is refused\n", stderr);
        return 1;
    }
    return 0;
}
