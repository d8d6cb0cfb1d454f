/* What the examples with SRS share: rows of a grid, or bodies, divided evenly. */
#ifndef ROWS_H
#define ROWS_H

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "srs.h"

static int rank, ranks;

#include "wait.h"

/* begin starts MPI and SRS; end ends them. */
__attribute__((unused)) static void begin(int *argc, char ***argv, const char *usage, int least)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (*argc < least) {
		if (rank == 0)
			fprintf(stderr, "usage: %s\n", usage);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	SRS_Init();
}

__attribute__((unused)) static int end(void)
{
	SRS_Finish();
	MPI_Finalize();
	return 0;
}

__attribute__((unused)) static int64_t size_of(int argc, char **argv, int i, int64_t otherwise)
{
	int64_t n = argc > i ? atoll(argv[i]) : otherwise;
	if (n < 1 || n > 1000000000) {
		if (rank == 0)
			fprintf(stderr, "%s is no size\n", argc > i ? argv[i] : "nothing");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	return n;
}

/* The rows that process k has, as SRS_Block divides them. */
static int64_t first_of(int k, int64_t all) { return all * k / ranks; }
static int64_t count_of(int k, int64_t all) { return first_of(k + 1, all) - first_of(k, all); }

static double *room(int64_t n)
{
	double *p = calloc((size_t)n + 1, sizeof *p);
	if (p == NULL) {
		fprintf(stderr, "not enough memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return p;
}

/* gather_rows has every process know all numbers, of each row width. */
__attribute__((unused)) static void gather_rows(const double *own, double *all, int64_t rows, int64_t width)
{
	int *counts = calloc(2 * (size_t)ranks, sizeof *counts), *from = counts + ranks;
	for (int k = 0; k < ranks; k++) {
		counts[k] = (int)(count_of(k, rows) * width);
		from[k] = (int)(first_of(k, rows) * width);
	}
	MPI_Allgatherv(own, counts[rank], MPI_DOUBLE, all, counts, from, MPI_DOUBLE, MPI_COMM_WORLD);
	free(counts);
}

/* sum_in_order adds up what each row has, in their order, so that the sum is the same however they are
 * divided. */
__attribute__((unused)) static double sum_in_order(const double *own, int64_t rows)
{
	double *all = room(rows), sum = 0;
	gather_rows(own, all, rows, 1);
	for (int64_t r = 0; r < rows; r++)
		sum += all[r];
	free(all);
	return sum;
}

/* exchange_rows gets the rows of the neighbours. A process may have none. */
__attribute__((unused)) static void exchange_rows(const double *rows, int64_t n, int64_t mine, double *above,
						  double *below)
{
	int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	if (mine < 1)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Sendrecv(rows, (int)n, MPI_DOUBLE, up, 0, below, (int)n, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	MPI_Sendrecv(rows + (mine - 1) * n, (int)n, MPI_DOUBLE, down, 0, above, (int)n, MPI_DOUBLE, up, 0, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}

#endif
