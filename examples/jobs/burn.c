/* burn SECONDS: does as much work as a processor of the reference host does in so
 * many seconds, whatever else happens, and prints what came out of it. The output
 * depends on SECONDS alone. It reads no clock. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS_PER_SECOND = 20 };
static const uint64_t ROUNDS_PER_STEP = 20000000; /* of the loop below; 1/20 s on the reference host */

static uint64_t mix(uint64_t x, uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++) {
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		x += 0x9e3779b97f4a7c15u;
	}
	return x;
}

int main(int argc, char **argv)
{
	char *end;
	errno = 0;
	double seconds = argc == 2 ? strtod(argv[1], &end) : 0;
	if (argc != 2 || errno || end == argv[1] || *end || !(seconds > 0 && seconds <= 1e7)) {
		fprintf(stderr, "usage: burn SECONDS\n");
		return 2;
	}
	long steps = (long)(seconds * STEPS_PER_SECOND + 0.5);
	if (steps < 1)
		steps = 1;
	long each = steps / 50 > 0 ? steps / 50 : 1;
	uint64_t x = 1;
	for (long i = 1; i <= steps; i++) {
		x = mix(x, ROUNDS_PER_STEP);
		if (i % each == 0 || i == steps) {
			printf("step %ld/%ld\n", i, steps);
			if (fflush(stdout))
				return 1;
		}
	}
	printf("burnt %ld steps: %016llx\n", steps, (unsigned long long)x);
	return fflush(stdout) ? 1 : 0;
}
