/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interfaces.h - chooses the network interfaces to offer, and those of an endpoint.
 */
#ifndef BEOWIRE_FABRIC_INTERFACES_H
#define BEOWIRE_FABRIC_INTERFACES_H

#include "endpoint/nic.h"
#include "parameters.h"

/** Longest list of interfaces_of_endpoint(): two names. */
#define INTERFACES_BYTES (2 * IF_NAMESIZE)

/** Is it offered to programs? If the user names interfaces, only those are. Otherwise all that are
 *  as likely to reach other hosts as the best, because MPI libraries distribute the ranks of a host
 *  over all offered ones.
 *  @param nics as from nic_list()
 *  @param named the program names the interface that it wants: then any may be offered */
bool interfaces_offer(const struct parameters *parameters, const struct nic *nics, size_t count,
                      size_t index, bool named);

/** Writes the interfaces of an endpoint, separated by a comma: the domain's, and the best other
 *  offered one, for peers that are only in that one's network. The other one must have an IPv4
 *  address, because an endpoint's name has no room for longer ones, and no smaller MTU, which would
 *  shorten frames on both.
 *  @param interface the domain's */
void interfaces_of_endpoint(const struct parameters *parameters, const char *interface,
                            char list[INTERFACES_BYTES]);

#endif /* BEOWIRE_FABRIC_INTERFACES_H */
