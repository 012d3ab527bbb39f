/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings.h - parses the settings of a configuration, and checks their bounds.
 *
 * A configuration has one "key = value" a line; "#" begins a comment. It is read only when an
 * endpoint is opened.
 */
#ifndef BEOWIRE_ENDPOINT_SETTINGS_H
#define BEOWIRE_ENDPOINT_SETTINGS_H

#include "message/limits.h"

#include <stdbool.h>
#include <stddef.h>

/** Longest configuration, in bytes. */
#define SETTINGS_BYTES_MAX 65536

/** Longest list of interfaces in one setting, with its zero byte. */
#define SETTINGS_NAMES_BYTES 160

/** A number that is not set: the host's value applies. */
#define SETTINGS_AS_HOST UINT32_MAX

struct settings {
    struct message_limits message;
    uint64_t spin_ns;
    uint32_t busy_poll_us; /**< or SETTINGS_AS_HOST */
    bool authenticate;     /**< frames are sealed (route/seal.h) */
    bool checksums;        /**< frames have checksums if nothing else would detect damage */
    bool go_back_n;
    /** Interfaces over which the data of long messages is sent as Ethernet frames even if UDP is
     *  available: names separated by commas, "all", or "". */
    char bulk_by_packet[SETTINGS_NAMES_BYTES];
};

/** Where a text is malformed. */
struct settings_fault {
    unsigned line;
    char reason[128];
};

/** The defaults. */
void settings_default(struct settings *settings);

/** Parses a text: lines, or, if `separator` is a comma, "key=value" separated by commas (then a
 *  list of interfaces has '+' instead of commas). Settings not in the text stay unchanged.
 *  @return 0; -EBADMSG: an unknown or duplicate key, or a value out of range; `fault` says where
 *  and why. */
int settings_parse(struct settings *settings, const char *text, char separator,
                   struct settings_fault *fault);

/** Which of the interfaces "a,b,c" (or NULL) are in `bulk_by_packet`? @return bit r for number
 *  r. */
uint32_t settings_packet_rails(const struct settings *settings, const char *interfaces);

#endif /* BEOWIRE_ENDPOINT_SETTINGS_H */
