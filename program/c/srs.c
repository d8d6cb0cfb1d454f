/* SRS on the program interface: what srs.h says. Rank 0 sees what is wanted; all processes agree on it at
 * calls of SRS_Check_Stop that all of them count alike, so that all save at the same one. */
#define _GNU_SOURCE
#include "srs_parts.h"

#include "godwit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What the processes agree on: the most that any of them says. */
enum { say_stop, say_save, say_size, say_nanoseconds, say_count };

enum {
	max_calls = 1024,                /* from one agreement to the next */
	agree_nanoseconds = 20 * 1000000, /* about so often */
	taken_milliseconds = 5000,       /* that a saved program stands still for its agent */
	retry_seconds = 30,              /* after a checkpoint that could not be written */
};

static MPI_Comm comm;
static int active, rank, ranks;
static char folder[3000];      /* of the attempt's checkpoints */
static struct map restart;     /* what is continued; no processes: nothing */
static struct reader *reader;
static char restart_folder[3100];
static struct map now;         /* what is registered */
static int is_returned;        /* errors are */
static char error_text[srs_max_text];

static int64_t calls, next_agreement;
static MPI_Request request = MPI_REQUEST_NULL;
static int64_t said[say_count], coming[say_count], agreed[say_count];
static struct timespec agreed_at;
static int64_t saved_number;   /* of the last checkpoint of the page that was seen, on rank 0 */
static int stopping, wants_save;
static time_t retry_at;

__attribute__((format(printf, 1, 2))) static int report_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(error_text, sizeof error_text, format, args);
	va_end(args);
	if (!is_returned) {
		fprintf(stderr, "srs: %s\n", error_text);
		fflush(stderr);
		MPI_Abort(MPI_COMM_WORLD, 70);
	}
	return SRS_ERROR;
}

void SRS_Errors_return(void) { is_returned = 1; }
const char *SRS_Error_Text(void) { return error_text; }

SRS_Distribution SRS_Block(void) { return (SRS_Distribution){.kind = SRS_BLOCK}; }
SRS_Distribution SRS_Cyclic(void) { return (SRS_Distribution){.kind = SRS_CYCLIC}; }
SRS_Distribution SRS_Replicated(void) { return (SRS_Distribution){.kind = SRS_REPLICATED}; }

SRS_Distribution SRS_Block_cyclic(int64_t block)
{
	return (SRS_Distribution){.kind = SRS_BLOCK_CYCLIC, .block = {block, block}};
}

SRS_Distribution SRS_Grid(int64_t mb, int64_t nb, int64_t rows, int64_t cols, int64_t lld)
{
	return (SRS_Distribution){
		.kind = SRS_GRID, .block = {mb, nb}, .grid = {rows, cols}, .by_rows = 1, .fortran = 1, .leading = lld};
}

SRS_Distribution SRS_Ranges(int64_t count, const int64_t *start_and_length)
{
	return (SRS_Distribution){.kind = SRS_RANGES, .count = count, .ranges = start_and_length};
}

static int64_t element_bytes(int type)
{
	static const int64_t bytes[] = {[SRS_BYTE] = 1, [SRS_INT] = 4, [SRS_LONG] = 8, [SRS_FLOAT] = 4, [SRS_DOUBLE] = 8,
					[SRS_COMPLEX] = 8, [SRS_DOUBLE_COMPLEX] = 16};
	return type >= SRS_BYTE && type <= SRS_DOUBLE_COMPLEX ? bytes[type] : 0;
}

/* The newest whole checkpoint in the folder; 0: none. */
static int64_t newest_serial(int64_t *highest)
{
	int64_t newest = 0;
	DIR *dir = opendir(folder);
	*highest = 0;
	if (dir == NULL)
		return 0;
	for (struct dirent *d; (d = readdir(dir)) != NULL;) {
		char path[4000], *end;
		int64_t n = strtoll(d->d_name, &end, 10);
		if (end == d->d_name || n < 1 || (*end != '\0' && strcmp(end, ".part") != 0))
			continue;
		*highest = n > *highest ? n : *highest;
		snprintf(path, sizeof path, "%s/%s/map", folder, d->d_name);
		if (*end == '\0' && n > newest && access(path, R_OK) == 0)
			newest = n;
	}
	closedir(dir);
	return newest;
}

