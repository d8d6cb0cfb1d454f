/* Communicators of other members one after the other, given back in the way that the
 * argument says, so that MPI gives the same handle to several: for the tests of capture. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

void mpi_comm_free_(MPI_Fint *, MPI_Fint *);
void mpi_comm_disconnect_(MPI_Fint *, MPI_Fint *);

static void give_back(const char *how, MPI_Comm comm)
{
    MPI_Fint f = MPI_Comm_c2f(comm), e;
    if (strcmp(how, "free") == 0)
        MPI_Comm_free(&comm);
    else if (strcmp(how, "disconnect") == 0)
        MPI_Comm_disconnect(&comm);
    else if (strcmp(how, "fortran-free") == 0)
        mpi_comm_free_(&f, &e);
    else
        mpi_comm_disconnect_(&f, &e);
}

int main(int argc, char **argv)
{
    char out[4000] = "", in[4000];
    int rank;
    MPI_Comm last = MPI_COMM_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 20; i++) {
        int near = i % 2, bytes = 100 * (i + 1), place;
        MPI_Comm pair;
        MPI_Comm_split(MPI_COMM_WORLD, near ? rank / 2 : rank % 2, rank, &pair);
        MPI_Comm_rank(pair, &place);
        MPI_Sendrecv(out, bytes, MPI_BYTE, 1 - place, 0, in, sizeof in, MPI_BYTE, 1 - place, 0, pair, MPI_STATUS_IGNORE);
        printf("sent %d %d %d\n", rank, near ? rank ^ 1 : rank ^ 2, bytes);
        if (pair == last)
            printf("the handle of other ranks\n");
        last = pair;
        give_back(argv[1], pair);
    }
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
