/* SPDX-License-Identifier: BSD-3-Clause */
#include "requests.h"

#include "said.h"

#include "libfabric.h"
#include "unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct libfabric libfabric;
struct fi_provider fabric_provider;

static int log_enabled(const struct fi_provider *provider, enum fi_log_level level,
                       enum fi_log_subsys subsystem)
{
    return 0;
}

TEST(take__as_many_as_allowed_half_of_them_receives)
{
    struct requests requests = {.max = 4};
    struct request *taken[4];

    taken[0] = requests_take(&requests, REQUEST_RECEIVE);
    taken[1] = requests_take(&requests, REQUEST_MULTI_RECEIVE);
    assert_null(requests_take(&requests, REQUEST_DISCARD));
    taken[2] = requests_take(&requests, REQUEST_SEND);
    taken[3] = requests_take(&requests, REQUEST_REMOTE);
    assert_null(requests_take(&requests, REQUEST_SEND));
    for (unsigned i = 0; i < 4; i++) {
        assert_non_null(taken[i]);
        assert_int_equal(taken[i]->serial, i);
    }
    requests_give(&requests, taken[0]);
    assert_non_null(requests_take(&requests, REQUEST_RECEIVE));
    requests_end(&requests);
}

TEST(take__more_than_a_block)
{
    enum { COUNT = 5000 };
    struct requests requests = {.max = UINT64_MAX};

    for (unsigned i = 0; i < COUNT; i++) {
        struct request *request = requests_take(&requests, REQUEST_SEND);
        assert_non_null(request);
        request->gathered = malloc(sizeof *request->gathered); /* freed with them */
    }
    assert_int_equal(requests.taken, COUNT);
    requests_end(&requests);
}

/** What was taken and never given back is not in the way of what is begun afterwards. */
TEST(end__is_as_in_the_beginning)
{
    struct requests requests = {.max = 2};

    assert_non_null(requests_take(&requests, REQUEST_RECEIVE));
    assert_non_null(requests_take(&requests, REQUEST_SEND));
    requests_end(&requests);
    assert_non_null(requests_take(&requests, REQUEST_RECEIVE));
    assert_non_null(requests_take(&requests, REQUEST_SEND));
    assert_null(requests_take(&requests, REQUEST_SEND));
    requests_end(&requests);
}

TEST(take__what_was_given_back_is_clean)
{
    struct requests requests = {.max = 2};
    struct request *request = requests_take(&requests, REQUEST_RECEIVE);

    request->used = 7;
    request->context = &requests;
    request->gathered = calloc(1, sizeof *request->gathered);
    requests_give(&requests, request);
    request = requests_take(&requests, REQUEST_SEND);
    assert_int_equal(request->kind, REQUEST_SEND);
    assert_int_equal(request->used, 0);
    assert_null(request->context);
    assert_null(request->gathered);
    requests_end(&requests);
}

TEST(take__refused_for_long_is_told)
{
    struct requests requests = {.max = 2};
    struct request *request = requests_take(&requests, REQUEST_SEND);
    char text[SAID_BYTES];

    (void)requests_take(&requests, REQUEST_SEND);
    said_begin();
    assert_null(requests_take(&requests, REQUEST_SEND));
    assert_null(requests_take(&requests, REQUEST_SEND));
    said_end(text);
    assert_string_equal(text, ""); /* not at once: a stream is refused often */
    assert_int_not_equal(requests.refused_ns, 0);
    requests_give(&requests, request);
    assert_non_null(requests_take(&requests, REQUEST_SEND));
    assert_int_equal(requests.refused_ns, 0);
    requests.refused_ns = 1; /* soon after the machine was started */
    said_begin();
    assert_null(requests_take(&requests, REQUEST_SEND));
    assert_null(requests_take(&requests, REQUEST_SEND));
    said_end(text);
    char *line = strstr(text, "FI_BEOWIRE_OPERATIONS allows (1 sends, and receives)");
    assert_non_null(line);
    assert_null(strstr(line + 1, "FI_BEOWIRE_OPERATIONS"));
    requests_end(&requests);
}

TEST(oldest_receive__with_a_context_in_order)
{
    struct requests requests = {.max = 100};
    struct request *taken[4];
    int context;

    for (unsigned i = 0; i < 4; i++) {
        taken[i] = requests_take(&requests, i == 1 ? REQUEST_SEND : REQUEST_RECEIVE);
        taken[i]->context = i == 0 ? NULL : &context;
    }
    struct request *found = requests_oldest_receive(&requests, &context, NULL);
    assert_ptr_equal(found, taken[2]);
    found = requests_oldest_receive(&requests, &context, found);
    assert_ptr_equal(found, taken[3]);
    assert_null(requests_oldest_receive(&requests, &context, found));
    requests_end(&requests);
}

int main(void)
{
    libfabric.log_enabled = log_enabled;
    return run_listed_tests(NULL, NULL);
}
