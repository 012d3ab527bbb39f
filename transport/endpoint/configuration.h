/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * configuration.h - finds the configuration of this host and user, and reads it.
 */
#ifndef BEOWIRE_ENDPOINT_CONFIGURATION_H
#define BEOWIRE_ENDPOINT_CONFIGURATION_H

#include "endpoint/settings.h"

/** Reads the settings that hold here: the defaults, then those of one file, then BEOWIRE_SETTINGS.
 *
 * The file is `path`; if NULL, BEOWIRE_CONFIG; else the first that exists of
 * $XDG_CONFIG_HOME/beowire/beowire.conf (~/.config/...) and /etc/beowire/beowire.conf. A path of ""
 * stands for none. If another file than that in /etc is read, that one's `authenticate = true`
 * holds all the same. A place that cannot be looked into may have one, so that is an error; if HOME
 * is not set, or closed to us, the user's directory is what the host knows.
 *
 * @param reason what is wrong and where, as FILE:LINE: TEXT; may be NULL
 * @return 0; -EBADMSG: something in it is wrong; -EFBIG: it is longer than SETTINGS_BYTES_MAX;
 * -ENOENT or another errno: it cannot be read. */
int configuration_read(const char *path, struct settings *settings, char *reason,
                       size_t reason_bytes);

#endif /* BEOWIRE_ENDPOINT_CONFIGURATION_H */
