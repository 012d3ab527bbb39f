/* SPDX-License-Identifier: BSD-3-Clause */
#include "namespace.h"
#include "pair.h"
#include "said.h"

#include "beowire.h"

#include <stdio.h>

/** What is got for these hints (freed here). @return the list, or NULL if nothing fits. */
static struct fi_info *ask(struct fi_info *hints, const char *node, uint64_t flags)
{
    struct fi_info *info = NULL;
    int status = fi_getinfo(FI_VERSION(1, 17), node, NULL, flags, hints, &info);

    fi_freeinfo(hints);
    assert_true(status == 0 || status == -FI_ENODATA);
    return status == 0 ? info : NULL;
}

static struct fi_info *hints_of_type(enum fi_ep_type type)
{
    struct fi_info *hints = fi_allocinfo();

    assert_non_null(hints);
    hints->ep_attr->type = type;
    return hints;
}

static void run(const char *command)
{
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a constant */
}

TEST(fi_getinfo__one_for_each_interface)
{
    const char *const names[] = {"end0", "end1"};
    struct fi_info *all = ask(NULL, NULL, 0);
    const struct fi_info *info = all;

    for (unsigned i = 0; i < 2; i++) {
        assert_non_null(info);
        assert_string_equal(info->domain_attr->name, names[i]);
        assert_string_equal(info->fabric_attr->name, "10.77.0.0/24");
        assert_string_equal(info->fabric_attr->prov_name, "beowire");
        assert_int_equal(info->ep_attr->type, FI_EP_RDM);
        info = info->next;
    }
    assert_null(info);
    fi_freeinfo(all);
}

/** The ranks of a host are distributed over all interfaces that look alike. */
TEST(fi_getinfo__the_loopback_only_if_asked_for_or_alone)
{
    struct fi_info *hints = hints_of_type(FI_EP_RDM);

    hints->domain_attr->name = strdup("lo");
    struct fi_info *info = ask(hints, NULL, 0);
    assert_string_equal(info->domain_attr->name, "lo");
    assert_string_equal(info->fabric_attr->name, "127.0.0.0/8");
    assert_null(info->next);
    fi_freeinfo(info);
    info = ask(NULL, "127.0.0.1", FI_SOURCE);
    assert_string_equal(info->domain_attr->name, "lo");
    assert_null(info->next);
    fi_freeinfo(info);
    run("ip link set end0 down && ip link set end1 down");
    info = ask(NULL, NULL, 0);
    assert_string_equal(info->domain_attr->name, "lo");
    assert_null(info->next);
    fi_freeinfo(info);
    run("ip link set end0 up && ip link set end1 up");
    time_t start = time(NULL);
    for (bool both = false; !both;) { /* the kernel notices a moment later */
        assert_false(is_late(start));
        info = ask(NULL, NULL, 0);
        both = info->next != NULL;
        fi_freeinfo(info);
    }
}

/** Containers' bridges have the same address on every host: whoever is distributed over all that
 *  is offered must not get there, unless somebody names them. */
TEST(fi_getinfo__no_bridge_of_containers_unless_it_is_named)
{
    struct fi_info *hints = hints_of_type(FI_EP_RDM);

    run("ip link add docker0 type bridge && ip link add port type veth peer name plug && "
        "ip link set port master docker0 && ip link set port up && ip link set plug up && "
        "ip link set docker0 up && ip address add 172.17.0.1/16 dev docker0");
    namespace_wait_until_running("docker0");
    struct fi_info *info = ask(NULL, NULL, 0);
    assert_string_equal(info->domain_attr->name, "end0");
    assert_string_equal(info->next->domain_attr->name, "end1");
    assert_null(info->next->next);
    fi_freeinfo(info);
    hints->domain_attr->name = strdup("docker0");
    info = ask(hints, NULL, 0);
    assert_string_equal(info->domain_attr->name, "docker0");
    fi_freeinfo(info);
    info = ask(NULL, "172.17.0.1", FI_SOURCE);
    assert_string_equal(info->domain_attr->name, "docker0");
    fi_freeinfo(info);
    assert_int_equal(setenv("FI_BEOWIRE_INTERFACE", "docker0,end0", 1), 0);
    info = ask(NULL, NULL, 0);
    assert_string_equal(info->domain_attr->name, "end0");
    assert_string_equal(info->next->domain_attr->name, "docker0");
    assert_null(info->next->next);
    fi_freeinfo(info);
    assert_int_equal(unsetenv("FI_BEOWIRE_INTERFACE"), 0);
    run("ip link delete docker0 && ip link delete port");
}

