/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve.h - answers one process that asks for frames (grant.h says what is said).
 *
 *      server, in the host's network namespace         child
 *
 *      is it allowed?
 *      puts the program on the card's egress
 *      forks                                            makes a network namespace for the grant
 *      makes a macvlan of the card there
 *                                                       gives it a free address, has it up
 *                                                       makes the socket, marks it
 *      passes it to the process                         ends
 *
 * The namespace lives as long as the socket is open somewhere, and the macvlan as long as that. So
 * when the process ends the kernel takes all of it away, whether there is a broker or not.
 */
#ifndef BEOWIRE_BROKER_SERVE_H
#define BEOWIRE_BROKER_SERVE_H

#include "policy.h"

/** Reads the question, and answers it. Takes milliseconds; a process that asks nothing, a second.
 *  Errors of the host, but no refusals, are lines on standard error. */
void serve(int connection, const struct policy *policy);

#endif /* BEOWIRE_BROKER_SERVE_H */
