/* The part of a checkpoint that one process writes, and that others read in ranges. */
#define _GNU_SOURCE
#include "srs_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "parts are little endian"
#endif

/* CRC-32C, as in Go's hash/crc32 and in SSE 4.2. */
static uint32_t crc_by_table(uint32_t crc, const unsigned char *p, size_t n)
{
	static uint32_t table[256]; /* whoever comes fills in the same */
	if (__atomic_load_n(&table[255], __ATOMIC_ACQUIRE) == 0) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;
			for (int k = 0; k < 8; k++)
				c = c & 1 ? 0x82f63b78 ^ (c >> 1) : c >> 1;
			__atomic_store_n(&table[i], c, __ATOMIC_RELEASE);
		}
	}
	while (n-- > 0)
		crc = table[(crc ^ *p++) & 255] ^ (crc >> 8);
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_by_cpu(uint32_t crc, const unsigned char *p, size_t n)
{
	uint64_t c = crc, word;
	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		c = __builtin_ia32_crc32di(c, word);
	}
	while (n-- > 0)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return (uint32_t)c;
}
#endif

uint32_t srs_crc(uint32_t crc, const void *data, size_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_by_cpu(~crc, data, n);
#endif
	return ~crc_by_table(~crc, data, n);
}

/* The head of a part, as it stands in the file; then the checksums of all blocks of all arrays, then
 * that of all this. */
struct head {
	char magic[8];
	uint32_t version, bytes;
	int64_t serial;
	uint32_t rank, procs, arrays, unused;
};

struct entry {
	char name[srs_max_name + 1];
	int64_t offset, bytes, first, count; /* where its data and its checksums are */
};

static int64_t blocks_of(int64_t bytes) { return (bytes + srs_block_bytes - 1) / srs_block_bytes; }

static int fail(char *why, const char *what, const char *path)
{
	snprintf(why, srs_max_text, "%s %s: %s", what, path, strerror(errno));
	return 1;
}

static int write_at(int fd, const void *data, size_t n, int64_t at)
{
	for (const char *p = data; n > 0;) {
		ssize_t done = pwrite(fd, p, n, at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return 1;
		p += done;
		n -= (size_t)done;
		at += done;
	}
	return 0;
}

/* Copies n bytes of what a process has, from an offset on, as if lines had no gaps. */
static void gather(char *to, const char *from, int64_t line, int64_t gap, int64_t at, int64_t n)
{
	while (n > 0) {
		int64_t row = at / line, in = at % line, k = line - in < n ? line - in : n;
		memcpy(to, from + row * gap + in, (size_t)k);
		to += k;
		at += k;
		n -= k;
	}
}

/* Writes one array, block by block, straight from memory where it has no gaps. */
static int write_array(int fd, const struct array *a, int rank, const struct entry *e, uint32_t *crc, char *buffer)
{
	struct axis slow, fast;
	int s, f;
	srs_axes(a, &slow, &fast);
	srs_place_of(a, rank, &s, &f);
	int64_t line = srs_width(&fast, f) * a->element, gap = srs_leading(a, rank) * a->element;
	for (int64_t b = 0; b < e->count; b++) {
		int64_t at = b * srs_block_bytes, n = e->bytes - at < srs_block_bytes ? e->bytes - at : srs_block_bytes;
		const char *data = (const char *)a->address + at;
		if (line != gap) {
			gather(buffer, a->address, line, gap, at, n);
			data = buffer;
		}
		crc[e->first + b] = srs_crc(0, data, (size_t)n);
		if (write_at(fd, data, (size_t)n, e->offset + at))
			return 1;
	}
	return 0;
}

int srs_write_part(const char *path, const struct map *m, int rank, struct part *written, char *why)
{
	int64_t sums = 0;
	for (int i = 0; i < m->arrays; i++)
		sums += blocks_of(srs_bytes_of(&m->array[i], rank));
	size_t room = sizeof(struct head) + (size_t)m->arrays * sizeof(struct entry) + ((size_t)sums + 1) * sizeof(uint32_t);
	char *text = calloc(1, room), *buffer = malloc(srs_block_bytes);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), bad = 0;
	if (text == NULL || buffer == NULL || fd < 0) {
		bad = fail(why, "opening", path);
		goto out;
	}
	struct head *h = (struct head *)text;
	struct entry *e = (struct entry *)(h + 1);
	uint32_t *crc = (uint32_t *)(e + m->arrays);
	*h = (struct head){.version = srs_version, .bytes = (uint32_t)room, .serial = m->serial, .rank = (uint32_t)rank,
			   .procs = (uint32_t)m->procs, .arrays = (uint32_t)m->arrays};
	memcpy(h->magic, "GODWITSR", 8);
	int64_t at = ((int64_t)room + 4095) / 4096 * 4096, first = 0;
	for (int i = 0; i < m->arrays && !bad; i++) {
		const struct array *a = &m->array[i];
		memcpy(e[i].name, a->name, sizeof a->name);
		e[i].bytes = srs_bytes_of(a, rank);
		e[i].offset = at;
		e[i].first = first;
		e[i].count = blocks_of(e[i].bytes);
		at += (e[i].bytes + 4095) / 4096 * 4096;
		first += e[i].count;
		if (write_array(fd, a, rank, &e[i], crc, buffer))
			bad = fail(why, "writing", path);
	}
	crc[sums] = srs_crc(0, text, room - sizeof *crc);
	*written = (struct part){at, crc[sums]};
	if (!bad && (write_at(fd, text, room, 0) || ftruncate(fd, at) != 0))
		bad = fail(why, "writing", path);
out:
	if (fd >= 0 && close(fd) != 0 && !bad)
		bad = fail(why, "writing", path);
	free(text);
	free(buffer);
	return bad;
}

