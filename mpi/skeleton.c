/* Runs a skeleton: the calls of a captured program, fewer of them, with computing that is
 * only turns of a loop. `godwit skeleton run` writes the program for all ranks to the
 * standard input of rank 0:
 *
 *   godwit-skeleton 1
 *   ranks N, longest BYTES        (the longest message)
 *   group COUNT MEMBER…           (numbered from 0; ranks of the world)
 *   rank R NODES                  (then that many lines; for every rank)
 *   loop ROUNDS NODES
 *   call KIND GROUP PEER TAG PEER2 TAG2 SLOT BYTES SPIN COUNT NUMBER…
 *   end
 *
 * and rank 0 writes a line of JSON when all have done it. What the runner needs for
 * itself goes by MPI's second names (PMPI_…): who captures a skeleton sees its calls
 * alone. */
#define _GNU_SOURCE
#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

enum kind {
    SEND, SSEND, RECV, ISEND, ISSEND, IRECV, SENDRECV, WAIT, FREE,
    BARRIER, BCAST, REDUCE, ALLREDUCE, SCAN, EXSCAN, GATHER, SCATTER, ALLGATHER, ALLTOALL,
    REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, GATHERV, SCATTERV, ALLGATHERV, ALLTOALLV, KINDS
};

static const char *const names[KINDS] = {
    "send", "ssend", "recv", "isend", "issend", "irecv", "sendrecv", "wait", "free",
    "barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "gather", "scatter", "allgather", "alltoall",
    "reduce_scatter_block", "reduce_scatter", "gatherv", "scatterv", "allgatherv", "alltoallv"};

enum { ANYBODY = -1, NOBODY = -2, MOST_SLOTS = 1 << 20, WINDOW = 128 << 20 };
static const long long most_bytes = 1LL << 50, longest_sum = 8LL * (INT_MAX - 1);

struct group {
    int size, me;
    int *world;
    MPI_Comm comm;
    bool listed;       /* there are operations with lists */
    MPI_Comm lists;    /* for them, the same members: messages of ours that no receive of the program may take */
    long long longest; /* of those messages */
};

struct node {
    long long rounds;
    int nodes;            /* in the loop, all of them; 0: a call */
    int kind, group, peer, tag, peer2, tag2, slot, items;
    long long bytes, turns;
    long long *list;
    int *counts; /* REDUCE_SCATTER: the list, in numbers of its type */
};

/* What a slot stands for while it is begun: one request of MPI, or the messages of an
 * operation with lists. */
struct slot {
    MPI_Request *begun;
    int many, space;
    char *landing; /* where it arrives */
    size_t landing_size;
};

static int rank, ranks, groups, nodes, slots;
static long long longest;
static struct group *group;
static struct node *program;
static struct slot *slot;
static struct slot blocking; /* of operations that are over when they return, and of waits */
static char *out, *in;
static double computing;

static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "skeleton: rank %d: ", rank);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    PMPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
}

static void *room(size_t n)
{
    void *p = calloc(n ? n : 1, 1);
    if (!p)
        fail("not enough memory for %zu bytes", n);
    return p;
}

/* buffer is memory for messages. Nobody looks at what is in them, so if it is long it is
 * the same pages again and again: more of them than a cache holds, but a host with little
 * memory can send much. */
