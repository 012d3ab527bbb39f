/* SPDX-License-Identifier: BSD-3-Clause */
#include "pvm_daemon.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"

/* Time between two calls of the host. */
#define SLICE_MS 100

/* Words of a command line. */
#define WORDS_MAX 16

static const char *const PROGRAMS[] = {"/usr/bin/pvmd", "/usr/lib/pvm3/lib/pvmd",
                                       "/usr/share/pvm3/lib/pvmd", "/usr/local/bin/pvmd"};

const char *pvm_daemon_program(void)
{
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof PROGRAMS[0]; i++) {
        if (access(PROGRAMS[i], X_OK) == 0) {
            return PROGRAMS[i];
        }
    }
    return NULL;
}

void pvm_daemon_init(struct pvm_daemon *daemon)
{
    *daemon = (struct pvm_daemon){.lifeline = -1, .input = -1, .output = -1};
}

/* Removes the directory and the files in it; it has no subdirectories. */
static void remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        (void)unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    (void)rmdir(path);
}

/* Executes the daemon in this process. It ends with its keeper, also if the keeper is killed. */
__attribute__((noreturn)) static void become(pid_t keeper, const char *directory, const int ends[2],
                                             char *const words[])
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* SIGTERM would make it end our task, too */
    if (getppid() != keeper) {
        _exit(127);
    }
    (void)setenv("PVM_TMP", directory, 1);
    (void)setenv("PVM_ALLOW_ROOT", "1", 1);
    (void)unsetenv("PVM_VMID");
    (void)unsetenv("PVMSOCK");
    (void)dup2(ends[0], STDIN_FILENO);
    (void)dup2(ends[1], STDOUT_FILENO);
    (void)dup2(ends[1], STDERR_FILENO); /* it prints there what to start by hand */
    (void)close_range(STDERR_FILENO + 1, ~0U, 0);
    (void)execv(words[0], words);
    _exit(127);
}

/* SIGKILL, because on SIGTERM the daemon also ends its tasks, such as the engine at the other end,
 * which may still be running. The daemon's files are in its directory. */
static void end_process(pid_t process)
{
    (void)kill(process, SIGKILL);
    (void)waitpid(process, NULL, 0);
}

/* The keeper: waits until the other end of the lifeline is closed. */
__attribute__((noreturn)) static void keep(const char *directory, int lifeline, const int ends[2],
                                           char *const words[])
{
    char byte;
    const pid_t keeper = getpid();
    const pid_t daemon = fork();

    if (daemon == 0) {
        become(keeper, directory, ends, words);
    }
    (void)dup2(lifeline, STDIN_FILENO);
    (void)close_range(STDIN_FILENO + 1, ~0U, 0); /* other processes wait for these to close */
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
    }
    if (daemon > 0) {
        end_process(daemon);
    }
    remove_directory(directory);
    _exit(0);
}

static void close_all(const int *descriptors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (descriptors[i] >= 0) {
            (void)close(descriptors[i]);
        }
    }
}

static int start(struct pvm_daemon *daemon, char *const words[], char *error, size_t error_bytes)
{
    int ends[6] = {-1, -1, -1, -1, -1, -1}; /* lifeline, input, output: read, write */

    for (size_t i = 0; i < 6; i += 2) {
        if (pipe2(&ends[i], O_CLOEXEC) != 0) {
            const int status = fail(error, error_bytes, "no pipe");
            close_all(ends, 6);
            return status;
        }
    }
    daemon->keeper = fork();
    if (daemon->keeper < 0) {
        const int status = fail(error, error_bytes, "no process");
        daemon->keeper = 0;
        close_all(ends, 6);
        return status;
    }
    if (daemon->keeper == 0) {
        const int its[2] = {ends[2], ends[5]};
        (void)setpgid(0, 0);
        (void)close(ends[1]);
        keep(daemon->directory, ends[0], its, words);
    }
    const int its[3] = {ends[0], ends[2], ends[5]};
    close_all(its, 3);
    daemon->lifeline = ends[1];
    daemon->input = ends[3];
    daemon->output = ends[4];
    return 0;
}

static int make_directory(struct pvm_daemon *daemon, char *error, size_t error_bytes)
{
    (void)snprintf(daemon->directory, sizeof daemon->directory, "/tmp/beowire-pvm-XXXXXX");
    if (mkdtemp(daemon->directory) == NULL) {
        daemon->directory[0] = '\0';
        return fail(error, error_bytes, "/tmp");
    }
    return 0;
}

/* Writes the hosts file of a master; the other host is added by hand. */
static int write_hosts(const struct pvm_daemon *daemon, const char *own, const char *other,
                       char path[PVM_LINE_BYTES])
{
    (void)snprintf(path, PVM_LINE_BYTES, "%s/hosts", daemon->directory);
    FILE *file = fopen(path, "wxe");
    if (file == NULL) {
        return -errno;
    }
    (void)fprintf(file, "%s\n", own);
    if (other[0] != '\0') {
        (void)fprintf(file, "%s so=ms\n", other);
    }
    return fclose(file) == 0 ? 0 : -errno;
}

