/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * provider-path-benchmark: what the libfabric provider adds to the transport's half round trip.
 *
 * Two processes on the ends of a cable, in network namespaces of their own, each pinned to a core,
 * have an endpoint of the transport and one of the provider open side by side. They bounce a
 * message, some thousand times with one, then as often with the other, and so on, in changing
 * order. Prints a line of JSON: nanoseconds of half a round trip, the mean of each round, in pairs.
 *
 * usage: FI_PROVIDER_PATH=DIR provider-path-benchmark [BYTES [ROUNDS]]
 */
#include "beowire.h"
#include "namespace.h"

#include <err.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIPS 2000 /* of one round */
#define BYTES_MAX 1024
#define ROUNDS_MAX 10000
#define TAG 7

/* Both ends are on one host; a cable is what is measured. */
#define LANES "packet,udp"

struct end {
    const char *interface;
    int other; /* a socket to the other process */
    bool first;
    size_t bytes;
    beowire_endpoint *native;
    beowire_peer native_peer;
    struct fid_ep *ep;
    struct fid_cq *cq;
    fi_addr_t fi_peer;
    char data[BYTES_MAX];
};

static void require(int status, const char *what)
{
    if (status != 0) {
        errx(1, "%s: %s", what, fi_strerror(abs(status)));
    }
}

static void exchange(int socket, const void *mine, void *theirs, size_t bytes)
{
    if (write(socket, mine, bytes) != (ssize_t)bytes ||
        recv(socket, theirs, bytes, MSG_WAITALL) != (ssize_t)bytes) {
        errx(1, "the other end is gone");
    }
}

static void open_native(struct end *end)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    struct beowire_address mine;
    struct beowire_address theirs;

    options.interface = end->interface;
    options.lanes = LANES;
    require(beowire_open(&options, &end->native), "beowire_open");
    beowire_address(end->native, &mine);
    exchange(end->other, &mine, &theirs, sizeof mine);
    require(beowire_peer_add(end->native, &theirs, &end->native_peer), "beowire_peer_add");
}

static struct fi_info *get_info(const char *interface)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_info *info = NULL;

    if (hints == NULL) {
        errx(1, "no memory");
    }
    hints->caps = FI_TAGGED;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->name = strdup(interface);
    hints->fabric_attr->prov_name = strdup("beowire");
    require(fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &info),
            "fi_getinfo (is FI_PROVIDER_PATH the provider's directory?)");
    fi_freeinfo(hints);
    return info;
}

