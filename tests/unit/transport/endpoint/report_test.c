/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/counters.h"
#include "endpoint/endpoint.h"
#include "unit/test.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- beowire_counter(), beowire_event() ------------------------------------------------------ */

/** An endpoint without lanes and peers, whose counters are 0. */
static int setup(void **state)
{
    struct beowire_endpoint *endpoint = calloc(1, sizeof *endpoint);

    if (endpoint == NULL) {
        return -1;
    }
    endpoint->is_open = true;
    *state = endpoint;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct beowire_endpoint *endpoint, name, setup, teardown)

FIXTURE_TEST(beowire_counter__all_by_number)
{
    const char *name = NULL;
    uint64_t value = 1;
    unsigned count = 0;

    endpoint->core.counters.dropped_key = 3;
    while (beowire_counter(endpoint, count, &name, &value) == 0) {
        assert_string_equal(name, counters_name(count));
        assert_int_equal(value, strcmp(name, "dropped_key") == 0 ? 3 : 0);
        count++;
    }
    assert_int_equal(count, counters_count());
    assert_int_equal(beowire_counter(endpoint, count, &name, &value), -ENOENT);
    assert_int_equal(beowire_counter(endpoint, UINT32_MAX, &name, &value), -ENOENT);
}

FIXTURE_TEST(beowire_counter__nowhere_to_write)
{
    const char *name = NULL;
    uint64_t value = 0;

    assert_int_equal(beowire_counter(endpoint, 0, NULL, &value), -EINVAL);
    assert_int_equal(beowire_counter(endpoint, 0, &name, NULL), -EINVAL);
    assert_int_equal(beowire_counter(NULL, 0, &name, &value), -EINVAL);
}

FIXTURE_TEST(beowire_event__none)
{
    struct beowire_event event;

    assert_int_equal(beowire_event(endpoint, &event), 0);
    assert_int_equal(beowire_event(endpoint, NULL), -EINVAL);
    endpoint->is_open = false;
    assert_int_equal(beowire_event(endpoint, &event), -EBADF);
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

TEST(beowire_error__every_documented_error_has_its_own_line)
{
    int documented[ERRORS_MAX + 1];
    unsigned count = documented_errors(documented);

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
