/* What a call costs: a rank sends to itself, again and again, and says how many
 * nanoseconds of its processor one took. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 300000;
    char out[8] = "", in[8];
    MPI_Init(&argc, &argv);
    double from = cpu();
    for (long i = 0; i < rounds; i++)
        MPI_Sendrecv(out, i % 3 ? 8 : 4, MPI_BYTE, 0, 0, in, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    printf("%.1f ns\n", (cpu() - from) / (double)rounds);
    MPI_Finalize();
    return 0;
}
