/* hot MEGABYTES: fills a heap with what cannot be compressed and then changes one
 * megabyte in twenty of it again and again, without end. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t x = 88172645463325252u;

static uint64_t next(void)
{
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

int main(int argc, char **argv)
{
	size_t mega = argc == 2 ? (size_t)atol(argv[1]) : 0, words = 1 << 17;
	uint64_t *a = malloc(mega * words * 8);
	if (!mega || !a)
		return 2;
	for (size_t i = 0; i < mega * words; i++)
		a[i] = next();
	puts("filled");
	fflush(stdout);
	for (;;) {
		for (size_t m = 0; m < mega; m += 20)
			for (size_t i = 0; i < words; i++)
				a[m * words + i] = next();
		puts("changed");
		fflush(stdout);
	}
}
