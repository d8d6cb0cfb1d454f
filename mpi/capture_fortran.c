/* The same functions as Fortran programs call them: those of Open MPI go straight to the
 * second names, so that what stands before the first ones does not see them. All
 * arguments are addresses and go on as they are. The name that a compiler makes of
 * mpi_send is mpi_send_, with most; the modern module comes by ompi_send_f. */
#define _GNU_SOURCE
#include "capture.h"
#include "capture_mpi.h"

#include <stdlib.h>

typedef MPI_Fint I;
#define SHOWN __attribute__((visibility("default")))
#define UNWRAP(...) __VA_ARGS__
#define TYPE(t) PMPI_Type_f2c(*(t))
#define COMM(c) PMPI_Comm_f2c(*(c))
#define WIN(w) PMPI_Win_f2c(*(w))

extern int mpi_fortran_in_place_;
static int in_place(const void *p) { return p == (void *)&mpi_fortran_in_place_; }

/* FORTRAN defines one: the call itself, then what is noted. */
#define FORTRAN(name, params, args, note) \
    void pmpi_##name##_(UNWRAP params); \
    SHOWN void mpi_##name##_(UNWRAP params); \
    SHOWN void mpi_##name##_(UNWRAP params) \
    { \
        struct span s = enter(); \
        pmpi_##name##_(UNWRAP args); \
        note; \
    } \
    SHOWN void ompi_##name##_f(UNWRAP params) __attribute__((alias("mpi_" #name "_"))); \
    SHOWN void mpi_##name##__(UNWRAP params) __attribute__((alias("mpi_" #name "_")));

/* Those before which there is something to do. */
#define AROUND(name, params, args, before, after) \
    void pmpi_##name##_(UNWRAP params); \
    SHOWN void mpi_##name##_(UNWRAP params); \
    SHOWN void mpi_##name##_(UNWRAP params) \
    { \
        before; \
        pmpi_##name##_(UNWRAP args); \
        after; \
    } \
    SHOWN void ompi_##name##_f(UNWRAP params) __attribute__((alias("mpi_" #name "_"))); \
    SHOWN void mpi_##name##__(UNWRAP params) __attribute__((alias("mpi_" #name "_")));

AROUND(init, (I *e), (e), , capture_begin())
AROUND(init_thread, (I *wanted, I *got, I *e), (wanted, got, e), , capture_begin())
AROUND(finalize, (I *e), (e), capture_write("finalized"), )
AROUND(abort, (I *c, I *code, I *e), (c, code, e), capture_write("aborted"), )

#define MESSAGE void *b, I *n, I *t, I *peer, I *tag, I *c
#define SENDS(name, kind) \
    FORTRAN(name, (MESSAGE, I *e), (b, n, t, peer, tag, c, e), note_send(&s, kind, *n, TYPE(t), *peer, *tag, COMM(c), NULL))
SENDS(send, SEND)
SENDS(bsend, SEND)
SENDS(rsend, SEND)
SENDS(ssend, SSEND)

#define BEGINS(name, note) FORTRAN(name, (MESSAGE, I *q, I *e), (b, n, t, peer, tag, c, q, e), MPI_Request r = PMPI_Request_f2c(*q); note)
BEGINS(isend, note_send(&s, ISEND, *n, TYPE(t), *peer, *tag, COMM(c), &r))
BEGINS(ibsend, note_send(&s, ISEND, *n, TYPE(t), *peer, *tag, COMM(c), &r))
BEGINS(irsend, note_send(&s, ISEND, *n, TYPE(t), *peer, *tag, COMM(c), &r))
BEGINS(issend, note_send(&s, ISSEND, *n, TYPE(t), *peer, *tag, COMM(c), &r))
BEGINS(irecv, note_recv(&s, IRECV, *peer, *tag, COMM(c), &r))
BEGINS(send_init, note_prepared(&s, ISEND, *n, TYPE(t), *peer, *tag, COMM(c), r))
BEGINS(bsend_init, note_prepared(&s, ISEND, *n, TYPE(t), *peer, *tag, COMM(c), r))
BEGINS(rsend_init, note_prepared(&s, ISEND, *n, TYPE(t), *peer, *tag, COMM(c), r))
BEGINS(ssend_init, note_prepared(&s, ISSEND, *n, TYPE(t), *peer, *tag, COMM(c), r))
BEGINS(recv_init, note_prepared(&s, IRECV, *n, TYPE(t), *peer, *tag, COMM(c), r))

