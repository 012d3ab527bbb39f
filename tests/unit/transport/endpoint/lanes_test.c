/* SPDX-License-Identifier: BSD-3-Clause */
/* On the veth pair of a network namespace of the test's own: both its ends are interfaces here. */
#include "endpoint/lanes.h"

#include "endpoint/stats.h"
#include "namespace.h"
#include "unit/test.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NUMBER 7

static struct lanes_missing missing;

static int try_number(const char *interface, const char *wanted, struct path_lanes *lanes,
                      uint16_t *number)
{
    static uint16_t incarnation;
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;

    options.interface = interface;
    options.lanes = wanted;
    incarnation++;
    return lanes_open(&options, (uint64_t)getpid() << 16 | incarnation, number, lanes, &missing);
}

static int try_open(const char *interface, const char *wanted, struct path_lanes *lanes)
{
    uint16_t number = NUMBER;

    return try_number(interface, wanted, lanes, &number);
}

/** Opens, and closes if that went well. */
static int status_of(const char *interface, const char *wanted)
{
    struct path_lanes lanes = {.count = 0};
    int status = try_open(interface, wanted, &lanes);

    if (status == 0) {
        lanes_close(&lanes, true);
    }
    assert_int_equal(lanes.count, 0);
    return status;
}

/** Opens; the lanes have to be these, written as "packet0 udp0". */
static void check(const char *interface, const char *wanted, const char *expected)
{
    struct path_lanes lanes = {.count = 0};
    char text[256] = "";

    assert_int_equal(try_open(interface, wanted, &lanes), 0);
    for (unsigned i = 0; i < lanes.count; i++) {
        const struct lane *lane = lanes.lanes[i];
        size_t used = strlen(text);
        int of_kind = (int)strcspn(lane->name, "/");
        (void)snprintf(text + used, sizeof text - used, "%s%.*s%u", i > 0 ? " " : "", of_kind,
                       lane->name, lane->rail);
    }
    assert_string_equal(text, expected);
    lanes_close(&lanes, true);
}

TEST(lanes_open__all_that_there_are)
{
    check("end0", NULL, "shm0 packet0 tso0 udp0");
    check("end0,end1", NULL, "shm0 packet0 packet1 tso0 tso1 udp0 udp1");
    check("end1,lo,end0", NULL, "shm0 packet0 packet1 packet2 tso0 tso2 udp0 udp1 udp2");
}

TEST(lanes_open__those_that_are_wanted)
{
    check("end0", "packet", "packet0");
    check("end0", "udp", "udp0");
    check("end0", "packet,udp", "packet0 udp0");
    check("end0", "udp,packet", "packet0 udp0"); /* which is quicker is not a wish */
    check("end0,end1", "udp", "udp0 udp1");
    check("end0", "tso,packet", "packet0 tso0");
    check("end0,end1", "udp,shm", "shm0 udp0 udp1");
    check("end0", "shm", "shm0");
    check(NULL, "shm", "shm0"); /* it needs no interface */
}

TEST(lanes_open__names_them)
{
    const char *expected[] = {"shm", "packet/end1", "packet/lo", "tso/end1", "udp/end1", "udp/lo"};
    struct path_lanes lanes = {.count = 0};

    assert_int_equal(try_open("end1,lo", NULL, &lanes), 0);
    assert_int_equal(lanes.count, sizeof expected / sizeof *expected);
    for (unsigned i = 0; i < lanes.count; i++) {
        assert_string_equal(lanes.lanes[i]->name, expected[i]);
    }
    lanes_close(&lanes, true);
}

/** What tells peers of the end of this process is opened last, and so closed before what takes long
 *  to close. */
