/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cg.c - the kernel CG of the NAS Parallel Benchmarks: the smallest eigenvalue of a sparse matrix.
 *
 * Own code after the specification (RNR-94-007, section 2.4) and the published constants. The
 * matrix is cut into a grid of blocks, a rank each, as many rows of blocks as columns or half as
 * many. A product with it sums the parts along a row of the grid, pair by pair, and gives each rank
 * of a column the part of the vector that it multiplies next: messages of na / rows doubles, and
 * many of one double for the inner products. That is what CG asks of a network: the time of short
 * messages, one after the other.
 */
#include "common/app.h"
#include "common/random.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INNER_ITERATIONS 25
#define CONDITION 0.1
#define TOLERANCE 1e-10
/** Of the norm of x - A z, where x has norm 1; some 3e-13 are usual. */
#define RESIDUAL 1e-11
#define MOST_RANKS 65536
#define MOST_STEPS 16

enum { TAG_SUM = 1, TAG_TRANSPOSE = 100 };

static const struct problem {
    int size, nonzeros, iterations;
    double shift, zeta;
} problems[] = {
    {1400, 7, 15, 10.0, 8.5971775078648},
    {7000, 8, 15, 12.0, 10.362595087124},
    {14000, 11, 15, 20.0, 17.130235054029},
    {75000, 13, 75, 60.0, 22.712745482631},
};

/** A block of numbers `first` to `first + count - 1`. */
struct range {
    int first, count;
};

/** What this rank has. */
struct grid {
    struct range rows, columns;
    /** Columns of the grid: log2, and whether there are twice as many as rows. */
    int steps;
    bool wide;
    /** With whom partial sums are exchanged in each step, and who has what is multiplied next. */
    int partner[MOST_STEPS], transposed;
    /** The part of the rows that this rank has the sums of at the end; all unless it is wide. */
    struct range kept;
};

struct matrix {
    int rows;
    /** Elements of row r: from start[r] to start[r + 1] - 1. */
    int64_t *start;
    int *column;
    double *value;
};

struct vectors {
    double *x, *z, *p, *q, *r, *w;
    /** The greatest norm of a residual so far. */
    double residual;
};

/** The part of `whole` that is the index-th of so many, the first ones longer by one at most. */
static struct range share(int whole, int parts, int index)
{
    int each = whole / parts, longer = whole % parts;

    if (index < longer) {
        return (struct range){index * (each + 1), each + 1};
    }
    return (struct range){longer + index * each, each};
}

static struct range half(struct range whole, int which)
{
    int first = (whole.count + 1) / 2;

    return which == 0 ? (struct range){whole.first, first}
                      : (struct range){whole.first + first, whole.count - first};
}

static struct grid make_grid(int size)
{
    int log = app_log2_ranks(MOST_RANKS), columns = 1 << (log + 1) / 2, rows = 1 << log / 2;
    int row = app_rank / columns, column = app_rank % columns;
    struct grid grid = {.steps = (log + 1) / 2, .wide = columns != rows};

    if (rows * 4 > size) {
        app_refuse("this class is too small for %d ranks: choose fewer, or a greater class",
                   app_ranks);
    }
    grid.rows = share(size, rows, row);
    if (grid.wide) {
        grid.columns = half(share(size, rows, column / 2), column % 2);
        grid.kept = half((struct range){0, grid.rows.count}, column % 2);
        grid.transposed = 2 * (column / 2 * rows + row) + column % 2;
    } else {
        grid.columns = share(size, columns, column);
        grid.kept = (struct range){0, grid.rows.count};
        grid.transposed = column * rows + row;
    }
    for (int step = 0; step < grid.steps; step++) {
        grid.partner[step] = row * columns + (column ^ 1 << step);
    }
    return grid;
}

/** Makes a random sparse vector: its elements' places and values, `nonzeros` or one more of them.
 *  @param seen a mark for each place, none of them set */
static int sparse_vector(uint64_t *random, int size, int nonzeros, int own, int *place,
                         double *value, bool *seen)
{
    int found = 0, power = 2;
    bool has_own = false;

    while (power < size) {
        power *= 2;
    }
    while (found < nonzeros) {
        double element = random_next(random);
        int at = (int)(random_next(random) * power);

        if (at < size && !seen[at]) {
            seen[at] = true;
            place[found] = at;
            value[found++] = element;
        }
    }
    for (int i = 0; i < nonzeros; i++) {
        seen[place[i]] = false;
        if (place[i] == own) {
            value[i] = 0.5;
            has_own = true;
        }
    }
    if (!has_own) {
        place[found] = own;
        value[found++] = 0.5;
    }
    return found;
}

