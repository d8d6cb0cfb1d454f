/* primes N: how many primes there are below N. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	long n = argc == 2 ? atol(argv[1]) : 0, found = 0;
	char *composite = calloc(n + 1, 1);
	if (n < 2 || !composite) {
		fprintf(stderr, "usage: primes N\n");
		return 2;
	}
	for (long i = 2; i < n; i++) {
		if (composite[i])
			continue;
		found++;
		for (long j = 2 * i; j < n; j += i)
			composite[j] = 1;
	}
	printf("%ld primes below %ld\n", found, n);
	return 0;
}
