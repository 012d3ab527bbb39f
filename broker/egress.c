/* SPDX-License-Identifier: BSD-3-Clause */
#include "egress.h"

#include "fence.h"
#include "lane/bpf.h"
#include "lane/packet/grant.h"
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* From linux/bpf.h of Linux 6.6. */
#define TCX_EGRESS 47
#define TCX_BEFORE (1u << 3)
#define TCX_AFTER (1u << 4)
#define TCX_ID (1u << 5)
#define TCX_PROGRAMS_MAX 64

/** Changes with the program. */
#define RECORD_VERSION 1

/** BPF_PROG_ATTACH, BPF_PROG_DETACH. */
struct tcx_change {
    uint32_t interface;
    uint32_t program; /**< a descriptor; 0: the one beside `relative` */
    uint32_t type;
    uint32_t flags;
    uint32_t replaced;
    uint32_t relative;
    uint64_t revision; /**< of the list that is to be changed; 0: any */
};

/** BPF_PROG_QUERY. */
struct tcx_query {
    uint32_t interface;
    uint32_t type;
    uint32_t query_flags;
    uint32_t attach_flags;
    uint64_t programs;
    uint32_t count; /**< room for them, then how many there are */
    uint32_t zero;
    uint64_t program_flags;
    uint64_t links;
    uint64_t link_flags;
    uint64_t revision;
};

/** The programs at the egress of a card, in their order. */
struct tcx_list {
    uint32_t ids[TCX_PROGRAMS_MAX];
    uint32_t count;
    uint64_t revision;
};

/** What a broker has attached to a card. */
struct record {
    uint32_t version;
    uint32_t program;
    uint16_t ethertype;
    uint8_t mac[ETH_ALEN];
};

static int tcx(enum bpf_cmd command, void *attributes, size_t bytes)
{
    return syscall(SYS_bpf, command, attributes, bytes) != 0 ? -errno : 0;
}

static int list(uint32_t interface, struct tcx_list *listed)
{
    struct tcx_query query = {.interface = interface,
                              .type = TCX_EGRESS,
                              .programs = (uint64_t)(uintptr_t)listed->ids,
                              .count = TCX_PROGRAMS_MAX};
    int status = tcx(BPF_PROG_QUERY, &query, sizeof query);

    listed->count = query.count;
    listed->revision = query.revision;
    return status;
}

/** @return its place; the number of programs: it is not there. */
static uint32_t place_of(const struct tcx_list *listed, uint32_t program)
{
    uint32_t place = 0;

    while (place < listed->count && listed->ids[place] != program) {
        place++;
    }
    return place;
}

static int attach_first(uint32_t interface, int program, uint32_t *id)
{
    struct bpf_prog_info about = {0};
    union bpf_attr ask = {.info = {.bpf_fd = (uint32_t)program,
                                   .info_len = sizeof about,
                                   .info = (uint64_t)(uintptr_t)&about}};
    struct tcx_change change = {.interface = interface,
                                .program = (uint32_t)program,
                                .type = TCX_EGRESS,
                                .flags = TCX_BEFORE};

    if (bpf(BPF_OBJ_GET_INFO_BY_FD, &ask) != 0) {
        return -errno;
    }
    *id = about.id;
    return tcx(BPF_PROG_ATTACH, &change, sizeof change);
}

/** Detaches a program behind the first: names it by the one before, for we have no descriptor. */
static int detach(uint32_t interface, uint32_t program)
{
    struct tcx_list listed;
    int status = list(interface, &listed);
    uint32_t place = status == 0 ? place_of(&listed, program) : 0;

    if (status != 0 || place == 0 || place == listed.count) {
        return status;
    }
    struct tcx_change change = {.interface = interface,
                                .type = TCX_EGRESS,
                                .flags = TCX_AFTER | TCX_ID,
                                .relative = listed.ids[place - 1],
                                .revision = listed.revision};
    return tcx(BPF_PROG_DETACH, &change, sizeof change);
}

/** Opens a card's record for one process at a time. @return a descriptor; -1: there is none that
 *  only we can change. */
static int open_record(uint32_t interface)
{
    const char *directory = getenv("RUNTIME_DIRECTORY");
    char path[PATH_MAX];
    struct stat about;

    (void)snprintf(path, sizeof path, "%s/egress-%u",
                   directory != NULL ? directory : GRANT_DIRECTORY, interface);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (file >= 0 && (fstat(file, &about) != 0 || about.st_uid != geteuid() ||
                      (about.st_mode & (S_IWGRP | S_IWOTH)) != 0 || flock(file, LOCK_EX) != 0)) {
        (void)close(file);
        file = -1;
    }
    return file;
}

/** @return 0, or a negative errno: it cannot be done by tcx. */
static int put_by_tcx(int file, const struct socket_interface *card, uint16_t ethertype)
{
    struct record record = {.version = RECORD_VERSION, .ethertype = ethertype};
    struct record before = {0};
    struct tcx_list listed;
    uint32_t interface = (uint32_t)card->index;
    int status = list(interface, &listed);

    if (status != 0) {
        return status;
    }
    memcpy(record.mac, card->mac, sizeof record.mac);
    (void)!pread(file, &before, sizeof before, 0);
    record.program = before.program;
    bool is_there = place_of(&listed, before.program) < listed.count;
    if (is_there && memcmp(&record, &before, sizeof record) == 0) {
        return 0;
    }
    int program = fence_load_egress(card->mac, ethertype);
    if (program < 0) {
        return program;
    }
    status = attach_first(interface, program, &record.program);
    (void)close(program);
    if (status == 0 && pwrite(file, &record, sizeof record, 0) != (ssize_t)sizeof record) {
        status = -EIO;
    }
    return status == 0 && is_there ? detach(interface, before.program) : status;
}

static int put_by_filter(int kernel, const struct socket_interface *card, uint16_t ethertype)
{
    int program = fence_load_egress(card->mac, ethertype);

    if (program < 0) {
        return program;
    }
    int status = link_filter_egress(kernel, card->index, program);
    (void)close(program);
    return status;
}

int egress_put(int kernel, const struct socket_interface *card, uint16_t ethertype)
{
    int file = open_record((uint32_t)card->index);
    int status = file >= 0 ? put_by_tcx(file, card, ethertype) : -ENOENT;

    if (file >= 0) {
        (void)close(file);
    }
    return status != 0 ? put_by_filter(kernel, card, ethertype) : 0;
}
