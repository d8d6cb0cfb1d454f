/* heap MEGABYTES ROUNDS: keeps a large heap, changes a part of it each round, and
 * prints a checksum of all of it at the end. The output depends on the arguments
 * alone. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	size_t n = (size_t)atol(argv[1]) << 17; /* words of eight bytes */
	long rounds = atol(argv[2]);
	uint64_t *a = malloc(n * 8), x = 88172645463325252u;
	FILE *f = fopen("heap.out", "w");
	if (argc != 3 || !a || !f)
		return 2;
	for (size_t i = 0; i < n; i++)
		a[i] = i * 0x9e3779b97f4a7c15u;
	for (long r = 0; r < rounds; r++) {
		for (long i = 0; i < 20000000; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			if ((i & 63) == 0)
				a[x % n] += x;
		}
		fprintf(f, "round %ld %016llx\n", r, (unsigned long long)x); /* buffered: part of it is in memory when it is moved */
		if (r % 5 == 0) {
			printf("round %ld\n", r);
			fflush(stdout);
		}
	}
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum = sum * 31 + a[i];
	printf("sum %016llx\n", (unsigned long long)sum);
	return fclose(f) ? 1 : 3;
}