/** What a row of LANE_KINDS says, and what the lane says of itself. */
TEST(lanes_open__each_is_what_it_is_called)
{
    static const struct {
        const char *name;
        enum lane_kind kind;
        unsigned of;
    } all[] = {
#define KIND(capitals, name, number, of) {#name, LANE_##capitals, (of)},
        LANE_KINDS(KIND)
#undef KIND
    };
    unsigned most = 0;

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        struct path_lanes lanes = {.count = 0};
        char wanted[IF_NAMESIZE];
        (void)snprintf(wanted, sizeof wanted, "%s%s", all[i].name,
                       all[i].kind == LANE_TSO ? ",packet" : "");
        if (try_open("end0", wanted, &lanes) == 0) {
            const struct lane *lane = lanes.lanes[lanes.count - 1];
            enum lane_kind own = lane->opened_as != LANE_NONE ? lane->opened_as : lane->kind;
            assert_int_equal(own, all[i].kind);
            assert_int_equal(lane->of_host, all[i].of == LANE_OF_HOST);
            assert_int_equal(strchr(lane->name, '/') == NULL, lane->of_host);
            lanes_close(&lanes, true);
        }
        most += all[i].of;
    }
    /* TIPC and verbs are there in place of others, and so is xdp on each rail. */
    assert_int_equal(most, LANES_MAX + 2 + ADDRESS_RAILS);
}

TEST(lanes_open__udp_after_all_others)
{
    struct path_lanes lanes = {.count = 0};
    int first_udp = INT_MAX;

    assert_int_equal(try_open("end0,end1", NULL, &lanes), 0);
    for (unsigned i = 0; i < lanes.count; i++) {
        int descriptor = lanes.lanes[i]->operations->descriptor(lanes.lanes[i]);
        if (lanes.lanes[i]->kind == LANE_UDP && descriptor < first_udp) {
            first_udp = descriptor;
        }
    }
    assert_int_not_equal(first_udp, INT_MAX);
    for (unsigned i = 0; i < lanes.count; i++) {
        int descriptor = lanes.lanes[i]->operations->descriptor(lanes.lanes[i]);
        assert_true(lanes.lanes[i]->kind == LANE_UDP || descriptor < first_udp);
    }
    lanes_close(&lanes, true);
}

TEST(lanes_open__bad_lists)
{
    const char *const interfaces[] = {"",
                                      ",",
                                      "end0,",
                                      ",end0",
                                      "end0,,end1",
                                      "end0,end0",
                                      "end0,a-name-that-is-longer-than-any",
                                      "a,b,c,d,e"};
    const char *const wanted[] = {"tso",     "udp,tso", "",           ",",          "udp,",
                                  "udp,udp", "tcp",     "packet,tcp", "udp packet", "UDP"};

    for (unsigned i = 0; i < sizeof interfaces / sizeof *interfaces; i++) {
        assert_int_equal(status_of(interfaces[i], NULL), -EINVAL);
    }
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_int_equal(status_of("end0", wanted[i]), -EINVAL);
    }
    assert_int_equal(status_of(NULL, NULL), -EINVAL);
    assert_int_equal(status_of(NULL, "shm,udp"), -EINVAL);
    assert_int_equal(status_of("end0,", "shm"), -EINVAL);
}

/** A process that has as many descriptors open as it may does not miss an interface. */
TEST(lanes_open__no_descriptor_left)
{
    struct rlimit before;
    int next = dup(0);
    bool opened = false;
    bool refused = false;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (rlim_t room = 0; room < 12; room++) {
        struct rlimit few = {.rlim_cur = (rlim_t)next + 1 + room, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        int all = status_of("end0", NULL);
        int udp = status_of("end0", "udp");
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_true(all == 0 || all == -EMFILE);
        assert_true(udp == 0 || udp == -EMFILE);
        opened = opened || (all == 0 && udp == 0);
        refused = refused || udp == -EMFILE;
    }
    assert_true(opened);
    assert_true(refused);
    assert_int_equal(close(next), 0);
}

static void set_interface(const char *name, unsigned long request, struct ifreq value)
{
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)snprintf(value.ifr_name, sizeof value.ifr_name, "%s", name);
    assert_true(control >= 0);
    assert_int_equal(ioctl(control, request, &value), 0);
    close(control);
}

