/* The collective operations; capture.c says what for. Each has a second form that begins
 * it and returns a request. */
#define _GNU_SOURCE
#include "capture.h"
#include "capture_mpi.h"

#include <stdlib.h>

#define SHOWN __attribute__((visibility("default")))
#define NO_ROOT (-1)

/* BOTH defines an operation and its second form: name, parameters in brackets, the
 * arguments that go on to MPI, and what is noted. */
#define BOTH(name, iname, params, args, kind, comm, root, bytes) \
    SHOWN int MPI_##name(UNWRAP params) \
    { \
        struct span s = enter(); \
        int r = PMPI_##name(UNWRAP args); \
        note_collective(&s, kind, comm, root, s.counts ? (bytes) : 0, NULL, 0, NULL); \
        return r; \
    } \
    SHOWN int MPI_##iname(UNWRAP params, MPI_Request *q) \
    { \
        struct span s = enter(); \
        int r = PMPI_##iname(UNWRAP args, q); \
        note_collective(&s, kind, comm, root, s.counts ? (bytes) : 0, NULL, 0, q); \
        return r; \
    }
#define UNWRAP(...) __VA_ARGS__

/* The same with a list of how much goes to each member. */
#define BOTH_LISTED(name, iname, params, args, kind, comm, root, items, item) \
    SHOWN int MPI_##name(UNWRAP params) \
    { \
        struct span s = enter(); \
        int r = PMPI_##name(UNWRAP args); \
        NOTE_LIST(kind, comm, root, items, item, NULL) \
        return r; \
    } \
    SHOWN int MPI_##iname(UNWRAP params, MPI_Request *q) \
    { \
        struct span s = enter(); \
        int r = PMPI_##iname(UNWRAP args, q); \
        NOTE_LIST(kind, comm, root, items, item, q) \
        return r; \
    }
#define NOTE_LIST(kind, comm, root, items, item, q) \
    int members = s.counts ? (items) : 0; \
    int64_t *list = members ? malloc((size_t)members * sizeof *list) : NULL, all = 0; \
    for (int i = 0; i < members && list; i++) \
        all += list[i] = (item); \
    note_collective(&s, kind, comm, root, all, list, list ? members : 0, q); \
    free(list);

BOTH(Barrier, Ibarrier, (MPI_Comm c), (c), BARRIER, c, NO_ROOT, 0)
BOTH(Bcast, Ibcast, (void *buf, int n, MPI_Datatype t, int root, MPI_Comm c), (buf, n, t, root, c), BCAST, c, root, length_of(n, t))
BOTH(Reduce, Ireduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c), (a, b, n, t, op, root, c), REDUCE, c, root, length_of(n, t))
BOTH(Allreduce, Iallreduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (a, b, n, t, op, c), ALLREDUCE, c, NO_ROOT, length_of(n, t))
BOTH(Scan, Iscan, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (a, b, n, t, op, c), SCAN, c, NO_ROOT, length_of(n, t))
BOTH(Exscan, Iexscan, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (a, b, n, t, op, c), EXSCAN, c, NO_ROOT, length_of(n, t))
BOTH(Reduce_scatter_block, Ireduce_scatter_block, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (a, b, n, t, op, c),
     REDUCE_SCATTER_BLOCK, c, NO_ROOT, length_of(n, t))

#define TWO const void *a, int n, MPI_Datatype t, void *b, int n2, MPI_Datatype t2
BOTH(Gather, Igather, (TWO, int root, MPI_Comm c), (a, n, t, b, n2, t2, root, c), GATHER, c, root, a == MPI_IN_PLACE ? length_of(n2, t2) : length_of(n, t))
BOTH(Scatter, Iscatter, (TWO, int root, MPI_Comm c), (a, n, t, b, n2, t2, root, c), SCATTER, c, root,
     comm_rank(c) == root ? length_of(n, t) : length_of(n2, t2))
BOTH(Allgather, Iallgather, (TWO, MPI_Comm c), (a, n, t, b, n2, t2, c), ALLGATHER, c, NO_ROOT, a == MPI_IN_PLACE ? length_of(n2, t2) : length_of(n, t))
BOTH(Alltoall, Ialltoall, (TWO, MPI_Comm c), (a, n, t, b, n2, t2, c), ALLTOALL, c, NO_ROOT, a == MPI_IN_PLACE ? length_of(n2, t2) : length_of(n, t))

#define GATHERS const void *a, int n, MPI_Datatype t, void *b, const int n2[], const int at[], MPI_Datatype t2
BOTH(Gatherv, Igatherv, (GATHERS, int root, MPI_Comm c), (a, n, t, b, n2, at, t2, root, c), GATHERV, c, root,
     a == MPI_IN_PLACE ? length_of(n2[comm_rank(c)], t2) : length_of(n, t))
BOTH(Allgatherv, Iallgatherv, (GATHERS, MPI_Comm c), (a, n, t, b, n2, at, t2, c), ALLGATHERV, c, NO_ROOT,
     a == MPI_IN_PLACE ? length_of(n2[comm_rank(c)], t2) : length_of(n, t))

BOTH_LISTED(Reduce_scatter, Ireduce_scatter, (const void *a, void *b, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm c), (a, b, n, t, op, c),
            REDUCE_SCATTER, c, NO_ROOT, comm_size(c), length_of(n[i], t))
BOTH_LISTED(Scatterv, Iscatterv, (const void *a, const int n1[], const int at[], MPI_Datatype t, void *b, int n2, MPI_Datatype t2, int root, MPI_Comm c),
            (a, n1, at, t, b, n2, t2, root, c), SCATTERV, c, root, comm_rank(c) == root ? comm_size(c) : 0, length_of(n1[i], t))
BOTH_LISTED(Alltoallv, Ialltoallv,
            (const void *a, const int n1[], const int at[], MPI_Datatype t, void *b, const int n2[], const int at2[], MPI_Datatype t2, MPI_Comm c),
            (a, n1, at, t, b, n2, at2, t2, c), ALLTOALLV, c, NO_ROOT, comm_size(c),
            a == MPI_IN_PLACE ? length_of(n2[i], t2) : length_of(n1[i], t))
BOTH_LISTED(Alltoallw, Ialltoallw,
            (const void *a, const int n1[], const int at[], const MPI_Datatype t[], void *b, const int n2[], const int at2[], const MPI_Datatype t2[], MPI_Comm c),
            (a, n1, at, t, b, n2, at2, t2, c), ALLTOALLV, c, NO_ROOT, comm_size(c),
            a == MPI_IN_PLACE ? length_of(n2[i], t2[i]) : length_of(n1[i], t[i]))
