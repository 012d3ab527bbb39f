/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * namespace.h - a network of the test's own: loopback, and a veth pair "end0" - "end1" with the
 * addresses 10.77.0.1 and 10.77.0.2. It vanishes with the last process in it, so nothing is left
 * behind however the test ends. Needs no privilege where user namespaces are allowed.
 */
#ifndef BEOWIRE_TEST_NAMESPACE_H
#define BEOWIRE_TEST_NAMESPACE_H

#include <stdbool.h>

/** Puts this process into the namespaces by running its program again there; to be called first
 *  thing in main(). Returns only in the namespaces; exits with a message where that fails. */
void namespace_enter(char **argv);

/** Moves "end1" into another network namespace, up and with its address 10.77.0.2, as if it were in
 *  another host. @return a descriptor of that namespace. */
int namespace_move_far_end(void);

/** Moves an interface into that namespace; it is down there, and has no address. */
void namespace_move(int namespace, const char *interface);

/** The kernel notices a moment after "up" that a link is running. */
void namespace_wait_until_running(const char *interface);

/** From now on this thread opens sockets in that namespace; those it has stay where they are. */
void namespace_go(int namespace);

/** Does the kernel let this process choose how long sockets poll the network card? Older ones allow
 *  it only to the host's administrator. */
bool namespace_may_busy_poll(void);

#endif
