/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What driver.h asks of every driver, asked of each driver of a file:
 *
 *      conformance_test FILE.so loopback|interfaces [--only NAME]... [--absent NAME]...
 *                       [--turns NAME]...
 *
 * With `interfaces` the two ends are told to use the two ends of a veth pair; with `loopback` they
 * are told nothing, and choose. `--only`: no driver of the file but these. `--absent`: the driver
 * need not be ready here; but then it has to say why, and to refuse to open, and if that is all
 * that is tested it counts as skipped.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/testing.h"
#include "conformance.h"
#include "namespace.h"
#include "pair.h"

/* What Meson takes for a test that was skipped. */
#define EXIT_SKIPPED 77

const struct driver *driver;
bool with_interfaces;
bool one_at_a_time;
uint8_t *message;
static uint8_t *expected;
static bool is_first; /* of the file's drivers */

/* Eight bytes a step: megabytes are filled, in a program that is not optimised. */
void fill(uint8_t *data, uint64_t size, uint64_t number)
{
    uint64_t state = number * UINT64_C(0x9E3779B97F4A7C15) + size + 1;
    for (uint64_t at = 0; at < size; at += sizeof state) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const uint64_t left = size - at;
        memcpy(data + at, &state, left < sizeof state ? left : sizeof state);
    }
}

void check_content(const uint8_t *data, uint64_t start, uint64_t size, uint64_t number)
{
    fill(expected, size, number);
    pair_check(memcmp(data + start, expected + start, size - start) == 0, number);
}

static const uint64_t SIZES[] = {1,     2,     3,     7,     8,      9,      27,     28,     63,
                                 64,    65,    100,   255,   256,    1000,   1024,   1471,   1472,
                                 1473,  1491,  1492,  1493,  1500,   4095,   4096,   4097,   16383,
                                 65507, 65536, 65537, 99991, 262143, 262144, 262145, 1048579};

/* Those that the driver carries, then its largest. */
uint64_t size_number(size_t index)
{
    const size_t listed = sizeof SIZES / sizeof SIZES[0];
    if (index < listed) {
        bool carried = SIZES[index] >= driver->min_size && SIZES[index] <= pair_largest(driver);
        return carried ? SIZES[index] : driver->min_size;
    }
    return index == listed       ? pair_largest(driver) - 1
           : index == listed + 1 ? pair_largest(driver)
                                 : 0;
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory) != NULL) {
        count++;
    }
    (void)closedir(directory);
    return count;
}

static void probe__ready_and_leaves_nothing_open(void **state)
{
    struct pair pair;
    char reason[DRIVER_REASON_BYTES] = "";
    pair_alone(&pair, driver, with_interfaces, DRIVER_INITIATOR);
    const struct driver_options options = pair_options(&pair, 1);
    int before = open_descriptors();
    int result = driver->probe(&options, reason, sizeof reason);
    if (result != 0) {
        fail_msg("not ready: %s", reason);
    }
    assert_int_equal(open_descriptors(), before);
}

static void close__leaves_nothing_open(void **state)
{
    int before = open_descriptors();
    for (int role = DRIVER_INITIATOR; role <= DRIVER_RESPONDER; role++) {
        struct pair pair;
        void *session = NULL;
        char error[DRIVER_REASON_BYTES] = "";
        pair_alone(&pair, driver, with_interfaces, (enum driver_role)role);
        const struct driver_options options = pair_options(&pair, 1000);
        assert_int_equal(driver->open(&options, &session, error, sizeof error), 0);
        driver->close(session);
    }
    assert_int_equal(open_descriptors(), before);
}

static void open__interface_that_is_not_there(void **state)
{
    struct pair pair;
    void *session = NULL;
    char error[DRIVER_REASON_BYTES] = "";
    pair_alone(&pair, driver, with_interfaces, DRIVER_INITIATOR);
    struct driver_options options = pair_options(&pair, 1000);
    options.interface = "nonexistent0";
    options.local_address = "";
    int result = driver->open(&options, &session, error, sizeof error);
    if (driver->placement == DRIVER_PAIR) {
        assert_true(result < 0);
        assert_true(error[0] != '\0' && strchr(error, '\n') == NULL);
    } else if (result == 0) {
        driver->close(session);
    }
}

