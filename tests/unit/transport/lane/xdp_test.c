/* SPDX-License-Identifier: BSD-3-Clause */
/* On the veth pair of a network namespace of the test's own. */
#include "lane/xdp/xdp.h"

#include "lane/lane_type.h"
#include "lane/xdp/xdp_program.h"
#include "xdp_allowed.h"

#include "namespace.h"
#include "packet_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

static int try_xdp(const char *interface, uint16_t endpoint, struct lane **lane)
{
    struct packet_lane_options options = {
        .interface = interface, .ethertype = ETHERTYPE, .endpoint = endpoint};

    return xdp_lane_open(&options, lane);
}

static struct lane *open_xdp(const char *interface, uint16_t endpoint)
{
    struct lane *lane = NULL;

    assert_int_equal(try_xdp(interface, endpoint, &lane), 0);
    return lane;
}

/** Sees what the program lets pass to the network stack. */
static int open_tap(const char *interface, uint16_t ethertype)
{
    struct sockaddr_ll here = {.sll_family = AF_PACKET,
                               .sll_protocol = htons(ethertype),
                               .sll_ifindex = (int)if_nametoindex(interface)};
    int tap = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(tap >= 0);
    assert_int_equal(bind(tap, (const struct sockaddr *)&here, sizeof here), 0);
    return tap;
}

/** @return bytes of the next frame that it has seen; 0: none. */
static size_t tapped(int tap)
{
    uint8_t frame[65536];
    ssize_t bytes = recv(tap, frame, sizeof frame, 0);

    return bytes < 0 ? 0 : (size_t)bytes;
}

TEST(xdp_lane__frames_arrive_and_the_network_stack_does_not_see_them)
{
    struct lane *b = open_xdp("end1", 2);
    int tap = open_tap("end1", ETHERTYPE);

    assert_int_equal(b->kind, LANE_PACKET); /* frames name it so */
    assert_int_equal(b->opened_as, LANE_XDP);
    frames_arrive_whole_and_in_order(open_packet("end0", 1), b);
    assert_int_equal(tapped(tap), 0);
    close(tap);
}

/** And what it sends arrives at a packet lane. */
TEST(xdp_lane__says_who_sent_and_answers)
{
    struct lane *a = open_packet("end0", 1);
    struct lane *b = open_xdp("end1", 2);
    struct lane_incoming incoming[2];

    assert_int_equal(send_frames(a, b, 2, 1, 1, 0), 1);
    const struct lane_address from = mac_of(a);
    assert_int_equal(wait_for(b, PATIENCE_NS), 1);
    assert_int_equal(b->operations->receive(b, incoming, 2), 1);
    assert_memory_equal(&incoming[0].from, &from, sizeof from);
    assert_int_equal((uintptr_t)incoming[0].data % 16, 0);
    assert_int_equal(send_frames_to(b, incoming[0].from, 1, 1, 9, 100), 1);
    b->operations->release(b);
    assert_int_equal(receive_frame(a, PATIENCE_NS, NULL), 9);
    assert_int_equal(b->sent_frames, 1);
    close_lane(a);
    close_lane(b);
}

TEST(xdp_lane__goes_round_its_rings)
{
    goes_round_its_rings(open_xdp("end0", 1), open_xdp("end1", 2), 160);
}

TEST(xdp_lane__counts_what_did_not_fit_its_rings)
{
    counts_what_did_not_fit(open_packet("end0", 1), open_xdp("end1", 2));
}

/** Endpoints that cannot have it are not disturbed by the one that has. */
TEST(xdp_lane__other_endpoints_get_theirs)
{
    gets_only_frames_for_its_endpoint(open_packet("end0", 1), open_xdp("end1", 0x0102),
                                      open_packet("end1", 0x0201));
}

