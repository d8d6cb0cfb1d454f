/* cg N [STEPS [FILE]]: solves the equations of a membrane of N times N points by conjugate gradients, by MPI
 * with SRS: it can be stopped at any iteration and continued on another number of processes. */
#include "rows.h"

static int64_t n, mine;

/* multiply computes q = A p: the Laplacian of five points, and a little more on the diagonal. */
static void multiply(const double *p, double *q, double *above, double *below)
{
	exchange_rows(p, n, mine, above, below);
	for (int64_t r = 0; r < mine; r++) {
		const double *now = p + r * n, *over = r > 0 ? now - n : above, *under = r < mine - 1 ? now + n : below;
		for (int64_t c = 0; c < n; c++)
			q[r * n + c] = 4.01 * now[c] - over[c] - under[c] - (c > 0 ? now[c - 1] : 0) - (c < n - 1 ? now[c + 1] : 0);
	}
}

static double dot(const double *a, const double *b)
{
	double *sums = room(mine);
	for (int64_t r = 0; r < mine; r++)
		for (int64_t c = 0; c < n; c++)
			sums[r] += a[r * n + c] * b[r * n + c];
	double sum = sum_in_order(sums, n);
	free(sums);
	return sum;
}

int main(int argc, char **argv)
{
	begin(&argc, &argv, "cg N [STEPS [FILE]]", 2);
	n = size_of(argc, argv, 1, 0);
	mine = count_of(rank, n);
	int64_t steps = size_of(argc, argv, 2, 500), step = 0;
	double *x = room(mine * n), *r = room(mine * n), *p = room(mine * n), *q = room(mine * n);
	double *above = room(n), *below = room(n), rho;

	SRS_Distribution by_rows = SRS_Block();
	const int64_t shape[] = {n, n};
	SRS_Register("step", &step, SRS_LONG, 0, NULL, NULL);
	SRS_Register("rho", &rho, SRS_DOUBLE, 0, NULL, NULL);
	SRS_Register("x", x, SRS_DOUBLE, 2, shape, &by_rows);
	SRS_Register("r", r, SRS_DOUBLE, 2, shape, &by_rows);
	SRS_Register("p", p, SRS_DOUBLE, 2, shape, &by_rows);
	if (SRS_Restart_Value()) {
		SRS_Read("step", &step, NULL, NULL);
		SRS_Read("rho", &rho, NULL, NULL);
		SRS_Read("x", x, NULL, NULL);
		SRS_Read("r", r, NULL, NULL);
		SRS_Read("p", p, NULL, NULL);
	} else {
		for (int64_t i = 0; i < mine * n; i++)
			r[i] = p[i] = (double)((first_of(rank, n) * n + i) * 7919 % 1009) / 1009;
		rho = dot(r, r);
	}

	SRS_Progress(step, steps);
	for (; step < steps; step++) {
		if (SRS_Check_Stop())
			return end();
		multiply(p, q, above, below);
		double alpha = rho / dot(p, q);
		for (int64_t i = 0; i < mine * n; i++) {
			x[i] += alpha * p[i];
			r[i] -= alpha * q[i];
		}
		double before = rho;
		rho = dot(r, r);
		for (int64_t i = 0; i < mine * n; i++)
			p[i] = r[i] + rho / before * p[i];
		SRS_Progress(step + 1, steps);
	}
	if (is_stopped(argc, argv, 3))
		return end();
	double norm = dot(x, x);
	if (rank == 0)
		printf("cg %" PRId64 ": |x|^2 = %.17g after %" PRId64 " steps\n", n, norm, step);
	return end();
}
