/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints of two processes in two network namespaces, "here" and "far", with two cables between
 * them: end0 - end1 and two0 - two1. Within one namespace the kernel takes a shortcut between local
 * addresses, and whatever is done to a card does not matter.
 */
#include "namespace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "endpoints.h"
#include "unit/test.h"

#define MILLISECOND UINT64_C(1000000)
#define LONG_TAG 1
#define SHORT_TAG 2
#define SHORT_BYTES 100
#define LONG_BYTES (64u << 20)
#define ECHO_BYTES 300000

/** All that goes from host to host. */
#define LANES "packet,tso,udp"

static int here = -1;
static int far = -1;

/** What each long message says: made once, before any process is, so that to look at 64 MiB costs a
 *  receiver of a build for sanitizers milliseconds, and nobody takes it for gone meanwhile. */
static uint8_t long_message[LONG_BYTES];

static void run_ip(const char *arguments)
{
    char command[128];

    (void)snprintf(command, sizeof command, "ip %s", arguments);
    assert_int_equal(system(command), 0);
}

/** The far host's card with this address has been asked for by a first datagram: the kernel keeps
 *  little for an address that it does not know yet, and drops the rest. */
static void meet_card(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_int_equal(inet_pton(AF_INET, address, &to.sin_addr), 1);
    assert_int_equal(sendto(sender, "x", 1, 0, (struct sockaddr *)&to, sizeof to), 1);
    close(sender);
}

/** Both cables are there. */
static void wait_for_links(void)
{
    namespace_wait_until_running("end0");
    namespace_wait_until_running("two0");
    namespace_go(far);
    namespace_wait_until_running("end1");
    namespace_wait_until_running("two1");
    namespace_go(here);
    meet_card("10.77.0.2");
    meet_card("10.78.0.2");
}

static int make_hosts(void **state)
{
    for (size_t i = 0; i < LONG_BYTES; i++) {
        long_message[i] = (uint8_t)(i * 7 + (i >> 12) + 1);
    }
    here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    far = namespace_move_far_end();
    run_ip("link add two0 type veth peer name two1");
    namespace_move(far, "two1");
    run_ip("address add 10.78.0.1/24 dev two0");
    run_ip("link set two0 up");
    namespace_go(far);
    run_ip("address add 10.78.0.2/24 dev two1");
    run_ip("link set two1 up");
    /* A host says to each other one a second, after the first six, that a port is closed. */
    assert_int_equal(system("sysctl -qw net.ipv4.icmp_ratelimit=0"), 0);
    namespace_go(here);
    wait_for_links();
    return here >= 0 ? 0 : -1;
}

static void set_link(bool is_far, const char *card, const char *state)
{
    char command[64];

    (void)snprintf(command, sizeof command, "link set %s %s", card, state);
    namespace_go(is_far ? far : here);
    run_ip(command);
    namespace_go(here);
}

/** Bytes that a card of ours has sent. */
static uint32_t sent_bytes(const char *card)
{
    struct ifaddrs *all = NULL;
    uint32_t bytes = 0;
    bool found = false;

    assert_int_equal(getifaddrs(&all), 0);
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        if (one->ifa_addr != NULL && one->ifa_addr->sa_family == AF_PACKET &&
            strcmp(one->ifa_name, card) == 0) {
            bytes = ((const struct rtnl_link_stats *)one->ifa_data)->tx_bytes;
            found = true;
        }
    }
    freeifaddrs(all);
    assert_true(found);
    return bytes;
}

/* ---- the process far away ------------------------------------------------------------------ */

/** A process of the far host; its ends of two pipes. */
struct remote {
    pid_t pid;
    int words; /**< what it has to say */
    struct beowire_address address;
};

static void say(int out, const void *data, size_t bytes)
{
    if (write(out, data, bytes) != (ssize_t)bytes) {
        _exit(1);
    }
}

