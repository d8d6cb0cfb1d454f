/* What the files of srs share: how arrays lie, and what a checkpoint holds. docs/program-protocol.md
 * describes the files. */
#ifndef GODWIT_SRS_PARTS_H
#define GODWIT_SRS_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "srs.h"

enum {
	srs_version = 1,
	srs_max_name = 63,
	srs_max_dimensions = 8,
	srs_block_bytes = 1 << 20, /* that have a checksum of their own */
	srs_max_text = 5000, /* a path, and what is wrong */
};

/* Neighbours along an axis that one process has; at is where they lie there. */
struct held { int64_t start, count, at; int owner; };

/* One axis as a layout divides it. */
struct axis {
	int64_t length, block; /* block 0: as evenly as can be */
	int procs;
	const struct held *held; /* sorted; NULL: by block */
	int64_t held_count;
};

/* An array: what it is, and how it lies on so many processes. */
struct array {
	char name[srs_max_name + 1];
	int type, dimensions;
	int64_t element, shape[srs_max_dimensions];
	SRS_Distribution dist;
	int procs;
	struct held *held;  /* of SRS_RANGES: what all processes have, sorted by start */
	int64_t held_count;
	void *address;
};

/* A checkpoint as its map tells of it. */
struct map {
	int64_t serial, stop;
	int procs, arrays;
	struct array *array;
	struct part { int64_t bytes; uint32_t crc; } *part; /* of each process */
};

/* Layouts. They return NULL, or what is wrong. */
const char *srs_check_array(const struct array *a);
void srs_axes(const struct array *a, struct axis *slow, struct axis *fast);
void srs_place_of(const struct array *a, int rank, int *slow, int *fast);
int srs_rank_of(const struct array *a, int slow, int fast);
struct held srs_find(const struct axis *x, int64_t index);
int64_t srs_width(const struct axis *x, int owner);
struct held *srs_runs(const struct axis *x, int owner, int64_t *n); /* in the order in which they lie there; to be freed */
int64_t srs_bytes_of(const struct array *a, int rank); /* in its part */
int64_t srs_leading(const struct array *a, int rank);
const char *srs_sort_ranges(struct array *a);
const char *srs_shape_text(const struct array *a, char *text, size_t n);

/* Maps as text. */
char *srs_write_map(const struct map *m); /* to be freed */
const char *srs_read_map(const char *text, struct map *m);
void srs_free_map(struct map *m);

/* Parts. What is wrong is written into why, of srs_max_text bytes; 0 is success. */
uint32_t srs_crc(uint32_t crc, const void *data, size_t n);
int srs_write_part(const char *path, const struct map *m, int rank, struct part *written, char *why);
struct reader;
struct reader *srs_open_checkpoint(const char *folder, const struct map *m);
int srs_read_array(struct reader *r, const struct array *old, const struct array *now, int rank, char *why);
void srs_close_checkpoint(struct reader *r);

#endif
