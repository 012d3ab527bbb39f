/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/tso/tso_head.h"

#include "lane/copy.h"
#include "tso_checksum.h"
#include "unit/test.h"

#include <stddef.h>
#include <string.h>

#define ETHERNET offsetof(struct tso_head, ethernet)
#define IP offsetof(struct tso_head, ip)
#define TCP offsetof(struct tso_head, tcp)

/** Two whole segments and a short one, beyond 4 GiB. */
static const struct tso_segments example = {
    .to = {0x02, 0xFE, 1, 2, 3, 4},
    .from = {0x02, 0xFE, 5, 6, 7, 8},
    .ethertype = 0x88B5,
    .destination = 0x0102,
    .key = 0x0A0B0C0D,
    .message = 0x11121314,
    .offset = UINT64_C(0x000305064000),
    .segment_bytes = 0x2000,
    .bytes = 0x4005,
};

static struct tso_head written(const struct tso_segments *segments)
{
    struct tso_head head;

    memset(&head, 0xEE, sizeof head);
    tso_head_write(&head, segments);
    return head;
}

static void assert_same(const struct tso_segments *a, const struct tso_segments *b)
{
    assert_memory_equal(a->to, b->to, sizeof a->to);
    assert_memory_equal(a->from, b->from, sizeof a->from);
    assert_int_equal(a->ethertype, b->ethertype);
    assert_int_equal(a->destination, b->destination);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->name, b->name);
    assert_int_equal(a->key, b->key);
    assert_int_equal(a->message, b->message);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->segment_bytes, b->segment_bytes);
    assert_int_equal(a->bytes, b->bytes);
}

static void assert_survives(const struct tso_segments *segments)
{
    struct tso_head head = written(segments);
    struct tso_segments found;

    assert_true(tso_head_read(&head, segments->bytes, &found));
    assert_same(&found, segments);
}

/** With a byte of the example's headers altered. */
static bool is_read_with(size_t at, uint8_t value)
{
    struct tso_head head = written(&example);
    uint8_t *bytes = (uint8_t *)&head;
    struct tso_segments found;

    assert_int_not_equal(bytes[at], value); /* or nothing is tested */
    bytes[at] = value;
    return tso_head_read(&head, example.bytes, &found);
}

TEST(tso_head_write__headers_are_as_documented)
{
    struct tso_head head = written(&example);
    const uint8_t ethernet[TSO_ETHERNET_BYTES] = {0x02, 0xFE, 1, 2, 3, 4, 0x02,
                                                  0xFE, 5,    6, 7, 8, 8, 0};
    const uint8_t ip[TSO_IP_BYTES] = {
        0x45, 0,   0x40, 0x2D, 0,    0,    0x40, 0,    /* total length; do not fragment */
        17,   6,   0x9B, 0x3D, 0x0A, 0x0B, 0x0C, 0x0D, /* TTL, TCP, checksum; the key */
        239,  192, 0x88, 0xB5,                         /* the EtherType */
    };
    const uint8_t tcp[TSO_TCP_BYTES] = {
        0x88, 0xB5, 0x01, 0x02, 0x05, 0x06, 0x40, 0x00, /* ports; low bits of the offset */
        0x11, 0x12, 0x13, 0x14, 0x50, 0x10, 0x20, 0x00, /* message; ACK; segment */
        0xCE, 0xAD, 0x00, 0x03,                         /* pseudo-header; high bits */
    };

    assert_memory_equal(head.ethernet, ethernet, sizeof ethernet);
    assert_memory_equal(head.ip, ip, sizeof ip);
    assert_memory_equal(head.tcp, tcp, sizeof tcp);
}

