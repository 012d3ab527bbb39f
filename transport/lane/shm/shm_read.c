/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_read.h"

#include "lane/copy.h"
#include "lane/shm_socket.h"
#include "shm_peers.h"

#include <errno.h>
#include <sys/uio.h>

/** Bytes read at a time into our buffer. */
#define ROOM_BYTES 16384

/** Reads with the kernel's copy. @return 0 or a negative errno */
static int read_all(pid_t process, const void *there, uint8_t *target, uint64_t bytes)
{
    uint64_t done = 0;

    while (done < bytes) {
        struct iovec from = {(void *)((uintptr_t)there + done), bytes - done};
        struct iovec to = {target + done, bytes - done};
        ssize_t moved = process_vm_readv(process, &to, 1, &from, 1, 0);
        if (moved <= 0) {
            return moved == 0 ? -EFAULT : -errno;
        }
        done += (uint64_t)moved;
    }
    return 0;
}

/** The same if the kernel's copy would be slow (copy.h): reads into a buffer at the same offset in
 *  its page, and copies from there. */
static int read_by_way_of_room(pid_t process, const void *there, uint8_t *target, uint64_t bytes)
{
    uint8_t room[ROOM_BYTES + COPY_PAGE_BYTES];
    uint8_t *alike = room + ((uintptr_t)there - (uintptr_t)room) % COPY_PAGE_BYTES;

    for (uint64_t done = 0; done < bytes; done += ROOM_BYTES) {
        uint64_t part = bytes - done < ROOM_BYTES ? bytes - done : ROOM_BYTES;
        int status = read_all(process, (const uint8_t *)there + done, alike, part);
        if (status != 0) {
            return status;
        }
        copy_bytes(target + done, alike, part);
    }
    return 0;
}

int shm_read_memory(struct lane *lane, const struct lane_address *from, uint64_t address,
                    void *target, uint64_t bytes)
{
    struct shm_lane *shm = (struct shm_lane *)(void *)lane;
    struct shm_peer *peer = shm_peers_at(shm, from);
    const void *there = (const void *)(uintptr_t)address;

    if (peer == NULL || peer->ended || peer->outbound < 0) {
        return -ECONNRESET;
    }
    if (peer->process == 0 || peer->no_reading) {
        return -EPERM;
    }
    int status = bytes >= COPY_STRING_BYTES_MIN && copy_is_slow(target, there) && copy_can_be_slow()
                     ? read_by_way_of_room(peer->process, there, target, bytes)
                     : read_all(peer->process, there, target, bytes);
    if (status != 0) {
        peer->no_reading = status == -EPERM || status == -ENOSYS;
        return status == -ESRCH ? -ECONNRESET : peer->no_reading ? -EPERM : status;
    }
    if (peer->consumer.ring != NULL ? !shm_consumer_was_allowed(&peer->consumer) : peer->left) {
        return -ECONNRESET;
    }
    /* If it has ended, its number may belong to another process, whose memory was read. */
    if (shm_socket_check(peer->outbound) != 0) {
        shm_peers_end(shm, peer);
        return -ECONNRESET;
    }
    return 0;
}
