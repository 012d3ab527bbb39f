/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descriptors.h - what a process has: to see that nothing is left behind.
 */
#ifndef BEOWIRE_TESTS_LANE_DESCRIPTORS_H
#define BEOWIRE_TESTS_LANE_DESCRIPTORS_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/** Open descriptors of this process. */
static inline int count_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    while (directory != NULL && readdir(directory) != NULL) {
        count++;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return count;
}

/** Mappings of this process of files that are called so. */
static inline int count_mappings(const char *name)
{
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        count += strstr(line, name) != NULL;
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
    return count;
}

#endif /* BEOWIRE_TESTS_LANE_DESCRIPTORS_H */