/* A small file, to be freed; NULL: it cannot be read. */
static char *read_text(const char *path)
{
	struct stat st;
	char *text = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size < INT32_MAX && (text = calloc(1, (size_t)st.st_size + 1)) != NULL) {
		ssize_t n = read(fd, text, (size_t)st.st_size);
		if (n != st.st_size) {
			free(text);
			text = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* Has all processes read what is continued; rank 0 has found it. */
static int read_restart(int64_t newest)
{
	char *text = NULL, path[4000];
	int64_t bytes = -1;
	if (newest == 0)
		return SRS_SUCCESS;
	snprintf(restart_folder, sizeof restart_folder, "%s/%lld", folder, (long long)newest);
	if (rank == 0) {
		snprintf(path, sizeof path, "%s/map", restart_folder);
		text = read_text(path);
		bytes = text == NULL ? -1 : (int64_t)strlen(text);
	}
	MPI_Bcast(&bytes, 1, MPI_INT64_T, 0, comm);
	if (bytes < 0)
		return report_error("the map of the checkpoint in %s cannot be read", restart_folder);
	if (rank > 0)
		text = calloc(1, (size_t)bytes + 1);
	if (text == NULL)
		return report_error("not enough memory");
	MPI_Bcast(text, (int)bytes, MPI_CHAR, 0, comm);
	const char *wrong = srs_read_map(text, &restart);
	free(text);
	if (wrong != NULL) {
		srs_free_map(&restart);
		return report_error("the checkpoint in %s cannot be continued: %s", restart_folder, wrong);
	}
	reader = srs_open_checkpoint(restart_folder, &restart);
	return reader == NULL ? report_error("not enough memory") : SRS_SUCCESS;
}

int SRS_Init(void)
{
	const char *dir = getenv("GODWIT_SRS");
	int64_t found[3] = {0, 0, 0}; /* the newest, the highest number, whether there is a folder */
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &ranks);
	if (rank == 0 && dir != NULL && strlen(dir) < sizeof folder && access(dir, W_OK) == 0) {
		snprintf(folder, sizeof folder, "%s", dir);
		found[0] = newest_serial(&found[1]);
		found[2] = 1;
		const char *first = getenv("GODWIT_SRS_FIRST");
		/* ordered while it was starting, unless it has saved itself here before */
		wants_save = found[1] == (first == NULL ? 0 : atoll(first)) && godwit_checkpoint_number() > 0;
		saved_number = godwit_checkpoint_number();
	}
	MPI_Bcast(found, 3, MPI_INT64_T, 0, comm);
	if (!found[2])
		return SRS_SUCCESS;
	MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, comm);
	int seen = access(folder, W_OK) == 0, all;
	MPI_Allreduce(&seen, &all, 1, MPI_INT, MPI_MIN, comm);
	if (!all) {
		if (rank == 0)
			godwit_send_message("srs: not all hosts see the folder for checkpoints, so the program is not saved");
		return found[0] == 0 ? SRS_SUCCESS : report_error("not all hosts see %s, where the checkpoint is", folder);
	}
	now.serial = found[1];
	now.procs = ranks;
	active = 1;
	clock_gettime(CLOCK_MONOTONIC, &agreed_at);
	return read_restart(found[0]);
}

int SRS_Finish(void)
{
	if (request != MPI_REQUEST_NULL)
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	srs_close_checkpoint(reader);
	reader = NULL;
	srs_free_map(&restart);
	srs_free_map(&now);
	if (active)
		MPI_Comm_free(&comm);
	active = 0;
	return SRS_SUCCESS;
}

int SRS_Restart_Value(void) { return restart.procs > 0; }

static struct array *find_array(const struct map *m, const char *name)
{
	for (int i = 0; i < m->arrays; i++)
		if (strcmp(m->array[i].name, name) == 0)
			return &m->array[i];
	return NULL;
}

/* Gathers what all processes have of an array of ranges. */
static const char *gather_ranges(struct array *a)
{
	int64_t *all, *mine;
	int count = (int)a->dist.count * 2, *counts = calloc(2 * (size_t)ranks, sizeof *counts), *from = counts + ranks;
	if (counts == NULL)
		return "there is not enough memory for its ranges";
	MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, comm);
	int sum = 0;
	for (int p = 0; p < ranks; p++) {
		from[p] = sum;
		sum += counts[p];
	}
	all = calloc((size_t)sum + 1, sizeof *all);
	mine = calloc((size_t)count + 1, sizeof *mine);
	a->held = calloc((size_t)sum / 2 + 1, sizeof *a->held);
	if (all == NULL || mine == NULL || a->held == NULL)
		abort();
	memcpy(mine, a->dist.ranges, (size_t)count * sizeof *mine);
	MPI_Allgatherv(mine, count, MPI_INT64_T, all, counts, from, MPI_INT64_T, comm);
	a->held_count = sum / 2;
	for (int p = 0, i = 0; p < ranks; p++) {
		int64_t at = 0;
		for (int k = 0; k < counts[p]; k += 2, i++) {
			a->held[i] = (struct held){all[from[p] + k], all[from[p] + k + 1], at, p};
			at += all[from[p] + k + 1];
		}
	}
	free(all);
	free(mine);
	free(counts);
	return srs_sort_ranges(a);
}

