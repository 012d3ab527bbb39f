/* SPDX-License-Identifier: BSD-3-Clause */
#include "job/job.h"
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/** A launcher of processes that all publish what this one does, but with their rank in front. */
struct board {
    char key[JOB_KEY_BYTES];
    char value[JOB_VALUE_BYTES];
    unsigned published;
    int status;
};

static int publish(void *context, const char *key, const char *value, struct reason reason)
{
    struct board *board = context;

    (void)snprintf(board->key, sizeof board->key, "%s", key);
    (void)snprintf(board->value, sizeof board->value, "%s", value);
    board->published++;
    return board->status == 0 ? 0 : reason_set(reason, board->status, "no");
}

static int look_up(void *context, uint32_t rank, const char *key, char value[JOB_VALUE_BYTES],
                   struct reason reason)
{
    const struct board *board = context;

    /* All but the rank is the same in the keys of all processes. */
    assert_memory_equal(key, board->key, strlen(board->key) - 1);
    assert_int_equal(key[strlen(key) - 1], '0' + (int)rank);
    (void)snprintf(value, JOB_VALUE_BYTES, "%02x%s", (unsigned)rank, board->value + 2);
    return 0;
}

static void close_board(void *context)
{
    ((struct board *)context)->published = 1000;
}

static const struct job_launcher launcher = {publish, look_up, close_board};

static int clean_environment(void **state)
{
    static const char *const names[] = {
        "PMI_FD",
        "PMI_RANK",
        "PMI_SIZE",
        "BEOWIRE_JOB_SOCKET",
        "PMIX_NAMESPACE",
        "PMIX_RANK",
        "SLURM_STEP_NUM_TASKS",
        "OMPI_COMM_WORLD_SIZE",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(unsetenv(names[i]), 0);
    }
    return 0;
}

TEST_AROUND(beowire_job_open__started_by_nobody, clean_environment, NULL)
{
    beowire_job *job = NULL;
    const char mine[4] = "abc";
    char all[4] = "";

    assert_int_equal(beowire_job_open(&job, NULL, 0), 0);
    assert_int_equal(beowire_job_rank(job), 0);
    assert_int_equal(beowire_job_size(job), 1);
    assert_int_equal(beowire_job_gather(job, mine, sizeof mine, all, NULL, 0), 0);
    assert_string_equal(all, "abc");
    beowire_job_close(job);
    beowire_job_close(NULL);
}

TEST_AROUND(beowire_job_open__started_with_others_that_cannot_be_found, clean_environment, NULL)
{
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    beowire_job *job = NULL;

    assert_int_equal(setenv("SLURM_STEP_NUM_TASKS", "2", 1), 0);
    assert_int_equal(beowire_job_open(&job, reason, sizeof reason), -ENOTSUP);
    assert_non_null(strstr(reason, "srun --mpi=pmi2"));
    assert_null(job);
    assert_int_equal(setenv("SLURM_STEP_NUM_TASKS", "1", 1), 0);
    assert_int_equal(beowire_job_open(&job, reason, sizeof reason), 0);
    beowire_job_close(job);
}

TEST_AROUND(beowire_job_open__launcher_is_asked_before_others, clean_environment, NULL)
{
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    beowire_job *job = NULL;
    char number[12];
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    close(ends[1]);
    (void)snprintf(number, sizeof number, "%d", ends[0]);
    assert_int_equal(setenv("PMI_FD", number, 1), 0);
    assert_int_equal(setenv("PMI_RANK", "0", 1), 0);
    assert_int_equal(setenv("PMI_SIZE", "2", 1), 0);
    assert_int_equal(setenv("PMIX_NAMESPACE", "outer", 1), 0);
    assert_int_equal(setenv("PMIX_RANK", "0", 1), 0);
    assert_int_equal(beowire_job_open(&job, reason, sizeof reason), -ECONNRESET);
    assert_non_null(strstr(reason, "has gone"));
    assert_int_equal(beowire_job_open(NULL, reason, sizeof reason), -EINVAL);
}

TEST(beowire_job_gather__in_the_order_of_ranks)
{
    struct board board = {.status = 0};
    beowire_job *job = calloc(1, sizeof *job);
    const uint8_t mine[3] = {2, 0xab, 0xcd};
    uint8_t all[4][3];

    assert_non_null(job);
    *job = (struct beowire_job){&launcher, &board, 2, 4, 0};
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal(beowire_job_gather(job, mine, sizeof mine, all, NULL, 0), 0);
        for (unsigned rank = 0; rank < 4; rank++) {
            assert_int_equal(all[rank][0], rank);
            assert_memory_equal(all[rank] + 1, mine + 1, 2);
        }
        assert_int_equal(board.key[strlen("beowire-")], '0' + (int)round); /* never used twice */
    }
    /* Nothing to hand over: only waits. */
    assert_int_equal(beowire_job_gather(job, NULL, 0, NULL, NULL, 0), 0);
    assert_int_equal(board.published, 3);
    beowire_job_close(job);
    assert_int_equal(board.published, 1000);
}

TEST(beowire_job_gather__refused)
{
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    struct board board = {.status = -ECONNRESET};
    struct beowire_job job = {&launcher, &board, 0, 2, 0};
    uint8_t mine[BEOWIRE_JOB_BYTES_MAX + 1] = {0};
    uint8_t all[2 * sizeof mine];

    assert_int_equal(beowire_job_gather(&job, mine, sizeof mine, all, NULL, 0), -EINVAL);
    assert_int_equal(beowire_job_gather(&job, NULL, 1, all, NULL, 0), -EINVAL);
    assert_int_equal(beowire_job_gather(&job, mine, 1, NULL, NULL, 0), -EINVAL);
    assert_int_equal(beowire_job_gather(NULL, mine, 1, all, NULL, 0), -EINVAL);
    assert_int_equal(board.published, 0);
    assert_int_equal(beowire_job_gather(&job, mine, 1, all, reason, sizeof reason), -ECONNRESET);
    assert_string_equal(reason, "no");
}

static int look_up_shorter(void *context, uint32_t rank, const char *key,
                           char value[JOB_VALUE_BYTES], struct reason reason)
{
    (void)snprintf(value, JOB_VALUE_BYTES, "00");
    return 0;
}

TEST(beowire_job_gather__of_different_lengths)
{
    static const struct job_launcher shorter = {publish, look_up_shorter, close_board};
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    struct board board = {.status = 0};
    struct beowire_job job = {&shorter, &board, 0, 2, 0};
    uint8_t all[2][2];

    assert_int_equal(beowire_job_gather(&job, "a", 2, all, reason, sizeof reason), -EPROTO);
    assert_string_equal(reason, "process 0 contributed another number of bytes");
}
