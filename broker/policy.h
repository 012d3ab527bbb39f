/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * policy.h - who may have frames: /etc/beowire/broker.toml.
 *
 * The file may use that part of TOML which its four keys need, and no other: comments;
 * `key = value`, each in one line; whole numbers, decimal or 0x hexadecimal; strings in double
 * quotes without backslashes; and lists of strings.
 *
 *      groups = ["mpi"]              # whose members may have frames; without it, nobody may
 *      interfaces = ["eth0"]         # of these network cards; without it, of all
 *      ethertype = 0x88B5            # with this EtherType
 *      endpoints_per_user = 128      # on each of these cards
 */
#ifndef BEOWIRE_BROKER_POLICY_H
#define BEOWIRE_BROKER_POLICY_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define POLICY_FILE "/etc/beowire/broker.toml"

#define POLICY_GROUPS 16
#define POLICY_INTERFACES 16
#define POLICY_WHY_BYTES 160

struct policy {
    unsigned group_count;
    gid_t groups[POLICY_GROUPS];
    bool only_named_interfaces; /**< false: all may be had */
    unsigned interface_count;
    char interfaces[POLICY_INTERFACES][IF_NAMESIZE];
    uint16_t ethertype;
    uint32_t endpoints_per_user;
};

/** Reads the file. @return false: it cannot be read, or is wrong: `why` has one line. */
bool policy_read(struct policy *policy, const char *path, char why[POLICY_WHY_BYTES]);

/** May the user who has connected this socket have frames? The user and groups at that time, from
 *  the kernel; both they and the account of the user must have one of the groups.
 *  @param user gets the user */
bool policy_admits(const struct policy *policy, int connection, uid_t *user);

/** Does the policy grant frames of this interface? */
bool policy_has_interface(const struct policy *policy, const char *interface);

/** The endpoint numbers of a user: `endpoints_per_user` that follow from the user's number. A
 * number can be in use once on an interface, so no user has more endpoints there, and the broker
 * need not count them. @param which from 0 on */
uint16_t policy_number(const struct policy *policy, uid_t user, uint32_t which);

#endif /* BEOWIRE_BROKER_POLICY_H */
