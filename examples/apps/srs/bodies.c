/* bodies N [STEPS [FILE]]: N bodies that attract each other, by MPI with SRS: it can be stopped at any step and
 * continued on another number of processes. */
#include <math.h>

#include "rows.h"

enum { place = 0, speed = 3, mass = 6, width = 7 }; /* of a body */

/* move_bodies has all attract those of this process, in the same order everywhere. */
static void move_bodies(double *own, const double *all, int64_t mine, int64_t n)
{
	const double time = 1e-3;
	for (int64_t i = 0; i < mine; i++) {
		double *b = own + i * width, pull[3] = {0, 0, 0};
		for (int64_t k = 0; k < n; k++) {
			const double *other = all + k * width;
			double d[3], square = 1e-2;
			for (int c = 0; c < 3; c++) {
				d[c] = other[place + c] - b[place + c];
				square += d[c] * d[c];
			}
			double force = other[mass] / (square * sqrt(square));
			for (int c = 0; c < 3; c++)
				pull[c] += force * d[c];
		}
		for (int c = 0; c < 3; c++) {
			b[speed + c] += time * pull[c];
			b[place + c] += time * b[speed + c];
		}
	}
}

int main(int argc, char **argv)
{
	begin(&argc, &argv, "bodies N [STEPS [FILE]]", 2);
	int64_t n = size_of(argc, argv, 1, 0), steps = size_of(argc, argv, 2, 200), step = 0, mine = count_of(rank, n);
	double *own = room(mine * width), *all = room(n * width);

	SRS_Distribution even = SRS_Block();
	SRS_Register("step", &step, SRS_LONG, 0, NULL, NULL);
	SRS_Register("bodies", own, SRS_DOUBLE, 2, (int64_t[]){n, width}, &even);
	if (SRS_Restart_Value()) {
		SRS_Read("step", &step, NULL, NULL);
		SRS_Read("bodies", own, NULL, NULL);
	} else {
		for (int64_t i = 0; i < mine; i++)
			for (int c = 0; c < width; c++)
				own[i * width + c] = (double)(((first_of(rank, n) + i) * width + c) * 7919 % 1009 + 1) / 1009;
	}

	SRS_Progress(step, steps);
	for (; step < steps; step++) {
		if (SRS_Check_Stop())
			return end();
		gather_rows(own, all, n, width);
		move_bodies(own, all, mine, n);
		SRS_Progress(step + 1, steps);
	}
	if (is_stopped(argc, argv, 3))
		return end();
	gather_rows(own, all, n, width);
	double sum = 0;
	for (int64_t i = 0; i < n * width; i++)
		sum += all[i];
	if (rank == 0)
		printf("bodies %" PRId64 ": %.17g after %" PRId64 " steps\n", n, sum, step);
	return end();
}
