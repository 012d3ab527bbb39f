/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep.c - wave fronts: a system of five equations in 3-D by symmetric successive over-relaxation,
 * with the messages of the benchmark LU of NAS.
 *
 * Own code. The equations are simpler than LU's (each point is coupled to its neighbours by 5 x 5
 * blocks that depend on the solution; about half of LU's work), but grids, steps, division
 * among ranks and messages are LU's. The grid is cut along x and y. A sweep goes plane by plane
 * along z: a rank waits for a row of points from the rank before it in x and one from that in y,
 * computes its part of the plane, and hands on its last rows; so the ranks work on different planes
 * at a time. One sweep goes from the first corner to the last, one back. Then faces, two points
 * deep, are exchanged. That is what waves ask of a network: many short messages (40 bytes a point),
 * each of which somebody waits for.
 *
 * What a point becomes does not depend on how the grid is cut, so the norms of solution and
 * residual have to be those of one rank, which are written down here.
 */
#include "common/app.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PARTS 5
#define DEEP 2
#define RELAXATION 1.2
#define STEP 2.0
#define FOURTH 0.05
#define COUPLING 0.1
#define CHECKPOINTS 3
#define TOLERANCE_SOLUTION 1e-12
#define TOLERANCE_RESIDUAL 1e-9

enum { TAG_FROM_LOW = 1, TAG_FROM_HIGH = 2 };

/** Mean squares of each part of the solution and of the residual, under the root. */
struct norms {
    double solution[PARTS], residual[PARTS];
};

static const struct problem {
    int size, steps;
    /** After how many steps, and what one rank has then. */
    int checkpoint[CHECKPOINTS];
    struct norms norms[CHECKPOINTS];
} problems[] = {
    {12,
     50,
     {5, 20, 50},
     {
         {{1.1754623611426303, 2.189790262123946, 3.2889779774112506, 4.4100222214715687,
           5.5396697524331984},
          {0.010810513941513214, 0.042685496947997913, 0.083082935085236578, 0.12393157212639536,
           0.16489643128862574}},
         {{1.1829907211617245, 2.0758202934869878, 3.052637489395269, 4.0531671935391316,
           5.0633719853684163},
          {0.00037234313649922492, 0.0058772820415757846, 0.011767162562009558,
           0.017660964048003974, 0.023555743529522014}},
         {{1.1836633778091703, 2.0580572394621326, 3.0159031974198935, 3.9976588746267132,
           4.9892296746015852},
          {1.0782559107896495e-05, 0.00010620469225467589, 0.00022057990069686981,
           0.00033502900081113223, 0.00044949555396701739}},
     }},
    {33,
     300,
     {5, 50, 300},
     {
         {{1.1837919366999139, 2.2652306978853654, 3.4413007114146272, 4.640603922402522,
           5.8488659284810556},
          {0.0040779499957288128, 0.011716662052347422, 0.021848146219105, 0.032199590787075023,
           0.042610991898569893}},
         {{1.1967800929713013, 2.1306277526394028, 3.1609550774981288, 4.2176379332351406,
           5.2848909943371831},
          {0.00091277363338118276, 0.0050938240814732173, 0.0098854967822543261,
           0.01470242035457733, 0.019525916027812378}},
         {{1.2051255274414598, 2.0309344013509443, 2.9501534755657799, 3.8972375469423994,
           4.8559097444562154},
          {1.8467520699028936e-05, 2.5092175507788989e-05, 6.7166464603100567e-05,
           0.00010948150258133505, 0.00015183614059990788}},
     }},
    {64,
     250,
     {5, 50, 250},
     {
         {{1.1871582469919606, 2.2736020312179677, 3.45720937349143, 4.6645938805855156,
           5.8811295218075479},
          {0.0015265335810604127, 0.0048221526962340588, 0.0088591740455353299,
           0.012962473884408458, 0.017084362731177617}},
         {{1.1938829204250689, 2.2117402057353357, 3.3290278720552173, 4.4718287012637274,
           5.6246129483939713},
          {0.00089240958356032998, 0.0035274727893127469, 0.0066144066706661292,
           0.0097323341928677188, 0.012858729485818838}},
         {{1.2007490841641342, 2.0473918868582808, 2.9922122475761204, 3.9656475072345971,
           4.9508475627558823},
          {0.0002326693421611746, 0.0011649506748567281, 0.0022664301412028353,
           0.003375340212940366, 0.0044861740915024479}},
     }},
    {102,
     250,
     {5, 50, 250},
     {
         {{1.188849778300805, 2.2749690843280113, 3.4593056539925473, 4.6676865377459036,
           5.8853199025522329},
          {0.00081814137400990344, 0.002764136351204519, 0.0050346365559124006,
           0.0073342144606017394, 0.0096420879108190666}},
         {{1.1924834096028041, 2.2417873220380495, 3.3909535569140674, 4.5651816574884769,
           5.7491358497964997},
          {0.00061034015528527088, 0.0023154508637277123, 0.0042606749801102854,
           0.0062248398257749226, 0.0081943365450524528}},
         {{1.1964190424455181, 2.1120203136674904, 3.1287745966707408, 4.1733943666289584,
           5.2292064401070846},
          {0.00030135696314233988, 0.0014333199605150899, 0.0026876581340622469,
           0.0039494450785362385, 0.0052132750414265062}},
     }},
};

