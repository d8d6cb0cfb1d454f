/* bodies N [STEPS [FILE]]: N bodies that attract each other, 100 steps, by MPI.
 *
 *   mpirun -n 4 ./bodies 2000
 *
 * It ends early once FILE is there. It can be given more and fewer processors while it runs (see
 * team.h), and prints a sum over the bodies that does not depend on how many it had. */
#include <math.h>

#include "team.h"

typedef struct {
	double x, y, z, mass, vx, vy, vz;
} body;

static body *mine; /* those of this rank */
static long n;

/* gather_bodies brings those of all workers together, in their order. */
static void gather_bodies(body *all)
{
	int me, of;
	MPI_Comm_rank(team, &me);
	MPI_Comm_size(team, &of);
	int *counts = room(2 * (size_t)of * sizeof *counts), *from = counts + of;
	for (int k = 0; k < of; k++) {
		counts[k] = (int)(count_of(k, of, n) * (long)sizeof(body));
		from[k] = (int)(first_of(k, of, n) * (long)sizeof(body));
	}
	MPI_Allgatherv(mine, counts[me], MPI_BYTE, all, counts, from, MPI_BYTE, team);
	free(counts);
}

/* move_bodies does one step with the bodies of this rank, given all of them. */
static void move_bodies(const body *all, double dt)
{
	for (long i = 0; i < count_of(rank, workers, n); i++) {
		body *b = &mine[i];
		double ax = 0, ay = 0, az = 0, x = b->x, y = b->y, z = b->z;
		for (long j = 0; j < n; j++) {
			double dx = all[j].x - x, dy = all[j].y - y, dz = all[j].z - z;
			double d2 = dx * dx + dy * dy + dz * dz + 1e-3;
			double f = all[j].mass / (d2 * sqrt(d2));
			ax += f * dx;
			ay += f * dy;
			az += f * dz;
		}
		b->vx += dt * ax;
		b->vy += dt * ay;
		b->vz += dt * az;
		b->x += dt * b->vx;
		b->y += dt * b->vy;
		b->z += dt * b->vz;
	}
}

int main(int argc, char **argv)
{
	begin_team(&argc, &argv);
	long steps = argc > 2 ? atol(argv[2]) : 100, at = 0;
	n = argc > 1 ? atol(argv[1]) : 0;
	end_file = argc > 3 ? argv[3] : NULL;
	if (n < ranks || n > 10000000 || steps < 1) {
		if (rank == 0)
			fprintf(stderr, "usage: bodies N [STEPS [FILE]] (N from the number of ranks to 10000000)\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	mine = room((size_t)count_of(rank, workers, n) * sizeof *mine);
	for (long k = 0; k < count_of(rank, workers, n); k++) {
		long i = first_of(rank, workers, n) + k;
		mine[k].x = (double)(i * 7919 % 1009) / 1009;
		mine[k].y = (double)(i * 104729 % 2003) / 2003;
		mine[k].z = (double)(i * 1299709 % 4001) / 4001;
		mine[k].mass = 1.0 / (double)n;
	}
	body *all = room((size_t)n * sizeof *all);
	while (next_step(&at, steps, (void **)&mine, n, sizeof *mine)) {
		gather_bodies(all);
		move_bodies(all, 1e-3);
		at++;
	}
	if (rank < workers)
		gather_bodies(all);
	if (rank == 0) {
		double sum = 0;
		for (long i = 0; i < n; i++)
			sum += all[i].x + 2 * all[i].y + 3 * all[i].z;
		printf("bodies %ld: %.17g after %ld steps\n", n, sum, at);
	}
	end_team();
	return 0;
}
