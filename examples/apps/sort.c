/* sort N: sorts N random numbers by merging, from runs of 16 upwards.
 *
 * It checks itself: the order, and that the sum is still the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUN = 16 };

static void insertion(uint64_t *a, long n) {
	for (long i = 1; i < n; i++) {
		uint64_t x = a[i];
		long j = i;
		for (; j > 0 && a[j - 1] > x; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

static void merge(const uint64_t *a, long na, const uint64_t *b, long nb, uint64_t *out) {
	while (na > 0 && nb > 0)
		if (*a <= *b) {
			*out++ = *a++;
			na--;
		} else {
			*out++ = *b++;
			nb--;
		}
	while (na-- > 0)
		*out++ = *a++;
	while (nb-- > 0)
		*out++ = *b++;
}

/* sorted sorts n numbers in a, with room for as many in spare. */
static void sorted(uint64_t *a, long n, uint64_t *spare) {
	if (n <= RUN) {
		insertion(a, n);
		return;
	}
	long half = n / 2;
	sorted(a, half, spare);
	sorted(a + half, n - half, spare);
	for (long i = 0; i < half; i++)
		spare[i] = a[i];
	merge(spare, half, a + half, n - half, a);
}

int main(int argc, char **argv) {
	long n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 1 || n > 2000000000) {
		fprintf(stderr, "usage: sort N (1 to 2000000000)\n");
		return 2;
	}
	uint64_t *a = malloc(n * sizeof *a), *spare = malloc((n / 2 + 1) * sizeof *spare);
	if (!a || !spare) {
		fprintf(stderr, "sort: no memory for %ld numbers\n", n);
		return 1;
	}
	uint64_t x = 88172645463325252u, before = 0, after = 0;
	for (long i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		before += a[i] = x;
	}
	sorted(a, n, spare);
	int wrong = 0;
	for (long i = 0; i < n; i++) {
		after += a[i];
		wrong |= i > 0 && a[i - 1] > a[i];
	}
	printf("sort %ld: %s\n", n, wrong || before != after ? "WRONG" : "in order");
	return wrong || before != after;
}
