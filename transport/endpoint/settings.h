/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings.h - what a configuration sets: read from text, with bounds for everything.
 *
 * A configuration has one "key = value" a line; "#" begins a comment. It is read once, when an
 * endpoint is opened; nothing on the way of a message looks here.
 */
#ifndef BEOWIRE_ENDPOINT_SETTINGS_H
#define BEOWIRE_ENDPOINT_SETTINGS_H

#include "message/limits.h"

#include <stdbool.h>
#include <stddef.h>

/** Longest configuration that is read, in bytes. */
#define SETTINGS_BYTES_MAX 65536

/** Room for the names of the interfaces in one setting, with its end. */
#define SETTINGS_NAMES_BYTES 160

/** A number that is not set: the host has one. */
#define SETTINGS_AS_HOST UINT32_MAX

struct settings {
    struct message_limits message;
    uint64_t spin_ns;
    uint32_t busy_poll_us; /**< or SETTINGS_AS_HOST */
    bool authenticate;     /**< frames are sealed (route/seal.h) */
    bool checksums;        /**< frames have them where nothing else would notice damage */
    bool go_back_n;
    /** Interfaces over which the data of long messages goes as Ethernet frames although UDP is
     *  there: names with commas between, "all", or "". */
    char bulk_by_packet[SETTINGS_NAMES_BYTES];
};

/** Where a text is wrong. */
struct settings_fault {
    unsigned line;
    char reason[128];
};

/** What holds without any configuration. */
void settings_default(struct settings *settings);

/** Reads a text: of lines, or, if `separator` is a comma, of "key=value" with commas between (then
 *  a list of interfaces has '+' in place of its commas). What it does not name stays as it is.
 *  @return 0; -EBADMSG: a key is unknown or is there twice, or a value out of range, and `fault`
 *  says where and why. */
int settings_parse(struct settings *settings, const char *text, char separator,
                   struct settings_fault *fault);

/** Which of the interfaces "a,b,c" (or NULL) are in `bulk_by_packet`? @return bit r for the r-th.
 */
uint32_t settings_packet_rails(const struct settings *settings, const char *interfaces);

#endif /* BEOWIRE_ENDPOINT_SETTINGS_H */
