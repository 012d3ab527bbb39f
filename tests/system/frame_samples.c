/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_samples: writes a capture (pcap) to standard output that has one frame of each type, made
 * by the code that makes them on the wire: what the dissector says of it must be what is put in
 * here (test_dissector.py). First all as Ethernet frames, then all as UDP datagrams, then trains in
 * one datagram, as a host with segmentation offload captures them: DATA and another, DATA thrice.
 *
 * frame_samples sealed: the same sealed, but for the trains, of which there is one, of another
 * connection: DATA, DATA, FRAGMENT.
 *
 * frame_samples bad: frames that a receiver drops, for each reason that the frame itself gives.
 *
 * frame_samples tso: DATA that network cards cut, which looks like TCP.
 *
 * frame_samples tso_frames: frames and messages that network cards cut, joined and then cut apart.
 *
 * frame_samples document: no capture, but docs/protocol-examples.txt, as text.
 */
#include "frame_samples.h"

#include "frame/address_layout.h"

#include <stdio.h>
#include <string.h>

#define IP_BYTES 20
#define UDP_BYTES 8
#define ACKNOWLEDGEMENT 2000
#define CREDIT 2032

/* ---- the capture ----------------------------------------------------------------------------- */

static void put_16(uint8_t *at, unsigned value) /* as networks have it */
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void write_file_header(void)
{
    const uint32_t header[] = {0xA1B2C3D4, 4u << 16 | 2, 0, 0, 65535, 1 /* Ethernet */};

    (void)fwrite(header, sizeof header, 1, stdout);
}

void write_packet(const uint8_t *packet, uint32_t bytes)
{
    const uint32_t header[] = {1, 0, bytes, bytes};

    (void)fwrite(header, sizeof header, 1, stdout);
    (void)fwrite(packet, bytes, 1, stdout);
}

void write_ethernet(const struct sample *sample)
{
    uint8_t packet[ETHERNET_BYTES + sizeof sample->bytes] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    uint32_t bytes = sample->length < FRAME_PADDED_BYTES ? FRAME_PADDED_BYTES : sample->length;

    put_16(packet + 12, 0x88B5);
    memcpy(packet + ETHERNET_BYTES, sample->bytes, sample->length);
    write_packet(packet, ETHERNET_BYTES + bytes);
}

void write_udp(const struct sample *samples, unsigned count)
{
    uint8_t packet[ETHERNET_BYTES + IP_BYTES + UDP_BYTES + 3 * sizeof samples->bytes] = {2, 0, 0, 0,
                                                                                         0, 2, 2};
    uint32_t payload = 0;
    const uint8_t addresses[] = {10, 77, 0, 1, 10, 77, 0, 2};
    uint8_t *ip = packet + ETHERNET_BYTES;
    uint8_t *udp = ip + IP_BYTES;

    put_16(packet + 12, 0x0800);
    ip[0] = 0x45;
    ip[8] = 64;
    ip[9] = 17;
    for (unsigned i = 0; i < count; i++) {
        memcpy(udp + UDP_BYTES + payload, samples[i].bytes, samples[i].length);
        payload += samples[i].length;
    }
    put_16(ip + 2, IP_BYTES + UDP_BYTES + payload);
    memcpy(ip + 12, addresses, sizeof addresses);
    put_16(udp, 40001);
    put_16(udp + 2, 40002);
    put_16(udp + 4, UDP_BYTES + payload);
    write_packet(packet, ETHERNET_BYTES + IP_BYTES + UDP_BYTES + payload);
}

/* ---- frames ---------------------------------------------------------------------------------- */

struct frame_header *header_of(struct sample *sample)
{
    return (struct frame_header *)(void *)sample->bytes;
}

void *body_of(struct sample *sample)
{
    return sample->bytes + sizeof(struct frame_header);
}

void begin(struct sample *sample, enum frame_type type, const char *payload)
{
    size_t bytes = strlen(payload);
    size_t head = sizeof(struct frame_header) + frame_operation_bytes(type);

    *sample = (struct sample){.length = (uint32_t)(head + bytes)};
    frame_encode(sample->bytes, &(struct frame_fields){
                                    .type = type,
                                    .destination = 4711,
                                    .source = 815,
                                    .key = type == FRAME_CONNECT || type == FRAME_RESET ? 0 : KEY,
                                    .sequence = SEQUENCE,
                                    .payload_bytes = (uint16_t)bytes,
                                });
    frame_stamp(sample->bytes, type == FRAME_CLOSE ? FRAME_ACK_REQUEST : 0, ACKNOWLEDGEMENT,
                CREDIT);
    memcpy(sample->bytes + head, payload, bytes);
}