static bool inside(struct range range, int number)
{
    return number >= range.first && number < range.first + range.count;
}

/** Adds up the elements of a row that are at the same place. What is left is at the row's start,
 *  in the order in which the places came first.
 *  @param sum, used one of each for every column, all zero
 *  @param order room for as many places */
static int merge_row(int *column, double *value, int64_t count, double *sum, bool *used, int *order)
{
    int different = 0, left = 0;

    for (int64_t i = 0; i < count; i++) {
        sum[column[i]] += value[i];
        if (!used[column[i]]) {
            used[column[i]] = true;
            order[different++] = column[i];
        }
    }
    for (int i = 0; i < different; i++) {
        int at = order[i];

        if (sum[at] != 0.0) {
            column[left] = at;
            value[left++] = sum[at];
        }
        sum[at] = 0.0;
        used[at] = false;
    }
    return left;
}

static void merge(struct matrix *matrix, int columns)
{
    double *sum = app_memory((size_t)columns, sizeof *sum);
    bool *used = app_memory((size_t)columns, sizeof *used);
    int *order = app_memory((size_t)columns, sizeof *order);
    int64_t begin = matrix->start[0], at = 0;

    for (int row = 0; row < matrix->rows; row++) {
        int64_t end = matrix->start[row + 1];
        int left =
            merge_row(matrix->column + begin, matrix->value + begin, end - begin, sum, used, order);

        memmove(matrix->column + at, matrix->column + begin, (size_t)left * sizeof(int));
        memmove(matrix->value + at, matrix->value + begin, (size_t)left * sizeof(double));
        at += left;
        begin = end;
        matrix->start[row + 1] = at;
    }
    free(sum);
    free(used);
    free(order);
}

/** All the sparse vectors that the matrix is the sum of products of. */
struct generators {
    int *count, *place;
    double *value;
    int each;
};

/** Calls for every element that they give this block, in the order of the specification: counts
 *  the elements of each row, or puts them where they belong. */
static void scatter(const struct generators *from, const struct problem *problem,
                    const struct grid *grid, struct matrix *to, int64_t *next, bool count_only)
{
    double scale = 1.0, ratio = pow(CONDITION, 1.0 / problem->size);

    for (int vector = 0; vector < problem->size; vector++) {
        const int *place = from->place + (size_t)vector * (size_t)from->each;
        const double *value = from->value + (size_t)vector * (size_t)from->each;

        for (int i = 0; i < from->count[vector]; i++) {
            double factor = scale * value[i];

            if (!inside(grid->columns, place[i])) {
                continue;
            }
            for (int j = 0; j < from->count[vector]; j++) {
                if (inside(grid->rows, place[j])) {
                    int64_t at = next[place[j] - grid->rows.first]++;

                    if (!count_only) {
                        to->column[at] = place[i] - grid->columns.first;
                        to->value[at] = value[j] * factor;
                    }
                }
            }
        }
        scale *= ratio;
    }
    for (int row = 0; row < grid->rows.count; row++) {
        if (inside(grid->columns, row + grid->rows.first)) {
            int64_t at = next[row]++;

            if (!count_only) {
                to->column[at] = row + grid->rows.first - grid->columns.first;
                to->value[at] = CONDITION - problem->shift;
            }
        }
    }
}

/** The block of the matrix that is this rank's. */
static struct matrix make_matrix(const struct problem *problem, const struct grid *grid)
{
    size_t size = (size_t)problem->size, rows = (size_t)grid->rows.count;
    struct generators from = {.each = problem->nonzeros + 1};
    struct matrix matrix = {.rows = grid->rows.count};
    uint64_t random = 314159265;
    bool *seen = app_memory(size, sizeof *seen);
    int64_t *next = app_memory(rows + 1, sizeof *next), elements = 0;

