/* All ways of reaching into the memory of another rank, and what went from whom to whom:
 * for the tests of capture. */
#include <mpi.h>
#include <stdio.h>

static int rank, right;

static void there(int bytes) { printf("sent %d %d %d\n", rank, right, bytes); }
static void back(int bytes) { printf("sent %d %d %d\n", right, rank, bytes); }

int main(int argc, char **argv)
{
    static double memory[4000], own[1000], got[1000];
    int ranks;
    MPI_Win win;
    MPI_Request q[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    right = (rank + 1) % ranks;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);

    MPI_Win_fence(0, win);
    MPI_Get(got, 1000, MPI_DOUBLE, right, 0, 1000, MPI_DOUBLE, win), back(8000);
    MPI_Put(own, 100, MPI_DOUBLE, right, 1000, 100, MPI_DOUBLE, win), there(800);
    MPI_Accumulate(own, 50, MPI_DOUBLE, right, 1100, 50, MPI_DOUBLE, MPI_SUM, win), there(400);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);

    MPI_Win_lock_all(0, win);
    MPI_Rget(got, 200, MPI_DOUBLE, right, 0, 200, MPI_DOUBLE, win, &q[0]), back(1600);
    MPI_Rput(own, 20, MPI_DOUBLE, right, 1000, 20, MPI_DOUBLE, win, &q[1]), there(160);
    MPI_Raccumulate(own, 10, MPI_DOUBLE, right, 1100, 10, MPI_DOUBLE, MPI_SUM, win, &q[2]), there(80);
    MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
    MPI_Win_flush_all(win);
    MPI_Get_accumulate(own, 6, MPI_DOUBLE, got, 6, MPI_DOUBLE, right, 1200, 6, MPI_DOUBLE, MPI_SUM, win), there(48), back(48);
    MPI_Get_accumulate(own, 7, MPI_DOUBLE, got + 6, 7, MPI_DOUBLE, right, 1300, 7, MPI_DOUBLE, MPI_NO_OP, win), back(56);
    MPI_Rget_accumulate(own, 5, MPI_DOUBLE, got + 20, 5, MPI_DOUBLE, right, 1400, 5, MPI_DOUBLE, MPI_SUM, win, &q[0]), there(40), back(40);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    MPI_Fetch_and_op(own, got + 30, MPI_DOUBLE, right, 1500, MPI_SUM, win), there(8), back(8);
    long new = 1, old = 0, was;
    MPI_Compare_and_swap(&new, &old, &was, MPI_LONG, right, 1600, win), there(16), back(8);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