FORTRAN(recv, (MESSAGE, I *status, I *e), (b, n, t, peer, tag, c, status, e), note_recv(&s, RECV, *peer, *tag, COMM(c), NULL))
FORTRAN(sendrecv, (void *b, I *n, I *t, I *to, I *tag, void *b2, I *n2, I *t2, I *from, I *tag2, I *c, I *status, I *e),
        (b, n, t, to, tag, b2, n2, t2, from, tag2, c, status, e), note_sendrecv(&s, *n, TYPE(t), *to, *tag, *from, *tag2, COMM(c)))
FORTRAN(sendrecv_replace, (void *b, I *n, I *t, I *to, I *tag, I *from, I *tag2, I *c, I *status, I *e),
        (b, n, t, to, tag, from, tag2, c, status, e), note_sendrecv(&s, *n, TYPE(t), *to, *tag, *from, *tag2, COMM(c)))

AROUND(mrecv, (void *b, I *n, I *t, I *message, I *status, I *e), (b, n, t, message, status, e),
       struct span s = enter(); MPI_Message was = PMPI_Message_f2c(*message), note_found_recv(&s, RECV, was, NULL))
AROUND(imrecv, (void *b, I *n, I *t, I *message, I *q, I *e), (b, n, t, message, q, e),
       struct span s = enter(); MPI_Message was = PMPI_Message_f2c(*message), MPI_Request r = PMPI_Request_f2c(*q); note_found_recv(&s, IRECV, was, &r))
FORTRAN(probe, (I *from, I *tag, I *c, I *status, I *e), (from, tag, c, status, e), note_nothing(&s))
FORTRAN(mprobe, (I *from, I *tag, I *c, I *message, I *status, I *e), (from, tag, c, message, status, e),
        note_found(&s, PMPI_Message_f2c(*message), *from, *tag, COMM(c)))
/* The modern module goes from those with a logical result straight to the second names. */
#define ASKS(name, params, args, note) \
    FORTRAN(name, params, args, note) \
    void pmpi_##name##_f08_(UNWRAP params); \
    SHOWN void mpi_##name##_f08_(UNWRAP params); \
    SHOWN void mpi_##name##_f08_(UNWRAP params) \
    { \
        struct span s = enter(); \
        pmpi_##name##_f08_(UNWRAP args); \
        note; \
    }
ASKS(iprobe, (I *from, I *tag, I *c, I *flag, I *status, I *e), (from, tag, c, flag, status, e), note_nothing(&s))
ASKS(improbe, (I *from, I *tag, I *c, I *flag, I *message, I *status, I *e), (from, tag, c, flag, message, status, e),
     note_found(&s, *flag ? PMPI_Message_f2c(*message) : MPI_MESSAGE_NULL, *from, *tag, COMM(c)))

/* Handles of requests are kept before MPI takes them away. */
static MPI_Request *handles(I n, const I *q)
{
    MPI_Request *all = malloc((n > 0 ? (size_t)n : 1) * sizeof *all);
    if (!all)
        abort();
    for (I i = 0; i < n; i++)
        all[i] = PMPI_Request_f2c(q[i]);
    return all;
}

static void done(struct span *s, MPI_Request *all, int n)
{
    if (n > 0)
        note_done(s, n, all);
    else
        note_nothing(s);
    free(all);
}

/* those of some; Fortran counts from 1. */
static int chosen(MPI_Request *all, I n, const I *which)
{
    MPI_Request *some = n > 0 ? malloc((size_t)n * sizeof *some) : NULL;
    for (I i = 0; i < n && some; i++)
        some[i] = all[which[i] - 1];
    for (I i = 0; i < n && some; i++)
        all[i] = some[i];
    free(some);
    return some ? n : 0;
}