static void fill_connect(struct sample *sample, enum frame_type type)
{
    struct frame_connect *connect = body_of(sample);
    struct address_layout address = {
        .version = ADDRESS_VERSION,
        .rails = 2,
        .endpoint = to_le16(815),
        .ethertype = to_le16(0x88B5),
        .tso_rails = 2,
        .incarnation = to_le64(0x0102030405060708),
        .host = to_le64(0x1112131415161718),
        .process = to_le32(4242),
        .rail = {{.mac = {2, 0, 0, 0, 0, 1},
                  .port = to_le16(40001),
                  .ip = {[10] = 0xFF, [11] = 0xFF, [12] = 10, [13] = 77, [14] = 0, [15] = 1}},
                 {.mac = {2, 0, 0, 0, 1, 1}, .port = to_le16(40003), .ip = {0xFD, [15] = 9}}},
    };

    *connect = (struct frame_connect){
        .incarnation = to_le64(0x0102030405060708),
        .expected_incarnation = to_le64(0x2122232425262728),
        .key = to_le32(0x55667788),
        .echoed_key = to_le32(type == FRAME_ACCEPT ? KEY : 0),
        .features = to_le32(FRAME_FEATURE_SELECTIVE | FRAME_FEATURE_SEAL |
                            (type == FRAME_CONNECT ? FRAME_FEATURE_SEAL_WANTED : 0)),
        .frame_bytes = to_le16(1500),
        .job_key = to_le64(0x3132333435363738),
    };
    memcpy(connect->nonce, "0123456789abcdef", sizeof connect->nonce);
    memcpy(connect->proof, "ABCDEFGHIJKLMNOP", sizeof connect->proof);
    memcpy(connect->place, &address, sizeof connect->place);
}

static void fill_sack(struct sample *sample)
{
    struct frame_sack *sack = body_of(sample);

    sack->upto = to_le32(ACKNOWLEDGEMENT + 11);
    sack->probe = to_le32(3);
    sack->received[0] = 0x07; /* 2001 to 2003 */
    sack->received[1] = 0x02; /* 2010 */
}

static void make_data(struct sample *sample)
{
    const char *payload = "some data, so much that nothing is padded";
    struct frame_data head = frame_encode_data(4711, KEY, 0x00050006);

    frame_data_set_segment(&head, 0x12345);
    *sample = (struct sample){.length = (uint32_t)(sizeof head + strlen(payload))};
    memcpy(sample->bytes, &head, sizeof head);
    memcpy(sample->bytes + sizeof head, payload, strlen(payload));
}

static void make_bundle(struct sample *sample)
{
    char payload[128];
    const char *messages[] = {"one", "", "three"};
    size_t at = 0;

    begin(sample, FRAME_BUNDLE, "");
    for (unsigned i = 0; i < 3; i++) {
        struct frame_bundled bundled = {
            .tag = to_le64(100 + i),
            .immediate = to_le32(200 + i),
            .bytes = to_le16((uint16_t)strlen(messages[i])),
        };
        memcpy(payload + at, &bundled, sizeof bundled);
        at += sizeof bundled;
        memcpy(payload + at, messages[i], strlen(messages[i]));
        at += strlen(messages[i]);
    }
    memcpy(body_of(sample), payload, at);
    header_of(sample)->payload_bytes = to_le16((uint16_t)at);
    sample->length += (uint32_t)at;
}

static void make_result(struct sample *sample)
{
    const struct frame_result results[] = {
        {.request = to_le32(0x00050006), .status = to_le32(FRAME_STATUS_OK)},
        {.request = to_le32(0x00050007), .status = to_le32(FRAME_STATUS_OPERATION)},
    };

    begin(sample, FRAME_RESULT, "0123456789abcdef");
    memcpy(body_of(sample), results, sizeof results);
}

