/* SPDX-License-Identifier: BSD-3-Clause */
#include "job/pmi.h"
#include "unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/** What a launcher is asked, and what it answers; it hangs up after the last. */
struct line {
    const char *question;
    const char *answer;
};

struct server {
    const struct line *lines;
    int socket;
    bool listens; /**< `socket` is to be accepted from first */
    unsigned wrong;
    pthread_t thread;
};

static void *serve(void *argument)
{
    struct server *server = argument;
    int socket = server->listens ? accept(server->socket, NULL, NULL) : server->socket;

    for (const struct line *line = server->lines; line->question != NULL; line++) {
        char question[2048];
        size_t have = 0;
        ssize_t got = 1;

        while (got > 0 && (have == 0 || question[have - 1] != '\n')) {
            got = recv(socket, question + have, sizeof question - 1 - have, 0);
            have += got > 0 ? (size_t)got : 0;
        }
        question[have] = '\0';
        server->wrong += strcmp(question, line->question) != 0;
        /* In two pieces: a stream has no borders. */
        size_t half = strlen(line->answer) / 2;
        (void)send(socket, line->answer, half, MSG_NOSIGNAL);
        (void)send(socket, line->answer + half, strlen(line->answer) - half, MSG_NOSIGNAL);
    }
    close(socket);
    if (server->listens) {
        close(server->socket);
    }
    return NULL;
}

