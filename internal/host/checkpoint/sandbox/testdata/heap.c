// A large heap, changed step by step in a pattern; progress through a buffer that
// is flushed only at the end; a file that was deleted while open. The last step is
// taken only when there is a file "go".
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
	size_t n = (size_t)atol(argv[1]) * 1024 * 1024 / 8;
	int steps = atoi(argv[2]);
	uint64_t *a = malloc(n * 8), sum = 0, x = 88172645463325252ull;
	for (size_t i = 0; i < n; i++) a[i] = i * 2654435761u;
	FILE *out = fopen("heap.out", "w");
	setvbuf(out, malloc(1 << 20), _IOFBF, 1 << 20);
	FILE *gone = fopen("gone", "w+");
	unlink("gone");
	for (int s = 0; s < steps; s++) {
		while (s == steps - 1 && access("go", F_OK)) usleep(10000);
		for (int k = 0; k < 200000; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			a[x % n] += x, sum += a[(x >> 20) % n];
		}
		fprintf(out, "%d %llu\n", s, (unsigned long long)sum);
		fprintf(gone, "%d\n", s);
		printf("step %d\n", s), fflush(stdout);
		usleep(10000);
	}
	for (size_t i = 0; i < n; i++) sum += a[i];
	fflush(gone);
	fprintf(out, "sum %llu deleted file %ld bytes\n", (unsigned long long)sum, ftell(gone));
	fclose(out);
	printf("sum %llu\n", (unsigned long long)sum);
	return 7;
}
