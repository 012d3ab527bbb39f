/* SPDX-License-Identifier: BSD-3-Clause */
#include "tso_place.h"

#include <errno.h>
#include <net/ethernet.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

/** Of this thread's network namespace. */
#define LIST "/proc/thread-self/net/packet"

struct listed {
    int type;
    unsigned protocol;
    int index;
    unsigned long inode;
};

/** Reads a line: sk RefCnt Type Proto Iface R Rmem User Inode. @return false: it is the head. */
static bool read_line(const char *line, struct listed *listed)
{
    return sscanf(line, "%*s %*s %d %x %d %*s %*s %*s %lu", &listed->type, &listed->protocol,
                  &listed->index, &listed->inode) == 4;
}

int tso_place_count(int index, int before)
{
    char line[256];
    struct listed listed;
    struct stat own = {0};
    int count = 0;

    if (before >= 0 && fstat(before, &own) != 0) {
        return -errno;
    }
    FILE *list = fopen(LIST, "re");
    if (list == NULL) {
        return -errno;
    }
    while (fgets(line, sizeof line, list) != NULL) {
        if (!read_line(line, &listed)) {
            continue;
        }
        if (before >= 0 && listed.inode == own.st_ino) {
            break;
        }
        count +=
            listed.type == SOCK_RAW && listed.protocol == ETHERTYPE_IP && listed.index == index;
    }
    (void)fclose(list);
    return count;
}