/* A checkpoint that is read: parts are mapped when they are needed, blocks looked at when they are. */
struct reader {
	char folder[4096];
	const struct map *map;
	struct opened {
		const char *text;
		unsigned char *checked; /* of each block */
	} *part;
};

struct reader *srs_open_checkpoint(const char *folder, const struct map *m)
{
	struct reader *r = calloc(1, sizeof *r);
	if (r == NULL)
		return NULL;
	r->map = m;
	snprintf(r->folder, sizeof r->folder, "%s", folder);
	r->part = calloc((size_t)m->procs, sizeof *r->part);
	if (r->part == NULL) {
		free(r);
		return NULL;
	}
	return r;
}

void srs_close_checkpoint(struct reader *r)
{
	for (int p = 0; r != NULL && p < r->map->procs; p++) {
		if (r->part[p].text != NULL)
			munmap((void *)r->part[p].text, (size_t)r->map->part[p].bytes);
		free(r->part[p].checked);
	}
	if (r != NULL)
		free(r->part);
	free(r);
}

static const struct entry *entries(const struct opened *o) { return (const struct entry *)(o->text + sizeof(struct head)); }

/* Whether the head is that of the part of this checkpoint, and all of it is there. */
static int is_sound(const struct map *m, int p, const char *text)
{
	const struct head *h = (const struct head *)text;
	int64_t bytes = m->part[p].bytes;
	if (bytes < (int64_t)sizeof *h || memcmp(h->magic, "GODWITSR", 8) != 0 || h->version != srs_version ||
	    h->serial != m->serial || h->rank != (uint32_t)p || h->procs != (uint32_t)m->procs ||
	    h->arrays != (uint32_t)m->arrays || h->bytes < sizeof *h + m->arrays * sizeof(struct entry) + 4 ||
	    h->bytes > bytes || h->bytes % 4 != 0)
		return 0;
	uint32_t crc;
	memcpy(&crc, text + h->bytes - 4, 4);
	if (crc != m->part[p].crc || crc != srs_crc(0, text, h->bytes - 4))
		return 0;
	const struct entry *e = (const struct entry *)(h + 1);
	int64_t sums = ((int64_t)h->bytes - 4 - (int64_t)sizeof *h - m->arrays * (int64_t)sizeof *e) / 4;
	for (int i = 0; i < m->arrays; i++)
		if (strncmp(e[i].name, m->array[i].name, sizeof e[i].name) != 0 || e[i].offset < h->bytes || e[i].bytes < 0 ||
		    e[i].offset > bytes - e[i].bytes || e[i].count != blocks_of(e[i].bytes) || e[i].first < 0 ||
		    e[i].first > sums - e[i].count || e[i].bytes != srs_bytes_of(&m->array[i], p))
			return 0;
	return 1;
}

static int open_part(struct reader *r, int p, char *why)
{
	char path[4200];
	struct stat st;
	if (r->part[p].text != NULL)
		return 0;
	snprintf(path, sizeof path, "%s/part.%d", r->folder, p);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fail(why, "opening", path);
	if (fstat(fd, &st) != 0 || st.st_size != r->map->part[p].bytes || st.st_size == 0) {
		close(fd);
		snprintf(why, srs_max_text, "%s is damaged: it has %lld bytes, not %lld", path, (long long)st.st_size,
			 (long long)r->map->part[p].bytes);
		return 1;
	}
	char *text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (text == MAP_FAILED)
		return fail(why, "reading", path);
	if (!is_sound(r->map, p, text)) {
		munmap(text, (size_t)st.st_size);
		snprintf(why, srs_max_text, "%s is damaged, or of another checkpoint", path);
		return 1;
	}
	const struct head *h = (const struct head *)text;
	r->part[p].checked = calloc(1, h->bytes / 4);
	if (r->part[p].checked == NULL) {
		munmap(text, (size_t)st.st_size);
		return fail(why, "reading", path);
	}
	r->part[p].text = text;
	return 0;
}

