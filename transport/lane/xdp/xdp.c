/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/xdp/xdp.h"

#include "lane/lane_type.h"
#include "lane/packet/packet_internal.h"
#include "lane/queue_poll.h"
#include "lane/socket.h"
#include "lane/xdp/xdp_program.h"
#include "lane/xdp/xdp_socket.h"
#include "tuning.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/** How long, and how often, to wait for a queue that may just have been freed: the kernel does that
 *  in the background, some milliseconds after its socket is closed. */
#define MOMENT_NS 1000000
#define MOMENTS_MAX 200

struct xdp_lane {
    struct packet_lane packet; /* first: it is one */
    struct xdp_socket socket;
    struct xdp_program program;
    struct queue_poll poll; /* through the socket itself */
};

static struct xdp_lane *xdp_of(struct lane *lane)
{
    return (struct xdp_lane *)(void *)lane;
}

/* ---- frames in ------------------------------------------------------------------------------ */

static unsigned take_redirected(struct xdp_lane *xdp, struct lane_incoming *frames, unsigned count)
{
    struct lane *lane = &xdp->packet.lane;
    unsigned taken = xdp_socket_take(&xdp->socket, frames, count);

    for (unsigned i = 0; i < taken; i++) {
        lane->received_bytes += frames[i].bytes;
    }
    lane->received_frames += taken;
    return taken;
}

static unsigned take(struct xdp_lane *xdp, struct lane_incoming *frames, unsigned count)
{
    unsigned taken = take_redirected(xdp, frames, count);

    return taken == count ? taken
                          : taken + packet_take(&xdp->packet, frames + taken, count - taken);
}

/** Polls the queue, through the socket itself or that of another lane. */
static bool poll_queue(struct xdp_lane *xdp)
{
    bool polled = queue_poll(xdp->poll.is_known ? &xdp->poll : &xdp->packet.poll) ||
                  (!xdp->poll.is_known && queue_poll(&xdp->poll));

    xdp->packet.lane.polling_is_costly = xdp->packet.lane.polling_is_costly || polled;
    return polled;
}

static unsigned xdp_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct xdp_lane *xdp = xdp_of(lane);
    unsigned taken = take(xdp, frames, count);

    return taken == 0 && poll_queue(xdp) ? take(xdp, frames, count) : taken;
}

static void xdp_release(struct lane *lane)
{
    xdp_socket_release(&xdp_of(lane)->socket);
    packet_release(lane);
}

static void xdp_busy_poll(struct lane *lane, uint32_t time_us, int by)
{
    struct xdp_lane *xdp = xdp_of(lane);

    packet_busy_poll(lane, time_us, by);
    queue_poll_allow(xdp->socket.socket, time_us);
    if (time_us > 0) {
        queue_poll_by(&xdp->poll, xdp->socket.socket);
    } else {
        queue_poll_stop(&xdp->poll);
    }
}

/* ---- open and close ------------------------------------------------------------------------- */

static int xdp_status(struct lane *lane)
{
    lane->dropped_frames += xdp_socket_drops(&xdp_of(lane)->socket);
    return packet_status(lane);
}

static int xdp_descriptor(const struct lane *lane)
{
    return ((const struct xdp_lane *)(const void *)lane)->socket.socket;
}

static int xdp_other_descriptor(const struct lane *lane)
{
    return ((const struct xdp_lane *)(const void *)lane)->packet.socket;
}

static void give_up(struct xdp_lane *xdp)
{
    xdp_program_close(&xdp->program);
    xdp_socket_close(&xdp->socket);
    packet_take_down(&xdp->packet);
    free(xdp);
}

/** The program runs with the socket until close(), which is called before the socket is closed. */
static unsigned xdp_part_with(struct lane *lane, int sockets[LANE_SLOW_SOCKETS_MAX])
{
    unsigned count = packet_part_with(lane, sockets);

    sockets[count++] = xdp_socket_part_with(&xdp_of(lane)->socket);
    return count;
}

static void xdp_close(struct lane *lane)
{
    give_up(xdp_of(lane));
}

static const struct lane_operations xdp_operations = {
    .publish = packet_publish,
    .reach = packet_reach,
    .send = packet_send,
    .receive = xdp_receive,
    .release = xdp_release,
    .status = xdp_status,
    .busy_poll = xdp_busy_poll,
    .descriptor = xdp_descriptor,
    .other_descriptor = xdp_other_descriptor,
    .part_with = xdp_part_with,
    .close = xdp_close,
};

/** Is it one end of a virtual cable? */
static bool is_veth(int control, const char *name)
{
    struct ethtool_drvinfo about = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq request = {.ifr_data = (void *)&about};

    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    return ioctl(control, SIOCETHTOOL, &request) == 0 && strcmp(about.driver, "veth") == 0;
}

static int look_at(const char *name, struct socket_interface *interface, bool *veth)
{
    int control = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (control < 0) {
        return -errno;
    }
    int status = socket_read_interface(control, name, interface);
    *veth = status == 0 && is_veth(control, name);
    (void)close(control);
    return status == 0 && interface->hardware != ARPHRD_ETHER ? -EADDRNOTAVAIL : status;
}

