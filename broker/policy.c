/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy.h"

#include <errno.h>
#include <grp.h>
#include <linux/if_ether.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define LINE_BYTES 1024
#define USER_GROUPS 1024
#define BLANKS " \t\r\n"

#define NUMBERS_MAX 4096

/** A line that is read from left to right. */
struct reader {
    const char *at;
    const char *wrong; /* what is wrong; NULL: nothing */
};

static void skip(struct reader *reader)
{
    reader->at += strspn(reader->at, BLANKS);
}

static bool take(struct reader *reader, char wanted)
{
    skip(reader);
    if (*reader->at != wanted) {
        return false;
    }
    reader->at++;
    return true;
}

static void expect_end(struct reader *reader)
{
    skip(reader);
    if (reader->wrong == NULL && *reader->at != '\0' && *reader->at != '#') {
        reader->wrong = "more than one value";
    }
}

static uint32_t read_number(struct reader *reader, uint32_t least, uint32_t most)
{
    char *end;

    skip(reader);
    errno = 0;
    unsigned long number = strtoul(reader->at, &end, strncmp(reader->at, "0x", 2) == 0 ? 16 : 10);
    if (end == reader->at || *reader->at == '-' || errno != 0 || number < least || number > most) {
        reader->wrong = "not a number, or out of range";
        return 0;
    }
    reader->at = end;
    return (uint32_t)number;
}

/** @param text gets the string, of less than so many bytes */
static void read_string(struct reader *reader, char *text, size_t bytes)
{
    if (!take(reader, '"')) {
        reader->wrong = "not a string in double quotes";
        return;
    }
    size_t length = strcspn(reader->at, "\"\\\n");
    if (reader->at[length] != '"' || length == 0 || length >= bytes) {
        reader->wrong = "a string that is empty, too long, or has a backslash or no end";
        return;
    }
    memcpy(text, reader->at, length);
    text[length] = '\0';
    reader->at += length + 1;
}

static uint16_t read_ethertype(struct reader *reader)
{
    static const uint16_t of_others[] = {
        ETH_P_IP,     ETH_P_ARP,     ETH_P_RARP,    ETH_P_8021Q,    ETH_P_IPV6,    ETH_P_PAUSE,
        ETH_P_SLOW,   ETH_P_MPLS_UC, ETH_P_MPLS_MC, ETH_P_PPP_DISC, ETH_P_PPP_SES, ETH_P_PAE,
        ETH_P_8021AD, ETH_P_TIPC,    ETH_P_LLDP,    ETH_P_MACSEC,   ETH_P_1588,    ETH_P_FCOE,
        ETH_P_FIP,    ETH_P_IBOE,    ETH_P_QINQ1,   ETH_P_QINQ2,    ETH_P_QINQ3,
    };
    uint16_t ethertype = (uint16_t)read_number(reader, ETH_P_802_3_MIN, UINT16_MAX);

    for (size_t i = 0; i < sizeof of_others / sizeof *of_others; i++) {
        if (ethertype == of_others[i]) {
            reader->wrong = "the EtherType of another protocol: use 0x88B5 or 0x88B6";
        }
    }
    return ethertype;
}

static void add_group(struct policy *policy, struct reader *reader)
{
    char name[256];

    read_string(reader, name, sizeof name);
    if (reader->wrong != NULL) {
        return;
    }
    const struct group *group = getgrnam(name);
    if (group == NULL || policy->group_count == POLICY_GROUPS) {
        reader->wrong = group == NULL ? "there is no such group" : "too many groups";
        return;
    }
    policy->groups[policy->group_count++] = group->gr_gid;
}

static void add_interface(struct policy *policy, struct reader *reader)
{
    if (policy->interface_count == POLICY_INTERFACES) {
        reader->wrong = "too many interfaces";
        return;
    }
    read_string(reader, policy->interfaces[policy->interface_count], IF_NAMESIZE);
    policy->interface_count++;
}

static void read_list(struct policy *policy, struct reader *reader,
                      void (*add)(struct policy *policy, struct reader *reader))
{
    if (!take(reader, '[')) {
        reader->wrong = "not a list in square brackets";
        return;
    }
    while (reader->wrong == NULL && !take(reader, ']')) {
        add(policy, reader);
        if (reader->wrong == NULL && !take(reader, ',') && *reader->at != ']') {
            reader->wrong = "no comma between two strings, or no bracket at the end of the line";
        }
    }
}

