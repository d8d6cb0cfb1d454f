/* Records what an MPI program says to whom, without its knowing: loaded before all other
 * libraries (LD_PRELOAD) it stands between the program and MPI's own functions, which
 * have second names for that (PMPI_…). Each rank writes into the folder
 * GODWIT_CAPTURE_DIR, when it finalizes or ends otherwise, how much it sent to whom,
 * which collective operations ran, and the sequence of its calls with the computing
 * between them (sequence.c). `godwit capture` puts the ranks together.
 *
 * In programs that are no MPI programs (mpirun itself, shells) it does nothing: all that
 * it needs of MPI is weak (the Makefile sees to that), so they need not have it. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "capture_mpi.h"
#include "spin.h"

static const char *const names[KINDS] = {
    "send", "ssend", "recv", "isend", "issend", "irecv", "sendrecv", "wait", "free",
    "barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "gather", "scatter", "allgather", "alltoall",
    "reduce_scatter_block", "reduce_scatter", "gatherv", "scatterv", "allgatherv", "alltoallv"};

const char *kind_name(int kind)
{
    return names[kind];
}

/* A set of ranks of the world that talk among each other. Communicators with equal ones
 * are the same to a skeleton. */
struct group {
    int size;
    bool between; /* two groups: these are the others */
    int *world;
};

struct handle {
    MPI_Comm comm;
    int group;
};

/* What is said to one rank. */
struct peer {
    int64_t bytes, messages;
    int64_t collective; /* bytes, of operations that say how much goes to whom */
    int64_t fetched, fetches; /* what it says to us without its knowing: bytes, times */
};

struct collective {
    int kind, group, root;
    int64_t calls, bytes;
    double seconds;
};

/* A request that was begun. Several may have the same handle: MPI gives all sends that
 * are done at once the same. */
struct request {
    MPI_Request handle;
    int slot;
    struct call begins; /* of a persistent one */
    bool persistent, active;
    int next, before; /* with handles that are found in the same place; index + 1 */
};

static bool on;
static pid_t self;
static int rank, ranks;
static double begun;   /* when MPI_Init was done */
static double rate;    /* of spin */
static double busy, between, within; /* processor's and clock's time between calls; clock's inside */
static struct peer *peers;
static int64_t sizes[64]; /* messages, by the logarithm of their length */
static struct group *groups;
static int group_count;
static struct handle *handles;
static int handle_count, handle_last;
static struct collective *collectives;
static int collective_count;
static struct request *requests;
static int request_count;
static struct found { MPI_Message message; int from, tag; MPI_Comm comm; } *found; /* by asking, not received yet */
static int found_count;
static uint8_t *taken; /* slots */
static int slot_room;
static int64_t odd;    /* calls that a skeleton will lack */
static struct { int64_t *slots; int count, room; struct cost cost; } waits; /* not yet in the sequence */

static char lock;
static __thread int depth __attribute__((tls_model("initial-exec")));

/* Reading a thread's processor time is slow, and slows ranks down that share a processor
 * by more than it takes. It is done where the time after such a call was long before: the first times, then now and then by chance;
 * at the other times computing is the same part of what the clock says. Elsewhere it is
 * what the clock says, within limits. */
enum { HINTS = 256, FIRST = 16, ONE_IN = 16 };
static const double worth = 50e-6;
static struct hint {
    double longest;   /* of late; -1: not known */
    double cpu, gap;  /* of the times when it was read */
    int reads;
} hints[HINTS];
static double last_end, cpu_end = -1;
static int last_hint;
static uint32_t chance;

static double now(void) { return seconds_of(CLOCK_MONOTONIC); }

/* Several threads may call MPI at once. */
static void acquire(void)
{
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
        usleep(1);
}

static void release(void) { __atomic_clear(&lock, __ATOMIC_RELEASE); }

