/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

/* In the order of reading after a run, and the reverse before it: the quickest and most exact to
 * read are next to the measured time. The count of system calls precedes all probes that make
 * some. */
static const struct probe *const TABLE[] = {
    &PROBE_SOAKER,  &PROBE_SYSCALLS,   &PROBE_HARDWARE, &PROBE_USAGE,
    &PROBE_SOFTIRQ, &PROBE_INTERRUPTS, &PROBE_CARD,     NULL,
};

#define TABLE_ROWS (sizeof TABLE / sizeof TABLE[0] - 1)
_Static_assert(TABLE_ROWS <= PROBES_MAX, "raise PROBES_MAX");

const struct probe *const *probe_table(void)
{
    return TABLE;
}

static size_t figure_count(const struct probe *probe)
{
    size_t count = 0;
    while (count < PROBE_FIGURES_MAX && probe->figures[count].name != NULL) {
        count++;
    }
    return count;
}

static void open_one(struct probes *probes, size_t row)
{
    if (!probes->slots[row].opened) {
        probes->slots[row].opened = true;
        probes->slots[row].state = TABLE[row]->open(&probes->place, probes->slots[row].reasons);
    }
}

/* Whether any of its figures is available. */
static bool is_ready(const struct probes *probes, size_t row)
{
    bool ready = false;
    for (size_t i = 0; i < figure_count(TABLE[row]); i++) {
        ready = ready || probes->slots[row].reasons[i][0] == '\0';
    }
    return ready;
}

void probes_open(struct probes *probes, const struct probe_place *place)
{
    *probes = (struct probes){.place = *place};
    for (size_t row = 0; row < TABLE_ROWS; row++) {
        if (!TABLE[row]->disturbs) {
            open_one(probes, row);
        }
    }
    char reason[PROBE_REASON_BYTES];
    (void)probes_choose(probes, "", reason);
}

void probes_close(struct probes *probes)
{
    probes_stop(probes);
    for (size_t row = 0; row < TABLE_ROWS; row++) {
        if (probes->slots[row].opened && TABLE[row]->close != NULL) {
            TABLE[row]->close(probes->slots[row].state);
        }
    }
    *probes = (struct probes){0};
}

static int choose_one(struct probes *probes, const char *name, size_t length, char *reason)
{
    for (size_t row = 0; row < TABLE_ROWS; row++) {
        if (strlen(TABLE[row]->name) == length && memcmp(TABLE[row]->name, name, length) == 0) {
            probes->slots[row].chosen = true;
            return 0;
        }
    }
    int used = snprintf(reason, PROBE_REASON_BYTES, "probes must be of");
    for (size_t row = 0; row < TABLE_ROWS && used < PROBE_REASON_BYTES; row++) {
        used += snprintf(reason + used, PROBE_REASON_BYTES - (size_t)used, "%s %s",
                         row > 0 ? "," : "", TABLE[row]->name);
    }
    return -EINVAL;
}

int probes_choose(struct probes *probes, const char *names, char *reason)
{
    for (size_t row = 0; row < TABLE_ROWS; row++) {
        probes->slots[row].chosen = !TABLE[row]->disturbs;
    }
    int error = 0;
    while (error == 0 && *names != '\0') {
        const size_t length = strcspn(names, ",");
        error = choose_one(probes, names, length, reason);
        names += length + (names[length] == ',' ? 1 : 0);
    }
    return error;
}

void probes_start(struct probes *probes)
{
    for (size_t row = 0; row < TABLE_ROWS; row++) {
        if (!probes->slots[row].chosen) {
            continue;
        }
        open_one(probes, row);
        probes->slots[row].reads =
            is_ready(probes, row) &&
            (TABLE[row]->start == NULL || TABLE[row]->start(probes->slots[row].state) == 0);
    }
}

void probes_stop(struct probes *probes)
{
    for (size_t row = 0; row < TABLE_ROWS; row++) {
        if (probes->slots[row].reads && TABLE[row]->stop != NULL) {
            TABLE[row]->stop(probes->slots[row].state);
        }
        probes->slots[row].reads = false;
    }
}

static void read_one(const struct probes *probes, size_t row, struct probe_values *values)
{
    if (probes->slots[row].reads) {
        TABLE[row]->read(probes->slots[row].state, values->values[row]);
    }
}

void probes_read_before(const struct probes *probes, struct probe_values *values)
{
    for (size_t row = TABLE_ROWS; row-- > 0;) {
        read_one(probes, row, values);
    }
    values->at_ns = clock_now_ns();
}

void probes_read_after(const struct probes *probes, struct probe_values *values)
{
    values->at_ns = clock_now_ns();
    for (size_t row = 0; row < TABLE_ROWS; row++) {
        read_one(probes, row, values);
    }
}

void probes_report(const struct probes *probes, struct json *json,
                   const struct probe_values *before, const struct probe_values *after)
{
    json_begin(json, "probes", '{');
    /* A run that was interrupted may have no end. */
    json_unsigned(json, "window_ns",
                  after->at_ns > before->at_ns ? after->at_ns - before->at_ns : 0);
    for (size_t row = 0; row < TABLE_ROWS; row++) {
        for (size_t i = 0; probes->slots[row].chosen && i < figure_count(TABLE[row]); i++) {
            const uint64_t was = before->values[row][i];
            const uint64_t is = after->values[row][i];
            if (!probes->slots[row].reads || probes->slots[row].reasons[i][0] != '\0') {
                json_null(json, TABLE[row]->figures[i].name);
            } else {
                json_unsigned(json, TABLE[row]->figures[i].name, is > was ? is - was : 0);
            }
        }
    }
    json_end(json, '}');
}

static const char *whose(enum probe_of of)
{
    switch (of) {
    case PROBE_PROCESS:
        return "process";
    case PROBE_CPUS:
        return "cpus";
    case PROBE_MACHINE:
        return "machine";
    }
    return "";
}

static void answer_figure(struct probes *probes, struct json *json, size_t row, size_t i)
{
    const struct probe_figure *figure = &TABLE[row]->figures[i];
    const char *reason = probes->slots[row].reasons[i];
    json_begin(json, NULL, '{');
    json_text(json, "name", figure->name);
    json_text(json, "summary", figure->summary);
    json_text(json, "unit", figure->unit);
    json_text(json, "per", figure->per == PROBE_PER_MESSAGE ? "message" : "second");
    json_text(json, "probe", TABLE[row]->name);
    json_text(json, "how", TABLE[row]->how);
    json_text(json, "of", whose(TABLE[row]->of));
    json_bool(json, "disturbs", TABLE[row]->disturbs);
    json_bool(json, "ready", reason[0] == '\0');
    json_text(json, "reason", reason);
    json_end(json, '}');
}

void probes_answer(struct probes *probes)
{
    struct json json;
    output_begin(&json, "probes");
    json_begin(&json, "figures", '[');
    for (size_t row = 0; row < TABLE_ROWS; row++) {
        open_one(probes, row);
        for (size_t i = 0; i < figure_count(TABLE[row]); i++) {
            answer_figure(probes, &json, row, i);
        }
    }
    json_end(&json, ']');
    output_send(&json);
}