static void open_provider(struct end *end)
{
    struct fi_info *info = get_info(end->interface);
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};
    struct fi_av_attr addresses = {.type = FI_AV_UNSPEC, .count = 1};
    struct fid_fabric *fabric = NULL;
    struct fid_domain *domain = NULL;
    struct fid_av *av = NULL;
    char mine[FI_NAME_MAX] = "";
    char theirs[FI_NAME_MAX];
    size_t bytes = sizeof mine;

    require(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    require(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    require(fi_cq_open(domain, &queue, &end->cq, NULL), "fi_cq_open");
    require(fi_av_open(domain, &addresses, &av, NULL), "fi_av_open");
    require(fi_endpoint(domain, info, &end->ep, NULL), "fi_endpoint");
    require(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    require(fi_ep_bind(end->ep, &av->fid, 0), "fi_ep_bind");
    require(fi_enable(end->ep), "fi_enable");
    require(fi_getname(&end->ep->fid, mine, &bytes), "fi_getname");
    exchange(end->other, mine, theirs, sizeof mine);
    if (fi_av_insert(av, theirs, 1, &end->fi_peer, 0, NULL) != 1) {
        errx(1, "fi_av_insert");
    }
    fi_freeinfo(info); /* all else is open until the process ends */
}

static void native_send(struct end *end)
{
    struct beowire_completion none;

    while (beowire_inject(end->native, end->native_peer, TAG, 0, end->data, end->bytes) != 0) {
        (void)beowire_poll(end->native, &none, 0);
    }
}

static void native_receive(struct end *end)
{
    struct beowire_completion done;
    int count = 0;

    require(beowire_receive(end->native, BEOWIRE_ANY_PEER, TAG, 0, end->data, end->bytes, NULL),
            "beowire_receive");
    while ((count = beowire_poll(end->native, &done, 1)) == 0) {
    }
    require(count < 0 ? count : done.status, "beowire_poll");
}

static void provider_send(struct end *end)
{
    while (fi_tinject(end->ep, end->data, end->bytes, end->fi_peer, TAG) != 0) {
        (void)fi_cq_read(end->cq, NULL, 0);
    }
}

static void provider_receive(struct end *end)
{
    struct fi_cq_tagged_entry entry;
    ssize_t count = 0;

    require((int)fi_trecv(end->ep, end->data, end->bytes, NULL, FI_ADDR_UNSPEC, TAG, 0, NULL),
            "fi_trecv");
    while ((count = fi_cq_read(end->cq, &entry, 1)) == -FI_EAGAIN) {
    }
    require(count == 1 ? 0 : (int)count, "fi_cq_read");
}

struct path {
    void (*send)(struct end *end);
    void (*receive)(struct end *end);
};

static const struct path NATIVE = {native_send, native_receive};
static const struct path PROVIDER = {provider_send, provider_receive};

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Nanoseconds of half a round trip. */
static double bounce(struct end *end, const struct path *path)
{
    double start = now_ns();

    for (int i = 0; i < TRIPS; i++) {
        if (end->first) {
            path->send(end);
            path->receive(end);
        } else {
            path->receive(end);
            path->send(end);
        }
    }
    return (now_ns() - start) / TRIPS / 2;
}

static void run(struct end *end, unsigned rounds)
{
    double *native = calloc(rounds, sizeof *native);
    double *provider = calloc(rounds, sizeof *provider);

    if (native == NULL || provider == NULL) {
        errx(1, "no memory");
    }
    (void)bounce(end, &NATIVE); /* connects, warms up */
    (void)bounce(end, &PROVIDER);
    for (unsigned i = 0; i < rounds; i++) {
        if (i % 2 == 0) {
            native[i] = bounce(end, &NATIVE);
            provider[i] = bounce(end, &PROVIDER);
        } else {
            provider[i] = bounce(end, &PROVIDER);
            native[i] = bounce(end, &NATIVE);
        }
    }
    if (end->first) {
        (void)printf("{\"bytes\": %zu, \"pairs\": [", end->bytes);
        for (unsigned i = 0; i < rounds; i++) {
            (void)printf("%s[%.1f, %.1f]", i > 0 ? ", " : "", native[i], provider[i]);
        }
        (void)printf("]}\n");
    }
    free(native);
    free(provider);
}

/* Runs on the first core that this process may use, or on the last. */
static void pin(bool first)
{
    cpu_set_t may;
    cpu_set_t one;
    size_t chosen = CPU_SETSIZE;

    CPU_ZERO(&one);
    require(sched_getaffinity(0, sizeof may, &may), "sched_getaffinity");
    for (size_t i = 0; i < CPU_SETSIZE && (chosen == CPU_SETSIZE || !first); i++) {
        chosen = CPU_ISSET(i, &may) ? i : chosen;
    }
    CPU_SET(chosen, &one);
    require(sched_setaffinity(0, sizeof one, &one), "sched_setaffinity");
}

static int number(char **argv, int argc, int index, int otherwise, int most)
{
    char *end = "";
    long value = argc > index ? strtol(argv[index], &end, 10) : otherwise;

    if (value < 1 || value > most || *end != '\0') {
        errx(2, "usage: provider-path-benchmark [BYTES 1-%d [ROUNDS 1-%d]]", BYTES_MAX, ROUNDS_MAX);
    }
    return (int)value;
}

int main(int argc, char **argv)
{
    int sockets[2];
    int status = 0;
    int bytes = number(argv, argc, 1, 8, BYTES_MAX);
    int rounds = number(argv, argc, 2, 50, ROUNDS_MAX);

    namespace_enter(argv);
    int far = namespace_move_far_end();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 ||
        setenv("FI_BEOWIRE_LANES", LANES, 1) != 0) {
        err(1, "socketpair, setenv");
    }
    pid_t child = fork();
    if (child < 0) {
        err(1, "fork");
    }
    bool first = child != 0;
    if (!first) {
        require(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
        namespace_go(far);
    }
    (void)close(sockets[first ? 1 : 0]); /* who is left alone learns it */
    pin(first);
    struct end end = {.interface = first ? "end0" : "end1",
                      .other = sockets[first ? 0 : 1],
                      .first = first,
                      .bytes = (size_t)bytes};
    open_native(&end);
    open_provider(&end);
    run(&end, (unsigned)rounds);
    /* The last message may still need its sender. */
    require(beowire_flush(end.native, UINT64_C(1000000000)), "beowire_flush");
    if (first && (waitpid(child, &status, 0) != child || status != 0)) {
        errx(1, "the other end has failed");
    }
    return 0;
}
