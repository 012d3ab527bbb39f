/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes.h"

#include "lane/packet.h"
#include "lane/shm.h"
#include "lane/socket.h"
#include "lane/tso.h"
#include "lane/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

/** A list "a,b,c", taken apart. */
struct names {
    unsigned count;
    char at[ADDRESS_RAILS][IF_NAMESIZE];
};

/** What an opener may need to know. */
struct opening {
    const struct beowire_options *options;
    const char *interface;
    uint64_t incarnation;
    uint16_t *number; /* 0: any */
    bool is_reserved; /* the number is: by a packet lane */
    uint8_t rail;
};

static int open_shm(struct opening *opening, struct lane **lane)
{
    struct shm_lane_options options = {
        .incarnation = opening->incarnation,
        .peers = 2 * opening->options->peers,
    };
    return shm_lane_open(&options, lane);
}

static int open_packet(struct opening *opening, struct lane **lane)
{
    struct packet_lane_options options = {
        .interface = opening->interface,
        .ethertype = opening->options->ethertype,
        .endpoint = *opening->number,
        .reserves = opening->is_reserved ? NULL : opening->number,
        .rail = opening->rail,
    };
    int status = packet_lane_open(&options, lane);

    opening->is_reserved = opening->is_reserved || status == 0;
    return status;
}

static int open_tso(struct opening *opening, struct lane **lane)
{
    struct tso_lane_options options = {
        .interface = opening->interface,
        .ethertype = opening->options->ethertype,
        .endpoint = *opening->number,
        .rail = opening->rail,
    };
    return tso_lane_open(&options, lane);
}

static int open_udp(struct opening *opening, struct lane **lane)
{
    struct udp_lane_options options = {.interface = opening->interface, .rail = opening->rail};

    return udp_lane_open(&options, lane);
}

enum { KIND_SHM, KIND_PACKET, KIND_TSO, KIND_UDP };

/** Every lane of an endpoint, the quickest first. If you add one: LANES_MAX (lane.h).
 *
 *  They are opened in this order. When a process ends, Linux closes last what was opened first, and
 *  waits for tens of milliseconds for each socket of AF_PACKET: UDP comes last, so that its port is
 *  closed before, which is what tells peers that the process has ended. */
static const struct {
    const char *name;
    int (*open)(struct opening *opening, struct lane **lane);
    bool of_host; /**< one, whatever interfaces there are; else one for each of them */
} kinds[] = {
    [KIND_SHM] = {"shm", open_shm, true},
    [KIND_PACKET] = {"packet", open_packet, false},
    [KIND_TSO] = {"tso", open_tso, false},
    [KIND_UDP] = {"udp", open_udp, false},
};

#define KINDS (sizeof kinds / sizeof *kinds)

static int split(const char *list, struct names *names)
{
    names->count = 0;
    for (;;) {
        size_t length = strcspn(list, ",");
        if (length == 0 || length >= IF_NAMESIZE || names->count == ADDRESS_RAILS) {
            return -EINVAL;
        }
        char *name = names->at[names->count];
        memcpy(name, list, length);
        name[length] = '\0';
        for (unsigned i = 0; i < names->count; i++) {
            if (strcmp(names->at[i], name) == 0) {
                return -EINVAL;
            }
        }
        names->count++;
        if (list[length] == '\0') {
            return 0;
        }
        list += length + 1;
    }
}

/** Which of `kinds` are wanted? */
static int choose(const char *list, bool wanted[KINDS])
{
    struct names names;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        wanted[kind] = list == NULL;
    }
    if (list == NULL) {
        return 0;
    }
    int status = split(list, &names);
    for (unsigned i = 0; status == 0 && i < names.count; i++) {
        unsigned kind = 0;
        while (kind < KINDS && strcmp(kinds[kind].name, names.at[i]) != 0) {
            kind++;
        }
        if (kind == KINDS) {
            return -EINVAL;
        }
        wanted[kind] = true;
    }
    /* Beside DATA something has to carry the rest, to the same address. */
    return wanted[KIND_TSO] && !wanted[KIND_PACKET] ? -EINVAL : status;
}

/** Are interfaces needed for what is wanted? */
static bool needs_interface(const bool wanted[KINDS])
{
    bool needed = false;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        needed = needed || (wanted[kind] && !kinds[kind].of_host);
    }
    return needed;
}

/** Is this about what the host grants or has, so that other lanes may do? (-ENOENT: it has no
 * /proc; -EUSERS: others have what it has of it.) */
