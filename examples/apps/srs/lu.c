/* lu N [NB [FILE]]: the LU factorisation of a matrix by ScaLAPACK, a panel of NB columns at a time, with SRS: it
 * can be stopped between two panels and continued on another grid of processes. */
#include "matrix.h"

int main(int argc, char **argv)
{
	begin_matrix(argc, argv);
	const int one = 1;
	const double plus = 1, minus = -1;
	int *pivots = room((size_t)(local_rows + nb) * sizeof *pivots), info;
	SRS_Progress(panel < n ? panel : n, n);
	for (; panel < n; panel += nb) {
		if (SRS_Check_Stop())
			return end_matrix("lu", 0);
		int at = (int)panel + 1, left = n - (int)panel, width = left < nb ? left : nb;
		int next = at + width, rest = left - width, before = (int)panel, last = at + width - 1;
		pdgetrf_(&left, &width, a, &at, &at, desc, pivots, &info);
		if (before > 0)
			pdlaswp_("F", "R", &before, a, &one, &one, desc, &at, &last, pivots);
		if (rest > 0) {
			pdlaswp_("F", "R", &rest, a, &one, &next, desc, &at, &last, pivots);
			pdtrsm_("L", "L", "N", "U", &width, &rest, &plus, a, &at, &at, desc, a, &at, &next, desc);
			pdgemm_("N", "N", &rest, &rest, &width, &minus, a, &next, &at, desc, a, &at, &next, desc, &plus, a, &next, &next,
				desc);
		}
		note_diagonal((int)panel, width);
		SRS_Progress(panel + width, n);
	}
	return end_matrix("lu", !is_stopped(argc, argv, 3));
}
