/* SPDX-License-Identifier: BSD-3-Clause */
#include "parameters.h"

#include "beowire.h"
#include "hash.h"
#include "libfabric.h"
#include "notice.h"

#include <ctype.h>
#include <linux/if_ether.h>
#include <string.h>

#define NS_PER_SECOND UINT64_C(1000000000)

#define ETHERTYPE_MIN 0x0600 /* below are lengths */
#define OPERATIONS_MAX 32768 /* of beowire_options */
#define PEERS_MAX 65536
#define PEER_TIMEOUT_MAX_S 86400
#define LINGER_MAX_S 86400

/** Room for the end of a variable's name. */
#define VARIABLE_BYTES 32

#define PEERS_DEFAULT 1024

/** MPI's handling of errors is to be reached within ten seconds of a failure, also where that takes
 *  two waits: one for a peer, and one for another that has waited for that peer. */
#define PEER_TIMEOUT_DEFAULT_S 4

void parameters_define(void)
{
    libfabric.param_define(&fabric_provider, "interface", FI_PARAM_STRING,
                           "Network interfaces to use, such as eth0 or eth0,eth1 (default: cards "
                           "that are up and have an IPv4 address; what only this host can use, "
                           "such as bridges of containers, if there is no other)");
    libfabric.param_define(&fabric_provider, "lanes", FI_PARAM_STRING,
                           "Ways to send that may be used, such as packet or packet,udp (default: "
                           "all that can be opened)");
    libfabric.param_define(&fabric_provider, "ethertype", FI_PARAM_INT,
                           "EtherType of the frames, the same on all nodes, 0x0600 to 0xffff "
                           "(default: 0x88b5)");
    libfabric.param_define(&fabric_provider, "job_key", FI_PARAM_STRING,
                           "Number or word, the same for all processes of a job: those with "
                           "another one are refused (default: none)");
    libfabric.param_define(&fabric_provider, "operations", FI_PARAM_INT,
                           "Sends, and receives, that an endpoint can have outstanding, 1 to %d "
                           "(default: as many as there is memory for)",
                           OPERATIONS_MAX);
    libfabric.param_define(&fabric_provider, "peers", FI_PARAM_INT,
                           "Peers of an endpoint that may turn up beyond those that its address "
                           "vector announces, 1 to %d (default: %d)",
                           PEERS_MAX, PEERS_DEFAULT);
    libfabric.param_define(&fabric_provider, "peer_timeout", FI_PARAM_INT,
                           "Seconds of silence after which a peer that owes an answer is given "
                           "up, 1 to %d (default: %d)",
                           PEER_TIMEOUT_MAX_S, PEER_TIMEOUT_DEFAULT_S);
    libfabric.param_define(&fabric_provider, "linger", FI_PARAM_INT,
                           "Seconds that closing an endpoint waits at most for peers to receive "
                           "what was sent to them, 0 to %d (default: as long as they are there)",
                           LINGER_MAX_S);
    libfabric.param_define(&fabric_provider, "report", FI_PARAM_INT,
                           "1: each process says at its end, in a line on standard error, what "
                           "Beowire has carried for it (default: 0)");
}

/** Reads a number within bounds. @return false: it is not. */
static bool read_number(const char *name, int min, int max, int *value)
{
    int number = *value;

    if (libfabric.param_get(&fabric_provider, name, &number) != 0) {
        return true;
    }
    if (number < min || number > max) {
        char variable[VARIABLE_BYTES] = "";
        for (size_t i = 0; name[i] != '\0' && i + 1 < sizeof variable; i++) {
            variable[i] = (char)toupper((unsigned char)name[i]);
        }
        notice(FI_LOG_CORE, "FI_BEOWIRE_%s must be a number from %d to %d", variable, min, max);
        return false;
    }
    *value = number;
    return true;
}

