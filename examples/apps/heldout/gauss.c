/* gauss N: N linear equations, by elimination with a choice of the largest pivot.
 *
 * It checks itself: the solution is known to be all ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	long n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 1 || n > 30000) {
		fprintf(stderr, "usage: gauss N (1 to 30000)\n");
		return 2;
	}
	double *a = malloc(n * n * sizeof *a), *b = malloc(n * sizeof *b);
	if (!a || !b) {
		fprintf(stderr, "gauss: no memory for %ld equations\n", n);
		return 1;
	}
	for (long i = 0; i < n; i++) {
		b[i] = 0;
		for (long j = 0; j < n; j++)
			b[i] += a[i * n + j] = (double)((i * 7919 + j * 104729 + i * j) % 1009) / 1009 + (i == j) * n;
	}
	for (long k = 0; k < n; k++) {
		long best = k;
		for (long i = k + 1; i < n; i++)
			if (fabs(a[i * n + k]) > fabs(a[best * n + k]))
				best = i;
		if (best != k) {
			for (long j = k; j < n; j++) {
				double t = a[k * n + j];
				a[k * n + j] = a[best * n + j];
				a[best * n + j] = t;
			}
			double t = b[k];
			b[k] = b[best];
			b[best] = t;
		}
		for (long i = k + 1; i < n; i++) {
			double f = a[i * n + k] / a[k * n + k];
			for (long j = k; j < n; j++)
				a[i * n + j] -= f * a[k * n + j];
			b[i] -= f * b[k];
		}
	}
	double worst = 0;
	for (long i = n - 1; i >= 0; i--) {
		for (long j = i + 1; j < n; j++)
			b[i] -= a[i * n + j] * b[j];
		b[i] /= a[i * n + i];
		worst = fmax(worst, fabs(b[i] - 1));
	}
	printf("gauss %ld: error %g\n", n, worst);
	return worst > 1e-6;
}
