/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#define NAME "libibverbs.so.1"

static const struct {
    const char *name;
    size_t at;
} functions[] = {
#define FUNCTION(member)                                                                           \
    {                                                                                              \
        "ibv_" #member, offsetof(struct verbs_library, member)                                     \
    }
    FUNCTION(get_device_list),
    FUNCTION(free_device_list),
    FUNCTION(open_device),
    FUNCTION(close_device),
    {"_ibv_query_gid_table", offsetof(struct verbs_library, query_gid_table)},
    FUNCTION(query_port),
    FUNCTION(query_device),
    FUNCTION(alloc_pd),
    FUNCTION(dealloc_pd),
    FUNCTION(reg_mr),
    FUNCTION(reg_mr_iova),
    FUNCTION(dereg_mr),
    FUNCTION(create_comp_channel),
    FUNCTION(destroy_comp_channel),
    FUNCTION(create_cq),
    FUNCTION(destroy_cq),
    FUNCTION(get_cq_event),
    FUNCTION(ack_cq_events),
    FUNCTION(create_qp),
    FUNCTION(modify_qp),
    FUNCTION(destroy_qp),
    FUNCTION(create_ah),
    FUNCTION(destroy_ah),
#undef FUNCTION
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

_Static_assert(FUNCTIONS * sizeof(void *) == sizeof(struct verbs_library), "each is looked for");

static struct verbs_library installed;
static int installed_status;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int verbs_library_find(const char *name, struct verbs_library *library)
{
    void *loaded = dlopen(name, RTLD_NOW | RTLD_LOCAL);

    for (unsigned i = 0; loaded != NULL && i < FUNCTIONS; i++) {
        void *found = dlsym(loaded, functions[i].name);
        if (found == NULL) {
            (void)dlclose(loaded);
            return -ELIBBAD;
        }
        memcpy((char *)library + functions[i].at, &found, sizeof found);
    }
    return loaded != NULL ? 0 : -ELIBBAD;
}

static void load(void)
{
    installed_status = verbs_library_find(NAME, &installed);
}

const struct verbs_library *verbs_library_load(void)
{
    (void)pthread_once(&once, load);
    return installed_status == 0 ? &installed : NULL;
}