/* Puts together what a program says of an array. It returns NULL, or what is wrong. */
static const char *describe(struct array *a, const char *name, void *address, int type, int dimensions,
			    const int64_t *shape, const SRS_Distribution *distribution)
{
	static const int64_t single[] = {1};
	memset(a, 0, sizeof *a);
	snprintf(a->name, sizeof a->name, "%s", name);
	a->type = type;
	a->element = element_bytes(type);
	a->procs = ranks;
	a->address = address;
	a->dist = distribution != NULL ? *distribution : SRS_Replicated();
	a->dimensions = dimensions == 0 ? 1 : dimensions;
	if (dimensions < 0 || dimensions > srs_max_dimensions)
		return "it needs 0 to 8 dimensions";
	memcpy(a->shape, dimensions == 0 ? single : shape, (size_t)a->dimensions * sizeof *shape);
	if (a->element == 0)
		return "its elements are of no type of SRS";
	if (strlen(name) < 1 || strlen(name) > srs_max_name || strcspn(name, " \t\n\r/") != strlen(name))
		return "its name needs 1 to 63 characters without blanks";
	const char *wrong = srs_check_array(a);
	if (wrong == NULL && a->dist.kind == SRS_RANGES)
		wrong = a->dist.count < 0 ? "it has a negative number of ranges" : gather_ranges(a);
	if (wrong == NULL && address == NULL && srs_bytes_of(a, rank) > 0)
		wrong = "it has no address";
	return wrong;
}

static int is_same_shape(const struct array *a, const struct array *b)
{
	return a->type == b->type && a->dimensions == b->dimensions && a->dist.fortran == b->dist.fortran &&
	       memcmp(a->shape, b->shape, (size_t)a->dimensions * sizeof *a->shape) == 0;
}

static int report_shapes(const char *what, const struct array *was, const struct array *is)
{
	static const char *const types[] = {"?", "byte", "int", "long", "float", "double", "complex", "double complex"};
	char old[300], new[300];
	return report_error("array %s: %s %s of %s%s; now it is %s of %s%s", is->name, what,
			    types[was->type > 7 ? 0 : was->type], srs_shape_text(was, old, sizeof old),
			    was->dist.fortran ? " (Fortran)" : "", types[is->type],
			    srs_shape_text(is, new, sizeof new), is->dist.fortran ? " (Fortran)" : "");
}

int SRS_Register(const char *name, void *address, int type, int dimensions, const int64_t *shape,
		 const SRS_Distribution *distribution)
{
	struct array a;
	char text[300];
	if (!active)
		return SRS_SUCCESS;
	const char *wrong = describe(&a, name, address, type, dimensions, shape, distribution);
	if (wrong != NULL) {
		free(a.held);
		return report_error("array %s of %s on %d processes: %s", a.name, srs_shape_text(&a, text, sizeof text), ranks,
				    wrong);
	}
	struct array *before = find_array(&now, a.name);
	if (before != NULL) {
		if (!is_same_shape(before, &a)) {
			free(a.held);
			return report_shapes("it was registered as", before, &a);
		}
		free(before->held);
		*before = a;
		return SRS_SUCCESS;
	}
	struct array *more = realloc(now.array, (size_t)(now.arrays + 1) * sizeof a);
	if (more == NULL)
		return report_error("array %s: not enough memory", a.name);
	now.array = more;
	now.array[now.arrays++] = a;
	return SRS_SUCCESS;
}

static int is_same_layout(const SRS_Distribution *a, const SRS_Distribution *b)
{
	if (a->kind != b->kind || (a->fortran != 0) != (b->fortran != 0))
		return 0;
	if (a->kind == SRS_GRID)
		return a->block[0] == b->block[0] && a->block[1] == b->block[1] && a->grid[0] == b->grid[0] &&
		       a->grid[1] == b->grid[1] && (a->by_rows != 0) == (b->by_rows != 0);
	return a->kind != SRS_BLOCK_CYCLIC || a->block[0] == b->block[0];
}

