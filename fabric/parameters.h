/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parameters.h - the environment variables FI_BEOWIRE_*, which `fi_info -e` lists.
 */
#ifndef BEOWIRE_FABRIC_PARAMETERS_H
#define BEOWIRE_FABRIC_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

struct parameters {
    const char *interfaces;   /**< names separated by commas; NULL: all usable ones */
    const char *lanes;        /**< permitted lanes; NULL: all */
    uint16_t ethertype;       /**< of our frames */
    uint64_t job_key;         /**< the same at all peers; 0: not set */
    uint32_t operations;      /**< maximum of outstanding sends, and of receives; or
                                 BEOWIRE_OPERATIONS_ANY */
    uint32_t peers;           /**< an endpoint has room for at least so many peers */
    uint64_t peer_timeout_ns; /**< a peer that owes an answer counts as dead after this silence */
    uint64_t linger_ns; /**< how long closing waits for sent messages to arrive; UINT64_MAX: as
                           long as the peer exists */
    bool reports;       /**< a closed endpoint prints what it has carried (summary.h) */
};

/** Tells libfabric which variables there are. */
void parameters_define(void);

/** Reads them. Warns in one line about a value out of range.
 *  @return false: a value is out of range; do not use `parameters`. */
bool parameters_read(struct parameters *parameters);

/** Is this interface permitted? */
bool parameters_allow(const struct parameters *parameters, const char *interface);

#endif /* BEOWIRE_FABRIC_PARAMETERS_H */
