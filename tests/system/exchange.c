/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exchange INTERFACE INCOMING_SEED OUTGOING_SEED MESSAGES [hold | PATIENCE_MS]: two of these send
 * each other MESSAGES messages of mixed sizes at the same time, and check every byte of what comes.
 * With "hold" the endpoint stays open after that until standard input ends. PATIENCE_MS is the peer
 * timeout. EXCHANGE_LANES in the environment names lanes, if not the usual ones are to be used;
 * EXCHANGE_LATE, for how many seconds nothing is received.
 *
 * The program prints its address, reads the other's from standard input, and at the end prints
 * its counters as one JSON object. Length and content of message i follow from the sender's seed
 * and i, so a message that is lost, doubled, out of order, cut or altered is noticed. Uses only
 * beowire.h. Exit status 0: all arrived; 1: it did not, with one line that says what.
 */
#include <beowire.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TAG 42
#define IN_FLIGHT 16
#define LONGEST ((size_t)4 << 20)
#define WAIT_NS UINT64_C(1000000000)
#define HOLD_LOOK_NS UINT64_C(20000000)
#define SECONDS_MAX 300

struct transfer {
    uint64_t number; /* of the message, from 0 */
    uint8_t *buffer; /* LONGEST bytes */
    bool busy;
};

struct exchange {
    beowire_endpoint *endpoint;
    beowire_peer peer;
    uint64_t incoming_seed;
    uint64_t outgoing_seed;
    uint64_t messages;
    uint64_t patience_ns; /* 0: the usual */
    time_t receives_from;
    uint64_t sent;
    uint64_t send_done;
    uint64_t posted;
    uint64_t received;
    struct transfer sends[IN_FLIGHT];
    struct transfer receives[IN_FLIGHT];
};

static _Noreturn void fail(const char *what, uint64_t number, int64_t detail)
{
    (void)fprintf(stderr, "exchange: %s (message %" PRIu64 ", %" PRId64 ")\n", what, number,
                  detail);
    exit(1);
}

/** splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/** Mostly up to a few frames, some of 64 KiB, one in 2,000 of 4 MiB, one in 64 empty. */
static uint64_t length_of(uint64_t seed, uint64_t number)
{
    uint64_t dice = mix(seed ^ mix(number));

    if (dice % 2000 == 0) {
        return LONGEST;
    }
    switch (dice >> 32 & 63) {
    case 0:
        return 0;
    case 1:
    case 2:
    case 3:
        return (dice >> 40) % 65537;
    default:
        return 1 + (dice >> 40) % 4096;
    }
}

static void fill(uint8_t *data, uint64_t bytes, uint64_t seed, uint64_t number)
{
    uint64_t state = mix(seed + mix(~number));

    for (uint64_t at = 0; at < bytes; at += sizeof state) {
        state = mix(state);
        memcpy(data + at, &state, bytes - at < sizeof state ? bytes - at : sizeof state);
    }
}

static void check(const uint8_t *data, uint64_t bytes, uint64_t seed, uint64_t number)
{
    static uint8_t expected[LONGEST];

    fill(expected, bytes, seed, number);
    for (uint64_t at = 0; at < bytes; at++) {
        if (data[at] != expected[at]) {
            fail("a byte is wrong", number, (int64_t)at);
        }
    }
}

static void prepare_send(struct exchange *exchange, struct transfer *transfer)
{
    transfer->number = exchange->sent++;
    fill(transfer->buffer, length_of(exchange->outgoing_seed, transfer->number),
         exchange->outgoing_seed, transfer->number);
}

static void start_send(struct exchange *exchange, struct transfer *transfer)
{
    uint64_t number = transfer->number;
    uint64_t bytes = length_of(exchange->outgoing_seed, number);
    int status = beowire_send(exchange->endpoint, exchange->peer, TAG, (uint32_t)number,
                              transfer->buffer, bytes, transfer);
    if (status != 0) {
        fail(beowire_error(status), number, status);
    }
    transfer->busy = true;
}

static void start_receive(struct exchange *exchange, struct transfer *transfer)
{
    int status = beowire_receive(exchange->endpoint, exchange->peer, TAG, 0, transfer->buffer,
                                 LONGEST, transfer);

    if (status != 0) {
        fail(beowire_error(status), exchange->posted, status);
    }
    transfer->number = exchange->posted++;
    transfer->busy = true;
}

static void keep_going(struct exchange *exchange)
{
    struct transfer *ready[IN_FLIGHT];
    unsigned count = 0;

    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        if (!exchange->sends[i].busy && exchange->sent < exchange->messages) {
            prepare_send(exchange, &exchange->sends[i]);
            ready[count++] = &exchange->sends[i];
        }
    }
    /* One right after the other, so that short ones are bundled. */
    for (unsigned i = 0; i < count; i++) {
        start_send(exchange, ready[i]);
    }
    /* Receives take messages in the order in which they are posted: one after another. */
    for (unsigned i = 0; i < IN_FLIGHT && time(NULL) >= exchange->receives_from; i++) {
        struct transfer *next = &exchange->receives[exchange->posted % IN_FLIGHT];
        if (!next->busy && exchange->posted < exchange->messages) {
            start_receive(exchange, next);
        }
    }
}

