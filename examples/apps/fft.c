/* fft N: the Fourier transform of an image of N x N points, and back.
 *
 * Rows first, then columns, each by splitting N into its prime factors (fours
 * first), so it is fast for N that have small ones. It checks itself: there and
 * back again must give the image. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef double complex point;

static long length;
static point *roots; /* the length-th roots of one */

static long factor(long n) {
	if (n % 4 == 0)
		return 4;
	for (long p = 2; p * p <= n; p++)
		if (n % p == 0)
			return p;
	return n;
}

/* transform puts the transform of n points that lie stride apart into out. */
static void transform(long n, const point *in, long stride, point *out) {
	if (n == 1) {
		out[0] = in[0];
		return;
	}
	long p = factor(n), m = n / p, step = length / n;
	for (long r = 0; r < p; r++)
		transform(m, in + r * stride, stride * p, out + r * m);
	point part[p];
	for (long k = 0; k < m; k++) {
		for (long r = 0; r < p; r++)
			part[r] = out[r * m + k] * roots[r * k * step];
		if (p == 2) {
			out[k] = part[0] + part[1];
			out[k + m] = part[0] - part[1];
		} else if (p == 4) {
			point even = part[0] + part[2], odd = part[1] + part[3];
			point evens = part[0] - part[2], odds = (part[1] - part[3]) * -I;
			out[k] = even + odd;
			out[k + m] = evens + odds;
			out[k + 2 * m] = even - odd;
			out[k + 3 * m] = evens - odds;
		} else {
			for (long q = 0; q < p; q++) {
				point sum = part[0];
				for (long r = 1; r < p; r++)
					sum += part[r] * roots[(q * r % p) * (length / p)];
				out[k + q * m] = sum;
			}
		}
	}
}

/* image transforms rows and columns; all values pass through one line. */
static void image(long n, point *a, point *line, point *result) {
	for (long i = 0; i < n; i++) {
		transform(n, a + i * n, 1, line);
		for (long j = 0; j < n; j++)
			a[i * n + j] = line[j];
	}
	/* Columns eight at a time, so that a cache line is read once for all. */
	for (long j = 0; j < n; j += 8) {
		long w = n - j < 8 ? n - j : 8;
		for (long i = 0; i < n; i++)
			for (long c = 0; c < w; c++)
				line[c * n + i] = a[i * n + j + c];
		for (long c = 0; c < w; c++)
			transform(n, line + c * n, 1, result + c * n);
		for (long i = 0; i < n; i++)
			for (long c = 0; c < w; c++)
				a[i * n + j + c] = result[c * n + i];
	}
}

int main(int argc, char **argv) {
	long n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 1 || n > 30000) {
		fprintf(stderr, "usage: fft N (1 to 30000)\n");
		return 2;
	}
	length = n;
	roots = malloc(n * sizeof *roots);
	point *a = malloc(n * n * sizeof *a), *line = malloc(8 * n * sizeof *line), *result = malloc(8 * n * sizeof *result);
	if (!roots || !a || !line || !result) {
		fprintf(stderr, "fft: no memory for %ld x %ld points\n", n, n);
		return 1;
	}
	for (long k = 0; k < n; k++)
		roots[k] = cexp(-2 * M_PI * I * k / n);
	for (long i = 0; i < n * n; i++)
		a[i] = (double)(i * 7919 % 1009) / 1009;
	image(n, a, line, result);
	/* Back: the transform of the conjugate is the conjugate of the way back. */
	for (long i = 0; i < n * n; i++)
		a[i] = conj(a[i]);
	image(n, a, line, result);
	double worst = 0;
	for (long i = 0; i < n * n; i++)
		worst = fmax(worst, fabs(creal(a[i]) / ((double)n * n) - (double)(i * 7919 % 1009) / 1009));
	printf("fft %ld: error %g\n", n, worst);
	return worst > 1e-9 ? 1 : 0;
}
