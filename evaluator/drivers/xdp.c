/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp.c - raw Ethernet frames only, over AF_XDP. Socket and program are those of the transport's
 * lane (lane/xdp/); frames are also sent through the socket.
 *
 *   xdp           in copy mode, polls the receive ring
 *   xdp-poll      in copy mode, sleeps in poll()
 *   xdp-zerocopy  in zero-copy mode, polls like xdp
 *
 * A queue of an interface has only one such socket. So a session has it from prepare() to flush(),
 * and sessions that take turns, as in a comparison, do not conflict.
 *
 * In copy mode the program is in the kernel's generic hook. While the ends exchange greetings, a
 * packet socket (the tap) shows whether frames bypass the program. If so, a virtual interface's own
 * hook is used.
 */
#include "frames.h" /* before kernel headers, which conflict with musl's */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
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
#include "lane/xdp/xdp_program.h"
#include "lane/xdp/xdp_socket.h"
#include "local.h"
#include "spin.h"

#define ETHERTYPE 0x88B7

/* Longest frame; a virtual interface's own hook allows little more. */
#define FRAME_BYTES_MAX 3500

_Static_assert(offsetof(struct frame_header, port_le) == XDP_ENDPOINT_AT,
               "the program looks for the port there");

/* A queue becomes free shortly after its socket is closed. */
#define BUSY_MS 5
#define BUSY_TRIES 200

#define WAIT_MS 100
#define NS_PER_MS UINT64_C(1000000)

struct session {
    struct frames frames; /* first */
    bool sleeps;
    bool of_driver; /* in the interface's own hook, else in the generic one */
    enum xdp_use use;
    int interface_index;
    uint32_t mtu;
    char card[32]; /* name of the interface's kernel driver; "": unknown */
    int tap;       /* while greeting, a packet socket for frames that bypass the program */
    bool attached;
    struct xdp_socket socket;
    struct xdp_program program;
    struct lane_incoming taken;     /* the frame that next_frame() returned, if any */
    uint32_t free[XDP_SENT_FRAMES]; /* unused chunks for sending */
    uint32_t free_count;
};

static void read_card(struct session *session, int fd, struct ifreq request)
{
    struct ethtool_drvinfo about = {.cmd = ETHTOOL_GDRVINFO};
    request.ifr_data = (void *)&about;
    if (ioctl(fd, SIOCETHTOOL, &request) == 0) {
        (void)snprintf(session->card, sizeof session->card, "%s", about.driver);
    }
}

/* Reads index, MAC, MTU and kernel driver of the interface. */
static int read_interface(struct session *session, const char *name, char *error,
                          size_t error_bytes)
{
    struct ifreq request = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return fail(error, error_bytes, "cannot read the interface");
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
                       "%s is not an Ethernet interface, which each end needs: use --lab, or"
                       " --hosts and --interface",
                       name);
        result = -EPROTONOSUPPORT;
    }
    memcpy(session->frames.header.from, request.ifr_hwaddr.sa_data, ETH_ALEN);
    read_card(session, fd, request);
    if (result == 0 && ioctl(fd, SIOCGIFMTU, &request) != 0) {
        result = fail(error, error_bytes, name);
    }
    close(fd);
    session->mtu = result == 0 ? (uint32_t)request.ifr_mtu : 0;
    size_t bytes = (size_t)session->mtu + ETH_HLEN;
    bytes = bytes > FRAME_BYTES_MAX ? FRAME_BYTES_MAX : bytes;
    if (result == 0 && bytes <= sizeof(struct frame_header)) {
        (void)snprintf(error, error_bytes, "%s: its MTU is too small", name);
        result = -EMSGSIZE;
    }
    session->frames.payload_bytes_max = result == 0 ? bytes - sizeof(struct frame_header) : 0;
    return result;
}

static int refuse(int error, char *reason, size_t reason_bytes)
{
    if (error == -EPERM) {
        (void)snprintf(reason, reason_bytes,
                       "needs CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW of the host itself: run as"
                       " root");
        return -EPERM;
    }
    if (error == -EAFNOSUPPORT || error == -EINVAL || error == -ENOSYS) {
        (void)snprintf(reason, reason_bytes,
                       "this kernel has no AF_XDP: it needs Linux 5.9 with CONFIG_XDP_SOCKETS");
        return -EAFNOSUPPORT;
    }
    errno = -error;
    return fail(reason, reason_bytes, "AF_XDP sockets do not work here");
}

