/* Registers and reads as its argument says. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "srs.h"

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	double x[12] = {0};
	int64_t shape[] = {3, 4}, wrong[] = {4, 3}, overlap[] = {0, 2, 1, 2};
	MPI_Init(&argc, &argv);
	SRS_Init();
	SRS_Distribution block = SRS_Block(), ranges = SRS_Ranges(2, overlap), cyclic = SRS_Cyclic();
	if (strcmp(how, "ranges") == 0)
		SRS_Register("x", x, SRS_DOUBLE, 2, shape, &ranges);
	else
		SRS_Register("x", x, SRS_DOUBLE, 2, strcmp(how, "shape") == 0 ? wrong : shape, &block);
	if (strcmp(how, "save") == 0) {
		x[11] = 17;
		printf("stop %d\n", SRS_Check_Stop());
	} else if (strcmp(how, "pace") == 0) {
		const int calls = 2000000;
		struct timespec a, b;
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < calls; i++) {
			SRS_Check_Stop();
			SRS_Progress(i, calls);
		}
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%.1f\n", ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / calls);
	} else {
		SRS_Read(strcmp(how, "name") == 0 ? "y" : "x", x, strcmp(how, "layout") == 0 ? &cyclic : NULL, NULL);
		printf("read %g\n", x[11]);
	}
	SRS_Finish();
	MPI_Finalize();
	return 0;
}