static int attach(struct xdp_lane *xdp, bool veth)
{
    int interface = xdp->packet.index;
    int socket = xdp->socket.socket;
    int status = -EOPNOTSUPP;

    if (!veth) {
        status = xdp_program_attach(&xdp->program, interface, socket, true);
    }
    if (status != 0) {
        status = xdp_program_attach(&xdp->program, interface, socket, false);
    }
    return status == -EBUSY || status == -EEXIST ? -EUSERS : status;
}

static int redirect(struct xdp_lane *xdp, const struct packet_lane_options *options, bool veth)
{
    struct xdp_filter filter = {
        .ethertype = options->ethertype,
        .endpoint = options->reserves != NULL ? *options->reserves : options->endpoint,
        .bytes_max = xdp_socket_bytes_max(&xdp->socket),
    };
    memcpy(filter.mac, xdp->packet.mac, sizeof filter.mac);
    int status = xdp_program_load(&xdp->program, &filter);

    return status != 0 ? status : attach(xdp, veth);
}

/** A queue is free shortly after its socket is closed; then there is no program either. */
static int open_socket(struct xdp_lane *xdp, const struct socket_interface *interface)
{
    const struct timespec moment = {.tv_nsec = MOMENT_NS};
    const uint32_t mtu = (uint32_t)interface->mtu;
    int status = xdp_socket_open(&xdp->socket, interface->index, mtu, XDP_RECEIVES);

    for (unsigned i = 0; status == -EUSERS && i < MOMENTS_MAX; i++) {
        if (xdp_program_is_on(interface->index)) {
            break;
        }
        (void)nanosleep(&moment, NULL);
        status = xdp_socket_open(&xdp->socket, interface->index, mtu, XDP_RECEIVES);
    }
    return status;
}

/** What is refused most often comes first, because the packet lane takes long to close. */
static int set_up(struct xdp_lane *xdp, const struct packet_lane_options *options)
{
    struct socket_interface interface = {0};
    bool veth = false;
    int status = look_at(options->interface, &interface, &veth);

    if (status == 0) {
        status = open_socket(xdp, &interface);
    }
    if (status == 0) {
        status = packet_set_up(&xdp->packet, options);
    }
    return status == 0 ? redirect(xdp, options, veth) : status;
}

int xdp_lane_open(const struct packet_lane_options *options, struct lane **lane)
{
    struct xdp_lane *xdp = calloc(1, sizeof *xdp);

    if (xdp == NULL) {
        return -ENOMEM;
    }
    xdp->packet.socket = xdp->packet.holder = -1;
    xdp->socket.socket = -1;
    xdp->program = (struct xdp_program){.map = -1, .code = -1, .link = -1};

    int status = set_up(xdp, options);
    if (status != 0) {
        give_up(xdp);
        return status;
    }
    struct lane *opened = &xdp->packet.lane;
    opened->operations = &xdp_operations;
    opened->opened_as = LANE_XDP;
    xdp_busy_poll(opened, LANE_XDP_BUSY_POLL_US, -1);
    *lane = opened;
    return 0;
}

static int xdp_open_for(struct lane_opening *opening, struct lane **lane)
{
    const struct packet_lane_options options = {
        .interface = opening->interface,
        .ethertype = opening->ethertype,
        .endpoint = *opening->number,
        .reserves = opening->number_is_reserved ? NULL : opening->number,
        .rail = opening->rail,
    };
    uint16_t wanted = *opening->number;
    int status = xdp_lane_open(&options, lane);

    if (status != 0) {
        *opening->number = wanted; /* the number is no longer reserved */
    }
    opening->number_is_reserved = opening->number_is_reserved || status == 0;
    return status;
}

static void tell_holder(const char *interface, char *text, size_t bytes)
{
    char name[XDP_NAME_BYTES];
    unsigned index = if_nametoindex(interface);
    uint32_t process = xdp_program_holder((int)index, name);

    if (process != 0) {
        (void)snprintf(text, bytes, "process %u uses it: only one endpoint of an interface can",
                       process);
    } else if (name[0] != '\0') {
        (void)snprintf(text, bytes, "the program \"%s\" is on the interface (see: ip link)", name);
    } else {
        (void)snprintf(text, bytes,
                       "another process has an AF_XDP socket on queue 0 (see: ss -fxdp)");
    }
}

static bool xdp_explain(int status, const struct lane_opening *opening, char *text, size_t bytes)
{
    switch (status) {
    case -EUSERS:
        tell_holder(opening->interface, text, bytes);
        return true;
    case -EPERM:
        (void)snprintf(text, bytes,
                       "needs CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW of the host itself: run as "
                       "root");
        return true;
    case -EAFNOSUPPORT:
        (void)snprintf(text, bytes, "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS, Linux 5.9)");
        return true;
    case -EADDRNOTAVAIL:
        (void)snprintf(text, bytes, "not an Ethernet interface");
        return true;
    default:
        return false;
    }
}

/** Only on request: an interface allows only one, and a card may be reset. */
const struct lane_type xdp_lane_type = {
    .open = xdp_open_for, .explain = xdp_explain, .on_request = true};
