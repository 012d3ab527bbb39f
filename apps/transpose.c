/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transpose.c - a square matrix, cut into bands of rows, is transposed again and again.
 *
 * Own code. Each rank sends a block to each other one, all at once (alltoall), which is the hardest
 * that can be asked of a switch, and what is left of Fourier transforms without their computation.
 * Every element is a number of its own, so that in the end each has to be where it belongs.
 */
#include "common/app.h"

#include <stdint.h>
#include <stdio.h>

#define TILE 32

static const struct problem {
    int size, steps;
} problems[] = {{512, 50}, {1024, 50}, {2048, 20}, {4096, 20}};

struct matrix {
    /** Rows of all, and of this rank, which is also the size of a block. */
    int size, rows;
    /** The band of this rank, and the blocks that go to the ranks and come from them. */
    double *band, *out, *in;
    double seconds_communicating;
};

static double element(const struct matrix *matrix, int row, int column)
{
    return (double)row * matrix->size + column;
}

/** Copies blocks out of the band, each transposed: block n has columns n * rows and on. */
static void cut(const struct matrix *matrix)
{
    size_t rows = (size_t)matrix->rows, size = (size_t)matrix->size;

    for (size_t from = 0; from < size; from += TILE) {
        for (size_t row_from = 0; row_from < rows; row_from += TILE) {
            for (size_t column = from; column < from + TILE && column < size; column++) {
                double *to = matrix->out + column * rows; /* blocks follow one another */

                for (size_t row = row_from; row < row_from + TILE && row < rows; row++) {
                    to[row] = matrix->band[row * size + column];
                }
            }
        }
    }
}

/** Puts blocks side by side into the band. */
static void join(const struct matrix *matrix)
{
    size_t rows = (size_t)matrix->rows, size = (size_t)matrix->size;

    for (size_t rank = 0; rank < (size_t)app_ranks; rank++) {
        for (size_t row = 0; row < rows; row++) {
            const double *from = matrix->in + (rank * rows + row) * rows;
            double *to = matrix->band + row * size + rank * rows;

            for (size_t column = 0; column < rows; column++) {
                to[column] = from[column];
            }
        }
    }
}

static void transpose(struct matrix *matrix)
{
    int block = matrix->rows * matrix->rows;
    double began = 0.0;

    cut(matrix);
    began = MPI_Wtime();
    (void)MPI_Alltoall(matrix->out, block, MPI_DOUBLE, matrix->in, block, MPI_DOUBLE,
                       MPI_COMM_WORLD);
    matrix->seconds_communicating += MPI_Wtime() - began;
    join(matrix);
}

/** Fills the band, or counts elements that are not what the matrix, or its transpose, has there. */
static int64_t compare(const struct matrix *matrix, bool transposed, bool fill)
{
    int64_t wrong = 0;

    for (int row = 0; row < matrix->rows; row++) {
        double *at = matrix->band + (size_t)row * (size_t)matrix->size;
        int number = app_rank * matrix->rows + row;

        for (int column = 0; column < matrix->size; column++) {
            if (fill) {
                at[column] = element(matrix, number, column);
            } else {
                wrong += at[column] != (transposed ? element(matrix, column, number)
                                                   : element(matrix, number, column));
            }
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    long class = 0, iterations = 0;
    const struct app_option options[] = {
        {"class", "rows: 512, 1024, 2048, 4096, or so many that the ranks have equal parts",
         "S|W|A|B", 0, 0, &class},
        {"iterations", "how often it is transposed, not as for the class", NULL, 1, 100000000,
         &iterations},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "transpose", "transposes a matrix: all data between all ranks", options);
    struct matrix matrix = {.rows = (problems[class].size + app_ranks - 1) / app_ranks};
    char check[APP_CHECK_BYTES];
    int64_t wrong = 0, all = 0;
    size_t elements = 0;
    struct app_result result = {.unit = "MB/s", .check = check};

    iterations = iterations > 0 ? iterations : problems[class].steps;
    matrix.size = matrix.rows * app_ranks;
    elements = (size_t)matrix.rows * (size_t)matrix.size;
    matrix.band = app_memory(elements, sizeof(double));
    matrix.out = app_memory(elements, sizeof(double));
    matrix.in = app_memory(elements, sizeof(double));
    (void)compare(&matrix, false, true);
    transpose(&matrix);
    wrong = compare(&matrix, true, false);
    (void)compare(&matrix, false, true);
    matrix.seconds_communicating = 0.0;
    app_start_clock();
    for (long i = 0; i < iterations; i++) {
        transpose(&matrix);
    }
    result.seconds = app_seconds();
    result.communication_share = app_share(matrix.seconds_communicating);
    wrong += compare(&matrix, iterations % 2 == 1, false);
    (void)MPI_Allreduce(&wrong, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    result.figure = (double)matrix.size * matrix.size * sizeof(double) * (double)iterations /
                    result.seconds * 1e-6;
    result.verified = all == 0;
    (void)snprintf(check, sizeof check, "%lld of %lld elements wrong", (long long)all,
                   (long long)matrix.size * matrix.size);
    return app_report(&result);
}
