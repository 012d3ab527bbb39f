/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.h - the connection between an engine that an MPI's launcher starts and the process that
 * stands for it on the evaluator's side of the same host (proxy.h).
 *
 * It is a stream socket with a name of 128 random bits in Linux's abstract name space: no file is
 * left behind, however its ends end. Each end sees that the other belongs to the same user; the
 * name is no secret.
 */
#ifndef BEOWIRE_ENGINE_LINK_H
#define BEOWIRE_ENGINE_LINK_H

#include <sys/types.h>

/** Longest name, with its end. */
#define LINK_NAME_BYTES 64

/** Makes a socket that one process can connect to, and its name. The caller closes it.
 *  @return the socket, or a negative errno. */
int link_listen(char name[LINK_NAME_BYTES]);

/** Takes the process that connects, once there is one to take: a descriptor for the caller to
 *  close, and `*peer` is its id. -EPERM: it was another user's, and is sent away; or another
 *  negative errno. */
int link_accept(int listener, pid_t *peer);

/** Connects to the name that link_listen() has made. @return a descriptor for the caller to close;
 *  -EPERM: another user listens there; -ECONNREFUSED: nobody does; or another negative errno. */
int link_connect(const char *name);

#endif
