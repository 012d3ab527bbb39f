/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The door through which libfabric comes in. It looks for files named lib*-fi.so in its own folder
 * and in those of FI_PROVIDER_PATH, and calls fi_prov_ini().
 */
#include "domain.h"
#include "info.h"
#include "libfabric.h"
#include "parameters.h"

FI_EXT_INI;

static void cleanup(void)
{
    /* There are no threads and shared files; the user closes objects. */
}

struct fi_provider fabric_provider = {
    .name = "beowire",
    .version = FI_VERSION(BEOWIRE_VERSION_MAJOR, BEOWIRE_VERSION_MINOR),
    .getinfo = info_get,
    .fabric = fabric_open,
    .cleanup = cleanup,
};

FI_EXT_INI
{
    if (!libfabric_find(__builtin_return_address(0))) {
        return NULL;
    }
    /* The interface version of the loaded library, which ignores older providers. */
    fabric_provider.fi_version = libfabric.version();
    parameters_define();
    return &fabric_provider;
}