/** The weights of the parts in what couples them. */
static const double weight[PARTS] = {0.3, -0.2, 0.25, 0.15, -0.1};

struct grid {
    int size;
    /** Along x and y: points of this rank, the first one's number in the whole grid, those that are
     *  computed (the outermost of the whole grid are fixed), the ranks before and after, or
     *  MPI_PROC_NULL. */
    int own[2], first[2], begin[2], end[2], low[2], high[2];
    /** Solution, and residual or correction, with DEEP points more at each side along x and y. */
    double *u, *r;
    double *out, *in;
};

/** The five numbers of a point; i and j may be up to DEEP beyond this rank's. */
static double *at(const struct grid *grid, double *field, int i, int j, int k)
{
    int wide = grid->own[0] + 2 * DEEP, high = grid->own[1] + 2 * DEEP;

    return field + (size_t)PARTS * ((size_t)(i + DEEP) +
                                    (size_t)wide * ((size_t)(j + DEEP) + (size_t)high * (size_t)k));
}

/** Distances in memory between neighbours along x, y and z. */
static void strides_of(const struct grid *grid, ptrdiff_t stride[3])
{
    stride[0] = PARTS;
    stride[1] = stride[0] * (grid->own[0] + 2 * DEEP);
    stride[2] = stride[1] * (grid->own[1] + 2 * DEEP);
}

/** What couples the parts: grows with the solution. */
static double coupling(const double *u)
{
    double sum = 0.0;

    for (int m = 0; m < PARTS; m++) {
        sum += weight[m] * u[m];
    }
    return COUPLING * sum;
}

/** block = diagonal * 1 + factor * d(u coupling(u)) / du. */
static inline void make_block(const double *u, double diagonal, double factor,
                              double block[PARTS][PARTS])
{
    double sum = coupling(u);

    for (int m = 0; m < PARTS; m++) {
        for (int n = 0; n < PARTS; n++) {
            block[m][n] = factor * COUPLING * u[m] * weight[n];
        }
        block[m][m] += diagonal + factor * sum;
    }
}

/** sum += block of a neighbour * its correction. */
static inline void add_product(const double *u, double factor, const double *correction,
                               double sum[PARTS])
{
    double block[PARTS][PARTS];

    make_block(u, -1.0, factor, block);
    for (int m = 0; m < PARTS; m++) {
        for (int n = 0; n < PARTS; n++) {
            sum[m] += block[m][n] * correction[n];
        }
    }
}

