/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric.h - the libfabric that has loaded this provider, whichever version it is.
 *
 * A provider that links against libfabric gets the versions of its symbols that were newest when
 * it was built. Under a newer library these make structures that are too short for it: fi_info's
 * have grown in 1.20, 2.0 and 2.5. So nothing is linked; the newest version of each function is
 * looked up in the very library that called fi_prov_ini(). For the same reason no structure of
 * libfabric is ever copied whole, or made otherwise than by libfabric_info().
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

/** This provider's own description; `context` belongs to libfabric. */
extern struct fi_provider fabric_provider;

/** Looks the functions up in the library that `caller`, an address of code, is in.
 *  @return false: something is missing, or that code is in no library. */
bool libfabric_find(const void *caller);

/** An empty fi_info with all its parts, as long as this libfabric wants them; NULL: no memory.
 *  It belongs to the caller, and ends with libfabric.freeinfo(). */
struct fi_info *libfabric_info(void);

#define FABRIC_LOG(level, subsystem, ...)                                                          \
    do {                                                                                           \
        if (libfabric.log_enabled(&fabric_provider, (level), (subsystem))) {                       \
            libfabric.log(&fabric_provider, (level), (subsystem), __func__, __LINE__,              \
                          __VA_ARGS__);                                                            \
        }                                                                                          \
    } while (0)

/** What the user should know; shown unless FI_LOG_LEVEL says otherwise. */
#define FABRIC_WARN(subsystem, ...) FABRIC_LOG(FI_LOG_WARN, subsystem, __VA_ARGS__)

/** Why something was chosen or refused; shown with FI_LOG_LEVEL=info. */
#define FABRIC_INFO(subsystem, ...) FABRIC_LOG(FI_LOG_INFO, subsystem, __VA_ARGS__)

#endif /* BEOWIRE_FABRIC_LIBFABRIC_H */
