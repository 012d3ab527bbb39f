/* SPDX-License-Identifier: BSD-3-Clause */
/* Which device, and whether it works. */
#include "lane/verbs/verbs_internal.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

/** The most entries of a device's table of addresses (GIDs) that are examined. */
#define GIDS_MAX 512

/** Shorter frames are useless. It is the length on Ethernet with an MTU of 1500. */
#define FRAME_BYTES_MIN 1024u

/** Bytes of the Ethernet's MTU not available to a frame at the smallest MTU for which the layers
 *  above make frames. Devices have powers of two. */
#define BELOW_BYTES (CONNECTION_SHORTEST_MTU - FRAME_BYTES_MIN)

static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};

static uint32_t bytes_of(enum ibv_mtu mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0;
}

/** @return 0: unknown. */
static uint32_t read_port(struct verbs_lane *verbs, bool *active)
{
    /* The function of that name writes the fields up to link_layer. */
    struct ibv_port_attr attributes = {0};

    if (verbs->library->query_port(verbs->context, verbs->port,
                                   (struct _compat_ibv_port_attr *)(void *)&attributes) != 0) {
        return 0;
    }
    *active = attributes.state == IBV_PORT_ACTIVE;
    verbs->mtu = attributes.active_mtu;
    return bytes_of(attributes.active_mtu);
}

/** How many reads of one connection the device can answer, and issue, at once. */
static uint8_t find_reads_most(const struct verbs_lane *verbs)
{
    struct ibv_device_attr attributes = {.max_qp_rd_atom = 1};
    int most = LANE_VERBS_READS_ANSWERED;

    if (verbs->library->query_device(verbs->context, &attributes) != 0) {
        return 1;
    }
    most = attributes.max_qp_rd_atom < most ? attributes.max_qp_rd_atom : most;
    most = attributes.max_qp_init_rd_atom < most ? attributes.max_qp_init_rd_atom : most;
    return most < 1 ? 1 : (uint8_t)most;
}

/** Finds an IPv4 address of RoCE v2 on the interface. */
static bool find_address(struct verbs_lane *verbs, unsigned interface)
{
    struct ibv_gid_entry *entries = calloc(GIDS_MAX, sizeof *entries);
    ssize_t count = entries == NULL ? 0
                                    : verbs->library->query_gid_table(verbs->context, entries,
                                                                      GIDS_MAX, 0, sizeof *entries);
    bool found = false;

    for (ssize_t i = 0; i < count && !found; i++) {
        const struct ibv_gid_entry *entry = &entries[i];
        found = entry->gid_type == IBV_GID_TYPE_ROCE_V2 && entry->gid_index <= UINT8_MAX &&
                entry->port_num <= UINT8_MAX &&
                (interface == 0 || entry->ndev_ifindex == interface) &&
                memcmp(entry->gid.raw, mapped, sizeof mapped) == 0;
        if (found) {
            verbs->port = (uint8_t)entry->port_num;
            verbs->gid_index = (uint8_t)entry->gid_index;
            memcpy(&verbs->ipv4, entry->gid.raw + sizeof mapped, sizeof verbs->ipv4);
        }
    }
    free(entries);
    return found;
}

/** @return 0: success; -ENXIO: it does not belong to that interface; or why it cannot be used. */
static int try_device(struct verbs_lane *verbs, struct ibv_device *device, unsigned interface)
{
    int status = -ENXIO;
    bool active = false;

    verbs->context = verbs->library->open_device(device);
    if (verbs->context == NULL) {
        return -ENXIO;
    }
    if (find_address(verbs, interface)) {
        uint32_t bytes = read_port(verbs, &active);
        status = !active ? -ENETDOWN : bytes < FRAME_BYTES_MIN ? -EADDRNOTAVAIL : 0;
        verbs->lane.frame_bytes = bytes;
        verbs->lane.mtu = bytes + BELOW_BYTES;
        verbs->reads_most = find_reads_most(verbs);
    }
    if (status != 0) {
        (void)verbs->library->close_device(verbs->context);
        verbs->context = NULL;
    }
    return status;
}

int verbs_device_open(struct verbs_lane *verbs, const char *interface)
{
    unsigned index = interface != NULL ? if_nametoindex(interface) : 0;
    int count = 0;
    int status = -ENXIO;

    if (interface != NULL && index == 0) {
        return -ENXIO;
    }
    struct ibv_device **devices = verbs->library->get_device_list(&count);
    for (int i = 0; devices != NULL && i < count && status != 0; i++) {
        int tried = try_device(verbs, devices[i], index);
        status = tried == -ENXIO ? status : tried;
    }
    if (devices != NULL) {
        verbs->library->free_device_list(devices);
    }
    return status;
}

int verbs_device_status(struct verbs_lane *verbs)
{
    bool active = false;
    uint32_t bytes = read_port(verbs, &active);

    verbs->lane.narrowed_bytes = bytes > 0 && bytes < verbs->lane.frame_bytes ? bytes : 0;
    return active ? 0 : -ENETDOWN;
}
