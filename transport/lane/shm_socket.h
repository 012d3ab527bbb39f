/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_socket.h - how processes of one host find one another, and hear when one has ended.
 *
 * Each lane listens on an abstract unix socket (unix(7)) whose name is its endpoint's incarnation.
 * Such a name needs no file, is seen only in its network namespace, and is gone with the process.
 * Messages over a connection are records (SOCK_SEQPACKET):
 *
 *      connector -> listener    HELLO with the ring (shm_ring.h) that the connector will write
 *      listener  -> connector   REPLY with the bell (shm_bell.h) that the connector may ring
 *      connector -> listener    one byte: wake up
 *
 * and its end says that the other process, or its endpoint, has ended. Both ends of a pair connect,
 * each for the frames that it sends: there is nothing to agree on when they do so at once.
 *
 * The kernel tells who is at the other end (SO_PEERCRED): only processes of the same user are let
 * in. Any of them could stop or trace this one anyhow; still, none can make it fail.
 */
#ifndef BEOWIRE_LANE_SHM_SOCKET_H
#define BEOWIRE_LANE_SHM_SOCKET_H

#include <stdint.h>
#include <sys/types.h>

enum shm_message_kind {
    SHM_HELLO = 1,
    SHM_REPLY = 2,
};

/** HELLO or REPLY. The lay-out of the memory that comes with it belongs to the version. */
struct shm_message {
    uint32_t magic;   /**< SHM_MAGIC */
    uint16_t version; /**< SHM_VERSION; another one is refused */
    uint16_t kind;
    uint64_t incarnation; /**< HELLO: of the sender's endpoint */
    uint32_t bell;        /**< REPLY: which bell to ring */
    uint32_t reserved;
};

#define SHM_MAGIC UINT32_C(0x6d657742)
#define SHM_VERSION 1

/** Listens under an incarnation. @return the socket; -EADDRINUSE; another negative errno. */
int shm_socket_listen(uint64_t incarnation);

/** Takes a connection that waits. @return the socket; -EAGAIN: none; -EPERM: it was of another user
 *  and is closed; another negative errno. */
int shm_socket_accept(int listener);

/** Connects to an incarnation; never waits.
 *  @param process the process at the other end as seen from here, 0 if it cannot be seen
 *  @return the socket; -ECONNREFUSED: there is none of that name; -EAGAIN: too many ask it at once;
 *  -EPERM: it is of another user; another negative errno. */
int shm_socket_connect(uint64_t incarnation, pid_t *process);

/** Sends HELLO or REPLY; magic and version are filled in. `file` stays the caller's.
 *  @return 0, or a negative errno. */
int shm_socket_send(int socket, struct shm_message message, int file);

/** Takes HELLO or REPLY; `file` is then the caller's.
 *  @return 0; -EAGAIN: none has come; -ECONNRESET: the other end is gone; -EPROTO: it is none;
 *  -EMFILE: this process has no room for its file. */
int shm_socket_receive(int socket, enum shm_message_kind kind, struct shm_message *message,
                       int *file);

/** Sends a wake-up. @return 0 (one that does not fit is not needed: others wait there); a negative
 *  errno: the other end is gone. */
int shm_socket_ring(int socket);

/** Takes all wake-ups that have come. @return how many, at most 64; -ECONNRESET: the other end is
 *  gone. */
int shm_socket_drain(int socket);

/** Is the other end still there? */
int shm_socket_check(int socket);

#endif /* BEOWIRE_LANE_SHM_SOCKET_H */
