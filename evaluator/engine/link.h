/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.h - the connection between an engine that an MPI's launcher starts and its proxy (proxy.h)
 * on the same host.
 *
 * It is a stream socket with a name of 128 random bits in Linux's abstract namespace, so it leaves
 * no file behind. Each end checks that the other belongs to the same user; the name is not a
 * secret.
 */
#ifndef BEOWIRE_ENGINE_LINK_H
#define BEOWIRE_ENGINE_LINK_H

#include <sys/types.h>

/** Longest name, with its zero byte. */
#define LINK_NAME_BYTES 64

/** Creates a socket with a new name for one connection. The caller closes it.
 *  @return the socket, or a negative errno. */
int link_listen(char name[LINK_NAME_BYTES]);

/** Waits for a connection. Returns a descriptor that the caller closes, and sets `*peer` to the
 *  process id. -EPERM: another user connected, and was refused; or another negative errno. */
int link_accept(int listener, pid_t *peer);

/** Connects to a name of link_listen(). @return a descriptor that the caller closes; -EPERM:
 *  another user listens there; -ECONNREFUSED: no process listens; or another negative errno. */
int link_connect(const char *name);

#endif
