/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_device.h - chooses the RDMA device of an end: the one of its network interface, and its
 * address (GID) for the interface's IP address in RoCE v2, which is UDP over IP.
 *
 * A GID is 16 bytes: an IPv6 address, or an IPv4 address mapped to one. A device's table has each
 * of them for RoCE v1 and for v2, in no defined order. The interface index alone does not identify
 * an entry, because the device may belong to another network namespace.
 */
#ifndef BEOWIRE_DRIVERS_VERBS_DEVICE_H
#define BEOWIRE_DRIVERS_VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

struct verbs_device {
    struct ibv_context *context; /**< NULL: not open */
    uint8_t port;
    uint8_t gid_index;
    union ibv_gid gid;
    enum ibv_mtu mtu;           /**< of the port */
    uint64_t message_bytes_max; /**< of one operation */
    uint8_t reads_max;          /**< RDMA reads under way at once, either way */
};

/** Opens the device of the options' interface. If they name none, any device: then both ends are in
 *  it, and nothing leaves it. 0; or a negative errno with one line in `error` that says what to
 *  type, and nothing open. */
int verbs_device_open(struct verbs_device *device, const struct driver_options *options,
                      char *error, size_t error_bytes);

void verbs_device_close(struct verbs_device *device);

/** The entry of a GID table for RoCE v2 over the interface (0: any) that equals `wanted`. If
 *  `wanted` is NULL, an IPv4 address, else any. NULL: none. */
const struct ibv_gid_entry *verbs_device_choose(const struct ibv_gid_entry *entries, size_t count,
                                                uint32_t interface_index,
                                                const union ibv_gid *wanted);

#endif
