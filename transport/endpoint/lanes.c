/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes.h"

#include "lane/entropy.h"
#include "lane/interfaces.h"
#include "lane/lane_type.h"
#include "lane/queue_poll.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/** Every lane of an endpoint, the quickest first: LANE_KINDS. */
static const struct {
    const char *name;
    enum lane_kind kind;
    enum pull_lane_of of;
    const struct lane_type *type;
} kinds[] = {
#define KIND(capitals, name, number, of) {#name, LANE_##capitals, (of), &name##_lane_type},
    LANE_KINDS(KIND)
#undef KIND
};

#define KINDS (sizeof kinds / sizeof *kinds)

/** The most names in a list, of interfaces or of kinds. */
#define NAMES_MAX (KINDS > ADDRESS_RAILS ? KINDS : ADDRESS_RAILS)

/** The names of a list "a,b,c". */
struct names {
    unsigned count;
    char at[NAMES_MAX][IF_NAMESIZE];
};

/** @param most at most this many names, up to NAMES_MAX */
static int split(const char *list, unsigned most, struct names *names)
{
    names->count = 0;
    for (;;) {
        size_t length = strcspn(list, ",");
        if (length == 0 || length >= IF_NAMESIZE || names->count == most) {
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

/** The index in `kinds` of this name. @return KINDS: none. */
static unsigned find_name(const char *name)
{
    unsigned kind = 0;

    while (kind < KINDS && strcmp(kinds[kind].name, name) != 0) {
        kind++;
    }
    return kind;
}

static unsigned find_kind(enum lane_kind number)
{
    unsigned kind = 0;

    while (kind < KINDS && kinds[kind].kind != number) {
        kind++;
    }
    return kind;
}

/** Does each wanted kind have the one that it needs? */
static bool is_complete(const bool wanted[KINDS])
{
    bool complete = true;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        enum lane_kind beside = kinds[kind].type->beside;
        if (wanted[kind] && beside != LANE_NONE) {
            complete = complete && wanted[find_kind(beside)];
        }
    }
    return complete;
}

/** Determines which of `kinds` are wanted. */
static int choose(const char *list, bool wanted[KINDS])
{
    struct names names;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        wanted[kind] = list == NULL && !kinds[kind].type->on_request;
    }
    if (list == NULL) {
        return 0;
    }
    int status = split(list, KINDS, &names);
    for (unsigned i = 0; status == 0 && i < names.count; i++) {
        unsigned kind = find_name(names.at[i]);
        if (kind == KINDS) {
            return -EINVAL;
        }
        wanted[kind] = true;
    }
    return is_complete(wanted) ? status : -EINVAL;
}

/** Do the wanted kinds need interfaces? */
static bool needs_interface(const bool wanted[KINDS])
{
    bool needed = false;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        needed = needed || (wanted[kind] && kinds[kind].of == LANE_OF_RAIL);
    }
    return needed;
}

bool lanes_need_interface(const char *list)
{
    bool wanted[KINDS];

    return choose(list, wanted) != 0 || needs_interface(wanted);
}

/** Does the host not allow or have it, so that other lanes may be used instead (lane_type.h)? */
static bool is_not_granted(int status)
{
    return status == -EPERM || status == -EACCES || status == -EADDRNOTAVAIL ||
           status == -EAFNOSUPPORT || status == -ENOSYS || status == -ENOENT || status == -EUSERS ||
           status == -ENONET || status == -ENXIO || status == -ELIBBAD || status == -ENOPKG ||
           status == -ENOBUFS || status == -ENOLINK;
}

static_assert(sizeof "packet/" - 1 + IF_NAMESIZE <= sizeof((struct lane *)0)->name,
              "all names fit");

/** @param interface NULL: a lane of the host */
static void name_lane(char *name, size_t bytes, unsigned kind, const char *interface)
{
    (void)snprintf(name, bytes, "%s%s%s", kinds[kind].name, interface != NULL ? "/" : "",
                   interface != NULL ? interface : "");
}

/** Chooses a random number if there is no packet lane, where it need not be unique. @return 0 or a
 *  negative errno. */
static int choose_number(uint16_t *number)
{
    int status = 0;

    while (status == 0 && *number == 0) {
        status = entropy_fill(number, sizeof *number);
    }
    return status;
}

static void note_missing(struct lanes_missing *missing, unsigned kind,
                         const struct lane_opening *opening, int status)
{
    const struct lane_type *type = kinds[kind].type;
    struct lane_missing *added = missing_add(missing, status);
    char better[LANES_REASON_BYTES] = "";

    if (added == NULL) {
        return;
    }
    name_lane(added->name, sizeof added->name, kind, opening->interface);
    if (type->explain != NULL && type->explain(status, opening, better, sizeof better)) {
        memcpy(added->reason, better, sizeof added->reason);
    }
}

/** Is there a lane on this rail that takes the place of one of this kind? */
static bool has_place(const struct path_lanes *lanes, enum lane_kind kind, unsigned rail)
{
    bool taken = false;

    for (unsigned i = 0; i < lanes->count; i++) {
        const struct lane *lane = lanes->lanes[i];
        taken = taken || (!lane->of_host && lane->rail == rail && lane->kind == kind);
    }
    return taken;
}

/** Opens one lane, unless the one that it needs is missing. */
static int open_lane(struct lane_opening *opening, unsigned kind, const struct path_lanes *lanes,
                     struct lane **lane)
{
    const struct lane_type *type = kinds[kind].type;

