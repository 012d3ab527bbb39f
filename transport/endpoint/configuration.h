/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * configuration.h - finds and reads the configuration of this host and user.
 */
#ifndef BEOWIRE_ENDPOINT_CONFIGURATION_H
#define BEOWIRE_ENDPOINT_CONFIGURATION_H

#include "endpoint/settings.h"

/** Reads the settings: the defaults, then those of one file, then BEOWIRE_SETTINGS.
 *
 *  The file is `path`; if NULL, BEOWIRE_CONFIG; else the first that exists of
 *  $XDG_CONFIG_HOME/beowire/beowire.conf (~/.config/...) and /etc/beowire/beowire.conf. A path of
 *  "" means none. If another file than that in /etc is read, `authenticate = true` in the latter
 *  still applies. A directory that cannot be searched is an error, because it may contain the file.
 *  If HOME is not set or not accessible, the home directory is that of the user database.
 *
 *  @param reason the error and its place, as FILE:LINE: TEXT; may be NULL
 *  @return 0; -EBADMSG: the file is malformed; -EFBIG: it is longer than SETTINGS_BYTES_MAX;
 *  -ENOENT or another errno: it cannot be read. */
int configuration_read(const char *path, struct settings *settings, char *reason,
                       size_t reason_bytes);

#endif /* BEOWIRE_ENDPOINT_CONFIGURATION_H */
