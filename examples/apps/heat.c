/* heat N [STEPS [FILE]]: how heat spreads on a plate of N times N cells, 1000 steps, by MPI.
 *
 *   mpirun -n 4 ./heat 1000
 *
 * It ends early once FILE is there. It can be given more and fewer processors while it runs (see
 * team.h), and prints a sum over the plate that does not depend on how many it had. */
#include "team.h"

static double *rows; /* those of this rank */
static long n;

/* spread_heat does one step; above and below are rows of neighbours. */
static void spread_heat(double *above, double *below, double *next)
{
	int me, of;
	MPI_Comm_rank(team, &me);
	MPI_Comm_size(team, &of);
	long mine = count_of(me, of, n), top = first_of(me, of, n);
	int up = me > 0 ? me - 1 : MPI_PROC_NULL, down = me < of - 1 ? me + 1 : MPI_PROC_NULL;
	MPI_Sendrecv(rows, (int)n, MPI_DOUBLE, up, 0, below, (int)n, MPI_DOUBLE, down, 0, team, MPI_STATUS_IGNORE);
	MPI_Sendrecv(rows + (mine - 1) * n, (int)n, MPI_DOUBLE, down, 0, above, (int)n, MPI_DOUBLE, up, 0, team,
		     MPI_STATUS_IGNORE);
	for (long r = 0; r < mine; r++) {
		const double *now = rows + r * n, *over = r > 0 ? now - n : above, *under = r < mine - 1 ? now + n : below;
		if (top + r == 0 || top + r == n - 1) {
			memcpy(next + r * n, now, (size_t)n * sizeof *now);
			continue;
		}
		next[r * n] = now[0];
		for (long c = 1; c < n - 1; c++)
			next[r * n + c] = now[c] + 0.2 * (over[c] + under[c] + now[c - 1] + now[c + 1] - 4 * now[c]);
		next[r * n + n - 1] = now[n - 1];
	}
	memcpy(rows, next, (size_t)(mine * n) * sizeof *rows);
}

/* sum_rows adds the rows up, each by itself and then in their order, so that the sum is the same
 * however they are divided. */
static double sum_rows(void)
{
	int me, of;
	MPI_Comm_rank(team, &me);
	MPI_Comm_size(team, &of);
	int *counts = room(2 * (size_t)of * sizeof *counts), *from = counts + of;
	for (int k = 0; k < of; k++) {
		counts[k] = (int)count_of(k, of, n);
		from[k] = (int)first_of(k, of, n);
	}
	double *own = room((size_t)counts[me] * sizeof *own), *all = room((size_t)n * sizeof *all), sum = 0;
	for (long r = 0; r < counts[me]; r++)
		for (long c = 0; c < n; c++)
			own[r] += rows[r * n + c];
	MPI_Gatherv(own, counts[me], MPI_DOUBLE, all, counts, from, MPI_DOUBLE, 0, team);
	for (long r = 0; r < n; r++)
		sum += all[r];
	free(all);
	free(own);
	free(counts);
	return sum;
}

int main(int argc, char **argv)
{
	begin_team(&argc, &argv);
	long steps = argc > 2 ? atol(argv[2]) : 1000, at = 0;
	n = argc > 1 ? atol(argv[1]) : 0;
	end_file = argc > 3 ? argv[3] : NULL;
	if (n < ranks || n > 20000 || steps < 1) {
		if (rank == 0)
			fprintf(stderr, "usage: heat N [STEPS [FILE]] (N from the number of ranks to 20000)\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	rows = room((size_t)(count_of(rank, workers, n) * n) * sizeof *rows);
	for (long r = 0; r < count_of(rank, workers, n); r++)
		for (long c = 0; c < n; c++)
			rows[r * n + c] = (double)((first_of(rank, workers, n) + r) * 7919 % 1009 + c * 104729 % 2003);
	double *above = room((size_t)n * sizeof *above), *below = room((size_t)n * sizeof *below);
	double *next = NULL;
	while (next_step(&at, steps, (void **)&rows, n, (size_t)n * sizeof *rows)) {
		free(next); /* the number of rows may have changed */
		next = room((size_t)(count_of(rank, workers, n) * n) * sizeof *next);
		spread_heat(above, below, next);
		at++;
	}
	if (rank < workers) {
		double sum = sum_rows();
		if (rank == 0)
			printf("heat %ld: %.17g after %ld steps\n", n, sum, at);
	}
	end_team();
	return 0;
}
