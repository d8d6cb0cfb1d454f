/* Pi as the integral of 4/(1+x²), the steps dealt out to the ranks, with a sum
 * over all ranks after each slice.
 *
 *   mpirun ./pi [STEPS [SLICES]]
 *
 * Many slices make a program that talks more than it computes. Exit code 1 if
 * the result is not pi. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size;
    long steps = argc > 1 ? atol(argv[1]) : 10000000, slices = argc > 2 ? atol(argv[2]) : 1;
    double pi = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double begin = MPI_Wtime(), width = 1.0 / (double)steps;

    for (long s = 0; s < slices; s++) {
        double sum = 0, all = 0;
        for (long i = s * steps / slices + rank, end = (s + 1) * steps / slices; i < end; i += size) {
            double x = ((double)i + 0.5) * width;
            sum += 4 / (1 + x * x);
        }
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        pi += all * width;
    }
    int wrong = fabs(pi - acos(-1.0)) > 1e-9;
    if (rank == 0) {
        printf("pi is %.12f with %d ranks\n", pi, size);
        fprintf(stderr, "%ld steps and %ld sums took %.3f s\n", steps, slices, MPI_Wtime() - begin);
    }
    MPI_Finalize();
    return wrong;
}
