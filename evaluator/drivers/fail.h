/* SPDX-License-Identifier: BSD-3-Clause */
/* fail.h - reports the failure of a system call in one line. */
#ifndef BEOWIRE_DRIVERS_FAIL_H
#define BEOWIRE_DRIVERS_FAIL_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/** Writes "WHAT: the error's text" into `error`; returns -errno. */
static inline int fail(char *error, size_t error_bytes, const char *what)
{
    int code = errno;
    (void)snprintf(error, error_bytes, "%s: %s", what, strerror(code));
    return -code;
}

#endif
