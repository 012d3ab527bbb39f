/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * beowired - the broker: gives processes without any privilege sockets for Ethernet frames of their
 * own endpoint, and of nothing else.
 *
 *      beowired [FILE]         the policy (policy.h); by default /etc/beowire/broker.toml
 *
 * It listens on the socket that systemd passes (LISTEN_FDS, sd_listen_fds(3)), or else at
 * GRANT_SOCKET, and serves each connection in a process of its own (serve.h). It keeps no state:
 * granted sockets work without it, and another broker can replace it at any time. So a broker that
 * systemd has started ends after a minute without requests.
 *
 * It needs CAP_NET_ADMIN (interfaces, programs on them) and CAP_BPF, and where users may not make
 * user namespaces also CAP_SYS_ADMIN. It reads nothing from the network.
 */
#include "fence.h"
#include "lane/packet/grant.h"
#include "policy.h"
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define USAGE "usage: beowired [POLICY_FILE]"

enum { FAILED_STATUS = 1, USAGE_STATUS = 2 };

/** The first descriptor that systemd passes. */
#define PASSED_DESCRIPTOR 3

#define IDLE_MS 60000
#define QUESTION_S 1

/** Processes that are served at the same time, at most. One user can have at most as many as are
 *  free, so that processes which ask nothing cannot keep other users out. */
#define SERVERS_MAX 512

/** Mode of the socket: everybody may connect, and the policy says who gets frames. */
#define SOCKET_MODE 0666
#define DIRECTORY_MODE 0755

/* ---- listening ------------------------------------------------------------------------------ */

static bool is_passed(void)
{
    const char *process = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");

    return process != NULL && count != NULL && strtol(process, NULL, 10) == getpid() &&
           strcmp(count, "1") == 0;
}

static int listen_here(void)
{
    const struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = GRANT_SOCKET};
    char directory[] = GRANT_SOCKET;
    int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    *strrchr(directory, '/') = '\0';
    (void)mkdir(directory, DIRECTORY_MODE);
    (void)unlink(GRANT_SOCKET);
    if (listening < 0 || bind(listening, (const struct sockaddr *)&name, sizeof name) != 0 ||
        chmod(GRANT_SOCKET, SOCKET_MODE) != 0 || listen(listening, SOMAXCONN) != 0) {
        (void)fprintf(stderr, "beowired: cannot listen at " GRANT_SOCKET ": %s\n", strerror(errno));
        return -1;
    }
    return listening;
}

/* ---- the control group ---------------------------------------------------------------------- */

/** The directory of control groups (version 2). @return NULL: there is none. */
static const char *groups_directory(void)
{
    static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    struct statfs about;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (statfs(places[i], &about) == 0 && about.f_type == CGROUP2_SUPER_MAGIC) {
            return places[i];
        }
    }
    return NULL;
}

/** Opens our control group below this directory. If it is the root group, to which all processes of
 *  the host belong, opens a new one instead. @return a descriptor or a negative errno. */