TEST(tso_head_write__kinds_are_as_documented)
{
    struct tso_segments segments = example;

    segments.kind = TSO_MESSAGE;
    segments.name = 0xABCD;
    segments.offset = 0x4000;
    assert_survives(&segments);
    struct tso_head head = written(&segments);
    assert_memory_equal(head.ip + 16, ((const uint8_t[]){239, 194, 0x88, 0xB5}), 4);
    assert_memory_equal(head.tcp + 4, ((const uint8_t[]){0, 0, 0x40, 0}), 4);
    assert_memory_equal(head.tcp + 18, ((const uint8_t[]){0xAB, 0xCD}), 2);
    segments.kind = TSO_FRAMES;
    segments.name = 0;
    assert_survives(&segments);
    head = written(&segments);
    assert_memory_equal(head.ip + 16, ((const uint8_t[]){239, 193, 0x88, 0xB5}), 4);
    assert_memory_equal(head.tcp + 18, ((const uint8_t[]){0, 0}), 2);
}

TEST(tso_head_read__frames_have_no_name)
{
    struct tso_segments segments = example;
    struct tso_segments found;

    segments.kind = TSO_FRAMES;
    segments.offset = 0;
    struct tso_head head = written(&segments);
    head.tcp[18] = 1;
    assert_false(tso_head_read(&head, segments.bytes, &found));
}

TEST(tso_head_read__a_message_begins_with_a_head)
{
    struct tso_segments segments = example;
    struct tso_segments found;

    segments.kind = TSO_MESSAGE;
    segments.offset = 0;
    segments.segment_bytes = TSO_MESSAGE_HEAD_BYTES + 1;
    assert_survives(&segments);
    segments.segment_bytes--;
    struct tso_head head = written(&segments);
    assert_false(tso_head_read(&head, segments.bytes, &found));
}

TEST(tso_head_read__no_fourth_kind)
{
    assert_false(is_read_with(IP + 17, 195));
    assert_false(is_read_with(IP + 17, 196));
    assert_false(is_read_with(IP + 17, 191));
}

