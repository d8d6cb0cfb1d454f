/* Operations with lists that are begun, and only end after a message which one rank sends
 * after it began and another waits for before it does: for the tests of skeletons. */
#include <mpi.h>

enum { RANKS = 4, UNIT = 20000 }; /* too long to be sent before somebody receives it */

static int rank;
static char out[RANKS * RANKS * UNIT], in[RANKS * RANKS * UNIT];
static int lengths[RANKS], places[RANKS], all[RANKS];

static void begin(int which, MPI_Request *q)
{
    MPI_Comm c = MPI_COMM_WORLD;
    switch (which) {
    case 0: MPI_Ialltoallv(out, all, places, MPI_BYTE, in, lengths, places, MPI_BYTE, c, q); break;
    case 1: MPI_Igatherv(out, lengths[rank], MPI_BYTE, in, lengths, places, MPI_BYTE, 0, c, q); break;
    case 2: MPI_Iscatterv(out, lengths, places, MPI_BYTE, in, lengths[rank], MPI_BYTE, 1, c, q); break;
    case 3: MPI_Iallgatherv(out, lengths[rank], MPI_BYTE, in, lengths, places, MPI_BYTE, c, q); break;
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < RANKS; i++) {
        lengths[i] = UNIT * (i + 1);
        places[i] = RANKS * UNIT * i;
        all[i] = UNIT * (rank + 1); /* what this one sends to each */
    }
    for (int which = 0; which < 4; which++) {
        MPI_Request q;
        char note = 0;
        if (rank == 1)
            MPI_Recv(&note, 1, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        begin(which, &q);
        if (rank == 0)
            MPI_Send(&note, 1, MPI_BYTE, 1, which, MPI_COMM_WORLD);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
