/* SPDX-License-Identifier: BSD-3-Clause */
/* On the veth pair of a network namespace of the test's own. */
#include "lane/tso/tso_place.h"

#include "unit/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

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

TEST(tso_place_count__of_an_interface_and_ipv4)
{
    int end0 = (int)if_nametoindex("end0");
    const int sockets[] = {bound("end0", ETH_P_IP), bound("end1", ETH_P_IP), bound("end0", 0x88B5),
                           bound("end0", ETH_P_IP)};

    assert_int_equal(tso_place_count(end0, -1), 2);
    assert_int_equal(tso_place_count((int)if_nametoindex("end1"), -1), 1);
    assert_int_equal(tso_place_count((int)if_nametoindex("lo"), -1), 0);
    close(sockets[0]);
    assert_int_equal(tso_place_count(end0, -1), 1);
    for (unsigned i = 1; i < 4; i++) {
        close(sockets[i]);
    }
    assert_int_equal(tso_place_count(end0, -1), 0);
}

TEST(tso_place_count__older_than_a_socket)
{
    int end0 = (int)if_nametoindex("end0");
    int sockets[3];

    for (unsigned i = 0; i < 3; i++) {
        sockets[i] = bound("end0", ETH_P_IP);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(tso_place_count(end0, sockets[i]), (int)i);
    }
    close(sockets[0]);
    assert_int_equal(tso_place_count(end0, sockets[2]), 1);
    assert_int_equal(tso_place_count(end0, sockets[0]), -EBADF);
    close(sockets[1]);
    close(sockets[2]);
}
