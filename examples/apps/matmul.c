/* matmul N: the product of two N x N matrices, row by row.
 *
 * It checks itself: for a vector x, (A B) x must be A (B x). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double *matrix(long n) {
	double *m = calloc(n * n, sizeof *m);
	if (!m) {
		fprintf(stderr, "matmul: no memory for %ld x %ld\n", n, n);
		exit(1);
	}
	return m;
}

static void multiply(long n, const double *a, const double *b, double *c) {
	for (long i = 0; i < n; i++)
		for (long k = 0; k < n; k++) {
			double f = a[i * n + k];
			for (long j = 0; j < n; j++)
				c[i * n + j] += f * b[k * n + j];
		}
}

static void apply(long n, const double *m, const double *x, double *y) {
	for (long i = 0; i < n; i++) {
		y[i] = 0;
		for (long j = 0; j < n; j++)
			y[i] += m[i * n + j] * x[j];
	}
}

int main(int argc, char **argv) {
	long n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 1 || n > 50000) {
		fprintf(stderr, "usage: matmul N (1 to 50000)\n");
		return 2;
	}
	double *a = matrix(n), *b = matrix(n), *c = matrix(n);
	double *x = calloc(4 * n, sizeof *x);
	for (long i = 0; i < n * n; i++) {
		a[i] = (double)(i % 7) - 3;
		b[i] = (double)(i % 5) - 2;
	}
	for (long i = 0; i < n; i++)
		x[i] = (double)(i % 3) - 1;
	multiply(n, a, b, c);

	double *bx = x + n, *abx = x + 2 * n, *cx = x + 3 * n, worst = 0;
	apply(n, b, x, bx);
	apply(n, a, bx, abx);
	apply(n, c, x, cx);
	for (long i = 0; i < n; i++)
		worst = fmax(worst, fabs(abx[i] - cx[i]));
	printf("matmul %ld: error %g\n", n, worst);
	return worst > 1e-6 * n * n ? 1 : 0;
}
