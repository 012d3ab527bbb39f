/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pvm_daemon.h - PVM's daemon on this node: started for one session, in a directory of its own, and
 * gone with it, whatever becomes of the process that asked for it. So no daemon of a user's is
 * touched, and none is needed.
 *
 * A child (the keeper) starts the daemon, and waits for the end of a pipe whose other end is here.
 * The daemon's standard input and output are here, too: those of a master are how daemons on other
 * nodes are added by hand, which takes no remote shell.
 *
 * One thread. All functions return 0 or a negative errno value with one line in `error`.
 */
#ifndef BEOWIRE_DRIVERS_PVM_DAEMON_H
#define BEOWIRE_DRIVERS_PVM_DAEMON_H

#include <stddef.h>
#include <sys/types.h>

#include "driver.h"

/** Longest line that daemons say to each other, with its end. */
#define PVM_LINE_BYTES 256

/** Where programs of the virtual machine find their daemon. */
#define PVM_DIRECTORY_BYTES 64

struct pvm_daemon {
    pid_t keeper; /**< 0: there is none */
    int lifeline; /**< the keeper ends all when it is closed */
    int input;    /**< the daemon's; -1: closed */
    int output;
    char directory[PVM_DIRECTORY_BYTES];
};

/** Where the daemon's program is; NULL: nowhere. */
const char *pvm_daemon_program(void);

/** Nothing is started yet. */
void pvm_daemon_init(struct pvm_daemon *daemon);

/** Starts a master with the address `own`, as text; it waits for a daemon at `other`, if there is
 *  one ("": there is not). */
int pvm_daemon_master(struct pvm_daemon *daemon, const char *own, const char *other, char *error,
                      size_t error_bytes);

/** Starts the daemon of another node, with the words that its master has said for it. */
int pvm_daemon_slave(struct pvm_daemon *daemon, const char *words, char *error, size_t error_bytes);

/** Reads the first line of the daemon's output that begins with `beginning`. -ECANCELED: the host
 *  asked to stop. */
int pvm_daemon_hear(const struct pvm_daemon *daemon, const struct driver_host *host,
                    const char *beginning, char line[PVM_LINE_BYTES], char *error,
                    size_t error_bytes);

/** Says a line to the daemon. */
int pvm_daemon_say(const struct pvm_daemon *daemon, const char *line, char *error,
                   size_t error_bytes);

/** Ends the daemon, at once, and takes its directory away. */
void pvm_daemon_end(struct pvm_daemon *daemon);

#endif
