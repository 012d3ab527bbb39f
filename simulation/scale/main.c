/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the options, runs the simulation, and prints its result as one JSON object. */
#include "scale.h"

#include "sizes.h"

#include "frame/frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES_DEFAULT 20000u

static _Noreturn void die(const char *what, const char *word)
{
    (void)fprintf(stderr, "beowire-simulate scale: %s: %s\n", what, word);
    exit(2);
}

struct number {
    const char *name;
    uint64_t *value;
    uint64_t least;
    uint64_t most;
};

static uint64_t number_of(const struct number *option, const char *text)
{
    char *end = NULL;

    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < option->least ||
        value > option->most) {
        (void)fprintf(stderr,
                      "beowire-simulate scale: %s: not a number from %" PRIu64 " to %" PRIu64
                      ": %s\n",
                      option->name, option->least, option->most, text);
        exit(2);
    }
    return value;
}

static const struct {
    const char *name;
    enum traffic_kind kind;
    uint64_t bytes; /**< without --bytes */
} workloads[] = {
    {"incast", TRAFFIC_INCAST, 65536},
    {"all-to-all", TRAFFIC_ALL, 65536},
    {"ring-allreduce", TRAFFIC_RING, 1 << 20},
    {"tree-allreduce", TRAFFIC_TREE, 1 << 20},
    {"w1", TRAFFIC_SIZES, 0},
    {"w2", TRAFFIC_SIZES, 0},
    {"w3", TRAFFIC_SIZES, 0},
    {"w4", TRAFFIC_SIZES, 0},
    {"w5", TRAFFIC_SIZES, 0},
};

static void take_workload(struct traffic_options *traffic, const char *name)
{
    for (unsigned i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        if (strcmp(workloads[i].name, name) == 0) {
            traffic->kind = workloads[i].kind;
            traffic->bytes = traffic->bytes != 0 ? traffic->bytes : workloads[i].bytes;
            traffic->distribution = name[0] == 'w' ? (unsigned)(name[1] - '1') : 0;
            return;
        }
    }
    die("no such workload", name);
}

/** All options as they are given, before they are copied to struct scale_options. */
struct given {
    uint64_t seed, nodes, tcp, cold, limit_ns, rate, delay_ns, buffer, alpha, mtu, host_ns, receive,
        card, leaf, spines, spine_rate, messages, rounds, outstanding, load, bytes;
    const char *workload;
};

static void parse(struct given *given, int count, char **words)
{
    const struct number numbers[] = {
        {"--seed", &given->seed, 0, UINT64_MAX / 2},
        {"--nodes", &given->nodes, 2, 20000},
        {"--tcp", &given->tcp, 0, 1000},
        {"--cold", &given->cold, 0, 1},
        {"--limit-ns", &given->limit_ns, 1, UINT64_C(1000000000000)},
        {"--rate", &given->rate, 1000000, UINT64_C(400000000000)},
        {"--delay-ns", &given->delay_ns, 0, 1000000},
        {"--buffer", &given->buffer, 10000, UINT64_C(1) << 32},
        {"--alpha", &given->alpha, 0, 12800},
        {"--mtu", &given->mtu, 1280, 9000},
        {"--host-ns", &given->host_ns, 0, 100000},
        {"--receive-buffer", &given->receive, 65536, UINT64_C(1) << 32},
        {"--card-bytes", &given->card, 1500, 150000},
        {"--leaf", &given->leaf, 0, 20000},
        {"--spines", &given->spines, 1, 1000},
        {"--spine-rate", &given->spine_rate, 1000000, UINT64_C(1600000000000)},
        {"--messages", &given->messages, 100, 10000000},
        {"--rounds", &given->rounds, 1, 100000},
        {"--outstanding", &given->outstanding, 1, 20000},
        {"--load", &given->load, 1, 95},
        {"--bytes", &given->bytes, 1, UINT64_C(1) << 30},
    };

    for (int i = 0; i < count; i += 2) {
        const struct number *found = NULL;
        if (i + 1 == count) {
            die("an option without its value", words[i]);
        }
        if (strcmp(words[i], "--workload") == 0) {
            given->workload = words[i + 1];
            continue;
        }
        for (unsigned j = 0; j < sizeof numbers / sizeof *numbers; j++) {
            found = strcmp(numbers[j].name, words[i]) == 0 ? &numbers[j] : found;
        }
        if (found == NULL) {
            die("no such option", words[i]);
        }
        *found->value = number_of(found, words[i + 1]);
    }
}