TEST(fi_getinfo__only_interfaces_of_the_parameter)
{
    assert_int_equal(setenv("FI_BEOWIRE_INTERFACE", "lo,end1", 1), 0);
    struct fi_info *info = ask(NULL, NULL, 0);
    assert_non_null(info);
    assert_string_equal(info->domain_attr->name, "end1");
    assert_string_equal(info->next->domain_attr->name, "lo");
    assert_null(info->next->next);
    fi_freeinfo(info);
    assert_int_equal(setenv("FI_BEOWIRE_INTERFACE", "end", 1), 0);
    assert_null(ask(NULL, NULL, 0));
    assert_int_equal(unsetenv("FI_BEOWIRE_INTERFACE"), 0);
}

TEST(fi_getinfo__says_which_interfaces_of_the_parameter_are_not_there)
{
    char said[SAID_BYTES];

    assert_int_equal(setenv("FI_BEOWIRE_INTERFACE", "end1,end9", 1), 0);
    said_begin();
    struct fi_info *info = ask(NULL, NULL, 0);
    said_end(said);
    assert_non_null(info);
    assert_string_equal(info->domain_attr->name, "end1");
    assert_null(info->next);
    fi_freeinfo(info);
    assert_non_null(
        strstr(said, "FI_BEOWIRE_INTERFACE=end1,end9: no network interface end9 is up"));
    assert_null(strstr(said, "interface end1 "));
    assert_int_equal(unsetenv("FI_BEOWIRE_INTERFACE"), 0);
}

TEST(fi_getinfo__nothing_for_another_provider_to_be_layered_over)
{
    assert_null(ask(hints_of_type(FI_EP_MSG), NULL, 0));
    assert_null(ask(hints_of_type(FI_EP_DGRAM), NULL, 0));
    fi_freeinfo(ask(hints_of_type(FI_EP_UNSPEC), NULL, 0));
}

TEST(fi_getinfo__a_node_of_ours)
{
    const char *const nodes[] = {"10.77.0.2", "end1"};
    for (unsigned i = 0; i < 2; i++) {
        struct fi_info *info = ask(NULL, nodes[i], FI_SOURCE);
        assert_non_null(info);
        assert_string_equal(info->domain_attr->name, "end1");
        assert_null(info->next);
        fi_freeinfo(info);
    }
    assert_null(ask(NULL, "10.77.0.3", FI_SOURCE | FI_NUMERICHOST));
}

PAIR_TEST(fi_getinfo__a_node_that_is_a_peer)
{
    uint8_t name[FI_NAME_MAX];
    char text[512];
    size_t bytes = sizeof name;
    struct beowire_address address;

    assert_int_equal(fi_getname(&pair->sides[0].ep->fid, name, &bytes), 0);
    assert_int_equal(beowire_address_lengthen(name, &address), 0);
    assert_int_equal(beowire_address_format(&address, text, sizeof text), 0);
    struct fi_info *info = ask(NULL, text, 0);
    assert_non_null(info);
    assert_int_equal(info->dest_addrlen, bytes);
    assert_memory_equal(info->dest_addr, name, bytes);
    fi_freeinfo(info);
    assert_null(ask(NULL, "10.77.0.2", 0));
}

