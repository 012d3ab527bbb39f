/* SPDX-License-Identifier: BSD-3-Clause */
/* On the veth pair of a network namespace of the test's own. */
#include "lane/packet/packet_number.h"

#include "unit/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#define ETHERTYPE 0x88B5

static int bound(const char *interface, uint16_t ethertype)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ethertype),
                                  .sll_ifindex = (int)if_nametoindex(interface)};
    int made = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    assert_true(made >= 0);
    assert_int_equal(bind(made, (const struct sockaddr *)&address, sizeof address), 0);
    return made;
}

TEST(packet_number_reserve__any_that_is_free)
{
    const int sockets[] = {bound("end0", ETHERTYPE), bound("end0", ETHERTYPE)};
    uint16_t numbers[2] = {0, 0};

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(packet_number_reserve(sockets[i], &numbers[i]), 0);
        assert_int_not_equal(numbers[i], 0);
    }
    assert_int_not_equal(numbers[0], numbers[1]);
    close(sockets[0]);
    close(sockets[1]);
}

TEST(packet_number_reserve__taken_until_the_socket_is_closed)
{
    int first = bound("end0", ETHERTYPE);
    uint16_t number = 4711;

    assert_int_equal(packet_number_reserve(first, &number), 0);
    const int others[] = {bound("end0", ETHERTYPE), bound("end1", ETHERTYPE),
                          bound("end0", ETHERTYPE + 1), bound("lo", ETHERTYPE)};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(packet_number_reserve(others[i], &number), -EADDRINUSE);
        assert_int_equal(number, 4711);
    }
    close(first);
    assert_int_equal(packet_number_reserve(others[1], &number), 0);
    for (unsigned i = 0; i < 4; i++) {
        close(others[i]);
    }
}

/** Where groups are joined by whoever names them, as programs that share the load do. */
TEST(packet_number_reserve__no_other_program_joins_it)
{
    int ours = bound("end0", ETHERTYPE);
    int other = bound("end0", ETHERTYPE);
    int third = bound("end0", ETHERTYPE);
    uint16_t number = 99;

    int group = PACKET_FANOUT_CPU << 16 | 99;
    assert_int_equal(setsockopt(other, SOL_PACKET, PACKET_FANOUT, &group, sizeof group), 0);
    assert_int_equal(packet_number_reserve(ours, &number), -EADDRINUSE);
    number = 98;
    assert_int_equal(packet_number_reserve(ours, &number), 0);
    group = PACKET_FANOUT_CPU << 16 | 98;
    assert_int_not_equal(setsockopt(third, SOL_PACKET, PACKET_FANOUT, &group, sizeof group), 0);
    close(ours);
    close(other);
    close(third);
}

TEST(packet_number_reserve__not_bound)
{
    int made = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    uint16_t any = 0;

    assert_int_equal(packet_number_reserve(made, &any), -EADDRINUSE);
    assert_int_equal(any, 0);
    close(made);
}

TEST(packet_number_by_kernel__nobody_elses)
{
    const int sockets[] = {bound("end0", ETHERTYPE), bound("end0", ETHERTYPE),
                           bound("end0", ETHERTYPE)};
    int first = packet_number_by_kernel(sockets[0]);
    int second = packet_number_by_kernel(sockets[1]);

    assert_true(first >= 0 && first <= UINT16_MAX);
    assert_true(second >= 0 && second <= UINT16_MAX);
    assert_int_not_equal(first, second);
    uint16_t taken = (uint16_t)(first != 0 ? first : second);
    assert_int_equal(packet_number_reserve(sockets[2], &taken), -EADDRINUSE);
    for (unsigned i = 0; i < 3; i++) {
        close(sockets[i]);
    }
}
