/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parameters.h - the environment variables FI_BEOWIRE_*, which `fi_info -e` lists.
 */
#ifndef BEOWIRE_FABRIC_PARAMETERS_H
#define BEOWIRE_FABRIC_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

struct parameters {
    const char *interfaces; /**< names, with commas between; NULL: any that is usable */
    const char *lanes;      /**< ways to send that may be used; NULL: all */
    uint16_t ethertype;     /**< of our frames */
    uint64_t job_key;       /**< peers have the same; 0: none was chosen */
    uint32_t operations;    /**< most sends, and most receives, that an endpoint has outstanding; or
                               BEOWIRE_OPERATIONS_ANY */
    uint32_t peers;         /**< least room for peers of an endpoint */
    uint64_t peer_timeout_ns; /**< after so long a silence a peer that owes an answer is dead */
    uint64_t linger_ns; /**< closing waits so long for what was sent to arrive; UINT64_MAX: as long
                           as the peer is there */
    bool reports;       /**< an endpoint that is closed says what it has carried (summary.h) */
};

/** Tells libfabric which variables there are. */
void parameters_define(void);

/** Reads them. What is out of range is warned of in one line.
 *  @return false: something is out of range; `parameters` is not to be used. */
bool parameters_read(struct parameters *parameters);

/** Is this interface among those that are asked for? */
bool parameters_allow(const struct parameters *parameters, const char *interface);

#endif /* BEOWIRE_FABRIC_PARAMETERS_H */
