/* Many ways of sending messages, in loops, and what was sent to whom: for the tests of
 * capture. The first argument is how many rounds, the second how many messages to
 * oneself, whose lengths and tags never repeat. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mpi_send_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_recv_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_barrier_(MPI_Fint *, MPI_Fint *);

static int rank, ranks;
static long long sent[64];
static char out[1 << 16], in[64][1 << 16];

static void count(int to, int n) { sent[to] += n; }

/* All others send to rank 0, which takes them as they come. */
static void anybody(void)
{
    if (rank > 0) {
        MPI_Ssend(out, 100 * rank, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
        count(0, 100 * rank);
    }
    for (int i = 1; rank == 0 && i < ranks; i++)
        MPI_Recv(in[0], sizeof in[0], MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Everybody to everybody, waited for one by one and some by some. */
static void unordered(void)
{
    MPI_Request q[128];
    int n = 0, which, some[128], many;
    for (int i = 0; i < ranks; i++)
        if (i != rank)
            MPI_Irecv(in[i], sizeof in[i], MPI_BYTE, i, 6, MPI_COMM_WORLD, &q[n++]);
    for (int i = 0; i < ranks; i++)
        if (i != rank) {
            MPI_Isend(out, 3000, MPI_BYTE, i, 6, MPI_COMM_WORLD, &q[n++]);
            count(i, 3000);
        }
    MPI_Waitany(n, q, &which, MPI_STATUS_IGNORE);
    for (int left = n - 1; left > 0; left -= many)
        MPI_Waitsome(n, q, &many, some, MPI_STATUSES_IGNORE);
}

/* A ring inside of halves of the world, with requests that are begun again and again. */
static void halves(MPI_Comm half, MPI_Request *ring)
{
    double x[8] = {1}, sum[8];
    MPI_Startall(2, ring);
    MPI_Waitall(2, ring, MPI_STATUSES_IGNORE);
    count(rank ^ 2, 500);
    MPI_Allreduce(x, sum, 8, MPI_DOUBLE, MPI_SUM, half);
    MPI_Request q;
    int flag = 0;
    MPI_Ibcast(sum, 8, MPI_DOUBLE, 0, half, &q);
    while (!flag)
        MPI_Test(&q, &flag, MPI_STATUS_IGNORE);
}

/* As a Fortran program would. */
static void fortran(void)
{
    MPI_Fint n = 700, type = MPI_Type_c2f(MPI_BYTE), peer = rank ^ 1, tag = 9, comm = MPI_Comm_c2f(MPI_COMM_WORLD), e, status[16];
    if (rank % 2 == 0)
        mpi_send_(out, &n, &type, &peer, &tag, &comm, &e);
    mpi_recv_(in[0], &n, &type, &peer, &tag, &comm, status, &e);
    if (rank % 2 == 1)
        mpi_send_(out, &n, &type, &peer, &tag, &comm, &e);
    count(peer, 700);
    mpi_barrier_(&comm, &e);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10, odd = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Comm half;
    MPI_Request ring[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Send_init(out, 500, MPI_BYTE, 1 - rank / 2, 7, half, &ring[0]);
    MPI_Recv_init(in[0], 500, MPI_BYTE, 1 - rank / 2, 7, half, &ring[1]);
    for (int i = 0; i < rounds; i++) {
        anybody();
        unordered();
        halves(half, ring);
        fortran();
    }
    srand(1);
    for (int i = 0; i < odd; i++) {
        int n = rand() % 50000, tag = i;
        MPI_Sendrecv(out, n, MPI_BYTE, rank, tag, in[0], sizeof in[0], MPI_BYTE, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        count(rank, n);
    }
    for (int i = 0; i < ranks; i++)
        if (sent[i])
            printf("sent %d %d %lld\n", rank, i, sent[i]);
    fflush(stdout);
    MPI_Request_free(&ring[0]);
    MPI_Request_free(&ring[1]);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return argc > 3 ? atoi(argv[3]) : 0;
}
