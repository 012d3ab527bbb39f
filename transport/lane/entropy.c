/* SPDX-License-Identifier: BSD-3-Clause */
#include "entropy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/random.h>
#include <unistd.h>

static int read_device(uint8_t *at, size_t bytes)
{
    int device = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    int status = device < 0 ? -errno : 0;

    while (status == 0 && bytes > 0) {
        ssize_t got = read(device, at, bytes);
        if (got > 0) {
            at += got;
            bytes -= (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            status = got == 0 ? -EIO : -errno;
        }
    }
    if (device >= 0) {
        close(device);
    }
    return status;
}

int entropy_fill(void *room, size_t bytes)
{
    uint8_t *at = room;

    while (bytes > 0) {
        ssize_t got = getrandom(at, bytes, 0);
        if (got > 0) {
            at += got;
            bytes -= (size_t)got;
        } else if (errno != EINTR) {
            return read_device(at, bytes);
        }
    }
    return 0;
}
