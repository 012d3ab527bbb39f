/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp.c - raw Ethernet frames over AF_XDP (xdp_socket.h), with nothing on top.
 *
 *   xdp           in copy mode, looks at the receive ring without pause
 *   xdp-poll      in copy mode, sleeps in poll() until something is there
 *   xdp-zerocopy  in zero-copy mode, looks as xdp does
 *
 * A message is cut into frames, which look as those of the packet driver (packet_socket.h) but for
 * their EtherType, 0x88B7; a lost frame loses its message.
 *
 * A queue of an interface has one such socket: so a session has it from prepare() until flush(),
 * and sessions that take turns, as those of a comparison do, do not get into one another's way.
 *
 * In copy mode frames are looked at in the kernel's generic hook. While the ends look for each
 * other, a packet socket (the tap) sees whether it passes over them; a virtual interface's own hook
 * is used then.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "driver.h"
#include "fail.h"
#include "local.h"
#include "packet_socket.h"
#include "spin.h"
#include "text.h"
#include "xdp_socket.h"

#define ETHERTYPE 0x88B7
#define MESSAGE_BYTES_MAX (UINT64_C(256) << 10)

/* A frame number that no message has, as in packet.c. */
#define GREETING 0xFFFF
#define GREETING_INTERVAL_NS UINT64_C(5000000)
#define GREETING_REPEATS 8

/* What is known of the other end. A greeting says, as its message's number, whether its sender has
 * heard one: only then can the one that receives it stop. */
enum heard {
    HEARD_NOTHING,
    HEARD_GREETING,
    HEARD_ANSWER,
};

/* A queue that was given back is free a moment later. */
#define BUSY_MS 5
#define BUSY_TRIES 200

#define WAIT_MS 100
#define NS_PER_MS UINT64_C(1000000)

struct session {
    const struct driver_host *host;
    uint64_t loss_timeout_ns;
    bool sleeps;
    int interface_index;
    char card[32]; /* the kernel's driver of the interface; "" if it does not say */
    enum xdp_hook hook;
    size_t payload_bytes_max; /* of one frame */
    uint16_t port;
    uint16_t message;           /* number of the last message sent */
    struct frame_header header; /* filled in but for message, frame and bytes */
    bool attached;
    struct xdp_socket xdp;
};

static bool stopped(const struct session *session)
{
    return session->host->stopped(session->host->context);
}

static void read_card(struct session *session, int fd, struct ifreq request)
{
    struct ethtool_drvinfo about = {.cmd = ETHTOOL_GDRVINFO};
    request.ifr_data = (void *)&about;
    if (ioctl(fd, SIOCETHTOOL, &request) == 0) {
        (void)snprintf(session->card, sizeof session->card, "%s", about.driver);
    }
}

/* What has to be known of the interface: index, MAC, MTU, kind. */
static int read_interface(struct session *session, const char *name, char *error,
                          size_t error_bytes)
{
    struct ifreq request = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return fail(error, error_bytes, "cannot ask for the interface");
    }
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    int result = 0;
    if (ioctl(fd, SIOCGIFINDEX, &request) != 0) {
        result = fail(error, error_bytes, name);
    }
    session->interface_index = request.ifr_ifindex;
    if (result == 0 && ioctl(fd, SIOCGIFHWADDR, &request) != 0) {
        result = fail(error, error_bytes, name);
    }
    if (result == 0 && request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
        (void)snprintf(error, error_bytes,
                       "%s is no Ethernet interface, of which each end needs one: use --lab, or"
                       " --hosts and --interface",
                       name);
        result = -EPROTONOSUPPORT;
    }
    memcpy(session->header.from, request.ifr_hwaddr.sa_data, ETH_ALEN);
    read_card(session, fd, request);
    if (result == 0 && ioctl(fd, SIOCGIFMTU, &request) != 0) {
        result = fail(error, error_bytes, name);
    }
    close(fd);
    size_t bytes = result != 0 ? 0 : (size_t)request.ifr_mtu + ETH_HLEN;
    bytes = bytes > XDP_FRAME_BYTES_MAX ? XDP_FRAME_BYTES_MAX : bytes;
    if (result == 0 && bytes <= sizeof(struct frame_header)) {
        (void)snprintf(error, error_bytes, "%s: its MTU is too small", name);
        result = -EMSGSIZE;
    }
    session->payload_bytes_max = result == 0 ? bytes - sizeof(struct frame_header) : 0;
    return result;
}

