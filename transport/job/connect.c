/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include "endpoint/nic.h"
#include "lane/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *given(const char *name)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? text : NULL;
}

/** Where a process runs. */
struct whereabouts {
    uint64_t host; /**< 0: it cannot share memory */
    uint64_t mark; /**< by which others on its host detect it */
};

/** Are all processes of the job on one host, with shared memory? Every process checks this.
 *  Processes of two hosts do not see each other's marks, so all find the same result. @param mark
 *  must be closed after all have checked; -1: none */
static int share_host(beowire_job *job, bool *shared, int *mark, struct reason reason)
{
    struct whereabouts mine = {0};
    struct whereabouts *all = calloc(job->size, sizeof *all);

    if (all == NULL) {
        return reason_set(reason, -ENOMEM, "out of memory");
    }
    *mark = host_mark(&mine.mark);
    if (*mark < 0 || host_identity(&mine.host) != 0) {
        mine.host = 0;
    }
    int status = beowire_job_gather(job, &mine, sizeof mine, all, reason.text, reason.bytes);
    *shared = mine.host != 0;
    for (uint32_t rank = 0; status == 0 && rank < job->size; rank++) {
        *shared = *shared && all[rank].host == mine.host && host_sees(all[rank].mark);
    }
    free(all);
    return status;
}

/** Sets options that the caller left open. `nics` keeps the name to which they may then point.
 *  @param mark as in share_host() */
static int complete(beowire_job *job, struct beowire_options *options, struct nic nics[NIC_MAX],
                    int *mark, struct reason reason)
{
    bool shared = false;
    int status = share_host(job, &shared, mark, reason);

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
    int mark = -1;

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
    struct beowire_address *all = calloc(job->size, sizeof *all);
    int status = all != NULL ? complete(job, &chosen, nics, &mark, why)
                             : reason_set(why, -ENOMEM, "out of memory");
    if (status == 0) {
        status =
            connect_all(job, &chosen, endpoint, peers, all, why); /* when all have connected ... */
    }
    if (mark >= 0) {
        close(mark); /* ... the mark is not needed */
    }
    free(all);
    return status;
}
