/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include "entropy.h"
#include "shm_segment.h"
#include "shm_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

/** Size of the memory by which host_mark() tests whether memory can be shared. */
#define HOST_MARK_BYTES 4096

/** FNV-1a, 64 bits. A collision gains nothing: it only causes a refused connection. */
static uint64_t hash(uint64_t so_far, const void *data, size_t bytes)
{
    const uint8_t *at = data;

    for (size_t i = 0; i < bytes; i++) {
        so_far = (so_far ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return so_far;
}

int host_identity(uint64_t *identity)
{
    uint8_t boot[64];
    struct stat network;
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (file < 0) {
        return -errno;
    }
    ssize_t bytes = read(file, boot, sizeof boot);
    int error = bytes < 0 ? errno : ENODATA;
    close(file);
    if (bytes <= 0) {
        return -error;
    }
    if (stat("/proc/self/ns/net", &network) != 0) {
        return -errno;
    }
    uint64_t found = hash(UINT64_C(0xcbf29ce484222325), boot, (size_t)bytes);
    found = hash(found, &network.st_dev, sizeof network.st_dev);
    found = hash(found, &network.st_ino, sizeof network.st_ino);
    *identity = found != 0 ? found : 1;
    return 0;
}

int host_mark(uint64_t *mark)
{
    void *memory = NULL;
    int file = -1;
    int status = shm_segment_make("beowire-mark", HOST_MARK_BYTES, &memory, &file);

    if (status != 0) {
        return status;
    }
    shm_segment_unmap(memory, HOST_MARK_BYTES);
    close(file);
    status = entropy_fill(mark, sizeof *mark);
    return status != 0 ? status : shm_socket_listen(*mark);
}

bool host_sees(uint64_t mark)
{
    pid_t process = 0;
    int seen = shm_socket_connect(mark, &process);

    if (seen >= 0) {
        close(seen);
    }
    return seen >= 0 || seen == -EAGAIN; /* it is busy, so it exists */
}
