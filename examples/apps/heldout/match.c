/* match N: looks for a word in a text of N letters, by the method of Knuth, Morris
 * and Pratt.
 *
 * It checks itself: where the word stands was decided when the text was written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
	long n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 1000 || n > 2000000000) {
		fprintf(stderr, "usage: match N (1000 to 2000000000)\n");
		return 2;
	}
	static const char word[] = "abacabadabacabaeabac";
	enum { LENGTH = sizeof word - 1 };
	char *text = malloc(n);
	if (!text) {
		fprintf(stderr, "match: no memory for %ld letters\n", n);
		return 1;
	}
	uint64_t x = 88172645463325252u;
	for (long i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		text[i] = "abcd"[x & 3]; /* no e: the word comes only where it is put */
	}
	long put = 0, found = 0;
	for (long i = 500; i + LENGTH <= n; i += 1000, put++)
		memcpy(text + i, word, LENGTH);
	int back[LENGTH + 1] = {-1};
	for (int i = 0, k = -1; i < LENGTH;) {
		while (k >= 0 && word[i] != word[k])
			k = back[k];
		back[++i] = ++k;
	}
	for (long i = 0, k = 0; i < n; i++) {
		while (k >= 0 && text[i] != word[k])
			k = back[k];
		if (++k == LENGTH) {
			found++;
			k = back[k];
		}
	}
	printf("match %ld: %ld of %ld found\n", n, found, put);
	return found != put;
}