/* A queue that is taken says nothing of its card: one of a session that has just ended is free a
 * moment later; of another one it shows when it is our turn. */
static int has_zero_copy(const struct session *session, const char *name, char *error,
                         size_t error_bytes)
{
    int result = xdp_socket_try_zero_copy(session->interface_index);
    for (int tries = 0; result == -EBUSY && tries < BUSY_TRIES; tries++) {
        (void)poll(NULL, 0, BUSY_MS);
        result = xdp_socket_try_zero_copy(session->interface_index);
    }
    if (result == 0 || result == -EBUSY) {
        return 0;
    }
    if (result == -EOPNOTSUPP) {
        (void)snprintf(error, error_bytes,
                       "the kernel's driver of %s (%s) has no zero copy for AF_XDP here: i40e, ice,"
                       " ixgbe, igc, mlx5 and stmmac have, virtio_net from Linux 6.13 on, igb from"
                       " 6.14 on",
                       name, session->card[0] == '\0' ? "it has no name" : session->card);
        return result;
    }
    errno = -result;
    return fail(error, error_bytes, "no zero copy for AF_XDP");
}

/* What each end needs; `session` then knows its interface. */
static int look_around(struct session *session, const struct driver_options *options, char *error,
                       size_t error_bytes)
{
    char name[IF_NAMESIZE];
    int result = xdp_socket_permitted(error, error_bytes);
    if (result == 0) {
        result = local_interface(options, name, error, error_bytes);
    }
    if (result == 0) {
        result = read_interface(session, name, error, error_bytes);
    }
    return result == 0 && session->hook == XDP_HOOK_ZERO_COPY
               ? has_zero_copy(session, name, error, error_bytes)
               : result;
}

static int xdp_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    struct session session = {.hook = XDP_HOOK_GENERIC};
    return look_around(&session, options, reason, reason_bytes);
}

static int zero_copy_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    struct session session = {.hook = XDP_HOOK_ZERO_COPY};
    return look_around(&session, options, reason, reason_bytes);
}

static void xdp_close(void *opened)
{
    struct session *session = opened;
    if (session->attached) {
        xdp_socket_close(&session->xdp);
    }
    free(session);
}

static int open_waiting(bool sleeps, enum xdp_hook hook, const struct driver_options *options,
                        void **opened, char *error, size_t error_bytes)
{
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return -ENOMEM;
    }
    session->host = options->host;
    session->loss_timeout_ns = options->loss_timeout_ns;
    session->sleeps = sleeps;
    session->hook = hook;
    session->header.ethertype_be = htons(ETHERTYPE);
    int result = look_around(session, options, error, error_bytes);
    if (result == 0 &&
        getrandom(&session->port, sizeof session->port, 0) != (ssize_t)sizeof session->port) {
        result = fail(error, error_bytes, "no random numbers");
    }
    if (result != 0) {
        xdp_close(session);
        return result;
    }
    *opened = session;
    return 0;
}

static int spinning_open(const struct driver_options *options, void **session, char *error,
                         size_t error_bytes)
{
    return open_waiting(false, XDP_HOOK_GENERIC, options, session, error, error_bytes);
}

static int sleeping_open(const struct driver_options *options, void **session, char *error,
                         size_t error_bytes)
{
    return open_waiting(true, XDP_HOOK_GENERIC, options, session, error, error_bytes);
}

static int zero_copy_open(const struct driver_options *options, void **session, char *error,
                          size_t error_bytes)
{
    return open_waiting(false, XDP_HOOK_ZERO_COPY, options, session, error, error_bytes);
}

/* "aa:bb:cc:dd:ee:ff/PORT/BYTES" */
static int xdp_address(void *opened, char *text, size_t text_bytes)
{
    const struct session *session = opened;
    const uint8_t *mac = session->header.from;
    int length =
        snprintf(text, text_bytes, "%02x:%02x:%02x:%02x:%02x:%02x/%u/%zu", mac[0], mac[1], mac[2],
                 mac[3], mac[4], mac[5], (unsigned)session->port, session->payload_bytes_max);
    return length > 0 && (size_t)length < text_bytes ? 0 : -ENOSPC;
}

