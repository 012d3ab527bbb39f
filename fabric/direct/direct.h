/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * direct.h - a libfabric.so.1 that has one provider, Beowire's.
 *
 * Programs link few functions of libfabric: most of its interface are inline calls through tables
 * that the provider fills. These few are here, for MPIs that would otherwise wait 0.3 s for what a
 * distribution's libfabric loads and looks for. The dynamic linker takes this library if its
 * directory is in LD_LIBRARY_PATH. What the functions do is in libfabric's manual pages
 * (fi_getinfo.3, fi_fabric.3, fi_provider.7).
 *
 * Symbols have libfabric's versions, those in which its structures grew included, because the
 * dynamic linker refuses a program whose version is missing. Structures of the versions before 1.3
 * are others, so those symbols are missing. All that grew since was added at the end, and the
 * provider leaves it 0: it is neither read nor copied, and there is room for it in each structure.
 */
#ifndef BEOWIRE_FABRIC_DIRECT_DIRECT_H
#define BEOWIRE_FABRIC_DIRECT_DIRECT_H

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include <stdbool.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define DIRECT_EXPORTED __attribute__((visibility("default")))

/** Gives the function `function` the name `symbol`, such as "fi_open@@FABRIC_1.5"; `alias_name` is
 *  any name that is free. */
/* NOLINTBEGIN(bugprone-macro-parentheses): names */
#define DIRECT_SYMBOL(function, alias_name, symbol)                                                \
    DIRECT_EXPORTED __attribute__((alias(#function))) extern __typeof__(function) alias_name;      \
    __asm__(".symver " #alias_name "," symbol)
/* NOLINTEND(bugprone-macro-parentheses) */

/** The same for what has a version for each change of a structure since 1.3. */
#define DIRECT_SYMBOLS(function, name)                                                             \
    DIRECT_SYMBOL(function, function##_1_3, name "@FABRIC_1.3");                                   \
    DIRECT_SYMBOL(function, function##_1_7, name "@FABRIC_1.7");                                   \
    DIRECT_SYMBOL(function, function##_1_8, name "@FABRIC_1.8");                                   \
    DIRECT_SYMBOL(function, function##_1_9, name "@FABRIC_1.9");                                   \
    DIRECT_SYMBOL(function, function##_1_10, name "@FABRIC_1.10");                                 \
    DIRECT_SYMBOL(function, function##_1_11, name "@@FABRIC_1.11")

/** The newest interface whose structures are known. */
#define DIRECT_VERSION FI_VERSION(2, 6)

/** What libfabric's own lines of the log are from. */
extern struct fi_provider direct_core;

/** Reads FI_LOG_LEVEL, FI_LOG_PROV and FI_LOG_SUBSYS; nothing is logged before. */
void direct_log_begin(void);

/** Whether a list such as "tcp,beowire" has the name, or one such as "^tcp" has it not. NULL and ""
 *  have every name. */
bool direct_is_chosen(const char *list, const char *name);

struct fi_info *direct_dupinfo(const struct fi_info *info);
void direct_freeinfo(struct fi_info *info);

/** Loads the provider, once. @return NULL: it cannot be loaded, as the log says. */
struct fi_provider *direct_provider(void);

#endif /* BEOWIRE_FABRIC_DIRECT_DIRECT_H */