static char *buffer(size_t n)
{
    if (n <= WINDOW) {
        char *p = room(n);
        memset(p, 1, n); /* pages that were never written are all the same one */
        return p;
    }
    size_t all = (n + WINDOW - 1) / WINDOW * WINDOW;
    int fd = memfd_create("skeleton", 0);
    char *p = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fd < 0 || ftruncate(fd, WINDOW) || p == MAP_FAILED)
        fail("not enough memory for %zu bytes", n);
    for (size_t at = 0; at < all; at += WINDOW)
        if (mmap(p + at, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
            fail("not enough memory for %zu bytes", n);
    close(fd);
    memset(p, 1, WINDOW);
    return p;
}

/* MPI counts to INT_MAX. What is longer is one of a type that is so long. */
struct units {
    int count;
    MPI_Datatype type;
};

static struct units units(long long bytes)
{
    static struct { long long bytes; MPI_Datatype type; } *known;
    static int many;
    if (bytes <= INT_MAX)
        return (struct units){(int)bytes, MPI_BYTE};
    for (int i = 0; i < many; i++)
        if (known[i].bytes == bytes)
            return (struct units){1, known[i].type};
    if (!(known = realloc(known, (size_t)(many + 1) * sizeof *known)))
        fail("not enough memory for %d types", many);
    enum { PART = 1 << 30 };
    MPI_Datatype part, parts[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
    int lengths[2] = {(int)(bytes / PART), (int)(bytes % PART)};
    MPI_Aint at[2] = {0, (MPI_Aint)(bytes / PART * PART)};
    PMPI_Type_contiguous(PART, MPI_BYTE, &part);
    parts[0] = part;
    PMPI_Type_create_struct(2, lengths, at, parts, &known[many].type);
    PMPI_Type_commit(&known[many].type);
    PMPI_Type_free(&part);
    known[many].bytes = bytes;
    return (struct units){1, known[many++].type};
}

/* Reading. */

static char *text;

static char *word(void)
{
    char *w = strsep(&text, " \n");
    while (w && !*w)
        w = strsep(&text, " \n");
    if (!w)
        fail("the program ends too early");
    return w;
}

static void expect(const char *want)
{
    char *w = word();
    if (strcmp(w, want))
        fail("%s instead of %s", w, want);
}

static long long number(long long from, long long to)
{
    char *w = word(), *end;
    long long x = strtoll(w, &end, 10);
    if (*end || end == w || x < from || x > to)
        fail("%s instead of a number from %lld to %lld", w, from, to);
    return x;
}

static void read_group(struct group *g)
{
    expect("group");
    g->size = (int)number(1, ranks);
    g->me = -1;
    g->world = room((size_t)g->size * sizeof *g->world);
    for (int i = 0; i < g->size; i++)
        if ((g->world[i] = (int)number(0, ranks - 1)) == rank)
            g->me = i;
}

static int in_group(const struct group *g, long long world)
{
    if (world == ANYBODY)
        return MPI_ANY_SOURCE;
    if (world == NOBODY)
        return MPI_PROC_NULL;
    for (int i = 0; i < g->size; i++)
        if (g->world[i] == world)
            return i;
    fail("rank %lld is not in the group", world);
    return -1;
}

static int tag_of(long long tag) { return tag == ANYBODY ? MPI_ANY_TAG : (int)tag; }

/* read_list reads bytes or slots; those of others are passed over. */
static void read_list(struct node *n, struct group *g, bool ours)
{
    n->list = n->items && ours ? room((size_t)n->items * sizeof *n->list) : NULL;
    for (int i = 0; i < n->items; i++) {
        long long x = number(0, most_bytes);
        if (n->kind >= GATHERV && x > g->longest)
            g->longest = x;
        if (!ours)
            continue;
        n->list[i] = x;
        if (n->kind == WAIT && x >= slots)
            fail("wait for a slot that nothing began");
    }
}

/* The type and number of what is computed with. A few bytes more do not matter where
 * there are too many to be counted one by one. */
static bool by_eight(long long bytes) { return bytes % 8 == 0 || bytes > INT_MAX; }

static int numbers(long long bytes, bool eight) { return (int)(eight ? (bytes + 7) / 8 : bytes); }

static void read_call(struct node *n, bool ours)
{
    char *w = word();
    for (n->kind = 0; n->kind < KINDS && strcmp(w, names[n->kind]); n->kind++)
        ;
    if (n->kind == KINDS)
        fail("%s is no call", w);
    n->group = (int)number(0, groups - 1);
    struct group *g = &group[n->group];
    long long peer = number(NOBODY, ranks - 1);
    n->tag = tag_of(number(ANYBODY, INT_MAX));
    long long peer2 = number(NOBODY, ranks - 1);
    n->tag2 = tag_of(number(ANYBODY, INT_MAX));
    n->slot = (int)number(-1, MOST_SLOTS);
    n->bytes = number(0, most_bytes);
    n->turns = number(0, LLONG_MAX);
    n->items = (int)number(0, MOST_SLOTS);
    g->listed = g->listed || n->kind >= GATHERV;
    if (n->kind >= GATHERV && n->bytes > g->longest)
        g->longest = n->bytes;
    read_list(n, g, ours);
    if (!ours)
        return;
    bool needs_slot = n->kind == ISEND || n->kind == ISSEND || n->kind == IRECV || n->kind == FREE;
    bool needs_list = n->kind == REDUCE_SCATTER || n->kind == ALLTOALLV || (n->kind == SCATTERV && peer == rank);
    bool computes = (n->kind >= REDUCE && n->kind <= EXSCAN) || n->kind == REDUCE_SCATTER_BLOCK || n->kind == REDUCE_SCATTER;
    if ((needs_slot && n->slot < 0) || (computes && n->bytes > longest_sum) || (needs_list && n->items != g->size) || (n->kind != WAIT && n->kind != FREE && g->me < 0))
        fail("a %s that cannot be", names[n->kind]);
    if (n->kind == REDUCE_SCATTER) {
        n->counts = room((size_t)n->items * sizeof *n->counts);
        for (int i = 0; i < n->items; i++)
            n->counts[i] = numbers(n->list[i], n->bytes > INT_MAX);
    }
    slots = n->slot >= slots ? n->slot + 1 : slots;
    n->peer = in_group(g, peer);
    n->peer2 = in_group(g, peer2);
}

/* read_program reads the nodes of one rank; those of others are passed over. */
static void read_program(int r)
{
    expect("rank");
    number(r, r);
    int count = (int)number(0, 1 << 24);
    struct node passed, *list = r == rank ? room((size_t)count * sizeof *list) : NULL;
    for (int i = 0; i < count; i++) {
        struct node *n = list ? &list[i] : &passed;
        memset(n, 0, sizeof *n);
        char *w = word();
        if (strcmp(w, "loop") == 0) {
            n->rounds = number(1, LLONG_MAX);
            n->nodes = (int)number(1, count - 1 - i);
        } else if (strcmp(w, "call") == 0) {
            read_call(n, list != NULL);
        } else {
            fail("%s instead of loop or call", w);
        }
    }
    if (list)
        program = list, nodes = count;
}

static void read_all(void)
{
    expect("godwit-skeleton");
    number(1, 1);
    expect("ranks");
    number(ranks, ranks);
    expect("longest");
    longest = number(0, most_bytes);
    expect("groups");
    groups = (int)number(1, 1 << 16);
    group = room((size_t)groups * sizeof *group);
    for (int i = 0; i < groups; i++)
        read_group(&group[i]);
    for (int r = 0; r < ranks; r++)
        read_program(r);
    expect("end");
}

/* receive_text gives all ranks what rank 0 reads. */
static void receive_text(void)
{
    long long length = 0, space = 0;
    if (rank == 0) {
        size_t got;
        do {
            if (length + 65536 > space) {
                space = 2 * space + 65537;
                if (!(text = realloc(text, (size_t)space)))
                    fail("not enough memory for the program");
            }
            got = fread(text + length, 1, 65536, stdin);
            length += (long long)got;
        } while (got > 0);
    }
    PMPI_Bcast(&length, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (length > INT_MAX)
        fail("the program is too long");
    if (rank > 0)
        text = room((size_t)length + 1);
    PMPI_Bcast(text, (int)length, MPI_BYTE, 0, MPI_COMM_WORLD);
    text[length] = 0;
}

static void make_groups(void)
{
    MPI_Group world;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < groups; i++) {
        if (group[i].me < 0)
            continue;
        MPI_Group of;
        PMPI_Group_incl(world, group[i].size, group[i].world, &of);
        PMPI_Comm_create_group(MPI_COMM_WORLD, of, i, &group[i].comm);
        if (group[i].listed) /* all members know that: each reads the programs of all */
            PMPI_Comm_dup(group[i].comm, &group[i].lists);
        PMPI_Group_free(&of);
    }
    PMPI_Group_free(&world);
}

/* Running. */

static char *land(struct slot *s, size_t size)
{
    if (size > s->landing_size) {
        if (s->landing_size > WINDOW)
            munmap(s->landing, (s->landing_size + WINDOW - 1) / WINDOW * WINDOW);
        else
            free(s->landing);
        s->landing = buffer(size);
        s->landing_size = size;
    }
    return s->landing;
}

/* next is one more request of a slot. Its place holds only until the next one. */
static MPI_Request *next(struct slot *s)
{
    if (s->many == s->space) {
        s->space = 2 * s->space + 1;
        if (!(s->begun = realloc(s->begun, (size_t)s->space * sizeof *s->begun)))
            fail("not enough memory for %d requests", s->space);
    }
    s->begun[s->many] = MPI_REQUEST_NULL;
    return &s->begun[s->many++];
}

static MPI_Request *only(struct slot *s)
{
    s->many = 0;
    return next(s);
}

static void wait_for(struct slot *s)
{
    MPI_Waitall(s->many, s->begun, MPI_STATUSES_IGNORE);
    s->many = 0;
}

/* Lists are exchanged message by message: who receives need not know how much comes, as
 * who calls MPI_Ialltoallv would. begin begins them all; who waits for the slot waits
 * for all. */
static void begin(const struct node *n, const struct group *g, struct slot *s, char *to)
{
    int tag = n->kind;
    size_t each = (size_t)g->longest;
    struct units any = units(g->longest);
    bool root = g->me == n->peer;
    s->many = 0;
    for (int i = 0; i < g->size; i++)
        if (i != g->me && (n->kind == ALLTOALLV || n->kind == ALLGATHERV || (n->kind == GATHERV ? root : i == n->peer)))
            MPI_Irecv(to + each * (size_t)i, any.count, any.type, i, tag, g->lists, next(s));
    for (int i = 0; i < g->size; i++)
        if (i != g->me && (n->kind == ALLTOALLV || n->kind == ALLGATHERV || (n->kind == SCATTERV ? root : i == n->peer))) {
            struct units u = units(n->kind == ALLTOALLV || n->kind == SCATTERV ? n->list[i] : n->bytes);
            MPI_Isend(out, u.count, u.type, i, tag, g->lists, next(s));
        }
}

/* round_the_ring: what came is handed on, as MPI libraries do it if nobody can do
 * anything else meanwhile. */
static void round_the_ring(const struct node *n, const struct group *g)
{
    int tag = n->kind, to = (g->me + 1) % g->size, from = (g->me + g->size - 1) % g->size;
    MPI_Count bytes = n->bytes;
    struct units any = units(g->longest);
    for (int i = 1; i < g->size; i++) {
        MPI_Status status;
        struct units u = units(bytes);
        MPI_Sendrecv(out, u.count, u.type, to, tag, in, any.count, any.type, from, tag, g->lists, &status);
        PMPI_Get_elements_x(&status, any.type, &bytes);
    }
}

static void listed(const struct node *n, const struct group *g)
{
    if (n->slot >= 0) {
        begin(n, g, &slot[n->slot], land(&slot[n->slot], (size_t)g->longest * (size_t)g->size));
    } else if (n->kind == ALLGATHERV) {
        round_the_ring(n, g);
    } else {
        begin(n, g, &blocking, in);
        wait_for(&blocking);
    }
}

static void collective(const struct node *n, const struct group *g)
{
    struct units u = units(n->bytes);
    bool eight = by_eight(n->bytes);
    MPI_Datatype type = eight ? MPI_DOUBLE : MPI_BYTE;
    MPI_Op op = eight ? MPI_SUM : MPI_BOR;
    int many = numbers(n->bytes, eight);
    MPI_Comm c = g->comm;
    MPI_Request *q = n->slot >= 0 ? only(&slot[n->slot]) : NULL;
    char *to = q ? land(&slot[n->slot], (size_t)(n->kind == GATHER || n->kind == ALLGATHER || n->kind == ALLTOALL ? g->size : 1) * (size_t)n->bytes + 8) : in;
#define EITHER(name, iname, ...) (q ? MPI_##iname(__VA_ARGS__, q) : MPI_##name(__VA_ARGS__))
    switch (n->kind) {
    case BARRIER: EITHER(Barrier, Ibarrier, c); break;
    case BCAST: EITHER(Bcast, Ibcast, to, u.count, u.type, n->peer, c); break;
    case REDUCE: EITHER(Reduce, Ireduce, out, to, many, type, op, n->peer, c); break;
    case ALLREDUCE: EITHER(Allreduce, Iallreduce, out, to, many, type, op, c); break;
    case SCAN: EITHER(Scan, Iscan, out, to, many, type, op, c); break;
    case EXSCAN: EITHER(Exscan, Iexscan, out, to, many, type, op, c); break;
    case GATHER: EITHER(Gather, Igather, out, u.count, u.type, to, u.count, u.type, n->peer, c); break;
    case SCATTER: EITHER(Scatter, Iscatter, out, u.count, u.type, to, u.count, u.type, n->peer, c); break;
    case ALLGATHER: EITHER(Allgather, Iallgather, out, u.count, u.type, to, u.count, u.type, c); break;
    case ALLTOALL: EITHER(Alltoall, Ialltoall, out, u.count, u.type, to, u.count, u.type, c); break;
    case REDUCE_SCATTER_BLOCK: EITHER(Reduce_scatter_block, Ireduce_scatter_block, out, to, many, type, op, c); break;
    case REDUCE_SCATTER: EITHER(Reduce_scatter, Ireduce_scatter, out, to, n->counts, n->bytes > INT_MAX ? MPI_DOUBLE : MPI_BYTE, n->bytes > INT_MAX ? MPI_SUM : MPI_BOR, c); break;
    }
}

static void call(const struct node *n)
{
    const struct group *g = &group[n->group];
    struct units u = units(n->bytes), any = units(longest);
    if (n->turns > 0) {
        double from = seconds_of(CLOCK_MONOTONIC);
        spin((uint64_t)n->turns);
        computing += seconds_of(CLOCK_MONOTONIC) - from;
    }
    switch (n->kind) {
    case SEND: MPI_Send(out, u.count, u.type, n->peer, n->tag, g->comm); break;
    case SSEND: MPI_Ssend(out, u.count, u.type, n->peer, n->tag, g->comm); break;
    case RECV: MPI_Recv(in, any.count, any.type, n->peer, n->tag, g->comm, MPI_STATUS_IGNORE); break;
    case ISEND: MPI_Isend(out, u.count, u.type, n->peer, n->tag, g->comm, only(&slot[n->slot])); break;
    case ISSEND: MPI_Issend(out, u.count, u.type, n->peer, n->tag, g->comm, only(&slot[n->slot])); break;
    case IRECV: MPI_Irecv(land(&slot[n->slot], (size_t)longest), any.count, any.type, n->peer, n->tag, g->comm, only(&slot[n->slot])); break;
    case SENDRECV:
        MPI_Sendrecv(out, u.count, u.type, n->peer, n->tag, in, any.count, any.type, n->peer2, n->tag2, g->comm, MPI_STATUS_IGNORE);
        break;
    case WAIT:
        for (int i = 0; i < n->items; i++) {
            struct slot *s = &slot[n->list[i]];
            for (int j = 0; j < s->many; j++)
                *next(&blocking) = s->begun[j];
            s->many = 0;
        }
        wait_for(&blocking);
        break;
    case FREE:
        for (int i = 0; i < slot[n->slot].many; i++)
            MPI_Request_free(&slot[n->slot].begun[i]);
        slot[n->slot].many = 0;
        break;
    case GATHERV: case SCATTERV: case ALLGATHERV: case ALLTOALLV: listed(n, g); break;
    default: collective(n, g);
    }
}

static void run(const struct node *from, int count)
{
    for (int i = 0; i < count; i++) {
        const struct node *n = &from[i];
        if (n->nodes == 0) {
            call(n);
            continue;
        }
        for (long long r = 0; r < n->rounds; r++)
            run(n + 1, n->nodes);
        i += n->nodes;
    }
}

/* make_room for the longest message, and for as many as a collective operation needs. */
static void make_room(void)
{
    size_t most = (size_t)longest;
    for (int i = 0; i < nodes; i++) {
        const struct node *n = &program[i];
        size_t all = n->nodes || n->kind < BARRIER ? 0 : (size_t)(n->kind >= GATHERV ? group[n->group].longest : n->bytes) * (size_t)group[n->group].size;
        most = all > most ? all : most;
    }
    most += 8 * (size_t)ranks; /* numbers(…) rounds up, for each member */
    out = buffer(most);
    in = buffer(most);
    slot = room(((size_t)slots + 1) * sizeof *slot);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    receive_text();
    read_all();
    make_groups();
    make_room();
    PMPI_Barrier(MPI_COMM_WORLD);
    double from = seconds_of(CLOCK_MONOTONIC);
    run(program, nodes);
    double own[2] = {seconds_of(CLOCK_MONOTONIC) - from, computing}, *all = room(2 * (size_t)ranks * sizeof *all);
    PMPI_Barrier(MPI_COMM_WORLD);
    double took = seconds_of(CLOCK_MONOTONIC) - from;
    PMPI_Gather(own, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"seconds\":%.6f,\"ranks\":[", took);
        for (int i = 0; i < ranks; i++)
            printf("%s{\"seconds\":%.6f,\"computing\":%.6f}", i ? "," : "", all[2 * i], all[2 * i + 1]);
        printf("]}\n");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
