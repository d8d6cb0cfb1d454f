/* Messages that are asked for before they are received, in communicators that are not
 * the world, and others that must not be taken for them: for the tests of skeletons. */
#include <mpi.h>

int main(int argc, char **argv)
{
    char out[3000] = "", in[3000];
    int rank, place;
    MPI_Comm pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &pair);
    MPI_Comm_rank(pair, &place);
    for (int i = 0; i < 5; i++) {
        MPI_Message m;
        MPI_Request q[3];
        int there = 0;
        MPI_Isend(out, 3000, MPI_BYTE, 1 - place, 3, pair, &q[0]);
        MPI_Isend(out, 2000, MPI_BYTE, 1 - place, 4, pair, &q[1]);
        MPI_Mprobe(MPI_ANY_SOURCE, 4, pair, &m, MPI_STATUS_IGNORE);
        MPI_Mrecv(in, 3000, MPI_BYTE, &m, MPI_STATUS_IGNORE);
        while (!there)
            MPI_Improbe(1 - place, MPI_ANY_TAG, pair, &there, &m, MPI_STATUS_IGNORE);
        MPI_Imrecv(in, 3000, MPI_BYTE, &m, &q[2]);
        MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
