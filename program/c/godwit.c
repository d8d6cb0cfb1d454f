/* The C client of Godwit's program interface: docs/program-protocol.md. No locks: a page is opened by
 * whoever comes first, and who comes second at the same moment drops its own. */
#define _GNU_SOURCE
#include "godwit.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the page is little endian"
#endif

enum {
	page_bytes = 4096,
	page_version = 1,
	max_text = 1000,
	max_phase_name = 100,
};

static const int64_t max_steps = INT64_C(1) << 53;

/* The page, at the offsets of the protocol. */
struct page {
	char magic[8];
	uint32_t version, bytes;
	uint64_t unused0[6];
	uint64_t stop, checkpoint, offer_size, offer_serial, size, size_serial;
	uint64_t unused1[2];
	uint64_t steps_done, steps_all, phase, accept_size, accept_serial, want_size, want_serial;
	uint64_t unused2[489];
};

_Static_assert(sizeof(struct page) == page_bytes, "the page has 4096 bytes");
_Static_assert(offsetof(struct page, stop) == 64, "stop is at 64");
_Static_assert(offsetof(struct page, steps_done) == 128, "steps done are at 128");
_Static_assert(offsetof(struct page, want_serial) == 176, "the number of the last wish is at 176");

/* What is used where nobody listens. */
static struct page no_page;

static struct page *opened;     /* NULL: not yet; written once */
static uint64_t taken;          /* the last checkpoint that was wanted */

static const char *folder(void) { return getenv("GODWIT_FOLDER"); }

/* Whether this is a rank of an MPI program, and not the first. */
static int is_other_rank(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *rank = getenv(names[i]);
		if (rank != NULL && *rank != '\0')
			return strcmp(rank, "0") != 0;
	}
	return 0;
}

static struct page *map_page(void)
{
	char path[4096];
	struct stat st;
	const char *dir = folder();
	if (dir == NULL || *dir != '/' || snprintf(path, sizeof path, "%s/page", dir) >= (int)sizeof path)
		return &no_page;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return &no_page;
	struct page *p = MAP_FAILED;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= page_bytes)
		p = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return &no_page;
	if (memcmp(p->magic, "GODWITPG", 8) != 0 || p->version != page_version || p->bytes != page_bytes) {
		munmap(p, page_bytes);
		return &no_page;
	}
	return p;
}

