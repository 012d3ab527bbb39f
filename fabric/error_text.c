/* SPDX-License-Identifier: BSD-3-Clause */
#include "error_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Digits of an interface's MAC address, and of its IPv6 (or mapped IPv4) address. */
#define MAC_DIGITS 12
#define IP_DIGITS 32

#define PERSON_BYTES 80

/** Fields before that of the process, and before that of the first interface. */
#define FIELDS_BEFORE_PROCESS 6
#define FIELDS_BEFORE_INTERFACE 8

int error_number(int status)
{
    /* libfabric's numbers up to 255 are errno's; only a message that is too long for its buffer
     * has one of its own. */
    return status == -EMSGSIZE ? FI_ETRUNC : -status;
}

/** The text behind the given number of colons; NULL: there are fewer. */
static const char *field(const char *name, int number)
{
    for (; name != NULL && number > 0; number--) {
        name = strchr(name, ':');
        name = name != NULL ? name + 1 : NULL;
    }
    return name;
}

/** Writes the IP address that is in these digits. @return false: there is none. */
static bool ip_text(const char *digits, char text[INET6_ADDRSTRLEN])
{
    struct in6_addr address;
    bool any = false;

    for (size_t i = 0; i < sizeof address.s6_addr; i++) {
        const char byte[] = {digits[2 * i], digits[2 * i + 1], '\0'};
        address.s6_addr[i] = (uint8_t)strtoul(byte, NULL, 16);
        any = any || address.s6_addr[i] != 0;
    }
    if (any && IN6_IS_ADDR_V4MAPPED(&address)) {
        return inet_ntop(AF_INET, &address.s6_addr[12], text, INET6_ADDRSTRLEN) != NULL;
    }
    return any && inet_ntop(AF_INET6, &address, text, INET6_ADDRSTRLEN) != NULL;
}

/** Writes the owner of an address as far as known: its process, and its host. */
static void who(const char *name, char *text, size_t bytes)
{
    const char *process = field(name, FIELDS_BEFORE_PROCESS);
    const char *interface = field(name, FIELDS_BEFORE_INTERFACE);
    char where[INET6_ADDRSTRLEN] = "";

    if (interface == NULL || strlen(interface) < MAC_DIGITS + 1 + IP_DIGITS) {
        (void)snprintf(text, bytes, "peer");
        return;
    }
    if (!ip_text(interface + MAC_DIGITS + 1, where)) {
        (void)snprintf(where, sizeof where, "%.*s", MAC_DIGITS, interface);
    }
    (void)snprintf(text, bytes, "process %lu on %s", strtoul(process, NULL, 16), where);
}

bool error_peer_text(char text[PEER_TEXT_BYTES], const struct beowire_address *peer)
{
    char name[BEOWIRE_ADDRESS_TEXT_BYTES];
    char person[PERSON_BYTES];

    if (peer == NULL || beowire_address_describe(peer, name, sizeof name) != 0) {
        return false;
    }
    who(name, person, sizeof person);
    (void)snprintf(text, PEER_TEXT_BYTES, "%s (%s)", person, name);
    return true;
}

void error_text(char text[ERROR_TEXT_BYTES], int status, const struct beowire_address *peer)
{
    char whose[PEER_TEXT_BYTES];

    if (error_peer_text(whose, peer)) {
        (void)snprintf(text, ERROR_TEXT_BYTES, "%s: %s", whose, beowire_error(status));
    } else {
        (void)snprintf(text, ERROR_TEXT_BYTES, "%s", beowire_error(status));
    }
}