/* May this process have such sockets, and programs? */
static int permitted(char *reason, size_t reason_bytes)
{
    const struct xdp_filter filter = {.ethertype = ETHERTYPE, .bytes_max = FRAME_BYTES_MAX};
    struct xdp_program program;
    int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    int result = fd < 0 ? -errno : xdp_program_load(&program, &filter);
    if (fd >= 0) {
        close(fd);
    }
    if (result != 0) {
        return refuse(result, reason, reason_bytes);
    }
    xdp_program_close(&program);
    return 0;
}

/* Tests zero copy by binding a socket. A busy queue says nothing about the card, so it counts as
 * success: a session that has just ended frees it soon, and otherwise attach() reports it. */
static int has_zero_copy(const struct session *session, const char *name, char *error,
                         size_t error_bytes)
{
    struct xdp_socket tried;
    int result = -EUSERS;
    for (int tries = 0; result == -EUSERS && tries < BUSY_TRIES; tries++) {
        (void)poll(NULL, 0, tries == 0 ? 0 : BUSY_MS);
        result = xdp_socket_open(&tried, session->interface_index, session->mtu, session->use);
    }
    if (result == 0) {
        xdp_socket_close(&tried);
    }
    if (result == 0 || result == -EUSERS) {
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

/* Checks what each end needs, and reads its interface into `session`. */
static int look_around(struct session *session, const struct driver_options *options, char *error,
                       size_t error_bytes)
{
    char name[IF_NAMESIZE];
    int result = permitted(error, error_bytes);
    if (result == 0) {
        result = local_interface(options, name, error, error_bytes);
    }
    if (result == 0) {
        result = read_interface(session, name, error, error_bytes);
    }
    return result == 0 && session->use == XDP_SENDS_ZERO_COPY
               ? has_zero_copy(session, name, error, error_bytes)
               : result;
}

static int xdp_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    struct session session = {.use = XDP_SENDS};
    return look_around(&session, options, reason, reason_bytes);
}

static int zero_copy_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    struct session session = {.use = XDP_SENDS_ZERO_COPY};
    return look_around(&session, options, reason, reason_bytes);
}

static void detach(struct session *session)
{
    if (session->attached) {
        xdp_program_close(&session->program);
        xdp_socket_close(&session->socket);
    }
    session->attached = false;
}

static void xdp_close(void *opened)
{
    detach(opened);
    free(opened);
}

static int open_waiting(bool sleeps, enum xdp_use use, const struct driver_options *options,
                        void **opened, char *error, size_t error_bytes)
{
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return -ENOMEM;
    }
    struct frames *frames = &session->frames;
    frames->host = options->host;
    frames->loss_timeout_ns = options->loss_timeout_ns;
    frames->header.ethertype_be = htons(ETHERTYPE);
    session->sleeps = sleeps;
    session->of_driver = use == XDP_SENDS_ZERO_COPY;
    session->use = use;
    int result = look_around(session, options, error, error_bytes);
    if (result == 0 &&
        getrandom(&frames->port, sizeof frames->port, 0) != (ssize_t)sizeof frames->port) {
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
    return open_waiting(false, XDP_SENDS, options, session, error, error_bytes);
}

static int sleeping_open(const struct driver_options *options, void **session, char *error,
                         size_t error_bytes)
{
    return open_waiting(true, XDP_SENDS, options, session, error, error_bytes);
}

static int zero_copy_open(const struct driver_options *options, void **session, char *error,
                          size_t error_bytes)
{
    return open_waiting(false, XDP_SENDS_ZERO_COPY, options, session, error, error_bytes);
}

static int try_to_attach(struct session *session)
{
    struct xdp_filter filter = {.ethertype = ETHERTYPE, .endpoint = session->frames.port};
    int result =
        xdp_socket_open(&session->socket, session->interface_index, session->mtu, session->use);
    if (result != 0) {
        return result;
    }
    filter.bytes_max = xdp_socket_bytes_max(&session->socket);
    memcpy(filter.mac, session->frames.header.from, sizeof filter.mac);
    session->attached = true;
    session->free_count = 0;
    while (session->free_count < XDP_SENT_FRAMES) {
        session->free[session->free_count] = XDP_SENT_FRAMES + session->free_count;
        session->free_count++;
    }
    result = xdp_program_load(&session->program, &filter);
    if (result == 0) {
        result = xdp_program_attach(&session->program, session->interface_index,
                                    session->socket.socket, session->of_driver);
    }
    if (result != 0) {
        detach(session);
    }
    return result == -EBUSY || result == -EEXIST ? -EUSERS : result;
}

