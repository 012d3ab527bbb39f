/* SPDX-License-Identifier: BSD-3-Clause */
/* What leaves: how many system calls and trains, and that all of it arrives. */
#include "udp_pair.h"

#include <stdlib.h>

/** Sends frames with payloads of these lengths in one call; all must arrive. */
static void send_lengths(struct udp_pair *pair, const uint32_t *lengths, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        add_frame(&outbox, DATA, 1, i, lengths[i]);
    }
    send_outbox(&outbox, pair->a, &pair->at_b);
    receive_all(pair->b, incoming, count);
    for (unsigned i = 0; i < count; i++) {
        check_frame(&incoming[i], DATA, 1, i, lengths[i]);
        assert_memory_equal(&incoming[i].from, &pair->at_a, sizeof pair->at_a);
    }
    pair->b->operations->release(pair->b);
}

/** How many fragments our kernel has made of what it was given to send. */
static unsigned long fragments_made(void)
{
    char line[1024];
    unsigned long numbers[19] = {0};
    unsigned found = 0;
    FILE *file = fopen("/proc/self/net/snmp", "r");

    assert_non_null(file);
    while (found < 2 && fgets(line, sizeof line, file) != NULL) {
        found += strncmp(line, "Ip:", 3) == 0; /* names, then values */
    }
    assert_int_equal(fclose(file), 0);
    char *at = line + 3;
    for (unsigned i = 0; i < 19; i++) {
        numbers[i] = strtoul(at, &at, 10);
    }
    return numbers[18]; /* FragCreates */
}

static unsigned long fragments_of_ipv6(void)
{
    char line[128];
    FILE *file = fopen("/proc/self/net/snmp6", "r");

    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL && strncmp(line, "Ip6FragCreates", 14) != 0) {
    }
    assert_int_equal(fclose(file), 0);
    assert_memory_equal(line, "Ip6FragCreates", 14);
    return strtoul(line + 14, NULL, 10);
}

PAIR_TEST(udp_send__one_frame)
{
    send_lengths(&pair, (uint32_t[]){0}, 1);
    send_lengths(&pair, (uint32_t[]){1}, 1);
    send_lengths(&pair, (uint32_t[]){pair.a->frame_bytes - HEAD_BYTES}, 1);
    assert_int_equal(pair.a->sent_frames, 3);
    assert_int_equal(pair.a->sent_calls, 3);
    assert_int_equal(pair.a->sent_bytes, 3 * HEAD_BYTES + 1 + pair.a->frame_bytes - HEAD_BYTES);
    assert_int_equal(pair.b->received_frames, 3);
    assert_int_equal(pair.b->received_bytes, pair.a->sent_bytes);
}

PAIR_TEST(udp_send__frames_of_one_length_are_one_train)
{
    uint32_t lengths[44];

    for (unsigned i = 0; i < 44; i++) {
        lengths[i] = pair.a->frame_bytes - HEAD_BYTES;
    }
    assert_int_equal(pair.a->batch_frames, 44);
    send_lengths(&pair, lengths, 44);
    lengths[43] = 1;
    send_lengths(&pair, lengths, 44);
    assert_int_equal(pair.a->sent_calls, 2);
    assert_int_equal(pair.a->refused_trains, 0);
}

/** Frames that are a little shorter than the next one are followed by zeros, and the last is not.
 */
PAIR_TEST(udp_send__nearly_one_length_is_one_train)
{
    const uint32_t lengths[] = {99, 100, 100, 68, 100, 99};

    for (unsigned i = 0; i < 6; i++) {
        add_frame(&outbox, DATA, 1, i, lengths[i]);
        outbox.frames[i].shorter_bytes = i < 5 && lengths[i] < 100 ? 100 - lengths[i] : 0;
    }
    send_outbox(&outbox, pair.a, &pair.at_b);
    receive_all(pair.b, incoming, 6);
    for (unsigned i = 0; i < 6; i++) {
        uint32_t more = i == 0 ? 1 : i == 3 ? 32 : 0;
        assert_int_equal(incoming[i].bytes, HEAD_BYTES + lengths[i] + more);
        for (uint32_t at = HEAD_BYTES + lengths[i]; at < incoming[i].bytes; at++) {
            assert_int_equal(((const uint8_t *)incoming[i].data)[at], 0);
        }
        incoming[i].bytes -= more;
        check_frame(&incoming[i], DATA, 1, i, lengths[i]);
    }
    pair.b->operations->release(pair.b);
    assert_int_equal(pair.a->sent_calls, 1);
}

