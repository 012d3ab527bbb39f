/* SPDX-License-Identifier: BSD-3-Clause */
#include "proxy.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit.h"
#include "link.h"
#include "testing.h"

static pid_t proxy;
static int to_proxy = -1;
static int from_proxy = -1;
static char said[4096];
static char name[LINK_NAME_BYTES];

/* The next line of the proxy. */
static const char *hear(void)
{
    size_t length = 0;
    do {
        assert_true(length + 1 < sizeof said);
        assert_int_equal(read(from_proxy, said + length, 1), 1);
    } while (said[length++] != '\n');
    said[length] = '\0';
    return said;
}

static int start_proxy(void **state)
{
    int in[2];
    int out[2];
    if (pipe(in) != 0 || pipe(out) != 0) {
        return -1;
    }
    proxy = fork();
    if (proxy < 0) {
        return -1;
    }
    if (proxy == 0) {
        (void)signal(SIGPIPE, SIG_IGN);
        close(in[1]);
        close(out[0]);
        (void)dup2(out[1], STDOUT_FILENO);
        _exit(proxy_serve(in[0], out[1]));
    }
    close(in[0]);
    close(out[1]);
    to_proxy = in[1];
    from_proxy = out[0];
    const char *at = strstr(hear(), "\"name\":\"");
    return at == NULL || sscanf(at, "\"name\":\"%63[^\"]", name) != 1 ? -1 : 0;
}

static int await_status(void)
{
    int status = 0;
    assert_int_equal(waitpid(proxy, &status, 0), proxy);
    proxy = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int end_proxy(void **state)
{
    if (proxy > 0) {
        kill(proxy, SIGKILL);
        (void)await_status();
    }
    if (to_proxy >= 0) {
        close(to_proxy);
    }
    close(from_proxy);
    return 0;
}

#define WITH_PROXY_TEST(name) TEST_AROUND(name, start_proxy, end_proxy)

static void hang_up(void)
{
    close(to_proxy);
    to_proxy = -1;
}

static int attach_engine(void)
{
    int engine = link_connect(name);
    assert_true(engine >= 0);
    assert_non_null(strstr(hear(), "{\"event\":\"attached\""));
    return engine;
}

WITH_PROXY_TEST(serve__hands_on_what_either_says)
{
    char command[8] = "";
    assert_int_equal(write(to_proxy, "hello\n", 6), 6); /* before there is anybody */
    int engine = attach_engine();
    assert_int_equal(read(engine, command, sizeof command), 6);
    assert_string_equal(command, "hello\n");
    assert_int_equal(write(engine, "{}\n", 3), 3);
    assert_string_equal(hear(), "{}\n");
    close(engine);
    assert_int_equal(await_status(), EXIT_ENGINE_ENDED);
}

WITH_PROXY_TEST(serve__nobody_can_come_after_the_first)
{
    int engine = attach_engine();
    assert_true(link_connect(name) < 0);
    close(engine);
}

WITH_PROXY_TEST(input__ends_before_an_engine_comes)
{
    hang_up();
    assert_int_equal(await_status(), EXIT_INPUT_ENDED);
}

WITH_PROXY_TEST(input__ends_and_the_engine_hears_of_it)
{
    char byte;
    int engine = attach_engine();
    assert_int_equal(write(to_proxy, "quit\n", 5), 5);
    hang_up();
    for (int i = 0; i < 5; i++) {
        assert_int_equal(read(engine, &byte, 1), 1);
    }
    assert_int_equal(read(engine, &byte, 1), 0);
    assert_int_equal(write(engine, "x\n", 2), 2); /* it may still say something */
    assert_string_equal(hear(), "x\n");
    close(engine);
    assert_int_equal(await_status(), EXIT_QUIT);
}

WITH_PROXY_TEST(killed__the_engine_hears_of_it)
{
    char byte;
    int engine = attach_engine();
    kill(proxy, SIGKILL);
    assert_int_equal(read(engine, &byte, 1), 0);
    close(engine);
}
