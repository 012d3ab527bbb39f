/* SPDX-License-Identifier: BSD-3-Clause */
#include "configuration.h"

#include "beowire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoint/trace_file.h"

#define OF_HOST "/etc/beowire/beowire.conf"
#define OF_USER "beowire/beowire.conf"

/** Makes a path of three parts. @return false: it is too long, or its beginning is no absolute
 *  path. */
static bool join(char path[PATH_MAX], const char *base, const char *middle, const char *end)
{
    return base != NULL && base[0] == '/' &&
           snprintf(path, PATH_MAX, "%.2000s/%s%s", base, middle, end) < PATH_MAX;
}

/** A variable that names a file. Of a program that is another user's (setuid), it names none: what
 *  is wrong in a file is quoted, and its user may not be allowed to read that one. */
static const char *naming(const char *variable)
{
    return getuid() == geteuid() && getgid() == getegid() ? getenv(variable) : NULL;
}

/** Writes the path of the file to be read; "" if there is none. */
static void find(const char *path, char found[PATH_MAX])
{
    const char *named = path != NULL ? path : naming("BEOWIRE_CONFIG");

    if (named != NULL) {
        (void)snprintf(found, PATH_MAX, "%s", named);
        return;
    }
    const char *base = naming("XDG_CONFIG_HOME");
    bool is_set = base != NULL && *base != '\0';
    if ((is_set ? join(found, base, "", OF_USER)
                : join(found, naming("HOME"), ".config/", OF_USER)) &&
        access(found, F_OK) == 0) {
        return;
    }
    (void)snprintf(found, PATH_MAX, "%s", access(OF_HOST, F_OK) == 0 ? OF_HOST : "");
}

/** Reads a whole file. @return its text, to be freed; NULL, and errno. */
static char *read_text(const char *path)
{
    char *text = malloc(SETTINGS_BYTES_MAX + 1);
    int file = open(path, O_RDONLY | O_CLOEXEC);
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
    if (got < 0 || have > SETTINGS_BYTES_MAX) { /* half of it might say something else */
        free(text);
        errno = error;
        return NULL;
    }
    text[have] = '\0';
    for (size_t i = strlen(text); i < have; i += strlen(text + i)) {
        text[i] = '\1'; /* it is not the end, and no setting */
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

int configuration_read(const char *path, struct settings *settings, char *reason,
                       size_t reason_bytes)
{
    const char *more = getenv("BEOWIRE_SETTINGS");
    struct settings_fault fault = {0};
    char found[PATH_MAX];
    int status = 0;

    settings_default(settings);
    find(path, found);
    if (found[0] != '\0') {
        char *text = read_text(found);
        if (text == NULL) {
            status = -errno;
            if (reason != NULL && reason_bytes > 0) {
                (void)snprintf(reason, reason_bytes, "%.300s: %s", found, strerror(-status));
            }
            return status;
        }
        status = report(settings_parse(settings, text, '\n', &fault), found, &fault, reason,
                        reason_bytes);
        free(text);
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