PAIR_TEST(udp_send__more_than_a_datagram_holds)
{
    uint32_t lengths[PAIR_FRAMES];

    for (unsigned i = 0; i < PAIR_FRAMES; i++) {
        lengths[i] = pair.a->frame_bytes - HEAD_BYTES;
    }
    send_lengths(&pair, lengths, PAIR_FRAMES);
    assert_int_equal(pair.a->sent_calls, 1); /* two trains */
}

PAIR_TEST(udp_send__frames_of_different_lengths)
{
    uint32_t lengths[PAIR_FRAMES];

    send_lengths(&pair, (uint32_t[]){100, 100, 7, 7, 7, 300, 299, 299, 0, 0, 1, 2, 3, 3, 2}, 15);
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < PAIR_FRAMES; i++) {
            lengths[i] = (round * 7919 + i * i * 31) % (1 + round * 7);
        }
        send_lengths(&pair, lengths, 1 + round % PAIR_FRAMES);
    }
}

TEST(udp_send__jumbo_frames)
{
    set_mtu(9000);
    struct udp_pair pair = open_pair();
    uint32_t lengths[20];
    for (unsigned i = 0; i < 20; i++) {
        lengths[i] = pair.a->frame_bytes - HEAD_BYTES;
    }
    assert_int_equal(pair.a->frame_bytes, 8972);
    assert_int_equal(pair.a->batch_frames, 7);
    send_lengths(&pair, lengths, 20);
    lengths[19] = 10;
    send_lengths(&pair, lengths, 20);
    close_pair(&pair);
    set_mtu(1500);
}

TEST(udp_send__a_little_more_than_a_datagram_holds_goes_in_halves)
{
    set_mtu(9000);
    struct udp_pair pair = open_pair();
    for (uint32_t i = 0; i < 8; i++) { /* 7 would fit */
        add_frame(&outbox, DATA, 1, i, pair.a->frame_bytes - HEAD_BYTES);
    }
    send_outbox(&outbox, pair.a, &pair.at_b);
    assert_int_equal(receive_some(pair.b, incoming, 8), 4);
    pair.b->operations->release(pair.b);
    receive_all(pair.b, incoming, 4);
    pair.b->operations->release(pair.b);
    close_pair(&pair);
    set_mtu(1500);
}

/** Anybody can have a kernel believe that, by ICMP. What arrives is found out by CONNECT. */
TEST(udp_send__the_path_is_said_to_have_a_shorter_mtu)
{
    uint32_t lengths[10];

    IP("route", "add", "10.77.0.2/32", "dev", "end0", "mtu", "600");
    struct udp_pair pair = open_pair();
    uint64_t before = fragments_made();
    for (unsigned i = 0; i < 10; i++) {
        lengths[i] = pair.a->frame_bytes - HEAD_BYTES;
    }
    send_lengths(&pair, lengths, 10);
    send_lengths(&pair, lengths, 1);
    assert_int_equal(pair.a->refused_trains, 0);
    assert_int_equal(pair.a->sent_calls, 2);
    assert_int_equal(fragments_made(), before);
    close_pair(&pair);
    IP("route", "del", "10.77.0.2/32", "dev", "end0", "mtu", "600");
}

/** What is said by who has seen a frame, the core hears, and then has the lane cut. */
PAIR_TEST(udp_cut__goes_on_sending)
{
    uint32_t lengths[10];
    uint64_t before = fragments_made();

    pair.a->operations->cut(pair.a, true);
    for (unsigned i = 0; i < 10; i++) {
        lengths[i] = pair.a->frame_bytes - HEAD_BYTES;
    }
    send_lengths(&pair, lengths, 10);
    assert_int_equal(fragments_made(), before); /* routers would do it */
}

/** A route tells its MTU as ICMP would. @return how many fragments 10 frames made. */
static uint64_t fragments_after_cut(bool known)
{
    uint32_t lengths[10];
    struct udp_pair pair = open_pair();
    uint64_t before = fragments_of_ipv6();

    pair.a->operations->cut(pair.a, known);
    for (unsigned i = 0; i < 10; i++) {
        lengths[i] = pair.a->frame_bytes - HEAD_BYTES;
    }
    send_lengths(&pair, lengths, 10);
    close_pair(&pair);
    return fragments_of_ipv6() - before;
}

/** Losses do not show that the way is narrow; a flood makes them, too. */
TEST(udp_cut__over_ipv6_not_because_of_losses)
{
    switch_to_ipv6(true);
    IP("-6", "route", "add", "fd77::2/128", "dev", "end0", "mtu", "1280");
    assert_int_equal(fragments_after_cut(false), 0);
    assert_true(fragments_after_cut(true) >= 10);
    IP("-6", "route", "del", "fd77::2/128", "dev", "end0", "mtu", "1280");
    switch_to_ipv6(false);
}

