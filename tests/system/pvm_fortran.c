/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pvm_fortran: a task and its child that call PVM as Fortran programs do, by libfpvm3: whatever is
 * handed over is an address, and the lengths of texts come behind. So no compiler for Fortran is
 * needed.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT 5000
#define REAL8 6
#define INTEGER4 3
#define STRING 0
#define TAG 5

void pvmfmytid_(int *task);
void pvmfparent_(int *task);
void pvmfspawn_(char *program, int *flag, char *where, int *count, int *tasks, int *started,
                int program_bytes, int where_bytes);
void pvmfinitsend_(int *encoding, int *buffer);
void pvmfpack_(int *what, void *data, int *count, int *stride, int *status, int text_bytes);
void pvmfunpack_(int *what, void *data, int *count, int *stride, int *status, int text_bytes);
void pvmfsend_(int *task, int *tag, int *status);
void pvmfrecv_(int *task, int *tag, int *buffer);
void pvmfpsend_(int *task, int *tag, void *data, int *count, int *type, int *status);
void pvmfprecv_(int *task, int *tag, void *data, int *count, int *type, int *from, int *with,
                int *got, int *status);
void pvmfexit_(int *status);

static int failed;

static void check(int holds, const char *what)
{
    if (!holds) {
        printf("fortran: not so: %s\n", what);
        failed = 1;
    }
}
#define CHECK(holds) check((holds), #holds)

static int one = 1;
static int tag = TAG;

static void echo(int parent)
{
    int what[] = {INTEGER4, REAL8, STRING};
    double values[COUNT];
    char text[32];
    int count = 0;
    int status = 0;
    int buffer = 0;
    int raw = 1;

    pvmfrecv_(&parent, &tag, &buffer);
    pvmfunpack_(&what[0], &count, &one, &one, &status, 0);
    pvmfunpack_(&what[1], values, &count, &one, &status, 0);
    pvmfunpack_(&what[2], text, &(int){11}, &one, &status, 32);
    for (int i = 0; i < count; i++) {
        values[i] *= 2;
    }
    pvmfinitsend_(&raw, &buffer);
    pvmfpack_(&what[1], values, &count, &one, &status, 0);
    pvmfpack_(&what[2], text, &(int){11}, &one, &status, 11);
    pvmfsend_(&parent, &tag, &status);
    pvmfpsend_(&parent, &tag, values, &count, &what[1], &status);
}

static void ask(int child)
{
    int what[] = {INTEGER4, REAL8, STRING};
    static double values[COUNT];
    static double again[COUNT];
    char text[32] = "";
    int count = COUNT;
    int status = 0;
    int buffer = 0;
    int standard = 0;
    int facts[3] = {0};

    for (int i = 0; i < COUNT; i++) {
        values[i] = i / 8.0;
    }
    pvmfinitsend_(&standard, &buffer);
    pvmfpack_(&what[0], &count, &one, &one, &status, 0);
    pvmfpack_(&what[1], values, &count, &one, &status, 0);
    pvmfpack_(&what[2], "some text..", &(int){11}, &one, &status, 11);
    pvmfsend_(&child, &tag, &status);
    CHECK(status == 0);
    pvmfrecv_(&child, &tag, &buffer);
    pvmfunpack_(&what[1], again, &count, &one, &status, 0);
    pvmfunpack_(&what[2], text, &(int){11}, &one, &status, 32);
    for (int i = 0; i < COUNT; i++) {
        CHECK(again[i] == values[i] * 2);
    }
    memset(again, 0, sizeof again);
    pvmfprecv_(&child, &tag, again, &count, &what[1], &facts[0], &facts[1], &facts[2], &status);
    CHECK(status == 0 && facts[0] == child && again[COUNT - 1] == values[COUNT - 1] * 2);
    printf("fortran: %d bytes there and back, and %.11s\n", facts[2], text);
}

int main(void)
{
    char program[4096];
    const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program);
    int task = 0;
    int parent = 0;
    int child = 0;
    int started = 0;
    int standard = 0;
    int status = 0;

    pvmfmytid_(&task);
    CHECK(task > 0 && bytes > 0);
    pvmfparent_(&parent);
    if (parent > 0) {
        echo(parent);
    } else {
        pvmfspawn_(program, &standard, "*", &one, &child, &started, (int)bytes, 1);
        CHECK(started == 1);
        ask(child);
    }
    pvmfexit_(&status);
    return failed;
}
