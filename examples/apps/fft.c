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

/* times is a product without the care for infinities that C takes. */
static inline point times(point a, point b) {
	return CMPLX(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b));
}

static inline point turned(point a) { return CMPLX(cimag(a), -creal(a)); } /* a times -i */

static const double SIN60 = 0.86602540378443864676, COS72 = 0.30901699437494742410, COS144 = -0.80901699437494742410,
                    SIN72 = 0.95105651629515357212, SIN144 = 0.58778525229247312917;

/* butterfly transforms p points that lie m apart. */
static void butterfly(long p, const point *t, point *out, long m) {
	if (p == 2) {
		out[0] = t[0] + t[1];
		out[m] = t[0] - t[1];
	} else if (p == 3) {
		point sum = t[1] + t[2], far = turned(t[1] - t[2]) * SIN60, mid = t[0] - 0.5 * sum;
		out[0] = t[0] + sum;
		out[m] = mid + far;
		out[2 * m] = mid - far;
	} else if (p == 4) {
		point a = t[0] + t[2], b = t[0] - t[2], c = t[1] + t[3], d = turned(t[1] - t[3]);
		out[0] = a + c;
		out[m] = b + d;
		out[2 * m] = a - c;
		out[3 * m] = b - d;
	} else if (p == 5) {
		point a = t[1] + t[4], b = t[2] + t[3], c = turned(t[1] - t[4]), d = turned(t[2] - t[3]);
		point e = t[0] + COS72 * a + COS144 * b, f = t[0] + COS144 * a + COS72 * b;
		point g = SIN72 * c + SIN144 * d, h = SIN144 * c - SIN72 * d;
		out[0] = t[0] + a + b;
		out[m] = e + g;
		out[2 * m] = f + h;
		out[3 * m] = f - h;
		out[4 * m] = e - g;
	} else {
		for (long q = 0; q < p; q++) {
			point sum = t[0];
			for (long r = 1; r < p; r++)
				sum += times(t[r], roots[(q * r % p) * (length / p)]);
			out[q * m] = sum;
		}
	}
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
		part[0] = out[k];
		for (long r = 1; r < p; r++)
			part[r] = times(out[r * m + k], roots[r * k * step]);
		butterfly(p, part, out + k, m);
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
