/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own libfabric, which meson.build has the dynamic linker find in place of the system's. */
#include "namespace.h"
#include "said.h"

#include <dlfcn.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define BEHIND_BYTES 64

static struct fi_info *hints_for(const char *provider)
{
    struct fi_info *hints = fi_dupinfo(NULL);

    assert_non_null(hints);
    hints->fabric_attr->prov_name = provider == NULL ? NULL : strdup(provider);
    return hints;
}

/** What fi_getinfo() returns for a provider's name; what it finds is freed. */
static int found(const char *provider)
{
    struct fi_info *hints = hints_for(provider);
    struct fi_info *info = NULL;
    int status = fi_getinfo(FI_VERSION(1, 9), NULL, NULL, 0, hints, &info);

    assert_int_equal(status == 0, info != NULL);
    fi_freeinfo(info);
    fi_freeinfo(hints);
    return status;
}

TEST(symbols__in_each_version_that_callers_since_libfabric_1_3_may_need)
{
    const char *const changing[] = {"fi_getinfo", "fi_dupinfo", "fi_freeinfo"};
    const char *const changes[] = {"FABRIC_1.3", "FABRIC_1.7",  "FABRIC_1.8",
                                   "FABRIC_1.9", "FABRIC_1.10", "FABRIC_1.11"};
    const char *const others[][2] = {
        {"fi_fabric", "FABRIC_1.1"},       {"fi_fabric2", "FABRIC_1.8"},
        {"fi_open", "FABRIC_1.5"},         {"fi_tostr_r", "FABRIC_1.4"},
        {"fi_version", "FABRIC_1.0"},      {"fi_strerror", "FABRIC_1.0"},
        {"fi_tostr", "FABRIC_1.0"},        {"fi_log", "FABRIC_1.0"},
        {"fi_log_enabled", "FABRIC_1.0"},  {"fi_param_get", "FABRIC_1.0"},
        {"fi_param_define", "FABRIC_1.0"}, {"fi_getparams", "FABRIC_1.0"},
        {"fi_freeparams", "FABRIC_1.0"},
    };
    void *library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD);

    assert_non_null(library);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < sizeof changes / sizeof changes[0]; j++) {
            assert_non_null(dlvsym(library, changing[i], changes[j]));
        }
        /* Its structures are others. */
        assert_null(dlvsym(library, changing[i], "FABRIC_1.2"));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_non_null(dlvsym(library, others[i][0], others[i][1]));
    }
    assert_int_equal(dlclose(library), 0);
}

TEST(fi_dupinfo__of_nothing_has_all_parts_and_room_for_newer_ones)
{
    static const char zeros[BEHIND_BYTES];
    struct fi_info *info = fi_dupinfo(NULL);

    assert_true(info->tx_attr != NULL && info->rx_attr != NULL && info->ep_attr != NULL);
    assert_true(info->domain_attr != NULL && info->fabric_attr != NULL);
    assert_memory_equal(info + 1, zeros, sizeof zeros);
    assert_memory_equal(info->tx_attr + 1, zeros, sizeof zeros);
    assert_memory_equal(info->rx_attr + 1, zeros, sizeof zeros);
    assert_memory_equal(info->ep_attr + 1, zeros, sizeof zeros);
    assert_memory_equal(info->domain_attr + 1, zeros, sizeof zeros);
    assert_memory_equal(info->fabric_attr + 1, zeros, sizeof zeros);
    fi_freeinfo(info);
}

TEST(fi_dupinfo__copies_all_that_is_pointed_to)
{
    struct fi_info *info = hints_for("beowire");

    info->caps = FI_TAGGED;
    info->domain_attr->name = strdup("end0");
    info->domain_attr->mr_key_size = 8;
    info->domain_attr->tclass = FI_TC_BULK_DATA;
    info->fabric_attr->name = strdup("10.77.0.0/24");
    info->src_addr = strdup("address");
    info->src_addrlen = strlen("address") + 1;
    info->ep_attr->auth_key = (uint8_t *)strdup("key");
    info->ep_attr->auth_key_size = strlen("key") + 1;
    info->next = info; /* one alone is copied */
    struct fi_info *copy = fi_dupinfo(info);
    info->next = NULL;
    fi_freeinfo(info);
    assert_null(copy->next);
    assert_int_equal(copy->caps, FI_TAGGED);
    assert_string_equal(copy->domain_attr->name, "end0");
    assert_int_equal(copy->domain_attr->mr_key_size, 8);
    assert_int_equal(copy->domain_attr->tclass, FI_TC_BULK_DATA);
    assert_string_equal(copy->fabric_attr->name, "10.77.0.0/24");
    assert_string_equal(copy->fabric_attr->prov_name, "beowire");
    assert_string_equal((char *)copy->src_addr, "address");
    assert_null(copy->dest_addr);
    assert_string_equal((char *)copy->ep_attr->auth_key, "key");
    /* Parts that are missing stay so. */
    free(copy->tx_attr);
    copy->tx_attr = NULL;
    struct fi_info *lesser = fi_dupinfo(copy);
    assert_null(lesser->tx_attr);
    fi_freeinfo(lesser);
    fi_freeinfo(copy);
}