/** Reads what it has to say, for which it has a while: what it waits for may never come. */
static void hear(const struct remote *remote, void *data, size_t bytes)
{
    struct pollfd words = {.fd = remote->words, .events = POLLIN};

    assert_int_equal(poll(&words, 1, (int)(PATIENCE_NS / MILLISECOND)), 1);
    assert_int_equal(read(remote->words, data, bytes), bytes);
}

/** Starts a process there: it opens an endpoint, says its address, and does what it is for. */
static struct remote start(const char *interface, const char *lanes,
                           void (*work)(beowire_endpoint *endpoint, int out))
{
    struct remote remote = {0};
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    remote.pid = fork();
    assert_true(remote.pid >= 0);
    if (remote.pid == 0) {
        struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
        beowire_endpoint *endpoint = NULL;
        struct beowire_address address;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing behind */
        namespace_go(far);
        options.interface = interface;
        options.lanes = lanes;
        options.progress = BEOWIRE_PROGRESS_CALLS;
        if (beowire_open(&options, &endpoint) != 0) {
            _exit(1);
        }
        beowire_address(endpoint, &address);
        say(ends[1], &address, sizeof address);
        work(endpoint, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    remote.words = ends[0];
    hear(&remote, &remote.address, sizeof remote.address);
    return remote;
}

/** Waits until its kernel has taken it apart, which takes tens of milliseconds. */
static void reap(const struct remote *remote)
{
    assert_int_equal(waitpid(remote->pid, NULL, 0), remote->pid);
    close(remote->words);
}

static beowire_peer meet(beowire_endpoint *endpoint, const struct remote *remote)
{
    beowire_peer peer = BEOWIRE_ANY_PEER;

    assert_int_equal(beowire_peer_add(endpoint, &remote->address, &peer), 0);
    return peer;
}

static struct beowire_completion await(beowire_endpoint *endpoint)
{
    struct beowire_completion done = {0};
    uint64_t end_ns = now_ns() + PATIENCE_NS;

    while (beowire_poll(endpoint, &done, 1) == 0) {
        assert_true(now_ns() < end_ns);
    }
    return done;
}

/* ---- a process that ends ------------------------------------------------------------------- */

static void only_wait(beowire_endpoint *endpoint, int out)
{
    for (;;) {
        (void)beowire_wait(endpoint, SECOND);
    }
}

/** A process far away is killed while a receive waits for it. @param says whether anything is said
 *  to it before @return so long after the signal is our operation ended, ns */
static uint64_t time_to_notice(const char *lanes, bool says)
{
    struct remote remote = start("end1", lanes, only_wait);
    beowire_endpoint *a = open_with_lanes("end0", lanes);
    beowire_peer peer = meet(a, &remote);

    if (says) {
        assert_int_equal(beowire_send(a, peer, 1, 0, "x", 1, NULL), 0);
        assert_int_equal(await(a).status, 0);
        assert_int_equal(beowire_flush(a, PATIENCE_NS), 0);
    }
    assert_int_equal(beowire_receive(a, peer, 2, 0, NULL, 0, a), 0);
    assert_int_equal(beowire_wait(a, 50 * MILLISECOND), 0); /* it lives */
    uint64_t killed_ns = now_ns();
    assert_int_equal(kill(remote.pid, SIGKILL), 0);
    /* Its kernel says so: no need to wait for a timeout of seconds. */
    struct beowire_completion done = await(a);
    uint64_t noticed_ns = now_ns();
    assert_int_equal(done.status, -ECONNRESET);
    assert_int_equal(done.peer, peer);
    assert_ptr_equal(done.context, a);
    assert_int_equal(beowire_close(a, 0), 0);
    reap(&remote);
    return noticed_ns - killed_ns;
}

/** Within a second of the signal, if the machine lets us, since only silence decides: one of some
 *  attempts. Without its kernel's word it would be four. */
static void notice_soon(const char *lanes, bool says)
{
    uint64_t least_ns = UINT64_MAX;

    for (unsigned i = 0; i < 5 && least_ns > SECOND; i++) {
        uint64_t time_ns = time_to_notice(lanes, says);
        least_ns = time_ns < least_ns ? time_ns : least_ns;
    }
    assert_in_range(least_ns, 0, SECOND);
}

TEST(wait__ends_when_the_peer_s_process_has_ended)
{
    notice_soon(LANES, true);
    notice_soon("udp", true);
}

TEST(wait__ends_when_a_peer_ends_that_nobody_has_heard_of)
{
    notice_soon(LANES, false);
}

/** The same of one that had been killed before anything was said to it. */
static uint64_t time_to_notice_the_dead(void)
{
    struct remote remote = start("end1", LANES, only_wait);
    beowire_endpoint *a = open_with_lanes("end0", LANES);
    beowire_peer peer = meet(a, &remote);

    assert_int_equal(kill(remote.pid, SIGKILL), 0);
    reap(&remote);
    assert_int_equal(beowire_receive(a, peer, 2, 0, NULL, 0, a), 0);
    uint64_t start_ns = now_ns();
    struct beowire_completion done = await(a);
    uint64_t noticed_ns = now_ns();
    assert_int_equal(done.status, -ECONNRESET);
    assert_int_equal(done.peer, peer);
    assert_int_equal(beowire_close(a, 0), 0);
    return noticed_ns - start_ns;
}

TEST(wait__ends_if_the_peer_had_ended_before)
{
    uint64_t least_ns = UINT64_MAX;

    for (unsigned i = 0; i < 5 && least_ns > 3 * SECOND; i++) {
        uint64_t time_ns = time_to_notice_the_dead();
        least_ns = time_ns < least_ns ? time_ns : least_ns;
    }
    assert_in_range(least_ns, 0, 3 * SECOND);
}

/** Polls until something is to be told. */
static struct beowire_event await_event(beowire_endpoint *endpoint)
{
    struct beowire_event event = {0};
    struct beowire_completion done;
    uint64_t end_ns = now_ns() + PATIENCE_NS;

    while (beowire_event(endpoint, &event) == 0) {
        assert_int_equal(beowire_poll(endpoint, &done, 1), 0);
        assert_true(now_ns() < end_ns);
    }
    return event;
}

static uint64_t counted(const beowire_endpoint *endpoint, const char *wanted)
{
    const char *name = NULL;
    uint64_t value = 0;

    for (unsigned i = 0; beowire_counter(endpoint, i, &name, &value) == 0; i++) {
        if (strcmp(name, wanted) == 0) {
            return value;
        }
    }
    fail_msg("there is no counter %s", wanted);
    return 0;
}

/** Polls until the peer has answered on all lanes: whom nobody has heard by UDP, his kernel could
 * not refuse. */
static void await_all_lanes(beowire_endpoint *endpoint)
{
    struct beowire_completion done;
    uint64_t end_ns = now_ns() + PATIENCE_NS;

    while (counted(endpoint, "received_response") < 2) {
        assert_int_equal(beowire_poll(endpoint, &done, 1), 0);
        assert_true(now_ns() < end_ns);
    }
}

/** Whoever is there and only stands still is waited for. */
TEST(wait__goes_on_while_the_peer_stands_still)
{
    struct remote remote = start("end1", LANES, only_wait);
    beowire_endpoint *a = open_with_lanes("end0", LANES);
    beowire_peer peer = meet(a, &remote);

    assert_int_equal(beowire_send(a, peer, 1, 0, "x", 1, NULL), 0);
    assert_int_equal(await(a).status, 0);
    assert_int_equal(beowire_flush(a, PATIENCE_NS), 0);
    await_all_lanes(a);
    assert_int_equal(kill(remote.pid, SIGSTOP), 0);
    assert_int_equal(beowire_send(a, peer, 1, 0, NULL, 0, NULL), 0);
    assert_int_equal(await(a).status, 0); /* it has left: that is all it says */
    assert_int_equal(beowire_receive(a, peer, 2, 0, NULL, 0, a), 0);
    struct beowire_event event = await_event(a);
    assert_int_equal(event.kind, BEOWIRE_PEER_STANDS_STILL);
    assert_int_equal(event.peer, peer);
    assert_int_equal(kill(remote.pid, SIGCONT), 0);
    assert_int_equal(await_event(a).kind, BEOWIRE_PEER_GOES_ON);
    assert_int_equal(kill(remote.pid, SIGKILL), 0);
    struct beowire_completion done = await(a);
    assert_int_equal(done.status, -ECONNRESET);
    assert_int_equal(done.peer, peer);
    reap(&remote);
    (void)beowire_close(a, 0);
}

/* ---- a card that ends ---------------------------------------------------------------------- */

/** Takes long messages and, beside them, short ones with a number each, until one is empty; says
 * how many short ones there were. */
static void take_messages(beowire_endpoint *endpoint, int out)
{
    uint8_t *buffer = calloc(1, LONG_BYTES);
    uint8_t brief[SHORT_BYTES];
    uint32_t count = 0;
    struct beowire_completion done = {.bytes = 1};

    if (buffer == NULL ||
        beowire_receive(endpoint, BEOWIRE_ANY_PEER, LONG_TAG, 0, buffer, LONG_BYTES, buffer) != 0 ||
        beowire_receive(endpoint, BEOWIRE_ANY_PEER, SHORT_TAG, 0, brief, sizeof brief, NULL) != 0) {
        _exit(2);
    }
    for (;;) {
        if (beowire_poll(endpoint, &done, 1) == 0) {
            continue;
        }
        if (done.status != 0) {
            _exit(3);
        }
        if (done.context == buffer) {
            if (done.bytes != LONG_BYTES || memcmp(buffer, long_message, LONG_BYTES) != 0) {
                _exit(4);
            }
            memset(buffer, 0, LONG_BYTES);
            (void)beowire_receive(endpoint, BEOWIRE_ANY_PEER, LONG_TAG, 0, buffer, LONG_BYTES,
                                  buffer);
            continue;
        }
        if (done.bytes == 0) {
            break;
        }
        if (done.bytes != sizeof brief || memcmp(brief, &count, sizeof count) != 0) {
            _exit(5);
        }
        count++;
        (void)beowire_receive(endpoint, BEOWIRE_ANY_PEER, SHORT_TAG, 0, brief, sizeof brief, NULL);
    }
    say(out, &count, sizeof count);
    only_wait(endpoint, out); /* until the other has closed its end */
}

/** A cable that is to be pulled. */
struct cable {
    bool is_far; /**< at the end of the far host */
    const char *card;
    bool pulled;
};

/** Both cards have sent that much and more since the message began: it is on its way over both. */
static bool uses_both(const uint32_t before[2])
{
    return sent_bytes("end0") - before[0] > LONG_BYTES / 100 &&
           sent_bytes("two0") - before[1] > LONG_BYTES / 100;
}

/** Sends a long message and, until it has arrived, short ones. @param count of these, so far */
static void send_messages(beowire_endpoint *endpoint, beowire_peer peer, uint32_t *count,
                          struct cable *cable)
{
    const uint32_t before[2] = {sent_bytes("end0"), sent_bytes("two0")};
    uint8_t brief[SHORT_BYTES] = {0};
    bool busy = true;  /* the long message is under way */
    bool owed = false; /* a short one is */
    uint64_t end_ns = now_ns() + PATIENCE_NS;

    assert_int_equal(
        beowire_send(endpoint, peer, LONG_TAG, 0, long_message, LONG_BYTES, long_message), 0);
    while (busy || owed) {
        struct beowire_completion done;
        assert_true(now_ns() < end_ns);
        if (!owed && busy) {
            memcpy(brief, count, sizeof *count);
            assert_int_equal(beowire_send(endpoint, peer, SHORT_TAG, 0, brief, sizeof brief, NULL),
                             0);
            (*count)++;
            owed = true;
        }
        if (!cable->pulled && busy && uses_both(before)) {
            set_link(cable->is_far, cable->card, "down");
            cable->pulled = true;
        }
        if (beowire_poll(endpoint, &done, 1) == 0) {
            continue;
        }
        assert_int_equal(done.status, 0);
        busy = busy && done.context != long_message;
        owed = owed && done.context == long_message;
    }
}

/** Moves messages over two cards, and pulls the cable of one on the way. It is not always used:
 * what was lost over it in the beginning has it rest for half a second. */
static void lose_a_card(const char *lanes, bool is_far, const char *card)
{
    struct cable cable = {.is_far = is_far, .card = card};
    struct remote remote = start("end1,two1", lanes, take_messages);
    beowire_endpoint *a = open_with_lanes("end0,two0", lanes);
    beowire_peer peer = meet(a, &remote);
    uint64_t end_ns = now_ns() + PATIENCE_NS;
    uint32_t counted = 0;
    uint32_t count = 0;

    while (!cable.pulled) {
        assert_true(now_ns() < end_ns);
        send_messages(a, peer, &count, &cable);
    }
    assert_int_equal(beowire_send(a, peer, SHORT_TAG, 0, NULL, 0, NULL), 0);
    assert_int_equal(await(a).status, 0);
    assert_int_equal(beowire_flush(a, PATIENCE_NS), 0);
    hear(&remote, &counted, sizeof counted);
    assert_int_equal(counted, count);
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
    assert_int_equal(kill(remote.pid, SIGKILL), 0);
    reap(&remote);
    set_link(is_far, card, "up");
    wait_for_links();
}

TEST(beowire__loses_a_card_and_nothing_else)
{
    static const char *const lanes[] = {"packet", "udp", "packet,udp", LANES};

    for (unsigned i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        lose_a_card(lanes[i], false, "two0");
        lose_a_card(lanes[i], true, "end1");
    }
}

/** The processor's time that this process has used. */
static uint64_t used_ns(void)
{
    struct timespec used;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * SECOND + (uint64_t)used.tv_nsec;
}

/** The error of a socket whose interface has gone down would end any sleep, again and again. */
TEST(beowire__sleeps_while_an_interface_is_down)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    const struct timespec while_down = {.tv_nsec = 400000000};
    beowire_endpoint *endpoint = NULL;

    options.interface = "end0";
    options.lanes = "packet";
    options.progress = BEOWIRE_PROGRESS_THREAD;
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    set_link(false, "end0", "down");
    uint64_t before_ns = used_ns();
    assert_int_equal(nanosleep(&while_down, NULL), 0);
    assert_true(used_ns() - before_ns < 100000000);
    set_link(false, "end0", "up");
    wait_for_links();
    assert_int_equal(beowire_close(endpoint, 0), 0);
}

/* ---- networks that both hosts have --------------------------------------------------------- */

/** Sends back each message that comes. */
static void echo(beowire_endpoint *endpoint, int out)
{
    static uint8_t room[ECHO_BYTES];

    for (;;) {
        struct beowire_completion done = {0};
        if (beowire_receive(endpoint, BEOWIRE_ANY_PEER, 0, UINT64_MAX, room, sizeof room, room) !=
            0) {
            _exit(1);
        }
        while (done.context != room) { /* what was sent before ends meanwhile */
            (void)beowire_wait(endpoint, SECOND);
            (void)beowire_poll(endpoint, &done, 1);
        }
        if (done.status != 0 ||
            beowire_send(endpoint, done.peer, done.tag, 0, room, done.bytes, NULL) != 0) {
            _exit(1);
        }
        while (beowire_flush(endpoint, SECOND) != 0) {
            /* `room` is its */
        }
    }
}

/** A short and a long message, there and back. @return the endpoint, to be closed */
static beowire_endpoint *exchange_with(const struct remote *remote, const char *interface,
                                       const char *lanes)
{
    static const uint64_t sizes[] = {8, 20000, ECHO_BYTES};
    static uint8_t sent[ECHO_BYTES];
    static uint8_t got[ECHO_BYTES];
    beowire_endpoint *endpoint = open_with_lanes(interface, lanes);
    beowire_peer peer = meet(endpoint, remote);

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(sent, (int)(17 + i), sizeof sent);
        assert_int_equal(beowire_receive(endpoint, peer, i, 0, got, sizeof got, got), 0);
        assert_int_equal(beowire_send(endpoint, peer, i, 0, sent, sizes[i], sent), 0);
        for (unsigned ended = 0; ended < 2; ended++) {
            assert_int_equal(await(endpoint).status, 0);
        }
        assert_memory_equal(got, sent, sizes[i]);
    }
    return endpoint;
}