TEST(lanes_open__an_interface_is_no_use)
{
    assert_int_equal(status_of("nowhere0", NULL), -ENODEV);
    assert_int_equal(status_of("end0,nowhere0", NULL), -ENODEV);
    assert_int_equal(status_of("nowhere0", "udp"), -ENODEV);
    set_interface("end1", SIOCSIFFLAGS, (struct ifreq){.ifr_flags = 0});
    assert_int_equal(status_of("end0,end1", NULL), -ENETDOWN);
    assert_int_equal(status_of("end1", "udp"), -ENETDOWN);
    set_interface("end1", SIOCSIFFLAGS, (struct ifreq){.ifr_flags = IFF_UP});
}

/** This kernel has no TIPC, or at least TIPC has no network in a namespace that is new. It is
 * missed by those who asked for it only. */
TEST(lanes_open__tipc_on_request_only)
{
    struct path_lanes lanes = {.count = 0};
    int status = status_of(NULL, "tipc");

    assert_true(status == -EAFNOSUPPORT || status == -ENONET);
    check("end0", "shm,packet,tso,udp,tipc", "shm0 packet0 tso0 udp0"); /* more than four names */
    assert_int_equal(missing.count, 1);
    assert_string_equal(missing.at[0].name, "tipc");
    assert_int_equal(missing.at[0].status, status);
    assert_int_equal(try_open("end0", NULL, &lanes), 0);
    assert_int_equal(missing.count, 0);
    lanes_close(&lanes, true);
}

/** In place of packet, by those who asked for it and may; on one interface by one endpoint. */
TEST(lanes_open__xdp_in_place_of_packet)
{
    struct path_lanes holder = {.count = 0};
    uint16_t number = 0;

    int status = status_of("end0", "xdp");
    if (status == -EPERM || status == -EAFNOSUPPORT) { /* in a user namespace; an older kernel */
        check("end0", "xdp,packet,udp", "packet0 udp0");
        assert_int_equal(missing.count, 1);
        assert_string_equal(missing.at[0].name, "xdp/end0");
        assert_int_equal(missing.at[0].status, status);
        return;
    }
    check("end0", "xdp", "xdp0");
    check("end0,end1", "shm,xdp,packet,tso,udp", "shm0 xdp0 xdp1 tso0 tso1 udp0 udp1");
    assert_int_equal(missing.count, 0);
    check("end0,lo", "xdp,packet", "xdp0 packet1");
    assert_int_equal(missing.count, 1);
    assert_int_equal(missing.at[0].status, -EADDRNOTAVAIL);
    assert_int_equal(try_number("end0", "xdp", &holder, &number), 0);
    assert_int_not_equal(number, 0);
    assert_int_equal(status_of("end0", "xdp"), -EUSERS);
    check("end0,end1", "xdp,packet", "xdp1 packet0");
    assert_int_equal(missing.count, 1);
    assert_string_equal(missing.at[0].name, "xdp/end0");
    assert_int_equal(missing.at[0].status, -EUSERS);
    assert_non_null(strstr(missing.at[0].reason, "uses it"));
    lanes_close(&holder, true);
}

/** It takes an RDMA device over the interface, which a virtual one has not, or a build that knows
 *  of such. */
TEST(lanes_open__verbs_on_request_only)
{
    int status = status_of("end0", "verbs");

    assert_true(status == -ENXIO || status == -ENOPKG || status == -ELIBBAD);
    check("end0", "shm,udp,verbs", "shm0 udp0");
    assert_int_equal(missing.count, 1);
    assert_string_equal(missing.at[0].name, "verbs");
    assert_int_equal(missing.at[0].status, status);
    assert_non_null(strstr(beowire_error(status), status == -ENXIO ? "rdma_rxe" : "install"));
}

