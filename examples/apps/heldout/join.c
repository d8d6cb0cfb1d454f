/* join N: joins two tables of N rows by a key, with a hash table of the first.
 *
 * It checks itself: each row of the second table has one partner, whose value is
 * known. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
	uint64_t key, value;
} row;

static uint64_t hash(uint64_t x) {
	x ^= x >> 31;
	x *= 0x7fb5d329728ea185u;
	x ^= x >> 27;
	x *= 0x81dadef4bc2dd44du;
	return x ^ x >> 33;
}

int main(int argc, char **argv) {
	long n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 1 || n > 500000000) {
		fprintf(stderr, "usage: join N (1 to 500000000)\n");
		return 2;
	}
	uint64_t room = 2; /* a power of two, at most half full */
	while (room < 2 * (uint64_t)n)
		room *= 2;
	row *table = calloc(room, sizeof *table);
	if (!table) {
		fprintf(stderr, "join: no memory for %ld rows\n", n);
		return 1;
	}
	for (long i = 1; i <= n; i++) {
		uint64_t at = hash(i) & (room - 1);
		while (table[at].key)
			at = (at + 1) & (room - 1);
		table[at] = (row){i, 3 * (uint64_t)i + 1};
	}
	uint64_t key = 0, sum = 0, want = 0;
	for (long i = 0; i < n; i++) {
		key = (key + 7919) % n;
		uint64_t at = hash(key + 1) & (room - 1);
		while (table[at].key && table[at].key != key + 1)
			at = (at + 1) & (room - 1);
		sum += table[at].value;
		want += 3 * (key + 1) + 1;
	}
	printf("join %ld: %s\n", n, sum == want ? "right" : "WRONG");
	return sum != want;
}
