/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_library.h - the functions of libibverbs that the lane calls, found when they are first
 * needed. Posting and polling use the device's own table (struct ibv_context), by functions of the
 * header. Tests have their own tables.
 *
 * The library stays loaded, because it and its drivers keep state of the process.
 * Threads: any.
 */
#ifndef BEOWIRE_LANE_VERBS_LIBRARY_H
#define BEOWIRE_LANE_VERBS_LIBRARY_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/** The functions without the prefix "ibv_", as in infiniband/verbs.h. */
struct verbs_library {
    struct ibv_device **(*get_device_list)(int *count);
    void (*free_device_list)(struct ibv_device **list);
    struct ibv_context *(*open_device)(struct ibv_device *device);
    int (*close_device)(struct ibv_context *context);
    ssize_t (*query_gid_table)(struct ibv_context *context, struct ibv_gid_entry *entries,
                               size_t count, uint32_t flags, size_t entry_bytes);
    /** Writes the beginning of a struct ibv_port_attr, up to `link_layer`. */
    int (*query_port)(struct ibv_context *context, uint8_t port,
                      struct _compat_ibv_port_attr *attributes);
    int (*query_device)(struct ibv_context *context, struct ibv_device_attr *attributes);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    int (*dealloc_pd)(struct ibv_pd *domain);
    struct ibv_mr *(*reg_mr)(struct ibv_pd *domain, void *memory, size_t bytes, int access);
    /** The same, with `address` as the first address for peers. */
    struct ibv_mr *(*reg_mr_iova)(struct ibv_pd *domain, void *memory, size_t bytes,
                                  uint64_t address, int access);
    int (*dereg_mr)(struct ibv_mr *region);
    struct ibv_comp_channel *(*create_comp_channel)(struct ibv_context *context);
    int (*destroy_comp_channel)(struct ibv_comp_channel *channel);
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int entries, void *of,
                                struct ibv_comp_channel *channel, int vector);
    int (*destroy_cq)(struct ibv_cq *queue);
    int (*get_cq_event)(struct ibv_comp_channel *channel, struct ibv_cq **queue, void **of);
    void (*ack_cq_events)(struct ibv_cq *queue, unsigned count);
    struct ibv_qp *(*create_qp)(struct ibv_pd *domain, struct ibv_qp_init_attr *attributes);
    int (*modify_qp)(struct ibv_qp *pair, struct ibv_qp_attr *attributes, int mask);
    int (*destroy_qp)(struct ibv_qp *pair);
    struct ibv_ah *(*create_ah)(struct ibv_pd *domain, struct ibv_ah_attr *attributes);
    int (*destroy_ah)(struct ibv_ah *handle);
};

/** Finds the functions in a library. @return 0; -ELIBBAD: it is missing, or lacks one. */
int verbs_library_find(const char *name, struct verbs_library *library);

/** The installed one. @return NULL: none that can be used. */
const struct verbs_library *verbs_library_load(void);

/** The address by which RDMA devices know a host. */
static inline void verbs_gid_of(uint32_t ipv4, union ibv_gid *gid)
{
    *gid = (union ibv_gid){.raw = {[10] = 0xFF, [11] = 0xFF}};
    memcpy(gid->raw + 12, &ipv4, sizeof ipv4);
}

#endif /* BEOWIRE_LANE_VERBS_LIBRARY_H */