static void set_address(const char *name, uint32_t address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    struct ifreq request = {0};

    memcpy(&request.ifr_addr, &at, sizeof at);
    set_interface(name, SIOCSIFADDR, request);
}

TEST(lanes_open__no_ip_address)
{
    set_address("end0", 0);
    check("end0", NULL, "shm0 packet0 tso0");
    check("end0", "packet,udp", "packet0");
    check("end0,end1", NULL, "shm0 packet0 packet1 tso0 tso1 udp1");
    check("end0,end1", "udp", "udp1");
    assert_int_equal(status_of("end0", "udp"), -EADDRNOTAVAIL);
    set_address("end0", 0x0A4D0001);
    check("end0", "udp", "udp0");
}

TEST(lanes_open__a_number_for_ethernet_frames_is_nobody_elses)
{
    struct path_lanes first = {.count = 0};
    struct path_lanes second = {.count = 0};
    uint16_t number = 0;

    assert_int_equal(try_number("end0,end1", "packet,tso", &first, &number), 0);
    assert_int_not_equal(number, 0);
    uint16_t taken = number;
    assert_int_equal(try_number("end0", "packet", &second, &taken), -EADDRINUSE);
    assert_int_equal(try_number("end1,end0", NULL, &second, &taken), -EADDRINUSE);
    assert_int_equal(taken, number);
    uint16_t other = 0;
    assert_int_equal(try_number("end1", "packet", &second, &other), 0);
    assert_int_not_equal(other, number);
    lanes_close(&second, true);
    lanes_close(&first, true);
    assert_int_equal(try_number("end1", "packet", &second, &taken), 0);
    lanes_close(&second, true);
}

/** UDP has ports, and shared memory sockets. */
TEST(lanes_open__other_lanes_need_no_number)
{
    static const char *const wanted[] = {"shm", "udp", "shm,udp"};
    struct path_lanes holder = {.count = 0};
    uint16_t number = 0;

    assert_int_equal(try_number("end0", "packet", &holder, &number), 0);
    for (unsigned i = 0; i < 3; i++) {
        struct path_lanes lanes[2] = {{.count = 0}, {.count = 0}};
        assert_int_equal(try_number("end0", wanted[i], &lanes[0], &number), 0);
        assert_int_equal(try_number("end0", wanted[i], &lanes[1], &number), 0);
        lanes_close(&lanes[0], true);
        lanes_close(&lanes[1], true);
        uint16_t any = 0;
        assert_int_equal(try_number("end0", wanted[i], &lanes[0], &any), 0);
        assert_int_not_equal(any, 0);
        lanes_close(&lanes[0], true);
    }
    lanes_close(&holder, true);
}

/** @return why this lane is missing, 0: it is not. */
static int missing_status(const char *name)
{
    for (unsigned i = 0; i < missing.count; i++) {
        if (strcmp(missing.at[i].name, name) == 0) {
            return missing.at[i].status;
        }
    }
    return 0;
}

TEST(lanes_open__says_what_is_missing)
{
    struct path_lanes lanes[9];

    assert_int_equal(try_open("lo,end0", NULL, &lanes[0]), 0);
    assert_int_equal(missing.count, 1);
    assert_int_equal(missing_status("tso/lo"), -EADDRNOTAVAIL);
    lanes_close(&lanes[0], true);
    for (unsigned i = 0; i < 9; i++) {
        uint16_t number = 0;
        assert_int_equal(try_number("end0", NULL, &lanes[i], &number), 0);
        assert_int_equal(missing.count, i < 8 ? 0 : 1);
    }
    assert_int_equal(missing_status("tso/end0"), -EUSERS);
    for (unsigned i = 0; i < 9; i++) {
        lanes_close(&lanes[i], true);
    }
}