TEST(tso_head_write__says_how_to_cut)
{
    struct tso_head head = written(&example);

    assert_int_equal(head.offload.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
    assert_int_equal(head.offload.gso_type, VIRTIO_NET_HDR_GSO_TCPV4);
    assert_int_equal(head.offload.gso_size, 0x2000);
    assert_int_equal(head.offload.hdr_len, 54);
    assert_int_equal(head.offload.csum_start, 34);
    assert_int_equal(head.offload.csum_offset, 16);
}

TEST(tso_head_write__one_segment_is_not_cut)
{
    struct tso_segments one = example;

    for (one.bytes = one.segment_bytes - 1; one.bytes <= one.segment_bytes; one.bytes++) {
        struct tso_head head = written(&one);
        assert_int_equal(head.offload.gso_type, VIRTIO_NET_HDR_GSO_NONE);
        assert_int_equal(head.offload.gso_size, 0);
        assert_int_equal(head.offload.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
    }
    struct tso_head head = written(&one);
    assert_int_equal(head.offload.gso_type, VIRTIO_NET_HDR_GSO_TCPV4);
}

/** As RFC 1071 has it, with the carries at the end. */
static uint16_t sum_of_words(const uint8_t *bytes, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (uint64_t)bytes[i] << (i % 2 == 0 ? 8 : 0);
    }
    return (uint16_t)((sum - 1) % 0xFFFF + 1);
}

TEST(tso_head_write__checksum_of_ip_is_right)
{
    struct tso_segments segments = example;

    for (unsigned i = 0; i < 5000; i++) {
        segments.key = segments.key * UINT32_C(1664525) + UINT32_C(1013904223);
        segments.bytes = 1 + segments.key % TSO_PAYLOAD_BYTES_MAX;
        segments.ethertype = (uint16_t)(segments.key >> 16);
        struct tso_head head = written(&segments);
        assert_int_equal(sum_of_words(head.ip, sizeof head.ip), 0xFFFF);
    }
}

TEST(tso_head_write__checksum_of_tcp_is_that_of_the_pseudo_header)
{
    struct tso_segments segments = example;

    for (unsigned i = 0; i < 5000; i++) {
        segments.key = segments.key * UINT32_C(1664525) + UINT32_C(1013904223);
        segments.bytes = 1 + segments.key % TSO_PAYLOAD_BYTES_MAX;
        struct tso_head head = written(&segments);
        uint8_t pseudo[12] = {0};
        memcpy(pseudo, head.ip + 12, 8);
        pseudo[9] = 6;
        pseudo[10] = (uint8_t)((TSO_TCP_BYTES + segments.bytes) >> 8);
        pseudo[11] = (uint8_t)(TSO_TCP_BYTES + segments.bytes);
        uint16_t sum = sum_of_words(pseudo, sizeof pseudo);
        assert_int_equal(head.tcp[16] << 8 | head.tcp[17], sum);
    }
}

TEST(tso_head_read__what_was_written)
{
    struct tso_segments segments = example;

    assert_survives(&segments);
    segments.bytes = TSO_PAYLOAD_BYTES_MAX;
    assert_survives(&segments);
    segments.bytes = 1;
    assert_survives(&segments);
    segments.segment_bytes = UINT16_MAX;
    segments.offset = 0;
    assert_survives(&segments);
    segments.key = segments.message = UINT32_MAX;
    segments.ethertype = segments.destination = UINT16_MAX;
    assert_survives(&segments);
    segments.key = segments.message = 0;
    segments.ethertype = segments.destination = 0;
    assert_survives(&segments);
}

TEST(tso_head_read__offsets_up_to_the_greatest)
{
    const uint64_t offsets[] = {
        UINT64_C(0x2000),      UINT64_C(0xFFFFE000),     UINT64_C(0x100000000),
        UINT64_C(0x100002000), UINT64_C(0x1FFFFFFFE000), /* segment UINT32_MAX */
    };
    struct tso_segments segments = example;

    for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        segments.offset = offsets[i];
        assert_survives(&segments);
    }
    segments.segment_bytes = UINT16_MAX;
    segments.offset = (uint64_t)UINT32_MAX * UINT16_MAX;
    assert_true(segments.offset < UINT64_C(1) << TSO_OFFSET_BITS);
    assert_survives(&segments);
    segments.segment_bytes = 1;
    segments.offset = UINT32_MAX;
    assert_survives(&segments);
}

TEST(tso_head_read__no_such_segment)
{
    struct tso_segments segments = example;
    struct tso_segments found;

    segments.offset = UINT64_C(0x200000000000); /* segment UINT32_MAX + 1 */
    struct tso_head head = written(&segments);
    assert_false(tso_head_read(&head, segments.bytes, &found));
    segments.segment_bytes = 1;
    segments.offset = UINT64_C(1) << 32;
    head = written(&segments);
    assert_false(tso_head_read(&head, segments.bytes, &found));
}

TEST(tso_head_read__offset_is_not_that_of_a_segment)
{
    assert_false(is_read_with(TCP + 7, 1));
    assert_false(is_read_with(TCP + 6, 0x50));
    /* Of 8191 or 8193 bytes, the segments would be. */
    assert_false(is_read_with(TCP + 14, 0x1F));
    assert_false(is_read_with(TCP + 15, 1));
}

TEST(tso_head_read__segments_without_length)
{
    struct tso_segments segments = example;
    struct tso_segments found;

    segments.offset = 0;
    segments.segment_bytes = 0;
    struct tso_head head = written(&segments);
    assert_false(tso_head_read(&head, segments.bytes, &found));
}

