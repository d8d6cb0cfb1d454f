/* The map of a checkpoint: a text that says what is in it, and that all of it is there. */
#include "srs_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text { char *at; size_t used, room; };

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	for (;;) {
		va_list args;
		va_start(args, format);
		int n = vsnprintf(t->at == NULL ? NULL : t->at + t->used, t->room - t->used, format, args);
		va_end(args);
		if (t->used + (size_t)n < t->room) {
			t->used += (size_t)n;
			return;
		}
		t->room = 2 * t->room + (size_t)n + 256;
		char *more = realloc(t->at, t->room);
		if (more == NULL)
			abort();
		t->at = more;
	}
}

char *srs_write_map(const struct map *m)
{
	struct text t = {0};
	add(&t, "godwit-srs %d\nserial %lld\nstop %lld\nprocs %d\narrays %d\n", srs_version, (long long)m->serial,
	    (long long)m->stop, m->procs, m->arrays);
	for (int i = 0; i < m->arrays; i++) {
		const struct array *a = &m->array[i];
		const SRS_Distribution *d = &a->dist;
		add(&t, "array %s %d %lld %d %d %lld %lld %lld %lld %d %lld %d", a->name, a->type, (long long)a->element,
		    d->fortran != 0, (int)d->kind, (long long)d->block[0], (long long)d->block[1], (long long)d->grid[0],
		    (long long)d->grid[1], d->by_rows != 0, (long long)a->held_count, a->dimensions);
		for (int k = 0; k < a->dimensions; k++)
			add(&t, " %lld", (long long)a->shape[k]);
		add(&t, "\n");
		for (int64_t k = 0; k < a->held_count; k++)
			add(&t, "run %d %lld %lld %lld\n", a->held[k].owner, (long long)a->held[k].start,
			    (long long)a->held[k].count, (long long)a->held[k].at);
	}
	for (int p = 0; m->part != NULL && p < m->procs; p++)
		add(&t, "part %d %lld %08x\n", p, (long long)m->part[p].bytes, m->part[p].crc);
	add(&t, "end %08x\n", srs_crc(0, t.at, t.used));
	return t.at;
}

/* The next number of a line; *at is NULL once something else stood there. */
static int64_t number(const char **at, int64_t least, int64_t most)
{
	char *end;
	if (*at == NULL)
		return 0;
	long long n = strtoll(*at, &end, 10);
	if (end == *at || n < least || n > most) {
		*at = NULL;
		return 0;
	}
	*at = end;
	return n;
}

static int64_t named(const char **at, const char *name, int64_t least, int64_t most)
{
	size_t n = strlen(name);
	if (*at == NULL || strncmp(*at, name, n) != 0 || (*at)[n] != ' ') {
		*at = NULL;
		return 0;
	}
	*at += n;
	int64_t value = number(at, least, most);
	if (*at != NULL && **at == '\n')
		++*at;
	return value;
}

static void skip(const char **at, const char *text)
{
	size_t n = strlen(text);
	if (*at != NULL)
		*at = strncmp(*at, text, n) == 0 ? *at + n : NULL;
}

static const char *read_array(const char **at, struct array *a, int procs)
{
	const int64_t most = INT64_C(1) << 55;
	skip(at, "array ");
	size_t n = *at == NULL ? 0 : strcspn(*at, " \n");
	if (n < 1 || n > srs_max_name)
		return "an array has no name";
	memcpy(a->name, *at, n);
	a->name[n] = '\0';
	*at += n;
	a->procs = procs;
	a->type = (int)number(at, 1, 1000);
	a->element = number(at, 1, 255);
	a->dist.fortran = number(at, 0, 1);
	a->dist.kind = number(at, 0, SRS_RANGES);
	for (int i = 0; i < 2; i++)
		a->dist.block[i] = number(at, 0, most);
	for (int i = 0; i < 2; i++)
		a->dist.grid[i] = number(at, 0, most);
	a->dist.by_rows = number(at, 0, 1);
	a->held_count = number(at, 0, INT64_C(1) << 30);
	a->dimensions = (int)number(at, 1, srs_max_dimensions);
	for (int i = 0; i < a->dimensions; i++)
		a->shape[i] = number(at, 1, most);
	skip(at, "\n");
	if (*at == NULL)
		return "an array cannot be read";
	if ((a->dist.kind == SRS_RANGES) != (a->held_count > 0))
		return "an array has no ranges";
	a->held = a->held_count == 0 ? NULL : calloc((size_t)a->held_count, sizeof *a->held);
	if (a->held_count > 0 && a->held == NULL)
		return "not enough memory";
	for (int64_t i = 0; i < a->held_count; i++) {
		skip(at, "run ");
		a->held[i].owner = (int)number(at, 0, procs - 1);
		a->held[i].start = number(at, 0, most);
		a->held[i].count = number(at, 1, most);
		a->held[i].at = number(at, 0, most);
		skip(at, "\n");
	}
	if (*at == NULL)
		return "the ranges of an array cannot be read";
	const char *wrong = srs_check_array(a);
	return wrong == NULL && a->held != NULL ? srs_sort_ranges(a) : wrong;
}

const char *srs_read_map(const char *text, struct map *m)
{
	static char old[100];
	const char *at = text, *end = strstr(text, "\nend ");
	memset(m, 0, sizeof *m);
	int64_t version = named(&at, "godwit-srs", 0, INT32_MAX);
	if (at == NULL)
		return "it is not a map of SRS";
	if (version != srs_version) {
		snprintf(old, sizeof old, "it has version %lld; this program's library reads version %d", (long long)version,
			 srs_version);
		return old;
	}
	if (end == NULL || strtoul(end + 5, NULL, 16) != srs_crc(0, text, (size_t)(end + 1 - text)))
		return "its map is damaged";
	m->serial = named(&at, "serial", 0, INT64_MAX);
	m->stop = named(&at, "stop", 0, 1);
	m->procs = (int)named(&at, "procs", 1, 1 << 20);
	m->arrays = (int)named(&at, "arrays", 0, 10000);
	if (at == NULL)
		return "its map cannot be read";
	m->array = calloc((size_t)m->arrays + 1, sizeof *m->array);
	m->part = calloc((size_t)m->procs, sizeof *m->part);
	if (m->array == NULL || m->part == NULL)
		return "not enough memory";
	for (int i = 0; i < m->arrays; i++) {
		const char *wrong = read_array(&at, &m->array[i], m->procs);
		if (wrong != NULL)
			return wrong;
	}
	for (int p = 0; p < m->procs; p++) {
		int is = -1, n = 0;
		long long bytes = -1;
		if (sscanf(at, "part %d %lld %8x%n", &is, &bytes, &m->part[p].crc, &n) != 3 || is != p || bytes < 0 || at[n] != '\n')
			return "its parts cannot be read";
		m->part[p].bytes = bytes;
		at += n + 1;
	}
	return at == end + 1 ? NULL : "its map cannot be read";
}

void srs_free_map(struct map *m)
{
	for (int i = 0; m->array != NULL && i < m->arrays; i++)
		free(m->array[i].held);
	free(m->array);
	free(m->part);
	memset(m, 0, sizeof *m);
}
