/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * witness.h - a kernel that says whether a process is there, while that stands still.
 *
 * A process that is stopped says nothing, and one that has ended may have left its UDP port to
 * somebody else, who says nothing either: any user of the host may bind it. So an endpoint gives
 * its kernel a key, with a TCP socket that listens: of who asks for a connection, the kernel
 * answers by itself, stopped process or not, whoever has that key, and nobody else, and signs what
 * it says (TCP_MD5SIG, RFC 2385; needs no privilege). When the process ends the key is gone. A
 * connection that has been made proves that the holder of the key is there, as long as it lasts.
 *
 *      endpoint            reserve() -> listen(key); nobody ever accepts what is asked there
 *      who waits for it    call(key) -> state(), state(), ... -> dismiss()
 *
 * That nobody answers proves that nobody has the key only if TCP comes through at all. So two other
 * ports of that host are asked as well, without a key: its kernel refuses, or somebody accepts. If
 * nothing comes back from either, or something between us says that it lets nothing through,
 * nothing is known. One port is next to the endpoint's own, which a firewall treats alike. Any user
 * may listen there and not answer, but only root at the other.
 */
#ifndef BEOWIRE_LANE_WITNESS_H
#define BEOWIRE_LANE_WITNESS_H

#include "lane.h"

#include <sys/socket.h>

/** Keeps the port for us, so that no other user takes it; again, for one more socket there.
 *  @return a socket; a negative errno: the port is taken (EADDRINUSE), or there is no TCP. */
int witness_reserve(const struct sockaddr *own, socklen_t bytes);

/** Has the kernel answer for us at a reserved port.
 *  @return 0; a negative errno: it cannot (ENOPROTOOPT). The socket is the caller's to close. */
int witness_listen(int socket, sa_family_t family, const uint8_t key[LANE_WITNESS_KEY_BYTES]);

/** How many can wait for that socket's answer at the same time (net.core.somaxconn): further ones
 *  get none, as if nobody had the key. */
unsigned witness_room(int socket);

/** Takes away what has been asked at a socket that listens. Who has still to be told asks again. */
void witness_clear(int socket);

/** Begins to ask whether who holds the key is there.
 *  @param own our address, with port 0 @param called gets the sockets, and what is known
 *  @return 0; a negative errno: that cannot be asked. */
int witness_call(const struct sockaddr *own, const struct sockaddr *to, socklen_t bytes,
                 const uint8_t key[LANE_WITNESS_KEY_BYTES], int called[LANE_WITNESS_CALLS]);

enum lane_witness witness_state(int called[LANE_WITNESS_CALLS]);

void witness_dismiss(const int called[LANE_WITNESS_CALLS]);

#endif /* BEOWIRE_LANE_WITNESS_H */