    return type->beside != LANE_NONE && !has_place(lanes, type->beside, opening->rail)
               ? -ENOLINK
               : type->open(opening, lane);
}

/** Opens all lanes of a kind. @return 0; the error of one that could not be opened, so that none
 *  can be used. */
static int open_kind(struct lane_opening *opening, unsigned kind, const struct names *interfaces,
                     struct path_lanes *lanes, struct lanes_missing *missing)
{
    bool of_rail = kinds[kind].of == LANE_OF_RAIL;
    unsigned count = of_rail ? interfaces->count : 1;

    for (unsigned i = 0; i < count; i++) {
        opening->interface = of_rail ? interfaces->at[i] : NULL;
        opening->rail = (uint8_t)i;
        opening->why[0] = '\0';
        if (of_rail && has_place(lanes, kinds[kind].kind, i)) {
            continue;
        }
        int status = open_lane(opening, kind, lanes, &lanes->lanes[lanes->count]);
        if (status == 0) {
            struct lane *lane = lanes->lanes[lanes->count++];
            name_lane(lane->name, sizeof lane->name, kind, opening->interface);
            missing_add_lacks(missing, lane);
        } else if (!is_not_granted(status)) {
            return status;
        } else {
            note_missing(missing, kind, opening, status);
        }
    }
    return 0;
}

/** Sets the network of each interface: of its first IPv4 address, which the lane udp uses. */
static void find_networks(const struct names *interfaces, struct path_lanes *lanes)
{
    struct interfaces listed;

    if (interfaces_open(&listed) != 0) {
        return; /* then rails are paired by number */
    }
    for (unsigned rail = 0; rail < interfaces->count; rail++) {
        struct rail_network *network = &lanes->networks[rail];
        for (const struct ifaddrs *at = listed.all; at != NULL && network->mask == 0;
             at = at->ifa_next) {
            const struct sockaddr_in *address = (const void *)at->ifa_addr;
            const struct sockaddr_in *mask = (const void *)at->ifa_netmask;
            if (strcmp(at->ifa_name, interfaces->at[rail]) == 0 && address != NULL &&
                mask != NULL && address->sin_family == AF_INET) {
                *network = (struct rail_network){.address = ntohl(address->sin_addr.s_addr),
                                                 .mask = ntohl(mask->sin_addr.s_addr)};
            }
        }
    }
    interfaces_close(&listed);
}

int lanes_open(const struct beowire_options *options, uint64_t incarnation, uint16_t *number,
               struct path_lanes *lanes, struct lanes_missing *missing)
{
    struct lane_opening opening = {
        .incarnation = incarnation,
        .peers = 2 * options->peers, /* those named, and as many others */
        .ethertype = options->ethertype,
        .number = number,
    };
    struct names interfaces = {.count = 0};
    bool wanted[KINDS];
    int status = 0;

    lanes->count = 0;
    missing->count = 0;
    memset(lanes->networks, 0, sizeof lanes->networks);
    if (choose(options->lanes, wanted) != 0 ||
        (options->interface == NULL ? needs_interface(wanted)
                                    : split(options->interface, ADDRESS_RAILS, &interfaces) != 0)) {
        return -EINVAL;
    }
    opening.rails = needs_interface(wanted) ? interfaces.count : 0;
    for (unsigned i = 0; i < interfaces.count; i++) {
        opening.interfaces[i] = interfaces.at[i];
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
        lanes_close(lanes, true);
        return status;
    }
    find_networks(&interfaces, lanes);
    status = choose_number(number);
    if (status != 0) {
        lanes_close(lanes, true);
    }
    return status;
}

/** A descriptor of a lane of this rail by which the kernel can find the card's queue. @return -1:
 *  none. */
static int find_queue(const struct path_lanes *lanes, unsigned rail)
{
    int found = -1;

    for (unsigned i = 0; i < lanes->count && found < 0; i++) {
        const struct lane *lane = lanes->lanes[i];
        if (lane->learns_queue && lane->rail == rail) {
            found = lane->operations->descriptor(lane);
        }
    }
    return found;
}

void lanes_busy_poll(const struct path_lanes *lanes, uint32_t time_us)
{
    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (!lane->shares_memory) { /* it has no card to poll */
            queue_poll_allow(lane->operations->descriptor(lane), time_us);
        }
        if (lane->operations->busy_poll != NULL) {
            lane->operations->busy_poll(lane, time_us, find_queue(lanes, lane->rail));
        }
    }
}

static void *close_one(void *socket)
{
    (void)close(*(const int *)socket);
    return NULL;
}

/** Closes sockets in threads, so that the kernel's delays overlap. */
static void close_together(int *sockets, unsigned count)
{
    pthread_t threads[LANES_MAX * LANE_SLOW_SOCKETS_MAX];
    unsigned started = 0;
    sigset_t all;
    sigset_t before;

    sigfillset(&all); /* signals are for the application */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started + 1 < count &&
           pthread_create(&threads[started], NULL, close_one, &sockets[started]) == 0) {
        started++;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (unsigned i = started; i < count; i++) {
        (void)close(sockets[i]);
    }
    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

void lanes_close(struct path_lanes *lanes, bool together)
{
    int slow[LANES_MAX * LANE_SLOW_SOCKETS_MAX];
    unsigned count = 0;

    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (together && lane->operations->part_with != NULL) {
            count += lane->operations->part_with(lane, &slow[count]);
        }
        lane->operations->close(lane);
    }
    close_together(slow, count);
    lanes->count = 0;
}
