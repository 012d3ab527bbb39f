/* SPDX-License-Identifier: BSD-3-Clause */
/* said.h - what a process says on standard error, for tests of it. */
#ifndef BEOWIRE_TESTS_FABRIC_SAID_H
#define BEOWIRE_TESTS_FABRIC_SAID_H

#include "unit/test.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define SAID_BYTES 4096

static FILE *said_file;
static int said_errors;

/** From here on standard error goes to a file. */
static inline void said_begin(void)
{
    said_file = tmpfile();
    assert_non_null(said_file);
    said_errors = dup(STDERR_FILENO);
    assert_true(said_errors >= 0 && dup2(fileno(said_file), STDERR_FILENO) >= 0);
}

/** What was said on standard error since said_begin(). */
static inline void said_end(char text[SAID_BYTES])
{
    (void)fflush(stderr);
    assert_true(dup2(said_errors, STDERR_FILENO) >= 0);
    (void)close(said_errors);
    rewind(said_file);
    size_t bytes = fread(text, 1, SAID_BYTES - 1, said_file);
    text[bytes] = '\0';
    (void)fclose(said_file);
}

#endif /* BEOWIRE_TESTS_FABRIC_SAID_H */
