/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft.c - the kernel FT of the NAS Parallel Benchmarks: a differential equation by 3-D Fourier
 * transforms.
 *
 * Own code after the specification (RNR-94-007, section 2.3) and the published constants. A rank
 * has planes of x and y, one after the other along z. It transforms along x and y where the planes
 * are, then all ranks exchange all data, so that each has all of z for a band of rows, and
 * transforms along z; the other way round on the way back. So an alltoall of everything for each
 * step, with messages of 16 nx ny nz / ranks^2 bytes.
 *
 * A line's elements lie apart along y and z, and those of its neighbours beside them: lines are
 * transformed LINES at a time, and read from and written to where the messages are, so that nothing
 * is only copied.
 */
#include "common/app.h"
#include "common/random.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TOLERANCE 1e-12
#define DIFFUSION 1e-6
#define PI 3.14159265358979323846
#define LINES 16
#define MOST_SIZE 512
#define MOST_CHECKS 20
#define SUMMANDS 1024

struct number {
    double re, im;
};

static const struct problem {
    int size[3], iterations;
    struct number sums[MOST_CHECKS];
} problems[] = {
    {{64, 64, 64},
     6,
     {{5.546087004964e+02, 4.845363331978e+02},
      {5.546385409189e+02, 4.865304269511e+02},
      {5.546148406171e+02, 4.883910722336e+02},
      {5.545423607415e+02, 4.901273169046e+02},
      {5.544255039624e+02, 4.917475857993e+02},
      {5.542683411902e+02, 4.932597244941e+02}}},
    {{128, 128, 32},
     6,
     {{5.673612178944e+02, 5.293246849175e+02},
      {5.631436885271e+02, 5.282149986629e+02},
      {5.594024089970e+02, 5.270996558037e+02},
      {5.560698047020e+02, 5.260027904925e+02},
      {5.530898991250e+02, 5.249400845633e+02},
      {5.504159734538e+02, 5.239212247086e+02}}},
    {{256, 256, 128},
     6,
     {{5.046735008193e+02, 5.114047905510e+02},
      {5.059412319734e+02, 5.098809666433e+02},
      {5.069376896287e+02, 5.098144042213e+02},
      {5.077892868474e+02, 5.101336130759e+02},
      {5.085233095391e+02, 5.104914655194e+02},
      {5.091487099959e+02, 5.107917842803e+02}}},
    {{512, 256, 256},
     20,
     {{5.177643571579e+02, 5.077803458597e+02}, {5.154521291263e+02, 5.088249431599e+02},
      {5.146409228649e+02, 5.096208912659e+02}, {5.142378756213e+02, 5.101023387619e+02},
      {5.139626667737e+02, 5.103976610617e+02}, {5.137423460082e+02, 5.105948019802e+02},
      {5.135547056878e+02, 5.107404165783e+02}, {5.133910925466e+02, 5.108576573661e+02},
      {5.132470705390e+02, 5.109577278523e+02}, {5.131197729984e+02, 5.110460304483e+02},
      {5.130070319283e+02, 5.111252433800e+02}, {5.129070537032e+02, 5.111968077718e+02},
      {5.128182883502e+02, 5.112616233064e+02}, {5.127393733383e+02, 5.113203605551e+02},
      {5.126691062020e+02, 5.113735928093e+02}, {5.126064276004e+02, 5.114218460548e+02},
      {5.125504076570e+02, 5.114656139760e+02}, {5.125002331720e+02, 5.115053595966e+02},
      {5.124551951846e+02, 5.115415130407e+02}, {5.124146770029e+02, 5.115744692211e+02}}},
};

/** Along x, y or z. */
struct axis {
    int size;
    /** The roots of unity of order `size`. */
    struct number root[MOST_SIZE];
    /** By what one step multiplies the wave of each number. */
    double decay[MOST_SIZE];
};

struct spectrum {
    const struct problem *problem;
    struct axis axis[3];
    /** Planes along z, and rows along y, of this rank. */
    int planes, rows;
    size_t own;
    /** Where the elements of a line are: along y in the planes and in the messages (for the first
     *  plane), along z in the spectrum. */
    size_t y_plane[MOST_SIZE], y_message[MOST_SIZE], z_line[MOST_SIZE];
    /** Planes; waves, band of rows after band; what is sent and received, one and the same if there
     *  is one rank. */
    struct number *space, *waves, *out, *in;
};

