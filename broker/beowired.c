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
#include "attempts.h"
#include "fence.h"
#include "lane/packet/grant.h"
#include "policy.h"
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
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

/** A user may ask so often in a minute, and besides for each of his endpoints. */
#define ATTEMPTS_MIN 256
#define ATTEMPTS_PER_ENDPOINT 4

#define NS_PER_S UINT64_C(1000000000)

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

struct broker {
    const struct policy *policy;
    int listening;
    int endings; /**< readable when a server has ended (signalfd(2)) */
    struct attempts attempts;
    unsigned count;
    struct server servers[SERVERS_MAX];
};

static void refuse(int connection, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void refuse(int connection, int status, const char *format, ...)
{
    char why[GRANT_WHY_BYTES];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    serve_refuse(connection, status, why);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/** Forgets servers that have ended. */
static void forget_ended(struct broker *broker)
{
    struct signalfd_siginfo ending;
    unsigned left = 0;

    while (read(broker->endings, &ending, sizeof ending) > 0) {
        /* One signal can stand for several. */
    }
    for (unsigned i = 0; i < broker->count; i++) {
        if (waitpid(broker->servers[i].process, NULL, WNOHANG) == 0) {
            broker->servers[left++] = broker->servers[i];
        }
    }
    broker->count = left;
}

static bool has_room(const struct broker *broker, uid_t user)
{
    unsigned his = 0;

    for (unsigned i = 0; i < broker->count; i++) {
        his += broker->servers[i].user == user;
    }
    return his < SERVERS_MAX - broker->count;
}

static void serve_in_child(const struct broker *broker, int connection, uid_t user)
{
    const struct timeval patience = {.tv_sec = QUESTION_S};

    (void)close(broker->listening);
    (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    serve(connection, user, broker->policy);
}

static void start_server(struct broker *broker, int connection, uid_t user)
{
    pid_t process = fork();

    if (process == 0) {
        serve_in_child(broker, connection, user);
        _exit(0);
    }
    if (process < 0) {
        int status = -errno;
        (void)fprintf(stderr, "beowired: cannot start a process: %s\n", strerror(-status));
        refuse(connection, status, "the broker cannot start a process (%s)", strerror(-status));
        return;
    }
    broker->servers[broker->count++] = (struct server){.process = process, .user = user};
}

static void answer(struct broker *broker, int connection)
{
    uid_t user = 0;

    if (!policy_admits(broker->policy, connection, &user)) {
        refuse(connection, -EPERM, "user %u is in no group to which the broker grants frames",
               user);
    } else if (!attempts_allow(&broker->attempts, user, now_ns())) {
        refuse(connection, -EBUSY, "user %u has asked the broker %u times within a minute", user,
               broker->attempts.most);
    } else if (!has_room(broker, user)) {
        refuse(connection, -EBUSY, "the broker serves too many processes of user %u", user);
    } else {
        start_server(broker, connection, user);
    }
}

/** Serves; if `may_end`, until there is nothing to do. @return false: the socket is unusable. */
static bool serve_all(struct broker *broker, bool may_end)
{
    enum { LISTENING, ENDINGS, WAITS };
    struct pollfd wait[WAITS] = {[LISTENING] = {.fd = broker->listening, .events = POLLIN},
                                 [ENDINGS] = {.fd = broker->endings, .events = POLLIN}};

    for (;;) {
        if (poll(wait, WAITS, may_end ? IDLE_MS : -1) == 0) {
            return true;
        }
        forget_ended(broker);
        if (wait[LISTENING].revents == 0) {
            continue;
        }
        int connection = accept4(broker->listening, NULL, NULL, SOCK_CLOEXEC);
        if (connection >= 0) {
            answer(broker, connection);
            (void)close(connection);
        } else if (errno == EBADF || errno == ENOTSOCK || errno == EINVAL) {
            (void)fprintf(stderr, "beowired: cannot listen: %s\n", strerror(errno));
            return false;
        } /* else the client has gone, or memory or descriptors are short for now */
    }
}

/** Tells systemd that requests are served from now on (sd_notify(3)). */
static void tell_ready(void)
{
    static const char READY[] = "READY=1";
    struct sockaddr_un manager = {.sun_family = AF_UNIX};
    const char *name = getenv("NOTIFY_SOCKET");
    size_t bytes = name == NULL ? 0 : strlen(name);

    if (bytes == 0 || bytes > sizeof manager.sun_path) {
        return;
    }
    memcpy(manager.sun_path, name, bytes);
    if (name[0] == '@') {
        manager.sun_path[0] = '\0';
    }
    int told = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (told >= 0) {
        (void)sendto(told, READY, sizeof READY - 1, MSG_NOSIGNAL, (struct sockaddr *)&manager,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes));
        (void)close(told);
    }
}

/** @return a descriptor that is readable when a child has ended; -1 on failure. */
static int watch_endings(void)
{
    sigset_t endings;

    (void)sigemptyset(&endings);
    (void)sigaddset(&endings, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &endings, NULL);
    return signalfd(-1, &endings, SFD_NONBLOCK | SFD_CLOEXEC);
}

int main(int argc, char **argv)
{
    static struct broker broker;
    static struct policy policy;
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
    broker.policy = &policy;
    broker.attempts.most = ATTEMPTS_MIN + ATTEMPTS_PER_ENDPOINT * policy.endpoints_per_user;
    broker.endings = watch_endings();
    if (broker.endings < 0) {
        (void)fprintf(stderr, "beowired: cannot watch its processes (%s): raise ulimit -n\n",
                      strerror(errno));
        return FAILED_STATUS;
    }
    broker.listening = passed ? PASSED_DESCRIPTOR : listen_here();
    if (broker.listening < 0) {
        return FAILED_STATUS;
    }
    tell_ready();
    return serve_all(&broker, passed) ? 0 : FAILED_STATUS;
}