/* Gets the queue, waiting a short time for a session that has just ended. */
static int attach(struct session *session, char *error, size_t error_bytes)
{
    int result = session->attached ? 0 : try_to_attach(session);
    for (int tries = 1; result == -EUSERS && tries < BUSY_TRIES; tries++) {
        (void)poll(NULL, 0, BUSY_MS);
        if (session->frames.host->stopped(session->frames.host->context)) {
            return -ECANCELED;
        }
        result = try_to_attach(session);
    }
    if (result == -EUSERS) {
        (void)snprintf(error, error_bytes,
                       "another program has the interface's queue 0 or its XDP hook: end it");
        return -EBUSY;
    }
    if (session->use == XDP_SENDS && session->of_driver &&
        (result == -ERANGE || result == -EOPNOTSUPP)) {
        (void)snprintf(
            error, error_bytes,
            "in a lab with --rate, --delay or --loss the virtual interface has no hook for"
            " XDP at this MTU: use --mtu 3000 or less");
        return result;
    }
    if (result != 0) {
        (void)refuse(result, error, error_bytes);
    }
    return result;
}

/* ---- frames out ----------------------------------------------------------------------------- */

/* Takes back the chunks of sent frames. */
static void reclaim(struct session *session)
{
    struct xdp_ring *sent = &session->socket.completion;
    const uint64_t *entries = sent->entries;
    uint32_t end = __atomic_load_n(sent->producer, __ATOMIC_ACQUIRE);
    while (sent->next != end && session->free_count < XDP_SENT_FRAMES) {
        uint64_t address = entries[sent->next++ % XDP_SENT_FRAMES];
        session->free[session->free_count++] = (uint32_t)(address / session->socket.chunk_bytes);
    }
    __atomic_store_n(sent->consumer, sent->next, __ATOMIC_RELEASE);
}