/** Solves block * x = x by elimination; the diagonal is the greatest of each row. */
static inline void solve(double block[PARTS][PARTS], double x[PARTS])
{
    for (int pivot = 0; pivot < PARTS; pivot++) {
        double inverse = 1.0 / block[pivot][pivot];

        for (int m = pivot + 1; m < PARTS; m++) {
            double factor = block[m][pivot] * inverse;

            for (int n = pivot + 1; n < PARTS; n++) {
                block[m][n] -= factor * block[pivot][n];
            }
            x[m] -= factor * x[pivot];
        }
    }
    for (int m = PARTS - 1; m >= 0; m--) {
        for (int n = m + 1; n < PARTS; n++) {
            x[m] -= block[m][n] * x[n];
        }
        x[m] /= block[m][m];
    }
}

/** The diagonal block of a point: of this the sweeps take the inverse. */
static inline void solve_diagonal(const double *u, double x[PARTS])
{
    double block[PARTS][PARTS];

    make_block(u, 6.0 + 18.0 * FOURTH + 1.0 / STEP, 0.1, block);
    solve(block, x);
}

/** Part of a plane from the first corner on: r = D^-1 (r - L r). */
static void lower_plane(const struct grid *grid, int k)
{
    ptrdiff_t stride[3];

    strides_of(grid, stride);
    for (int j = grid->begin[1]; j < grid->end[1]; j++) {
        for (int i = grid->begin[0]; i < grid->end[0]; i++) {
            const double *u = at(grid, grid->u, i, j, k);
            double *r = at(grid, grid->r, i, j, k), sum[PARTS] = {0.0};

            for (int axis = 2; axis >= 0; axis--) {
                add_product(u - stride[axis], -0.5, r - stride[axis], sum);
            }
            for (int m = 0; m < PARTS; m++) {
                sum[m] = r[m] - RELAXATION * sum[m];
            }
            solve_diagonal(u, sum);
            memcpy(r, sum, sizeof sum);
        }
    }
}

/** Part of a plane from the last corner on: r = r - D^-1 U r. */
static void upper_plane(const struct grid *grid, int k)
{
    ptrdiff_t stride[3];

    strides_of(grid, stride);
    for (int j = grid->end[1] - 1; j >= grid->begin[1]; j--) {
        for (int i = grid->end[0] - 1; i >= grid->begin[0]; i--) {
            const double *u = at(grid, grid->u, i, j, k);
            double *r = at(grid, grid->r, i, j, k), sum[PARTS] = {0.0};

            for (int axis = 2; axis >= 0; axis--) {
                add_product(u + stride[axis], 0.5, r + stride[axis], sum);
            }
            solve_diagonal(u, sum);
            for (int m = 0; m < PARTS; m++) {
                r[m] -= RELAXATION * sum[m];
            }
        }
    }
}

/** Copies a row of a plane, across an axis, to a buffer or from it; how many doubles. */
static int copy_row(const struct grid *grid, double *field, int axis, int place, int k,
                    double *buffer, bool out)
{
    int along = 1 - axis, count = 0;

    for (int n = grid->begin[along]; n < grid->end[along]; n++, count += PARTS) {
        double *point = axis == 0 ? at(grid, field, place, n, k) : at(grid, field, n, place, k);

        memcpy(out ? buffer + count : point, out ? point : buffer + count, PARTS * sizeof *point);
    }
    return count;
}