static void start(struct server *server, const struct line *lines)
{
    char number[12];
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    (void)snprintf(number, sizeof number, "%d", ends[0]);
    assert_int_equal(setenv("PMI_FD", number, 1), 0);
    assert_int_equal(setenv("PMI_RANK", "1", 1), 0);
    assert_int_equal(setenv("PMI_SIZE", "3", 1), 0);
    *server = (struct server){.lines = lines, .socket = ends[1]};
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void end(struct server *server)
{
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    assert_int_equal(server->wrong, 0);
}

#define INIT "cmd=init pmi_version=1 pmi_subversion=1\n"
#define GREETED                                                                                    \
    {INIT, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},                          \
    {                                                                                              \
        "cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=kvs_1\n"                                   \
    }
#define GOODBYE                                                                                    \
    {                                                                                              \
        "cmd=finalize\n", "cmd=finalize_ack\n"                                                     \
    }

TEST(pmi_open__publishes_and_looks_up)
{
    static const struct line lines[] = {
        GREETED,
        {"cmd=put kvsname=kvs_1 key=beowire-0-1 value=abcd\n", "cmd=put_result rc=0 msg=success\n"},
        {"cmd=barrier_in\n", "cmd=barrier_out\n"},
        {"cmd=get kvsname=kvs_1 key=beowire-0-2\n", "cmd=get_result rc=0 msg=success value=1234\n"},
        GOODBYE,
        {NULL, NULL},
    };
    struct beowire_job job = {0};
    struct reason reason = {0};
    char value[JOB_VALUE_BYTES];
    struct server server;

    start(&server, lines);
    assert_true(pmi_is_present());
    assert_int_equal(pmi_open(&job, reason), 0);
    assert_int_equal(job.rank, 1);
    assert_int_equal(job.size, 3);
    assert_int_equal(job.launcher->publish(job.context, "beowire-0-1", "abcd", reason), 0);
    assert_int_equal(job.launcher->look_up(job.context, 2, "beowire-0-2", value, reason), 0);
    assert_string_equal(value, "1234");
    job.launcher->close(job.context);
    end(&server);
}

/** What pmi_open() says about these answers. */
static int refusal(const struct line *lines, char text[BEOWIRE_JOB_REASON_BYTES])
{
    struct beowire_job job = {0};
    struct server server;

    start(&server, lines);
    int status = pmi_open(&job, (struct reason){text, BEOWIRE_JOB_REASON_BYTES});
    assert_null(job.launcher);
    end(&server);
    return status;
}

TEST(pmi_open__launcher_that_refuses)
{
    static const struct line refused[] = {{INIT, "cmd=response_to_init rc=-1\n"}, {NULL, NULL}};
    static const struct line other[] = {{INIT, "220 mail.example ESMTP\n"}, {NULL, NULL}};
    static const struct line nameless[] = {{INIT, "cmd=response_to_init rc=0\n"},
                                           {"cmd=get_my_kvsname\n", "cmd=my_kvsname\n"},
                                           {NULL, NULL}};
    static const struct line gone[] = {{INIT, ""}, {NULL, NULL}};
    char text[BEOWIRE_JOB_REASON_BYTES] = "";

    assert_int_equal(refusal(refused, text), -EPROTO);
    assert_non_null(strstr(text, "rc=-1"));
    assert_int_equal(refusal(other, text), -EPROTO);
    assert_non_null(strstr(text, "220 mail"));
    assert_int_equal(refusal(nameless, text), -EPROTO);
    assert_non_null(strstr(text, "kvsname"));
    assert_int_equal(refusal(gone, text), -ECONNRESET);
    assert_non_null(strstr(text, "has gone"));
}

TEST(pmi_open__answer_without_end)
{
    static char endless[3000];
    const struct line lines[] = {{INIT, endless}, {NULL, NULL}};
    char text[BEOWIRE_JOB_REASON_BYTES] = "";

    memset(endless, 'x', sizeof endless - 1);
    assert_int_equal(refusal(lines, text), -EPROTO);
    assert_non_null(strstr(text, "too long"));
}

TEST(pmi_open__environment_that_is_not_of_a_job)
{
    struct beowire_job job = {0};

    assert_int_equal(setenv("PMI_RANK", "3", 1), 0);
    assert_int_equal(setenv("PMI_SIZE", "3", 1), 0);
    assert_int_equal(pmi_open(&job, (struct reason){0}), -EPROTO);
    assert_int_equal(setenv("PMI_RANK", "one", 1), 0);
    assert_int_equal(pmi_open(&job, (struct reason){0}), -EPROTO);
    assert_int_equal(unsetenv("PMI_RANK"), 0);
    assert_int_equal(pmi_open(&job, (struct reason){0}), -EPROTO);
}

TEST(pmi_is_present__number_that_means_nothing)
{
    int ends[2];
    char number[12];

    assert_int_equal(setenv("PMI_FD", "9999", 1), 0);
    assert_false(pmi_is_present());
    assert_int_equal(setenv("PMI_FD", "", 1), 0);
    assert_false(pmi_is_present());
    assert_int_equal(pipe(ends), 0);
    (void)snprintf(number, sizeof number, "%d", ends[0]);
    assert_int_equal(setenv("PMI_FD", number, 1), 0);
    assert_false(pmi_is_present());
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(unsetenv("PMI_FD"), 0);
    assert_false(pmi_is_present());
}

TEST(pmi_open__by_a_path)
{
    static const struct line lines[] = {GREETED, GOODBYE, {NULL, NULL}};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char directory[] = "/tmp/pmi-test-XXXXXX";
    char text[BEOWIRE_JOB_REASON_BYTES] = "";
    struct beowire_job job = {0};
    struct server server;

    assert_non_null(mkdtemp(directory));
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/job", directory);
    assert_int_equal(unsetenv("PMI_FD"), 0);
    assert_int_equal(setenv("BEOWIRE_JOB_SOCKET", address.sun_path, 1), 0);
    assert_int_equal(setenv("PMI_RANK", "0", 1), 0);
    assert_int_equal(setenv("PMI_SIZE", "1", 1), 0);
    assert_true(pmi_is_present());
    assert_int_equal(pmi_open(&job, (struct reason){text, sizeof text}), -ENOENT);
    assert_non_null(strstr(text, address.sun_path));

    server =
        (struct server){.lines = lines, .socket = socket(AF_UNIX, SOCK_STREAM, 0), .listens = true};
    assert_int_equal(bind(server.socket, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server.socket, 1), 0);
    assert_int_equal(pthread_create(&server.thread, NULL, serve, &server), 0);
    assert_int_equal(pmi_open(&job, (struct reason){0}), 0);
    job.launcher->close(job.context);
    end(&server);
    assert_int_equal(unlink(address.sun_path), 0);
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(unsetenv("BEOWIRE_JOB_SOCKET"), 0);
}