static int open_group(const char *directory)
{
    char line[PATH_MAX];
    char path[2 * PATH_MAX];
    const char *name = NULL;
    FILE *file = fopen("/proc/self/cgroup", "re");

    while (file != NULL && name == NULL && fgets(line, sizeof line, file) != NULL) {
        name = strncmp(line, "0::/", 4) == 0 ? line + 3 : NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (name == NULL) {
        return -ENOENT;
    }
    line[strcspn(line, "\n")] = '\0';
    bool is_root = strcmp(name, "/") == 0;
    (void)snprintf(path, sizeof path, "%s%s", directory, is_root ? "/beowired" : name);
    if (is_root) {
        (void)mkdir(path, DIRECTORY_MODE);
    }
    int group = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (group < 0 || !is_root) {
        return group < 0 ? -errno : group;
    }
    int members = openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    int status = members >= 0 && write(members, "0", 1) == 1 ? 0 : -errno;
    if (members >= 0) {
        (void)close(members);
    }
    if (status != 0) {
        (void)close(group);
    }
    return status != 0 ? status : group;
}

/** Has the kernel refuse some options on the sockets that we shall grant (fence.h).
 *  @return 0 or a negative errno. */
static int close_options(void)
{
    const char *directory = groups_directory();
    int group = directory != NULL ? open_group(directory) : -ENOENT;

    if (group < 0) {
        return group;
    }
    int status = fence_close_options(group);
    (void)close(group);
    return status;
}

/* ---- serving -------------------------------------------------------------------------------- */

/** A process that serves another one, of that user. */
struct server {
    pid_t process;
    uid_t user;
};

/** Forgets servers that have ended. @return how many there are. */
static unsigned count_servers(struct server *servers, unsigned count)
{
    unsigned left = 0;

    for (unsigned i = 0; i < count; i++) {
        if (waitpid(servers[i].process, NULL, WNOHANG) == 0) {
            servers[left++] = servers[i];
        }
    }
    return left;
}

static bool has_room(const struct server *servers, unsigned count, uid_t user)
{
    unsigned his = 0;

    for (unsigned i = 0; i < count; i++) {
        his += servers[i].user == user;
    }
    return his < SERVERS_MAX - count;
}

static void serve_in_child(int listening, int connection, uid_t user, const struct policy *policy)
{
    const struct timeval patience = {.tv_sec = QUESTION_S};

    (void)close(listening);
    (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    serve(connection, user, policy);
}

/** Serves; if `may_end`, until there is nothing to do. @return false: the socket is unusable. */
static bool serve_all(int listening, const struct policy *policy, bool may_end)
{
    struct pollfd wait = {.fd = listening, .events = POLLIN};
    struct server servers[SERVERS_MAX];
    unsigned count = 0;

    for (;;) {
        if (poll(&wait, 1, may_end ? IDLE_MS : -1) == 0) {
            return true;
        }
        int connection = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0 && (errno == EBADF || errno == ENOTSOCK || errno == EINVAL)) {
            (void)fprintf(stderr, "beowired: cannot listen: %s\n", strerror(errno));
            return false;
        }
        if (connection < 0) {
            continue; /* the client has gone, or memory or descriptors are short for now */
        }
        struct server server = {0};
        bool admitted = policy_admits(policy, connection, &server.user);
        count = count_servers(servers, count);
        if (!admitted || !has_room(servers, count, server.user)) {
            serve_refuse(connection, server.user, admitted);
            (void)close(connection);
            continue;
        }
        server.process = fork();
        if (server.process == 0) {
            serve_in_child(listening, connection, server.user, policy);
            _exit(0);
        }
        if (server.process > 0) {
            servers[count++] = server;
        }
        (void)close(connection);
    }
}

int main(int argc, char **argv)
{
    struct policy policy;
    char why[POLICY_WHY_BYTES];
    bool passed = is_passed();

    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        (void)fputs(USAGE "\n", stderr);
        return USAGE_STATUS;
    }
    if (!policy_read(&policy, argc == 2 ? argv[1] : POLICY_FILE, why)) {
        (void)fprintf(stderr, "beowired: %s\n", why);
        return FAILED_STATUS;
    }
    int status = close_options();
    if (status != 0) {
        (void)fprintf(stderr,
                      "beowired: cannot attach a program to a control group (%s): mount version 2 "
                      "of them (cgroup2 at /sys/fs/cgroup/unified), and start this with "
                      "CAP_NET_ADMIN and CAP_BPF\n",
                      strerror(-status));
        return FAILED_STATUS;
    }
    int listening = passed ? PASSED_DESCRIPTOR : listen_here();
    if (listening < 0) {
        return FAILED_STATUS;
    }
    return serve_all(listening, &policy, passed) ? 0 : FAILED_STATUS;
}