/* Addresses of the drivers of a file are read by the same lines: all but the first get a few. */
static void connect__address_that_is_none(void **state)
{
    static const char *const TEXTS[] = {
        "",
        "x",
        "-1",
        "1/2",
        "@",
        "1@2",
        ":",
        "[::1",
        "1.2.3.4:0",
        "1.2.3.4:99x",
        "0@:1",
        "02:00:00:00:00:00/99999/1500",
        "//",
        "///",
        "%n%n%n%s",
        "zz:zz",
        "99999999999999999999999999/1/1",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i += is_first ? 1 : 5) {
        struct pair pair;
        void *session = NULL;
        char error[DRIVER_REASON_BYTES] = "";
        pair_alone(&pair, driver, with_interfaces, DRIVER_INITIATOR);
        const struct driver_options options = pair_options(&pair, 1000);
        assert_int_equal(driver->open(&options, &session, error, sizeof error), 0);
        pair_stop_after_ms(&pair, 0); /* an address that looks right is not waited for */
        int result = driver->connect(session, TEXTS[i], error, sizeof error);
        assert_true(result < 0);
        assert_true(result == -ECANCELED || error[0] != '\0');
        driver->close(session);
    }
}

/* The other end has opened a session, told its address, and gone. */
static void connect__nobody_there(void **state)
{
    struct pair near;
    struct pair far;
    void *session = NULL;
    char error[DRIVER_REASON_BYTES] = "";
    char address[DRIVER_ADDRESS_BYTES] = "";
    pair_alone(&far, driver, with_interfaces, DRIVER_RESPONDER);
    struct driver_options options = pair_options(&far, 1000);
    assert_int_equal(driver->open(&options, &session, error, sizeof error), 0);
    assert_int_equal(driver->address(session, address, sizeof address), 0);
    driver->close(session);

    pair_alone(&near, driver, with_interfaces, DRIVER_INITIATOR);
    options = pair_options(&near, 1000);
    assert_int_equal(driver->open(&options, &session, error, sizeof error), 0);
    pair_stop_after_ms(&near, PAIR_WAITS_MS);
    assert_true(driver->connect(session, address, error, sizeof error) < 0);
    driver->close(session);
}

static void send__every_size_without_another_end(void **state)
{
    struct pair pair;
    void *session = NULL;
    char error[DRIVER_REASON_BYTES] = "";
    pair_alone(&pair, driver, with_interfaces, DRIVER_INITIATOR);
    const struct driver_options options = pair_options(&pair, pair_largest(driver));
    assert_int_equal(driver->open(&options, &session, error, sizeof error), 0);
    for (size_t index = 0; size_number(index) != 0; index++) {
        uint64_t size = size_number(index);
        fill(message, size, index);
        assert_int_equal(driver->send(session, message, size), 0);
        check_content(message, 0, size, index);
    }
    driver->close(session);
}

/* Not ready: then there is one line that says why, and open() says so, too. */
static void absent__says_why_and_does_not_open(void **state)
{
    struct pair pair;
    void *session = NULL;
    char reason[DRIVER_REASON_BYTES] = "";
    char error[DRIVER_REASON_BYTES] = "";
    pair_alone(&pair, driver, with_interfaces, DRIVER_RESPONDER);
    const struct driver_options options = pair_options(&pair, 1000);
    int before = open_descriptors();
    assert_true(driver->probe(&options, reason, sizeof reason) < 0);
    assert_true(reason[0] != '\0' && strchr(reason, '\n') == NULL);
    assert_true(driver->open(&options, &session, error, sizeof error) < 0);
    assert_true(error[0] != '\0' && strchr(error, '\n') == NULL);
    assert_int_equal(open_descriptors(), before);
    (void)fprintf(stderr, "%s is absent: %s\n", driver->name, reason);
}

