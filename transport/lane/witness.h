/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * witness.h - lets a kernel prove that a process exists, even while the process is stopped.
 *
 * A stopped process is silent. If a process has ended, another user's process may have its UDP
 * port, and is silent, too. So an endpoint gives its kernel a key, with a listening TCP socket. The
 * kernel answers connection requests signed with that key (TCP_MD5SIG, RFC 2385; needs no
 * privilege), and signs its answers, even if the process is stopped. When the process ends, the key
 * is gone. An established connection proves that the owner of the key exists, as long as the
 * connection lasts.
 *
 *      endpoint         reserve() -> listen(key); connections are never accepted
 *      waiting peer     call(key) -> state(), state(), ... -> dismiss()
 *
 * No answer proves that the key is gone only if TCP gets through. So two other ports of that host
 * are asked without a key: its kernel refuses, or a process accepts. If neither answers, or a
 * firewall refuses, nothing is known. One port is next to the endpoint's own, which a firewall
 * probably treats alike, but where any user may listen without answering. The other is one where
 * only root may.
 */
#ifndef BEOWIRE_LANE_WITNESS_H
#define BEOWIRE_LANE_WITNESS_H

#include "lane.h"

#include <sys/socket.h>

/** Reserves the port, so that no other user takes it; repeated for more sockets there. @return a
 *  socket; a negative errno: the port is in use (EADDRINUSE), or there is no TCP. */
int witness_reserve(const struct sockaddr *own, socklen_t bytes);

/** Makes the kernel answer for us at a reserved port. @return 0; a negative errno: not possible
 *  (ENOPROTOOPT). The caller closes the socket. */
int witness_listen(int socket, sa_family_t family, const uint8_t key[LANE_WITNESS_KEY_BYTES]);

/** How many peers can wait for that socket's answer at the same time (net.core.somaxconn). Others
 *  get no answer, as if the key were gone. */
unsigned witness_room(int socket);

/** Removes the requests at a listening socket. Peers that still wait ask again. */
void witness_clear(int socket);

/** Begins to ask whether the owner of the key exists. @param own our address, with port 0 @param
 *  called gets the sockets, and what is known @return 0; a negative errno: not possible. */
int witness_call(const struct sockaddr *own, const struct sockaddr *to, socklen_t bytes,
                 const uint8_t key[LANE_WITNESS_KEY_BYTES], int called[LANE_WITNESS_CALLS]);

enum lane_witness witness_state(int called[LANE_WITNESS_CALLS]);

void witness_dismiss(const int called[LANE_WITNESS_CALLS]);

#endif /* BEOWIRE_LANE_WITNESS_H */
