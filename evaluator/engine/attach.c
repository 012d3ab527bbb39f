/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exit.h"
#include "link.h"

static void *watch(void *argument)
{
    struct pollfd end = {.fd = (int)(intptr_t)argument, .events = POLLRDHUP};

    while (poll(&end, 1, -1) < 0 && errno == EINTR) {
    }
    (void)poll(NULL, 0, ATTACH_PATIENCE_MS);
    _exit(EXIT_INPUT_ENDED);
}

static int start_watching(int descriptor)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* only the other thread handles signals */
    int error = pthread_create(&thread, NULL, watch, (void *)(intptr_t)descriptor);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? pthread_detach(thread) : error;
}

int attach(const char *name)
{
    int descriptor = link_connect(name);
    int error = descriptor < 0 ? -descriptor : start_watching(descriptor);

    if (error == 0) {
        return descriptor;
    }
    (void)fprintf(stderr, "beowire-engine: cannot connect to the proxy of this engine: %s\n",
                  strerror(error));
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    return -1;
}
