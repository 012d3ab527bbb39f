/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cumulative distributions: of each, some 20 points of its table in
 * homatransport/sizeDistributions of github.com/PlatformLab/HomaSimulation (commit ab09ecbf). With
 * these, no share is off by more than 1 %, and no mean by more than 3 %. Between two points the
 * logarithm of the length is interpolated. W5 is counted in packets there, of 1,460 bytes here.
 */
#include "sizes.h"

#include <assert.h>
#include <math.h>

struct point {
    uint32_t bytes;
    uint32_t ppm; /**< messages of a million that are at most this long */
};

/** Memcached servers at Facebook (Atikoglu et al., SIGMETRICS 2012). */
static const struct point w1[] = {
    {1, 5830},         {3, 276420},    {4, 276600},    {5, 304000},    {10, 327680},
    {11, 417570},      {13, 421750},   {15, 470000},   {34, 514751},   {67, 580088},
    {120, 663085},     {306, 825780},  {636, 928504},  {903, 959237},  {1360, 980968},
    {2371, 994229},    {3785, 998112}, {5868, 999382}, {8836, 999791}, {13305, 999931},
    {100000, 1000000},
};

/** A search application at Google. */
static const struct point w2[] = {
    {2, 75603},       {3, 132306},       {4, 151207},        {32, 189008},    {49, 285208},
    {64, 326436},     {128, 341703},     {183, 414985},      {256, 463840},   {341, 687120},
    {427, 821088},    {512, 910401},     {853, 948568},      {2560, 986736},  {4096, 995324},
    {6302, 997494},   {17246, 998926},   {65536, 999349},    {81920, 999558}, {119156, 999819},
    {262144, 999975}, {1297841, 999995}, {3529904, 1000000},
};

/** All applications of a Google data centre. */
static const struct point w3[] = {
    {3, 64883},        {32, 97324},         {64, 155271},      {96, 286139},      {186, 443028},
    {256, 497901},     {352, 654457},       {512, 784921},     {1271, 880957},    {4304, 937795},
    {15267, 983202},   {38322, 991229},     {77101, 994418},   {110247, 996397},  {171850, 997757},
    {389398, 999136},  {562492, 999534},    {1101312, 999771}, {2155839, 999892}, {4135977, 999952},
    {8231141, 999985}, {15158197, 1000000},
};

/** Hadoop at Facebook (Roy et al., SIGCOMM 2015). */
static const struct point w4[] = {
    {50, 0},           {217, 14900},        {300, 52000},      {326, 137500},
    {365, 189580},     {480, 263900},       {600, 459100},     {737, 552000},
    {885, 591200},     {1534, 646800},      {1664, 667300},    {7830, 708200},
    {31946, 721200},   {44260, 758400},     {51046, 816000},   {70722, 832700},
    {81565, 871700},   {184284, 925700},    {368444, 958150},  {895802, 971360},
    {2944602, 989600}, {4657379, 993500},   {6322443, 996100}, {7366423, 997400},
    {8582787, 998700}, {10000000, 1000000},
};

/** Web search (Alizadeh et al., Data Center TCP, SIGCOMM 2010). */
static const struct point w5[] = {
    {1460, 25000},      {4380, 75000},      {8760, 150000},      {18980, 200000},
    {27740, 300000},    {52560, 419500},    {77380, 530000},     {194180, 600000},
    {643860, 657678},   {1242460, 727628},  {1946180, 800000},   {2895180, 832500},
    {4209180, 877500},  {4866180, 900000},  {10707640, 905003},  {15573820, 930001},
    {18981460, 947506}, {24821460, 977507}, {29200000, 1000000},
};

static const struct {
    const struct point *points;
    unsigned count;
} distributions[SIZES_COUNT] = {
    {w1, sizeof w1 / sizeof *w1}, {w2, sizeof w2 / sizeof *w2}, {w3, sizeof w3 / sizeof *w3},
    {w4, sizeof w4 / sizeof *w4}, {w5, sizeof w5 / sizeof *w5},
};

/** The length that `ppm` of a million messages do not exceed. */
static uint64_t at(unsigned distribution, double ppm)
{
    const struct point *points = distributions[distribution].points;
    unsigned i = 0;

    while (points[i].ppm < ppm) {
        i++;
    }
    if (i == 0) {
        return points[0].bytes;
    }
    double share = (ppm - points[i - 1].ppm) / (double)(points[i].ppm - points[i - 1].ppm);
    return (uint64_t)ceil(
        points[i - 1].bytes * pow((double)points[i].bytes / points[i - 1].bytes, share) - 1e-6);
}

uint64_t sizes_draw(unsigned distribution, struct random *random)
{
    assert(distribution < SIZES_COUNT);
    return at(distribution, (double)random_below(random, UINT32_MAX) * 1e6 / UINT32_MAX);
}

uint64_t sizes_longest(unsigned distribution)
{
    return distributions[distribution].points[distributions[distribution].count - 1].bytes;
}

double sizes_mean(unsigned distribution, double (*amount)(void *context, uint64_t bytes),
                  void *context)
{
    const unsigned steps = 200000;
    double sum = 0;

    for (unsigned i = 0; i < steps; i++) {
        sum += amount(context, at(distribution, (i + 0.5) / steps * 1e6));
    }
    return sum / steps;
}