static int read_peer(struct session *session, const char *text)
{
    uint64_t port;
    uint64_t payload_bytes;
    for (size_t i = 0; i < ETH_ALEN; i++) {
        uint64_t byte;
        if (!text_number(&text, 16, i + 1 < ETH_ALEN ? ':' : '/', UINT8_MAX, &byte)) {
            return -EINVAL;
        }
        session->header.to[i] = (uint8_t)byte;
    }
    if (!text_number(&text, 10, '/', UINT16_MAX, &port) ||
        !text_number(&text, 10, '\0', XDP_FRAME_BYTES_MAX, &payload_bytes) || payload_bytes == 0) {
        return -EINVAL;
    }
    session->header.port_le = htole16((uint16_t)port);
    if (payload_bytes < session->payload_bytes_max) {
        session->payload_bytes_max = (size_t)payload_bytes; /* both ends cut alike */
    }
    return 0;
}

/* Takes the queue; of a session that has just given it back, a moment later. */
static int attach(struct session *session, char *error, size_t error_bytes)
{
    int result = session->attached ? 0 : -EBUSY;
    for (int tries = 0; result == -EBUSY && tries < BUSY_TRIES; tries++) {
        result = xdp_socket_open(&session->xdp, session->interface_index, session->hook, ETHERTYPE,
                                 error, error_bytes);
        if (result == -EBUSY) {
            (void)poll(NULL, 0, BUSY_MS);
            if (stopped(session)) {
                return -ECANCELED;
            }
        }
    }
    session->attached = result == 0;
    return result;
}

static void detach(struct session *session)
{
    if (session->attached) {
        xdp_socket_close(&session->xdp);
    }
    session->attached = false;
}

/* A frame that has arrived, its fields checked against what really did. */
struct arrival {
    uint16_t message;
    uint16_t frame;
    uint16_t bytes;
    const uint8_t *payload;
};

/* Is there a frame? One of another session counts as one that is not `valid`. */
static bool look(struct session *session, struct arrival *arrival, bool *valid)
{
    size_t bytes = 0;
    struct frame_header header;
    const uint8_t *start = xdp_socket_next(&session->xdp, &bytes);
    *valid = false;
    if (start == NULL || bytes < sizeof header) {
        return start != NULL;
    }
    memcpy(&header, start, sizeof header);
    *arrival = (struct arrival){.message = le16toh(header.message_le),
                                .frame = le16toh(header.frame_le),
                                .bytes = le16toh(header.bytes_le),
                                .payload = start + sizeof header};
    *valid = le16toh(header.port_le) == session->port && sizeof header + arrival->bytes <= bytes;
    return true;
}

/* Throws away all that has come. Returns the most that was among it. */
static enum heard drain(struct session *session)
{
    struct arrival arrival;
    bool valid;
    enum heard heard = HEARD_NOTHING;
    for (uint32_t frames = 0; frames < XDP_FRAMES && look(session, &arrival, &valid); frames++) {
        if (valid && arrival.frame == GREETING && heard != HEARD_ANSWER) {
            heard = arrival.message == HEARD_NOTHING ? HEARD_GREETING : HEARD_ANSWER;
        }
        xdp_socket_free(&session->xdp);
    }
    return heard;
}

/* Waits until the kernel has taken all that was posted. */
static int push(struct session *session)
{
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    for (;;) {
        int sent = xdp_socket_push(&session->xdp);
        int error = sent != 0 ? sent : spin_turn(&spin);
        if (error != 0) {
            return error < 0 ? error : 0;
        }
    }
}

static int post_frame(struct session *session, uint16_t frame, const uint8_t *payload, size_t bytes)
{
    uint8_t *room = xdp_socket_room(&session->xdp);
    while (room == NULL) {
        int error = push(session);
        if (error != 0) {
            return error;
        }
        room = xdp_socket_room(&session->xdp);
        if (room == NULL && stopped(session)) {
            return -ECANCELED;
        }
    }
    struct frame_header header = session->header;
    header.message_le = htole16(session->message);
    header.frame_le = htole16(frame);
    header.bytes_le = htole16((uint16_t)bytes);
    memcpy(room, &header, sizeof header);
    if (bytes > 0) {
        memcpy(room + sizeof header, payload, bytes);
    }
    size_t whole = sizeof header + bytes;
    if (whole < ETH_ZLEN) {
        memset(room + whole, 0, ETH_ZLEN - whole);
        whole = ETH_ZLEN;
    }
    xdp_socket_post(&session->xdp, (uint32_t)whole);
    return 0;
}

