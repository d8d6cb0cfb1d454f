/* matvec N: an N x N matrix times a vector, 20 times over.
 *
 * It checks itself: the rows of the matrix add up to one, so a vector of ones stays. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	long n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 1 || n > 50000) {
		fprintf(stderr, "usage: matvec N (1 to 50000)\n");
		return 2;
	}
	double *m = malloc(n * n * sizeof *m), *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
	if (!m || !x || !y) {
		fprintf(stderr, "matvec: no memory for %ld x %ld\n", n, n);
		return 1;
	}
	for (long i = 0; i < n; i++) {
		for (long j = 0; j < n; j++)
			m[i * n + j] = 1.0 / n;
		x[i] = 1;
	}
	for (int turn = 0; turn < 20; turn++) {
		for (long i = 0; i < n; i++) {
			double sum = 0;
			for (long j = 0; j < n; j++)
				sum += m[i * n + j] * x[j];
			y[i] = sum;
		}
		double *t = x;
		x = y;
		y = t;
	}
	double worst = 0;
	for (long i = 0; i < n; i++)
		worst = fmax(worst, fabs(x[i] - 1));
	printf("matvec %ld: error %g\n", n, worst);
	return worst > 1e-6;
}