/** The protocol that uses this EtherType, or NULL. */
static const char *taken_by(int ethertype)
{
    static const struct {
        uint16_t ethertype;
        const char *name;
    } taken[] = {
        {ETH_P_IP, "IPv4"},
        {ETH_P_IPV6, "IPv6"},
        {ETH_P_ARP, "ARP"},
        {ETH_P_RARP, "RARP"},
        {ETH_P_8021Q, "VLAN tags"},
        {ETH_P_8021AD, "VLAN tags"},
        {ETH_P_PAUSE, "flow control"},
        {ETH_P_SLOW, "link aggregation"},
        {ETH_P_MPLS_UC, "MPLS"},
        {ETH_P_MPLS_MC, "MPLS"},
        {ETH_P_PPP_DISC, "PPPoE"},
        {ETH_P_PPP_SES, "PPPoE"},
        {ETH_P_PAE, "port access"},
        {ETH_P_LLDP, "LLDP"},
        {ETH_P_TIPC, "TIPC"},
        {ETH_P_1588, "clock synchronization"},
        {ETH_P_FCOE, "storage"},
        {ETH_P_FIP, "storage"},
        {ETH_P_IBOE, "RDMA"},
        {ETH_P_LOOPBACK, "loop tests"},
    };

    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        if (taken[i].ethertype == ethertype) {
            return taken[i].name;
        }
    }
    return NULL;
}

static bool read_ethertype(int *ethertype)
{
    if (!read_number("ethertype", ETHERTYPE_MIN, UINT16_MAX, ethertype)) {
        return false;
    }
    const char *others = taken_by(*ethertype);
    if (others != NULL) {
        notice(FI_LOG_CORE,
               "FI_BEOWIRE_ETHERTYPE=0x%04x is that of %s: take one that is free, such as 0x88b5 "
               "or 0x88b6",
               (unsigned)*ethertype, others);
    }
    return others == NULL;
}

/** Any text will do; it is only compared. */
static uint64_t read_job_key(void)
{
    char *text = NULL;

    if (libfabric.param_get(&fabric_provider, "job_key", &text) != 0 || *text == '\0') {
        return 0;
    }
    return hash_bytes(text, strlen(text));
}

bool parameters_read(struct parameters *parameters)
{
    struct beowire_options defaults = BEOWIRE_OPTIONS_DEFAULT;
    int ethertype = defaults.ethertype;
    /* A program may begin any number of operations before it receives, and so may its peer. */
    int operations = 0;
    int peers = PEERS_DEFAULT;
    int timeout_s = PEER_TIMEOUT_DEFAULT_S;
    int linger_s = -1;
    int report = 0;
    char *interfaces = NULL;
    char *lanes = NULL;

    if (!read_ethertype(&ethertype) || !read_number("operations", 1, OPERATIONS_MAX, &operations) ||
        !read_number("peers", 1, PEERS_MAX, &peers) ||
        !read_number("peer_timeout", 1, PEER_TIMEOUT_MAX_S, &timeout_s) ||
        !read_number("linger", 0, LINGER_MAX_S, &linger_s) ||
        !read_number("report", 0, 1, &report)) {
        return false;
    }
    (void)libfabric.param_get(&fabric_provider, "interface", &interfaces);
    (void)libfabric.param_get(&fabric_provider, "lanes", &lanes);
    *parameters = (struct parameters){
        .interfaces = interfaces,
        .lanes = lanes,
        .ethertype = (uint16_t)ethertype,
        .job_key = read_job_key(),
        .operations = operations > 0 ? (uint32_t)operations : BEOWIRE_OPERATIONS_ANY,
        .peers = (uint32_t)peers,
        .peer_timeout_ns = (uint64_t)timeout_s * NS_PER_SECOND,
        .linger_ns = linger_s < 0 ? UINT64_MAX : (uint64_t)linger_s * NS_PER_SECOND,
        .reports = report != 0,
    };
    return true;
}

bool parameters_allow(const struct parameters *parameters, const char *interface)
{
    size_t length = strlen(interface);
    const char *name = parameters->interfaces;

    if (name == NULL) {
        return true;
    }
    while (*name != '\0') {
        size_t bytes = strcspn(name, ",");
        if (bytes == length && memcmp(name, interface, length) == 0) {
            return true;
        }
        name += bytes;
        name += *name == ',';
    }
    return false;
}