/** Not even of four interfaces whose host grants nothing at all, TIPC included. */
TEST(lanes_open__there_is_room_for_all_that_may_be_missing)
{
    unsigned most = 0;

#define KIND(capitals, name, number, of) most += (of);
    LANE_KINDS(KIND)
#undef KIND
    assert_in_range(most, 1, sizeof missing.at / sizeof *missing.at);
    assert_in_range(most, 1,
                    sizeof((struct stats_file *)0)->missing / sizeof(struct stats_missing));
}

static void bind_name(const char *text)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int held = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    memcpy(name.sun_path + 1, text, strlen(text));
    if (held < 0 ||
        bind(held, (const struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(text))) != 0) {
        _exit(4);
    }
}

/** Takes this process all privileges, and gives it another user. */
static void become_nobody(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}, {0}};

    if ((geteuid() == 0 && setresuid(65534, 65534, 65534) != 0 && errno != EINVAL) ||
        syscall(SYS_capset, &header, none) != 0) {
        _exit(2);
    }
}

/** All names by which numbers and places were ever held in this namespace, as far as a process may
 *  have descriptors; those of places are all of the interface's. */
static void take_all_names(uint16_t first, uint16_t count)
{
    char text[64];

    for (int i = 0; i < 8; i++) {
        (void)snprintf(text, sizeof text, "beowire-tso-%u-%d", if_nametoindex("end0"), i);
        bind_name(text);
    }
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(text, sizeof text, "beowire/88b5/%u", first + i);
        bind_name(text);
    }
}

/** Others without any privilege, and whatever they bind, take nothing from those who have it. */
TEST(lanes_open__no_stranger_takes_numbers_or_places)
{
    int told[2];
    char byte = 0;

    assert_int_equal(pipe(told), 0);
    pid_t stranger = fork();
    if (stranger == 0) {
        become_nobody();
        take_all_names(1, 500);
        close(told[0]);
        _exit(write(told[1], &byte, 1) == 1 ? pause() : 3);
    }
    close(told[1]);
    assert_int_equal(read(told[0], &byte, 1), 1);
    for (uint16_t fixed = 1; fixed <= 500; fixed += 100) {
        struct path_lanes lanes = {.count = 0};
        uint16_t number = fixed;
        assert_int_equal(try_number("end0", NULL, &lanes, &number), 0);
        assert_int_equal(lanes.count, 4);
        assert_int_equal(missing.count, 0);
        lanes_close(&lanes, true);
    }
    close(told[0]);
    assert_int_equal(kill(stranger, SIGKILL), 0);
    assert_int_equal(waitpid(stranger, NULL, 0), stranger);
}

TEST(lanes_open__without_privilege)
{
    pid_t child = fork();
    if (child == 0) {
        become_nobody();
        check("end0", NULL, "shm0 udp0");
        assert_int_equal(missing.count, 2);
        assert_int_equal(missing_status("packet/end0"), -EPERM);
        assert_int_equal(missing_status("tso/end0"), -ENOLINK); /* as packet is not there */
        check("end0", "udp,packet", "udp0");
        _exit(status_of("end0", "packet") == -EPERM ? 0 : 3);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(beowire_open__a_number_that_is_taken)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *first = NULL;
    beowire_endpoint *second = NULL;

    options.interface = "end0";
    options.endpoint = 4711;
    assert_int_equal(beowire_open(&options, &first), 0);
    options.interface = "end1";
    assert_int_equal(beowire_open(&options, &second), -EADDRINUSE);
    options.lanes = "shm,udp"; /* which nobody finds by it */
    assert_int_equal(beowire_open(&options, &second), 0);
    assert_int_equal(beowire_close(second, 0), 0);
    assert_int_equal(beowire_close(first, 0), 0);
    options.lanes = NULL;
    assert_int_equal(beowire_open(&options, &second), 0);
    assert_int_equal(beowire_close(second, 0), 0);
}

TEST(beowire_missing_lane__names_it_and_says_why)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;
    const char *name = NULL;
    int reason = 0;

    options.interface = "lo"; /* where no network card cuts */
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    assert_int_equal(beowire_missing_lane(endpoint, 0, &name, &reason), 0);
    assert_string_equal(name, "tso/lo");
    assert_int_equal(reason, -EADDRNOTAVAIL);
    assert_string_equal(beowire_missing_lane_reason(endpoint, 0), beowire_error(reason));
    assert_null(beowire_missing_lane_reason(endpoint, 1));
    assert_int_equal(beowire_missing_lane(endpoint, 1, &name, &reason), -ENOENT);
    assert_int_equal(beowire_close(endpoint, 0), 0);
    options.interface = "end0";
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    assert_int_equal(beowire_missing_lane(endpoint, 0, &name, &reason), -ENOENT);
    assert_int_equal(beowire_close(endpoint, 0), 0);
}

