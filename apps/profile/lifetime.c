/* SPDX-License-Identifier: BSD-3-Clause */
/* lifetime.c - where a program begins and ends its use of MPI. */
#include "profile.h"

int MPI_Init(int *argc, char ***argv)
{
    int result = PMPI_Init(argc, argv);

    profile_begin();
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int result = PMPI_Init_thread(argc, argv, required, provided);

    profile_begin();
    return result;
}

int MPI_Finalize(void)
{
    profile_report();
    return PMPI_Finalize();
}
