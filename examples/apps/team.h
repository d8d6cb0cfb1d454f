/* What the malleable MPI programs heat and bodies share. They are started with as many ranks as
 * they may ever use; so many of them work as the job has processors, the others sleep and take no
 * processor. When Godwit offers more or fewer, rank 0 answers, and once the size has changed all
 * ranks divide the data anew, in memory: nothing is saved or begun again.
 *
 * Data are blocks of equal size (rows of a grid, bodies); worker k of n has those from
 * first_of(k, n, all) up to first_of(k + 1, n, all). */
#ifndef TEAM_H
#define TEAM_H

#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "godwit.h"

static int rank, ranks;      /* in MPI_COMM_WORLD */
static int workers;          /* ranks below it work */
static MPI_Comm team;        /* of those that work; MPI_COMM_NULL for one that sleeps */
static double changing_time; /* that changes of the size have taken, in seconds */
static int changes;
static const char *end_file; /* the program ends early once it is there; NULL: it does not */

enum { SIZE_TAG = 1 };

static long first_of(int worker, int of, long all) { return all * worker / of; }

static long count_of(int worker, int of, long all)
{
	return worker < of ? first_of(worker + 1, of, all) - first_of(worker, of, all) : 0;
}

static void *room(size_t n)
{
	void *p = calloc(n ? n : 1, 1);
	if (!p) {
		fprintf(stderr, "not enough memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return p;
}

static void form_team(int size)
{
	if (team != MPI_COMM_NULL)
		MPI_Comm_free(&team);
	MPI_Comm_split(MPI_COMM_WORLD, rank < size ? 0 : MPI_UNDEFINED, rank, &team);
	workers = size;
}

/* begin_team starts MPI. Without Godwit all ranks work. */
static void begin_team(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int size = rank == 0 ? godwit_size() : 0;
	if (size < 1 || size > ranks)
		size = ranks;
	MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
	team = MPI_COMM_NULL;
	form_team(size);
}

/* wanted_size answers an offer, and is how many ranks are to work from now on. Of rank 0. */
static int wanted_size(void)
{
	int offered = godwit_offered_size(), size = godwit_size();
	if (offered > 0 && offered < workers)
		return offered; /* accepted once nobody works on what is to be given back */
	if (offered > 0)
		godwit_accept_size(offered > ranks ? ranks : offered);
	if (size < 1)
		return workers;
	return size > ranks ? ranks : size;
}

/* divide_anew moves the blocks, each of so many bytes, from the workers of before to those of now. */
static void *divide_anew(void *mine, long all, size_t block, int before, int now)
{
	int *counts = room(4 * (size_t)ranks * sizeof *counts);
	int *from = counts + ranks, *get = from + ranks, *to = get + ranks;
	long had = first_of(rank, before, all), had_end = had + count_of(rank, before, all);
	long have = first_of(rank, now, all), have_end = have + count_of(rank, now, all);
	for (int r = 0; r < ranks; r++) {
		long low = first_of(r, now, all), high = low + count_of(r, now, all);
		low = low > had ? low : had;
		high = high < had_end ? high : had_end;
		counts[r] = high > low && rank < before ? (int)(high - low) : 0;
		from[r] = counts[r] ? (int)(low - had) : 0;
		low = first_of(r, before, all);
		high = low + count_of(r, before, all);
		low = low > have ? low : have;
		high = high < have_end ? high : have_end;
		get[r] = high > low && rank < now ? (int)(high - low) : 0;
		to[r] = get[r] ? (int)(low - have) : 0;
	}
	MPI_Datatype type;
	MPI_Type_contiguous((int)block, MPI_BYTE, &type);
	MPI_Type_commit(&type);
	void *fresh = room((size_t)count_of(rank, now, all) * block);
	MPI_Alltoallv(mine, counts, from, type, fresh, get, to, type, MPI_COMM_WORLD);
	MPI_Type_free(&type);
	free(counts);
	free(mine);
	return fresh;
}

/* sleep_until_needed waits for the next size, and is it; 0: there is nothing more to do. */
static int sleep_until_needed(void)
{
	int size, come = 0;
	MPI_Request next;
	MPI_Irecv(&size, 1, MPI_INT, 0, SIZE_TAG, MPI_COMM_WORLD, &next);
	while (MPI_Test(&next, &come, MPI_STATUS_IGNORE), !come)
		usleep(2000); /* a rank that waits in MPI would keep a processor busy */
	return size;
}

static void wake_sleepers(int size)
{
	for (int r = workers; rank == 0 && r < ranks; r++)
		MPI_Send(&size, 1, MPI_INT, r, SIZE_TAG, MPI_COMM_WORLD);
}

/* next_step is called before each step by who works, and once by who sleeps. It moves data to
 * others if the size is to change, tells how many steps are done, and is 0 for who is not needed
 * any more. at is the step that comes, which who was asleep learns. */
static int next_step(long *at, long steps, void **mine, long all, size_t block)
{
	for (;;) {
		int before = workers, size;
		if (team == MPI_COMM_NULL) {
			size = sleep_until_needed();
		} else {
			if (rank == 0)
				godwit_set_steps(*at, steps);
			size = rank == 0 && *at < steps && !(end_file && access(end_file, F_OK) == 0) ? wanted_size() : 0;
			MPI_Bcast(&size, 1, MPI_INT, 0, team);
			if (size == workers)
				return 1;
			wake_sleepers(size);
		}
		if (size == 0)
			return 0;
		double began = MPI_Wtime();
		/* who slept may have missed changes: rank 0 knows the size of before */
		MPI_Bcast(&before, 1, MPI_INT, 0, MPI_COMM_WORLD);
		MPI_Bcast(at, 1, MPI_LONG, 0, MPI_COMM_WORLD);
		*mine = divide_anew(*mine, all, block, before, size);
		form_team(size);
		changes++;
		changing_time += MPI_Wtime() - began;
		if (rank == 0) {
			char line[80];
			if (size < before)
				godwit_accept_size(size);
			snprintf(line, sizeof line, "%d ranks work, of %d before", size, before);
			godwit_send_message(line);
		}
	}
}

static void end_team(void)
{
	if (rank == 0 && changes)
		fprintf(stderr, "the size changed %d times, which took %.1f ms in the mean\n", changes,
			1000 * changing_time / changes);
	if (team != MPI_COMM_NULL)
		MPI_Comm_free(&team);
	MPI_Finalize();
}

#endif
