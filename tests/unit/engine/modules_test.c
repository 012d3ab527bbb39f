/* SPDX-License-Identifier: BSD-3-Clause */
#include "modules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

/* A directory of links: "beowire-driver-good.so" (a file that also has defective drivers), and
 * files that are broken as a whole. */
static char directory[] = "/tmp/beowire-modules-XXXXXX";

static const char *const LINKS[][2] = {
    {"good_and_bad.so", "beowire-driver-good.so"},
    {"another_abi.so", "beowire-driver-future.so"},
    {"no_table.so", "no_table.so"},
    {"crashes.so", "beowire-driver-crashes.so"},
    {"exits.so", "beowire-driver-exits.so"},
};

static struct modules modules;

static const char *in_directory(const char *name)
{
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static int make_directory(void **state)
{
    const char *built = getenv("BEOWIRE_TEST_MODULES");
    if (built == NULL || mkdtemp(directory) == NULL) {
        return -1;
    }
    for (size_t i = 0; i < sizeof LINKS / sizeof LINKS[0]; i++) {
        char target[PATH_MAX];
        (void)snprintf(target, sizeof target, "%s/%s", built, LINKS[i][0]);
        if (symlink(target, in_directory(LINKS[i][1])) != 0) {
            return -1;
        }
    }
    FILE *text = fopen(in_directory("text.so"), "we");
    FILE *other = fopen(in_directory("README"), "we");
    return text == NULL || other == NULL ? -1 : fclose(text) + fclose(other);
}

static int remove_directory(void **state)
{
    for (size_t i = 0; i < sizeof LINKS / sizeof LINKS[0]; i++) {
        (void)unlink(in_directory(LINKS[i][1]));
    }
    (void)unlink(in_directory("text.so"));
    (void)unlink(in_directory("README"));
    return rmdir(directory);
}

static int open_modules(void **state)
{
    return modules_open(&modules, directory);
}

static int close_modules(void **state)
{
    modules_close(&modules);
    return 0;
}

#define WITH_MODULES_TEST(name) TEST_AROUND(name, open_modules, close_modules)

static void expect_broken(const char *file, const char *part_of_reason)
{
    for (size_t i = 0; i < modules.broken_count; i++) {
        if (strcmp(modules.broken[i].file, file) == 0 &&
            strstr(modules.broken[i].reason, part_of_reason) != NULL) {
            return;
        }
    }
    fail_msg("%s is not broken because of '%s'", file, part_of_reason);
}

WITH_MODULES_TEST(load_all__keeps_the_good_and_explains_the_rest)
{
    modules_load_all(&modules);
    assert_int_equal(modules.driver_count, 2);
    assert_string_equal(modules.drivers[0]->name, "good");
    expect_broken("text.so", "text.so");
    expect_broken("no_table.so", "beowire_driver_table");
    expect_broken("beowire-driver-future.so", "another version");
    expect_broken("beowire-driver-crashes.so", "ends the process that tries it: SIG");
    expect_broken("beowire-driver-exits.so", "ends the process that tries it: exit status 0");
    expect_broken("beowire-driver-good.so", "same name");
    expect_broken("beowire-driver-good.so", "malformed");
    expect_broken("beowire-driver-good.so", "every driver needs");
    expect_broken("beowire-driver-good.so", "two ends");
    expect_broken("beowire-driver-good.so", "sizes");
    expect_broken("beowire-driver-good.so", "fixed");
    assert_int_equal(modules.broken_count, 11);
}

WITH_MODULES_TEST(load_all__twice_is_once)
{
    modules_load_all(&modules);
    modules_load_all(&modules);
    assert_int_equal(modules.driver_count, 2);
    assert_int_equal(modules.broken_count, 11);
}

WITH_MODULES_TEST(load_all__directory_that_others_can_write)
{
    assert_int_equal(chmod(directory, 0777), 0);
    modules_load_all(&modules);
    const struct driver *found = modules_find(&modules, "good");
    assert_int_equal(chmod(directory, 0700), 0);
    assert_int_equal(modules.driver_count, 0);
    assert_null(found);
    expect_broken(strrchr(directory, '/') + 1, "others may write to it");
}

WITH_MODULES_TEST(load_all__file_of_somebody_else)
{
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chown(in_directory("text.so"), 1, 1), 0);
    modules_load_all(&modules);
    assert_int_equal(chown(in_directory("text.so"), 0, 0), 0);
    expect_broken("text.so", "belongs to another user");
}

WITH_MODULES_TEST(load_all__relative_directory)
{
    modules_close(&modules);
    assert_int_equal(modules_open(&modules, "."), 0);
    modules_load_all(&modules);
    expect_broken(".", "not absolute");
    assert_null(modules_find(&modules, "good"));
}

WITH_MODULES_TEST(find__loads_no_other_file)
{
    const struct driver *driver = modules_find(&modules, "good");
    assert_non_null(driver);
    assert_string_equal(driver->name, "good");
    assert_int_equal(modules.file_count, 1);
}

WITH_MODULES_TEST(find__in_the_file_that_the_beginning_of_the_name_says)
{
    assert_non_null(modules_find(&modules, "good:part_1/b-c"));
    assert_int_equal(modules.file_count, 1);
}

WITH_MODULES_TEST(find__unknown_or_malformed_name)
{
    assert_null(modules_find(&modules, "../good"));
    assert_null(modules_find(&modules, ""));
    assert_int_equal(modules.file_count, 0);
    assert_null(modules_find(&modules, "good-friend"));
}

WITH_MODULES_TEST(fault__why_the_file_of_a_name_cannot_be_loaded)
{
    assert_null(modules_fault(&modules, "crashes"));
    assert_null(modules_find(&modules, "crashes"));
    assert_non_null(strstr(modules_fault(&modules, "crashes"), "tries it: SIG"));
    assert_null(modules_fault(&modules, "nothing"));
}

WITH_MODULES_TEST(open__directory_that_is_missing)
{
    modules_close(&modules);
    assert_int_equal(modules_open(&modules, "/nonexistent/drivers"), 0);
    modules_load_all(&modules);
    assert_int_equal(modules.driver_count, 0);
    expect_broken("drivers", "cannot be read");
}

WITH_MODULES_TEST(open__several_directories)
{
    char both[2 * PATH_MAX];
    (void)snprintf(both, sizeof both, "/nonexistent:%s", directory);
    modules_close(&modules);
    assert_int_equal(modules_open(&modules, both), 0);
    assert_non_null(modules_find(&modules, "good"));
}

int main(void)
{
    return run_listed_tests(make_directory, remove_directory);
}
