/* SPDX-License-Identifier: BSD-3-Clause */
#include "direct.h"

#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 256

DIRECT_EXPORTED const char *fi_strerror(int errnum)
{
    static const char *const texts[] = {
        [FI_EOTHER - FI_ERRNO_OFFSET] = "Unspecified error",
        [FI_ETOOSMALL - FI_ERRNO_OFFSET] = "Buffer is too small",
        [FI_EOPBADSTATE - FI_ERRNO_OFFSET] = "Operation is not permitted in this state",
        [FI_EAVAIL - FI_ERRNO_OFFSET] = "Error is available",
        [FI_EBADFLAGS - FI_ERRNO_OFFSET] = "Flags are not supported",
        [FI_ENOEQ - FI_ERRNO_OFFSET] = "Event queue is missing",
        [FI_EDOMAIN - FI_ERRNO_OFFSET] = "Resource domain is invalid",
        [FI_ENOCQ - FI_ERRNO_OFFSET] = "Completion queue is missing",
        [FI_ECRC - FI_ERRNO_OFFSET] = "Checksum is wrong",
        [FI_ETRUNC - FI_ERRNO_OFFSET] = "Message was truncated",
        [FI_ENOKEY - FI_ERRNO_OFFSET] = "Key is missing",
        [FI_ENOAV - FI_ERRNO_OFFSET] = "Address vector is missing",
        [FI_EOVERRUN - FI_ERRNO_OFFSET] = "Queue has overflowed",
        [FI_ENORX - FI_ERRNO_OFFSET] = "Receiver has no buffer",
    };

    if (errnum < FI_ERRNO_OFFSET) {
        return strerror(errnum);
    }
    size_t index = (size_t)(errnum - FI_ERRNO_OFFSET);
    return texts[index < COUNT(texts) ? index : 0];
}

/** What fi_info prints of an endpoint has its name; of all else, which MPIs print only to find
 *  faults, this says how to get it. */
DIRECT_EXPORTED char *fi_tostr_r(char *buf, size_t len, const void *data, enum fi_type datatype)
{
    static const char *const endpoints[] = {"FI_EP_UNSPEC", "FI_EP_MSG", "FI_EP_DGRAM",
                                            "FI_EP_RDM"};

    if (data == NULL || len == 0) {
        return NULL;
    }
    unsigned value = datatype == FI_TYPE_EP_TYPE ? *(const unsigned *)data : COUNT(endpoints);
    (void)snprintf(buf, len, "%s",
                   value < COUNT(endpoints)      ? endpoints[value]
                   : datatype == FI_TYPE_VERSION ? "Beowire's own libfabric, interface 2.6"
                                                 : "(named by the system's libfabric)");
    return buf;
}

DIRECT_EXPORTED char *fi_tostr(const void *data, enum fi_type datatype)
{
    static char text[TEXT_BYTES];

    return fi_tostr_r(text, sizeof text, data, datatype);
}
