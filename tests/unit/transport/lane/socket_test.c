/* SPDX-License-Identifier: BSD-3-Clause */
/* On the veth pair of a network namespace of the test's own. */
#include "lane/socket.h"

#include "frame/frame.h"
#include "refused.h"
#include "unit/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ETHERTYPE 0x88B5
#define ASKED_BYTES 65536 /* within every system's limit */
#define PATIENCE_MS 10000

static int open_udp(void)
{
    int opened = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_true(opened >= 0);
    return opened;
}

/** A packet(7) socket that receives our EtherType from "end1", if `code` lets it in. */
static int open_packet(struct sock_filter *code, size_t count)
{
    int opened = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    struct sockaddr_ll name = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETHERTYPE),
        .sll_ifindex = (int)if_nametoindex("end1"),
    };

    assert_true(opened >= 0);
    assert_int_equal(socket_filter(opened, code, count), 0);
    assert_int_equal(bind(opened, (const struct sockaddr *)&name, sizeof name), 0);
    return opened;
}

/** Sends a frame from "end0" to whoever listens at "end1". */
static void send_frame(uint8_t first)
{
    uint8_t frame[60] = {
        0xFF,        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, [12] = ETHERTYPE >> 8, [13] = ETHERTYPE & 0xFF,
        [14] = first};
    int sender = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    struct sockaddr_ll to = {
        .sll_family = AF_PACKET,
        .sll_ifindex = (int)if_nametoindex("end0"),
    };

    assert_int_equal(
        sendto(sender, frame, sizeof frame, 0, (const struct sockaddr *)&to, sizeof to),
        sizeof frame);
    close(sender);
}

static void change(const char *interface, unsigned long what, int value)
{
    struct ifreq request = {0};
    int any = open_udp();

    strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
    if (what == SIOCSIFMTU) {
        request.ifr_mtu = value;
    } else {
        request.ifr_flags = (short)value;
    }
    assert_int_equal(ioctl(any, what, &request), 0);
    close(any);
}

TEST(socket_read_interface__says_what_it_is)
{
    struct socket_interface end;
    struct socket_interface other;
    struct socket_interface loopback;
    int any = open_udp();

    assert_int_equal(socket_read_interface(any, "end0", &end), 0);
    assert_int_equal(socket_read_interface(any, "end1", &other), 0);
    assert_int_equal(socket_read_interface(any, "lo", &loopback), 0);
    assert_int_equal(end.index, if_nametoindex("end0"));
    assert_int_equal(end.mtu, 1500);
    assert_int_equal(end.hardware, ARPHRD_ETHER);
    assert_false(end.loops);
    assert_memory_not_equal(end.mac, other.mac, sizeof end.mac);
    assert_true(loopback.loops);
    assert_int_equal(loopback.hardware, ARPHRD_LOOPBACK);
    close(any);
}

TEST(socket_read_interface__none_for_us)
{
    struct socket_interface read;
    int any = open_udp();

    assert_int_equal(socket_read_interface(any, "no-such", &read), -ENODEV);
    assert_int_equal(socket_read_interface(any, "", &read), -ENODEV);
    assert_int_equal(socket_read_interface(any, "longer-than-a-name-may-be", &read), -ENODEV);
    change("end0", SIOCSIFMTU, FRAME_BYTES_MIN);
    assert_int_equal(socket_read_interface(any, "end0", &read), -EINVAL);
    change("end0", SIOCSIFMTU, FRAME_BYTES_MIN + 1);
    assert_int_equal(socket_read_interface(any, "end0", &read), 0);
    change("end0", SIOCSIFMTU, 1500);
    change("end0", SIOCSIFFLAGS, 0);
    assert_int_equal(socket_read_interface(any, "end0", &read), -ENETDOWN);
    change("end0", SIOCSIFFLAGS, IFF_UP);
    close(any);
}

TEST(socket_find_interface__or_why_not)
{
    unsigned index = 0;
    struct rlimit before;

    assert_int_equal(socket_find_interface("end0", &index), 0);
    assert_int_equal(index, if_nametoindex("end0"));
    assert_int_equal(socket_find_interface("no-such", &index), -ENODEV);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int status = socket_find_interface("end0", &index);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, -EMFILE);
}

TEST(socket_set_buffer__says_how_much_it_got)
{
    static const int options[] = {SO_SNDBUF, SO_RCVBUF};
    int any = open_udp();

    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        int set = 0;
        socklen_t length = sizeof set;
        uint64_t granted = socket_set_buffer(any, options[i], ASKED_BYTES);
        assert_int_equal(getsockopt(any, SOL_SOCKET, options[i], &set, &length), 0);
        assert_int_equal(granted, set);
        assert_int_equal(granted, 2 * ASKED_BYTES);
    }
    close(any);
}