/** Begins a frame whose operation header has the bytes 1, 2, 3, ... */
static void begin_counting(struct sample *sample, enum frame_type type)
{
    begin(sample, type, type == FRAME_ATOMIC || type == FRAME_REPLY ? "operands" : "");
    for (size_t i = 0; i < frame_operation_bytes(type); i++) {
        sample->bytes[sizeof(struct frame_header) + i] = (uint8_t)(i + 1);
    }
}

/** What is put in here by hand belongs into test_dissector.py; a type of which it says nothing has
 *  bytes that count. */
void make(struct sample *sample, enum frame_type type)
{
    switch (type) {
    case FRAME_CONNECT:
    case FRAME_ACCEPT:
        begin(sample, type, "");
        fill_connect(sample, type);
        return;
    case FRAME_RESET:
        begin(sample, type, "");
        *(struct frame_reset *)body_of(sample) =
            (struct frame_reset){.echoed_key = to_le32(KEY), .reason = to_le32(FRAME_RESET_SEAL)};
        return;
    case FRAME_SACK:
        begin(sample, type, "");
        fill_sack(sample);
        return;
    case FRAME_DATA:
        make_data(sample);
        return;
    case FRAME_EAGER:
        begin(sample, type, "hello");
        *(struct frame_eager *)body_of(sample) = (struct frame_eager){
            .tag = to_le64(0x123456789ABCDEF0),
            .immediate = to_le32(0xCAFEF00D),
            .message_bytes = to_le32(3000),
            .message = to_le16(9),
        };
        return;
    case FRAME_FRAGMENT:
        begin(sample, type, "more");
        *(struct frame_fragment *)body_of(sample) =
            (struct frame_fragment){.message = to_le16(9), .offset = to_le64(1454)};
        return;
    case FRAME_BUNDLE:
        make_bundle(sample);
        return;
    case FRAME_PUT:
        begin(sample, type, "operands");
        *(struct frame_put *)body_of(sample) = (struct frame_put){
            .key = to_le64(0x1122334455667788),
            .address = to_le64(0x7F0011223344),
            .request = to_le32(0x00050006),
            .immediate = to_le32(43),
            .bytes = to_le32(3000),
            .offset = to_le32(1436),
            .flags = to_le16(FRAME_PUT_NOTIFY),
        };
        return;
    case FRAME_RESULT:
        make_result(sample);
        return;
    default:
        begin_counting(sample, type);
    }
}

/** What frame_decode() says to a sample. */
static enum frame_verdict verdict_of(const struct sample *sample)
{
    struct frame frame;

    return frame_decode(sample->bytes, sample->length, &frame);
}

static int write_good(void)
{
    struct sample sample;
    struct sample train[3];

    for (unsigned lane = 0; lane < 2; lane++) {
        for (unsigned type = 0; type < FRAME_TYPES; type++) {
            if (frame_type_name(type) == NULL) {
                continue;
            }
            make(&sample, (enum frame_type)type);
            if (verdict_of(&sample) != FRAME_OK) {
                (void)fprintf(stderr, "frame_samples: %s is refused\n", frame_type_name(type));
                return 1;
            }
            if (lane == 0) {
                write_ethernet(&sample);
            } else {
                write_udp(&sample, 1);
            }
        }
    }
    make(&train[0], FRAME_DATA);
    make(&train[1], FRAME_FRAGMENT);
    write_udp(train, 2);
    for (unsigned i = 0; i < 3; i++) {
        make(&train[i], FRAME_DATA);
        frame_data_set_segment((struct frame_data *)(void *)train[i].bytes, 70000 + i);
    }
    train[2].length -= 4;
    write_udp(train, 3);
    /* Each a little shorter than the next, but for the zeros behind it. */
    for (unsigned i = 0; i < 3; i++) {
        make(&train[i], FRAME_FRAGMENT);
        header_of(&train[i])->payload_bytes = to_le16(30 + (uint16_t)i);
        uint32_t length = (uint32_t)frame_head_bytes(FRAME_FRAGMENT) + 30 + i;
        train[i].length = (uint32_t)frame_head_bytes(FRAME_FRAGMENT) + 32;
        memset(train[i].bytes + length, 0, train[i].length - length);
    }
    write_udp(train, 3);
    return 0;
}

/* ---- bad ones -------------------------------------------------------------------------------- */