/** Lines that are transformed together: element i of line l is re[i][l], im[i][l]. */
struct lines {
    double re[MOST_SIZE][LINES], im[MOST_SIZE][LINES];
};

/** One step of a transform of radix 4 that sorts itself (Stockham): `length` is what is left to
 *  transform of each line, `stride` how much has been. */
static void step_of_four(const struct axis *axis, int length, int stride,
                         double (*restrict re)[LINES], double (*restrict im)[LINES],
                         double (*restrict to_re)[LINES], double (*restrict to_im)[LINES])
{
    int quarter = length / 4, unit = axis->size / length;

    for (int p = 0; p < quarter; p++) {
        struct number w1 = axis->root[p * unit], w2 = axis->root[2 * p * unit];
        struct number w3 = axis->root[3 * p * unit];

        for (int q = 0; q < stride; q++) {
            int a = q + stride * p, b = a + stride * quarter;
            int c = b + stride * quarter, d = c + stride * quarter, to = q + stride * 4 * p;

            for (int l = 0; l < LINES; l++) {
                double ac_re = re[a][l] + re[c][l], ac_im = im[a][l] + im[c][l];
                double bd_re = re[b][l] + re[d][l], bd_im = im[b][l] + im[d][l];
                double a_c_re = re[a][l] - re[c][l], a_c_im = im[a][l] - im[c][l];
                double b_d_re = re[b][l] - re[d][l], b_d_im = im[b][l] - im[d][l];
                double one_re = a_c_re + b_d_im, one_im = a_c_im - b_d_re;
                double two_re = ac_re - bd_re, two_im = ac_im - bd_im;
                double three_re = a_c_re - b_d_im, three_im = a_c_im + b_d_re;

                to_re[to][l] = ac_re + bd_re;
                to_im[to][l] = ac_im + bd_im;
                to_re[to + stride][l] = one_re * w1.re - one_im * w1.im;
                to_im[to + stride][l] = one_re * w1.im + one_im * w1.re;
                to_re[to + 2 * stride][l] = two_re * w2.re - two_im * w2.im;
                to_im[to + 2 * stride][l] = two_re * w2.im + two_im * w2.re;
                to_re[to + 3 * stride][l] = three_re * w3.re - three_im * w3.im;
                to_im[to + 3 * stride][l] = three_re * w3.im + three_im * w3.re;
            }
        }
    }
}

/** The last step, of radix 2, if one is left. */
static void step_of_two(int stride, double (*restrict re)[LINES], double (*restrict im)[LINES],
                        double (*restrict to_re)[LINES], double (*restrict to_im)[LINES])
{
    for (int q = 0; q < stride; q++) {
        for (int l = 0; l < LINES; l++) {
            to_re[q][l] = re[q][l] + re[q + stride][l];
            to_im[q][l] = im[q][l] + im[q + stride][l];
            to_re[q + stride][l] = re[q][l] - re[q + stride][l];
            to_im[q + stride][l] = im[q][l] - im[q + stride][l];
        }
    }
}

static struct lines scratch[2];

/** Transforms scratch[0]; which of scratch has the result. The way back is the way there with real
 *  and imaginary parts changed. */
static int transform(const struct axis *axis, bool back)
{
    int now = 0, length = axis->size, stride = 1;

    for (; length > 1; now = !now) {
        struct lines *from = &scratch[now], *to = &scratch[!now];
        double(*re)[LINES] = back ? from->im : from->re, (*im)[LINES] = back ? from->re : from->im;
        double(*to_re)[LINES] = back ? to->im : to->re, (*to_im)[LINES] = back ? to->re : to->im;

        if (length >= 4) {
            step_of_four(axis, length, stride, re, im, to_re, to_im);
            length /= 4;
            stride *= 4;
        } else {
            step_of_two(stride, re, im, to_re, to_im);
            length /= 2;
            stride *= 2;
        }
    }
    return now;
}

/** Transforms lines side by side, whose elements are at the places `from_at` and go to `to_at`. */
static void transform_beside(const struct axis *axis, bool back, const struct number *from,
                             const size_t *from_at, struct number *to, const size_t *to_at)
{
    const struct lines *done = NULL;

    for (int i = 0; i < axis->size; i++) {
        const struct number *element = from + from_at[i];

        for (int l = 0; l < LINES; l++) {
            scratch[0].re[i][l] = element[l].re;
            scratch[0].im[i][l] = element[l].im;
        }
    }
    done = &scratch[transform(axis, back)];
    for (int i = 0; i < axis->size; i++) {
        struct number *element = to + to_at[i];

        for (int l = 0; l < LINES; l++) {
            element[l] = (struct number){done->re[i][l], done->im[i][l]};
        }
    }
}

