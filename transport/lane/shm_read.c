/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_read.h"

#include "shm_peers.h"
#include "shm_socket.h"

#include <errno.h>
#include <sys/uio.h>

int shm_read_memory(struct lane *lane, const struct lane_address *from, uint64_t address,
                    void *target, uint64_t bytes)
{
    struct shm_lane *shm = (struct shm_lane *)(void *)lane;
    struct shm_peer *peer = shm_peers_at(shm, from);
    uint64_t done = 0;

    if (peer == NULL || peer->ended || peer->outbound < 0) {
        return -ECONNRESET;
    }
    if (peer->process == 0 || peer->no_reading) {
        return -EPERM;
    }
    while (done < bytes) {
        struct iovec there = {(void *)(uintptr_t)(address + done), bytes - done};
        struct iovec here = {(uint8_t *)target + done, bytes - done};
        ssize_t moved = process_vm_readv(peer->process, &here, 1, &there, 1, 0);
        if (moved <= 0) {
            int error = moved == 0 ? EFAULT : errno;
            peer->no_reading = error == EPERM || error == ENOSYS;
            return error == ESRCH ? -ECONNRESET : peer->no_reading ? -EPERM : -error;
        }
        done += (uint64_t)moved;
    }
    if (peer->consumer.ring != NULL ? !shm_consumer_was_allowed(&peer->consumer) : peer->left) {
        return -ECONNRESET;
    }
    /* If it has ended, its number may have become another process's: then that was read. */
    if (shm_socket_check(peer->outbound) != 0) {
        shm_peers_end(shm, peer);
        return -ECONNRESET;
    }
    return 0;
}
