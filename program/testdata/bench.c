/* What a look and a bump cost, in nanoseconds: the best of many batches. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#include "godwit.h"

enum { batches = 50, calls = 200000 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
	double look = 1e9, bump = 1e9;
	int wanted = 0;
	godwit_set_steps(0, INT64_C(1) << 40);
	for (int b = 0; b < batches; b++) {
		double from = now();
		for (int i = 0; i < calls; i++)
			wanted += godwit_stop_wanted();
		double middle = now();
		for (int i = 0; i < calls; i++)
			godwit_add_steps(1);
		double end = now();
		if ((middle - from) / calls < look)
			look = (middle - from) / calls;
		if ((end - middle) / calls < bump)
			bump = (end - middle) / calls;
	}
	printf("%d %d %.3f %.3f\n", godwit_has_agent(), wanted, look, bump);
	return 0;
}
