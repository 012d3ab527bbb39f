/* SPDX-License-Identifier: BSD-3-Clause */
/* The public calls for remote memory, at a node. */
#include "remote/remote.h"

#include "cluster.h"

int cluster_put(struct cluster *cluster, uint32_t from, struct core_peer *to,
                const struct beowire_remote *remote, const void *data, uint64_t bytes,
                unsigned flags, uint32_t immediate, void *context)
{
    int status = remote_put(&cluster->nodes[from].core.messages, &to->message, remote, data, bytes,
                            flags, immediate, context);

    cluster_service(cluster, from, to);
    return status;
}

int cluster_get(struct cluster *cluster, uint32_t from, struct core_peer *to,
                const struct beowire_remote *remote, void *data, uint64_t bytes, void *context)
{
    int status =
        remote_get(&cluster->nodes[from].core.messages, &to->message, remote, data, bytes, context);

    cluster_service(cluster, from, to);
    return status;
}

int cluster_atomic(struct cluster *cluster, uint32_t from, struct core_peer *to,
                   const struct beowire_remote *remote, const struct beowire_atomic *atomic,
                   void *context)
{
    int status =
        remote_atomic(&cluster->nodes[from].core.messages, &to->message, remote, atomic, context);

    cluster_service(cluster, from, to);
    return status;
}

int cluster_unregister(struct cluster *cluster, uint32_t at, uint64_t key)
{
    struct core *core = &cluster->nodes[at].core;
    int status = remote_unregister(&core->messages, key);

    for (uint32_t i = 0; i < core->peer_count; i++) {
        cluster_service(cluster, at, core->peers[i]);
    }
    return status;
}
