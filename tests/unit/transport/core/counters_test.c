/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/endpoint.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/** An endpoint with two peers, all counters 0. */
struct fixture {
    struct beowire_endpoint endpoint;
    struct lane lane;
    struct core_peer peers[2];
    struct core_peer *pointers[2];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL) {
        return -1;
    }
    fixture->lane.kind = LANE_SIM;
    fixture->endpoint.is_open = true;
    fixture->endpoint.core.options.lanes =
        (struct path_lanes){.lanes = {&fixture->lane}, .count = 1};
    fixture->pointers[0] = &fixture->peers[0];
    fixture->pointers[1] = &fixture->peers[1];
    fixture->endpoint.core.peers = fixture->pointers;
    fixture->endpoint.core.peer_count = 2;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static uint64_t value_of(const struct fixture *fixture, const char *wanted)
{
    const char *name = NULL;
    uint64_t value = 0;

    for (unsigned i = 0; beowire_counter(&fixture->endpoint, i, &name, &value) == 0; i++) {
        if (strcmp(name, wanted) == 0) {
            return value;
        }
    }
    fail_msg("there is no counter %s", wanted);
    return 0;
}

/** A type that is added is counted by name. */
static void beowire_counter__of_every_type(void **state)
{
    const struct fixture *fixture = *state;
    char name[64];

    for (unsigned type = 0; type < FRAME_TYPES; type++) {
        if (frame_type_name(type) != NULL) {
            (void)snprintf(name, sizeof name, "sent_%s", frame_type_name(type));
            assert_int_equal(value_of(fixture, name), 0);
            (void)snprintf(name, sizeof name, "received_%s", frame_type_name(type));
            assert_int_equal(value_of(fixture, name), 0);
        }
    }
}

static void beowire_counter__each_name_once(void **state)
{
    struct fixture *fixture = *state;
    const char *names[200];
    uint64_t value;
    unsigned count = 0;

    while (beowire_counter(&fixture->endpoint, count, &names[count], &value) == 0) {
        assert_int_equal(value, 0);
        for (unsigned i = 0; i < count; i++) {
            assert_string_not_equal(names[i], names[count]);
        }
        count++;
    }
    assert_true(count > 30);
    assert_int_equal(beowire_counter(&fixture->endpoint, count, &names[0], &value), -ENOENT);
    assert_int_equal(beowire_counter(&fixture->endpoint, UINT32_MAX, &names[0], &value), -ENOENT);
}

static void beowire_counter__reads_its_own_place(void **state)
{
    struct fixture *fixture = *state;

    fixture->lane.sent_frames = 1;
    fixture->lane.dropped_frames = 2;
    fixture->endpoint.core.counters.dropped_key = 3;
    fixture->endpoint.core.counters.dropped[FRAME_BAD_FIELD] = 4;
    fixture->endpoint.core.messages.counters.truncated_messages = 5;
    assert_int_equal(value_of(fixture, "lane_sent_frames"), 1);
    assert_int_equal(value_of(fixture, "lane_dropped_frames"), 2);
    assert_int_equal(value_of(fixture, "dropped_key"), 3);
    assert_int_equal(value_of(fixture, "dropped_field"), 4);
    assert_int_equal(value_of(fixture, "message_truncated"), 5);
}

static void beowire_counter__of_lanes_by_kind(void **state)
{
    struct fixture *fixture = *state;
    struct path_lanes *lanes = &fixture->endpoint.core.options.lanes;

    fixture->lane.kind = LANE_UDP;
    lanes->lanes[1] = &fixture->lane;
    lanes->count = 2;
    assert_int_equal(value_of(fixture, "lanes_udp"), 2);
    assert_int_equal(value_of(fixture, "lanes_packet"), 0);
    assert_int_equal(value_of(fixture, "lanes_shm"), 0);
}

static void beowire_counter__of_flows_is_the_sum(void **state)
{
    struct fixture *fixture = *state;

    fixture->peers[0].message.flow.retransmitted_frames = 5;
    fixture->peers[1].message.flow.retransmitted_frames = 7;
    assert_int_equal(value_of(fixture, "flow_retransmitted_frames"), 12);
}

/* ---- beowire_error() ------------------------------------------------------------------------- */

#define ERRORS_MAX 100

/** The number of an error by its name, which is not the only one that some have. */
static int error_number(const char *name)
{
    for (int number = 1; number < 4096; number++) {
        const char *known = strerrorname_np(number);
        if (known != NULL && strcmp(known, name) == 0) {
            return number;
        }
    }
    fail_msg("beowire.h names an error that there is not: %s", name);
    return 0;
}

/** Is this the beginning of a word like "-EINVAL"? */
static bool is_error_name(const char *text)
{
    return text[0] == '-' && text[1] == 'E' && isupper((unsigned char)text[2]) != 0;
}

/** Reads all of the public header, which the build names. To be freed. */
static char *read_header(void)
{
    const char *path = getenv("BEOWIRE_HEADER");
    const size_t room = 200000;
    char *text = malloc(room);

    assert_non_null(path);
    assert_non_null(text);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t bytes = fread(text, 1, room - 1, file);
    assert_true(bytes > 0 && bytes < room - 1);
    assert_int_equal(fclose(file), 0);
    text[bytes] = '\0';
    return text;
}

/** Each error that beowire.h names, once. @return how many there are. */
static unsigned documented_errors(int *errors)
{
    char *header = read_header();
    unsigned count = 0;

    for (const char *at = header; *at != '\0'; at++) {
        char name[32] = "";
        if (!is_error_name(at)) {
            continue;
        }
        for (size_t i = 0; i + 1 < sizeof name && isalnum((unsigned char)at[1 + i]) != 0; i++) {
            name[i] = at[1 + i];
        }
        int number = error_number(name);
        bool is_new = true;
        for (unsigned i = 0; i < count; i++) {
            is_new = is_new && errors[i] != -number;
        }
        if (is_new) {
            assert_true(count < ERRORS_MAX);
            errors[count++] = -number;
        }
    }
    free(header);
    return count;
}

static void beowire_error__every_documented_error_has_its_own_line(void **state)
{
    int documented[ERRORS_MAX + 1];
    unsigned count = documented_errors(documented);

    (void)state;
    assert_true(count >= 26);
    documented[count++] = 0;
    for (unsigned i = 0; i < count; i++) {
        const char *line = beowire_error(documented[i]);
        if (strcmp(line, beowire_error(-99999)) == 0) {
            fail_msg("no line of its own: %s", strerrorname_np(-documented[i]));
        }
        assert_null(strchr(line, '\n'));
        for (unsigned j = 0; j < i; j++) {
            assert_string_not_equal(line, beowire_error(documented[j]));
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(beowire_counter__of_every_type),
        TEST(beowire_counter__each_name_once),
        TEST(beowire_counter__reads_its_own_place),
        TEST(beowire_counter__of_lanes_by_kind),
        TEST(beowire_counter__of_flows_is_the_sum),
        TEST(beowire_error__every_documented_error_has_its_own_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
