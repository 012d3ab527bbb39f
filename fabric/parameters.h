/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parameters.h - the environment variables FI_BEOWIRE_*, which `fi_info -e` lists.
 */
#ifndef BEOWIRE_FABRIC_PARAMETERS_H
#define BEOWIRE_FABRIC_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

struct parameters {
    const char *interfaces; /**< names separated by commas; NULL: all usable ones */
    const char *lanes;      /**< permitted lanes; NULL: all */
    uint16_t ethertype;     /**< of our frames */
    uint64_t job_key;       /**< the same at all peers; 0: none */
    uint32_t
        operations; /**< maximum of outstanding sends, and of receives; or BEOWIRE_OPERATIONS_ANY */
    uint32_t peers; /**< minimum of peers for which an endpoint has room */
    uint64_t peer_timeout_ns; /**< silence after which a peer that owes an answer counts as dead */
    uint64_t linger_ns; /**< how long closing waits for sent messages to arrive; UINT64_MAX: as long
                           as the peer exists */
    bool reports;       /**< a closed endpoint prints its traffic (summary.h) */
};

/** Defines the variables in libfabric. */
void parameters_define(void);

/** Reads them. Prints one line if a value is out of range. @return false: a value is out of range;
 *  do not use `parameters`. */
bool parameters_read(struct parameters *parameters);

/** Is this interface permitted? */
bool parameters_allow(const struct parameters *parameters, const char *interface);

#endif /* BEOWIRE_FABRIC_PARAMETERS_H */
