/* SPDX-License-Identifier: BSD-3-Clause */
#include "proxy.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exit.h"
#include "link.h"
#include "output.h"

static int complain(const char *what, int error)
{
    (void)fprintf(stderr, "beowire-engine: %s: %s\n", what, strerror(error));
    return EXIT_USAGE;
}

static void say_name(const char *name)
{
    char program[PATH_MAX] = "";
    struct json json;

    (void)!readlink("/proc/self/exe", program, sizeof program - 1);
    output_begin(&json, "proxy");
    json_text(&json, "name", name);
    json_text(&json, "program", program);
    output_send(&json);
}

static void say_attached(pid_t engine)
{
    struct json json;

    output_begin(&json, "attached");
    json_unsigned(&json, "pid", (uint64_t)engine);
    output_send(&json);
}

/* Waits for the engine. @return its descriptor; 0: the input has ended; or a negative errno. */
static int await_engine(int listener, int input, pid_t *engine)
{
    /* Input from the evaluator is left unread until then; only its end matters. */
    struct pollfd either[] = {{.fd = listener, .events = POLLIN}, {.fd = input, .events = 0}};

    for (;;) {
        if (poll(either, 2, -1) < 0) {
            if (errno != EINTR) {
                return -errno;
            }
            continue;
        }
        if (either[0].revents != 0) {
            int descriptor = link_accept(listener, engine);
            if (descriptor != -EPERM && descriptor != -ECONNABORTED) {
                return descriptor;
            }
        }
        if (either[1].revents != 0) {
            return 0;
        }
    }
}

/* Relays available bytes. False: `from` has ended, or `to` takes no more. */
static bool hand_on(int from, int to)
{
    char bytes[1 << 16];
    ssize_t count = read(from, bytes, sizeof bytes);

    if (count <= 0) {
        return count < 0 && errno == EINTR;
    }
    for (ssize_t done = 0; done < count;) {
        ssize_t written = write(to, bytes + done, (size_t)(count - done));
        if (written < 0 && errno != EINTR) {
            return false;
        }
        done += written < 0 ? 0 : written;
    }
    return true;
}

static int hand_on_all(int engine, int input, int output)
{
    struct pollfd either[] = {{.fd = engine, .events = POLLIN}, {.fd = input, .events = POLLIN}};

    for (;;) {
        const bool input_ended = either[1].fd < 0;
        int ready = poll(either, 2, input_ended ? PROXY_PATIENCE_MS : -1);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready <= 0) {
            return EXIT_INPUT_ENDED;
        }
        if (either[0].revents != 0 && !hand_on(engine, output)) {
            return input_ended ? EXIT_QUIT : EXIT_ENGINE_ENDED;
        }
        if (either[1].revents != 0 && !hand_on(input, engine)) {
            (void)shutdown(engine, SHUT_WR);
            either[1].fd = -1; /* poll() ignores it */
        }
    }
}

int proxy_serve(int input, int output)
{
    char name[LINK_NAME_BYTES];
    pid_t pid = 0;
    int listener = link_listen(name);

    if (listener < 0) {
        return complain("cannot wait for an engine", -listener);
    }
    say_name(name);
    int engine = await_engine(listener, input, &pid);
    (void)close(listener);
    if (engine < 0) {
        return complain("cannot accept the connection of the engine", -engine);
    }
    if (engine == 0) {
        return EXIT_INPUT_ENDED;
    }
    say_attached(pid);
    int status = hand_on_all(engine, input, output);
    (void)close(engine);
    return status;
}