TEST(socket_filter__holds_for_good)
{
    struct sock_filter sevens[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ETH_HLEN),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_filter broken[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0)}; /* no end */
    uint8_t frame[64];
    int listening = open_packet(sevens, sizeof sevens / sizeof *sevens);

    send_frame(6);
    send_frame(7);
    assert_int_equal(recv(listening, frame, sizeof frame, 0), 60);
    assert_int_equal(frame[ETH_HLEN], 7);
    assert_int_equal(socket_set(listening, SOL_SOCKET, SO_DETACH_FILTER, 0), -EPERM);
    close(listening);
    listening = open_udp();
    assert_int_equal(socket_filter(listening, broken, 1), -EINVAL);
    close(listening);
}

TEST(socket_take_drops__counts_each_once)
{
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)};
    uint32_t came = 0;
    uint8_t frame[64];
    int listening = open_packet(all, 1);

    (void)socket_set(listening, SOL_SOCKET, SO_RCVBUF, 0); /* the smallest that there is */
    assert_int_equal(socket_take_drops(listening), 0);
    for (unsigned i = 0; i < 100; i++) {
        send_frame(1);
    }
    while (recv(listening, frame, sizeof frame, MSG_DONTWAIT) > 0) {
        came++;
    }
    assert_in_range(came, 1, 99);
    assert_int_equal(socket_take_drops(listening), 100 - came);
    assert_int_equal(socket_take_drops(listening), 0);
    close(listening);
}

TEST(socket_take_error__tells_it_once)
{
    struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(9)};
    int sender = open_udp();
    struct pollfd told = {.fd = sender};

    nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(sender, (const struct sockaddr *)&nobody, sizeof nobody), 0);
    assert_int_equal(socket_take_error(sender), 0);
    assert_int_equal(send(sender, "x", 1, 0), 1);
    assert_int_equal(poll(&told, 1, PATIENCE_MS), 1);
    assert_int_equal(socket_take_error(sender), ECONNREFUSED);
    assert_int_equal(socket_take_error(sender), 0);
    close(sender);
    assert_int_equal(socket_take_error(sender), EBADF);
}

/** A link follows its interfaces a moment later. */
static void assert_comes_to_work(int socket, int index, bool expected)
{
    uint64_t tries = 0;

    while (socket_interface_works(socket, index) != expected) {
        const struct timespec moment = {.tv_nsec = 1000000};
        assert_true(tries++ < PATIENCE_MS);
        (void)nanosleep(&moment, NULL);
    }
}

TEST(socket_interface_works__up_and_with_a_carrier)
{
    int any = open_udp();
    int end0 = (int)if_nametoindex("end0");
    int end1 = (int)if_nametoindex("end1");

    assert_true(socket_interface_works(any, end0));
    assert_false(socket_interface_works(any, 0));
    assert_false(socket_interface_works(any, 999999)); /* there is none */
    change("end0", SIOCSIFFLAGS, 0);
    assert_false(socket_interface_works(any, end0));
    assert_comes_to_work(any, end1, false); /* the other end of the cable */
    change("end0", SIOCSIFFLAGS, IFF_UP);
    assert_comes_to_work(any, end0, true);
    assert_comes_to_work(any, end1, true);
    close(any);
}

/** Three datagrams over loopback, in one go if that is allowed. */
static bool three_arrive(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof to;
    int receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct mmsghdr messages[3] = {0};
    struct iovec parts[3];
    char digits[] = "123";
    char got[4] = "";

    if (bind(receiver, (const struct sockaddr *)&to, sizeof to) != 0 ||
        getsockname(receiver, (struct sockaddr *)&to, &length) != 0) {
        return false;
    }
    for (unsigned i = 0; i < 3; i++) {
        parts[i] = (struct iovec){&digits[i], 1};
        messages[i].msg_hdr = (struct msghdr){
            .msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &parts[i], .msg_iovlen = 1};
    }
    bool all = socket_send_all(sender, messages, 3) == 3;
    for (unsigned i = 0; all && i < 3; i++) {
        all = recv(receiver, &got[i], 1, MSG_DONTWAIT) == 1;
    }
    close(receiver);
    close(sender);
    return all && strcmp(got, digits) == 0;
}

static bool three_arrive_one_by_one(void)
{
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return !socket_sends_many(any) && three_arrive();
}

static bool can_ask(void)
{
    unsigned index = 0;

    return socket_find_interface("end0", &index) == 0 && index > 0;
}

TEST(socket_send_all__also_without_sendmmsg)
{
    const struct refused old = {SYS_sendmmsg, ENOSYS, 0, 0};
    const struct refused sandbox = {SYS_sendmmsg, EPERM, 0, 0};
    int any = open_udp();

    assert_true(socket_sends_many(any));
    close(any);
    assert_true(three_arrive());
    assert_true_without(&old, 1, three_arrive_one_by_one);
    assert_true_without(&sandbox, 1, three_arrive_one_by_one);
}

TEST(socket_control__without_unix_sockets)
{
    const struct refused no_unix = {SYS_socket, EAFNOSUPPORT, 1, AF_UNIX};

    assert_true_without(&no_unix, 1, can_ask);
}
