/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric.h - the libfabric that has loaded this provider, of any version.
 *
 * A provider linked against libfabric gets the versions of its symbols that were the newest at
 * build time. With a newer library, they would create structures that are too short: fi_info has
 * grown in 1.20, 2.0 and 2.5. So nothing is linked. The newest version of each function is looked
 * up in the library that called fi_prov_ini(). For the same reason no structure of libfabric is
 * copied as a whole, or allocated except by libfabric_info().
 */
#ifndef BEOWIRE_FABRIC_LIBFABRIC_H
#define BEOWIRE_FABRIC_LIBFABRIC_H

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include <stdbool.h>

/** The functions of libfabric that the provider calls. */
struct libfabric {
    uint32_t (*version)(void);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    void (*freeinfo)(struct fi_info *info);
    const char *(*strerror)(int number);
    int (*param_define)(const struct fi_provider *provider, const char *name,
                        enum fi_param_type type, const char *help, ...);
    int (*param_get)(struct fi_provider *provider, const char *name, void *value);
    int (*log_enabled)(const struct fi_provider *provider, enum fi_log_level level,
                       enum fi_log_subsys subsystem);
    void (*log)(const struct fi_provider *provider, enum fi_log_level level,
                enum fi_log_subsys subsystem, const char *function, int line, const char *format,
                ...);
};

/** Filled by libfabric_find(), constant afterwards. */
extern struct libfabric libfabric;

/** This provider's description; `context` belongs to libfabric. */
extern struct fi_provider fabric_provider;

/** Looks up the functions in the library of the code address `caller`. @return false: a function is
 *  missing, or the code is in no library. */
bool libfabric_find(const void *caller);

/** An empty fi_info with all its parts, as large as this libfabric needs; NULL: no memory. The
 *  caller frees it by libfabric.freeinfo(). */
struct fi_info *libfabric_info(void);

#define FABRIC_LOG(level, subsystem, ...)                                                          \
    do {                                                                                           \
        if (libfabric.log_enabled(&fabric_provider, (level), (subsystem))) {                       \
            libfabric.log(&fabric_provider, (level), (subsystem), __func__, __LINE__,              \
                          __VA_ARGS__);                                                            \
        }                                                                                          \
    } while (0)

/** Shown to the user unless FI_LOG_LEVEL says otherwise. */
#define FABRIC_WARN(subsystem, ...) FABRIC_LOG(FI_LOG_WARN, subsystem, __VA_ARGS__)

/** Reasons for a choice or a refusal, shown with FI_LOG_LEVEL=info. */
#define FABRIC_INFO(subsystem, ...) FABRIC_LOG(FI_LOG_INFO, subsystem, __VA_ARGS__)

#endif /* BEOWIRE_FABRIC_LIBFABRIC_H */
