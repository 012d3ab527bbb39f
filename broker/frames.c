/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.c - beowire-frames: runs a program that may send Ethernet frames.
 *
 *      mpirun ... beowire-frames ./program
 *
 * Raw frames need CAP_NET_RAW. If the user's program had it (setcap cap_net_raw+ep), each build
 * would lose it, NFS and nosuid would ignore it, and the dynamic linker would ignore
 * LD_LIBRARY_PATH (AT_SECURE). So this file has it, once on each host, on a local disk, and members
 * of its group may run it. It passes CAP_NET_RAW to any program as an *ambient* capability, which
 * has none of these drawbacks: capabilities(7).
 *
 *   1. Because this file has a capability, the dynamic linker has taken LD_LIBRARY_PATH, TMPDIR and
 *      others out of our environment. The program gets them back, from the kernel's copy in
 *      /proc/self/environ.
 *   2. CAP_NET_RAW is made inheritable and ambient. No other capability of the file is passed on.
 *   3. execve() replaces us by the program.
 *
 * If this file has lost its capability, or a container does not let files have any, the job goes
 * on: one line says so, and the program runs, over UDP.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define USAGE "usage: beowire-frames PROGRAM [ARGUMENT...]"

enum { USAGE_STATUS = 2, NOT_RUN_STATUS = 126, NOT_FOUND_STATUS = 127 };

/** The kernel accepts no environment that is longer than this. */
#define ENVIRONMENT_BYTES_MAX (8u << 20)

#define NET_RAW_BIT (UINT32_C(1) << CAP_NET_RAW)

/** Reads a whole file of unknown length, and adds a 0. @return NULL: it cannot be read. */
static char *read_all(int file, size_t *bytes)
{
    char *data = malloc(ENVIRONMENT_BYTES_MAX);
    ssize_t got = 1;

    *bytes = 0;
    while (data != NULL && got > 0 && *bytes < ENVIRONMENT_BYTES_MAX - 1) {
        got = read(file, data + *bytes, ENVIRONMENT_BYTES_MAX - 1 - *bytes);
        *bytes += got > 0 ? (size_t)got : 0;
    }
    if (data == NULL || got < 0) {
        free(data);
        return NULL;
    }
    data[*bytes] = '\0';
    return data;
}

/** A list, with NULL at its end, of strings that are one after the other in memory. */
static char **as_list(char *data, size_t bytes)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++) {
        count += data[i] == '\0';
    }
    char **list = calloc(count + 2, sizeof *list);
    if (list == NULL) {
        return NULL;
    }
    count = 0;
    for (size_t at = 0; at < bytes; at += strlen(data + at) + 1) {
        list[count++] = data + at;
    }
    return list;
}

/** The environment with which we were started. It is never freed. @return NULL: it cannot be read,
 *  so we have only what the dynamic linker has left. */
static char **original_environment(void)
{
    size_t bytes = 0;

    /* A process with capabilities of its file does not own /proc/self, unless it is dumpable. */
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    int file = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return NULL;
    }
    char *data = read_all(file, &bytes);
    (void)close(file);
    return data != NULL ? as_list(data, bytes) : NULL;
}

/** Has CAP_NET_RAW outlive execve(), and no other capability that the user does not have anyway.
 *  @return false: this process does not have it. */
static bool hand_on(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capget, &header, data) != 0 || (data[0].permitted & NET_RAW_BIT) == 0) {
        return false;
    }
    data[0].inheritable |= NET_RAW_BIT;
    return syscall(SYS_capset, &header, data) == 0 &&
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0) == 0;
}

/** Is this the first process of the job on this host? Only that one prints messages. */
static bool is_first_of_host(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "SLURM_LOCALID"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL) {
            return strcmp(value, "0") == 0;
        }
    }
    return true;
}

static void say_without(void)
{
    char host[65] = "";

    (void)gethostname(host, sizeof host - 1);
    (void)fprintf(
        stderr,
        "beowire-frames: %s: this file gives no cap_net_raw here (copied, on NFS, mounted "
        "nosuid, or in a container?), so the program sends no Ethernet frames: check with "
        "`getcap`, restore it by `beowire setup --group GROUP --apply`\n",
        host);
}

/** The dynamic linker has removed variables from our environment, which cannot be restored. */
static void say_without_variables(void)
{
    (void)fputs("beowire-frames: /proc/self/environ cannot be read, so LD_LIBRARY_PATH, LD_PRELOAD "
                "and TMPDIR, if they were set, are lost: mount /proc, or set them by "
                "`beowire-frames env NAME=VALUE PROGRAM`\n",
                stderr);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fputs(USAGE "\n", stderr);
        return USAGE_STATUS;
    }
    char **environment = original_environment();
    if (!hand_on() && is_first_of_host()) {
        say_without();
    }
    if (environment != NULL) {
        environ = environment;
    } else if (getauxval(AT_SECURE) != 0 && is_first_of_host()) {
        say_without_variables();
    }
    (void)execvp(argv[1], argv + 1);
    int error = errno;
    (void)fprintf(stderr, "beowire-frames: %s cannot be run: %s\n", argv[1], strerror(error));
    return error == ENOENT ? NOT_FOUND_STATUS : NOT_RUN_STATUS;
}
