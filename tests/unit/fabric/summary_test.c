/* SPDX-License-Identifier: BSD-3-Clause */
/* Two endpoints exchange messages, and what they say at their end is read back. */
#include "pair.h"
#include "said.h"

#include <stdio.h>

#define MESSAGES 3
#define LONG_BYTES (1u << 20)

/** Sends from side 0 to side 1. */
static void exchange(struct pair *pair, size_t bytes)
{
    uint8_t *data = pattern(bytes, 1);
    uint8_t *got = calloc(1, bytes);
    const struct side *receiver = &pair->sides[1];
    const struct side *sender = &pair->sides[0];

    assert_non_null(got);
    assert_int_equal(fi_trecv(receiver->ep, got, bytes, NULL, FI_ADDR_UNSPEC, 1, 0, got), 0);
    assert_int_equal(fi_tsend(sender->ep, data, bytes, NULL, sender->other, 1, data), 0);
    assert_ptr_equal(completed(pair, 1).op_context, got);
    assert_ptr_equal(completed(pair, 0).op_context, data);
    free(data);
    free(got);
}

TEST(report__what_was_carried_and_by_which_lanes)
{
    struct pair *pair = open_pair_with("FI_BEOWIRE_REPORT", "1");
    char text[SAID_BYTES];
    char host[65] = "";
    char expected[256];

    for (unsigned i = 0; i < MESSAGES; i++) {
        exchange(pair, 8);
    }
    exchange(pair, LONG_BYTES);
    assert_int_equal(setenv("PMI_RANK", "7", 1), 0);
    said_begin();
    close_pair(pair);
    said_end(text);
    assert_int_equal(unsetenv("PMI_RANK"), 0);
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(
        expected, sizeof expected,
        "beowire: %s: rank 7, process %d, over end0,end1: messages 4 out, 0 in; bytes out ", host,
        (int)getpid());
    assert_ptr_equal(strstr(text, expected), text);
    /* More than its bytes left, by one lane or the other. */
    char *at = text + strlen(expected);
    uint64_t out = strtoull(at, &at, 10);
    uint64_t sum = 0;
    assert_true(out > LONG_BYTES);
    assert_int_equal(strncmp(at, " (shm ", 6), 0); /* the quickest first */
    while (*at == ' ' || *at == ',') {
        at += strcspn(at, "0123456789");
        sum += strtoull(at, &at, 10);
    }
    assert_int_equal(sum, out);
    assert_int_equal(strncmp(at, "); again: ", 10), 0);
    const char *second = strchr(text, '\n');
    assert_non_null(second);
    assert_non_null(strstr(second, "over end1,end0: messages 0 out, 4 in; bytes out "));
    assert_null(strstr(text, "puts"));
    assert_int_equal(text[strlen(text) - 1], '\n');
}

TEST(report__nothing_of_an_endpoint_beside_that_was_never_used)
{
    struct pair *pair = open_pair_with("FI_BEOWIRE_REPORT", "1");
    char text[SAID_BYTES];

    said_begin();
    close_pair(pair); /* the test before has spoken */
    said_end(text);
    assert_string_equal(text, "");
}

TEST(report__only_when_asked_for)
{
    struct pair *pair = open_default_pair();
    char text[SAID_BYTES];

    exchange(pair, 8);
    said_begin();
    close_pair(pair);
    said_end(text);
    assert_string_equal(text, "");
}