TEST(tso_head_read__a_field_is_wrong)
{
    const struct {
        size_t at;
        uint8_t value;
    } wrong[] = {
        {ETHERNET + 12, 0x86},
        {ETHERNET + 13, 0xDD}, /* not IPv4 */
        {IP, 0x65},            /* version */
        {IP, 0x46},            /* options */
        {IP + 9, 17},          /* protocol */
        {IP + 6, 0x60},        /* a fragment, and more to come: */
        {IP + 6, 0x20},        /* cards that do not cut as they say leave those */
        {IP + 6, 0x41},
        {IP + 7, 0x01}, /* a later one */
        {IP + 16, 224},
        {IP + 17, 193}, /* group ... */
        {IP + 18, 0x89},
        {IP + 19, 0xB4}, /* ... of another cluster */
        {TCP, 0x89},
        {TCP + 1, 0xB4}, /* source port: again the EtherType */
        {TCP + 12, 0x40},
        {TCP + 12, 0x60}, /* length of the header */
        {TCP + 12, 0x51}, /* reserved bits */
        {TCP + 13, 0x00},
        {TCP + 13, 0x00}, /* no ACK */
        {TCP + 13, 0x18}, /* PSH */
        {TCP + 13, 0x19},
        {TCP + 13, 0x12}, /* FIN, SYN */
        {TCP + 13, 0x14},
        {TCP + 13, 0x38}, /* RST, URG */
        {TCP + 13, 0x58},
        {TCP + 13, 0x98}, /* ECE, CWR */
        {IP + 2, 0x41},
        {IP + 2, 0x3F}, /* total length */
        {IP + 3, 0x2C},
        {IP + 3, 0x2E},
    };

    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(is_read_with(wrong[i].at, wrong[i].value));
    }
}

/** Cards and kernels alter these, or they do not matter. */
TEST(tso_head_read__fields_that_are_ignored)
{
    assert_true(is_read_with(IP + 1, 2));  /* congestion was noticed */
    assert_true(is_read_with(IP + 5, 43)); /* frames are numbered when cut */
    assert_true(is_read_with(IP + 6, 0));  /* may be fragmented, and was not */
    assert_true(is_read_with(IP + 8, 64));
    assert_true(is_read_with(IP + 10, 0));
    assert_true(is_read_with(TCP + 16, 0));
}

TEST(tso_head_read__another_length_than_came)
{
    struct tso_head head = written(&example);
    struct tso_segments found;

    assert_false(tso_head_read(&head, example.bytes - 1, &found));
    assert_false(tso_head_read(&head, example.bytes + 1, &found));
    assert_false(tso_head_read(&head, 0, &found));
    assert_false(tso_head_read(&head, UINT32_MAX, &found));
}

TEST(tso_head_read__total_length_leaves_no_payload)
{
    struct tso_head head = written(&example);
    struct tso_segments found;

    for (uint8_t total = 0; total <= TSO_OVERHEAD_BYTES; total++) {
        head.ip[2] = 0;
        head.ip[3] = total;
        for (uint32_t bytes = 0; bytes <= 7; bytes++) {
            assert_false(tso_head_read(&head, bytes, &found));
        }
        assert_false(tso_head_read(&head, (uint32_t)total - TSO_OVERHEAD_BYTES, &found));
    }
}

TEST(tso_head_read__short_frames_are_padded)
{
    struct tso_segments segments = example;
    struct tso_segments found;

    for (segments.bytes = 1; segments.bytes <= 7; segments.bytes++) {
        struct tso_head head = written(&segments);
        for (uint32_t bytes = 0; bytes <= 8; bytes++) {
            /* 46 bytes follow the Ethernet header of the shortest frame: 40 are headers. */
            bool right = bytes == segments.bytes || (bytes > segments.bytes && bytes <= 6);
            assert_int_equal(tso_head_read(&head, bytes, &found), right);
            assert_true(!right || found.bytes == segments.bytes);
        }
    }
}

/** How many bytes of this payload stay with the headers. */
static uint32_t lead_of(const struct iovec *parts, unsigned count)
{
    struct tso_head head = written(&example);
    uint16_t headers = head.offload.hdr_len;

    tso_head_align(&head, parts, count);
    struct tso_head unaligned = head;
    unaligned.offload.hdr_len = headers;
    struct tso_head before = written(&example);
    assert_memory_equal(&unaligned, &before, sizeof before);
    return (uint32_t)(head.offload.hdr_len - headers);
}

