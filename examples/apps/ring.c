/* A token goes round all ranks; each adds its number. Rank 0 checks the sum.
 *
 *   mpirun ./ring [ROUNDS [MILLISECONDS]]
 *
 * MILLISECONDS is how long a rank holds the token each time: while one rank
 * holds it all others wait. Exit code 1 if the result is wrong. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void hold(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    if (ms > 0)
        nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
    int rank, size, length, wrong = 0;
    char host[MPI_MAX_PROCESSOR_NAME];
    long rounds = argc > 1 ? atol(argv[1]) : 10, ms = argc > 2 ? atol(argv[2]) : 0;
    long long token = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    printf("rank %d of %d on %s is process %d\n", rank, size, host, (int)getpid());
    fflush(stdout);

    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (long i = 0; i < rounds; i++) {
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_LONG_LONG, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        hold(ms);
        token += rank + 1;
        if (size > 1)
            MPI_Send(&token, 1, MPI_LONG_LONG, next, 0, MPI_COMM_WORLD);
        if (rank == 0 && size > 1)
            MPI_Recv(&token, 1, MPI_LONG_LONG, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
        long long want = (long long)rounds * size * (size + 1) / 2;
        wrong = token != want;
        printf("token %lld after %ld rounds of %d ranks: %s\n", token, rounds, size, wrong ? "wrong" : "right");
        fflush(stdout);
    }
    MPI_Finalize();
    return wrong;
}