static void finish(struct exchange *exchange, const struct beowire_completion *completion)
{
    struct transfer *transfer = completion->context;

    if (completion->status != 0) {
        fail(beowire_error(completion->status), transfer->number, completion->status);
    }
    transfer->busy = false;
    if (completion->operation == BEOWIRE_SEND) {
        exchange->send_done++;
        return;
    }
    uint64_t bytes = length_of(exchange->incoming_seed, transfer->number);
    if (completion->immediate != (uint32_t)transfer->number) {
        fail("another message came", transfer->number, completion->immediate);
    }
    if (completion->bytes != bytes) {
        fail("the length is wrong", transfer->number, (int64_t)completion->bytes);
    }
    check(transfer->buffer, bytes, exchange->incoming_seed, transfer->number);
    exchange->received++;
}

/** Nothing may come after the last message: one that was doubled would be here, unmatched. */
static void check_nothing_waits(const struct exchange *exchange)
{
    static char mark;
    int status = beowire_receive(exchange->endpoint, exchange->peer, 0, UINT64_MAX, NULL, 0, &mark);

    if (status == -ECONNRESET) {
        return; /* nothing waits, and the other end is done already */
    }
    if (status != 0 || beowire_cancel(exchange->endpoint, &mark) != 0) {
        fail("a message too many came", exchange->messages, status);
    }
}

static void run(struct exchange *exchange)
{
    while (exchange->received < exchange->messages || exchange->send_done < exchange->messages) {
        struct beowire_completion completions[IN_FLIGHT];

        keep_going(exchange);
        int status = beowire_wait(exchange->endpoint, WAIT_NS);
        if (status < 0) {
            fail(beowire_error(status), exchange->received, status);
        }
        int count = beowire_poll(exchange->endpoint, completions, IN_FLIGHT);
        if (count < 0) {
            fail(beowire_error(count), exchange->received, count);
        }
        for (int i = 0; i < count; i++) {
            finish(exchange, &completions[i]);
        }
    }
    check_nothing_waits(exchange);
}

static void print_counters(const beowire_endpoint *endpoint)
{
    const char *name = NULL;
    uint64_t value = 0;

    (void)putchar('{');
    for (unsigned i = 0; beowire_counter(endpoint, i, &name, &value) == 0; i++) {
        (void)printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", name, value);
    }
    (void)puts("}");
}

/** Lets others look at the endpoint: makes progress until standard input ends. */
static void hold(const struct exchange *exchange)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

    (void)fflush(stdout);
    while (poll(&input, 1, 0) == 0) {
        struct beowire_completion completion;
        int status = beowire_wait(exchange->endpoint, HOLD_LOOK_NS);
        status = status < 0 ? status : beowire_poll(exchange->endpoint, &completion, 1);
        if (status < 0) {
            fail(beowire_error(status), exchange->messages, status);
        }
    }
}

static void meet(struct exchange *exchange, const char *interface)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    struct beowire_address address;
    char text[BEOWIRE_ADDRESS_TEXT_BYTES + 1];

    options.interface = interface;
    options.lanes = getenv("EXCHANGE_LANES"); /* none is named: the usual ones */
    if (exchange->patience_ns > 0) {
        options.peer_timeout_ns = exchange->patience_ns;
    }
    int status = beowire_open(&options, &exchange->endpoint);
    if (status != 0) {
        fail(beowire_error(status), 0, status);
    }
    beowire_address(exchange->endpoint, &address);
    status = beowire_address_format(&address, text, sizeof text);
    if (status != 0 || puts(text) < 0 || fflush(stdout) != 0) {
        fail("cannot print the address", 0, status);
    }
    if (fgets(text, sizeof text, stdin) == NULL) {
        fail("no address came", 0, 0);
    }
    text[strcspn(text, "\n")] = '\0';
    status = beowire_address_parse(text, &address);
    if (status == 0) {
        status = beowire_peer_add(exchange->endpoint, &address, &exchange->peer);
    }
    if (status != 0) {
        fail(beowire_error(status), 0, status);
    }
}

int main(int argc, char **argv)
{
    static struct exchange exchange;

    if (argc < 5 || argc > 6) {
        (void)fputs("usage: exchange INTERFACE INCOMING_SEED OUTGOING_SEED MESSAGES "
                    "[hold | PATIENCE_MS]\n",
                    stderr);
        return 2;
    }
    (void)alarm(SECONDS_MAX); /* ends us, whatever happens */
    exchange.incoming_seed = strtoull(argv[2], NULL, 10);
    exchange.outgoing_seed = strtoull(argv[3], NULL, 10);
    exchange.messages = strtoull(argv[4], NULL, 10);
    bool holds = argc == 6 && strcmp(argv[5], "hold") == 0;
    if (argc == 6 && !holds) {
        exchange.patience_ns = strtoull(argv[5], NULL, 10) * UINT64_C(1000000);
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        exchange.sends[i].buffer = malloc(LONGEST);
        exchange.receives[i].buffer = malloc(LONGEST);
        if (exchange.sends[i].buffer == NULL || exchange.receives[i].buffer == NULL) {
            fail("out of memory", 0, 0);
        }
    }
    meet(&exchange, argv[1]);
    const char *late = getenv("EXCHANGE_LATE");
    exchange.receives_from = late != NULL ? time(NULL) + strtol(late, NULL, 10) : 0;
    run(&exchange);
    print_counters(exchange.endpoint);
    if (holds) {
        hold(&exchange);
    }
    int status = beowire_close(exchange.endpoint, 2 * WAIT_NS);
    if (status != 0) {
        fail("closing: the other end may not have all", exchange.messages, status);
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        free(exchange.sends[i].buffer);
        free(exchange.receives[i].buffer);
    }
    return 0;
}
