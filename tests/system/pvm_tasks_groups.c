/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: their server is a task of its own, which libgpvm3 spawns. */
#include "pvm_tasks.h"

#include <pvm3.h>
#include <stdio.h>
#include <string.h>

#define TAG 30
#define VALUES 500

static char group[] = "group";

/* The greatest, the least and the product of what each has. */
static void reduce_reals(int instance, int root)
{
    double greatest[VALUES];
    double least[VALUES];
    float product[VALUES];

    for (int i = 0; i < VALUES; i++) {
        greatest[i] = least[i] = i + instance / 8.0;
        product[i] = (float)(1 + instance);
    }
    CHECK(pvm_reduce(PvmMax, greatest, VALUES, PVM_DOUBLE, TAG + 4, group, root) == 0);
    CHECK(pvm_reduce(PvmMin, least, VALUES, PVM_DOUBLE, TAG + 5, group, root) == 0);
    CHECK(pvm_reduce(PvmProduct, product, VALUES, PVM_FLOAT, TAG + 6, group, root) == 0);
    for (int i = 0; instance == root && i < VALUES; i++) {
        CHECK(greatest[i] == i + CHILDREN / 8.0 && least[i] == i && product[i] == 24.0F);
    }
    CHECK(pvm_gsize(group) == CHILDREN + 1);
}

/* What all do. @return what the root has of it */
static long join_in(int *instance)
{
    int values[VALUES];
    int all[VALUES * (CHILDREN + 1)];
    int part[VALUES];
    long sum = 0;

    *instance = pvm_joingroup(group);
    CHECK(*instance >= 0);
    CHECK(pvm_barrier(group, CHILDREN + 1) >= 0);
    const int root = pvm_getinst(group, pvm_gettid(group, 0));
    CHECK(root == 0);
    for (int i = 0; i < VALUES; i++) {
        values[i] = i + *instance;
    }
    CHECK(pvm_gather(all, values, VALUES, PVM_INT, TAG, group, root) == 0);
    CHECK(pvm_scatter(part, all, VALUES, PVM_INT, TAG + 1, group, root) == 0);
    CHECK(memcmp(part, values, sizeof part) == 0);
    CHECK(pvm_reduce(PvmSum, values, VALUES, PVM_INT, TAG + 2, group, root) == 0);
    for (int i = 0; i < VALUES; i++) {
        sum += values[i];
    }
    reduce_reals(*instance, root);
    CHECK(pvm_barrier(group, CHILDREN + 1) >= 0);
    return sum;
}

/* The root, which is not always the parent, tells all. @return what it says */
static long tell(int instance, long sum)
{
    if (instance == 0) {
        CHECK(pvm_initsend(PvmDataDefault) > 0);
        CHECK(pvm_pklong(&sum, 1, 1) == 0);
        CHECK(pvm_bcast(group, TAG + 3) >= 0);
    } else {
        CHECK(pvm_recv(-1, TAG + 3) > 0);
        CHECK(pvm_upklong(&sum, 1, 1) == 0);
    }
    CHECK(pvm_barrier(group, CHILDREN + 1) >= 0);
    CHECK(pvm_lvgroup(group) == 0);
    return sum;
}

void groups_parent(const int *children)
{
    int instance;
    const long sum = join_in(&instance);

    (void)children;
    printf("groups: the sum is %ld\n", tell(instance, sum));
}

void groups_child(int parent)
{
    int instance;
    const long sum = join_in(&instance);

    (void)parent;
    CHECK(tell(instance, sum) > 0);
}