int pvm_daemon_master(struct pvm_daemon *daemon, const char *own, const char *other, char *error,
                      size_t error_bytes)
{
    char program[PVM_LINE_BYTES];
    char name[PVM_LINE_BYTES];
    char hosts[PVM_LINE_BYTES];
    int status = make_directory(daemon, error, error_bytes);

    if (status != 0) {
        return status;
    }
    (void)snprintf(program, sizeof program, "%s", pvm_daemon_program());
    (void)snprintf(name, sizeof name, "-n%s", own);
    status = write_hosts(daemon, own, other, hosts);
    if (status != 0) {
        errno = -status;
        return fail(error, error_bytes, hosts);
    }
    char *const words[] = {program, name, hosts, NULL};
    return start(daemon, words, error, error_bytes);
}

/* Accepts only harmless words of a master's output. */
static bool is_plain(const char *words)
{
    for (; *words != '\0'; words++) {
        if (!isalnum((unsigned char)*words) && strchr(" .:-", *words) == NULL) {
            return false;
        }
    }
    return true;
}

int pvm_daemon_slave(struct pvm_daemon *daemon, const char *words, char *error, size_t error_bytes)
{
    char copy[PVM_LINE_BYTES];
    char program[PVM_LINE_BYTES];
    char stays[] = "-f"; /* in the foreground, so that the keeper can end it */
    char *all[WORDS_MAX + 3] = {program, stays};
    size_t count = 2;
    char *rest = NULL;

    (void)snprintf(copy, sizeof copy, "%s", words);
    (void)snprintf(program, sizeof program, "%s", pvm_daemon_program());
    char *word = strtok_r(copy, " ", &rest);
    if (word == NULL || strcmp(word, "pvmd") != 0 || !is_plain(words)) {
        (void)snprintf(error, error_bytes, "PVM's daemon asks to start '%.60s', which is no pvmd",
                       words);
        return -EPROTO;
    }
    while ((word = strtok_r(NULL, " ", &rest)) != NULL && count < WORDS_MAX + 2) {
        all[count++] = word;
    }
    all[count] = NULL;
    const int status = make_directory(daemon, error, error_bytes);
    return status == 0 ? start(daemon, all, error, error_bytes) : status;
}

/* Reads one byte of its output. -ECANCELED; -ECHILD: it has ended. */
static int hear_byte(const struct pvm_daemon *daemon, const struct driver_host *host, char *byte)
{
    struct pollfd poller = {.fd = daemon->output, .events = POLLIN};

    while (poll(&poller, 1, SLICE_MS) <= 0) {
        if (host->stopped(host->context)) {
            return -ECANCELED;
        }
    }
    return read(daemon->output, byte, 1) == 1 ? 0 : -ECHILD;
}

int pvm_daemon_hear(const struct pvm_daemon *daemon, const struct driver_host *host,
                    const char *beginning, char line[PVM_LINE_BYTES], char *error,
                    size_t error_bytes)
{
    char last[PVM_LINE_BYTES] = "nothing";
    size_t used = 0;

    for (;;) {
        char byte = '\n';
        const int status = hear_byte(daemon, host, &byte);
        if (status != 0) {
            (void)snprintf(error, error_bytes, "PVM's daemon %s; it has said: %.120s",
                           status == -ECANCELED ? "does not start in time" : "has ended", last);
            return status;
        }
        if (byte != '\n') {
            line[used] = byte;
            used += used < PVM_LINE_BYTES - 1 ? 1 : 0;
            continue;
        }
        line[used] = '\0';
        if (strncmp(line, beginning, strlen(beginning)) == 0) {
            return 0;
        }
        if (used > 0) {
            memcpy(last, line, sizeof last);
        }
        used = 0;
    }
}

int pvm_daemon_say(const struct pvm_daemon *daemon, const char *line, char *error,
                   size_t error_bytes)
{
    char whole[PVM_LINE_BYTES + 2];
    const int bytes = snprintf(whole, sizeof whole, "%s\n", line);

    /* A pipe takes a line whole. If its reader has ended, write() must fail without a signal. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    const ssize_t written = write(daemon->input, whole, (size_t)bytes);
    const int status = written == bytes ? 0 : fail(error, error_bytes, "PVM's daemon");
    (void)signal(SIGPIPE, before);
    return status;
}

void pvm_daemon_end(struct pvm_daemon *daemon)
{
    const int descriptors[] = {daemon->lifeline, daemon->input, daemon->output};

    close_all(descriptors, 3);
    if (daemon->keeper > 0) {
        while (waitpid(daemon->keeper, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (daemon->directory[0] != '\0') {
        remove_directory(daemon->directory); /* if the keeper could not */
    }
    pvm_daemon_init(daemon);
}