static void bad_version(struct sample *sample)
{
    header_of(sample)->version_words = 0x27;
}

static void bad_type(struct sample *sample)
{
    header_of(sample)->type = 99;
}

static void bad_flags(struct sample *sample)
{
    header_of(sample)->flags = to_le16(0x0200);
}

static void bad_length(struct sample *sample)
{
    header_of(sample)->payload_bytes = to_le16(300);
}

static void bad_payload(struct sample *sample)
{
    header_of(sample)->type = FRAME_ACK;
}

static void bad_field(struct sample *sample)
{
    ((struct frame_eager *)body_of(sample))->message_bytes = to_le32(4);
}

static void bad_nothing_in_it(struct sample *sample)
{
    begin(sample, FRAME_FRAGMENT, "");
}

static void bad_sack(struct sample *sample)
{
    begin(sample, FRAME_SACK, "");
    fill_sack(sample);
    ((struct frame_sack *)body_of(sample))->received[31] = 0x40;
}

static void bad_sack_range(struct sample *sample)
{
    begin(sample, FRAME_SACK, "");
    ((struct frame_sack *)body_of(sample))->upto = to_le32(ACKNOWLEDGEMENT + 257);
}

static void bad_connect(struct sample *sample)
{
    make(sample, FRAME_CONNECT);
    ((struct frame_connect *)body_of(sample))->key = to_le32(0);
}

static void bad_pull(struct sample *sample)
{
    make(sample, FRAME_PULL);
    ((struct frame_pull *)body_of(sample))->wanted = to_le64(0);
}

static void bad_announce(struct sample *sample)
{
    make(sample, FRAME_ANNOUNCE);
    ((struct frame_announce *)body_of(sample))->segment_bytes = to_le16(0);
}

static void bad_long_data(struct sample *sample)
{
    header_of(sample)->type = FRAME_DATA;
}

static void bad_short_ack(struct sample *sample)
{
    make(sample, FRAME_DATA);
    sample->bytes[1] = FRAME_ACK;
}

static void bad_tail(struct sample *sample)
{
    memset(sample->bytes + sample->length, 0, FRAME_EVENED_BYTES + 1);
    sample->length += FRAME_EVENED_BYTES + 1; /* more than a longer neighbour explains */
}

static int write_bad(void)
{
    static void (*const spoil[])(struct sample *) = {
        bad_version,      bad_type,          bad_flags,     bad_length,     bad_payload,
        bad_field,        bad_nothing_in_it, bad_sack,      bad_sack_range, bad_connect,
        bad_pull,         bad_announce,      bad_long_data, bad_short_ack,  bad_tail,
        bad_sealed_reset, bad_short_seal,
    };
    struct sample sample;

    for (unsigned i = 0; i < sizeof spoil / sizeof *spoil; i++) {
        make(&sample, FRAME_EAGER);
        spoil[i](&sample);
        if (verdict_of(&sample) == FRAME_OK) {
            (void)fprintf(stderr, "frame_samples: bad frame %u is let in\n", i);
            return 1;
        }
        write_ethernet(&sample);
    }
    return write_tso_bad();
}

/** What to write is named by the argument. */
static int (*writer_of(int argc, char **argv))(void)
{
    if (argc == 1) {
        return write_good;
    }
    if (argc == 2 && strcmp(argv[1], "bad") == 0) {
        return write_bad;
    }
    if (argc == 2 && strcmp(argv[1], "sealed") == 0) {
        return write_sealed;
    }
    if (argc == 2 && strcmp(argv[1], "checked") == 0) {
        return write_checked;
    }
    if (argc == 2 && strcmp(argv[1], "tso") == 0) {
        return write_tso_good;
    }
    if (argc == 2 && strcmp(argv[1], "document") == 0) {
        return write_document;
    }
    return argc == 2 && strcmp(argv[1], "tso_frames") == 0 ? write_tso_frames : NULL;
}

int main(int argc, char **argv)
{
    int (*write)(void) = writer_of(argc, argv);

    if (write == NULL) {
        (void)fputs("usage: frame_samples [sealed | checked | bad | tso | tso_frames | document]\n",
                    stderr);
        return 2;
    }
    if (write != write_document) {
        write_file_header();
    }
    return write();
}
