/* SPDX-License-Identifier: BSD-3-Clause */
/* Every type, in every encoding, there and back. */
#include "pvm_tasks.h"

#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG 20
#define STRIDE_MAX 3
#define COUNT_MAX 30000

static const int encodings[] = {PvmDataDefault, PvmDataRaw, PvmDataInPlace};
static const int counts[] = {0, 1, 7, 1021, COUNT_MAX};

/* Calls of pvm_pkX() and pvm_upkX() for one type. */
#define TYPE(name, type, values)                                                                   \
    static int pack_##name(void *data, int count, int stride)                                      \
    {                                                                                              \
        return pvm_pk##name(data, count, stride);                                                  \
    }                                                                                              \
    static int unpack_##name(void *data, int count, int stride)                                    \
    {                                                                                              \
        return pvm_upk##name(data, count, stride);                                                 \
    }
#define TYPES                                                                                      \
    TYPE(byte, char, 1)                                                                            \
    TYPE(short, short, 1)                                                                          \
    TYPE(ushort, unsigned short, 1)                                                                \
    TYPE(int, int, 1)                                                                              \
    TYPE(uint, unsigned int, 1)                                                                    \
    TYPE(long, long, 1)                                                                            \
    TYPE(ulong, unsigned long, 1)                                                                  \
    TYPE(float, float, 1)                                                                          \
    TYPE(double, double, 1)                                                                        \
    TYPE(cplx, float, 2)                                                                           \
    TYPE(dcplx, double, 2)
TYPES
#undef TYPE

static const struct {
    const char *name;
    size_t bytes;
    size_t item; /* of which it is one, or two */
    bool real;   /* any bits are no number */
    int (*pack)(void *data, int count, int stride);
    int (*unpack)(void *data, int count, int stride);
} types[] = {
#define TYPE(name, type, values)                                                                   \
    {#name, (values) * sizeof(type), sizeof(type), (type)0.5 != 0, pack_##name, unpack_##name},
    TYPES
#undef TYPE
};

#define TYPE_COUNT (sizeof types / sizeof types[0])

/* Values of a type that any encoding keeps: whole numbers as reals, and of the longest integers
 * what XDR has room for. */
static void make(unsigned char *data, size_t type, int count, uint64_t seed)
{
    const bool is_long =
        strcmp(types[type].name, "long") == 0 || strcmp(types[type].name, "ulong") == 0;
    const bool is_double = types[type].real && types[type].item == sizeof(double);

    fill(data, types[type].bytes * (size_t)count, seed);
    for (size_t at = 0; at < types[type].bytes * (size_t)count; at += types[type].item) {
        const long whole = (long)(pattern(seed, at) % 2000000001);
        const double real = (double)whole - 1e9;
        const float less = (float)(whole % 1000);
        if (is_long) {
            memcpy(data + at, &whole, sizeof whole);
        } else if (is_double) {
            memcpy(data + at, &real, sizeof real);
        } else if (types[type].real) {
            memcpy(data + at, &less, sizeof less);
        }
    }
}

static unsigned char *room(size_t type)
{
    unsigned char *data = calloc(COUNT_MAX * STRIDE_MAX + 1, types[type].bytes);

    CHECK(data != NULL);
    return data;
}

/* Do each `stride`th elements agree, and are the others as they were? */
static bool agree(const unsigned char *got, const unsigned char *want, size_t type, int count,
                  int stride)
{
    const size_t bytes = types[type].bytes;

    for (int i = 0; i < count * stride; i++) {
        static const unsigned char zeros[32];
        const unsigned char *there = i % stride == 0 ? want + bytes * (size_t)i : zeros;
        if (memcmp(got + bytes * (size_t)i, there, bytes) != 0) {
            return false;
        }
    }
    return true;
}

/* Packs one array of each type, sends it, and compares what comes back. */
static void try_all(int child, int encoding, int count, int stride)
{
    unsigned char *arrays[TYPE_COUNT];
    int bytes = -1;
    int task = 0;
    int refused = 0;

    CHECK(pvm_initsend(encoding) > 0);
    for (size_t type = 0; type < TYPE_COUNT; type++) {
        arrays[type] = room(type);
        make(arrays[type], type, count * stride, (uint64_t)count + type);
        const int status = types[type].pack(arrays[type], count, stride);
        refused += status != 0 ? 1 : 0;
    }
    if (refused == 0) {
        CHECK(pvm_send(child, TAG) == 0);
        const int id = pvm_recv(child, TAG);
        CHECK(id > 0 && pvm_bufinfo(id, &bytes, NULL, &task) == 0 && task == child);
    }
    for (size_t type = 0; type < TYPE_COUNT; type++) {
        unsigned char *back = room(type);
        if (refused == 0) {
            CHECK(types[type].unpack(back, count, stride) == 0);
            CHECK(agree(back, arrays[type], type, count, stride));
        }
        free(back);
        free(arrays[type]);
    }
    printf("types: encoding %d count %d stride %d: %d bytes, %d refused\n", encoding, count, stride,
           bytes, refused);
}

static void try_strings(int child, int encoding)
{
    char text[] = "a text, \"quoted\"";
    char back[sizeof text] = "";
    double number = 0;
    int odd = 0;

    CHECK(pvm_initsend(encoding) > 0);
    CHECK(pvm_packf("%s %d %lf", text, 77, 2.5) == 0);
    CHECK(pvm_send(child, TAG + 1) == 0);
    CHECK(pvm_recv(child, TAG + 1) > 0);
    CHECK(pvm_unpackf("%s %d %lf", back, &odd, &number) == 0);
    printf("strings: encoding %d: %s %d %g\n", encoding, back, odd, number);
}

/* Packs in small pieces, so that these do not end where numbers do. */
static void try_pieces(int child)
{
    const int before = pvm_setopt(PvmFragSize, 200);

    try_all(child, PvmDataDefault, 1021, 1);
    try_all(child, PvmDataRaw, 1021, STRIDE_MAX);
    CHECK(pvm_setopt(PvmFragSize, before) == 200);
}

void types_parent(const int *children)
{
    int nothing = 0;

    for (size_t e = 0; e < sizeof encodings / sizeof encodings[0]; e++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            try_all(children[0], encodings[e], counts[c], 1);
            try_all(children[0], encodings[e], counts[c], STRIDE_MAX);
        }
        if (encodings[e] != PvmDataInPlace) {
            try_strings(children[0], encodings[e]);
        }
    }
    try_pieces(children[0]);
    CHECK(pvm_psend(children[0], TAG + 2, &nothing, 1, PVM_INT) == 0);
}

/* Packs again what it gets, as it came. */
void types_child(int parent)
{
    for (;;) {
        int bytes = 0;
        int tag = 0;
        const int id = pvm_recv(parent, -1);
        CHECK(id > 0 && pvm_bufinfo(id, &bytes, &tag, NULL) == 0);
        if (tag == TAG + 2) {
            return;
        }
        CHECK(pvm_setsbuf(id) >= 0); /* what was received is sent on */
        CHECK(pvm_send(parent, tag) == 0);
        CHECK(pvm_setsbuf(0) == id && pvm_freebuf(id) == 0);
    }
}
