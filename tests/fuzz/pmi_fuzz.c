/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A launcher that speaks PMI-1, or says anything else: the input is its answers, cut into pieces
 * (length, bytes) as they arrive. Whatever it says: no crash, nothing written outside, a reason for
 * each failure, and what is said to it are lines that it can read.
 */
#include "job/hex.h"
#include "job/pmi.h"

#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWERS_MAX 64  /* pieces: the socket holds them all */
#define PIECE_BYTES 255 /* at most */
#define LINE_BYTES 1024 /* that a launcher reads at most */
#define OURS 200        /* the descriptor that the launcher left open */
#define OURS_TEXT "200"
#define SIZE 3
#define REASON_BYTES 80

struct launcher {
    int socket;
};

/** Lets all answers wait: packets, so that each piece is one recv(2), as from a slow launcher. */
static void open_launcher(struct launcher *launcher, struct script *script)
{
    int ends[2];

    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    require(dup3(ends[0], OURS, O_CLOEXEC) == OURS);
    close(ends[0]);
    launcher->socket = ends[1];
    for (unsigned i = 0; i < ANSWERS_MAX && script->left > 0; i++) {
        uint8_t piece[PIECE_BYTES];
        size_t bytes = script_take(script);
        bytes = bytes < script->left ? bytes : script->left;
        for (size_t at = 0; at < bytes; at++) {
            piece[at] = script_take(script);
        }
        require(bytes == 0 || send(launcher->socket, piece, bytes, 0) == (ssize_t)bytes);
    }
    require(shutdown(launcher->socket, SHUT_WR) == 0);
}

/** What was said is one question after the other. */
static void close_launcher(const struct launcher *launcher)
{
    char line[LINE_BYTES + 1];
    ssize_t bytes;

    while ((bytes = recv(launcher->socket, line, sizeof line, MSG_DONTWAIT)) > 0) {
        require(bytes <= LINE_BYTES && line[bytes - 1] == '\n');
        require(bytes > 4 && memcmp(line, "cmd=", 4) == 0);
        require(memchr(line, '\0', (size_t)bytes) == NULL);
    }
    close(launcher->socket);
}

static void check_reason(int status, const char *reason)
{
    require(status <= 0);
    require(status == 0 || (reason[0] != '\0' && memchr(reason, '\0', REASON_BYTES) != NULL));
}

/** Everybody's contribution is read as so many bytes, exactly. */
static void gather(struct beowire_job *job, size_t bytes)
{
    char reason[REASON_BYTES] = "";
    uint8_t mine[BEOWIRE_JOB_BYTES_MAX] = {0x5A};
    uint8_t *all = malloc(SIZE * bytes + 1);

    require(all != NULL);
    int status = beowire_job_gather(job, mine, bytes, all, reason, sizeof reason);
    check_reason(status, reason);
    free(all);
}

/** What a launcher may hand on as a value: if it is read, it is written the same. */
static void check_hex(const struct script *script)
{
    size_t bytes = script->left / 2;
    char *text = malloc(2 * bytes + 2);
    char *again = malloc(2 * bytes + 1);
    uint8_t *data = malloc(bytes + 1);

    require(text != NULL && again != NULL && data != NULL);
    memcpy(text, script->at, script->left);
    text[script->left] = '\0';
    if (hex_read(text, data, bytes)) {
        hex_write(data, bytes, again);
        require(strcmp(text, again) == 0);
    }
    free(text);
    free(again);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, size};
    struct beowire_job job = {0};
    struct launcher launcher;
    char reason[REASON_BYTES] = "";

    (void)setenv("PMI_FD", OURS_TEXT, 1);
    (void)setenv("PMI_RANK", "1", 1);
    (void)setenv("PMI_SIZE", "3", 1);
    if (size > 0) {
        check_hex(&script);
    }
    size_t bytes = script_take(&script) % (BEOWIRE_JOB_BYTES_MAX + 1u);
    open_launcher(&launcher, &script);
    int status = pmi_open(&job, (struct reason){reason, sizeof reason});
    check_reason(status, reason);
    if (status == 0) {
        require(job.rank == 1 && job.size == SIZE);
        gather(&job, bytes);
        gather(&job, 8);
        job.launcher->close(job.context);
    }
    close_launcher(&launcher);
    return 0;
}
