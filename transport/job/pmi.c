/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmi.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/** The longest line that MPICH's launcher reads (PMIU_MAXLINE); ours are shorter. */
#define LINE_BYTES 1024

/** Longest name of the launcher's table of values, which is part of every question. */
#define TABLE_BYTES 256

static_assert(TABLE_BYTES + JOB_KEY_BYTES + JOB_VALUE_BYTES + 64 < LINE_BYTES,
              "a line holds a put");

struct pmi {
    int socket;
    char table[TABLE_BYTES];
    char line[LINE_BYTES]; /**< the answer, without its newline */
};

/** A number of at least `min` in the environment; -1: missing or malformed. */
static long number_of(const char *name, long min)
{
    const char *text = getenv(name);
    char *end = NULL;

    if (text == NULL || *text == '\0') {
        return -1;
    }
    errno = 0;
    long number = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && number >= min && number < INT_MAX ? number : -1;
}

static bool is_socket(int descriptor)
{
    int type = 0;
    socklen_t bytes = sizeof type;

    return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

bool pmi_is_present(void)
{
    long descriptor = number_of("PMI_FD", 0);

    /* A program started by one launcher may have been started by another in turn, which closes
     * unknown descriptors: then the number is meaningless. */
    return getenv("BEOWIRE_JOB_SOCKET") != NULL || (descriptor >= 0 && is_socket((int)descriptor));
}

static int lost(struct reason reason)
{
    return reason_set(reason, -ECONNRESET, "the launcher of this job has gone");
}

static int say(const struct pmi *pmi, const char *line, struct reason reason)
{
    size_t left = strlen(line);

    while (left > 0) {
        ssize_t written = send(pmi->socket, line, left, MSG_NOSIGNAL);
        if (written < 0 && errno != EINTR) {
            return lost(reason);
        }
        line += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/** Reads one line. The launcher only answers questions, so nothing follows it. */
static int hear(struct pmi *pmi, struct reason reason)
{
    size_t have = 0;

    for (;;) {
        ssize_t got = recv(pmi->socket, pmi->line + have, sizeof pmi->line - have, 0);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return lost(reason);
        }
        have += got > 0 ? (size_t)got : 0;
        if (have > 0 && pmi->line[have - 1] == '\n') {
            pmi->line[have - 1] = '\0';
            return 0;
        }
        if (have == sizeof pmi->line) {
            return reason_set(reason, -EPROTO, "the launcher's answer is too long for PMI-1");
        }
    }
}

/** Finds "name=" in the answer. @return the value, up to a space or the end; NULL: none. */
static const char *field(const struct pmi *pmi, const char *name, size_t *bytes)
{
    size_t length = strlen(name);

    for (const char *at = pmi->line; at != NULL; at = strchr(at, ' ')) {
        at += strspn(at, " ");
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            *bytes = strcspn(at + length + 1, " ");
            return at + length + 1;
        }
    }
    return NULL;
}

static bool field_is(const struct pmi *pmi, const char *name, const char *wanted)
{
    size_t bytes = 0;
    const char *value = field(pmi, name, &bytes);

    return value != NULL && bytes == strlen(wanted) && memcmp(value, wanted, bytes) == 0;
}

/** Asks, and checks that the answer belongs to the question and is no refusal. */
static int ask(struct pmi *pmi, const char *question, const char *answer, struct reason reason)
{
    size_t unused = 0;
    int status = say(pmi, question, reason);

    if (status == 0) {
        status = hear(pmi, reason);
    }
    if (status != 0) {
        return status;
    }
    if (!field_is(pmi, "cmd", answer) ||
        (field(pmi, "rc", &unused) != NULL && !field_is(pmi, "rc", "0"))) {
        return reason_set(reason, -EPROTO, "the launcher does not do as PMI-1 says: \"%.100s\"",
                          pmi->line);
    }
    return 0;
}

static int take(const struct pmi *pmi, const char *name, char *value, size_t room,
                struct reason reason)
{
    size_t bytes = 0;
    const char *found = field(pmi, name, &bytes);

    if (found == NULL || bytes >= room) {
        return reason_set(reason, -EPROTO, "the launcher's answer has no %s: \"%.100s\"", name,
                          pmi->line);
    }
    memcpy(value, found, bytes);
    value[bytes] = '\0';
    return 0;
}

static int publish(void *context, const char *key, const char *value, struct reason reason)
{
    struct pmi *pmi = context;
    char line[LINE_BYTES];

    (void)snprintf(line, sizeof line, "cmd=put kvsname=%s key=%s value=%s\n", pmi->table, key,
                   value);
    int status = ask(pmi, line, "put_result", reason);
    return status != 0 ? status : ask(pmi, "cmd=barrier_in\n", "barrier_out", reason);
}

static int look_up(void *context, uint32_t rank, const char *key, char value[JOB_VALUE_BYTES],
                   struct reason reason)
{
    struct pmi *pmi = context;
    char line[LINE_BYTES];

    (void)rank; /* it is part of the key */
    (void)snprintf(line, sizeof line, "cmd=get kvsname=%s key=%s\n", pmi->table, key);
    int status = ask(pmi, line, "get_result", reason);
    return status != 0 ? status : take(pmi, "value", value, JOB_VALUE_BYTES, reason);
}

static void close_pmi(void *context)
{
    struct pmi *pmi = context;

    (void)ask(pmi, "cmd=finalize\n", "finalize_ack", (struct reason){0});
    close(pmi->socket);
    free(pmi);
}

static const struct job_launcher launcher = {publish, look_up, close_pmi};

/** @return a descriptor, or a negative errno. */
static int reach(struct reason reason)
{
    const char *path = getenv("BEOWIRE_JOB_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (path == NULL) {
        int inherited = (int)number_of("PMI_FD", 0);
        (void)fcntl(inherited, F_SETFD, FD_CLOEXEC);
        return inherited;
    }
    if (strlen(path) >= sizeof address.sun_path) {
        return reason_set(reason, -EINVAL, "BEOWIRE_JOB_SOCKET is too long for a socket");
    }
    memcpy(address.sun_path, path, strlen(path));
    int connected = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connected < 0 ||
        connect(connected, (const struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        if (connected >= 0) {
            close(connected);
        }
        return reason_set(reason, -error, "%.100s: %s", path, strerror(error));
    }
    return connected;
}

static int greet(struct pmi *pmi, struct reason reason)
{
    int status = ask(pmi, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", reason);

    if (status == 0) {
        status = ask(pmi, "cmd=get_my_kvsname\n", "my_kvsname", reason);
    }
    return status != 0 ? status : take(pmi, "kvsname", pmi->table, sizeof pmi->table, reason);
}

int pmi_open(struct beowire_job *job, struct reason reason)
{
    long rank = number_of("PMI_RANK", 0);
    long size = number_of("PMI_SIZE", 1);

    if (rank < 0 || rank >= size) {
        return reason_set(reason, -EPROTO, "PMI_RANK and PMI_SIZE are not those of a job");
    }
    struct pmi *pmi = calloc(1, sizeof *pmi);
    if (pmi == NULL) {
        return reason_set(reason, -ENOMEM, "out of memory");
    }
    int status = reach(reason);
    if (status >= 0) {
        pmi->socket = status;
        status = greet(pmi, reason);
        if (status == 0) {
            job->launcher = &launcher;
            job->context = pmi;
            job->rank = (uint32_t)rank;
            job->size = (uint32_t)size;
            return 0;
        }
        close(pmi->socket);
    }
    free(pmi);
    return status;
}
