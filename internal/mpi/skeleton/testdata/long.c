/* Messages of more bytes than an int can count, of numbers and of one long type: for the
 * tests of skeletons. The memory is the same few pages again and again. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NUMBERS = 300000000, PAGES = 32 << 20 };

static char *memory(size_t n)
{
    int fd = memfd_create("long", 0);
    char *p = mmap(NULL, n + PAGES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fd < 0 || ftruncate(fd, PAGES) || p == MAP_FAILED)
        exit(1);
    for (size_t at = 0; at < n; at += PAGES)
        if (mmap(p + at, PAGES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
            exit(1);
    return p;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm pair;
    MPI_Datatype all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
    MPI_Type_contiguous(NUMBERS, MPI_DOUBLE, &all);
    MPI_Type_commit(&all);
    if (rank < 2) {
        void *p = memory((size_t)NUMBERS * sizeof(double));
        if (rank == 0)
            MPI_Send(p, NUMBERS, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(p, NUMBERS, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Bcast(p, 1, all, 1, pair);
    }
    MPI_Finalize();
    return 0;
}
