/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit.h"
#include "link.h"
#include "testing.h"

TEST(attach__nobody_wants_an_engine)
{
    int errors = dup(STDERR_FILENO);
    int nowhere = open("/dev/null", O_WRONLY);
    assert_true(errors >= 0 && nowhere >= 0);
    (void)dup2(nowhere, STDERR_FILENO);
    assert_int_equal(attach("beowire-engine-nobody"), -1);
    (void)dup2(errors, STDERR_FILENO);
    close(errors);
    close(nowhere);
}

/* An engine that never looks at its connection, as one inside a library that hangs. */
TEST(attach__an_engine_that_hangs_ends_with_its_proxy)
{
    char name[LINK_NAME_BYTES];
    pid_t peer = 0;
    int status = 0;
    int listener = link_listen(name);
    assert_true(listener >= 0);
    pid_t engine = fork();
    assert_true(engine >= 0);
    if (engine == 0) {
        (void)alarm(60);
        if (attach(name) < 0) {
            _exit(1);
        }
        for (;;) {
            (void)pause();
        }
    }
    int proxy = link_accept(listener, &peer);
    assert_true(proxy >= 0);
    assert_int_equal(peer, engine);
    close(proxy);
    assert_int_equal(waitpid(engine, &status, 0), engine);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_INPUT_ENDED);
    close(listener);
}
