/* floyd N: the shortest ways between all pairs of N places.
 *
 * It checks itself: the places lie on a ring on which all ways are known. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	long n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 2 || n > 30000) {
		fprintf(stderr, "usage: floyd N (2 to 30000)\n");
		return 2;
	}
	int *d = malloc(n * n * sizeof *d);
	if (!d) {
		fprintf(stderr, "floyd: no memory for %ld places\n", n);
		return 1;
	}
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++)
			d[i * n + j] = i == j ? 0 : (i + 1) % n == j || (j + 1) % n == i ? 1 : 1 << 28;
	for (long k = 0; k < n; k++)
		for (long i = 0; i < n; i++) {
			int via = d[i * n + k];
			for (long j = 0; j < n; j++)
				if (via + d[k * n + j] < d[i * n + j])
					d[i * n + j] = via + d[k * n + j];
		}
	int wrong = 0;
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++) {
			long apart = labs(i - j);
			wrong |= d[i * n + j] != (apart < n - apart ? apart : n - apart);
		}
	printf("floyd %ld: %s\n", n, wrong ? "WRONG" : "right");
	return wrong;
}