/* more makes room for one more element behind count; without room it is not recorded. */
static bool more(void *list, int count, size_t size)
{
    if (count & (count - 1))
        return true;
    void *wider = realloc(*(void **)list, (count ? 2 * (size_t)count : 1) * size);
    if (wider)
        *(void **)list = wider;
    return wider != NULL;
}

struct span enter(void)
{
    struct span s = {.counts = on && depth == 0};
    depth++;
    if (!s.counts)
        return s;
    s.from = now();
    if (cpu_end >= 0)
        s.cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    return s;
}

/* opened begins a note: nobody else notes anything until it is closed. It returns what
 * the call cost. */
static bool opened(struct span *s, struct cost *c)
{
    if (!s->counts) {
        depth--;
        return false;
    }
    double t = now();
    acquire();
    double gap = s->from > last_end ? s->from - last_end : 0;
    struct hint *h = &hints[last_hint];
    *c = (struct cost){.times = 1, .gap = gap, .cpu = gap, .inside = t - s->from};
    if (cpu_end >= 0 && s->cpu > cpu_end) {
        if (c->cpu > s->cpu - cpu_end)
            c->cpu = s->cpu - cpu_end;
        h->cpu += c->cpu;
        h->gap += gap;
        h->reads++;
    } else if (gap > worth) {
        c->cpu = h->gap > 0 ? gap * h->cpu / h->gap : worth;
    }
    double fades = 0.9 * h->longest; /* calls that look alike may be followed by this and that */
    h->longest = gap > fades ? gap : fades;
    busy += c->cpu;
    between += gap;
    within += c->inside;
    last_end = t;
    return true;
}

/* closed ends a note; what like this call is followed by long computing is known by a
 * number. */