int SRS_Read(const char *name, void *address, const SRS_Distribution *old, const SRS_Distribution *distribution)
{
	char why[srs_max_text] = "", text[300];
	if (!active)
		return SRS_SUCCESS;
	if (restart.procs == 0)
		return report_error("array %s is read, but the program is not continued: see SRS_Restart_Value", name);
	const struct array *stored = find_array(&restart, name), *registered = find_array(&now, name);
	if (registered == NULL && stored == NULL)
		return report_error("array %s is read and was never registered, neither now nor in the checkpoint", name);
	if (registered == NULL)
		return report_error("array %s is read before it is registered; in the checkpoint it is of %s", name,
				    srs_shape_text(stored, text, sizeof text));
	if (stored == NULL)
		return report_error("array %s of %s is read, and is not in the checkpoint", name,
				    srs_shape_text(registered, text, sizeof text));
	if (!is_same_shape(stored, registered))
		return report_shapes("the checkpoint has", stored, registered);
	if (old != NULL && !is_same_layout(old, &stored->dist))
		return report_error("array %s of %s does not lie in the checkpoint as its old distribution says", name,
				    srs_shape_text(stored, text, sizeof text));
	struct array to = *registered;
	if (distribution != NULL) {
		const char *wrong = describe(&to, name, address, registered->type, registered->dimensions, registered->shape,
					     distribution);
		if (wrong != NULL)
			return report_error("array %s of %s: its new distribution: %s", name,
					    srs_shape_text(registered, text, sizeof text), wrong);
	}
	to.address = address;
	int bad = srs_read_array(reader, stored, &to, rank, why);
	if (to.held != registered->held)
		free(to.held);
	return bad ? report_error("array %s of %s: %s", name, srs_shape_text(registered, text, sizeof text), why)
		   : SRS_SUCCESS;
}

/* Writes a text under its name, whole or not at all. */
static int put_text(const char *path, const char *text)
{
	char fresh[4200];
	snprintf(fresh, sizeof fresh, "%s.new", path);
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return 1;
	size_t n = strlen(text);
	int bad = write(fd, text, n) != (ssize_t)n;
	return close(fd) != 0 || bad || rename(fresh, path) != 0;
}

/* Whether all processes have registered the same. */
static int is_agreed(void)
{
	uint32_t crc = 0;
	for (int i = 0; i < now.arrays; i++) {
		const struct array *a = &now.array[i];
		SRS_Distribution d = a->dist;
		d.leading = d.count = 0;
		d.ranges = NULL;
		crc = srs_crc(crc, a->name, strlen(a->name) + 1);
		crc = srs_crc(crc, a->shape, (size_t)a->dimensions * sizeof *a->shape);
		crc = srs_crc(crc, &a->type, sizeof a->type);
		crc = srs_crc(crc, &d, sizeof d);
	}
	int64_t value[2] = {crc, -(int64_t)crc}, most[2];
	MPI_Allreduce(value, most, 2, MPI_INT64_T, MPI_MAX, comm);
	return most[0] == -most[1];
}

int SRS_StoreMap(void)
{
	char path[3200];
	if (!active)
		return SRS_SUCCESS;
	if (!is_agreed())
		return report_error("the processes have not registered the same arrays, in the same order");
	if (rank > 0)
		return SRS_SUCCESS;
	snprintf(path, sizeof path, "%s/layout", folder);
	char *text = srs_write_map(&now);
	int bad = put_text(path, text);
	free(text);
	return bad ? report_error("writing %s: %s", path, strerror(errno)) : SRS_SUCCESS;
}

static void remove_folder(const char *path)
{
	char inside[4100];
	for (int p = 0; p < ranks; p++) {
		snprintf(inside, sizeof inside, "%s/part.%d", path, p);
		unlink(inside);
	}
	snprintf(inside, sizeof inside, "%s/map", path);
	unlink(inside);
	snprintf(inside, sizeof inside, "%s/taken", path);
	unlink(inside);
	rmdir(path);
}

