/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/configuration.h"

#include "beowire.h"
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** A directory of the test's own, which is also its user's configuration directory. */
static char directory[] = "/tmp/configuration-test-XXXXXX";
static char file[128];

/** Is the program another user's? */
static bool is_setuid;

/* In place of the C library's, for all that is linked into this program. */
uid_t geteuid(void)
{
    return is_setuid ? getuid() + 1 : getuid();
}

/** Stands for the file of the host, "" if it has none. */
static char of_host[128];

/** The path that is closed to us, and what the host knows as the user's directory. */
static const char *closed = "";
static const char *known_home;

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_getpwuid_r(uid_t user, struct passwd *entry, char *room, size_t bytes,
                      struct passwd **found);

static const char *led(const char *path)
{
    return strcmp(path, "/etc/beowire/beowire.conf") == 0 ? of_host : path;
}

int __wrap_access(const char *path, int mode)
{
    if (strcmp(path, closed) == 0) {
        errno = EACCES;
        return -1;
    }
    return __real_access(led(path), mode);
}

/* Files are opened only to be read here, and by none that could be one of the test's. */
int __wrap_open(const char *path, int flags, ...)
{
    return openat(AT_FDCWD, led(path), flags, 0600);
}

int __wrap_open64(const char *path, int flags, ...)
{
    return openat(AT_FDCWD, led(path), flags, 0600);
}

int __wrap_getpwuid_r(uid_t user, struct passwd *entry, char *room, size_t bytes,
                      struct passwd **found)
{
    assert_true(snprintf(room, bytes, "%s", known_home != NULL ? known_home : "") < (int)bytes);
    entry->pw_dir = room;
    *found = known_home != NULL ? entry : NULL;
    return 0;
}

static void write_bytes(const void *data, size_t bytes)
{
    FILE *stream = fopen(file, "w");

    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, bytes, stream), bytes);
    assert_int_equal(fclose(stream), 0);
}

static void write_file(const char *text)
{
    write_bytes(text, strlen(text));
}