TEST(xdp_lane__other_protocols_pass)
{
    struct packet_lane_options options = {
        .interface = "end0", .ethertype = ETHERTYPE + 1, .endpoint = 1};
    struct lane *a = NULL;
    struct lane *b = open_xdp("end1", 2);
    int tap = open_tap("end1", ETHERTYPE + 1);

    assert_int_equal(packet_lane_open(&options, &a), 0);
    assert_int_equal(send_frames(a, b, 2, 1, 1, 100), 1);
    assert_int_equal(tapped(tap), ETH_HLEN + HEAD_BYTES + 100);
    struct lane_incoming incoming;
    assert_int_equal(b->operations->receive(b, &incoming, 1), 0);
    close(tap);
    close_lane(a);
    close_lane(b);
}

/** Frames that have no room in a chunk come by the other socket. */
TEST(xdp_lane__jumbo_frames)
{
    uint32_t bytes = 0;

    set_interface("end0", SIOCSIFMTU, 9000);
    set_interface("end1", SIOCSIFMTU, 9000);
    struct lane *a = open_packet("end0", 1);
    struct lane *b = open_xdp("end1", 2);
    int tap = open_tap("end1", ETHERTYPE);
    assert_int_equal(b->frame_bytes, 9000);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(send_frames(a, b, 2, 1, (uint8_t)i, 9000 - HEAD_BYTES), 1);
        assert_int_equal(receive_frame(b, PATIENCE_NS, &bytes), i);
        assert_int_equal(bytes, 9000);
        assert_int_equal(tapped(tap), ETH_HLEN + 9000);
        assert_int_equal(send_frames(a, b, 2, 1, (uint8_t)(i + 10), 3000), 1);
        assert_int_equal(receive_frame(b, PATIENCE_NS, &bytes), i + 10);
        assert_int_equal(bytes, HEAD_BYTES + 3000);
        assert_int_equal(tapped(tap), 0);
    }
    assert_int_equal(b->operations->status(b), 0);
    assert_int_equal(b->dropped_frames, 0);
    close(tap);
    close_lane(a);
    close_lane(b);
    set_interface("end0", SIOCSIFMTU, 1500);
    set_interface("end1", SIOCSIFMTU, 1500);
}

/** Both sockets may have some at the same time. */
TEST(xdp_lane__takes_no_more_than_asked)
{
    struct lane_incoming incoming[4];
    unsigned left = 8;

    set_interface("end0", SIOCSIFMTU, 9000);
    set_interface("end1", SIOCSIFMTU, 9000);
    struct lane *a = open_packet("end0", 1);
    struct lane *b = open_xdp("end1", 2);
    assert_int_equal(send_frames(a, b, 2, 5, 1, 9000 - HEAD_BYTES), 5);
    assert_int_equal(send_frames(a, b, 2, 3, 6, 0), 3);
    while (left > 0) {
        if (wait_for(b, PATIENCE_NS) == 0) {
            fail_msg("%u frames did not come", left);
        }
        unsigned taken = b->operations->receive(b, incoming, 4);
        assert_in_range(taken, 1, 4);
        for (unsigned i = 0; i < taken; i++) {
            assert_int_equal(incoming[i].bytes, incoming[i].data[28] <= 5 ? 9000 : HEAD_BYTES);
        }
        b->operations->release(b);
        left -= taken;
    }
    close_lane(a);
    close_lane(b);
    set_interface("end0", SIOCSIFMTU, 1500);
    set_interface("end1", SIOCSIFMTU, 1500);
}

TEST(xdp_lane_open__one_endpoint_of_an_interface)
{
    struct lane *first = open_xdp("end1", 1);
    struct lane *second = NULL;
    const struct lane_opening opening = {.interface = "end1"};
    char expected[128];
    char reason[96];

    assert_int_equal(try_xdp("end1", 2, &second), -EUSERS);
    (void)snprintf(expected, sizeof expected,
                   "process %d uses it: only one endpoint of an interface can", (int)getpid());
    assert_true(xdp_lane_type.explain(-EUSERS, &opening, reason, sizeof reason));
    assert_string_equal(reason, expected);
    assert_int_equal(try_xdp("end0", 2, &second), 0); /* another interface */
    close_lane(second);
    close_lane(first);
    assert_int_equal(try_xdp("end1", 2, &second), 0); /* and when it has been given back */
    close_lane(second);
}