/** Transforms lines along x, one below the other, where they are. */
static void transform_rows(const struct axis *axis, bool back, struct number *rows)
{
    const struct lines *done = NULL;

    for (int l = 0; l < LINES; l++) {
        const struct number *row = rows + (size_t)l * (size_t)axis->size;

        for (int i = 0; i < axis->size; i++) {
            scratch[0].re[i][l] = row[i].re;
            scratch[0].im[i][l] = row[i].im;
        }
    }
    done = &scratch[transform(axis, back)];
    for (int l = 0; l < LINES; l++) {
        struct number *row = rows + (size_t)l * (size_t)axis->size;

        for (int i = 0; i < axis->size; i++) {
            row[i] = (struct number){done->re[i][l], done->im[i][l]};
        }
    }
}

static void transform_planes_along_x(const struct spectrum *s, bool back)
{
    size_t each = (size_t)LINES * (size_t)s->axis[0].size;

    for (size_t at = 0; at < s->own; at += each) {
        transform_rows(&s->axis[0], back, s->space + at);
    }
}

static void transform_planes_along_y(const struct spectrum *s, bool back)
{
    size_t width = (size_t)s->axis[0].size, plane = width * (size_t)s->axis[1].size;
    size_t band = width * (size_t)s->rows;

    for (size_t z = 0; z < (size_t)s->planes; z++) {
        for (size_t x = 0; x < width; x += LINES) {
            if (back) {
                transform_beside(&s->axis[1], back, s->in + z * band + x, s->y_message,
                                 s->space + z * plane + x, s->y_plane);
            } else {
                transform_beside(&s->axis[1], back, s->space + z * plane + x, s->y_plane,
                                 s->out + z * band + x, s->y_message);
            }
        }
    }
}

static void exchange(const struct spectrum *s)
{
    int count = (int)(2 * s->own / (size_t)app_ranks);

    if (app_ranks > 1) {
        (void)MPI_Alltoall(s->out, count, MPI_DOUBLE, s->in, count, MPI_DOUBLE, MPI_COMM_WORLD);
    }
}

/** The waves that the planes consist of. */
static void to_waves(const struct spectrum *s)
{
    size_t band = s->own / (size_t)s->axis[2].size;

    transform_planes_along_x(s, false);
    transform_planes_along_y(s, false);
    exchange(s);
    for (size_t at = 0; at < band; at += LINES) {
        transform_beside(&s->axis[2], false, s->in + at, s->z_line, s->waves + at, s->z_line);
    }
}

/** The planes that the waves make. */
static void to_space(const struct spectrum *s)
{
    size_t band = s->own / (size_t)s->axis[2].size;

    for (size_t at = 0; at < band; at += LINES) {
        transform_beside(&s->axis[2], true, s->waves + at, s->z_line, s->out + at, s->z_line);
    }
    exchange(s);
    transform_planes_along_y(s, true);
    transform_planes_along_x(s, true);
}

/** One step in time: every wave decays as its number has it. */
static void decay(const struct spectrum *s)
{
    struct number *wave = s->waves;
    int width = s->axis[0].size;

    for (int z = 0; z < s->axis[2].size; z++) {
        for (int y = 0; y < s->rows; y++) {
            double common = s->axis[2].decay[z] * s->axis[1].decay[app_rank * s->rows + y];

            for (int x = 0; x < width; x++) {
                double factor = common * s->axis[0].decay[x];

                wave[x].re *= factor;
                wave[x].im *= factor;
            }
            wave += width;
        }
    }
}

static void make_axis(struct axis *axis, int size)
{
    axis->size = size;
    for (int i = 0; i < size; i++) {
        int wave = i < size / 2 ? i : i - size;

        axis->root[i] = (struct number){cos(2 * PI * i / size), -sin(2 * PI * i / size)};
        axis->decay[i] = exp(-4 * DIFFUSION * PI * PI * wave * wave);
    }
}

static struct spectrum make_spectrum(const struct problem *problem)
{
    const int *size = problem->size;
    int log = app_log2_ranks(1 << 20);
    struct spectrum s = {.problem = problem};
    size_t width = (size_t)size[0];

