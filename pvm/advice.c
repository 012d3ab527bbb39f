/* SPDX-License-Identifier: BSD-3-Clause */
#include "advice.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Longest line in a daemon's file, and path of a socket. */
#define TEXT_BYTES 128
#define PATH_BYTES (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

/* The address in a daemon's file, such as "7f000001:9c42", or a path. @return bytes; 0: none */
static socklen_t read_place(const char *text, struct sockaddr_storage *place)
{
    struct sockaddr_in *inet = (struct sockaddr_in *)place;
    struct sockaddr_un *local = (struct sockaddr_un *)place;
    char *end = NULL;

    memset(place, 0, sizeof *place);
    if (text[0] == '/') {
        const size_t length = strcspn(text, "\n");
        local->sun_family = AF_UNIX;
        memcpy(local->sun_path, text, length < PATH_BYTES ? length : PATH_BYTES);
        return sizeof *local;
    }
    const unsigned long host = strtoul(text, &end, 16);
    if (end == text || *end != ':') {
        return 0;
    }
    inet->sin_family = AF_INET;
    inet->sin_addr.s_addr = htonl((uint32_t)host);
    inet->sin_port = htons((uint16_t)strtoul(end + 1, NULL, 16));
    return sizeof *inet;
}

static bool refuses(const char *text)
{
    struct sockaddr_storage place;
    const socklen_t bytes = read_place(text, &place);
    const int try = bytes > 0 ? socket(place.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

    if (try < 0) {
        return false;
    }
    const bool refused = connect(try, (const struct sockaddr *)&place, bytes) != 0 &&
                         (errno == ECONNREFUSED || errno == ENOENT);
    (void)close(try);
    return refused;
}

/* The daemon's file. @return NULL: there is none, or a variable is in its place */
static const char *file_of(const struct stock *stock)
{
    if (*stock->user < 0) { /* as libpvm3 does when it enrols */
        *stock->user = (int)geteuid();
    }
    return getenv("PVMSOCK") == NULL ? stock->socket_file() : NULL;
}

bool advice_daemon_is_gone(const struct stock *stock)
{
    char text[TEXT_BYTES] = "";
    const char *file = file_of(stock);
    FILE *stream = file != NULL ? fopen(file, "re") : NULL;

    if (stream == NULL) {
        return false; /* libpvm3 will say so at once */
    }
    const bool there = fgets(text, sizeof text, stream) != NULL;
    (void)fclose(stream);
    return there && refuses(text);
}

/* Advice, by the contents of the daemon's file. */
static void say(const char *file)
{
    if (access(file, R_OK) == 0) {
        (void)fprintf(stderr,
                      "libpvm: the daemon that %s names does not take this task: if it has ended, "
                      "remove that file and start it again with `pvm`; if it is of another version "
                      "of PVM, end it with that version's `pvm` (halt)\n",
                      file);
    } else if (errno == ENOENT) {
        (void)fprintf(
            stderr,
            "libpvm: no daemon of PVM runs here for this user (there is no %s): start one "
            "with `pvm`, or set PVM_TMP as your daemon has it\n",
            file);
    } else {
        (void)fprintf(stderr,
                      "libpvm: %s: %s: it is of another user's daemon: set PVM_TMP to a directory "
                      "of your own, and start `pvm` with it\n",
                      file, strerror(errno));
    }
}

void advice_say(const struct stock *stock)
{
    static bool said;
    const char *file = file_of(stock);

    if (said || *stock->says_errors == 0) {
        return;
    }
    said = true;
    if (file != NULL) {
        say(file);
    } else {
        (void)fprintf(stderr,
                      "libpvm: the daemon that PVMSOCK names does not take this task: start "
                      "this program where it runs, or unset PVMSOCK\n");
    }
}