static void closed(unsigned hint)
{
    last_hint = (int)(hint % HINTS);
    const struct hint *h = &hints[last_hint];
    bool read = h->longest < 0 || h->longest > worth;
    if (read && h->reads >= FIRST) {
        chance = chance * 1664525 + 1013904223;
        read = (chance >> 16) % ONE_IN == 0;
    }
    cpu_end = read ? seconds_of(CLOCK_THREAD_CPUTIME_ID) : -1;
    release();
    depth--;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Requests that were waited for one after the other, in whatever order they came, are
 * one call to the sequence: the order differs from time to time. */
static void flush_waits(void)
{
    if (waits.count == 0)
        return;
    qsort(waits.slots, (size_t)waits.count, sizeof *waits.slots, by_number);
    struct call c = {.kind = WAIT, .peer = NOBODY, .peer2 = NOBODY, .slot = NO_SLOT, .items = waits.count, .list = waits.slots};
    waits.cost.times = 1;
    sequence_add(&c, &waits.cost);
    waits.count = 0;
    waits.cost = (struct cost){0};
}

static void add(const struct call *c, struct cost *cost)
{
    flush_waits();
    cost->bytes = (double)c->bytes;
    cost->cpu += waits.cost.cpu; /* before calls that brought nothing */
    cost->gap += waits.cost.gap;
    cost->inside += waits.cost.inside;
    waits.cost = (struct cost){0};
    sequence_add(c, cost);
}

static int take_slot(void)
{
    uint8_t *free_one = slot_room ? memchr(taken, 0, (size_t)slot_room) : NULL;
    int i = free_one ? (int)(free_one - taken) : slot_room;
    if (i == slot_room) {
        uint8_t *wider = realloc(taken, (size_t)slot_room + 64);
        if (!wider)
            return NO_SLOT;
        memset(wider + slot_room, 0, 64);
        taken = wider;
        slot_room += 64;
    }
    taken[i] = 1;
    return i;
}

/* Requests are found by their handles: the oldest of those that have the same. */
enum { LISTS = 1024 };
static int first_of[LISTS], last_of[LISTS], unused; /* index + 1 */

static int list_of(MPI_Request handle)
{
    uint64_t h = (uint64_t)(uintptr_t)handle;
    return (int)((h >> 4 ^ h >> 14) % LISTS);
}

static void put_request(struct request r)
{
    if (r.slot == NO_SLOT)
        return;
    int i = unused - 1, *last = &last_of[list_of(r.handle)];
    if (i >= 0)
        unused = requests[i].next;
    else if (more(&requests, request_count, sizeof *requests))
        i = request_count++;
    else
        return;
    r.next = 0;
    r.before = *last;
    requests[i] = r;
    if (*last)
        requests[*last - 1].next = i + 1;
    else
        first_of[list_of(r.handle)] = i + 1;
    *last = i + 1;
}

static int find_request(MPI_Request handle)
{
    if (handle == MPI_REQUEST_NULL)
        return -1;
    int i = first_of[list_of(handle)];
    while (i && requests[i - 1].handle != handle)
        i = requests[i - 1].next;
    return i - 1;
}

static void drop_request(int i)
{
    struct request *r = &requests[i];
    int list = list_of(r->handle);
    *(r->before ? &requests[r->before - 1].next : &first_of[list]) = r->next;
    *(r->next ? &requests[r->next - 1].before : &last_of[list]) = r->before;
    taken[r->slot] = 0;
    r->next = unused;
    unused = i + 1;
}

/* group_of finds the ranks behind a communicator; -1 if there is no room. */
static int group_of(MPI_Comm comm)
{
    if (handle_last < handle_count && handles[handle_last].comm == comm)
        return handles[handle_last].group;
    for (int i = 0; i < handle_count; i++)
        if (handles[i].comm == comm)
            return handles[handle_last = i].group;
    struct group g = {0};
    MPI_Group of, all;
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    g.between = inter;
    if (inter) {
        PMPI_Comm_remote_size(comm, &g.size);
        PMPI_Comm_remote_group(comm, &of);
    } else {
        PMPI_Comm_size(comm, &g.size);
        PMPI_Comm_group(comm, &of);
    }
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    g.world = malloc((size_t)g.size * sizeof *g.world);
    int *local = malloc((size_t)g.size * sizeof *local);
    int found = -1;
    if (g.world && local) {
        for (int i = 0; i < g.size; i++)
            local[i] = i;
        PMPI_Group_translate_ranks(of, g.size, local, all, g.world);
        for (int i = 0; i < group_count && found < 0; i++)
            if (groups[i].size == g.size && groups[i].between == g.between && memcmp(groups[i].world, g.world, (size_t)g.size * sizeof *g.world) == 0)
                found = i;
    }
    if (found < 0 && g.world && local && more(&groups, group_count, sizeof *groups)) {
        groups[group_count] = g;
        found = group_count++;
        g.world = NULL;
    }
    free(g.world);
    free(local);
    PMPI_Group_free(&of);
    PMPI_Group_free(&all);
    if (found >= 0 && more(&handles, handle_count, sizeof *handles))
        handles[handle_last = handle_count++] = (struct handle){comm, found};
    return found;
}

static int in_world(int group, int peer)
{
    if (peer == MPI_ANY_SOURCE)
        return ANYBODY;
    if (group < 0 || peer < 0 || peer >= groups[group].size)
        return NOBODY;
    int world = groups[group].world[peer];
    return world >= 0 && world < ranks ? world : NOBODY; /* it may be of another world */
}

int64_t length_of(int count, MPI_Datatype type)
{
    MPI_Count size = 0; /* that of a type may be more than an int holds */
    if (count > 0)
        PMPI_Type_size_x(type, &size);
    return count > 0 && size > 0 ? (int64_t)count * (int64_t)size : 0;
}

int comm_size(MPI_Comm comm)
{
    int n = 0;
    PMPI_Comm_size(comm, &n);
    return n;
}

int comm_rank(MPI_Comm comm)
{
    int n = 0;
    PMPI_Comm_rank(comm, &n);
    return n;
}

static void count_size(int64_t bytes)
{
    sizes[bytes > 0 ? 63 - __builtin_clzll((uint64_t)bytes) : 0]++;
}

static void count_message(int peer, int64_t bytes)
{
    if (peer < 0)
        return;
    peers[peer].bytes += bytes;
    peers[peer].messages++;
    count_size(bytes);
}

/* count_fetched: what this rank takes from another, which does not know of it, and so
 * cannot count it. */
static void count_fetched(int peer, int64_t bytes)
{
    if (peer < 0)
        return;
    peers[peer].fetched += bytes;
    peers[peer].fetches++;
    count_size(bytes);
}

static unsigned hint_of(const struct call *c)
{
    return (unsigned)c->kind * 31 + (unsigned)c->peer * 7 + (unsigned)c->slot + (unsigned)c->bytes / 64;
}

static int tag_of(int tag) { return tag == MPI_ANY_TAG ? ANYBODY : tag; }

static void message(struct span *s, struct call c, MPI_Request *begun)
{
    struct cost cost;
    if (!opened(s, &cost))
        return;
    if (c.peer != NOBODY) {
        flush_waits(); /* before a slot that they free is taken again */
        if (c.kind != RECV && c.kind != IRECV)
            count_message(c.peer, c.bytes);
        if (begun) {
            c.slot = take_slot();
            put_request((struct request){.handle = *begun, .slot = c.slot, .active = true});
        }
        add(&c, &cost);
    }
    closed(hint_of(&c));
}

static struct call call_of(struct span *s, int kind, int64_t bytes, int peer, int tag, MPI_Comm comm)
{
    struct call c = {.kind = kind, .peer = NOBODY, .peer2 = NOBODY, .slot = NO_SLOT};
    if (!s->counts)
        return c;
    acquire();
    c.comm = group_of(comm);
    c.peer = in_world(c.comm, peer);
    release();
    c.tag = tag_of(tag);
    c.bytes = bytes;
    return c;
}

void note_send(struct span *s, int kind, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *begun)
{
    message(s, call_of(s, kind, s->counts ? length_of(count, type) : 0, peer, tag, comm), begun);
}

void note_recv(struct span *s, int kind, int peer, int tag, MPI_Comm comm, MPI_Request *begun)
{
    message(s, call_of(s, kind, 0, peer, tag, comm), begun);
}

/* A message that was found by asking for it is received later by a handle of its own. To
 * the sequence that is a receive of what was asked for: it has no place for the asking. */
void note_found(struct span *s, MPI_Message message, int from, int tag, MPI_Comm comm)
{
    if (s->counts && message != MPI_MESSAGE_NULL) {
        acquire();
        if (more(&found, found_count, sizeof *found))
            found[found_count++] = (struct found){message, from, tag, comm};
        release();
    }
    note_nothing(s);
}

void note_found_recv(struct span *s, int kind, MPI_Message message, MPI_Request *begun)
{
    struct found f = {message, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD};
    if (s->counts) {
        acquire();
        for (int i = 0; i < found_count; i++)
            if (found[i].message == message) {
                f = found[i];
                found[i] = found[--found_count];
                break;
            }
        release();
    }
    note_recv(s, kind, f.from, f.tag, f.comm, begun);
}

void note_sendrecv(struct span *s, int count, MPI_Datatype type, int to, int tag, int from, int tag2, MPI_Comm comm)
{
    struct cost cost;
    struct call c = call_of(s, SENDRECV, s->counts ? length_of(count, type) : 0, to, tag, comm);
    if (!opened(s, &cost))
        return;
    c.peer2 = in_world(c.comm, from);
    c.tag2 = tag_of(tag2);
    if (c.peer != NOBODY || c.peer2 != NOBODY) {
        count_message(c.peer, c.bytes);
        add(&c, &cost);
    }
    closed(hint_of(&c));
}

void note_prepared(struct span *s, int kind, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request made)
{
    struct cost cost;
    struct call c = call_of(s, kind, s->counts && kind != IRECV ? length_of(count, type) : 0, peer, tag, comm);
    if (!opened(s, &cost))
        return;
    if (c.peer != NOBODY) {
        flush_waits();
        c.slot = take_slot();
        put_request((struct request){.handle = made, .slot = c.slot, .begins = c, .persistent = true});
    }
    closed(hint_of(&c));
}

void note_started(struct span *s, int n, const MPI_Request *started)
{
    struct cost cost;
    if (!opened(s, &cost))
        return;
    for (int i = 0; i < n; i++) {
        int at = find_request(started[i]);
        if (at < 0 || !requests[at].persistent)
            continue;
        struct call c = requests[at].begins;
        requests[at].active = true;
        if (c.kind != IRECV)
            count_message(c.peer, c.bytes);
        add(&c, &cost);
        cost = (struct cost){.times = 1};
    }
    closed(WAIT);
}

void note_done(struct span *s, int n, const MPI_Request *done)
{
    struct cost cost;
    if (!opened(s, &cost))
        return;
    waits.cost.cpu += cost.cpu;
    waits.cost.gap += cost.gap;
    waits.cost.inside += cost.inside;
    for (int i = 0; i < n; i++) {
        int at = find_request(done[i]);
        if (at < 0 || !requests[at].active)
            continue;
        if (waits.count == waits.room) {
            int wider = waits.room ? 2 * waits.room : 16;
            int64_t *slots = realloc(waits.slots, (size_t)wider * sizeof *slots);
            if (!slots)
                continue;
            waits.slots = slots;
            waits.room = wider;
        }
        waits.slots[waits.count++] = requests[at].slot;
        requests[at].active = false;
        if (!requests[at].persistent)
            drop_request(at);
    }
    closed(WAIT + (unsigned)n);
}

void note_freed(struct span *s, MPI_Request freed)
{
    struct cost cost;
    if (!opened(s, &cost))
        return;
    int at = find_request(freed);
    if (at >= 0) {
        struct call c = {.kind = FREE, .peer = NOBODY, .peer2 = NOBODY, .slot = requests[at].slot};
        if (requests[at].active)
            add(&c, &cost);
        drop_request(at);
    }
    closed(FREE);
}

void note_nothing(struct span *s)
{
    struct cost cost;
    if (!opened(s, &cost))
        return;
    /* What was computed before it belongs to the call that comes next. */
    waits.cost.cpu += cost.cpu;
    waits.cost.gap += cost.gap;
    waits.cost.inside += cost.inside;
    closed(KINDS);
}

void note_onesided(struct span *s, int64_t there, int64_t back, int target, MPI_Win win)
{
    struct cost cost;
    MPI_Group of, all;
    int world = NOBODY;
    if (s->counts) {
        PMPI_Win_get_group(win, &of);
        PMPI_Comm_group(MPI_COMM_WORLD, &all);
        PMPI_Group_translate_ranks(of, 1, &target, all, &world);
        PMPI_Group_free(&of);
        PMPI_Group_free(&all);
    }
    if (!opened(s, &cost))
        return;
    odd++;
    if (there > 0)
        count_message(world < ranks ? world : NOBODY, there);
    if (back > 0)
        count_fetched(world < ranks ? world : NOBODY, back);
    closed(KINDS);
}

static void count_collective(const struct call *c, double seconds)
{
    int i = 0;
    while (i < collective_count && (collectives[i].kind != c->kind || collectives[i].group != c->comm || collectives[i].root != c->peer))
        i++;
    if (i == collective_count) {
        if (!more(&collectives, i, sizeof *collectives))
            return;
        collectives[collective_count++] = (struct collective){c->kind, c->comm, c->peer, 0, 0, 0};
    }
    collectives[i].calls++;
    collectives[i].bytes += c->bytes;
    collectives[i].seconds += seconds;
    if (c->kind == ALLTOALLV || c->kind == SCATTERV)
        for (int j = 0; j < c->items; j++)
            peers[groups[c->comm].world[j]].collective += c->list[j];
}

void note_collective(struct span *s, int kind, MPI_Comm comm, int root, int64_t bytes, const int64_t *list, int items, MPI_Request *begun)
{
    struct cost cost;
    struct call c = call_of(s, kind, bytes, root < 0 ? MPI_PROC_NULL : root, 0, comm);
    if (!opened(s, &cost))
        return;
    c.items = items;
    c.list = list;
    if (c.comm < 0 || groups[c.comm].between) {
        odd++;
    } else {
        flush_waits();
        if (begun) {
            c.slot = take_slot();
            put_request((struct request){.handle = *begun, .slot = c.slot, .active = true});
        }
        count_collective(&c, cost.inside);
        add(&c, &cost);
    }
    closed(hint_of(&c));
}

/* forget_comm is called before a communicator is freed: MPI gives its handle to the next
 * one, which has other members. */
void forget_comm(MPI_Comm comm)
{
    acquire();
    for (int i = 0; i < handle_count; i++)
        if (handles[i].comm == comm) {
            memmove(&handles[i], &handles[i + 1], (size_t)(--handle_count - i) * sizeof *handles);
            handle_last = 0;
            break;
        }
    release();
}

static void write_record(FILE *f, const char *how)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    fprintf(f, "godwit-capture 1\nrank %d %d\nhost %s\nprogram %s\nstate %s\n", rank, ranks, host, program_invocation_short_name, how);
    fprintf(f, "seconds %.9f %.9f %.9f %.9f\nspin %.0f\nodd %lld\n", now() - begun, busy, between, within, rate, (long long)odd);
    for (int i = 0; i < group_count; i++) {
        fprintf(f, "group %d %d", groups[i].between, groups[i].size);
        for (int j = 0; j < groups[i].size; j++)
            fprintf(f, " %d", groups[i].world[j]);
        fputc('\n', f);
    }
    for (int i = 0; i < ranks; i++)
        if (peers[i].messages || peers[i].collective)
            fprintf(f, "peer %d %lld %lld %lld\n", i, (long long)peers[i].bytes, (long long)peers[i].messages, (long long)peers[i].collective);
    for (int i = 0; i < ranks; i++)
        if (peers[i].fetches)
            fprintf(f, "fetched %d %lld %lld\n", i, (long long)peers[i].fetched, (long long)peers[i].fetches);
    for (int i = 0; i < 64; i++)
        if (sizes[i])
            fprintf(f, "size %d %lld\n", i, (long long)sizes[i]);
    for (int i = 0; i < collective_count; i++) {
        const struct collective *c = &collectives[i];
        fprintf(f, "collective %s %d %d %lld %lld %.9f\n", names[c->kind], c->group, c->root, (long long)c->calls, (long long)c->bytes, c->seconds);
    }
    sequence_write(f);
    fprintf(f, "end\n");
}

