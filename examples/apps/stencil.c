/* stencil N [SWEEPS]: heat spreads over a plate of N x N points, 40 sweeps.
 *
 * It checks itself: no point may become hotter than the edge or colder than the
 * plate was, and both halves must stay mirror images. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	long n = argc >= 2 && argc <= 3 ? atol(argv[1]) : 0, sweeps = argc == 3 ? atol(argv[2]) : 40;
	if (n < 3 || n > 50000 || sweeps < 1) {
		fprintf(stderr, "usage: stencil N [SWEEPS] (N 3 to 50000)\n");
		return 2;
	}
	double *now = calloc(n * n, sizeof *now), *next = calloc(n * n, sizeof *next);
	if (!now || !next) {
		fprintf(stderr, "stencil: no memory for %ld x %ld points\n", n, n);
		return 1;
	}
	for (long j = 0; j < n; j++)
		now[j] = next[j] = 100;
	for (long s = 0; s < sweeps; s++) {
		for (long i = 1; i < n - 1; i++)
			for (long j = 1; j < n - 1; j++)
				next[i * n + j] = 0.25 * (now[(i - 1) * n + j] + now[(i + 1) * n + j] +
				                          now[i * n + j - 1] + now[i * n + j + 1]);
		double *t = now;
		now = next;
		next = t;
	}
	double sum = 0, skew = 0;
	int wrong = 0;
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++) {
			double v = now[i * n + j];
			sum += v;
			wrong |= !(v >= 0 && v <= 100);
			skew = fmax(skew, fabs(v - now[i * n + n - 1 - j]));
		}
	printf("stencil %ld: mean %.6f\n", n, sum / ((double)n * n));
	return wrong || skew > 1e-9;
}
