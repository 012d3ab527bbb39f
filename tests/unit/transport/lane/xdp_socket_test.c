/* SPDX-License-Identifier: BSD-3-Clause */
/* On the veth pair of a network namespace of the test's own. What arrives is in xdp_test.c. */
#include "lane/xdp/xdp_socket.h"

#include "namespace.h"
#include "unit/test.h"
#include "xdp_allowed.h"

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

static int end1(void)
{
    return (int)if_nametoindex("end1");
}

TEST(xdp_socket_open__has_room_for_frames_of_the_mtu)
{
    struct xdp_socket xdp;

    assert_int_equal(xdp_open_again(&xdp, end1(), 1500), 0);
    assert_int_equal(xdp_socket_bytes_max(&xdp), 1790);
    xdp_socket_close(&xdp);
    assert_int_equal(xdp_open_again(&xdp, end1(), 1776), 0);
    assert_int_equal(xdp_socket_bytes_max(&xdp), 1790);
    xdp_socket_close(&xdp);
    assert_int_equal(xdp_open_again(&xdp, end1(), 1777), 0);
    assert_int_equal(xdp_socket_bytes_max(&xdp), 3838);
    xdp_socket_close(&xdp);
    assert_int_equal(xdp_open_again(&xdp, end1(), 65535), 0); /* the rest comes another way */
    assert_int_equal(xdp_socket_bytes_max(&xdp), 3838);
    xdp_socket_close(&xdp);
}

TEST(xdp_socket_open__one_a_queue)
{
    struct xdp_socket first;
    struct xdp_socket second;

    assert_int_equal(xdp_open_again(&first, end1(), 1500), 0);
    assert_int_equal(xdp_socket_open(&second, end1(), 1500, XDP_RECEIVES), -EUSERS);
    assert_int_equal(second.socket, -1);
    xdp_socket_close(&second); /* does nothing */
    xdp_socket_close(&first);
    assert_int_equal(xdp_open_again(&second, end1(), 1500), 0);
    xdp_socket_close(&second);
}

TEST(xdp_socket_open__no_such_interface)
{
    struct xdp_socket xdp;

    assert_int_equal(xdp_socket_open(&xdp, 0x7FFFFFF0, 1500, XDP_RECEIVES), -ENODEV);
    assert_int_equal(xdp.socket, -1);
}

TEST(xdp_socket_take__nothing_has_come)
{
    struct xdp_socket xdp;
    struct lane_incoming incoming[2];

    assert_int_equal(xdp_open_again(&xdp, end1(), 1500), 0);
    assert_int_equal(xdp_socket_take(&xdp, incoming, 2), 0);
    xdp_socket_release(&xdp);
    assert_int_equal(xdp_socket_drops(&xdp), 0);
    xdp_socket_close(&xdp);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    xdp_require();
    return run_listed_tests(NULL, NULL);
}
