/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/** MFD_NOEXEC_SEAL of Linux 6.3, whose headers older systems do not have. */
#define NOEXEC_SEAL 0x0008U

static int map(int file, size_t bytes, void **memory)
{
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (mapped == MAP_FAILED) {
        return -errno;
    }
    *memory = mapped;
    return 0;
}

int shm_segment_make(const char *name, size_t bytes, void **memory, int *file)
{
    int made = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int status = 0;

    if (made < 0 && errno == EACCES) { /* vm.memfd_noexec is 2: only sealed ones are permitted */
        made = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | NOEXEC_SEAL);
    }
    if (made < 0) {
        return -errno;
    }
    if (ftruncate(made, (off_t)bytes) != 0 || fcntl(made, F_ADD_SEALS, SEALS) != 0) {
        status = -errno;
    } else {
        status = map(made, bytes, memory);
    }
    if (status != 0) {
        close(made);
        return status;
    }
    *file = made;
    return 0;
}

int shm_segment_map(int file, size_t bytes, void **memory)
{
    struct stat about;
    struct statfs where;
    int seals = fcntl(file, F_GET_SEALS);

    /* If a huge page is missing when it is touched, the process is killed. So only ordinary memory
     * is accepted. */
    if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW) ||
        (seals & F_SEAL_WRITE) != 0 || fstat(file, &about) != 0 || (size_t)about.st_size != bytes ||
        fstatfs(file, &where) != 0 || where.f_type != TMPFS_MAGIC) {
        return -EINVAL;
    }
    return map(file, bytes, memory);
}

void shm_segment_unmap(void *memory, size_t bytes)
{
    if (memory != NULL) {
        munmap(memory, bytes);
    }
}
