/* SPDX-License-Identifier: BSD-3-Clause */
/* Each test makes a /proc/stat and a /sys of its own. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe.h"
#include "testing.h"

static char root[64];
static void *opened;
static probe_reasons reasons;
static uint64_t values[PROBE_FIGURES_MAX];

/* Makes all directories on the way to a file below the root. */
static void write_file(const char *name, const char *content)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int prepare(void **state)
{
    opened = NULL;
    (void)snprintf(root, sizeof root, "/tmp/beowire-card-XXXXXX");
    memset(reasons, 0, sizeof reasons);
    return mkdtemp(root) == NULL ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where)
{
    return remove(path);
}

static int clean(void **state)
{
    PROBE_CARD.close(opened);
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#define PREPARED_TEST(name) TEST_AROUND(name, prepare, clean)

static uint64_t open_and_read(void)
{
    const struct probe_place place = {.proc = root, .sys = root};
    opened = PROBE_CARD.open(&place, reasons);
    values[0] = 999;
    if (reasons[0][0] == '\0') {
        PROBE_CARD.read(opened, values);
    }
    return values[0];
}

#define STAT "cpu  1 2 3\nintr 1000 1 20 300 4000 50000 600000\nctxt 5\n"

PREPARED_TEST(read__a_card_with_messages)
{
    write_file("stat", STAT);
    write_file("class/net/eth0/device/msi_irqs/2", "msix\n");
    write_file("class/net/eth0/device/msi_irqs/4", "msix\n");
    write_file("class/net/eth0/device/irq", "1\n"); /* which it does not use then */
    write_file("class/net/lo/mtu", "65536\n");
    assert_int_equal(open_and_read(), 50300);
    write_file("stat", "cpu  1 2 3\nintr 1000 1 20 301 4000 50002 600000\nctxt 5\n");
    PROBE_CARD.read(opened, values);
    assert_int_equal(values[0], 50303);
}

PREPARED_TEST(read__a_card_with_a_line)
{
    char path[128];
    write_file("stat", STAT);
    write_file("class/net/eth0/device/irq", "3\n");
    (void)snprintf(path, sizeof path, "%s/class/net/eth0/device/msi_irqs", root);
    assert_int_equal(mkdir(path, 0700), 0); /* left of a driver that had messages */
    assert_int_equal(open_and_read(), 4000);
}

/* A part of a device on PCI, which has the interrupts. */
PREPARED_TEST(read__virtio)
{
    char target[128];
    char path[128];
    write_file("stat", STAT);
    write_file("devices/pci/virtio0/name", "net\n");
    write_file("devices/pci/msi_irqs/5", "msix\n");
    write_file("class/net/eth0/mtu", "1500\n");
    (void)snprintf(target, sizeof target, "%s/devices/pci/virtio0", root);
    (void)snprintf(path, sizeof path, "%s/class/net/eth0/device", root);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(open_and_read(), 600000);
}

PREPARED_TEST(read__two_cards_that_share_one)
{
    write_file("stat", STAT);
    write_file("class/net/eth0/device/irq", "3\n");
    write_file("class/net/eth1/device/irq", "3\n");
    write_file("class/net/eth2/device/irq", "0\n");
    assert_int_equal(open_and_read(), 4000);
}

PREPARED_TEST(open__virtual_interfaces_only)
{
    write_file("stat", STAT);
    write_file("class/net/veth0/mtu", "1500\n");
    assert_int_equal(open_and_read(), 999);
    assert_non_null(strstr(reasons[0], "no network interface here has interrupts"));
}

PREPARED_TEST(open__no_count_for_the_number)
{
    write_file("stat", "intr 12 0\n");
    write_file("class/net/eth0/device/irq", "3\n");
    assert_int_equal(open_and_read(), 999);
    assert_non_null(strstr(reasons[0], "no count for each interrupt"));
}
