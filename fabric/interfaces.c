/* SPDX-License-Identifier: BSD-3-Clause */
#include "interfaces.h"

#include <stdio.h>
#include <string.h>

/** The first that the user permits; `count`: none. */
static size_t best(const struct parameters *parameters, const struct nic *nics, size_t count)
{
    size_t index = 0;

    while (index < count && !parameters_allow(parameters, nics[index].name)) {
        index++;
    }
    return index;
}

bool interfaces_offer(const struct parameters *parameters, const struct nic *nics, size_t count,
                      size_t index, bool named)
{
    if (!parameters_allow(parameters, nics[index].name)) {
        return false;
    }
    return named || parameters->interfaces != NULL ||
           !nic_is_lesser(&nics[index], &nics[best(parameters, nics, count)]);
}

/** The domain's interface; `count`: it is gone. */
static size_t find(const struct nic *nics, size_t count, const char *interface)
{
    size_t index = 0;

    while (index < count && strcmp(nics[index].name, interface) != 0) {
        index++;
    }
    return index;
}

void interfaces_of_endpoint(const struct parameters *parameters, const char *interface,
                            char list[INTERFACES_BYTES])
{
    struct nic nics[NIC_MAX];
    size_t count = nic_list(nics);
    size_t own = find(nics, count, interface);

    (void)snprintf(list, INTERFACES_BYTES, "%.*s", IF_NAMESIZE - 1, interface);
    if (own == count || !nics[own].has_ip || nics[own].loopback ||
        !interfaces_offer(parameters, nics, count, own, false)) {
        return; /* an interface that only this program requested is used alone */
    }
    for (size_t i = 0; i < count; i++) {
        if (i != own && nics[i].has_ip && !nics[i].loopback &&
            nics[i].mtu_bytes >= nics[own].mtu_bytes &&
            interfaces_offer(parameters, nics, count, i, false)) {
            (void)snprintf(list, INTERFACES_BYTES, "%.*s,%.*s", IF_NAMESIZE - 1, interface,
                           IF_NAMESIZE - 1, nics[i].name);
            return;
        }
    }
}
