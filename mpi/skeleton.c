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

enum { ANYBODY = -1, NOBODY = -2, OWN_TAG = 32000, MOST_SLOTS = 1 << 20 };

struct group {
    int size, me;
    int *world;
    MPI_Comm comm;
};

struct node {
    long long rounds;
    int nodes;            /* in the loop, all of them; 0: a call */
    int kind, group, peer, tag, peer2, tag2, slot, items;
    long long bytes, turns;
    int *list;
};

static int rank, ranks, groups, nodes, slots;
static long long longest;
static struct group *group;
static struct node *program;
static MPI_Request *requests, *some;
static char **landing; /* where a begun message arrives */
static size_t *landing_size;
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

static void read_call(struct node *n, bool ours)
{
    char *w = word();
    for (n->kind = 0; n->kind < KINDS && strcmp(w, names[n->kind]); n->kind++)
        ;
    if (n->kind == KINDS)
        fail("%s is no call", w);
    n->group = (int)number(0, groups - 1);
    const struct group *g = &group[n->group];
    long long peer = number(NOBODY, ranks - 1);
    n->tag = tag_of(number(ANYBODY, INT_MAX));
    long long peer2 = number(NOBODY, ranks - 1);
    n->tag2 = tag_of(number(ANYBODY, INT_MAX));
    n->slot = (int)number(-1, MOST_SLOTS);
    n->bytes = number(0, INT_MAX);
    n->turns = number(0, LLONG_MAX);
    n->items = (int)number(0, MOST_SLOTS);
    n->list = n->items && ours ? room((size_t)n->items * sizeof *n->list) : NULL;
    for (int i = 0; i < n->items; i++) {
        int x = (int)number(0, INT_MAX);
        if (!ours)
            continue;
        n->list[i] = x;
        if (n->kind == WAIT && x >= slots)
            fail("wait for a slot that nothing began");
    }
    if (!ours)
        return;
    bool needs_slot = n->kind == ISEND || n->kind == ISSEND || n->kind == IRECV || n->kind == FREE;
    bool needs_list = n->kind == REDUCE_SCATTER || n->kind == ALLTOALLV || (n->kind == SCATTERV && peer == rank);
    if ((needs_slot && n->slot < 0) || (needs_list && n->items != g->size) || (n->kind != WAIT && n->kind != FREE && g->me < 0))
        fail("a %s that cannot be", names[n->kind]);
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
    longest = number(0, INT_MAX);
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
        PMPI_Group_free(&of);
    }
    PMPI_Group_free(&world);
}

/* Running. */

static char *land(int slot, size_t size)
{
    if (size > landing_size[slot]) {
        free(landing[slot]);
        landing[slot] = room(size);
        landing_size[slot] = size;
    }
    return landing[slot];
}

/* Lists are exchanged message by message: who receives need not know how much comes. */
static void listed(const struct node *n, const struct group *g)
{
    int many = 0, tag = OWN_TAG + n->kind;
    size_t each = (size_t)longest;
    switch (n->kind) {
    case ALLTOALLV:
        for (int i = 0; i < g->size; i++)
            if (i != g->me)
                MPI_Irecv(in + each * (size_t)i, (int)longest, MPI_BYTE, i, tag, g->comm, &some[many++]);
        for (int i = 0; i < g->size; i++)
            if (i != g->me)
                MPI_Isend(out, n->list[i], MPI_BYTE, i, tag, g->comm, &some[many++]);
        break;
    case GATHERV:
        for (int i = 0; i < g->size && g->me == n->peer; i++)
            if (i != g->me)
                MPI_Irecv(in + each * (size_t)i, (int)longest, MPI_BYTE, i, tag, g->comm, &some[many++]);
        if (g->me != n->peer)
            MPI_Isend(out, (int)n->bytes, MPI_BYTE, n->peer, tag, g->comm, &some[many++]);
        break;
    case SCATTERV:
        for (int i = 0; i < g->size && g->me == n->peer; i++)
            if (i != g->me)
                MPI_Isend(out, n->list[i], MPI_BYTE, i, tag, g->comm, &some[many++]);
        if (g->me != n->peer)
            MPI_Irecv(in, (int)longest, MPI_BYTE, n->peer, tag, g->comm, &some[many++]);
        break;
    case ALLGATHERV: { /* round the ring; what came is handed on */
        int size = (int)n->bytes, to = (g->me + 1) % g->size, from = (g->me + g->size - 1) % g->size;
        for (int i = 1; i < g->size; i++) {
            MPI_Status status;
            MPI_Sendrecv(out, size, MPI_BYTE, to, tag, in, (int)longest, MPI_BYTE, from, tag, g->comm, &status);
            PMPI_Get_count(&status, MPI_BYTE, &size);
        }
        return;
    }
    }
    MPI_Waitall(many, some, MPI_STATUSES_IGNORE);
}