static int busy_poll_us_of(const struct lane *lane)
{
    int time_us = -1;
    socklen_t length = sizeof time_us;

    return getsockopt(lane->operations->descriptor(lane), SOL_SOCKET, SO_BUSY_POLL, &time_us,
                      &length) == 0
               ? time_us
               : -errno;
}

TEST(lanes_busy_poll__all_sockets)
{
    struct path_lanes lanes = {.count = 0};

    assert_int_equal(try_open("end0", "packet,tso,udp", &lanes), 0);
    assert_int_equal(lanes.count, 3);
    int as_host = busy_poll_us_of(lanes.lanes[0]);
    lanes_busy_poll(&lanes, 35);
    for (unsigned i = 0; i < lanes.count; i++) {
        assert_int_equal(busy_poll_us_of(lanes.lanes[i]), namespace_may_busy_poll() ? 35 : as_host);
    }
    lanes_busy_poll(&lanes, 0);
    assert_int_equal(busy_poll_us_of(lanes.lanes[2]), 0);
    lanes_close(&lanes, true);
}

/** Of the sockets of packet(7) and of AF_XDP that lanes_close() is expected to close, how many are
 * being closed at once; each close waits for the others. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned expected; /* 0: nobody counts */
    unsigned inside;
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void meet(void)
{
    struct timespec end;

    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    pthread_mutex_lock(&meeting.lock);
    meeting.inside++;
    pthread_cond_broadcast(&meeting.changed);
    while (meeting.inside < meeting.expected &&
           pthread_cond_timedwait(&meeting.changed, &meeting.lock, &end) == 0) {
    }
    if (meeting.inside < meeting.expected) {
        meeting.inside--; /* alone, until nobody could come any more */
    }
    pthread_mutex_unlock(&meeting.lock);
}

int __real_close(int descriptor); /* NOLINT: the linker's names */
int __wrap_close(int descriptor); /* NOLINT */

int __wrap_close(int descriptor) /* NOLINT */
{
    int domain = 0;
    socklen_t bytes = sizeof domain;

    if (meeting.expected > 0 &&
        getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 &&
        (domain == AF_PACKET || domain == AF_XDP)) {
        meet();
    }
    return __real_close(descriptor);
}

static void check_closing(const char *wanted, unsigned slow)
{
    struct path_lanes lanes = {.count = 0};

    assert_int_equal(try_open("end0,end1", wanted, &lanes), 0);
    assert_int_equal(lanes.count, 6);
    meeting.expected = slow;
    lanes_close(&lanes, true);
    assert_int_equal(meeting.inside, meeting.expected);
    meeting.expected = meeting.inside = 0;
}

/** The kernel waits for each of them: a ring's, that of the number, and one of `tso` a rail. */
TEST(lanes_close__slow_sockets_all_at_once)
{
    check_closing("packet,tso,udp", 5);
}

/** And that of AF_XDP, which each lane xdp has beside these. */
TEST(lanes_close__those_of_xdp_with_them)
{
    int status = status_of("end0", "xdp");
    if (status == -EPERM || status == -EAFNOSUPPORT) { /* in a user namespace; an older kernel */
        skip();
    }
    check_closing("xdp,packet,tso,udp", 7);
}
