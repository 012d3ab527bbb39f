/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe_card.c - the interrupts of this machine's network cards.
 *
 * /sys lists the interrupt numbers of a card, and /proc/stat has a count for each number, so the
 * names that drivers use in /proc/interrupts do not matter. Old cards share one number with other
 * devices, which are then counted, too. Virtual interfaces have no interrupts.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

#define STAT_BYTES (256 << 10)
#define NUMBERS_MAX 512
#define LINE "\nintr "

struct card {
    int stat;
    size_t count;
    unsigned numbers[NUMBERS_MAX]; /* of all cards' interrupts, each once, unordered */
    char text[STAT_BYTES];
};

static void add(struct card *card, unsigned number)
{
    for (size_t i = 0; i < card->count; i++) {
        if (card->numbers[i] == number) {
            return;
        }
    }
    if (card->count < NUMBERS_MAX) {
        card->numbers[card->count++] = number;
    }
}

/* Adds the numbers that are names of entries in a directory. False: the directory is missing or
 * empty, as the kernel leaves it when a driver has returned to the card's interrupt line. */
static bool add_messages(struct card *card, const char *path)
{
    DIR *directory = opendir(path);
    bool any = false;
    if (directory == NULL) {
        return false;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        char *end = NULL;
        unsigned long number = strtoul(entry->d_name, &end, 10);
        if (end != entry->d_name && *end == '\0') {
            add(card, (unsigned)number);
            any = true;
        }
    }
    (void)closedir(directory);
    return any;
}

/* Adds the number in a file; 0 means none. */
static bool add_line(struct card *card, const char *path)
{
    FILE *file = fopen(path, "re");
    char text[32] = "";
    if (file == NULL) {
        return false;
    }
    bool read = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    if (read && strtoul(text, NULL, 10) != 0) {
        add(card, (unsigned)strtoul(text, NULL, 10));
    }
    return true;
}

/* Adds those of the device, or of its parent, which has the interrupts for virtio. */
static void add_interface(struct card *card, const char *sys, const char *name)
{
    static const char *const DEVICES[] = {"device", "device/.."};
    bool found = false;
    for (size_t i = 0; i < 2 && !found; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/class/net/%.64s/%s/msi_irqs", sys, name, DEVICES[i]);
        found = add_messages(card, path);
        (void)snprintf(path, sizeof path, "%s/class/net/%.64s/%s/irq", sys, name, DEVICES[i]);
        found = found || add_line(card, path);
    }
}

static void find_cards(struct card *card, const char *sys)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/class/net", sys);
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        if (entry->d_name[0] != '.') {
            add_interface(card, sys, entry->d_name);
        }
    }
    (void)closedir(directory);
}

/* The line has the sum, and then a count for each number from 0. False: it is too short. */
static bool sum(const struct card *card, uint64_t *value)
{
    const char *at = strstr(card->text, LINE);
    size_t found = 0;
    *value = 0;
    if (at == NULL) {
        return false;
    }
    char *end = NULL;
    (void)strtoull(at + strlen(LINE), &end, 10);
    for (unsigned number = 0; *end == ' '; number++) {
        uint64_t count = strtoull(end, &end, 10);
        for (size_t i = 0; i < card->count; i++) {
            if (card->numbers[i] == number) {
                *value += count;
                found++;
            }
        }
    }
    return found == card->count;
}

static void read_stat(struct card *card)
{
    ssize_t count = pread(card->stat, card->text, sizeof card->text - 1, 0);
    card->text[count > 0 ? count : 0] = '\0';
}

static void *card_open(const struct probe_place *place, probe_reasons reasons)
{
    char path[256];
    uint64_t value = 0;
    struct card *card = calloc(1, sizeof *card);
    if (card == NULL) {
        (void)snprintf(reasons[0], PROBE_REASON_BYTES, "no memory");
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%s/stat", place->proc);
    card->stat = open(path, O_RDONLY | O_CLOEXEC);
    find_cards(card, place->sys);
    read_stat(card);
    if (card->count == 0) {
        (void)snprintf(reasons[0], PROBE_REASON_BYTES,
                       "no network interface here has interrupts (virtual ones have none)");
    } else if (!sum(card, &value)) {
        (void)snprintf(reasons[0], PROBE_REASON_BYTES,
                       "%.100s has no count for each interrupt of the card", path);
    }
    return card;
}

static void card_read(void *state, uint64_t values[PROBE_FIGURES_MAX])
{
    struct card *card = state;
    read_stat(card);
    (void)sum(card, &values[0]);
}

static void card_close(void *state)
{
    struct card *card = state;
    if (card != NULL && card->stat >= 0) {
        close(card->stat);
    }
    free(card);
}

const struct probe PROBE_CARD = {
    .name = "card",
    .how = "/proc/stat, line intr, at the numbers that /sys/class/net has for network cards",
    .of = PROBE_MACHINE,
    .figures = {{"card_interrupts", "", PROBE_PER_MESSAGE, "interrupts of network cards"}},
    .open = card_open,
    .read = card_read,
    .close = card_close,
};
