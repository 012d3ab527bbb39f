/* SPDX-License-Identifier: BSD-3-Clause */
#include "error_text.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdio.h>

int error_number(int status)
{
    /* libfabric's numbers up to 255 are errno's; only a message that is too long for its buffer
     * has one of its own. */
    return status == -EMSGSIZE ? FI_ETRUNC : -status;
}

void error_text(char text[ERROR_TEXT_BYTES], int status, const struct beowire_address *peer)
{
    char name[BEOWIRE_ADDRESS_TEXT_BYTES];

    if (peer != NULL && beowire_address_format(peer, name, sizeof name) == 0) {
        (void)snprintf(text, ERROR_TEXT_BYTES, "peer %s: %s", name, beowire_error(status));
    } else {
        (void)snprintf(text, ERROR_TEXT_BYTES, "%s", beowire_error(status));
    }
}