TEST(udp_send__the_interface_has_a_shorter_mtu_now)
{
    uint32_t lengths[6];

    set_mtu(9000);
    struct udp_pair pair = open_pair();
    uint64_t before = fragments_made();
    set_mtu(1500);
    for (unsigned i = 0; i < 6; i++) {
        lengths[i] = pair.a->frame_bytes - HEAD_BYTES;
    }
    send_lengths(&pair, lengths, 6);
    assert_int_equal(pair.a->refused_trains, 1);
    /* For a while it is not tried again. */
    send_lengths(&pair, lengths, 6);
    assert_int_equal(pair.a->refused_trains, 1);
    assert_int_equal(pair.a->sent_frames, 12);
    assert_true(fragments_made() > before);
    set_mtu(9000);
    /* Then it is. */
    for (unsigned i = 0; i < 1100; i++) {
        send_lengths(&pair, lengths, 2);
    }
    uint64_t calls = pair.a->sent_calls;
    send_lengths(&pair, lengths, 6);
    assert_int_equal(pair.a->sent_calls, calls + 1);
    assert_int_equal(pair.a->refused_trains, 1);
    close_pair(&pair);
    set_mtu(1500);
}

/** With and without what the card, or the kernel in its place, does for us. */
TEST(udp_send__offloads_are_off)
{
    const uint32_t senders[] = {ETHTOOL_SGSO, ETHTOOL_STXCSUM, ETHTOOL_SSG};
    uint32_t lengths[44];

    for (unsigned i = 0; i < 44; i++) {
        lengths[i] = 1456;
    }
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned bit = 0; bit < 3; bit++) {
            set_offload(here, "end0", senders[bit], (i >> bit & 1) == 0);
        }
        for (unsigned gro = 0; gro < 2; gro++) {
            set_offload(far, "end1", ETHTOOL_SGRO, gro == 1);
            struct udp_pair pair = open_pair();
            send_lengths(&pair, lengths, 44);
            send_lengths(&pair, (uint32_t[]){100, 100, 99, 98, 98}, 5);
            assert_int_equal(pair.b->received_frames, 49);
            close_pair(&pair);
        }
    }
    for (unsigned bit = 3; bit-- > 0;) {
        set_offload(here, "end0", senders[bit], true);
    }
    set_offload(far, "end1", ETHTOOL_SGRO, false);
}

PAIR_TEST(udp_send__no_way_to_that_host)
{
    struct lane_address nowhere = pair.at_b;

    nowhere.bytes[12] = 192; /* 192.77.0.2: no route */
    add_frame(&outbox, DATA, 1, 0, 100);
    add_frame(&outbox, DATA, 1, 1, 100);
    send_outbox(&outbox, pair.a, &nowhere); /* lost: only those above can do anything */
    assert_int_equal(pair.a->operations->status(pair.a), 0);
    send_lengths(&pair, (uint32_t[]){1, 2, 3}, 3);
}

PAIR_TEST(udp_send__a_refused_peer_does_not_disturb_others)
{
    struct lane_address refused = pair.at_b;

    refused.bytes[16] ^= 0x55; /* another port, where nobody is */
    for (unsigned round = 0; round < 100; round++) {
        add_frame(&outbox, DATA, 1, 0, 100);
        send_outbox(&outbox, pair.a, &refused);
        send_lengths(&pair, (uint32_t[]){10, 10, 10, 5}, 4);
    }
    assert_int_equal(pair.a->refused_frames, 0);
}

PAIR_TEST(udp_send__the_kernel_has_no_room)
{
    int small = 1;

    /* Nobody answers ARP there, so what is sent stays in the send buffer. */
    struct lane_address nobody = pair.at_b;
    nobody.bytes[15] = 99;
    assert_int_equal(setsockopt(pair.a->operations->descriptor(pair.a), SOL_SOCKET, SO_SNDBUF,
                                &small, sizeof small),
                     0);
    unsigned taken = 1;
    for (unsigned round = 0; round < 1000 && taken > 0; round++) {
        add_frame(&outbox, DATA, 1, 0, 1000);
        taken = pair.a->operations->send(pair.a, &nobody, outbox.frames, 1);
        outbox.count = 0;
    }
    assert_int_equal(taken, 0);
    assert_int_equal(pair.a->refused_frames, 1);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    udp_pair_far();
    return run_listed_tests(NULL, NULL);
}
