/* What the small kernels bt, cg, is, lu and mg share. Each does the communication of the
 * NAS benchmark of that name in a program of a hundred lines:
 *
 *   mpirun -n 4 ./cg [SIZE [ITERATIONS]]
 *
 * checks its own result, and ends with exit code 1 if that is wrong. With
 * KERNEL_COUNT=1 each rank also prints how many bytes it sent to whom. */
#ifndef KERNEL_H
#define KERNEL_H

#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static long long *sent; /* bytes, to each rank */

static void *room(size_t n)
{
    void *p = calloc(n ? n : 1, 1);
    if (!p) {
        fprintf(stderr, "not enough memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return p;
}

/* begin starts MPI and reads the arguments. */
static void begin(int *argc, char ***argv, int *size, int least, int *iterations)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    sent = room((size_t)ranks * sizeof *sent);
    if (*argc > 1)
        *size = atoi((*argv)[1]);
    if (*argc > 2)
        *iterations = atoi((*argv)[2]);
    if (*size < least || *iterations < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: %s [SIZE [ITERATIONS]], SIZE at least %d\n", (*argv)[0], least);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* refuse ends the program if a number of ranks does not suit it. */
__attribute__((unused)) static void refuse(int wrong, const char *want)
{
    if (!wrong)
        return;
    if (rank == 0)
        fprintf(stderr, "%d ranks: %s\n", ranks, want);
    MPI_Finalize();
    exit(2);
}

/* begin_round tells whoever looks on through MPI's profiling interface, or nobody. */
static void begin_round(void) { MPI_Pcontrol(3); }

/* finish says how it went and returns the exit code. */
static int finish(const char *name, int size, int iterations, double checksum, int right, double since)
{
    double took = MPI_Wtime() - since;
    if (rank == 0)
        printf("%s: size %d, %d iterations on %d ranks, checksum %.12g: %s, %.2f s\n", name, size, iterations, ranks, checksum,
               right ? "right" : "wrong", took);
    if (getenv("KERNEL_COUNT"))
        for (int i = 0; i < ranks; i++)
            if (sent[i])
                printf("sent %d %d %lld\n", rank, i, sent[i]);
    fflush(stdout);
    MPI_Finalize();
    return !right;
}

/* swap sends to one rank and receives as much from another. */
__attribute__((unused)) static void swap(const double *out, double *in, int n, int to, int from, int tag)
{
    MPI_Sendrecv(out, n, MPI_DOUBLE, to, tag, in, n, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sent[to] += 8LL * n;
}

#endif