/** The kernel copies what follows to the beginning of a page. */
TEST(tso_head_align__long_payload_anywhere)
{
    static uint8_t payload[2 * COPY_PAGE_BYTES + COPY_STRING_BYTES_MIN]
        __attribute__((aligned(COPY_PAGE_BYTES)));

    for (size_t at = 0; at < COPY_PAGE_BYTES; at++) {
        struct iovec part = {payload + at, COPY_STRING_BYTES_MIN};
        uint32_t lead = lead_of(&part, 1);
        assert_in_range(lead, COPY_LINE_BYTES, 2 * COPY_LINE_BYTES - 1);
        assert_false(copy_is_slow(payload, payload + at + lead));
        /* And there from where whoever receives copies on. */
        assert_int_equal((at + lead) % COPY_LINE_BYTES, 0);
    }
}

TEST(tso_head_align__the_longest_part)
{
    static uint8_t payload[8192] __attribute__((aligned(COPY_PAGE_BYTES)));
    struct iovec parts[] = {{payload, 46}, {payload + 16, 4000}, {payload + 100, 3000}};

    assert_int_equal(lead_of(parts, 3), 46 + 48 + 64);
    parts[2].iov_len = 4001; /* the other is too far from the headers */
    assert_int_equal(lead_of(parts, 3), 0);
}

TEST(tso_head_align__short_payload)
{
    uint8_t payload[COPY_STRING_BYTES_MIN];
    struct iovec part = {payload, sizeof payload - 1};

    assert_int_equal(lead_of(&part, 1), 0);
    assert_int_equal(lead_of(&part, 0), 0);
}

/** One frame, with its checksum. */
static struct tso_head completed(const uint8_t *payload, uint32_t bytes)
{
    struct tso_segments one = example;

    one.bytes = bytes;
    struct tso_head head = written(&one);
    tso_complete_checksum(&head, payload, bytes);
    return head;
}

/** Wherever its payload is divided, at odd bytes, too. */
TEST(tso_head_is_whole__payload_in_two_parts)
{
    uint8_t payload[301];

    for (unsigned i = 0; i < sizeof payload; i++) {
        payload[i] = (uint8_t)(i * 37 + 11);
    }
    for (uint32_t bytes = 1; bytes <= sizeof payload; bytes++) {
        const struct tso_head head = completed(payload, bytes);
        assert_false(tso_head_is_verified(&head));
        for (uint32_t first = 0; first <= bytes; first += 3) {
            const struct iovec parts[2] = {{payload, first}, {payload + first, bytes - first}};
            assert_true(tso_head_is_whole(&head, parts, 2));
        }
    }
}

/** In the addresses, in TCP's header, or in the payload. */
TEST(tso_head_is_whole__no_flipped_bit_is_overlooked)
{
    uint8_t payload[203] = {1, 2, 3};
    struct tso_head head = completed(payload, sizeof payload);
    const struct iovec part = {payload, sizeof payload};
    struct {
        uint8_t *at;
        size_t bytes;
    } covered[] = {{head.ip + 12, 8}, {head.tcp, sizeof head.tcp}, {payload, sizeof payload}};

    for (unsigned i = 0; i < 3; i++) {
        for (size_t bit = 0; bit < 8 * covered[i].bytes; bit++) {
            covered[i].at[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_false(tso_head_is_whole(&head, &part, 1));
            covered[i].at[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
    assert_true(tso_head_is_whole(&head, &part, 1));
}

/** Where the card has compared it, and where none was made since the frame stays in a host. */
TEST(tso_head_is_verified__as_the_kernel_says)
{
    struct tso_head head = {.offload.flags = VIRTIO_NET_HDR_F_DATA_VALID};

    assert_true(tso_head_is_verified(&head));
    head.offload.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    assert_true(tso_head_is_verified(&head));
    head.offload.flags = 0;
    assert_false(tso_head_is_verified(&head));
}