static bool is_not_granted(int status)
{
    return status == -EPERM || status == -EACCES || status == -EADDRNOTAVAIL || status == -ENOSYS ||
           status == -ENOENT || status == -EUSERS;
}

static_assert(sizeof "packet/" - 1 + IF_NAMESIZE <= sizeof((struct lane *)0)->name,
              "all names fit");

static void name_lane(char *name, size_t bytes, unsigned kind, const char *interface)
{
    (void)snprintf(name, bytes, "%s%s%s", kinds[kind].name, kinds[kind].of_host ? "" : "/",
                   kinds[kind].of_host ? "" : interface);
}

/** A frame that is not of Ethernet is not found by its number. */
static void choose_number(const struct opening *opening)
{
    while (*opening->number == 0) {
        if (getrandom(opening->number, sizeof *opening->number, 0) != sizeof *opening->number) {
            *opening->number = 0;
        }
    }
}

static void note_missing(struct lanes_missing *missing, unsigned kind, const char *interface,
                         int status)
{
    name_lane(missing->at[missing->count].name, sizeof missing->at[0].name, kind, interface);
    missing->at[missing->count++].status = status;
}

/** Opens all lanes of a kind. @return 0; why one could not be opened, so that none is of use. */
static int open_kind(struct opening *opening, unsigned kind, const struct names *interfaces,
                     struct path_lanes *lanes, struct lanes_missing *missing)
{
    unsigned rails = kinds[kind].of_host ? 1 : interfaces->count;

    for (unsigned rail = 0; rail < rails; rail++) {
        opening->interface = interfaces->at[rail];
        opening->rail = (uint8_t)rail;
        int status = kinds[kind].open(opening, &lanes->lanes[lanes->count]);
        if (status == 0) {
            struct lane *lane = lanes->lanes[lanes->count++];
            name_lane(lane->name, sizeof lane->name, kind, opening->interface);
        } else if (!is_not_granted(status)) {
            return status;
        } else {
            note_missing(missing, kind, opening->interface, status);
        }
    }
    return 0;
}

/** Notes the network of each interface: of the first IPv4 address, which the lane udp has. */
static void find_networks(const struct names *interfaces, struct path_lanes *lanes)
{
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) != 0) {
        return; /* then rails lead to those of the same number */
    }
    for (unsigned rail = 0; rail < interfaces->count; rail++) {
        struct rail_network *network = &lanes->networks[rail];
        for (const struct ifaddrs *at = all; at != NULL && network->mask == 0; at = at->ifa_next) {
            const struct sockaddr_in *address = (const void *)at->ifa_addr;
            const struct sockaddr_in *mask = (const void *)at->ifa_netmask;
            if (strcmp(at->ifa_name, interfaces->at[rail]) == 0 && address != NULL &&
                mask != NULL && address->sin_family == AF_INET) {
                *network = (struct rail_network){.address = ntohl(address->sin_addr.s_addr),
                                                 .mask = ntohl(mask->sin_addr.s_addr)};
            }
        }
    }
    freeifaddrs(all);
}

int lanes_open(const struct beowire_options *options, uint64_t incarnation, uint16_t *number,
               struct path_lanes *lanes, struct lanes_missing *missing)
{
    struct opening opening = {.options = options, .incarnation = incarnation, .number = number};
    struct names interfaces = {.count = 0};
    bool wanted[KINDS];
    int status = 0;

    lanes->count = 0;
    missing->count = 0;
    memset(lanes->networks, 0, sizeof lanes->networks);
    if (choose(options->lanes, wanted) != 0 ||
        (options->interface == NULL ? needs_interface(wanted)
                                    : split(options->interface, &interfaces) != 0)) {
        return -EINVAL;
    }
    for (unsigned kind = 0; kind < KINDS && status == 0; kind++) {
        if (wanted[kind]) {
            status = open_kind(&opening, kind, &interfaces, lanes, missing);
        }
    }
    if (status == 0 && lanes->count == 0) {
        status = missing->at[0].status;
    }
    if (status != 0) {
        lanes_close(lanes);
        return status;
    }
    find_networks(&interfaces, lanes);
    choose_number(&opening);
    return 0;
}

void lanes_busy_poll(const struct path_lanes *lanes, uint32_t time_us)
{
    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (lane->kind != LANE_SHM) {
            (void)socket_set(lane->operations->descriptor(lane), SOL_SOCKET, SO_BUSY_POLL,
                             (int)time_us);
        }
    }
}

void lanes_close(struct path_lanes *lanes)
{
    for (unsigned i = 0; i < lanes->count; i++) {
        lanes->lanes[i]->operations->close(lanes->lanes[i]);
    }
    lanes->count = 0;
}
