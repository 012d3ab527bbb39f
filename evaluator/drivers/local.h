/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * local.h - the interface and IP address of this end, and the text form of an IP address with a
 * port.
 *
 * The user's address takes precedence, then the user's interface. Without both, an end uses the
 * loopback interface, so that nothing is sent to a network that was not named.
 *
 * All functions return 0 or a negative errno value with one line in `error`.
 */
#ifndef BEOWIRE_DRIVERS_LOCAL_H
#define BEOWIRE_DRIVERS_LOCAL_H

#include <net/if.h>
#include <stddef.h>
#include <sys/socket.h>

#include "driver.h"

/** Longest text of an IP address with a port: "[v6%zone]:65535" and its zero byte. */
#define LOCAL_TEXT_BYTES 96

/** Name of the interface of this end. */
int local_interface(const struct driver_options *options, char name[IF_NAMESIZE], char *error,
                    size_t error_bytes);

/** IP address of this end, with port 0. */
int local_address(const struct driver_options *options, struct sockaddr_storage *address,
                  char *error, size_t error_bytes);

/** Length of the address, for bind() and connect(). */
socklen_t local_address_bytes(const struct sockaddr_storage *address);

/** "1.2.3.4:80" or "[fe80::1]:80", without a zone, which is valid on one node only. */
int local_write(const struct sockaddr_storage *address, char *text, size_t text_bytes);

/** The reverse. A link-local address gets the zone of `here`. */
int local_read(const char *text, const struct sockaddr_storage *here,
               struct sockaddr_storage *address, char *error, size_t error_bytes);

#endif