TEST(fi_getinfo__parameters_out_of_range)
{
    const struct {
        const char *name;
        const char *bad;
        const char *good;
    } cases[] = {
        {"FI_BEOWIRE_ETHERTYPE", "0x5ff", "0x88b6"},
        {"FI_BEOWIRE_ETHERTYPE", "ethernet", "34999"},
        {"FI_BEOWIRE_ETHERTYPE", "0x0800", "0x88b5"},
        {"FI_BEOWIRE_ETHERTYPE", "0x86dd", "0xffff"},
        {"FI_BEOWIRE_OPERATIONS", "0", "1"},
        {"FI_BEOWIRE_OPERATIONS", "32769", "32768"},
        {"FI_BEOWIRE_PEERS", "-1", "65536"},
        {"FI_BEOWIRE_PEER_TIMEOUT", "0", "1"},
        {"FI_BEOWIRE_LINGER", "-1", "0"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(setenv(cases[i].name, cases[i].bad, 1), 0);
        assert_null(ask(NULL, NULL, 0));
        assert_int_equal(setenv(cases[i].name, cases[i].good, 1), 0);
        struct fi_info *info = ask(NULL, NULL, 0);
        assert_non_null(info);
        fi_freeinfo(info);
        assert_int_equal(unsetenv(cases[i].name), 0);
    }
}

TEST(fi_getinfo__limits_are_what_the_parameters_say)
{
    assert_int_equal(setenv("FI_BEOWIRE_OPERATIONS", "33", 1), 0);
    struct fi_info *info = ask(NULL, NULL, 0);
    assert_int_equal(info->tx_attr->size, 33);
    assert_int_equal(info->rx_attr->size, 33);
    fi_freeinfo(info);
    assert_int_equal(unsetenv("FI_BEOWIRE_OPERATIONS"), 0);
}

TEST(fi_getinfo__has_a_source_that_chooses_its_interface_again)
{
    struct fi_info *all = ask(NULL, NULL, 0);
    struct fi_info *hints = fi_allocinfo();

    assert_non_null(hints);
    assert_non_null(all->next->src_addr);
    assert_int_equal(all->next->src_addrlen, all->src_addrlen);
    hints->src_addr = malloc(all->next->src_addrlen);
    assert_non_null(hints->src_addr);
    memcpy(hints->src_addr, all->next->src_addr, all->next->src_addrlen);
    hints->src_addrlen = all->next->src_addrlen;
    struct fi_info *info = ask(hints, NULL, 0);
    assert_non_null(info);
    assert_string_equal(info->domain_attr->name, all->next->domain_attr->name);
    assert_null(info->next);
    fi_freeinfo(info);
    fi_freeinfo(all);
}

/** It names an interface and no endpoint, so nothing can be sent there. */
PAIR_TEST(fi_av_insert__not_a_source_of_fi_getinfo)
{
    struct fi_info *all = ask(NULL, NULL, 0);
    fi_addr_t address = 0;

    assert_int_equal(fi_av_insert(pair->sides[0].av, all->src_addr, 1, &address, 0, NULL), 0);
    assert_int_equal(address, FI_ADDR_NOTAVAIL);
    fi_freeinfo(all);
}

TEST(fi_getparams__lists_ours)
{
    const char *const names[] = {"FI_BEOWIRE_INTERFACE", "FI_BEOWIRE_LANES",
                                 "FI_BEOWIRE_ETHERTYPE", "FI_BEOWIRE_OPERATIONS",
                                 "FI_BEOWIRE_PEERS",     "FI_BEOWIRE_PEER_TIMEOUT",
                                 "FI_BEOWIRE_JOB_KEY"};
    struct fi_param *params = NULL;
    int count = 0;
    unsigned found = 0;

    assert_int_equal(fi_getparams(&params, &count), 0);
    for (int i = 0; i < count; i++) {
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++) {
            found += strcmp(params[i].name, names[j]) == 0;
        }
        if (strcmp(params[i].name, "FI_BEOWIRE_PEER_TIMEOUT") == 0) {
            /* Two such waits end within the ten seconds that MPI is promised. */
            assert_non_null(strstr(params[i].help_string, "(default: 4)"));
        }
    }
    fi_freeparams(params);
    assert_int_equal(found, sizeof names / sizeof names[0]);
}
