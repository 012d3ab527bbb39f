/* SPDX-License-Identifier: BSD-3-Clause */
#include "namespace.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define INSIDE "BEOWIRE_TEST_INSIDE"

static void require(int condition, const char *what)
{
    if (!condition) {
        perror(what);
        exit(1);
    }
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    require(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
    close(fd);
}

static void run(char *const *command)
{
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    int status = 0;
    require(waitpid(child, &status, 0) == child, "waitpid");
    if (status != 0) {
        (void)fprintf(stderr, "'%s' failed: a network for the test cannot be made\n", command[0]);
        exit(1);
    }
}

void namespace_wait_until_running(const char *interface)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    require(fd >= 0, "a socket");
    for (int tries = 0; tries < 10000; tries++) {
        struct ifreq request = {0};
        strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
        require(ioctl(fd, SIOCGIFFLAGS, &request) == 0, interface);
        if ((request.ifr_flags & IFF_RUNNING) != 0) {
            close(fd);
            return;
        }
        (void)nanosleep(&moment, NULL);
    }
    require(0, "a link that is running");
}

#define IP(...) run((char *[]){"ip", __VA_ARGS__, NULL})

/** Starts a process that keeps a namespace: this one, or a new one (-1), until it is killed. */
static pid_t start_keeper(int namespace)
{
    int ready[2];
    char byte = 0;

    require(pipe2(ready, O_CLOEXEC) == 0, "pipe2");
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        if (namespace >= 0) {
            namespace_go(namespace);
        } else {
            require(unshare(CLONE_NEWNET) == 0, "a network namespace");
        }
        require(write(ready[1], &byte, 1) == 1, "write");
        for (;;) {
            pause();
        }
    }
    require(read(ready[0], &byte, 1) == 1, "read");
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void move_to(pid_t keeper, const char *interface)
{
    char pid[16];
    char name[32];

    (void)snprintf(pid, sizeof pid, "%d", (int)keeper);
    (void)snprintf(name, sizeof name, "%s", interface);
    IP("link", "set", name, "netns", pid);
}

static void end_keeper(pid_t keeper)
{
    kill(keeper, SIGKILL);
    require(waitpid(keeper, NULL, 0) == keeper, "waitpid");
}

int namespace_move_far_end(void)
{
    char path[64];
    pid_t keeper = start_keeper(-1);

    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", (int)keeper);
    move_to(keeper, "end1");
    int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int far = open(path, O_RDONLY | O_CLOEXEC);
    require(here >= 0 && far >= 0, path);
    end_keeper(keeper);

    namespace_go(far);
    IP("link", "set", "lo", "up");
    IP("address", "add", "10.77.0.2/24", "dev", "end1");
    IP("link", "set", "end1", "up");
    namespace_wait_until_running("end1");
    namespace_go(here);
    namespace_wait_until_running("end0");
    close(here);
    return far;
}

void namespace_move(int namespace, const char *interface)
{
    pid_t keeper = start_keeper(namespace);

    move_to(keeper, interface);
    end_keeper(keeper);
}

void namespace_go(int namespace)
{
    require(setns(namespace, CLONE_NEWNET) == 0, "setns");
}

void namespace_enter(char **argv)
{
    if (getenv(INSIDE) != NULL) {
        return;
    }
    char map[64];
    unsigned user = getuid();
    unsigned group = getgid();
    if (user == 0) {
        require(unshare(CLONE_NEWNET) == 0, "a network namespace");
    } else {
        require(unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0, "a user and a network namespace");
        write_file("/proc/self/setgroups", "deny");
        (void)snprintf(map, sizeof map, "0 %u 1", user);
        write_file("/proc/self/uid_map", map);
        (void)snprintf(map, sizeof map, "0 %u 1", group);
        write_file("/proc/self/gid_map", map);
    }
    IP("link", "set", "lo", "up");
    IP("link", "add", "end0", "type", "veth", "peer", "name", "end1");
    IP("address", "add", "10.77.0.1/24", "dev", "end0");
    IP("address", "add", "10.77.0.2/24", "dev", "end1");
    IP("link", "set", "end0", "up");
    IP("link", "set", "end1", "up");
    namespace_wait_until_running("end0");
    namespace_wait_until_running("end1");
    require(setenv(INSIDE, "1", 1) == 0, "setenv");
    execv("/proc/self/exe", argv);
    require(0, "running the test again");
}

bool namespace_may_busy_poll(void)
{
    int tried = socket(AF_INET, SOCK_DGRAM, 0);
    bool may = setsockopt(tried, SOL_SOCKET, SO_BUSY_POLL, &(int){1}, sizeof(int)) == 0;

    close(tried);
    return may;
}