static bool names(struct reader *reader, const char *key)
{
    size_t length = strlen(key);

    if (strncmp(reader->at, key, length) != 0 || strchr(BLANKS "=", reader->at[length]) == NULL) {
        return false;
    }
    reader->at += length;
    if (!take(reader, '=')) {
        reader->wrong = "no = after the key";
    }
    return reader->wrong == NULL;
}

/** @return NULL, or what is wrong with the line. */
static const char *read_line(struct policy *policy, const char *line)
{
    struct reader reader = {.at = line};

    skip(&reader);
    if (*reader.at == '\0' || *reader.at == '#') {
        return NULL;
    }
    if (names(&reader, "groups")) {
        read_list(policy, &reader, add_group);
    } else if (names(&reader, "interfaces")) {
        policy->only_named_interfaces = true;
        read_list(policy, &reader, add_interface);
    } else if (names(&reader, "ethertype")) {
        policy->ethertype = read_ethertype(&reader);
    } else if (names(&reader, "endpoints_per_user")) {
        policy->endpoints_per_user = read_number(&reader, 1, NUMBERS_MAX);
    } else if (reader.wrong == NULL) {
        reader.wrong = "no such key";
    }
    expect_end(&reader);
    return reader.wrong;
}

bool policy_read(struct policy *policy, const char *path, char why[POLICY_WHY_BYTES])
{
    char line[LINE_BYTES];
    const char *wrong = NULL;
    unsigned count = 0;
    FILE *file = fopen(path, "re");

    *policy = (struct policy){.ethertype = 0x88B5, .endpoints_per_user = 128};
    if (file == NULL) {
        (void)snprintf(why, POLICY_WHY_BYTES, "%s: %s", path, strerror(errno));
        return false;
    }
    while (wrong == NULL && fgets(line, sizeof line, file) != NULL) {
        count++;
        wrong = strlen(line) == sizeof line - 1 ? "the line is too long" : read_line(policy, line);
    }
    if (wrong == NULL && ferror(file)) {
        wrong = "cannot be read to its end";
    }
    (void)fclose(file);
    if (wrong != NULL) {
        (void)snprintf(why, POLICY_WHY_BYTES, "%s: line %u: %s", path, count, wrong);
    }
    return wrong == NULL;
}

static bool has_group(const struct policy *policy, gid_t group)
{
    bool found = false;

    for (unsigned i = 0; i < policy->group_count; i++) {
        found = found || policy->groups[i] == group;
    }
    return found;
}

/** Is the user in the list of a group's members? A process can keep a group while it becomes
 * another user: each of its subordinate ids, in a user namespace. */
static bool is_member(const struct policy *policy, uid_t user)
{
    const struct passwd *account = getpwuid(user);
    gid_t groups[USER_GROUPS];
    int count = USER_GROUPS;
    bool found = false;

    if (account == NULL || getgrouplist(account->pw_name, account->pw_gid, groups, &count) < 0) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        found = found || has_group(policy, groups[i]);
    }
    return found;
}

bool policy_admits(const struct policy *policy, int connection, uid_t *user)
{
    struct ucred who;
    socklen_t bytes = sizeof who;
    gid_t groups[USER_GROUPS];
    socklen_t listed = sizeof groups;

    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) {
        return false;
    }
    *user = who.uid;
    bool admitted = has_group(policy, who.gid);
    if (getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups, &listed) == 0) {
        for (size_t i = 0; i < listed / sizeof *groups; i++) {
            admitted = admitted || has_group(policy, groups[i]);
        }
    }
    /* Of strangers, the list of users, which may be on another host, is not asked. */
    return admitted && is_member(policy, who.uid);
}

bool policy_has_interface(const struct policy *policy, const char *interface)
{
    bool found = !policy->only_named_interfaces;

    for (unsigned i = 0; i < policy->interface_count; i++) {
        found = found || strcmp(policy->interfaces[i], interface) == 0;
    }
    return found;
}

uint16_t policy_number(const struct policy *policy, uid_t user, uint32_t which)
{
    /* splitmix64 (Steele, Lea, Flood 2014) of a number that no other user has. */
    uint64_t x = (uint64_t)user << 32 | which % policy->endpoints_per_user;

    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    return (uint16_t)(1 + x % UINT16_MAX);
}