#define WAITS_NAMED(name, params, args, count, many) \
    void p##name(UNWRAP params); \
    SHOWN void name(UNWRAP params); \
    SHOWN void name(UNWRAP params) \
    { \
        struct span s = enter(); \
        MPI_Request *all = handles(count, q); \
        p##name(UNWRAP args); \
        done(&s, all, many); \
    }
#define WAITS(name, params, args, count, many) \
    WAITS_NAMED(mpi_##name##_, params, args, count, many) \
    SHOWN void ompi_##name##_f(UNWRAP params) __attribute__((alias("mpi_" #name "_"))); \
    SHOWN void mpi_##name##__(UNWRAP params) __attribute__((alias("mpi_" #name "_")));
/* As of those that ask. */
#define TESTS(name, params, args, count, many) \
    WAITS(name, params, args, count, many) \
    WAITS_NAMED(mpi_##name##_f08_, params, args, count, many)
WAITS(wait, (I *q, I *status, I *e), (q, status, e), 1, 1)
TESTS(test, (I *q, I *flag, I *status, I *e), (q, flag, status, e), 1, *flag ? 1 : 0)
WAITS(waitall, (I *n, I *q, I *status, I *e), (n, q, status, e), *n, *n)
TESTS(testall, (I *n, I *q, I *flag, I *status, I *e), (n, q, flag, status, e), *n, *flag ? *n : 0)
WAITS(waitany, (I *n, I *q, I *which, I *status, I *e), (n, q, which, status, e), *n, *which > 0 ? chosen(all, 1, which) : 0)
TESTS(testany, (I *n, I *q, I *which, I *flag, I *status, I *e), (n, q, which, flag, status, e), *n, *flag && *which > 0 ? chosen(all, 1, which) : 0)
WAITS(waitsome, (I *n, I *q, I *many, I *which, I *status, I *e), (n, q, many, which, status, e), *n, *many > 0 ? chosen(all, *many, which) : 0)
TESTS(testsome, (I *n, I *q, I *many, I *which, I *status, I *e), (n, q, many, which, status, e), *n, *many > 0 ? chosen(all, *many, which) : 0)

FORTRAN(start, (I *q, I *e), (q, e), MPI_Request r = PMPI_Request_f2c(*q); note_started(&s, 1, &r))
FORTRAN(startall, (I *n, I *q, I *e), (n, q, e), MPI_Request *all = handles(*n, q); note_started(&s, *n, all); free(all))

AROUND(request_free, (I *q, I *e), (q, e), struct span s = enter(); MPI_Request was = PMPI_Request_f2c(*q), note_freed(&s, was))
AROUND(comm_free, (I *c, I *e), (c, e), struct span s = enter(); forget_comm(COMM(c)), note_nothing(&s))
AROUND(comm_disconnect, (I *c, I *e), (c, e), struct span s = enter(); forget_comm(COMM(c)), note_nothing(&s))

/* Each operation has a second form that begins it and returns a request. */
#define BOTH(name, params, args, note) \
    FORTRAN(name, (UNWRAP params, I *e), (UNWRAP args, e), MPI_Request *q = NULL; note) \
    FORTRAN(i##name, (UNWRAP params, I *begun, I *e), (UNWRAP args, begun, e), MPI_Request r = PMPI_Request_f2c(*begun); MPI_Request *q = &r; note)
#define COLLECTIVE(name, params, args, kind, root, bytes) \
    BOTH(name, (UNWRAP params, I *c), (UNWRAP args, c), note_collective(&s, kind, COMM(c), root, s.counts ? (bytes) : 0, NULL, 0, q))
BOTH(barrier, (I *c), (c), note_collective(&s, BARRIER, COMM(c), -1, 0, NULL, 0, q))
COLLECTIVE(bcast, (void *b, I *n, I *t, I *root), (b, n, t, root), BCAST, *root, length_of(*n, TYPE(t)))
COLLECTIVE(reduce, (void *a, void *b, I *n, I *t, I *op, I *root), (a, b, n, t, op, root), REDUCE, *root, length_of(*n, TYPE(t)))
COLLECTIVE(allreduce, (void *a, void *b, I *n, I *t, I *op), (a, b, n, t, op), ALLREDUCE, -1, length_of(*n, TYPE(t)))
COLLECTIVE(scan, (void *a, void *b, I *n, I *t, I *op), (a, b, n, t, op), SCAN, -1, length_of(*n, TYPE(t)))
COLLECTIVE(exscan, (void *a, void *b, I *n, I *t, I *op), (a, b, n, t, op), EXSCAN, -1, length_of(*n, TYPE(t)))
COLLECTIVE(reduce_scatter_block, (void *a, void *b, I *n, I *t, I *op), (a, b, n, t, op), REDUCE_SCATTER_BLOCK, -1, length_of(*n, TYPE(t)))
#define TWO void *a, I *n, I *t, void *b, I *n2, I *t2
COLLECTIVE(gather, (TWO, I *root), (a, n, t, b, n2, t2, root), GATHER, *root, in_place(a) ? length_of(*n2, TYPE(t2)) : length_of(*n, TYPE(t)))
COLLECTIVE(scatter, (TWO, I *root), (a, n, t, b, n2, t2, root), SCATTER, *root, comm_rank(COMM(c)) == *root ? length_of(*n, TYPE(t)) : length_of(*n2, TYPE(t2)))
COLLECTIVE(allgather, (TWO), (a, n, t, b, n2, t2), ALLGATHER, -1, in_place(a) ? length_of(*n2, TYPE(t2)) : length_of(*n, TYPE(t)))
COLLECTIVE(alltoall, (TWO), (a, n, t, b, n2, t2), ALLTOALL, -1, in_place(a) ? length_of(*n2, TYPE(t2)) : length_of(*n, TYPE(t)))
#define GATHERS void *a, I *n, I *t, void *b, I *n2, I *at, I *t2
COLLECTIVE(gatherv, (GATHERS, I *root), (a, n, t, b, n2, at, t2, root), GATHERV, *root,
           in_place(a) ? length_of(n2[comm_rank(COMM(c))], TYPE(t2)) : length_of(*n, TYPE(t)))
COLLECTIVE(allgatherv, (GATHERS), (a, n, t, b, n2, at, t2), ALLGATHERV, -1,
           in_place(a) ? length_of(n2[comm_rank(COMM(c))], TYPE(t2)) : length_of(*n, TYPE(t)))

/* each: there is a type for every member. */
static void note_lengths(struct span *s, int kind, I *c, int root, const I *counts, I *types, int each, MPI_Request *q)
{
    int n = s->counts && counts ? comm_size(COMM(c)) : 0;
    int64_t *list = n ? malloc((size_t)n * sizeof *list) : NULL, all = 0;
    for (int i = 0; i < n && list; i++)
        all += list[i] = length_of(counts[i], TYPE(types + (each ? i : 0)));
    note_collective(s, kind, COMM(c), root, all, list, list ? n : 0, q);
    free(list);
}

BOTH(alltoallv, (void *a, I *n1, I *at, I *t, void *b, I *n2, I *at2, I *t2, I *c), (a, n1, at, t, b, n2, at2, t2, c),
     note_lengths(&s, ALLTOALLV, c, -1, in_place(a) ? n2 : n1, in_place(a) ? t2 : t, 0, q))
BOTH(alltoallw, (void *a, I *n1, I *at, I *t, void *b, I *n2, I *at2, I *t2, I *c), (a, n1, at, t, b, n2, at2, t2, c),
     note_lengths(&s, ALLTOALLV, c, -1, in_place(a) ? n2 : n1, in_place(a) ? t2 : t, 1, q))
BOTH(scatterv, (void *a, I *n1, I *at, I *t, void *b, I *n2, I *t2, I *root, I *c), (a, n1, at, t, b, n2, t2, root, c),
     note_lengths(&s, SCATTERV, c, *root, comm_rank(COMM(c)) == *root ? n1 : NULL, t, 0, q))
BOTH(reduce_scatter, (void *a, void *b, I *n, I *t, I *op, I *c), (a, b, n, t, op, c), note_lengths(&s, REDUCE_SCATTER, c, -1, n, t, 0, q))

/* One-sided, as in capture_calls.c. */

#define ONE_SIDED(name, params, args, there, back) \
    FORTRAN(name, params, args, note_onesided(&s, s.counts ? (there) : 0, s.counts ? (back) : 0, *to, WIN(w)))
#define PASSES(name, params, args) FORTRAN(name, params, args, note_nothing(&s))
PASSES(win_fence, (I *how, I *w, I *e), (how, w, e))
PASSES(win_lock, (I *kind, I *to, I *how, I *w, I *e), (kind, to, how, w, e))
PASSES(win_unlock, (I *to, I *w, I *e), (to, w, e))
PASSES(win_lock_all, (I *how, I *w, I *e), (how, w, e))
PASSES(win_unlock_all, (I *w, I *e), (w, e))
PASSES(win_flush, (I *to, I *w, I *e), (to, w, e))
PASSES(win_flush_all, (I *w, I *e), (w, e))
PASSES(win_flush_local, (I *to, I *w, I *e), (to, w, e))
PASSES(win_flush_local_all, (I *w, I *e), (w, e))
PASSES(win_start, (I *group, I *how, I *w, I *e), (group, how, w, e))
PASSES(win_complete, (I *w, I *e), (w, e))
PASSES(win_post, (I *group, I *how, I *w, I *e), (group, how, w, e))
PASSES(win_wait, (I *w, I *e), (w, e))
static int nothing(I *op) { return PMPI_Op_f2c(*op) == MPI_NO_OP; }
#define ORIGIN void *b, I *n, I *t
#define RESULT void *b3, I *n3, I *t3
#define TARGET I *to, MPI_Aint *at, I *n2, I *t2
ONE_SIDED(put, (ORIGIN, TARGET, I *w, I *e), (b, n, t, to, at, n2, t2, w, e), length_of(*n, TYPE(t)), 0)
ONE_SIDED(rput, (ORIGIN, TARGET, I *w, I *q, I *e), (b, n, t, to, at, n2, t2, w, q, e), length_of(*n, TYPE(t)), 0)
ONE_SIDED(get, (ORIGIN, TARGET, I *w, I *e), (b, n, t, to, at, n2, t2, w, e), 0, length_of(*n, TYPE(t)))
ONE_SIDED(rget, (ORIGIN, TARGET, I *w, I *q, I *e), (b, n, t, to, at, n2, t2, w, q, e), 0, length_of(*n, TYPE(t)))
ONE_SIDED(accumulate, (ORIGIN, TARGET, I *op, I *w, I *e), (b, n, t, to, at, n2, t2, op, w, e), length_of(*n, TYPE(t)), 0)
ONE_SIDED(raccumulate, (ORIGIN, TARGET, I *op, I *w, I *q, I *e), (b, n, t, to, at, n2, t2, op, w, q, e), length_of(*n, TYPE(t)), 0)
ONE_SIDED(get_accumulate, (ORIGIN, RESULT, TARGET, I *op, I *w, I *e), (b, n, t, b3, n3, t3, to, at, n2, t2, op, w, e),
          nothing(op) ? 0 : length_of(*n, TYPE(t)), length_of(*n3, TYPE(t3)))
ONE_SIDED(rget_accumulate, (ORIGIN, RESULT, TARGET, I *op, I *w, I *q, I *e), (b, n, t, b3, n3, t3, to, at, n2, t2, op, w, q, e),
          nothing(op) ? 0 : length_of(*n, TYPE(t)), length_of(*n3, TYPE(t3)))
ONE_SIDED(fetch_and_op, (void *b, void *b3, I *t, I *to, MPI_Aint *at, I *op, I *w, I *e), (b, b3, t, to, at, op, w, e),
          nothing(op) ? 0 : length_of(1, TYPE(t)), length_of(1, TYPE(t)))
ONE_SIDED(compare_and_swap, (void *b, void *like, void *b3, I *t, I *to, MPI_Aint *at, I *w, I *e), (b, like, b3, t, to, at, w, e),
          length_of(2, TYPE(t)), length_of(1, TYPE(t)))