static struct scale_options options_of(const struct given *given)
{
    struct scale_options options = {
        .seed = given->seed,
        .nodes = (uint32_t)given->nodes,
        .tcp = (uint32_t)given->tcp,
        .cold = given->cold != 0,
        .limit_ns = given->limit_ns,
        .network =
            {
                .leaf_nodes = (uint32_t)given->leaf,
                .spines = (uint32_t)given->spines,
                .bits_per_s = given->rate,
                .spine_bits_per_s = given->spine_rate != 0 ? given->spine_rate : 4 * given->rate,
                .delay_ns = given->delay_ns,
                .buffer_bytes = given->buffer,
                .alpha_percent = (uint32_t)given->alpha,
                .card_bytes = (uint32_t)given->card,
                .frame_bytes = (uint32_t)given->mtu,
            },
        .host =
            {
                .frame_ns = given->host_ns,
                .receive_bytes = given->receive,
                .frame_bytes = (uint32_t)given->mtu,
            },
        .traffic =
            {
                .nodes = (uint32_t)given->nodes,
                .messages = (uint32_t)given->messages,
                .rounds = (uint32_t)given->rounds,
                .outstanding = (uint32_t)given->outstanding,
                .load_percent = (uint32_t)given->load,
                .bytes = given->bytes,
                .bits_per_s = given->rate,
                .head_bytes = sizeof(struct frame_header) + sizeof(struct frame_eager),
            },
    };

    options.traffic.segment_bytes = (uint32_t)given->mtu - options.traffic.head_bytes;
    take_workload(&options.traffic, given->workload);
    return options;
}

static void print_number(const char *name, uint64_t value)
{
    (void)printf(",\"%s\":%" PRIu64, name, value);
}

static void print_share(const char *name, double value)
{
    (void)printf(",\"%s\":%.4f", name, value);
}

static void print(const struct given *given, const struct scale_options *options,
                  const struct scale_result *result)
{
    double seconds = (double)result->time_ns / 1e9;

    (void)printf("{\"seed\":%" PRIu64 ",\"workload\":\"%s\"", given->seed, given->workload);
    print_number("nodes", given->nodes);
    print_number("rate_bits_per_s", given->rate);
    print_number("messages", result->messages);
    print_number("received", result->received);
    print_number("bytes", result->bytes);
    print_number("time_ns", result->time_ns);
    print_number("best_time_ns", result->best_ns);
    if (seconds > 0) {
        print_number("goodput_bytes_per_s", (uint64_t)((double)result->bytes / seconds));
        print_share("share_of_ideal", (double)result->best_ns / (double)result->time_ns);
        if (options->traffic.kind == TRAFFIC_INCAST) {
            print_share("share_of_port", (double)result->bytes * 8 / seconds / (double)given->rate);
        }
    }
    print_share("fairness", result->fairness);
    print_number("frames", result->frames);
    print_number("frames_again", result->again);
    print_number("frames_dropped", result->dropped);
    print_number("frames_dropped_by_nodes", result->dropped_host);
    print_number("buffer_bytes_most", result->buffer_most);
    print_number("queue_bytes_most", result->queue_most);
    if (given->tcp > 0) {
        print_share("tcp_share_of_fair", result->tcp_share);
        print_share("own_share_of_fair", result->own_share);
        print_number("tcp_segments_again", result->tcp_again);
    }
    print_number("set_up_ns", result->set_up_ns);
    print_number("memory_bytes_per_node", result->memory_bytes);
    print_number("events", result->events);
    (void)printf(",\"tenths\":[");
    for (unsigned i = 0; i < SCALE_TENTHS; i++) {
        const struct scale_tenth *tenth = &result->tenths[i];
        (void)printf("%s{\"messages\":%" PRIu32 ",\"shortest\":%" PRIu64 ",\"longest\":%" PRIu64
                     ",\"median\":%.3f,\"p99\":%.3f}",
                     i == 0 ? "" : ",", tenth->messages, tenth->shortest, tenth->longest,
                     tenth->median, tenth->p99);
    }
    (void)printf("],\"trace_hash\":\"%016" PRIx64 "\"}\n", result->hash);
}

int scale_main(int count, char **words)
{
    struct given given = {
        .seed = 1,
        .nodes = 144,
        .limit_ns = UINT64_C(60000000000),
        .rate = UINT64_C(10000000000),
        .delay_ns = 1000,
        .buffer = 1500000,
        .alpha = 100,
        .mtu = 1500,
        .host_ns = 100,
        .receive = 2 << 20,
        .card = 50000,
        .spines = 4,
        .messages = MESSAGES_DEFAULT,
        .rounds = 1,
        .outstanding = 32,
        .load = 80,
        .workload = "w4",
    };
    struct scale_result result;

    parse(&given, count, words);
    const struct scale_options options = options_of(&given);
    bool well = scale_run(&options, &result);
    print(&given, &options, &result);
    return well ? 0 : 1;
}