/* capture_write writes the record of this rank, once. Its name appears when it is
 * whole. Ranks of another program of the same command have another job. */
void capture_write(const char *how)
{
    if (!on || getpid() != self)
        return;
    on = false;
    flush_waits();
    const char *dir = getenv("GODWIT_CAPTURE_DIR"), *job = getenv("PMIX_NAMESPACE");
    char part[PATH_MAX], name[PATH_MAX];
    snprintf(name, sizeof name, "%s/%s.rank-%d", dir, job && !strchr(job, '/') ? job : "job", rank);
    snprintf(part, sizeof part, "%s/.%s.rank-%d", dir, job && !strchr(job, '/') ? job : "job", rank);
    FILE *f = fopen(part, "w");
    if (!f)
        return;
    write_record(f, how);
    if (fclose(f) == 0)
        rename(part, name);
}

static void at_exit(void) { capture_write("exited"); }

/* capture_begin is called when MPI has been initialized. */
void capture_begin(void)
{
    if (on || !getenv("GODWIT_CAPTURE_DIR"))
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!(peers = calloc((size_t)ranks, sizeof *peers)) || group_of(MPI_COMM_WORLD) != 0)
        return;
    for (int i = 0; i < HINTS; i++)
        hints[i].longest = -1;
    rate = spin_rate();
    self = getpid();
    atexit(at_exit);
    on = true;
    begun = last_end = now();
}