static void collective(const struct node *n, const struct group *g)
{
    int size = (int)n->bytes;
    bool numbers = size % 8 == 0;
    MPI_Datatype type = numbers ? MPI_DOUBLE : MPI_BYTE;
    MPI_Op op = numbers ? MPI_SUM : MPI_BOR;
    int many = numbers ? size / 8 : size;
    MPI_Comm c = g->comm;
    MPI_Request *q = n->slot >= 0 ? &requests[n->slot] : NULL;
    char *to = q ? land(n->slot, (size_t)(n->kind == GATHER || n->kind == ALLGATHER || n->kind == ALLTOALL ? g->size : 1) * (size_t)size) : in;
#define EITHER(name, iname, ...) (q ? MPI_##iname(__VA_ARGS__, q) : MPI_##name(__VA_ARGS__))
    switch (n->kind) {
    case BARRIER: EITHER(Barrier, Ibarrier, c); break;
    case BCAST: EITHER(Bcast, Ibcast, to, size, MPI_BYTE, n->peer, c); break;
    case REDUCE: EITHER(Reduce, Ireduce, out, to, many, type, op, n->peer, c); break;
    case ALLREDUCE: EITHER(Allreduce, Iallreduce, out, to, many, type, op, c); break;
    case SCAN: EITHER(Scan, Iscan, out, to, many, type, op, c); break;
    case EXSCAN: EITHER(Exscan, Iexscan, out, to, many, type, op, c); break;
    case GATHER: EITHER(Gather, Igather, out, size, MPI_BYTE, to, size, MPI_BYTE, n->peer, c); break;
    case SCATTER: EITHER(Scatter, Iscatter, out, size, MPI_BYTE, to, size, MPI_BYTE, n->peer, c); break;
    case ALLGATHER: EITHER(Allgather, Iallgather, out, size, MPI_BYTE, to, size, MPI_BYTE, c); break;
    case ALLTOALL: EITHER(Alltoall, Ialltoall, out, size, MPI_BYTE, to, size, MPI_BYTE, c); break;
    case REDUCE_SCATTER_BLOCK: EITHER(Reduce_scatter_block, Ireduce_scatter_block, out, to, many, type, op, c); break;
    case REDUCE_SCATTER: EITHER(Reduce_scatter, Ireduce_scatter, out, in, n->list, MPI_BYTE, MPI_BOR, c); break;
    default:
        listed(n, g);
        if (q)
            *q = MPI_REQUEST_NULL;
    }
}

static void call(const struct node *n)
{
    const struct group *g = &group[n->group];
    int size = (int)n->bytes, any = (int)longest;
    if (n->turns > 0) {
        double from = seconds_of(CLOCK_MONOTONIC);
        spin((uint64_t)n->turns);
        computing += seconds_of(CLOCK_MONOTONIC) - from;
    }
    switch (n->kind) {
    case SEND: MPI_Send(out, size, MPI_BYTE, n->peer, n->tag, g->comm); break;
    case SSEND: MPI_Ssend(out, size, MPI_BYTE, n->peer, n->tag, g->comm); break;
    case RECV: MPI_Recv(in, any, MPI_BYTE, n->peer, n->tag, g->comm, MPI_STATUS_IGNORE); break;
    case ISEND: MPI_Isend(out, size, MPI_BYTE, n->peer, n->tag, g->comm, &requests[n->slot]); break;
    case ISSEND: MPI_Issend(out, size, MPI_BYTE, n->peer, n->tag, g->comm, &requests[n->slot]); break;
    case IRECV: MPI_Irecv(land(n->slot, (size_t)longest), any, MPI_BYTE, n->peer, n->tag, g->comm, &requests[n->slot]); break;
    case SENDRECV:
        MPI_Sendrecv(out, size, MPI_BYTE, n->peer, n->tag, in, any, MPI_BYTE, n->peer2, n->tag2, g->comm, MPI_STATUS_IGNORE);
        break;
    case WAIT:
        for (int i = 0; i < n->items; i++)
            some[i] = requests[n->list[i]], requests[n->list[i]] = MPI_REQUEST_NULL;
        MPI_Waitall(n->items, some, MPI_STATUSES_IGNORE);
        break;
    case FREE:
        if (requests[n->slot] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[n->slot]);
        break;
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
    int waits = 2 * ranks;
    for (int i = 0; i < nodes; i++) {
        const struct node *n = &program[i];
        size_t all = n->nodes || n->kind < BARRIER ? 0 : (size_t)(n->kind >= GATHERV ? longest : n->bytes) * (size_t)group[n->group].size;
        most = all > most ? all : most;
        waits = n->nodes == 0 && n->kind == WAIT && n->items > waits ? n->items : waits;
    }
    out = room(most + 8);
    in = room(most + 8);
    memset(out, 1, most); /* pages that were never written are all the same one */
    memset(in, 1, most);
    requests = room(((size_t)slots + 1) * sizeof *requests);
    for (int i = 0; i < slots; i++)
        requests[i] = MPI_REQUEST_NULL;
    some = room((size_t)waits * sizeof *some);
    landing = room(((size_t)slots + 1) * sizeof *landing);
    landing_size = room(((size_t)slots + 1) * sizeof *landing_size);
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
