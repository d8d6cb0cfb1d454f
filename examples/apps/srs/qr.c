/* qr N [NB [FILE]]: the QR factorisation of a matrix by ScaLAPACK, a panel of NB columns at a time, with SRS: it
 * can be stopped between two panels and continued on another grid of processes. */
#include "matrix.h"

int main(int argc, char **argv)
{
	begin_matrix(argc, argv);
	int query = -1, info;
	double *tau = room((size_t)local_cols * sizeof *tau), want[2] = {0, 0};
	SRS_Progress(panel < n ? panel : n, n);
	for (; panel < n; panel += nb) {
		if (SRS_Check_Stop())
			return end_matrix("qr", 0);
		int at = (int)panel + 1, left = n - (int)panel, width = left < nb ? left : nb;
		int next = at + width, rest = left - width;
		pdgeqrf_(&left, &width, a, &at, &at, desc, tau, want, &query, &info);
		if (rest > 0)
			pdormqr_("L", "T", &left, &rest, &width, a, &at, &at, desc, tau, a, &at, &next, desc, want + 1, &query, &info);
		int length = (int)fmax(want[0], want[1]);
		double *work = room((size_t)length * sizeof *work);
		pdgeqrf_(&left, &width, a, &at, &at, desc, tau, work, &length, &info);
		if (rest > 0)
			pdormqr_("L", "T", &left, &rest, &width, a, &at, &at, desc, tau, a, &at, &next, desc, work, &length, &info);
		free(work);
		note_diagonal((int)panel, width);
		SRS_Progress(panel + width, n);
	}
	return end_matrix("qr", !is_stopped(argc, argv, 3));
}
