/* SPDX-License-Identifier: BSD-3-Clause */
#include "configuration.h"

#include "beowire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "endpoint/trace_file.h"

#define OF_HOST "/etc/beowire/beowire.conf"
#define OF_USER "beowire/beowire.conf"

/** Makes a path of three parts. @return false: it is too long, or the beginning is not absolute. */
static bool join(char path[PATH_MAX], const char *base, const char *middle, const char *end)
{
    return base != NULL && base[0] == '/' &&
           snprintf(path, PATH_MAX, "%.2000s/%s%s", base, middle, end) < PATH_MAX;
}

/** The value of a variable that names a file. NULL in a setuid program, because errors quote the
 *  file, which its user may not be allowed to read. */
static const char *naming(const char *variable)
{
    return getuid() == geteuid() && getgid() == getegid() ? getenv(variable) : NULL;
}

/** Does the file exist? @return 0; -ENOENT; another errno: unknown. */
static int seek(const char *path)
{
    if (access(path, F_OK) == 0) {
        return 0;
    }
    return errno == ENOTDIR ? -ENOENT : -errno;
}

/** The user's home directory: HOME if it is accessible, else that of the user database. */
static bool home_of_user(char path[PATH_MAX])
{
    const char *home = naming("HOME");
    struct passwd entry;
    struct passwd *known = NULL;
    char room[4096];

    if (home != NULL && home[0] == '/' && access(home, X_OK) == 0) {
        return join(path, home, ".config/", OF_USER);
    }
    if (getuid() != geteuid() || getpwuid_r(getuid(), &entry, room, sizeof room, &known) != 0 ||
        known == NULL) {
        return false;
    }
    return join(path, known->pw_dir, ".config/", OF_USER);
}

/** Writes the path of the file to be read; "" if there is none. @return 0; -errno: whether the path
 *  exists is unknown. */
static int find(const char *path, char found[PATH_MAX])
{
    const char *named = path != NULL ? path : naming("BEOWIRE_CONFIG");

    if (named != NULL) {
        (void)snprintf(found, PATH_MAX, "%s", named);
        return 0;
    }
    const char *base = naming("XDG_CONFIG_HOME");
    bool is_set = base != NULL && *base != '\0';
    int status = -ENOENT;
    if (is_set ? join(found, base, "", OF_USER) : home_of_user(found)) {
        status = seek(found);
    }
    if (status == -ENOENT) {
        (void)snprintf(found, PATH_MAX, "%s", OF_HOST);
        status = seek(found);
    }
    if (status == -ENOENT) {
        found[0] = '\0';
        status = 0;
    }
    return status;
}

/** Opens a file, but no pipe, which might block. @return -1, and errno. */
static int open_file(const char *path)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (file >= 0 && fstat(file, &about) == 0 && S_ISFIFO(about.st_mode)) {
        close(file);
        errno = ESPIPE;
        return -1;
    }
    return file;
}

/** Reads a whole file. @return its text, which the caller frees; NULL, and errno. */
static char *read_text(const char *path)
{
    char *text = malloc(SETTINGS_BYTES_MAX + 1);
    int file = open_file(path);
    ssize_t got = file < 0 || text == NULL ? -1 : 1;
    size_t have = 0;

    while (got > 0 && have <= SETTINGS_BYTES_MAX) {
        got = read(file, text + have, SETTINGS_BYTES_MAX + 1 - have);
        have += got > 0 ? (size_t)got : 0;
    }
    int error = got < 0 ? errno : EFBIG;
    if (file >= 0) {
        close(file);
    }
    if (got < 0 || have > SETTINGS_BYTES_MAX) { /* a truncated file could mean something else */
        free(text);
        errno = error;
        return NULL;
    }
    text[have] = '\0';
    for (size_t i = strlen(text); i < have; i += strlen(text + i)) {
        text[i] = '\1'; /* not the end of the text, and no setting */
    }
    return text;
}

static int report(int status, const char *where, const struct settings_fault *fault, char *reason,
                  size_t reason_bytes)
{
    if (status != 0 && reason != NULL && reason_bytes > 0) {
        (void)snprintf(reason, reason_bytes, "%.300s:%u: %s", where, fault->line, fault->reason);
    }
    return status;
}

static int cannot_read(int status, const char *path, char *reason, size_t reason_bytes)
{
    if (reason != NULL && reason_bytes > 0) {
        (void)snprintf(reason, reason_bytes, "%.300s: %s", path, strerror(-status));
    }
    return status;
}

/** Reads the settings of one file over the present ones. */
static int read_file(const char *path, struct settings *settings, char *reason, size_t reason_bytes)
{
    struct settings_fault fault = {0};
    char *text = read_text(path);

    if (text == NULL) {
        return cannot_read(-errno, path, reason, reason_bytes);
    }
    int status =
        report(settings_parse(settings, text, '\n', &fault), path, &fault, reason, reason_bytes);
    free(text);
    return status;
}

/** Does the host's own file require seals, whichever file is read? @return 0, or as
 *  configuration_read(). */
static int host_wants_seals(bool *wanted, char *reason, size_t reason_bytes)
{
    struct settings of_host;
    int status = seek(OF_HOST);

    *wanted = false;
    settings_default(&of_host);
    if (status == -ENOENT) {
        return 0;
    }
    status = status != 0 ? cannot_read(status, OF_HOST, reason, reason_bytes)
                         : read_file(OF_HOST, &of_host, reason, reason_bytes);
    *wanted = status == 0 && of_host.authenticate;
    return status;
}

int configuration_read(const char *path, struct settings *settings, char *reason,
                       size_t reason_bytes)
{
    const char *more = getenv("BEOWIRE_SETTINGS");
    struct settings_fault fault = {0};
    char found[PATH_MAX];
    bool wanted = false;

    settings_default(settings);
    int status = find(path, found);
    if (status != 0) {
        return cannot_read(status, found, reason, reason_bytes);
    }
    if (found[0] != '\0') {
        status = read_file(found, settings, reason, reason_bytes);
        if (status == 0 && strcmp(found, OF_HOST) != 0) {
            status = host_wants_seals(&wanted, reason, reason_bytes);
        }
        settings->authenticate |= wanted;
    }
    if (status == 0 && more != NULL) {
        status = report(settings_parse(settings, more, ',', &fault), "BEOWIRE_SETTINGS", &fault,
                        reason, reason_bytes);
    }
    return status;
}

int beowire_configuration_check(const char *path, char *reason, size_t reason_bytes)
{
    struct settings settings;
    const int status = configuration_read(path, &settings, reason, reason_bytes);

    return status != 0 ? status
                       : trace_file_check(secure_getenv(TRACE_VARIABLE), reason, reason_bytes);
}
