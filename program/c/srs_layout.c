/* How arrays lie on processes: internal/sched/redist says the same in Go. */
#include "srs_parts.h"

#include <stdio.h>
#include <stdlib.h>

static int slow_dimension(const struct array *a) { return a->dist.fortran ? a->dimensions - 1 : 0; }

const char *srs_shape_text(const struct array *a, char *text, size_t n)
{
	size_t at = 0;
	text[0] = '\0';
	for (int i = 0; i < a->dimensions && at < n; i++)
		at += (size_t)snprintf(text + at, n - at, "%s%lld", i ? " x " : "", (long long)a->shape[i]);
	return text;
}

/* Shape and distribution, as far as they can be right for any process. */
const char *srs_check_array(const struct array *a)
{
	const SRS_Distribution *d = &a->dist;
	int64_t left = (INT64_MAX >> 8) / a->element;
	if (a->dimensions < 1 || a->dimensions > srs_max_dimensions)
		return "it needs 1 to 8 dimensions";
	for (int i = 0; i < a->dimensions; i++) {
		if (a->shape[i] < 1 || a->shape[i] > left)
			return "every dimension needs at least one element, and all together less than 2^55 bytes";
		left /= a->shape[i];
	}
	switch (d->kind) {
	case SRS_BLOCK: case SRS_CYCLIC: case SRS_REPLICATED: case SRS_RANGES:
		break;
	case SRS_BLOCK_CYCLIC:
		if (d->block[0] < 1)
			return "a block needs at least one element";
		break;
	case SRS_GRID:
		if (a->dimensions != 2)
			return "a grid of processes divides matrices";
		if (d->block[0] < 1 || d->block[1] < 1)
			return "a block needs at least one element each way";
		if (d->grid[0] < 1 || d->grid[1] < 1 || d->grid[0] > a->procs || d->grid[0] * d->grid[1] != a->procs)
			return "the grid does not have as many places as there are processes";
		break;
	default:
		return "there is no such kind of distribution";
	}
	if (d->leading < 0)
		return "the leading dimension is negative";
	return NULL;
}

void srs_axes(const struct array *a, struct axis *slow, struct axis *fast)
{
	int d = slow_dimension(a);
	*slow = (struct axis){.length = a->shape[d], .procs = a->procs};
	*fast = (struct axis){.length = 1, .procs = 1};
	for (int i = 0; i < a->dimensions; i++)
		if (i != d)
			fast->length *= a->shape[i];
	switch (a->dist.kind) {
	case SRS_CYCLIC: slow->block = 1; break;
	case SRS_BLOCK_CYCLIC: slow->block = a->dist.block[0]; break;
	case SRS_REPLICATED: slow->procs = 1; break;
	case SRS_RANGES: slow->held = a->held; slow->held_count = a->held_count; break;
	case SRS_GRID:
		slow->procs = (int)a->dist.grid[d];
		slow->block = a->dist.block[d];
		fast->procs = (int)a->dist.grid[1 - d];
		fast->block = a->dist.block[1 - d];
		break;
	}
}

/* Where a process stands along both axes. */
void srs_place_of(const struct array *a, int rank, int *slow, int *fast)
{
	*slow = rank;
	*fast = 0;
	if (a->dist.kind == SRS_REPLICATED)
		*slow = 0;
	if (a->dist.kind != SRS_GRID)
		return;
	int rows = (int)a->dist.grid[0], cols = (int)a->dist.grid[1];
	int row = a->dist.by_rows ? rank / cols : rank % rows, col = a->dist.by_rows ? rank % cols : rank / rows;
	*slow = a->dist.fortran ? col : row;
	*fast = a->dist.fortran ? row : col;
}

int srs_rank_of(const struct array *a, int slow, int fast)
{
	if (a->dist.kind != SRS_GRID)
		return slow;
	int row = a->dist.fortran ? fast : slow, col = a->dist.fortran ? slow : fast;
	return a->dist.by_rows ? row * (int)a->dist.grid[1] + col : col * (int)a->dist.grid[0] + row;
}

static int64_t first_of(int64_t all, int procs, int64_t proc)
{
	return all / procs * proc + all % procs * proc / procs;
}

