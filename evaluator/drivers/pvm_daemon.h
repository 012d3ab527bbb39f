/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pvm_daemon.h - a PVM daemon on this node, started for one session in its own directory. It ends
 * with the session, even if the process that asked for it crashes. So no daemon of the user is
 * needed or affected.
 *
 * A child (the keeper) starts the daemon, and ends it when this process closes its end of a pipe.
 * This process also has the daemon's standard input and output: through those of a master, daemons
 * on other nodes are added by hand, without a remote shell.
 *
 * One thread. All functions return 0 or a negative errno value with one line in `error`.
 */
#ifndef BEOWIRE_DRIVERS_PVM_DAEMON_H
#define BEOWIRE_DRIVERS_PVM_DAEMON_H

#include <stddef.h>
#include <sys/types.h>

#include "driver.h"

/** Longest line between daemons, with its zero byte. */
#define PVM_LINE_BYTES 256

/** Longest path of the directory in which programs find their daemon. */
#define PVM_DIRECTORY_BYTES 64

struct pvm_daemon {
    pid_t keeper; /**< 0: none */
    int lifeline; /**< closing it makes the keeper end everything */
    int input;    /**< the daemon's; -1: closed */
    int output;
    char directory[PVM_DIRECTORY_BYTES];
};

/** Path of the daemon's program, or NULL. */
const char *pvm_daemon_program(void);

/** Marks it as not started. */
void pvm_daemon_init(struct pvm_daemon *daemon);

/** Starts a master with the address `own`, as text. It waits for a daemon at `other` ("": none). */
int pvm_daemon_master(struct pvm_daemon *daemon, const char *own, const char *other, char *error,
                      size_t error_bytes);

/** Starts the daemon of another node, with the words that its master printed for it. */
int pvm_daemon_slave(struct pvm_daemon *daemon, const char *words, char *error, size_t error_bytes);

/** Reads the daemon's output up to a line that begins with `beginning`. -ECANCELED: the host asked
 *  to stop. */
int pvm_daemon_hear(const struct pvm_daemon *daemon, const struct driver_host *host,
                    const char *beginning, char line[PVM_LINE_BYTES], char *error,
                    size_t error_bytes);

/** Sends a line to the daemon. */
int pvm_daemon_say(const struct pvm_daemon *daemon, const char *line, char *error,
                   size_t error_bytes);

/** Ends the daemon at once, and removes its directory. */
void pvm_daemon_end(struct pvm_daemon *daemon);

#endif