TEST(fi_getinfo__a_signed_description_of_each_interface)
{
    struct fi_info *info = NULL;
    int count = 0;

    assert_int_equal(fi_getinfo(FI_VERSION(1, 9), NULL, NULL, 0, NULL, &info), 0);
    for (const struct fi_info *one = info; one != NULL; one = one->next) {
        assert_string_equal(one->fabric_attr->prov_name, "beowire");
        assert_true(one->fabric_attr->prov_version > 0);
        assert_int_equal(one->fabric_attr->api_version, FI_VERSION(1, 9));
        count++;
    }
    assert_int_equal(count, 2);
    fi_freeinfo(info);
    assert_int_equal(fi_getinfo(FI_VERSION(1, 9), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &info), 0);
    assert_string_equal(info->fabric_attr->prov_name, "beowire");
    assert_null(info->next);
    fi_freeinfo(info);
}

TEST(fi_getinfo__a_program_of_a_newer_interface_is_refused)
{
    uint32_t newer = FI_VERSION(FI_MAJOR(fi_version()) + 1, 0);
    struct fi_info *info = NULL;

    assert_int_equal(fi_getinfo(newer, NULL, NULL, 0, NULL, &info), -FI_ENOSYS);
    assert_int_equal(fi_getinfo(fi_version() + 1, NULL, NULL, 0, NULL, &info), 0);
    fi_freeinfo(info);
}

TEST(fi_getinfo__names_in_hints)
{
    const char *const ours[] = {"beowire", "BeoWire", "^tcp", "beowire;^ofi_rxm"};
    const char *const others[] = {"tcp",     "beowire;ofi_rxm",  "ofi_rxm;beowire",
                                  "beo",     "beowire;^beowire", "^beowire",
                                  "beowires"};

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        assert_int_equal(found(ours[i]), 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(found(others[i]), -FI_ENODATA);
    }
}

TEST(fi_getinfo__names_in_FI_PROVIDER)
{
    const char *const ours[] = {"beowire", "tcp,Beowire", "^tcp,shm", ""};
    const char *const others[] = {"tcp", "^beowire", "^tcp,beowire", "beowire;ofi_rxm"};

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        assert_int_equal(setenv("FI_PROVIDER", ours[i], 1), 0);
        assert_int_equal(found(NULL), 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(setenv("FI_PROVIDER", others[i], 1), 0);
        assert_int_equal(found(NULL), -FI_ENODATA);
    }
    assert_int_equal(unsetenv("FI_PROVIDER"), 0);
}

