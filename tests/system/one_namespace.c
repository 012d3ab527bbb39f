/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * one_namespace.c - loaded in front of a program, has it see the same number for whatever network
 * namespace it is in: as on virtual machines that were resumed from one snapshot, which also have
 * their boot_id in common.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

__attribute__((visibility("default"))) int stat(const char *path, struct stat *about)
{
    int (*real)(const char *, struct stat *) = NULL;
    void *found = dlsym(RTLD_NEXT, "stat64");

    memcpy(&real, &found, sizeof real);
    int status = real(path, about);

    if (status == 0 && strcmp(path, "/proc/self/ns/net") == 0) {
        about->st_dev = 4;
        about->st_ino = 1;
    }
    return status;
}