static int xdp_send(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;
    session->message++;
    uint16_t frame = 0;
    for (uint64_t offset = 0; offset < size; frame++) {
        size_t bytes = size - offset < session->payload_bytes_max ? (size_t)(size - offset)
                                                                  : session->payload_bytes_max;
        int error = post_frame(session, frame, (const uint8_t *)data + offset, bytes);
        if (error != 0) {
            return error;
        }
        offset += bytes;
    }
    return push(session);
}

/* One turn of a wait for a frame: sleeps, or spins. */
static int wait_turn(struct session *session, struct spin *spin, uint64_t *slept_ms)
{
    if (!session->sleeps) {
        return spin_turn(spin);
    }
    const uint64_t limit_ms = (session->loss_timeout_ns + NS_PER_MS - 1) / NS_PER_MS;
    struct pollfd poller = {.fd = session->xdp.fd, .events = POLLIN};
    int wait_ms = limit_ms < WAIT_MS ? (int)limit_ms : WAIT_MS;
    int ready = poll(&poller, 1, wait_ms);
    if (ready < 0 && errno != EINTR) {
        return -errno;
    }
    if (ready > 0) {
        return (poller.revents & POLLIN) != 0 ? 0 : -ENETDOWN;
    }
    *slept_ms += (uint64_t)wait_ms;
    if (stopped(session)) {
        return -ECANCELED;
    }
    return *slept_ms >= limit_ms ? -ETIMEDOUT : 0;
}

static int xdp_receive(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    struct spin spin = spin_start(session->host, session->loss_timeout_ns);
    uint64_t slept_ms = 0;
    uint64_t offset = 0;  /* bytes of the message that have arrived */
    uint32_t next = 0;    /* frame that has to come */
    uint16_t message = 0; /* that the frames before it belong to */
    for (;;) {
        struct arrival arrival;
        bool valid;
        if (!look(session, &arrival, &valid)) {
            int error = wait_turn(session, &spin, &slept_ms);
            if (error != 0) {
                return error;
            }
            continue;
        }
        if (valid && arrival.frame == 0) {
            message = arrival.message;
            next = 0;
            offset = 0;
        }
        uint64_t wanted =
            size - offset < session->payload_bytes_max ? size - offset : session->payload_bytes_max;
        bool fits =
            valid && arrival.frame == next && arrival.message == message && arrival.bytes == wanted;
        if (fits) {
            memcpy((uint8_t *)data + offset, arrival.payload, arrival.bytes);
            offset += wanted;
            next++;
            spin_progress(&spin);
            slept_ms = 0;
        } else {
            next = GREETING; /* wait for a new message */
        }
        xdp_socket_free(&session->xdp);
        if (fits && offset == size) {
            return 0;
        }
        int error = fits ? 0 : spin_turn(&spin);
        if (error != 0) {
            return error;
        }
    }
}

static int greet(struct session *session, enum heard heard)
{
    session->message = (uint16_t)heard;
    int result = post_frame(session, GREETING, NULL, 0);
    return result == 0 ? push(session) : result;
}

/* A packet socket for what the hook lets pass; or a negative errno. */
static int open_tap(const struct session *session)
{
    const struct sockaddr_ll here = {.sll_family = AF_PACKET,
                                     .sll_protocol = htons(ETHERTYPE),
                                     .sll_ifindex = session->interface_index};
    /* Of no protocol until it is bound: else frames of other interfaces would be in it already. */
    int tap = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (tap < 0 || bind(tap, (const struct sockaddr *)&here, sizeof here) != 0) {
        int result = -errno;
        if (tap >= 0) {
            close(tap);
        }
        return result;
    }
    return tap;
}

/* Has the hook let a frame pass that is for this session? */
static bool passes_over(const struct session *session, int tap)
{
    struct frame_header header;
    while (recv(tap, &header, sizeof header, 0) == (ssize_t)sizeof header) {
        if (le16toh(header.port_le) == session->port) {
            return true;
        }
    }
    return false;
}

