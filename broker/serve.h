/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve.h - answers one process that asks for frames (by messages of grant.h).
 *
 *      server, in the host's network namespace         child
 *
 *      is the question allowed?
 *      puts the program on the card's egress (egress.h)
 *      forks                                            makes a network namespace for the grant
 *      makes a macvlan of the card there
 *                                                       gives it a free address, brings it up
 *                                                       makes the socket, marks it
 *      passes it to the process                         ends
 *
 * The namespace exists as long as the socket is open somewhere, and the macvlan as long as the
 * namespace. So when the process ends the kernel removes them, whether there is a broker or not.
 */
#ifndef BEOWIRE_BROKER_SERVE_H
#define BEOWIRE_BROKER_SERVE_H

#include "policy.h"

/** Refuses without reading a question. Does not wait. @param status a negative errno
 *  @param why of at most GRANT_WHY_BYTES, with its end */
void serve_refuse(int connection, int status, const char *why);

/** Reads the question of an admitted user and answers it, in milliseconds. Gives up after a second
 *  without a question. Errors of the host are lines on standard error; refusals are not. */
void serve(int connection, uid_t user, const struct policy *policy);

#endif /* BEOWIRE_BROKER_SERVE_H */