/** Waits for the rows before the first ones of a plane, or after the last ones. */
static void receive_rows(const struct grid *grid, int k, bool back)
{
    for (int axis = 0; axis < 2; axis++) {
        int along = 1 - axis, from = back ? grid->high[axis] : grid->low[axis];
        int count = PARTS * (grid->end[along] - grid->begin[along]);

        if (from != MPI_PROC_NULL) {
            (void)MPI_Recv(grid->in, count, MPI_DOUBLE, from, back ? TAG_FROM_HIGH : TAG_FROM_LOW,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            (void)copy_row(grid, grid->r, axis, back ? grid->own[axis] : -1, k, grid->in, false);
        }
    }
}

static void send_rows(const struct grid *grid, int k, bool back)
{
    for (int axis = 0; axis < 2; axis++) {
        int to = back ? grid->low[axis] : grid->high[axis];

        if (to != MPI_PROC_NULL) {
            int count =
                copy_row(grid, grid->r, axis, back ? 0 : grid->own[axis] - 1, k, grid->out, true);

            (void)MPI_Send(grid->out, count, MPI_DOUBLE, to, back ? TAG_FROM_HIGH : TAG_FROM_LOW,
                           MPI_COMM_WORLD);
        }
    }
}

static void sweep(const struct grid *grid, bool back)
{
    for (int n = 1; n < grid->size - 1; n++) {
        int k = back ? grid->size - 1 - n : n;

        receive_rows(grid, k, back);
        if (back) {
            upper_plane(grid, k);
        } else {
            lower_plane(grid, k);
        }
        send_rows(grid, k, back);
    }
}

/** Copies a face, two points deep, to a buffer or from it; how many doubles. */
static int copy_face(const struct grid *grid, int axis, int first, double *buffer, bool out)
{
    int count = 0;

    for (int deep = 0; deep < DEEP; deep++) {
        for (int k = 0; k < grid->size; k++) {
            for (int n = 0; n < grid->own[1 - axis]; n++, count += PARTS) {
                double *point = axis == 0 ? at(grid, grid->u, first + deep, n, k)
                                          : at(grid, grid->u, n, first + deep, k);

                memcpy(out ? buffer + count : point, out ? point : buffer + count,
                       PARTS * sizeof *point);
            }
        }
    }
    return count;
}

/** Hands a face of the solution on to the next rank along an axis, or to the one before. */
static void pass_face(const struct grid *grid, int axis, bool back)
{
    int from = back ? grid->high[axis] : grid->low[axis];
    int to = back ? grid->low[axis] : grid->high[axis];
    int count = DEEP * PARTS * grid->own[1 - axis] * grid->size;
    int tag = back ? TAG_FROM_HIGH : TAG_FROM_LOW;
    MPI_Request request = MPI_REQUEST_NULL;

    if (from != MPI_PROC_NULL) {
        (void)MPI_Irecv(grid->in, count, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, &request);
    }
    if (to != MPI_PROC_NULL) {
        (void)copy_face(grid, axis, back ? 0 : grid->own[axis] - DEEP, grid->out, true);
        (void)MPI_Send(grid->out, count, MPI_DOUBLE, to, tag, MPI_COMM_WORLD);
    }
    if (from != MPI_PROC_NULL) {
        (void)MPI_Wait(&request, MPI_STATUS_IGNORE);
        (void)copy_face(grid, axis, back ? grid->own[axis] : -DEEP, grid->in, false);
    }
}

/** What one axis adds to the residual of a point.
 *  @param fourth whether two points are there at each side */
static inline void add_differences(const double *u, ptrdiff_t stride, bool fourth,
                                   double sum[PARTS])
{
    const double *low = u - stride, *high = u + stride;
    double coupling_low = coupling(low), coupling_high = coupling(high);

    for (int m = 0; m < PARTS; m++) {
        sum[m] += low[m] - 2.0 * u[m] + high[m];
        sum[m] -= 0.5 * (high[m] * coupling_high - low[m] * coupling_low);
    }
    if (fourth) {
        for (int m = 0; m < PARTS; m++) {
            sum[m] -= FOURTH * (low[m - stride] - 4.0 * low[m] + 6.0 * u[m] - 4.0 * high[m] +
                                high[m + stride]);
        }
    }
}

/** Exchanges faces, and has in r what the solution does not fulfil yet. */
static void find_residual(const struct grid *grid)
{
    int last = grid->size - 2;
    ptrdiff_t stride[3];

    for (int axis = 0; axis < 2; axis++) {
        pass_face(grid, axis, false);
        pass_face(grid, axis, true);
    }
    strides_of(grid, stride);
    for (int k = 1; k <= last; k++) {
        for (int j = grid->begin[1]; j < grid->end[1]; j++) {
            for (int i = grid->begin[0]; i < grid->end[0]; i++) {
                const double *u = at(grid, grid->u, i, j, k);
                int place[3] = {grid->first[0] + i, grid->first[1] + j, k};
                double sum[PARTS] = {0.0};

                for (int axis = 0; axis < 3; axis++) {
                    add_differences(u, stride[axis], place[axis] > 1 && place[axis] < last, sum);
                }
                memcpy(at(grid, grid->r, i, j, k), sum, sizeof sum);
            }
        }
    }
}

/** Does something to every point that is computed: the solution gets its correction. */
static void correct(const struct grid *grid)
{
    double factor = 1.0 / (RELAXATION * (2.0 - RELAXATION));

    for (int k = 1; k < grid->size - 1; k++) {
        for (int j = grid->begin[1]; j < grid->end[1]; j++) {
            double *u = at(grid, grid->u, 0, j, k);
            const double *r = at(grid, grid->r, 0, j, k);

            for (int n = PARTS * grid->begin[0]; n < PARTS * grid->end[0]; n++) {
                u[n] += factor * r[n];
            }
        }
    }
}

static void step(const struct grid *grid)
{
    sweep(grid, false);
    sweep(grid, true);
    correct(grid);
    find_residual(grid);
}

static void add_squares(const struct grid *grid, double *field, double sum[PARTS])
{
    for (int k = 1; k < grid->size - 1; k++) {
        for (int j = grid->begin[1]; j < grid->end[1]; j++) {
            for (int i = grid->begin[0]; i < grid->end[0]; i++) {
                const double *point = at(grid, field, i, j, k);

                for (int m = 0; m < PARTS; m++) {
                    sum[m] += point[m] * point[m];
                }
            }
        }
    }
}

static struct norms find_norms(const struct grid *grid)
{
    struct norms own = {{0.0}, {0.0}}, all;
    double inner = grid->size - 2.0, points = inner * inner * inner;

    add_squares(grid, grid->u, own.solution);
    add_squares(grid, grid->r, own.residual);
    (void)MPI_Allreduce(own.solution, all.solution, PARTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    (void)MPI_Allreduce(own.residual, all.residual, PARTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int m = 0; m < PARTS; m++) {
        all.solution[m] = sqrt(all.solution[m] / points);
        all.residual[m] = sqrt(all.residual[m] / points);
    }
    return all;
}

/** The solution to begin with: what is fixed at the boundary, and something else inside. */
static void begin(const struct grid *grid)
{
    double scale = 1.0 / (grid->size - 1);

    for (int k = 0; k < grid->size; k++) {
        for (int j = 0; j < grid->own[1]; j++) {
            for (int i = 0; i < grid->own[0]; i++) {
                double x = scale * (grid->first[0] + i), y = scale * (grid->first[1] + j);
                double z = scale * k, inside = x * (1 - x) * y * (1 - y) * z * (1 - z);
                double *u = at(grid, grid->u, i, j, k);

                for (int m = 0; m < PARTS; m++) {
                    u[m] = 1.0 + 0.5 * m + x * (m - 1.5) + y * (2.0 - z) + 0.3 * x * y * z +
                           40.0 * inside * (m + x - y);
                }
            }
        }
    }
    find_residual(grid);
}

static struct grid make_grid(const struct problem *problem)
{
    int log = app_log2_ranks(1 << 20), parts[2] = {1 << (log + 1) / 2, 1 << log / 2};
    int index[2] = {app_rank % parts[0], app_rank / parts[0]}, stride[2] = {1, parts[0]};
    struct grid grid = {.size = problem->size};
    size_t points = 0, face = 0;

    for (int axis = 0; axis < 2; axis++) {
        int each = problem->size / parts[axis], longer = problem->size % parts[axis];
        bool lowest = index[axis] == 0, highest = index[axis] == parts[axis] - 1;

        if (each < 3) {
            app_refuse("this class is too small for %d ranks: choose fewer, or a greater class",
                       app_ranks);
        }
        grid.own[axis] = each + (index[axis] < longer);
        grid.first[axis] = index[axis] * each + (index[axis] < longer ? index[axis] : longer);
        grid.begin[axis] = lowest ? 1 : 0;
        grid.end[axis] = grid.own[axis] - (highest ? 1 : 0);
        grid.low[axis] = lowest ? MPI_PROC_NULL : app_rank - stride[axis];
        grid.high[axis] = highest ? MPI_PROC_NULL : app_rank + stride[axis];
    }
    points =
        (size_t)(grid.own[0] + 2 * DEEP) * (size_t)(grid.own[1] + 2 * DEEP) * (size_t)grid.size;
    face = (size_t)(grid.own[0] > grid.own[1] ? grid.own[0] : grid.own[1]) * (size_t)grid.size;
    grid.u = app_memory(PARTS * points, sizeof(double));
    grid.r = app_memory(PARTS * points, sizeof(double));
    grid.out = app_memory(PARTS * DEEP * face, sizeof(double));
    grid.in = app_memory(PARTS * DEEP * face, sizeof(double));
    return grid;
}

/** How much the norms differ from those of one rank, as a part of what is allowed. */
static double deviation(const struct norms *found, const struct norms *expected)
{
    double worst = 0.0;

    for (int m = 0; m < PARTS; m++) {
        double solution = fabs(found->solution[m] / expected->solution[m] - 1.0);
        double residual = fabs(found->residual[m] / expected->residual[m] - 1.0);

        worst = fmax(worst, fmax(solution / TOLERANCE_SOLUTION, residual / TOLERANCE_RESIDUAL));
    }
    return isfinite(worst) ? worst : INFINITY;
}

/** Which of the checkpoints is reached within so many steps; the first one if none. */
static int checkpoint_of(const struct problem *problem, long steps)
{
    int which = 0;

    while (which + 1 < CHECKPOINTS && problem->checkpoint[which + 1] <= steps) {
        which++;
    }
    return which;
}

int main(int argc, char **argv)
{
    long class = 0, iterations = 0;
    const struct app_option options[] = {
        {"class", "size of the problem", "S|W|A|B", 0, 0, &class},
        {"iterations", "timed steps, not those of the class", NULL, 1, 1000000, &iterations},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "sweep", "wave fronts (messages of NAS LU): many short messages",
              options);
    const struct problem *problem = &problems[class];
    struct grid grid = make_grid(problem);
    struct norms found = {{0.0}, {0.0}};
    char check[APP_CHECK_BYTES];
    int which = 0;
    double off = 0.0;
    struct app_result result = {.unit = "steps/s", .check = check, .communication_share = -1.0};

    iterations = iterations > 0 ? iterations : problem->steps;
    which = checkpoint_of(problem, iterations);
    begin(&grid);
    step(&grid);
    begin(&grid);
    app_start_clock();
    for (long i = 1; i <= iterations; i++) {
        step(&grid);
        if (i == problem->checkpoint[which]) {
            found = find_norms(&grid);
        }
    }
    result.seconds = app_seconds();
    for (long i = iterations + 1; i <= problem->checkpoint[which]; i++) {
        step(&grid);
        found = find_norms(&grid);
    }
    off = deviation(&found, &problem->norms[which]);
    result.figure = (double)iterations / result.seconds;
    result.verified = off <= 1.0;
    (void)snprintf(check, sizeof check, "norms after %d steps, the first %.13g of %.13g",
                   problem->checkpoint[which], found.solution[0],
                   problem->norms[which].solution[0]);
    return app_report(&result);
}
