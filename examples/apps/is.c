/* Sorting whole numbers with the communication of NAS IS: in each iteration the ranks
 * add up how many keys fall into each of 1024 buckets, divide the buckets so that all
 * get about as many keys, and send each other the keys: all to all.
 *
 * SIZE is the number of keys of all ranks together. */
#include "kernel.h"

enum { BUCKETS = 1024, HIGHEST = 1 << 19 };

static unsigned long long state;

static int key(void) /* the mean of four: most are in the middle */
{
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += (int)(state >> 33) & (HIGHEST - 1);
    }
    return sum / 4;
}

/* divide says which rank gets each bucket. */
static void divide(const int *all, int *owner, long long total)
{
    long long before = 0;
    for (int b = 0; b < BUCKETS; b++) {
        owner[b] = (int)(before * ranks / total);
        before += all[b];
    }
}

int main(int argc, char **argv)
{
    int n = 1 << 20, iterations = 20, right = 1;
    begin(&argc, &argv, &n, 1024, &iterations);
    int mine = n / ranks, count[BUCKETS], all[BUCKETS], owner[BUCKETS], got = 0;
    int *keys = room((size_t)mine * sizeof *keys), *out = room((size_t)mine * sizeof *out), *in = NULL;
    int *much = room(4 * (size_t)ranks * sizeof *much), *from = much + ranks, *at = from + ranks, *at2 = at + ranks;
    int *ranking = room(HIGHEST * sizeof *ranking);
    state = (unsigned long long)rank * 7919 + 314159;
    for (int i = 0; i < mine; i++)
        keys[i] = key();
    double checksum = 0, since = MPI_Wtime();
    for (int it = 0; it < iterations; it++) {
        begin_round();
        keys[it % mine] = it, keys[(it + iterations) % mine] = HIGHEST - 1 - it;
        memset(count, 0, sizeof count);
        for (int i = 0; i < mine; i++)
            count[keys[i] / (HIGHEST / BUCKETS)]++;
        MPI_Allreduce(count, all, BUCKETS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        divide(all, owner, (long long)mine * ranks);
        memset(much, 0, (size_t)ranks * sizeof *much);
        for (int b = 0; b < BUCKETS; b++)
            much[owner[b]] += count[b];
        for (int r = 1; r < ranks; r++)
            at[r] = at[r - 1] + much[r - 1];
        for (int i = 0; i < mine; i++)
            out[at[owner[keys[i] / (HIGHEST / BUCKETS)]]++] = keys[i];
        for (int r = 0; r < ranks; r++)
            at[r] -= much[r];
        MPI_Alltoall(much, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
        got = 0;
        for (int r = 0; r < ranks; r++)
            at2[r] = got, got += from[r];
        free(in);
        in = room((size_t)got * sizeof *in);
        MPI_Alltoallv(out, much, at, MPI_INT, in, from, at2, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < ranks; r++)
            sent[r] += r == rank ? 0 : 4LL * much[r] + 4;
        memset(ranking, 0, HIGHEST * sizeof *ranking);
        for (int i = 0; i < got; i++)
            ranking[in[i]]++;
    }
    int low = HIGHEST, high = -1, *ends = room(3 * (size_t)ranks * sizeof *ends);
    for (int i = 0, k = 0; i < HIGHEST; i++)
        for (int j = 0; j < ranking[i]; j++, k++) {
            low = i < low ? i : low, high = i;
            checksum += (double)i * (k % 7 + 1);
        }
    MPI_Allreduce(MPI_IN_PLACE, &checksum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    int own[3] = {low, high, got};
    MPI_Allgather(own, 3, MPI_INT, ends, 3, MPI_INT, MPI_COMM_WORLD);
    long long together = 0;
    for (int r = 0, last = -1; r < ranks; r++) {
        together += ends[3 * r + 2];
        if (ends[3 * r + 2] && ends[3 * r] < last)
            right = 0;
        last = ends[3 * r + 2] ? ends[3 * r + 1] : last;
    }
    right = right && together == (long long)mine * ranks;
    return finish("is", n, iterations, checksum, right, since);
}
