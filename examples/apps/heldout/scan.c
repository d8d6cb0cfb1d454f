/* scan N: the running sums of N numbers, 10 times over.
 *
 * It checks itself: differences of the sums give the numbers back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	long n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 1 || n > 1000000000) {
		fprintf(stderr, "usage: scan N (1 to 1000000000)\n");
		return 2;
	}
	uint64_t *a = malloc(n * sizeof *a);
	if (!a) {
		fprintf(stderr, "scan: no memory for %ld numbers\n", n);
		return 1;
	}
	for (long i = 0; i < n; i++)
		a[i] = (uint64_t)i * 7919 % 1009;
	for (int turn = 0; turn < 10; turn++) {
		uint64_t sum = 0;
		for (long i = 0; i < n; i++)
			a[i] = sum += a[i];
	}
	for (int turn = 0; turn < 10; turn++)
		for (long i = n - 1; i > 0; i--)
			a[i] -= a[i - 1];
	int wrong = 0;
	for (long i = 0; i < n; i++)
		wrong |= a[i] != (uint64_t)i * 7919 % 1009;
	printf("scan %ld: %s\n", n, wrong ? "WRONG" : "right");
	return wrong;
}
