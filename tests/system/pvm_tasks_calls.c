/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that pack and send, or receive and unpack, at once; times that run out; the mailbox. */
#include "pvm_tasks.h"

#include <pvm3.h>
#include <stdio.h>
#include <string.h>

#define TAG 50
#define COUNT 1000

/* ---- psend, precv, trecv ----------------------------------------------------------------------
 */

static const struct {
    const char *name;
    int type;
    size_t bytes;
} types[] = {
    {"byte", PVM_BYTE, 1},
    {"short", PVM_SHORT, sizeof(short)},
    {"int", PVM_INT, sizeof(int)},
    {"long", PVM_LONG, sizeof(long)},
    {"ushort", PVM_USHORT, sizeof(unsigned short)},
    {"uint", PVM_UINT, sizeof(unsigned)},
    {"ulong", PVM_ULONG, sizeof(unsigned long)},
    {"float", PVM_FLOAT, sizeof(float)},
    {"cplx", PVM_CPLX, 2 * sizeof(float)},
    {"double", PVM_DOUBLE, sizeof(double)},
    {"dcplx", PVM_DCPLX, 2 * sizeof(double)},
};

#define TYPE_COUNT ((int)(sizeof types / sizeof types[0]))

/* To a buffer that is longer, of the same length, and shorter than what comes. */
static void precv_all(int child, int type)
{
    static char data[COUNT * 16];
    const size_t bytes = types[type].bytes;
    int task = 0;
    int tag = 0;
    int got = 0;

    for (int room = COUNT + 1; room >= COUNT - 1; room--) {
        memset(data, 0, sizeof data);
        const int status = pvm_precv(child, -1, data, room < COUNT ? room : COUNT, types[type].type,
                                     &task, &tag, &got);
        CHECK(task == child && tag == TAG + type);
        const size_t there = bytes * (size_t)(room < COUNT ? room : COUNT);
        CHECK(is_filled(data, there, (uint64_t)type));
        printf("calls: precv of %s into %d: %d, %d there\n", types[type].name, room, status, got);
    }
}

void calls_parent(const int *children)
{
    struct timeval soon = {.tv_usec = 1000};
    struct timeval late = {.tv_sec = 20};
    int nothing = 0;

    for (int type = 0; type < TYPE_COUNT; type++) {
        CHECK(pvm_trecv(children[0], TAG + type, &soon) == 0);
        CHECK(pvm_psend(children[0], TAG, &type, 1, PVM_INT) == 0);
        precv_all(children[0], type);
    }
    CHECK(pvm_psend(children[0], TAG, &nothing, 1, PVM_INT) == 0);
    const int id = pvm_trecv(-1, TAG, &late);
    CHECK(id > 0 && pvm_bufinfo(id, &nothing, NULL, NULL) == 0);
    for (int i = 1; i < 3; i++) {
        CHECK(pvm_trecv(-1, TAG, &late) > 0);
    }
    printf("calls: trecv finds %d bytes\n", nothing);
    CHECK(pvm_trecv(-1, -1, &soon) == 0 && pvm_nrecv(-1, -1) == 0);
    CHECK(pvm_psend(children[0], -5, &nothing, 1, PVM_INT) == PvmBadParam);
    CHECK(pvm_send(-1, TAG) == PvmBadParam);
}

void calls_child(int parent)
{
    static char data[COUNT * 16];

    for (int i = 0; i <= TYPE_COUNT; i++) {
        int type = 0;
        CHECK(pvm_precv(parent, TAG, &type, 1, PVM_INT, NULL, NULL, NULL) == 0);
        fill(data, sizeof data, (uint64_t)type);
        for (int n = 0; n < 3; n++) {
            CHECK(pvm_psend(parent, TAG + type, data, COUNT, types[type].type) == 0);
        }
    }
}

/* ---- the mailbox ------------------------------------------------------------------------------
 */

static char box[] = "beowire test";

static int put(int value, int flags)
{
    CHECK(pvm_initsend(PvmDataDefault) > 0 && pvm_pkint(&value, 1, 1) == 0);
    return pvm_putinfo(box, pvm_getsbuf(), flags);
}

static void look(int index, int flags)
{
    int value = 0;
    const int before = pvm_setrbuf(0);
    const int id = pvm_recvinfo(box, index, flags);

    if (id > 0) {
        CHECK(pvm_upkint(&value, 1, 1) == 0);
        (void)pvm_freebuf(id);
        printf("mailbox: %d from %d on: %d\n", flags, index, value);
    } else {
        printf("mailbox: %d from %d on: error %d\n", flags, index, id);
    }
    (void)pvm_setrbuf(before);
}

/* While what is in the mailbox moves by the daemons, messages go on. */
void mailbox_parent(const int *children)
{
    struct pvmmboxinfo *found = NULL;
    int count = 0;

    look(0, PvmMboxDefault);
    send_filled(children[0], TAG, PvmDataRaw, 10, 1);
    CHECK(put(100, PvmMboxMultiInstance) >= 0);
    CHECK(pvm_recv(children[0], TAG) > 0);
    take_filled(20, 2);
    look(0, PvmMboxDefault);
    look(1, PvmMboxDefault);
    look(2, PvmMboxDefault);
    look(1, PvmMboxFirstAvail);
    CHECK(pvm_getmboxinfo(box, &count, &found) == 0 && count == 1);
    printf("mailbox: %d entries, by this task: %d\n", found[0].mi_nentries,
           found[0].mi_owners[0] == pvm_mytid());
    CHECK(pvm_delinfo(box, 0, PvmMboxDefault) == 0);
    look(0, PvmMboxReadAndDelete | PvmMboxFirstAvail);
    send_filled(children[0], TAG, PvmDataRaw, 10, 3);
    CHECK(pvm_recv(children[0], TAG) > 0);
    take_filled(20, 4);
    look(0, PvmMboxFirstAvail);
}

void mailbox_child(int parent)
{
    CHECK(pvm_recv(parent, TAG) > 0);
    take_filled(10, 1);
    /* Its parent may not have put its own there yet: it waits for that. */
    const int id = pvm_recvinfo(box, 0, PvmMboxWaitForInfo);
    CHECK(id > 0);
    CHECK(put(101, PvmMboxMultiInstance) >= 0);
    send_filled(parent, TAG, PvmDataRaw, 20, 2);
    CHECK(pvm_recv(parent, TAG) > 0);
    take_filled(10, 3);
    send_filled(parent, TAG, PvmDataInPlace, 20, 4);
}
