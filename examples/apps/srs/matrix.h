/* What the ScaLAPACK examples share: a matrix of N times N over a grid of processes, as square as can
 * be, in blocks of NB, and the calls of ScaLAPACK, which is written in Fortran. */
#ifndef MATRIX_H
#define MATRIX_H

#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "srs.h"

void Cblacs_pinfo(int *me, int *of);
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);
void Cblacs_gridexit(int context);
int numroc_(const int *n, const int *nb, const int *p, const int *source, const int *procs);
void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *rsrc, const int *csrc,
	       const int *context, const int *lld, int *info);
void pdgeqrf_(const int *m, const int *n, double *a, const int *ia, const int *ja, const int *desc, double *tau,
	      double *work, const int *lwork, int *info);
void pdormqr_(const char *side, const char *trans, const int *m, const int *n, const int *k, const double *a,
	      const int *ia, const int *ja, const int *desca, const double *tau, double *c, const int *ic, const int *jc,
	      const int *descc, double *work, const int *lwork, int *info);
void pdgetrf_(const int *m, const int *n, double *a, const int *ia, const int *ja, const int *desc, int *pivots, int *info);
void pdlaswp_(const char *direction, const char *rows, const int *n, double *a, const int *ia, const int *ja,
	      const int *desc, const int *from, const int *to, const int *pivots);
void pdtrsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m, const int *n,
	     const double *alpha, const double *a, const int *ia, const int *ja, const int *desca, double *b, const int *ib,
	     const int *jb, const int *descb);
void pdgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
	     const double *a, const int *ia, const int *ja, const int *desca, const double *b, const int *ib, const int *jb,
	     const int *descb, const double *beta, double *c, const int *ic, const int *jc, const int *descc);

static int rank, ranks;

#include "wait.h"

static int context, rows, cols, row, col; /* the grid, and where this process is */
static int n, nb, local_rows, local_cols, desc[9];
static double *a;           /* what this process has, column by column */
static int64_t panel;       /* columns before it are done */
static double *diagonal;    /* of the result, as far as it is done */

static void *room(size_t bytes)
{
	void *p = calloc(1, bytes + 8);
	if (p == NULL) {
		fprintf(stderr, "not enough memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return p;
}

/* global is the place in the matrix of a row or column of this process. */
static int global(int local, int me, int of) { return (local / nb * of + me) * nb + local % nb; }

/* begin_matrix makes the matrix, or reads it. */
static void begin_matrix(int argc, char **argv)
{
	const int zero = 0;
	int info;
	MPI_Init(&argc, &argv);
	Cblacs_pinfo(&rank, &ranks);
	n = argc > 1 ? atoi(argv[1]) : 0;
	nb = argc > 2 ? atoi(argv[2]) : 32;
	if (n < 1 || n > 200000 || nb < 1 || nb > n) {
		if (rank == 0)
			fprintf(stderr, "usage: %s N [NB [FILE]] (a matrix of N x N in blocks of NB x NB)\n", argv[0]);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	for (rows = (int)sqrt(ranks); ranks % rows != 0; rows--)
		;
	cols = ranks / rows;
	Cblacs_get(-1, 0, &context);
	Cblacs_gridinit(&context, "Row", rows, cols);
	Cblacs_gridinfo(context, &rows, &cols, &row, &col);
	local_rows = numroc_(&n, &nb, &row, &zero, &rows);
	local_cols = numroc_(&n, &nb, &col, &zero, &cols);
	int lld = local_rows > 1 ? local_rows : 1;
	descinit_(desc, &n, &n, &nb, &nb, &zero, &zero, &context, &lld, &info);
	a = room((size_t)lld * (size_t)local_cols * sizeof *a);
	diagonal = room((size_t)n * sizeof *diagonal);

	SRS_Init();
	SRS_Distribution grid = SRS_Grid(nb, nb, rows, cols, lld);
	SRS_Register("panel", &panel, SRS_LONG, 0, NULL, NULL);
	SRS_Register("diagonal", diagonal, SRS_DOUBLE, 1, (int64_t[]){n}, NULL);
	SRS_Register("A", a, SRS_DOUBLE, 2, (int64_t[]){n, n}, &grid);
	if (SRS_Restart_Value()) {
		SRS_Read("panel", &panel, NULL, NULL);
		SRS_Read("diagonal", diagonal, NULL, NULL);
		SRS_Read("A", a, NULL, NULL);
		return;
	}
	for (int64_t c = 0; c < local_cols; c++)
		for (int64_t r = 0; r < local_rows; r++) {
			int64_t i = global((int)r, row, rows), k = global((int)c, col, cols);
			a[c * lld + r] = (double)((i * 7919 + k * 104729 + i * k % 613) % 2003) / 2003 + (i == k ? n : 0);
		}
}

/* note_diagonal has all know the diagonal of a panel that is done. */
static void note_diagonal(int from, int width)
{
	double *own = room((size_t)width * sizeof *own);
	for (int c = 0; c < local_cols; c++)
		for (int r = 0; r < local_rows; r++) {
			int i = global(r, row, rows), k = global(c, col, cols);
			if (i == k && i >= from && i < from + width)
				own[i - from] = a[(size_t)c * (size_t)desc[8] + (size_t)r];
		}
	MPI_Allreduce(own, diagonal + from, width, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	free(own);
}

static int end_matrix(const char *name, int is_done)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += log(fabs(diagonal[i]));
	if (is_done && rank == 0)
		printf("%s %d: log |det| = %.17g\n", name, n, sum);
	SRS_Finish();
	Cblacs_gridexit(context);
	MPI_Finalize();
	return 0;
}

#endif