static int prepare(void **state)
{
    assert_int_equal(unsetenv("BEOWIRE_CONFIG"), 0);
    assert_int_equal(unsetenv("BEOWIRE_SETTINGS"), 0);
    assert_int_equal(unsetenv("BEOWIRE_TRACE"), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", directory, 1), 0);
    of_host[0] = '\0';
    closed = "";
    known_home = NULL;
    write_file("eager_bytes = 1000\nspin_ns = 9000\n");
    return 0;
}

TEST_AROUND(configuration_read__file_of_the_user, prepare, NULL)
{
    struct settings settings;

    assert_int_equal(configuration_read(NULL, &settings, NULL, 0), 0);
    assert_int_equal(settings.message.eager_bytes, 1000);
    assert_int_equal(settings.message.bundle_bytes, BUNDLE_BYTES_MAX);
}

TEST_AROUND(configuration_read__file_that_is_named, prepare, NULL)
{
    struct settings settings;
    char reason[400] = "";

    assert_int_equal(setenv("BEOWIRE_CONFIG", "/nonexistent/beowire.conf", 1), 0);
    assert_int_equal(configuration_read(NULL, &settings, reason, sizeof reason), -ENOENT);
    assert_string_equal(reason, "/nonexistent/beowire.conf: No such file or directory");
    assert_int_equal(configuration_read(file, &settings, NULL, 0), 0);
    assert_int_equal(settings.message.eager_bytes, 1000);
    assert_int_equal(setenv("BEOWIRE_CONFIG", "", 1), 0); /* none */
    assert_int_equal(configuration_read(NULL, &settings, NULL, 0), 0);
    assert_int_equal(settings.message.eager_bytes, MESSAGE_EAGER_BYTES_MAX);
    assert_int_equal(configuration_read(directory, &settings, NULL, 0), -EISDIR);
    assert_int_equal(configuration_read("/dev/null", &settings, NULL, 0), 0);
    assert_int_equal(unlink(file) | mkfifo(file, 0600), 0); /* nobody writes to it */
    assert_int_equal(configuration_read(file, &settings, NULL, 0), -ESPIPE);
    assert_int_equal(unlink(file), 0);
}

TEST_AROUND(configuration_read__program_of_another_user, prepare, NULL)
{
    struct settings settings;
    char reason[400] = "";

    is_setuid = true;
    int of_user = configuration_read(NULL, &settings, reason, sizeof reason);
    uint32_t eager_bytes = settings.message.eager_bytes;
    assert_int_equal(setenv("BEOWIRE_CONFIG", "/nonexistent/beowire.conf", 1), 0);
    int named = configuration_read(NULL, &settings, reason, sizeof reason);
    is_setuid = false;
    assert_int_equal(of_user, 0);
    assert_int_not_equal(eager_bytes, 1000);
    assert_int_equal(named, 0);
    assert_string_equal(reason, "");
}

TEST_AROUND(configuration_read__all_of_a_file_or_nothing, prepare, NULL)
{
    static char text[SETTINGS_BYTES_MAX + 1];
    const char last[] = {'s', 'p', 'i', 'n', '_', 'n', 's', '=', '9', '0', '0', '0'};
    const char after_zero[] = "# a\0b\nspin_ns = 9000\0\n";
    struct settings settings;
    char reason[400] = "";

    memset(text, '\n', sizeof text);
    memcpy(text + SETTINGS_BYTES_MAX - sizeof last, last, sizeof last);
    write_bytes(text, SETTINGS_BYTES_MAX);
    assert_int_equal(configuration_read(file, &settings, NULL, 0), 0);
    assert_int_equal(settings.spin_ns, 9000);
    text[SETTINGS_BYTES_MAX] = '0';
    write_bytes(text, sizeof text); /* it says 90000, and not 9000 */
    assert_int_equal(configuration_read(file, &settings, reason, sizeof reason), -EFBIG);
    assert_non_null(strstr(reason, "beowire.conf: File too large"));
    /* A zero byte ends nothing. */
    write_bytes(after_zero, sizeof after_zero - 1);
    assert_int_equal(configuration_read(file, &settings, reason, sizeof reason), -EBADMSG);
    assert_non_null(strstr(reason, ":2: spin_ns is a number"));
}

TEST_AROUND(configuration_read__environment_comes_last, prepare, NULL)
{
    struct settings settings;
    char reason[400] = "";

    assert_int_equal(setenv("BEOWIRE_SETTINGS", "eager_bytes=2000,go_back_n=true", 1), 0);
    assert_int_equal(configuration_read(NULL, &settings, NULL, 0), 0);
    assert_int_equal(settings.message.eager_bytes, 2000);
    assert_int_equal(settings.spin_ns, 9000);
    assert_true(settings.go_back_n);
    assert_int_equal(setenv("BEOWIRE_SETTINGS", "go_back_n=true,x=1", 1), 0);
    assert_int_equal(configuration_read(NULL, &settings, reason, sizeof reason), -EBADMSG);
    assert_string_equal(reason, "BEOWIRE_SETTINGS:2: there is no setting x");
}

TEST_AROUND(configuration_read__what_cannot_be_seen_may_be_there, prepare, NULL)
{
    struct settings settings;
    char reason[400] = "";
    char expected[400];

    closed = file;
    assert_int_equal(configuration_read(NULL, &settings, reason, sizeof reason), -EACCES);
    (void)snprintf(expected, sizeof expected, "%s: Permission denied", file);
    assert_string_equal(reason, expected);
    closed = "/etc/beowire/beowire.conf";
    assert_int_equal(configuration_read(NULL, &settings, reason, sizeof reason), -EACCES);
    assert_string_equal(reason, "/etc/beowire/beowire.conf: Permission denied");
    assert_int_equal(configuration_read("", &settings, reason, sizeof reason), 0);
}

/** Is the one that is named, or NULL, read with seals? */
static bool has_seals(const char *path)
{
    struct settings settings;

    assert_int_equal(configuration_read(path, &settings, NULL, 0), 0);
    return settings.authenticate;
}

TEST_AROUND(configuration_read__seals_of_the_host_stay, prepare, NULL)
{
    char of_user[128];
    char reason[400] = "";
    struct settings settings;

    (void)snprintf(of_host, sizeof of_host, "%s/beowire/host", directory);
    (void)snprintf(of_user, sizeof of_user, "%s", file);
    (void)snprintf(file, sizeof file, "%s", of_host);
    write_file("authenticate = true\nspin_ns = 8000\n");
    (void)snprintf(file, sizeof file, "%s", of_user);
    bool kept = has_seals(NULL);
    write_file("authenticate = false\n");
    bool not_lowered = has_seals(NULL) && has_seals(file);
    bool none = has_seals("");
    assert_int_equal(configuration_read(NULL, &settings, NULL, 0), 0);
    bool only_seals = settings.spin_ns != 8000;
    assert_int_equal(setenv("BEOWIRE_SETTINGS", "authenticate=false", 1), 0);
    bool asked_for = has_seals(NULL);
    assert_int_equal(truncate(of_host, 3), 0);
    int status = configuration_read(NULL, &settings, reason, sizeof reason);
    assert_int_equal(unlink(of_host), 0);
    assert_true(kept && not_lowered && only_seals);
    assert_false(none || asked_for);
    assert_int_equal(status, -EBADMSG);
    assert_non_null(strstr(reason, "beowire.conf:1: "));
}

TEST_AROUND(configuration_read__without_home, prepare, NULL)
{
    char home[64];
    char middle[128];
    char folder[160];
    char path[200];

    (void)snprintf(home, sizeof home, "%s/home", directory);
    (void)snprintf(middle, sizeof middle, "%s/.config", home);
    (void)snprintf(folder, sizeof folder, "%s/beowire", middle);
    (void)snprintf(path, sizeof path, "%s/beowire.conf", folder);
    assert_int_equal(mkdir(home, 0700) | mkdir(middle, 0700) | mkdir(folder, 0700), 0);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs("authenticate = true\n", stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(unsetenv("XDG_CONFIG_HOME") | unsetenv("HOME"), 0);
    bool unknown = has_seals(NULL);
    known_home = home;
    bool without = has_seals(NULL);
    assert_int_equal(setenv("HOME", "/nonexistent", 1), 0);
    closed = "/nonexistent"; /* it is somebody else's */
    bool of_others = has_seals(NULL);
    assert_int_equal(unlink(path) | rmdir(folder) | rmdir(middle) | rmdir(home), 0);
    assert_false(unknown);
    assert_true(without);
    assert_true(of_others);
}

TEST_AROUND(beowire_configuration_check__names_the_line, prepare, NULL)
{
    char reason[400] = "";
    char expected[400];

    assert_int_equal(beowire_configuration_check(file, reason, sizeof reason), 0);
    write_file("# one\nspin_ns = never\n");
    assert_int_equal(beowire_configuration_check(file, reason, sizeof reason), -EBADMSG);
    (void)snprintf(expected, sizeof expected, "%s:2: spin_ns is a number from 4000 to 10000000",
                   file);
    assert_string_equal(reason, expected);
    assert_int_equal(beowire_configuration_check(NULL, NULL, 0), -EBADMSG);
}

TEST_AROUND(beowire_open__configuration_that_is_wrong, prepare, NULL)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.lanes = "shm";
    write_file("spin_ns = never\n");
    assert_int_equal(beowire_open(&options, &endpoint), -EBADMSG);
    options.configuration = ""; /* no file */
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    assert_int_equal(beowire_close(endpoint, 0), 0);
}

TEST_AROUND(beowire_open__no_file_for_the_trace_that_is_asked_for, prepare, NULL)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;
    char reason[512] = "";

    options.lanes = "shm";
    assert_int_equal(setenv("BEOWIRE_TRACE", "/nonexistent/t", 1), 0);
    assert_int_equal(beowire_open(&options, &endpoint), -EBADMSG);
    assert_int_equal(beowire_configuration_check(NULL, reason, sizeof reason), -EBADMSG);
    assert_non_null(strstr(reason, "BEOWIRE_TRACE: cannot make /nonexistent/t."));
    assert_int_equal(unsetenv("BEOWIRE_TRACE"), 0);
}

static int make_directory(void **state)
{
    char folder[64];

    assert_non_null(mkdtemp(directory));
    (void)snprintf(folder, sizeof folder, "%s/beowire", directory);
    assert_int_equal(mkdir(folder, 0700), 0);
    (void)snprintf(file, sizeof file, "%s/beowire.conf", folder);
    return 0;
}

static int remove_directory(void **state)
{
    char folder[64];

    (void)snprintf(folder, sizeof folder, "%s/beowire", directory);
    return unlink(file) + rmdir(folder) + rmdir(directory);
}

int main(void)
{
    return run_listed_tests(make_directory, remove_directory);
}