static void end_of(const struct remote *remote)
{
    assert_int_equal(kill(remote->pid, SIGKILL), 0);
    reap(remote);
}

/** What the one has for its first interface the other has for its second, or not at all. */
TEST(beowire_send__over_the_network_that_both_have)
{
    static const char *const interfaces[][2] = {
        {"two0,end0", "end1"}, {"end0", "two1,end1"}, {"two0,end0", "end1,two1"}};
    static const char *const lanes[] = {"udp", LANES};

    for (unsigned i = 0; i < sizeof interfaces / sizeof *interfaces; i++) {
        for (unsigned j = 0; j < sizeof lanes / sizeof *lanes; j++) {
            struct remote remote = start(interfaces[i][1], lanes[j], echo);
            beowire_endpoint *endpoint = exchange_with(&remote, interfaces[i][0], lanes[j]);
            assert_int_equal(beowire_close(endpoint, PATIENCE_NS), 0);
            end_of(&remote);
        }
    }
}

/** As containers' bridges: the same address on both hosts, so that each finds itself there, which
 *  refuses. */
static void add_own_network(bool is_far)
{
    namespace_go(is_far ? far : here);
    run_ip("link add docker0 type veth peer name inner0");
    run_ip("address add 172.17.0.1/16 dev docker0");
    run_ip("link set docker0 up");
    run_ip("link set inner0 up");
    namespace_wait_until_running("docker0");
    namespace_go(here);
}

