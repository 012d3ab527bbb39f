/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any text as a configuration: of lines, or, if it begins with a comma, of settings with commas
 * between. What is taken is within bounds and survives being written and read; what is refused
 * changes nothing, and is said in one line that a terminal shows as it is. A file with the same
 * bytes, and the environment, are read the same.
 */
#include "endpoint/configuration.h"

#include "fuzz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REASON_BYTES 512

static bool same(const struct settings *a, const struct settings *b)
{
    return a->message.eager_bytes == b->message.eager_bytes &&
           a->message.bundle_bytes == b->message.bundle_bytes &&
           a->message.hold_posts == b->message.hold_posts &&
           a->message.unasked_blocks == b->message.unasked_blocks && a->spin_ns == b->spin_ns &&
           a->go_back_n == b->go_back_n && strcmp(a->bulk_by_packet, b->bulk_by_packet) == 0;
}

static void require_bounds(const struct settings *settings)
{
    require(settings->message.eager_bytes <= 1u << 20);
    require(settings->message.bundle_bytes <= 1024);
    require(settings->message.hold_posts >= 1 && settings->message.hold_posts <= HOLD_RUN_MAX);
    require(settings->message.unasked_blocks <= PULL_BLOCKS);
    require(settings->spin_ns >= 4000 && settings->spin_ns <= 10000000);
    require(memchr(settings->bulk_by_packet, 0, sizeof settings->bulk_by_packet) != NULL);
    require(strpbrk(settings->bulk_by_packet, " \t\r\n\"#") == NULL);
}

static void require_round_trip(const struct settings *settings)
{
    char text[1024];
    struct settings again;
    struct settings_fault fault;

    (void)snprintf(text, sizeof text,
                   "eager_bytes = %" PRIu32 "\nbundle_bytes = %" PRIu32 "\nhold_posts = %" PRIu32
                   "\nunasked_blocks = %" PRIu32 "\nspin_ns = %" PRIu64
                   "\ngo_back_n = %s\nbulk_by_packet = %s\n",
                   settings->message.eager_bytes, settings->message.bundle_bytes,
                   settings->message.hold_posts, settings->message.unasked_blocks,
                   settings->spin_ns, settings->go_back_n ? "true" : "false",
                   settings->bulk_by_packet);
    settings_default(&again);
    require(settings_parse(&again, text, '\n', &fault) == 0);
    require(same(settings, &again));
}

/** Each interface that is named, and no other, is in the answer. */
static void require_rails(const struct settings *settings, const char *interfaces)
{
    char list[SETTINGS_NAMES_BYTES + 2];
    uint32_t rails = settings_packet_rails(settings, interfaces);
    bool all = strcmp(settings->bulk_by_packet, "all") == 0;

    (void)snprintf(list, sizeof list, ",%s,", settings->bulk_by_packet);
    for (unsigned rail = 0; rail < 32 && *interfaces != '\0'; rail++) {
        char name[SETTINGS_NAMES_BYTES];
        size_t bytes = strcspn(interfaces, ",");
        if (bytes > 0 && bytes < sizeof name - 2) {
            (void)snprintf(name, sizeof name, ",%.*s,", (int)bytes, interfaces);
            require(((rails >> rail & 1) != 0) == (all || strstr(list, name) != NULL));
        }
        interfaces += bytes + (interfaces[bytes] == ',');
    }
}

/** One line that a terminal shows as it is. */
static void require_printable(const char *text, size_t bytes)
{
    require(memchr(text, 0, bytes) != NULL && *text != '\0');
    for (; *text != '\0'; text++) {
        require(*text >= ' ' && *text <= '~');
    }
}

/** @return what settings_parse() returned. */
static int parse(const char *text, char separator, struct settings *settings)
{
    struct settings before;
    struct settings_fault fault;
    unsigned lines = 1;

    settings_default(settings);
    settings_default(&before);
    int status = settings_parse(settings, text, separator, &fault);
    if (status == 0) {
        require_bounds(settings);
        require_round_trip(settings);
        return 0;
    }
    for (const char *at = text; *at != '\0'; at++) {
        lines += *at == separator;
    }
    require(status == -EBADMSG);
    require(same(settings, &before));
    require(fault.line >= 1 && fault.line <= lines);
    require_printable(fault.reason, sizeof fault.reason);
    return status;
}

/** Reads a file of these bytes. */
static void read_file(const uint8_t *data, size_t size, const struct settings *expected, int status)
{
    static int file = -1;
    char path[32];
    char reason[REASON_BYTES] = "";
    struct settings settings;

    if (file < 0) {
        file = memfd_create("settings-fuzz", MFD_CLOEXEC);
        require(file >= 0);
    }
    require(ftruncate(file, 0) == 0);
    require(pwrite(file, data, size, 0) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    require(unsetenv("BEOWIRE_SETTINGS") == 0);
    int found = configuration_read(path, &settings, reason, sizeof reason);
    if (size > SETTINGS_BYTES_MAX) {
        require(found == -EFBIG);
    } else if (memchr(data, 0, size) == NULL) {
        require(found == status);
        require(status != 0 || same(&settings, expected));
    }
    if (found == 0) {
        require_bounds(&settings);
    } else {
        require_printable(reason, sizeof reason);
    }
}

static void read_environment(const char *text, const struct settings *expected, int status)
{
    char reason[REASON_BYTES] = "";
    struct settings settings;

    require(setenv("BEOWIRE_SETTINGS", text, 1) == 0);
    require(configuration_read("", &settings, reason, sizeof reason) == status);
    if (status == 0) {
        require(same(&settings, expected));
    } else {
        require_printable(reason, sizeof reason);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool environment = size > 0 && data[0] == ',';
    char *text = malloc(size + 1);
    struct settings settings;

    require(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    int status = parse(text, environment ? ',' : '\n', &settings);
    if (status == 0) {
        require_rails(&settings, text);
    }
    if (environment) {
        read_environment(text, &settings, status);
    } else {
        read_file(data, size, &settings, status);
    }
    free(text);
    return 0;
}
