/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h - the symbolic names of errors and signals, which only glibc offers. */
#ifndef BEOWIRE_ENGINE_NAMES_H
#define BEOWIRE_ENGINE_NAMES_H

/** The name of an errno, such as "ENOENT"; NULL if it has none. */
const char *error_name(int error);

/** The name of a signal, such as "SIGSEGV"; NULL if it has none, such as real-time signals. */
const char *signal_name(int number);

#endif
