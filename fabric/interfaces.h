/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interfaces.h - which network interfaces are offered, and which of them an endpoint uses.
 */
#ifndef BEOWIRE_FABRIC_INTERFACES_H
#define BEOWIRE_FABRIC_INTERFACES_H

#include "endpoint/nic.h"
#include "parameters.h"

/** Room for what interfaces_of_endpoint() writes: two names. */
#define INTERFACES_BYTES (2 * IF_NAMESIZE)

/** Is it offered to programs? If the user names interfaces, those are. Else all that are as likely
 *  to reach other hosts as the best: MPI libraries distribute the ranks of a host over whatever
 *  they are offered, so nobody else may be out of reach there.
 *  @param nics as nic_list() has them
 *  @param named the program says which it wants: then all may be */
bool interfaces_offer(const struct parameters *parameters, const struct nic *nics, size_t count,
                      size_t index, bool named);

/** Writes those that an endpoint of a domain uses, with a comma between them: the domain's, and the
 *  best other one that is offered, so that it reaches a peer that is not in the same network but in
 *  that one. The other one has to have an IPv4 address, for there is room for no other in an
 *  endpoint's name, and no lesser MTU, which would make frames shorter over both.
 *  @param interface the domain's */
void interfaces_of_endpoint(const struct parameters *parameters, const char *interface,
                            char list[INTERFACES_BYTES]);

#endif /* BEOWIRE_FABRIC_INTERFACES_H */
