/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stock.h - the PVM library of the host, before which this one is loaded.
 *
 * libpvm3 has two parts. One is the same on every machine: buffers, packing, the list of unreceived
 * messages, matching, groups, notices, and requests to the daemon. The other depends on the machine
 * and moves messages: mroute() sends one and waits for others, pvmmcast() sends one to many, and
 * mesg_input() receives one. libpvm3 calls these through the dynamic linker, so a library loaded
 * before it can replace them, and gets packed messages.
 *
 * That depends on libpvm3's layout of a message, which is the same in all of 3.4 (the last is of
 * 2009). stock_is_known() makes a message and checks the layout.
 *
 * One thread, as PVM.
 */
#ifndef BEOWIRE_PVM_STOCK_H
#define BEOWIRE_PVM_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

/** A piece of a message; the pieces and their head make a ring. */
struct stock_fragment {
    struct stock_fragment *next;
    struct stock_fragment *previous;
    char *buffer; /**< NULL: this is the head */
    char *data;   /**< what it holds; PvmDataInPlace: it is the program's */
    int room;
    int bytes;
    unsigned flags;
    int chunk;
    int lead;
    int sequence;
    int source;
    int in_place;
};

struct stock_message {
    struct stock_message *next;
    struct stock_message *previous;
    const void *coders;
    struct stock_fragment *head;
    struct stock_fragment *at; /**< position of packing or unpacking */
    int references;
    int id;
    int bytes; /**< of one that was received */
    int context;
    int tag;
    int wait; /**< not 0: a question that is answered */
    int source;
    int destination;
    int encoding;
    int flags;
    int position;
    int checksum;
    /* XDR's state follows. */
};

/** Values of `encoding`; any other is the data format of the machine that packed it. */
#define STOCK_XDR 0x10000000
#define STOCK_IN_PLACE 0x20000000
#define STOCK_TRACE 0x40000000

/** Contexts of PVM's own messages between tasks, and to daemons. */
#define STOCK_CONTEXT_TASKS 0x7ffff
#define STOCK_CONTEXT_DAEMON 0x7fffe

/** Functions and variables of libpvm3, also those that this library replaces. */
struct stock {
    int (*route)(int id, int task, int tag, struct timeval *timeout); /**< mroute() */
    int (*multicast)(int id, int *tasks, int count, int tag);         /**< pvmmcast() */
    int (*take)(struct stock_message *message);                       /**< mesg_input() */
    int (*enrol)(void);                                               /**< pvmbeatask() */
    int (*leave)(void);                                               /**< pvm_exit() */
    int (*descriptors)(int **list);                                   /**< pvm_getfds() */
    struct stock_message *(*message)(int id);                         /**< midtobuf() */
    struct stock_message *(*message_new)(void);                       /**< umbuf_new() */
    int (*message_free)(struct stock_message *message);               /**< umbuf_free() */
    int (*message_encoding)(struct stock_message *message, int encoding);
    struct stock_fragment *(*fragment_new)(int bytes);
    int (*buffer_new)(int encoding);
    int (*buffer_free)(int id);
    int (*send_buffer)(int id);    /**< pvm_setsbuf() */
    int (*receive_buffer)(int id); /**< pvm_setrbuf() */
    int (*pack)(char *data, int count, int stride);
    int (*unpack)(char *data, int count, int stride);
    int (*put)(char *name, int id, int flags);        /**< pvm_putinfo() */
    int (*look_up)(char *name, int index, int flags); /**< pvm_recvinfo() */
    int (*state)(int task);                           /**< pvm_pstat() */
    char *(*socket_file)(void);                       /**< pvmdsockfile() */
    int *own_task;                                    /**< -1: none */
    int *context;
    int *format; /**< data format of this machine */
    int *route_option;
    int *says_errors; /**< PvmAutoErr */
    int *user;        /**< owner of the daemon; -1: not known yet */
};

/** @return libpvm3; NULL: it is not there. */
const struct stock *stock_find(void);

/** Has libpvm3 the layout of messages above? Call it in a task. */
bool stock_is_known(void);

/** Is this the number of a task? */
bool stock_is_task(int number);

/** Do these two tasks have the same daemon? */
bool stock_same_host(int one, int other);

/** Bytes of the packed data; -1: too long for a message. */
int64_t stock_bytes(const struct stock_message *message);

/** Copies the packed data to a buffer of stock_bytes(). */
void stock_gather(const struct stock_message *message, char *to);

/** The packed data, if it is in one piece; else NULL. */
char *stock_single(const struct stock_message *message);

/** Makes a message of one piece, to be filled in. @return NULL: no memory. */
struct stock_message *stock_make(const struct stock *stock, int bytes, char **data);

#endif