/* Who has an element, and what it has around it. */
struct held srs_find(const struct axis *x, int64_t index)
{
	struct held h = {0, x->length, 0, 0};
	if (x->held != NULL) {
		int64_t low = 0, high = x->held_count - 1;
		while (low < high) {
			int64_t middle = (low + high + 1) / 2;
			if (x->held[middle].start <= index)
				low = middle;
			else
				high = middle - 1;
		}
		return x->held[low];
	}
	if (x->procs == 1)
		return h;
	if (x->block == 0) {
		int low = 0, high = x->procs - 1;
		while (low < high) {
			int middle = (low + high + 1) / 2;
			if (first_of(x->length, x->procs, middle) <= index)
				low = middle;
			else
				high = middle - 1;
		}
		h.owner = low;
		h.start = first_of(x->length, x->procs, low);
		h.count = first_of(x->length, x->procs, low + 1) - h.start;
		return h;
	}
	int64_t block = index / x->block;
	h.owner = (int)(block % x->procs);
	h.start = block * x->block;
	h.count = x->length - h.start < x->block ? x->length - h.start : x->block;
	h.at = block / x->procs * x->block;
	return h;
}

static int by_place(const void *a, const void *b)
{
	int64_t x = ((const struct held *)a)->at, y = ((const struct held *)b)->at;
	return (x > y) - (x < y);
}

struct held *srs_runs(const struct axis *x, int owner, int64_t *n)
{
	int64_t width = srs_width(x, owner), most = x->block > 0 && x->procs > 1 ? width / x->block + 1 : 1;
	struct held *list = calloc((size_t)(x->held != NULL ? x->held_count : most) + 1, sizeof *list);
	if (list == NULL)
		abort();
	*n = 0;
	if (x->held != NULL) {
		for (int64_t i = 0; i < x->held_count; i++)
			if (x->held[i].owner == owner)
				list[(*n)++] = x->held[i];
		qsort(list, (size_t)*n, sizeof *list, by_place);
		return list;
	}
	int64_t step = x->block * x->procs, start = x->block * owner;
	if (x->procs == 1 || x->block == 0)
		start = x->procs == 1 ? 0 : first_of(x->length, x->procs, owner);
	for (int64_t left = width; left > 0; start += step) {
		list[*n] = srs_find(x, start);
		left -= list[(*n)++].count;
	}
	return list;
}

int64_t srs_width(const struct axis *x, int owner)
{
	int64_t sum = 0;
	if (x->held == NULL && x->procs > 1 && x->block > 0) {
		int64_t blocks = x->length / x->block, rest = x->length % x->block;
		sum = blocks / x->procs * x->block;
		if (owner < blocks % x->procs)
			return sum + x->block;
		return owner == blocks % x->procs ? sum + rest : sum;
	}
	if (x->held != NULL) {
		for (int64_t i = 0; i < x->held_count; i++)
			sum += x->held[i].owner == owner ? x->held[i].count : 0;
		return sum;
	}
	return x->procs == 1 ? x->length
			     : first_of(x->length, x->procs, owner + 1) - first_of(x->length, x->procs, owner);
}

/* What a process writes of an array: of one that all have, process 0 alone writes it. */
int64_t srs_bytes_of(const struct array *a, int rank)
{
	struct axis slow, fast;
	int s, f;
	if (a->dist.kind == SRS_REPLICATED && rank > 0)
		return 0;
	srs_axes(a, &slow, &fast);
	srs_place_of(a, rank, &s, &f);
	return srs_width(&slow, s) * srs_width(&fast, f) * a->element;
}

int64_t srs_leading(const struct array *a, int rank)
{
	struct axis slow, fast;
	int s, f;
	srs_axes(a, &slow, &fast);
	srs_place_of(a, rank, &s, &f);
	int64_t width = srs_width(&fast, f);
	return a->dist.leading > width ? a->dist.leading : width;
}

static int by_start(const void *a, const void *b)
{
	int64_t x = ((const struct held *)a)->start, y = ((const struct held *)b)->start;
	return (x > y) - (x < y);
}

/* Sorts what all processes have, which must be each element once. */
const char *srs_sort_ranges(struct array *a)
{
	static char text[200];
	int64_t length = a->shape[slow_dimension(a)], next = 0;
	qsort(a->held, (size_t)a->held_count, sizeof *a->held, by_start);
	for (int64_t i = 0; i < a->held_count; i++) {
		const struct held *h = &a->held[i];
		if (h->start < 0 || h->count < 1 || h->start > length - h->count) {
			snprintf(text, sizeof text, "process %d has a range of %lld from %lld on, which is not within 0 to %lld",
				 h->owner, (long long)h->count, (long long)h->start, (long long)length);
			return text;
		}
		if (h->start < next) {
			snprintf(text, sizeof text, "the range of process %d from %lld on overlaps one of process %d", h->owner,
				 (long long)h->start, a->held[i - 1].owner);
			return text;
		}
		if (h->start > next)
			break;
		next = h->start + h->count;
	}
	if (next < length) {
		snprintf(text, sizeof text, "nobody has element %lld", (long long)next);
		return text;
	}
	return NULL;
}
