/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_device.h"

#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "interface_index.h"
#include "local.h"

/* The most GIDs of a device that are examined. */
#define GIDS_MAX 512

/* Limit of operations, even if a device supports longer ones. */
#define MESSAGE_BYTES_MAX (UINT64_C(1) << 30)
#define READS_MAX 16

#define DEVICES_IN_SYSTEM "/sys/class/infiniband"

static const uint8_t MAPPED[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

/* An IP address as a GID. */
static union ibv_gid gid_of(const struct sockaddr_storage *address)
{
    union ibv_gid gid = {0};
    if (address->ss_family == AF_INET6) {
        memcpy(gid.raw, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof gid.raw);
    } else {
        memcpy(gid.raw, MAPPED, sizeof MAPPED);
        memcpy(gid.raw + sizeof MAPPED, &((const struct sockaddr_in *)address)->sin_addr, 4);
    }
    return gid;
}

/* How well an entry matches; 0: not at all. */
static int worth(const struct ibv_gid_entry *entry, uint32_t interface_index,
                 const union ibv_gid *wanted)
{
    if (entry->gid_type != IBV_GID_TYPE_ROCE_V2 ||
        (interface_index != 0 && entry->ndev_ifindex != interface_index)) {
        return 0;
    }
    if (wanted != NULL) {
        return memcmp(entry->gid.raw, wanted->raw, sizeof wanted->raw) == 0 ? 1 : 0;
    }
    return memcmp(entry->gid.raw, MAPPED, sizeof MAPPED) == 0 ? 2 : 1;
}

const struct ibv_gid_entry *verbs_device_choose(const struct ibv_gid_entry *entries, size_t count,
                                                uint32_t interface_index,
                                                const union ibv_gid *wanted)
{
    const struct ibv_gid_entry *best = NULL;
    int most = 0;
    for (size_t i = 0; i < count; i++) {
        const int here = worth(&entries[i], interface_index, wanted);
        if (here > most) {
            most = here;
            best = &entries[i];
        }
    }
    return best;
}

/* The state of the search, used to report why nothing was found. */
struct search {
    const char *interface;    /* NULL: any */
    uint32_t interface_index; /* or 0 */
    union ibv_gid gid;        /* of the interface's IP address */
    bool has_gid;
    char seen[64]; /* the name of a device that could not be opened */
    int refused;   /* and why: an errno */
};

/* Uses the device if one of its ports belongs to the interface. */
static bool take(struct verbs_device *device, const struct search *search, char *error,
                 size_t error_bytes, int *result)
{
    struct ibv_gid_entry *entries = calloc(GIDS_MAX, sizeof *entries);
    struct ibv_device_attr attributes;
    struct ibv_port_attr port;
    const ssize_t count =
        entries == NULL ? 0 : ibv_query_gid_table(device->context, entries, GIDS_MAX, 0);
    const struct ibv_gid_entry *entry =
        verbs_device_choose(entries, count > 0 ? (size_t)count : 0, search->interface_index,
                            search->has_gid ? &search->gid : NULL);
    const bool found = entry != NULL && ibv_query_device(device->context, &attributes) == 0 &&
                       ibv_query_port(device->context, (uint8_t)entry->port_num, &port) == 0;
    if (found) {
        const int reads = attributes.max_qp_rd_atom < attributes.max_qp_init_rd_atom
                              ? attributes.max_qp_rd_atom
                              : attributes.max_qp_init_rd_atom;
        device->port = (uint8_t)entry->port_num;
        device->gid_index = (uint8_t)entry->gid_index;
        device->gid = entry->gid;
        device->mtu = port.active_mtu;
        device->message_bytes_max =
            port.max_msg_sz < MESSAGE_BYTES_MAX ? port.max_msg_sz : MESSAGE_BYTES_MAX;
        device->reads_max = (uint8_t)(reads < READS_MAX ? reads : READS_MAX);
        *result = 0;
        if (port.state != IBV_PORT_ACTIVE) {
            (void)snprintf(error, error_bytes, "port %u of %s is down: ip link set %s up",
                           entry->port_num, ibv_get_device_name(device->context->device),
                           search->interface == NULL ? "INTERFACE" : search->interface);
            *result = -ENETDOWN;
        }
    }
    free(entries);
    return found;
}

static bool system_has_devices(void)
{
    DIR *directory = opendir(DEVICES_IN_SYSTEM);
    bool some = false;
    if (directory != NULL) {
        for (struct dirent *entry; !some && (entry = readdir(directory)) != NULL;) {
            some = entry->d_name[0] != '.';
        }
        (void)closedir(directory);
    }
    return some;
}

/* Reports why there is none, and what to type. */
static int explain(const struct search *search, int devices, char *error, size_t error_bytes)
{
    if (search->refused != 0) {
        (void)snprintf(error, error_bytes,
                       "the RDMA device %s cannot be opened: %s: this user needs the right to open"
                       " its file in /dev/infiniband",
                       search->seen, strerror(search->refused));
        return -search->refused;
    }
    if (devices == 0 && system_has_devices()) {
        (void)snprintf(error, error_bytes,
                       "programs cannot use the RDMA devices: modprobe ib_uverbs");
        return -ENODEV;
    }
    const char *name = search->interface == NULL ? "eth0" : search->interface;
    (void)snprintf(error, error_bytes,
                   "no RDMA device over Ethernet (RoCE v2) %s%s; any card can have one in software:"
                   " modprobe rdma_rxe && rdma link add rxe0 type rxe netdev %s",
                   search->interface == NULL ? "here" : "over ",
                   search->interface == NULL ? "" : name, name);
    return -ENODEV;
}

static int search_devices(struct verbs_device *device, struct search *search, char *error,
                          size_t error_bytes)
{
    int count = 0;
    struct ibv_device **devices = ibv_get_device_list(&count);
    bool found = false;
    int result = -ENODEV;
    for (int i = 0; devices != NULL && i < count && !found; i++) {
        device->context = ibv_open_device(devices[i]);
        if (device->context == NULL) {
            search->refused = errno == 0 ? EIO : errno;
            (void)snprintf(search->seen, sizeof search->seen, "%s",
                           ibv_get_device_name(devices[i]));
            continue;
        }
        found = take(device, search, error, error_bytes, &result);
        if (!found || result != 0) {
            verbs_device_close(device);
        }
    }
    if (devices != NULL) {
        ibv_free_device_list(devices);
    }
    return found ? result : explain(search, count, error, error_bytes);
}

int verbs_device_open(struct verbs_device *device, const struct driver_options *options,
                      char *error, size_t error_bytes)
{
    char interface[IF_NAMESIZE];
    struct sockaddr_storage address;
    struct search search = {0};
    *device = (struct verbs_device){0};
    if (options->interface[0] == '\0' && options->local_address[0] == '\0') {
        return search_devices(device, &search, error, error_bytes);
    }
    int result = local_interface(options, interface, error, error_bytes);
    if (result != 0) {
        return result;
    }
    const int index = interface_index(interface);
    if (index < 0) {
        (void)snprintf(error, error_bytes, "there is no interface '%.20s' on this node", interface);
        return index;
    }
    search.interface = interface;
    search.interface_index = (uint32_t)index;
    /* An interface without an IP address still has a GID, made of its MAC. */
    if (local_address(options, &address, error, error_bytes) == 0) {
        search.has_gid = true;
        search.gid = gid_of(&address);
    }
    return search_devices(device, &search, error, error_bytes);
}

void verbs_device_close(struct verbs_device *device)
{
    if (device->context != NULL) {
        (void)ibv_close_device(device->context);
    }
    device->context = NULL;
}