/* Looks at frames in the other hook from now on. */
static int change_hook(struct session *session, char *error, size_t error_bytes)
{
    if (strcmp(session->card, "veth") != 0) {
        (void)snprintf(
            error, error_bytes,
            "the kernel's generic XDP hook passes over the frames that come, because tc or"
            " nft redirects them here: take such rules away");
        return -EOPNOTSUPP;
    }
    detach(session);
    session->hook = XDP_HOOK_DRIVER;
    return attach(session, error, error_bytes);
}

/* Greets, and waits for a frame for a moment. */
static int greet_and_wait(struct session *session, enum heard heard)
{
    struct arrival arrival;
    bool valid;
    int result = greet(session, heard);
    struct spin spin = spin_start(session->host, GREETING_INTERVAL_NS);
    while (result == 0 && !look(session, &arrival, &valid)) {
        result = spin_turn(&spin);
    }
    return result == -ETIMEDOUT ? 0 : result;
}

/* Greets until the other end has heard us and we have heard it; the queue is only lent for that. */
static int greet_each_other(struct session *session, int tap, char *error, size_t error_bytes)
{
    enum heard heard = drain(session);
    int result = 0;
    while (heard != HEARD_ANSWER && result == 0) {
        result = greet_and_wait(session, heard);
        const enum heard now = drain(session);
        heard = now > heard ? now : heard;
        if (result == 0 && session->hook == XDP_HOOK_GENERIC && passes_over(session, tap)) {
            result = change_hook(session, error, error_bytes);
        }
    }
    if (result == -ECANCELED) {
        (void)snprintf(error, error_bytes,
                       "no frame of the other end arrives: both have to be on one Ethernet segment,"
                       " and EtherType 0x88B7 must pass");
    }
    for (int repeat = 0; repeat < GREETING_REPEATS && result == 0; repeat++) {
        result = greet(session, heard);
    }
    return result;
}

static int find_peer(struct session *session, char *error, size_t error_bytes)
{
    int tap = open_tap(session);
    if (tap < 0) {
        errno = -tap;
        return fail(error, error_bytes, "no packet socket");
    }
    int result = greet_each_other(session, tap, error, error_bytes);
    close(tap);
    return result;
}

static int xdp_connect(void *opened, const char *peer, char *error, size_t error_bytes)
{
    struct session *session = opened;
    if (read_peer(session, peer) != 0) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", peer);
        return -EINVAL;
    }
    int result = attach(session, error, error_bytes);
    if (result == 0) {
        result = find_peer(session, error, error_bytes);
        detach(session);
    }
    return result;
}

static int xdp_prepare(void *opened, uint64_t size)
{
    struct session *session = opened;
    char error[DRIVER_REASON_BYTES];
    if (size > MESSAGE_BYTES_MAX) {
        return -EMSGSIZE;
    }
    int result = attach(session, error, sizeof error);
    if (result == 0) {
        (void)drain(session);
    }
    return result;
}

static int xdp_flush(void *opened)
{
    detach(opened);
    return 0;
}

#define COMMON                                                                                     \
    .abi = DRIVER_ABI, .placement = DRIVER_PAIR, .reliable = false, .min_size = 1,                 \
    .max_size = MESSAGE_BYTES_MAX, .address = xdp_address, .connect = xdp_connect,                 \
    .prepare = xdp_prepare, .send = xdp_send, .receive = xdp_receive, .flush = xdp_flush,          \
    .close = xdp_close

static const struct driver XDP = {
    COMMON,
    .name = "xdp",
    .summary = "raw Ethernet frames over AF_XDP in copy mode, spinning",
    .spins = true,
    .probe = xdp_probe,
    .open = spinning_open,
};

static const struct driver XDP_POLL = {
    COMMON,
    .name = "xdp-poll",
    .summary = "raw Ethernet frames over AF_XDP in copy mode, sleeping in poll()",
    .spins = false,
    .probe = xdp_probe,
    .open = sleeping_open,
};

static const struct driver XDP_ZERO_COPY = {
    COMMON,
    .name = "xdp-zerocopy",
    .summary = "raw Ethernet frames over AF_XDP in zero-copy mode, spinning",
    .spins = true,
    .probe = zero_copy_probe,
    .open = zero_copy_open,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&XDP, &XDP_POLL, &XDP_ZERO_COPY, NULL};
    return TABLE;
}
