/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_socket.h - connects processes of one host, and detects their end.
 *
 * Each lane listens on an abstract unix socket (unix(7)) whose name is its endpoint's incarnation.
 * Such a name needs no file, is visible only in its network namespace, and disappears with the
 * process. Messages over a connection are records (SOCK_SEQPACKET):
 *
 *      connector -> listener    HELLO with the ring (shm_ring.h) that the connector will write
 *      listener  -> connector   REPLY with the bell (shm_bell.h) that the connector may ring
 *      connector -> listener    one byte: wake up
 *
 * The end of the connection means that the other process, or its endpoint, has ended. Both ends of
 * a pair connect, each for the frames that it sends, so simultaneous connecting needs no agreement.
 *
 * The kernel identifies the other end (SO_PEERCRED): only processes of the same user may connect.
 * These could stop or trace this process anyhow, but cannot make it fail through the socket.
 */
#ifndef BEOWIRE_LANE_SHM_SOCKET_H
#define BEOWIRE_LANE_SHM_SOCKET_H

#include <stdint.h>
#include <sys/types.h>

enum shm_message_kind {
    SHM_HELLO = 1,
    SHM_REPLY = 2,
};

/** HELLO or REPLY. The version defines the layout of the memory passed with it, too. */
struct shm_message {
    uint32_t magic;   /**< SHM_MAGIC */
    uint16_t version; /**< SHM_VERSION; others are refused */
    uint16_t kind;
    uint64_t incarnation; /**< HELLO: of the sender's endpoint */
    uint32_t bell;        /**< REPLY: the bell to ring */
    uint32_t reserved;
};

#define SHM_MAGIC UINT32_C(0x6d657742)
#define SHM_VERSION 1

/** Listens under an incarnation. @return the socket; -EADDRINUSE; another negative errno. */
int shm_socket_listen(uint64_t incarnation);

/** Accepts a waiting connection. @return the socket; -EAGAIN: none; -EPERM: another user's, which
 *  was closed; another negative errno. */
int shm_socket_accept(int listener);

/** Connects to an incarnation; never waits. @param process the process at the other end as seen
 *  from here, 0 if invisible @return the socket; -ECONNREFUSED: no such name; -EAGAIN: too many
 *  connect at once; -EPERM: another user's; another negative errno. */
int shm_socket_connect(uint64_t incarnation, pid_t *process);

/** Sends HELLO or REPLY; sets magic and version. `file` remains the caller's. @return 0, or a
 *  negative errno. */
int shm_socket_send(int socket, struct shm_message message, int file);

/** Receives HELLO or REPLY; the caller closes `file`. @return 0; -EAGAIN: none has arrived;
 *  -ECONNRESET: the other end is gone; -EPROTO: malformed; -EMFILE: no room for its file. */
int shm_socket_receive(int socket, enum shm_message_kind kind, struct shm_message *message,
                       int *file);

/** Sends a wake-up. @return 0 (also if it does not fit, because others are waiting there); a
 *  negative errno: the other end is gone. */
int shm_socket_ring(int socket);

/** Takes all wake-ups that have arrived. @return their number, at most 64; -ECONNRESET: the other
 *  end is gone. */
int shm_socket_drain(int socket);

/** Does the other end still exist? */
int shm_socket_check(int socket);

#endif /* BEOWIRE_LANE_SHM_SOCKET_H */
