/* heat N [STEPS [FILE]]: how heat spreads on a plate of N times N cells, by MPI with SRS: it can be stopped
 * at any step and continued on another number of processes. It prints a sum over the plate that does
 * not depend on how many there were, nor on when it was stopped; with FILE not before that is there. */
#include "rows.h"

int main(int argc, char **argv)
{
	begin(&argc, &argv, "heat N [STEPS [FILE]]", 2);
	int64_t n = size_of(argc, argv, 1, 0), steps = size_of(argc, argv, 2, 1000), step = 0;
	int64_t mine = count_of(rank, n), top = first_of(rank, n);
	double *plate = room(mine * n), *next = room(mine * n), *above = room(n), *below = room(n);

	SRS_Distribution by_rows = SRS_Block();
	SRS_Register("step", &step, SRS_LONG, 0, NULL, NULL);
	SRS_Register("plate", plate, SRS_DOUBLE, 2, (int64_t[]){n, n}, &by_rows);
	if (SRS_Restart_Value()) {
		SRS_Read("step", &step, NULL, NULL);
		SRS_Read("plate", plate, NULL, NULL);
	} else {
		for (int64_t r = 0; r < mine; r++)
			for (int64_t c = 0; c < n; c++)
				plate[r * n + c] = (double)((top + r) * 7919 % 1009 + c * 104729 % 2003);
	}

	SRS_Progress(step, steps);
	for (; step < steps; step++) {
		if (SRS_Check_Stop())
			return end();
		exchange_rows(plate, n, mine, above, below);
		for (int64_t r = 0; r < mine; r++) {
			const double *now = plate + r * n, *over = r > 0 ? now - n : above, *under = r < mine - 1 ? now + n : below;
			memcpy(next + r * n, now, (size_t)n * sizeof *now);
			if (top + r == 0 || top + r == n - 1)
				continue;
			for (int64_t c = 1; c < n - 1; c++)
				next[r * n + c] = now[c] + 0.2 * (over[c] + under[c] + now[c - 1] + now[c + 1] - 4 * now[c]);
		}
		memcpy(plate, next, (size_t)(mine * n) * sizeof *plate);
		SRS_Progress(step + 1, steps);
	}

	if (is_stopped(argc, argv, 3))
		return end();

	double *sums = room(mine);
	for (int64_t r = 0; r < mine; r++)
		for (int64_t c = 0; c < n; c++)
			sums[r] += plate[r * n + c];
	double sum = sum_in_order(sums, n);
	if (rank == 0)
		printf("heat %lld: %.17g after %lld steps\n", (long long)n, sum, (long long)step);
	return end();
}
