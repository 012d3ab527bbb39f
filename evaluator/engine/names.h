/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h - how errors and signals are called in programs; of C libraries only glibc says so. */
#ifndef BEOWIRE_ENGINE_NAMES_H
#define BEOWIRE_ENGINE_NAMES_H

/** The name of an errno, such as "ENOENT"; NULL if it has none. */
const char *error_name(int error);

/** The name of a signal, such as "SIGSEGV"; NULL if it has none, as those of real time. */
const char *signal_name(int number);

#endif