/* Has the program stand still until its agent has taken the checkpoint, or does not come. */
static void await_taken(const char *path)
{
	char taken[3300], map[3300];
	snprintf(taken, sizeof taken, "%s/taken", path);
	snprintf(map, sizeof map, "%s/map", path);
	for (int ms = 0; ms < taken_milliseconds; ms++) {
		if (access(taken, F_OK) == 0 || access(map, F_OK) != 0)
			return;
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	remove_folder(path); /* it is of no use to anybody */
}

/* Writes a checkpoint; all. It returns whether there is one. */
static int save(int stop)
{
	char writing[3100], path[3100], file[3200], why[srs_max_text] = "";
	struct part mine = {0, 0}, *parts = calloc((size_t)ranks, sizeof *parts);
	int bad = 0, all;
	now.serial++;
	now.stop = stop;
	snprintf(path, sizeof path, "%s/%lld", folder, (long long)now.serial);
	snprintf(writing, sizeof writing, "%s/%lld.part", folder, (long long)now.serial);
	if (rank == 0 && mkdir(writing, 0700) != 0) {
		snprintf(why, sizeof why, "making %s: %s", writing, strerror(errno));
		bad = 1;
	}
	if (!is_agreed()) {
		snprintf(why, sizeof why, "the processes have not registered the same arrays");
		bad = 1;
	}
	MPI_Bcast(&bad, 1, MPI_INT, 0, comm);
	if (!bad) {
		snprintf(file, sizeof file, "%s/part.%d", writing, rank);
		bad = srs_write_part(file, &now, rank, &mine, why);
	}
	if (bad && why[0] != '\0')
		fprintf(stderr, "srs: a checkpoint could not be written: %s\n", why);
	MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_MAX, comm);
	MPI_Gather(&mine, sizeof mine, MPI_BYTE, parts, sizeof mine, MPI_BYTE, 0, comm);
	if (rank == 0 && !all) {
		now.part = parts;
		char *text = srs_write_map(&now);
		now.part = NULL;
		snprintf(file, sizeof file, "%s/map", writing);
		all = put_text(file, text) || rename(writing, path) != 0;
		free(text);
	}
	if (rank == 0 && all) {
		remove_folder(writing);
		godwit_send_message("srs: a checkpoint could not be written; what the program wrote on standard error says why");
		retry_at = time(NULL) + retry_seconds;
	}
	if (rank == 0 && !all && !stop)
		await_taken(path);
	free(parts);
	MPI_Bcast(&all, 1, MPI_INT, 0, comm);
	return !all;
}

/* What this process has to say; of rank 0 what the agent wants. */
static void say(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	int64_t passed = (t.tv_sec - agreed_at.tv_sec) * 1000000000 + t.tv_nsec - agreed_at.tv_nsec;
	static int64_t before;
	memset(said, 0, sizeof said);
	said[say_nanoseconds] = calls > before ? passed / (calls - before) : 0;
	before = calls;
	agreed_at = t;
	if (rank > 0)
		return;
	int64_t number = godwit_checkpoint_number();
	wants_save |= number != saved_number;
	saved_number = number;
	if (retry_at == 0 || time(NULL) >= retry_at) {
		said[say_stop] = godwit_stop_wanted();
		said[say_save] = wants_save;
	}
	said[say_size] = godwit_offered_size();
}

/* Does what was agreed on; all, at the same call. */
static void carry_out(void)
{
	if (!agreed[say_stop] && !agreed[say_save])
		return;
	wants_save = 0;
	int saved = save(agreed[say_stop] != 0);
	stopping = saved && agreed[say_stop];
	clock_gettime(CLOCK_MONOTONIC, &agreed_at); /* saving is no step of the program */
}

/* Where calls are rare, what is wanted now is agreed on at once; else what was wanted at the last
 * agreement, which has been under way since. */
static int agree(void)
{
	if (request != MPI_REQUEST_NULL) {
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		memcpy(agreed, coming, sizeof agreed);
		carry_out();
		if (stopping)
			return 1;
	}
	int64_t pace = agreed[say_nanoseconds] < 1 ? 1 : agreed[say_nanoseconds];
	int64_t wait = next_agreement == 0 ? 0 : agree_nanoseconds / pace;
	static int64_t last = 1;
	if (wait > 2 * last)
		wait = 2 * last; /* one burst of calls tells little */
	last = wait < 1 ? 1 : wait > max_calls ? max_calls : wait;
	next_agreement = calls + last;
	say();
	if (wait > 2) {
		MPI_Iallreduce(said, coming, say_count, MPI_INT64_T, MPI_MAX, comm, &request);
		return 0;
	}
	MPI_Allreduce(said, agreed, say_count, MPI_INT64_T, MPI_MAX, comm);
	carry_out();
	return stopping;
}

int SRS_Check_Stop(void)
{
	if (!active)
		return 0;
	if (++calls < next_agreement || stopping)
		return stopping;
	return agree();
}

int SRS_Progress(int64_t done, int64_t total)
{
	if (active && rank == 0)
		godwit_set_steps(done, total);
	return SRS_SUCCESS;
}

int SRS_Resize_Value(void) { return active ? (int)agreed[say_size] : 0; }

int SRS_Resize_Accept(int procs)
{
	if (active && rank == 0)
		godwit_accept_size(procs);
	agreed[say_size] = 0;
	return SRS_SUCCESS;
}