static bool is_ready(void)
{
    struct pair pair;
    char reason[DRIVER_REASON_BYTES] = "";
    pair_alone(&pair, driver, with_interfaces, DRIVER_RESPONDER);
    const struct driver_options options = pair_options(&pair, 1000);
    return driver->probe(&options, reason, sizeof reason) == 0;
}

static int test_absent_driver(void)
{
    const struct CMUnitTest absent[] = {cmocka_unit_test(absent__says_why_and_does_not_open)};
    return cmocka_run_group_tests_name(driver->name, absent, NULL, NULL);
}

static int test_driver(void)
{
    const struct CMUnitTest alone[] = {
        cmocka_unit_test(probe__ready_and_leaves_nothing_open),
        cmocka_unit_test(close__leaves_nothing_open),
        cmocka_unit_test(open__interface_that_is_not_there),
        cmocka_unit_test(send__every_size_without_another_end),
    };
    const struct CMUnitTest paired[] = {
        cmocka_unit_test(probe__ready_and_leaves_nothing_open),
        cmocka_unit_test(close__leaves_nothing_open),
        cmocka_unit_test(open__interface_that_is_not_there),
        cmocka_unit_test(connect__address_that_is_none),
        cmocka_unit_test(connect__nobody_there),
        cmocka_unit_test(pingpong__every_size_arrives_intact),
        cmocka_unit_test(stream__whole_and_in_order),
        cmocka_unit_test(stream__posted_in_advance),
        cmocka_unit_test(sessions__two_at_once_do_not_mix),
        cmocka_unit_test(peer__killed),
        cmocka_unit_test(close__what_was_sent_before_arrives),
        cmocka_unit_test(stop__while_receiving),
        cmocka_unit_test(stop__while_sending),
        cmocka_unit_test(post__both_ways_at_once),
        cmocka_unit_test(post__stop_while_waiting),
    };
    return driver->placement == DRIVER_PROCESS
               ? cmocka_run_group_tests_name(driver->name, alone, NULL, NULL)
               : cmocka_run_group_tests_name(driver->name, paired, NULL, NULL);
}

/* Is this option there with this value; or, without a value, at all? */
static bool is_given(char **words, const char *option, const char *value)
{
    for (; words[0] != NULL && words[1] != NULL; words += 2) {
        if (strcmp(words[0], option) == 0 && (value == NULL || strcmp(words[1], value) == 0)) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc % 2 == 0) {
        (void)fprintf(stderr, "usage: conformance_test FILE.so loopback|interfaces"
                              " [--only NAME]... [--absent NAME]... [--turns NAME]...\n");
        return 2;
    }
    char **words = argv + 3;
    namespace_enter(argv);
    with_interfaces = strcmp(argv[2], "interfaces") == 0;
    void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        (void)fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const struct driver *const *(*get_table)(void) = NULL;
    *(void **)&get_table = dlsym(handle, "beowire_driver_table");
    if (get_table == NULL) {
        (void)fprintf(stderr, "%s exports no table\n", argv[1]);
        return 1;
    }
    int failures = 0;
    size_t tested = 0;
    size_t absent = 0;
    for (const struct driver *const *table = get_table(); *table != NULL; table++) {
        driver = *table;
        if (is_given(words, "--only", NULL) && !is_given(words, "--only", driver->name)) {
            continue;
        }
        one_at_a_time = is_given(words, "--turns", driver->name);
        is_first = tested == 0;
        tested++;
        message = malloc(pair_largest(driver));
        expected = malloc(pair_largest(driver));
        if (message == NULL || expected == NULL) {
            return 1;
        }
        if (is_given(words, "--absent", driver->name) && !is_ready()) {
            absent++;
            failures += test_absent_driver();
        } else {
            failures += test_driver();
        }
        free(message);
        free(expected);
    }
    return failures == 0 && absent == tested ? EXIT_SKIPPED : failures;
}
