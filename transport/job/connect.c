/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include "endpoint/nic.h"
#include "lane/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *given(const char *name)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? text : NULL;
}

/** Are all processes of the job on one host, where memory joins them? Every process asks. */
static int share_host(beowire_job *job, bool *shared, struct reason reason)
{
    uint64_t mine = 0;
    uint64_t *all = calloc(job->size, sizeof *all);

    if (all == NULL) {
        return reason_set(reason, -ENOMEM, "out of memory");
    }
    (void)host_identity(&mine); /* 0: it has no memory to share */
    int status = beowire_job_gather(job, &mine, sizeof mine, all, reason.text, reason.bytes);
    *shared = mine != 0;
    for (uint32_t rank = 0; status == 0 && rank < job->size; rank++) {
        *shared = *shared && all[rank] == mine;
    }
    free(all);
    return status;
}

/** Fills in what the options leave open. `nics` keeps the name that they may then point to. */
static int complete(beowire_job *job, struct beowire_options *options, struct nic nics[NIC_MAX],
                    struct reason reason)
{
    bool shared = false;
    int status = share_host(job, &shared, reason);

    options->interface =
        options->interface != NULL ? options->interface : given("BEOWIRE_INTERFACE");
    options->lanes = options->lanes != NULL ? options->lanes : given("BEOWIRE_LANES");
    if (status != 0 || options->interface != NULL) {
        return status;
    }
    if (options->lanes == NULL && shared) {
        options->lanes = "shm";
    }
    if (!nic_is_needed(options->lanes)) {
        return 0;
    }
    size_t count = nic_list(nics);
    if (count == 0 && errno != 0) {
        return reason_set(reason, -errno, "the network interfaces cannot be listed: %s",
                          strerror(errno));
    }
    if (count == 0 || nics[0].loopback) {
        return reason_set(reason, -ENODEV,
                          "no network interface is up: set BEOWIRE_INTERFACE to the one to use");
    }
    options->interface = nics[0].name;
    return 0;
}

static int meet(beowire_job *job, beowire_endpoint *endpoint, struct beowire_address *all,
                beowire_peer *peers, struct reason reason)
{
    struct beowire_address mine;

    beowire_address(endpoint, &mine);
    int status = beowire_job_gather(job, &mine, sizeof mine, all, reason.text, reason.bytes);
    for (uint32_t rank = 0; status == 0 && rank < job->size; rank++) {
        peers[rank] = BEOWIRE_ANY_PEER;
        if (rank == job->rank) {
            continue;
        }
        status = beowire_peer_add(endpoint, &all[rank], &peers[rank]);
        if (status != 0) {
            (void)reason_set(reason, status, "process %u: %s", (unsigned)rank,
                             beowire_error(status));
        }
    }
    return status;
}

static int connect_all(beowire_job *job, const struct beowire_options *options,
                       beowire_endpoint **endpoint, beowire_peer *peers,
                       struct beowire_address *all, struct reason reason)
{
    int status = beowire_open(options, endpoint);

    if (status != 0 &&
        beowire_configuration_check(options->configuration, reason.text, reason.bytes) != 0) {
        return status;
    }
    if (status != 0) {
        return reason_set(reason, status, "%.100s: %s",
                          options->interface != NULL ? options->interface : options->lanes,
                          beowire_error(status));
    }
    status = meet(job, *endpoint, all, peers, reason);
    if (status != 0) {
        (void)beowire_close(*endpoint, 0);
    }
    return status;
}

int beowire_job_connect(beowire_job *job, const struct beowire_options *options,
                        beowire_endpoint **endpoint, beowire_peer *peers, char *reason,
                        size_t reason_bytes)
{
    struct beowire_options chosen = BEOWIRE_OPTIONS_DEFAULT;
    struct reason why = {reason, reason_bytes};
    struct nic nics[NIC_MAX];

    if (job == NULL || endpoint == NULL || peers == NULL) {
        return reason_set(why, -EINVAL, "an argument is missing");
    }
    if (options != NULL && options->size != sizeof chosen) {
        return reason_set(why, -EINVAL, "the options are not those of this library's beowire.h");
    }
    if (options != NULL) {
        chosen = *options;
    } else if (chosen.peers < job->size) {
        chosen.peers = job->size;
    }
    int status = complete(job, &chosen, nics, why);
    if (status != 0) {
        return status;
    }
    struct beowire_address *all = calloc(job->size, sizeof *all);
    if (all == NULL) {
        return reason_set(why, -ENOMEM, "out of memory");
    }
    status = connect_all(job, &chosen, endpoint, peers, all, why);
    free(all);
    return status;
}