    if (app_ranks > size[2]) {
        app_refuse("this class is too small for %d ranks: choose at most %d, or a greater class",
                   app_ranks, size[2]);
    }
    s.planes = size[2] >> log;
    s.rows = size[1] >> log;
    s.own = width * (size_t)size[1] * (size_t)s.planes;
    for (int y = 0; y < size[1]; y++) {
        int rank = y / s.rows;

        s.y_plane[y] = (size_t)y * width;
        s.y_message[y] = (size_t)rank * (s.own / (size_t)app_ranks) + (size_t)(y % s.rows) * width;
    }
    for (int z = 0; z < size[2]; z++) {
        s.z_line[z] = (size_t)z * (size_t)s.rows * width;
    }
    s.space = app_memory(s.own, sizeof *s.space);
    s.waves = app_memory(s.own, sizeof *s.waves);
    s.out = app_memory(s.own, sizeof *s.out);
    s.in = app_ranks > 1 ? app_memory(s.own, sizeof *s.in) : s.out;
    return s;
}

/** Fills the planes with random numbers, and finds the waves. */
static void begin(struct spectrum *s)
{
    uint64_t state = random_skip(314159265, 2 * (uint64_t)app_rank * s->own);

    for (int axis = 0; axis < 3; axis++) {
        make_axis(&s->axis[axis], s->problem->size[axis]);
    }
    for (size_t i = 0; i < s->own; i++) {
        s->space[i].re = random_next(&state);
        s->space[i].im = random_next(&state);
    }
    to_waves(s);
}

/** Sum of some points of all planes, known to rank 0 only. */
static struct number sum_points(const struct spectrum *s)
{
    const int *size = s->problem->size;
    double points = (double)size[0] * size[1] * size[2];
    struct number own = {0.0, 0.0}, sum = {0.0, 0.0};

    for (int j = 1; j <= SUMMANDS; j++) {
        int x = j % size[0], y = 3 * j % size[1], z = 5 * j % size[2] - app_rank * s->planes;

        if (z >= 0 && z < s->planes) {
            size_t at = (size_t)x + (size_t)size[0] * ((size_t)y + (size_t)size[1] * (size_t)z);

            own.re += s->space[at].re;
            own.im += s->space[at].im;
        }
    }
    (void)MPI_Reduce(&own, &sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return (struct number){sum.re / points, sum.im / points};
}

/** Relative difference of two complex numbers. */
static double difference(struct number a, struct number b)
{
    return hypot(a.re - b.re, a.im - b.im) / hypot(b.re, b.im);
}

static double operations(const struct problem *problem, long iterations)
{
    double points = (double)problem->size[0] * problem->size[1] * problem->size[2];

    return points * (14.8157 + 7.19641 * log(points) +
                     (5.23518 + 7.21113 * log(points)) * (double)iterations);
}

int main(int argc, char **argv)
{
    long class = 0, iterations = 0, compared = 0;
    const struct app_option options[] = {
        {"class", "size of the problem", "S|W|A|B", 0, 0, &class},
        {"iterations", "timed steps, not those of the class", NULL, 1, 1000000, &iterations},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "ft", "Fourier transforms (NAS FT): all data between all ranks", options);
    const struct problem *problem = &problems[class];
    struct number sums[MOST_CHECKS];
    struct spectrum s = make_spectrum(problem);
    char check[APP_CHECK_BYTES];
    double worst = 0.0;
    struct app_result result = {.unit = "MOP/s", .check = check, .communication_share = -1.0};

    iterations = iterations > 0 ? iterations : problem->iterations;
    compared = iterations < problem->iterations ? iterations : problem->iterations;
    begin(&s);
    app_start_clock();
    begin(&s);
    for (long i = 0; i < iterations; i++) {
        struct number sum;

        decay(&s);
        to_space(&s);
        sum = sum_points(&s);
        if (i < compared) {
            sums[i] = sum;
        }
    }
    result.seconds = app_seconds();
    for (long i = 0; i < compared; i++) {
        double now = difference(sums[i], problem->sums[i]);

        worst = now > worst ? now : worst;
    }
    result.figure = operations(problem, iterations) / result.seconds * 1e-6;
    result.verified = worst <= TOLERANCE;
    (void)snprintf(check, sizeof check,
                   "%ld checksums, the last %.13g%+.13gi, off by %.1e (at most %.0e)", compared,
                   sums[compared - 1].re, sums[compared - 1].im, worst, TOLERANCE);
    return app_report(&result);
}