/* Makes the kernel send some posted frames. 1: all are sent; 0: not yet. */
static int push_some(struct session *session)
{
    const struct xdp_ring *posted = &session->socket.transmit;
    /* One call sends a few dozen frames. */
    if (sendto(session->socket.socket, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN &&
        errno != EBUSY && errno != ENOBUFS && errno != EINTR) {
        return -errno;
    }
    reclaim(session);
    return __atomic_load_n(posted->consumer, __ATOMIC_ACQUIRE) == posted->next ? 1 : 0;
}

/* Waits until the kernel has taken all posted frames. */
static int push(struct session *session)
{
    struct spin spin = spin_start(session->frames.host, SPIN_FOREVER);
    for (;;) {
        int sent = push_some(session);
        int error = sent != 0 ? sent : spin_turn(&spin);
        if (error != 0) {
            return error < 0 ? error : 0;
        }
    }
}

/* Waits for a free chunk. */
static int make_room(struct session *session)
{
    const struct driver_host *host = session->frames.host;
    reclaim(session);
    while (session->free_count == 0) {
        int error = push(session);
        if (error != 0) {
            return error;
        }
        if (session->free_count == 0 && host->stopped(host->context)) {
            return -ECANCELED;
        }
    }
    return 0;
}

static int post_frame(struct session *session, uint16_t frame, const uint8_t *payload, size_t bytes)
{
    struct xdp_ring *posted = &session->socket.transmit;
    struct xdp_desc *entries = posted->entries;
    int error = session->free_count > 0 ? 0 : make_room(session);
    if (error != 0) {
        return error;
    }
    const struct frame_header header = frames_header(&session->frames, frame, bytes);
    const uint64_t at =
        (uint64_t)session->free[--session->free_count] * session->socket.chunk_bytes;
    uint8_t *room = session->socket.chunks + at;
    memcpy(room, &header, sizeof header);
    if (bytes > 0) {
        memcpy(room + sizeof header, payload, bytes);
    }
    size_t whole = sizeof header + bytes;
    if (whole < ETH_ZLEN) {
        memset(room + whole, 0, ETH_ZLEN - whole);
        whole = ETH_ZLEN;
    }
    entries[posted->next++ % XDP_SENT_FRAMES] =
        (struct xdp_desc){.addr = at, .len = (uint32_t)whole};
    __atomic_store_n(posted->producer, posted->next, __ATOMIC_RELEASE);
    return 0;
}

static int send_frame(struct frames *frames, uint16_t frame, const void *payload, size_t bytes)
{
    int result = post_frame((struct session *)frames, frame, payload, bytes);
    return result == 0 ? push((struct session *)frames) : result;
}

static int xdp_send(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;
    session->frames.message++;
    uint16_t frame = 0;
    for (uint64_t offset = 0; offset < size; frame++) {
        size_t bytes = frames_cut(&session->frames, size - offset);
        int error = post_frame(session, frame, (const uint8_t *)data + offset, bytes);
        if (error != 0) {
            return error;
        }
        offset += bytes;
    }
    return push(session);
}

/* ---- frames in ------------------------------------------------------------------------------ */

FRAMES_INLINE const uint8_t *next_frame(struct frames *frames, size_t *bytes)
{
    struct session *session = (struct session *)frames;
    if (session->socket.held == 0 && xdp_socket_take(&session->socket, &session->taken, 1) == 0) {
        return NULL;
    }
    *bytes = session->taken.bytes + ETH_HLEN;
    return session->taken.data - ETH_HLEN;
}

FRAMES_INLINE void free_frame(struct frames *frames)
{
    xdp_socket_release(&((struct session *)frames)->socket);
}

/* One turn of a wait for a frame: sleeps, or polls. */
FRAMES_INLINE int wait_turn(struct frames *frames, struct spin *spin)
{
    const struct session *session = (const struct session *)frames;
    if (!session->sleeps) {
        return spin_turn(spin);
    }
    const uint64_t limit_ms = (frames->loss_timeout_ns + NS_PER_MS - 1) / NS_PER_MS;
    struct pollfd poller = {.fd = session->socket.socket, .events = POLLIN};
    int ready = poll(&poller, 1, limit_ms < WAIT_MS ? (int)limit_ms : WAIT_MS);
    if (ready < 0 && errno != EINTR) {
        return -errno;
    }
    if (ready > 0) {
        return (poller.revents & POLLIN) != 0 ? 0 : -ENETDOWN;
    }
    spin->turns_left = 1; /* read the clock after each sleep */
    return spin_turn(spin);
}

/* A packet socket for frames that bypass the program; or a negative errno. */
static int open_tap(const struct session *session)
{
    const struct sockaddr_ll here = {.sll_family = AF_PACKET,
                                     .sll_protocol = htons(ETHERTYPE),
                                     .sll_ifindex = session->interface_index};
    /* Without a protocol until it is bound: otherwise it would already have frames of other
     * interfaces. */
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

/* Did a frame for this session bypass the program? */
static bool passes_over(const struct session *session)
{
    struct frame_header header;
    while (recv(session->tap, &header, sizeof header, 0) == (ssize_t)sizeof header) {
        if (le16toh(header.port_le) == session->frames.port) {
            return true;
        }
    }
    return false;
}

/* Moves the program to the interface's own hook. */
static int change_hook(struct session *session, char *error, size_t error_bytes)
{
    if (strcmp(session->card, "veth") != 0) {
        (void)snprintf(
            error, error_bytes,
            "the kernel's generic XDP hook does not see received frames, because tc or nft"
            " redirects them: remove such rules");
        return -EOPNOTSUPP;
    }
    detach(session);
    session->of_driver = true;
    return attach(session, error, error_bytes);
}

static int check_hook(struct frames *frames, char *error, size_t error_bytes)
{
    struct session *session = (struct session *)frames;
    return !session->of_driver && passes_over(session) ? change_hook(session, error, error_bytes)
                                                       : 0;
}

static const struct frames_carrier CARRIER = {.next = next_frame,
                                              .release = free_frame,
                                              .wait = wait_turn,
                                              .send = send_frame,
                                              .check = check_hook};

/* Has the queue only during the greetings. */
static int xdp_connect(void *opened, const char *peer, char *error, size_t error_bytes)
{
    struct session *session = opened;
    int result = frames_read_peer(&session->frames, peer, error, error_bytes);
    if (result == 0) {
        result = attach(session, error, error_bytes);
    }
    if (result != 0) {
        return result;
    }
    session->tap = open_tap(session);
    if (session->tap < 0) {
        errno = -session->tap;
        result = fail(error, error_bytes, "no packet socket");
    } else {
        result = frames_meet(&session->frames, &CARRIER, error, error_bytes);
        close(session->tap);
    }
    detach(session);
    return result;
}

static int xdp_receive(void *opened, void *data, uint64_t size)
{
    return frames_receive(opened, &CARRIER, data, size);
}

static int xdp_prepare(void *opened, uint64_t size)
{
    char error[DRIVER_REASON_BYTES];
    if (size > FRAMES_MESSAGE_BYTES_MAX) {
        return -EMSGSIZE;
    }
    int result = attach(opened, error, sizeof error);
    if (result == 0) {
        (void)frames_drain(opened, &CARRIER);
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
    .max_size = FRAMES_MESSAGE_BYTES_MAX, .address = frames_address, .connect = xdp_connect,       \
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