static void remove_own_network(bool is_far)
{
    namespace_go(is_far ? far : here);
    run_ip("link delete docker0");
    namespace_go(here);
}

TEST(beowire_send__past_an_address_that_both_have)
{
    static const char *const lanes[] = {"udp", LANES};

    add_own_network(false);
    add_own_network(true);
    for (unsigned j = 0; j < sizeof lanes / sizeof *lanes; j++) {
        struct remote remote = start("docker0,end1", lanes[j], echo);
        beowire_endpoint *endpoint = exchange_with(&remote, "docker0,end0", lanes[j]);
        assert_int_equal(beowire_close(endpoint, PATIENCE_NS), 0);
        end_of(&remote);
    }
    remove_own_network(false);
    remove_own_network(true);
}

/** The other way is down for longer than a refusal is listened to: it is not the last word. */
TEST(beowire_send__past_a_refusal_while_the_other_way_is_down)
{
    add_own_network(false);
    add_own_network(true);
    struct remote remote = start("docker0,end1", "udp", echo);
    beowire_endpoint *endpoint = open_with_lanes("docker0,end0", "udp");
    beowire_peer peer = meet(endpoint, &remote);
    char got[2] = "";
    set_link(true, "end1", "down");
    assert_int_equal(beowire_receive(endpoint, peer, 1, 0, got, 1, got), 0);
    assert_int_equal(beowire_send(endpoint, peer, 1, 0, "x", 1, NULL), 0);
    assert_int_equal(beowire_wait(endpoint, SECOND), 0);
    set_link(true, "end1", "up");
    for (unsigned ended = 0; ended < 2; ended++) {
        assert_int_equal(await(endpoint).status, 0);
    }
    assert_string_equal(got, "x");
    assert_int_equal(beowire_close(endpoint, PATIENCE_NS), 0);
    end_of(&remote);
    remove_own_network(false);
    remove_own_network(true);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    return run_listed_tests(make_hosts, NULL);
}