static struct page *open_page(void)
{
	struct page *mine = map_page(), *there = NULL;
	uint64_t before = __atomic_load_n(&mine->checkpoint, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&taken, &(uint64_t){0}, before, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(&opened, &there, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return mine;
	if (mine != &no_page)
		munmap(mine, page_bytes);
	return there;
}

static inline struct page *page_read(void)
{
	struct page *p = __atomic_load_n(&opened, __ATOMIC_ACQUIRE);
	return __builtin_expect(p != NULL, 1) ? p : open_page();
}

/* Where this process reports: nowhere if it is another rank. */
static struct page *page_write(void)
{
	static int other = -1; /* not known yet; whoever comes finds the same */
	int is = __atomic_load_n(&other, __ATOMIC_RELAXED);
	if (__builtin_expect(is < 0, 0)) {
		is = is_other_rank();
		__atomic_store_n(&other, is, __ATOMIC_RELAXED);
	}
	return is ? &no_page : page_read();
}

/* Where there is nothing to report to, nothing is ever wanted: only steps are written to no_page. */
int godwit_has_agent(void) { return page_write() != &no_page; }

void godwit_set_steps(int64_t done, int64_t all)
{
	struct page *p = page_write();
	if (all < 0)
		all = 0;
	if (all > max_steps)
		all = max_steps;
	if (done < 0)
		done = 0;
	if (done > all)
		done = all;
	if (__atomic_load_n(&p->steps_all, __ATOMIC_RELAXED) != (uint64_t)all) {
		/* never the steps of the one with the number of the other */
		__atomic_store_n(&p->steps_done, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&p->steps_all, (uint64_t)all, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&p->steps_done, (uint64_t)done, __ATOMIC_RELEASE);
}

void godwit_add_steps(int64_t n)
{
	if (n > 0)
		__atomic_fetch_add(&page_write()->steps_done, (uint64_t)n, __ATOMIC_RELEASE);
}

int godwit_stop_wanted(void) { return __atomic_load_n(&page_read()->stop, __ATOMIC_ACQUIRE) != 0; }

int godwit_checkpoint_wanted(void)
{
	uint64_t number = __atomic_load_n(&page_read()->checkpoint, __ATOMIC_ACQUIRE);
	if (number == __atomic_load_n(&taken, __ATOMIC_RELAXED))
		return 0;
	return __atomic_exchange_n(&taken, number, __ATOMIC_RELAXED) != number;
}

int64_t godwit_checkpoint_number(void) { return (int64_t)__atomic_load_n(&page_read()->checkpoint, __ATOMIC_ACQUIRE); }

int godwit_size(void)
{
	struct page *p = page_read();
	uint64_t known = __atomic_load_n(&p->size_serial, __ATOMIC_ACQUIRE);
	uint64_t size = __atomic_load_n(&p->size, __ATOMIC_ACQUIRE);
	uint64_t accepted = __atomic_load_n(&p->accept_size, __ATOMIC_RELAXED);
	/* what it has given back is gone already */
	if (__atomic_load_n(&p->accept_serial, __ATOMIC_RELAXED) > known && accepted < size)
		size = accepted;
	return (int)size;
}

int godwit_offered_size(void)
{
	struct page *p = page_write();
	uint64_t serial = __atomic_load_n(&p->offer_serial, __ATOMIC_ACQUIRE);
	if (serial == __atomic_load_n(&p->accept_serial, __ATOMIC_RELAXED))
		return 0;
	return (int)__atomic_load_n(&p->offer_size, __ATOMIC_ACQUIRE);
}

void godwit_accept_size(int procs)
{
	struct page *p = page_write();
	__atomic_store_n(&p->accept_size, (uint64_t)(procs > 0 ? procs : 0), __ATOMIC_RELEASE);
	__atomic_store_n(&p->accept_serial, __atomic_load_n(&p->offer_serial, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

void godwit_want_size(int procs)
{
	struct page *p = page_write();
	__atomic_store_n(&p->want_size, (uint64_t)(procs > 0 ? procs : 0), __ATOMIC_RELEASE);
	__atomic_fetch_add(&p->want_serial, 1, __ATOMIC_RELEASE);
}

/* Adds a line to the file that is there where the socket cannot be used; 0: there is none. */
static int append_line(const char *dir, const char *line, size_t n)
{
	char path[4096];
	if (snprintf(path, sizeof path, "%s/messages", dir) >= (int)sizeof path)
		return 0;
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (write(fd, line, n) < 0) {
		/* who is not there need not hear it */
	}
	close(fd);
	return 1;
}

/* Sends a line with one text in it, which is cut to so many bytes. Nobody is waited for: the socket
 * does not block, and the answer is not read. */
static void send_line(const char *kind, const char *field, const char *text, size_t most)
{
	char line[2 * max_text + 100];
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const char *dir = folder();
	if (!godwit_has_agent() || text == NULL || dir == NULL ||
	    snprintf(at.sun_path, sizeof at.sun_path, "%s/socket", dir) >= (int)sizeof at.sun_path)
		return;
	size_t n = (size_t)snprintf(line, sizeof line, "{\"v\":1,\"kind\":\"%s\",\"%s\":\"", kind, field);
	for (size_t i = 0; text[i] != '\0' && i < most; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			line[n++] = '\\';
		line[n++] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
	}
	n += (size_t)snprintf(line + n, sizeof line - n, "\"}\n");
	if (append_line(dir, line, n))
		return;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0 && send(fd, line, n, MSG_NOSIGNAL) < 0) {
		/* who is not there need not hear it */
	}
	close(fd);
}

void godwit_begin_phase(const char *name)
{
	__atomic_fetch_add(&page_write()->phase, 1, __ATOMIC_RELEASE);
	send_line("phase", "name", name, max_phase_name);
}

void godwit_send_message(const char *text) { send_line("message", "text", text, max_text); }