/* Bytes of an array in a part, once the checksums of their blocks are right; NULL: they are not. */
static const char *checked_bytes(struct opened *o, int array, int arrays, int64_t from, int64_t n)
{
	const struct entry *e = entries(o) + array;
	const uint32_t *crc = (const uint32_t *)(entries(o) + arrays);
	if (from < 0 || n < 0 || from > e->bytes - n)
		return NULL;
	for (int64_t b = from / srs_block_bytes; b * srs_block_bytes < from + n; b++) {
		int64_t at = b * srs_block_bytes, k = e->bytes - at < srs_block_bytes ? e->bytes - at : srs_block_bytes;
		if (o->checked[e->first + b])
			continue;
		if (srs_crc(0, o->text + e->offset + at, (size_t)k) != crc[e->first + b])
			return NULL;
		o->checked[e->first + b] = 1;
	}
	return o->text + e->offset + from;
}

/* What lies together along an axis on an old and on the new process. */
struct piece { int64_t old_at, new_at, count; int old_owner; };

static struct piece *cut_axis(const struct axis *old, const struct axis *now, int owner, int64_t *n)
{
	struct piece *list = NULL;
	size_t used = 0, room = 0;
	int64_t count;
	struct held *runs = srs_runs(now, owner, &count);
	for (int64_t i = 0; i < count; i++) {
		struct held run = runs[i];
		for (int64_t at = run.start; at < run.start + run.count;) {
			struct held h = srs_find(old, at);
			int64_t end = h.start + h.count < run.start + run.count ? h.start + h.count : run.start + run.count;
			struct piece p = {h.at + at - h.start, run.at + at - run.start, end - at, h.owner};
			struct piece *last = used > 0 ? &list[used - 1] : NULL;
			at = end;
			if (last != NULL && last->old_owner == p.old_owner && last->old_at + last->count == p.old_at &&
			    last->new_at + last->count == p.new_at) {
				last->count += p.count;
				continue;
			}
			if (used == room) {
				room = 2 * room + 16;
				struct piece *more = realloc(list, room * sizeof *more);
				if (more == NULL)
					abort();
				list = more;
			}
			list[used++] = p;
		}
	}
	free(runs);
	*n = (int64_t)used;
	return list;
}

/* One rectangle: count lines of n elements. */
struct strip { int64_t old_at, old_line, new_at, new_line, count, n; };

static int copy_strip(struct reader *r, int p, int array, const struct strip *s, char *to, char *why)
{
	if (s->n == s->old_line && s->n == s->new_line) { /* no gaps: all lines at once */
		const char *from = checked_bytes(&r->part[p], array, r->map->arrays, s->old_at, s->count * s->n);
		if (from != NULL) {
			memcpy(to + s->new_at, from, (size_t)(s->count * s->n));
			return 0;
		}
	}
	for (int64_t i = 0; i < s->count; i++) {
		const char *from = checked_bytes(&r->part[p], array, r->map->arrays, s->old_at + i * s->old_line, s->n);
		if (from == NULL) {
			snprintf(why, srs_max_text, "%s/part.%d is damaged: a checksum is wrong", r->folder, p);
			return 1;
		}
		memcpy(to + s->new_at + i * s->new_line, from, (size_t)s->n);
	}
	return 0;
}

int srs_read_array(struct reader *r, const struct array *old, const struct array *now, int rank, char *why)
{
	struct axis old_slow, old_fast, slow, fast;
	int s, f, bad = 0;
	int64_t slows, fasts, leading = srs_leading(now, rank) * now->element;
	srs_axes(old, &old_slow, &old_fast);
	srs_axes(now, &slow, &fast);
	srs_place_of(now, rank, &s, &f);
	struct piece *rows = cut_axis(&old_slow, &slow, s, &slows), *cols = cut_axis(&old_fast, &fast, f, &fasts);
	for (int64_t i = 0; i < slows && !bad; i++) {
		for (int64_t k = 0; k < fasts && !bad; k++) {
			int p = srs_rank_of(old, rows[i].old_owner, cols[k].old_owner);
			int64_t width = srs_width(&old_fast, cols[k].old_owner) * old->element;
			struct strip strip = {rows[i].old_at * width + cols[k].old_at * old->element, width,
					      rows[i].new_at * leading + cols[k].new_at * old->element, leading, rows[i].count,
					      cols[k].count * old->element};
			bad = open_part(r, p, why) ||
			      copy_strip(r, p, (int)(old - r->map->array), &strip, now->address, why);
		}
	}
	free(rows);
	free(cols);
	return bad;
}
