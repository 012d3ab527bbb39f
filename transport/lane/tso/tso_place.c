/* SPDX-License-Identifier: BSD-3-Clause */
#include "tso_place.h"

#include <errno.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/** For this thread's network namespace. */
#define LIST "/proc/thread-self/net/packet"

/** Columns of a line: sk RefCnt Type Proto Iface R Rmem User Inode. */
enum column { TYPE = 2, PROTOCOL = 3, INDEX = 4, INODE = 8, COLUMNS = 9 };

/** Parses the numbers of a line; the protocol is hexadecimal. The heading has none. */
static void read_line(char *line, unsigned long numbers[COLUMNS])
{
    char *rest = NULL;
    char *word = strtok_r(line, " \n", &rest);

    for (unsigned i = 0; i < COLUMNS; i++) {
        numbers[i] = word != NULL ? strtoul(word, NULL, i == PROTOCOL ? 16 : 10) : 0;
        word = word != NULL ? strtok_r(NULL, " \n", &rest) : NULL;
    }
}

int tso_place_count(int index, int before)
{
    char line[256];
    unsigned long numbers[COLUMNS];
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
        read_line(line, numbers);
        if (before >= 0 && numbers[INODE] == own.st_ino) {
            break;
        }
        count += numbers[TYPE] == SOCK_RAW && numbers[PROTOCOL] == ETHERTYPE_IP &&
                 numbers[INDEX] == (unsigned long)index;
    }
    (void)fclose(list);
    return count;
}