/** A number that was reserved on the way to a failure is not kept. */
TEST(xdp_lane_open__leaves_no_number)
{
    struct lane *first = open_xdp("end1", 1);
    struct lane *second = NULL;
    uint16_t number = 0;
    struct lane_opening opening = {
        .interface = "end1", .ethertype = ETHERTYPE, .number = &number, .rails = 1};

    assert_int_equal(xdp_lane_type.open(&opening, &second), -EUSERS);
    assert_int_equal(number, 0);
    assert_false(opening.number_is_reserved);
    close_lane(first);
    assert_int_equal(xdp_lane_type.open(&opening, &second), 0);
    assert_int_not_equal(number, 0);
    assert_true(opening.number_is_reserved);
    close_lane(second);
}

TEST(xdp_lane_open__an_interface_is_no_use)
{
    struct lane *lane = NULL;

    assert_int_equal(try_xdp("nowhere0", 1, &lane), -ENODEV);
    assert_int_equal(try_xdp("lo", 1, &lane), -EADDRNOTAVAIL);
    set_interface("end1", SIOCSIFFLAGS, 0);
    assert_int_equal(try_xdp("end1", 1, &lane), -ENETDOWN);
    set_interface("end1", SIOCSIFFLAGS, IFF_UP);
    namespace_wait_until_running("end1");
}

TEST(explain__in_words_that_help)
{
    const struct lane_opening opening = {.interface = "end1"};
    char reason[96];

    assert_true(xdp_lane_type.explain(-EPERM, &opening, reason, sizeof reason));
    assert_non_null(strstr(reason, "CAP_BPF"));
    assert_non_null(strstr(reason, "run as root"));
    assert_true(xdp_lane_type.explain(-EAFNOSUPPORT, &opening, reason, sizeof reason));
    assert_non_null(strstr(reason, "AF_XDP"));
    assert_false(xdp_lane_type.explain(-ENOMEM, &opening, reason, sizeof reason));
}

/** Opens the lane in a process of its own, which then does nothing more. */
static pid_t start_holder(const char *interface)
{
    struct lane *lane = NULL;
    int ready[2];
    char byte = 0;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test end before */
        byte = (char)(try_xdp(interface, 1, &lane) == 0);
        (void)!write(ready[1], &byte, 1);
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

TEST(xdp_lane__killed_process_leaves_no_program)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    const int index = (int)if_nametoindex("end1");
    char name[XDP_NAME_BYTES];
    pid_t holder = start_holder("end1");

    assert_int_equal(xdp_program_holder(index, name), holder);
    assert_int_equal(kill(holder, SIGKILL), 0);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    for (unsigned tries = 0; tries < 10000; tries++) {
        (void)xdp_program_holder(index, name);
        if (name[0] == '\0') {
            break;
        }
        (void)nanosleep(&moment, NULL);
    }
    assert_string_equal(name, "");
    close_lane(open_xdp("end1", 1)); /* and the queue is free, too */
}

static unsigned open_files(void)
{
    unsigned count = 0;

    for (int file = 0; file < 100; file++) {
        count += fcntl(file, F_GETFD) >= 0;
    }
    return count;
}

/** Its own, and those of the packet lane that it is as well: others' close with them. */
TEST(part_with__all_that_are_slow_to_close)
{
    unsigned before = open_files();
    struct lane *lane = open_xdp("end1", 1);
    int sockets[LANE_SLOW_SOCKETS_MAX];

    assert_non_null(lane->operations->part_with);
    unsigned count = lane->operations->part_with(lane, sockets);
    assert_int_equal(count, 2); /* no number is reserved */
    close_lane(lane);
    assert_int_equal(open_files(), before + count);
    while (count > 0) {
        assert_int_equal(close(sockets[--count]), 0);
    }
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    xdp_require();
    return run_listed_tests(NULL, NULL);
}
