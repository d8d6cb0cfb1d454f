/* poisson N: a sparse system of N x N equations (the Laplace operator of a grid,
 * with its indices stored), 30 steps of conjugate gradients.
 *
 * It checks itself: the residual that it carries along must be the true one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static long n, rows;
static int *begin, *column;
static double *value;

static void times(const double *x, double *y) {
	for (long i = 0; i < rows; i++) {
		double sum = 0;
		for (int k = begin[i]; k < begin[i + 1]; k++)
			sum += value[k] * x[column[k]];
		y[i] = sum;
	}
}

static double dot(const double *a, const double *b) {
	double sum = 0;
	for (long i = 0; i < rows; i++)
		sum += a[i] * b[i];
	return sum;
}

int main(int argc, char **argv) {
	n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 2 || n > 20000) {
		fprintf(stderr, "usage: poisson N (2 to 20000)\n");
		return 2;
	}
	rows = n * n;
	begin = malloc((rows + 1) * sizeof *begin);
	column = malloc(5 * rows * sizeof *column);
	value = malloc(5 * rows * sizeof *value);
	double *x = calloc(4 * rows, sizeof *x), *r = x + rows, *p = r + rows, *q = p + rows;
	if (!begin || !column || !value || !x) {
		fprintf(stderr, "poisson: no memory for %ld x %ld points\n", n, n);
		return 1;
	}
	int k = 0;
	for (long i = 0; i < rows; i++) {
		begin[i] = k;
		long beside[] = {i - n, i % n ? i - 1 : -1, i, (i + 1) % n ? i + 1 : -1, i + n};
		for (int b = 0; b < 5; b++)
			if (beside[b] >= 0 && beside[b] < rows) {
				column[k] = beside[b];
				value[k++] = beside[b] == i ? 4 : -1;
			}
		r[i] = p[i] = (double)(i * 7919 % 1009) / 1009;
	}
	begin[rows] = k;
	double rr = dot(r, r);
	for (int step = 0; step < 30; step++) {
		times(p, q);
		double a = rr / dot(p, q);
		for (long i = 0; i < rows; i++) {
			x[i] += a * p[i];
			r[i] -= a * q[i];
		}
		double next = dot(r, r), b = next / rr;
		rr = next;
		for (long i = 0; i < rows; i++)
			p[i] = r[i] + b * p[i];
	}
	times(x, q);
	double worst = 0;
	for (long i = 0; i < rows; i++)
		worst = fmax(worst, fabs((double)(i * 7919 % 1009) / 1009 - q[i] - r[i]));
	printf("poisson %ld: error %g\n", n, worst);
	return worst > 1e-8;
}
