/* SPDX-License-Identifier: BSD-3-Clause */
#include "owner.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

static bool may_own(uid_t owner)
{
    struct stat program;

    /* The owner of this program controls it anyway, for example the user of a checkout that root
     * runs. */
    return owner == 0 || owner == geteuid() ||
           (stat("/proc/self/exe", &program) == 0 && owner == program.st_uid);
}

const char *owner_fault(const char *path)
{
    struct stat about;

    if (stat(path, &about) != 0) {
        return NULL;
    }
    if (!may_own(about.st_uid)) {
        return "it belongs to another user, and is not loaded";
    }
    /* A group with the number of its user is that user's own group. */
    bool shared_group = about.st_gid != about.st_uid;
    if ((about.st_mode & S_IWOTH) != 0 || ((about.st_mode & S_IWGRP) != 0 && shared_group)) {
        return "others may write to it, so it is not loaded: chmod go-w";
    }
    return NULL;
}