TEST(fi_getinfo__another_provider_is_refused_in_a_line_that_says_what_to_do)
{
    char said[SAID_BYTES];
    regex_t line;

    said_begin();
    (void)found("tcp");
    said_end(said);
    assert_int_equal(regcomp(&line,
                             "^libfabric:[0-9]+:[0-9]+::core:core:[a-z_]+\\(\\):[0-9]+<warn> "
                             "[^\n]*another provider[^\n]*LD_LIBRARY_PATH\n$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    assert_int_equal(regexec(&line, said, 0, NULL, 0), 0);
    regfree(&line);
}

static void *ask(void *status)
{
    *(int *)status = found("beowire");
    return NULL;
}

TEST(fi_getinfo__from_several_threads)
{
    pthread_t threads[THREADS];
    int statuses[THREADS] = {1, 1, 1, 1};

    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &statuses[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(statuses[i], 0);
    }
}

TEST(fi_fabric__opens_those_of_the_provider_alone)
{
    struct fi_info *info = NULL;
    struct fid_fabric *fabric = NULL;
    struct fi_fabric_attr other = {.name = (char *)"eth0", .prov_name = (char *)"tcp"};
    struct fi_fabric_attr unnamed = {.prov_name = (char *)"beowire"};
    int (*fabric2)(struct fi_info *, struct fid_fabric **, uint64_t, void *);

    assert_int_equal(fi_fabric(NULL, &fabric, NULL), -FI_EINVAL);
    assert_int_equal(fi_fabric(&unnamed, &fabric, NULL), -FI_EINVAL);
    assert_int_equal(fi_fabric(&other, &fabric, NULL), -FI_ENODEV);
    assert_int_equal(fi_getinfo(FI_VERSION(1, 9), NULL, NULL, 0, NULL, &info), 0);
    assert_int_equal(fi_fabric(info->fabric_attr, &fabric, NULL), 0);
    assert_int_equal(fabric->api_version, FI_VERSION(1, 9));
    assert_int_equal(fi_close(&fabric->fid), 0);
    *(void **)&fabric2 = dlsym(RTLD_DEFAULT, "fi_fabric2");
    assert_int_equal(fabric2(NULL, &fabric, 0, NULL), -FI_EINVAL);
    assert_int_equal(fabric2(info, &fabric, 1, NULL), -FI_EINVAL);
    assert_int_equal(fabric2(info, &fabric, 0, NULL), 0);
    assert_int_equal(fi_close(&fabric->fid), 0);
    fi_freeinfo(info);
}

TEST(fi_open__there_is_nothing_to_open)
{
    struct fid *fid = NULL;

    assert_int_equal(fi_open(FI_VERSION(1, 9), "mr_cache", NULL, 0, 0, &fid, NULL), -FI_ENOSYS);
}

TEST(fi_param_get__each_type)
{
    static struct fi_provider provider = {.name = "trial"};
    const struct {
        enum fi_param_type type;
        const char *text;
        int status;
        size_t value;
    } cases[] = {
        {FI_PARAM_INT, "0x10", 0, 16},
        {FI_PARAM_INT, "-1", 0, (unsigned)-1},
        {FI_PARAM_SIZE_T, "5000000000", 0, 5000000000},
        {FI_PARAM_BOOL, "Yes", 0, 1},
        {FI_PARAM_BOOL, "off", 0, 0},
        {FI_PARAM_BOOL, "2", -FI_EINVAL, 9},
        {FI_PARAM_INT, NULL, -FI_ENODATA, 9},
    };
    char name[] = "value_0";
    char variable[] = "FI_TRIAL_VALUE_0";

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t value = cases[i].status == 0 ? 0 : cases[i].value;
        name[sizeof name - 2] = variable[sizeof variable - 2] = (char)('0' + i);
        assert_int_equal(fi_param_define(&provider, name, cases[i].type, "the %zu. value", i), 0);
        if (cases[i].text != NULL) {
            assert_int_equal(setenv(variable, cases[i].text, 1), 0);
        }
        assert_int_equal(fi_param_get(&provider, name, &value), cases[i].status);
        assert_int_equal(value, cases[i].value);
    }
    char *text = NULL;
    assert_int_equal(fi_param_define(&provider, "text", FI_PARAM_STRING, "text"), 0);
    assert_int_equal(setenv("FI_TRIAL_TEXT", "a word", 1), 0);
    assert_int_equal(fi_param_get(&provider, "text", &text), 0);
    assert_string_equal(text, "a word");
    assert_int_equal(fi_param_get(&provider, "other", &text), -FI_ENOENT);
    assert_int_equal(fi_param_get(&provider, NULL, &text), -FI_EINVAL);
    assert_int_equal(fi_param_define(&provider, "mute", FI_PARAM_INT, ""), -FI_EINVAL);
}

TEST(fi_getparams__lists_those_of_the_provider_with_their_values)
{
    struct fi_param *params = NULL;
    int count = 0;
    bool listed = false;

    assert_int_equal(setenv("FI_BEOWIRE_LINGER", "7", 1), 0);
    assert_int_equal(fi_getparams(&params, &count), 0);
    for (int i = 0; i < count; i++) {
        if (strcmp(params[i].name, "FI_BEOWIRE_LINGER") == 0) {
            listed = true;
            assert_string_equal(params[i].value, "7");
            assert_non_null(strstr(params[i].help_string, "beowire: Seconds"));
            assert_int_equal(params[i].type, FI_PARAM_INT);
        }
    }
    assert_true(listed);
    assert_null(params[count].name);
    fi_freeparams(params);
    assert_int_equal(unsetenv("FI_BEOWIRE_LINGER"), 0);
}

/** meson.build sets FI_LOG_LEVEL=info FI_LOG_PROV=^quiet FI_LOG_SUBSYS=^cq. */
TEST(fi_log__what_the_environment_asks_for)
{
    static const struct fi_provider loud = {.name = "loud"};
    static const struct fi_provider quiet = {.name = "quiet"};
    char said[SAID_BYTES];

    (void)found("beowire"); /* reads the variables */
    assert_true(fi_log_enabled(&loud, FI_LOG_WARN, FI_LOG_AV));
    assert_true(fi_log_enabled(&loud, FI_LOG_INFO, FI_LOG_AV));
    assert_false(fi_log_enabled(&loud, FI_LOG_DEBUG, FI_LOG_AV));
    assert_false(fi_log_enabled(&loud, FI_LOG_WARN, FI_LOG_CQ));
    assert_false(fi_log_enabled(&quiet, FI_LOG_WARN, FI_LOG_AV));
    said_begin();
    fi_log(&loud, FI_LOG_INFO, FI_LOG_EP_CTRL, "caller", 17, "%d words\n", 3);
    said_end(said);
    assert_non_null(strstr(said, "::loud:ep_ctrl:caller():17<info> 3 words\n"));
}

TEST(texts__of_errors_and_endpoints)
{
    enum fi_ep_type type = FI_EP_RDM;

    assert_string_equal(fi_strerror(FI_EINVAL), strerror(EINVAL));
    assert_non_null(strstr(fi_strerror(FI_ENOKEY), "Key"));
    assert_string_equal(fi_strerror(1000), fi_strerror(FI_EOTHER));
    assert_string_equal(fi_tostr(&type, FI_TYPE_EP_TYPE), "FI_EP_RDM");
    type = (enum fi_ep_type)1000;
    assert_non_null(fi_tostr(&type, FI_TYPE_EP_TYPE));
    assert_null(fi_tostr(NULL, FI_TYPE_EP_TYPE));
}