    from.count = app_memory(size, sizeof *from.count);
    from.place = app_memory(size * (size_t)from.each, sizeof *from.place);
    from.value = app_memory(size * (size_t)from.each, sizeof *from.value);
    (void)random_next(&random);
    for (int i = 0; i < problem->size; i++) {
        size_t at = (size_t)i * (size_t)from.each;

        from.count[i] = sparse_vector(&random, problem->size, problem->nonzeros, i, from.place + at,
                                      from.value + at, seen);
    }
    scatter(&from, problem, grid, &matrix, next, true);
    matrix.start = app_memory(rows + 1, sizeof *matrix.start);
    for (size_t row = 0; row < rows; row++) {
        int64_t count = next[row];

        matrix.start[row] = next[row] = elements;
        elements += count;
    }
    matrix.start[rows] = elements;
    matrix.column = app_memory((size_t)elements, sizeof *matrix.column);
    matrix.value = app_memory((size_t)elements, sizeof *matrix.value);
    scatter(&from, problem, grid, &matrix, next, false);
    merge(&matrix, grid->columns.count);
    free(from.count);
    free(from.place);
    free(from.value);
    free(seen);
    free(next);
    return matrix;
}

/** Exchanges doubles with one rank. */
static void exchange(const double *out, int out_count, double *in, int in_count, int with, int tag)
{
    MPI_Request request;

    (void)MPI_Irecv(in, in_count, MPI_DOUBLE, with, tag, MPI_COMM_WORLD, &request);
    (void)MPI_Send(out, out_count, MPI_DOUBLE, with, tag, MPI_COMM_WORLD);
    (void)MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/** Sums of one or two numbers over the ranks of a row of the grid. */
static void sum_up(const struct grid *grid, double *numbers, int count)
{
    for (int step = grid->steps - 1; step >= 0; step--) {
        double theirs[2] = {0.0, 0.0};

        exchange(numbers, count, theirs, count, grid->partner[step], TAG_SUM + step);
        for (int i = 0; i < count; i++) {
            numbers[i] += theirs[i];
        }
    }
}

static double product(const double *a, const double *b, int count)
{
    double sum = 0.0;

    for (int i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/** What this rank's block of the matrix makes of its part of a vector. */
static void multiply(const struct matrix *matrix, const double *restrict vector,
                     double *restrict result)
{
    const int *restrict column = matrix->column;
    const double *restrict value = matrix->value;

    for (int row = 0; row < matrix->rows; row++) {
        int64_t end = matrix->start[row + 1];
        double sum = 0.0;

        for (int64_t i = matrix->start[row]; i < end; i++) {
            sum += value[i] * vector[column[i]];
        }
        result[row] = sum;
    }
}

/** Multiplies a vector, distributed over the columns of the grid, by the matrix. The product is
 *  distributed in the same way.
 *  @param work room for a row of blocks */
static void multiply_all(const struct grid *grid, const struct matrix *matrix, const double *vector,
                         double *result, double *work)
{
    struct range kept = grid->kept;

    multiply(matrix, vector, work);
    for (int step = 0; step < grid->steps; step++) {
        /* The first partner of a wide grid needs the half of the rows that is not kept here. */
        bool first = grid->wide && step == 0;
        int out = !first ? kept.first : kept.first == 0 ? kept.count : 0;
        int out_count = first ? grid->rows.count - kept.count : kept.count;

        exchange(work + out, out_count, result, kept.count, grid->partner[step], TAG_SUM + step);
        for (int i = 0; i < kept.count; i++) {
            work[kept.first + i] += result[i];
        }
    }
    if (grid->steps > 0) {
        exchange(work + kept.first, kept.count, result, grid->columns.count, grid->transposed,
                 TAG_TRANSPOSE);
    } else {
        memcpy(result, work, (size_t)grid->columns.count * sizeof *result);
    }
}

/** Solves A z = x by so many steps of the method of conjugate gradients; the norm of x - A z. */
static double conjugate_gradients(const struct grid *grid, const struct matrix *matrix,
                                  const struct vectors *v)
{
    double *restrict z = v->z, *restrict p = v->p, *restrict q = v->q, *restrict r = v->r;
    const double *restrict x = v->x;
    int count = grid->columns.count;
    double rho = 0.0, residual = 0.0;

    for (int i = 0; i < count; i++) {
        z[i] = 0.0;
        r[i] = p[i] = x[i];
    }
    rho = product(r, r, count);
    sum_up(grid, &rho, 1);
    for (int step = 0; step < INNER_ITERATIONS; step++) {
        double before = rho, direction = 0.0, alpha = 0.0, beta = 0.0;

        multiply_all(grid, matrix, p, q, v->w);
        direction = product(p, q, count);
        sum_up(grid, &direction, 1);
        alpha = rho / direction;
        rho = 0.0;
        for (int i = 0; i < count; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            rho += r[i] * r[i];
        }
        sum_up(grid, &rho, 1);
        beta = rho / before;
        for (int i = 0; i < count; i++) {
            p[i] = r[i] + beta * p[i];
        }
    }
    /* The benchmark finds the residual anew, and only prints it. The later steps of the power
     * method mend what went wrong in an earlier one, so here it has to be small each time. */
    multiply_all(grid, matrix, z, r, v->w);
    for (int i = 0; i < count; i++) {
        residual += (x[i] - r[i]) * (x[i] - r[i]);
    }
    sum_up(grid, &residual, 1);
    return sqrt(residual);
}

/** One step of the inverse power method; the estimate of the eigenvalue. */
static double power_step(const struct grid *grid, const struct matrix *matrix, struct vectors *v,
                         double shift)
{
    int count = grid->columns.count;
    double norms[2], scale = 0.0, residual = conjugate_gradients(grid, matrix, v);

    v->residual = residual <= v->residual ? v->residual : residual; /* also if it is no number */
    norms[0] = product(v->x, v->z, count);
    norms[1] = product(v->z, v->z, count);
    sum_up(grid, norms, 2);
    scale = 1.0 / sqrt(norms[1]);
    for (int i = 0; i < count; i++) {
        v->x[i] = scale * v->z[i];
    }
    return shift + 1.0 / norms[0];
}

static void set_ones(double *x, int count)
{
    for (int i = 0; i < count; i++) {
        x[i] = 1.0;
    }
}

/** Operations of so many iterations, as the benchmark counts them. */
static double operations(const struct problem *problem, long iterations)
{
    double row = problem->nonzeros * (problem->nonzeros + 1.0);

    return 2.0 * (double)iterations * problem->size *
           (3.0 + row + INNER_ITERATIONS * (5.0 + row) + 3.0);
}

int main(int argc, char **argv)
{
    long class = 0, iterations = 0;
    const struct app_option options[] = {
        {"class", "size of the problem", "S|W|A|B", 0, 0, &class},
        {"iterations", "timed steps, not those of the class", NULL, 1, 1000000, &iterations},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "cg", "conjugate gradients (NAS CG): short messages and inner products",
              options);
    const struct problem *problem = &problems[class];
    struct grid grid = make_grid(problem->size);
    struct matrix matrix = make_matrix(problem, &grid);
    size_t room = (size_t)grid.rows.count + (size_t)grid.columns.count;
    struct vectors v = {0};
    char check[APP_CHECK_BYTES];
    double zeta = 0.0, checked = 0.0;
    struct app_result result = {.unit = "MOP/s", .check = check, .communication_share = -1.0};

    double **const all[] = {&v.x, &v.z, &v.p, &v.q, &v.r, &v.w};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i] = app_memory(room, sizeof(double));
    }
    iterations = iterations > 0 ? iterations : problem->iterations;
    set_ones(v.x, grid.columns.count);
    (void)power_step(&grid, &matrix, &v, problem->shift);
    set_ones(v.x, grid.columns.count);
    v.residual = 0.0;
    app_start_clock();
    for (long i = 1; i <= iterations; i++) {
        zeta = power_step(&grid, &matrix, &v, problem->shift);
        checked = i == problem->iterations ? zeta : checked;
    }
    result.seconds = app_seconds();
    for (long i = iterations + 1; i <= problem->iterations; i++) {
        checked = power_step(&grid, &matrix, &v, problem->shift);
    }
    result.figure = operations(problem, iterations) / result.seconds * 1e-6;
    result.verified = app_agrees(checked, problem->zeta, TOLERANCE) && v.residual <= RESIDUAL;
    (void)snprintf(check, sizeof check, "zeta %.13g of %.13g, residuals up to %.1e", checked,
                   problem->zeta, v.residual);
    return app_report(&result);
}
