/* The functions that stand before MPI's own; capture.c says what for. */
#define _GNU_SOURCE
#include "capture.h"
#include "capture_mpi.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN int MPI_Init(int *argc, char ***argv)
{
    int r = PMPI_Init(argc, argv);
    if (r == MPI_SUCCESS)
        capture_begin();
    return r;
}

SHOWN int MPI_Init_thread(int *argc, char ***argv, int wanted, int *got)
{
    int r = PMPI_Init_thread(argc, argv, wanted, got);
    if (r == MPI_SUCCESS)
        capture_begin();
    return r;
}

SHOWN int MPI_Finalize(void)
{
    capture_write("finalized");
    return PMPI_Finalize();
}

SHOWN int MPI_Abort(MPI_Comm comm, int code)
{
    capture_write("aborted");
    return PMPI_Abort(comm, code);
}

/* Messages. */

#define SENDS(name, kind) \
    SHOWN int MPI_##name(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) \
    { \
        struct span s = enter(); \
        int r = PMPI_##name(buf, count, type, to, tag, comm); \
        note_send(&s, kind, count, type, to, tag, comm, NULL); \
        return r; \
    }
SENDS(Send, SEND)
SENDS(Bsend, SEND)
SENDS(Rsend, SEND)
SENDS(Ssend, SSEND)

#define BEGINS_SEND(name, kind) \
    SHOWN int MPI_##name(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *q) \
    { \
        struct span s = enter(); \
        int r = PMPI_##name(buf, count, type, to, tag, comm, q); \
        note_send(&s, kind, count, type, to, tag, comm, q); \
        return r; \
    }
BEGINS_SEND(Isend, ISEND)
BEGINS_SEND(Ibsend, ISEND)
BEGINS_SEND(Irsend, ISEND)
BEGINS_SEND(Issend, ISSEND)

SHOWN int MPI_Recv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct span s = enter();
    int r = PMPI_Recv(buf, count, type, from, tag, comm, status);
    note_recv(&s, RECV, from, tag, comm, NULL);
    return r;
}

SHOWN int MPI_Irecv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *q)
{
    struct span s = enter();
    int r = PMPI_Irecv(buf, count, type, from, tag, comm, q);
    note_recv(&s, IRECV, from, tag, comm, q);
    return r;
}

SHOWN int MPI_Sendrecv(const void *out, int count, MPI_Datatype type, int to, int tag, void *in, int count2, MPI_Datatype type2,
                       int from, int tag2, MPI_Comm comm, MPI_Status *status)
{
    struct span s = enter();
    int r = PMPI_Sendrecv(out, count, type, to, tag, in, count2, type2, from, tag2, comm, status);
    note_sendrecv(&s, count, type, to, tag, from, tag2, comm);
    return r;
}

SHOWN int MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype type, int to, int tag, int from, int tag2, MPI_Comm comm, MPI_Status *status)
{
    struct span s = enter();
    int r = PMPI_Sendrecv_replace(buf, count, type, to, tag, from, tag2, comm, status);
    note_sendrecv(&s, count, type, to, tag, from, tag2, comm);
    return r;
}

SHOWN int MPI_Mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    struct span s = enter();
    MPI_Message was = *message;
    int r = PMPI_Mrecv(buf, count, type, message, status);
    note_found_recv(&s, RECV, was, NULL);
    return r;
}

SHOWN int MPI_Imrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *q)
{
    struct span s = enter();
    MPI_Message was = *message;
    int r = PMPI_Imrecv(buf, count, type, message, q);
    note_found_recv(&s, IRECV, was, q);
    return r;
}

SHOWN int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct span s = enter();
    int r = PMPI_Probe(from, tag, comm, status);
    note_nothing(&s);
    return r;
}

SHOWN int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct span s = enter();
    int r = PMPI_Iprobe(from, tag, comm, flag, status);
    note_nothing(&s);
    return r;
}

SHOWN int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
    struct span s = enter();
    int r = PMPI_Mprobe(from, tag, comm, message, seen);
    note_found(&s, *message, from, seen->MPI_TAG, comm);
    return r;
}

SHOWN int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
    struct span s = enter();
    int r = PMPI_Improbe(from, tag, comm, flag, message, seen);
    if (*flag)
        note_found(&s, *message, from, seen->MPI_TAG, comm);
    else
        note_nothing(&s);
    return r;
}

#define PREPARES_SEND(name, kind) \
    SHOWN int MPI_##name(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *q) \
    { \
        struct span s = enter(); \
        int r = PMPI_##name(buf, count, type, to, tag, comm, q); \
        note_prepared(&s, kind, count, type, to, tag, comm, *q); \
        return r; \
    }
PREPARES_SEND(Send_init, ISEND)
PREPARES_SEND(Bsend_init, ISEND)
PREPARES_SEND(Rsend_init, ISEND)
PREPARES_SEND(Ssend_init, ISSEND)

SHOWN int MPI_Recv_init(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *q)
{
    struct span s = enter();
    int r = PMPI_Recv_init(buf, count, type, from, tag, comm, q);
    note_prepared(&s, IRECV, count, type, from, tag, comm, *q);
    return r;
}

SHOWN int MPI_Start(MPI_Request *q)
{
    struct span s = enter();
    int r = PMPI_Start(q);
    note_started(&s, 1, q);
    return r;
}

SHOWN int MPI_Startall(int n, MPI_Request q[])
{
    struct span s = enter();
    int r = PMPI_Startall(n, q);
    note_started(&s, n, q);
    return r;
}

SHOWN int MPI_Request_free(MPI_Request *q)
{
    struct span s = enter();
    MPI_Request was = *q;
    int r = PMPI_Request_free(q);
    note_freed(&s, was);
    return r;
}

/* Waiting. MPI takes the handles away, so they are kept before. */

struct kept {
    MPI_Request few[64], *all, *done;
};

static void keep(struct kept *k, int n, const MPI_Request *q)
{
    k->all = k->few;
    size_t many = n > 0 ? (size_t)n : 0;
    if (2 * many > sizeof k->few / sizeof *k->few && !(k->all = malloc(2 * many * sizeof *k->all)))
        abort();
    k->done = k->all + many;
    memcpy(k->all, q, many * sizeof *q);
}

static void note_kept(struct span *s, struct kept *k, int n, const MPI_Request *done)
{
    if (n > 0)
        note_done(s, n, done);
    else
        note_nothing(s);
    if (k->all != k->few)
        free(k->all);
}

static int chosen(struct kept *k, int n, const int *which)
{
    if (n == MPI_UNDEFINED)
        return 0;
    for (int i = 0; i < n; i++)
        k->done[i] = k->all[which[i]];
    return n;
}

SHOWN int MPI_Wait(MPI_Request *q, MPI_Status *status)
{
    struct span s = enter();
    MPI_Request was = *q;
    int r = PMPI_Wait(q, status);
    note_done(&s, 1, &was);
    return r;
}

SHOWN int MPI_Test(MPI_Request *q, int *flag, MPI_Status *status)
{
    struct span s = enter();
    MPI_Request was = *q;
    int r = PMPI_Test(q, flag, status);
    if (*flag)
        note_done(&s, 1, &was);
    else
        note_nothing(&s);
    return r;
}

SHOWN int MPI_Waitall(int n, MPI_Request q[], MPI_Status *status)
{
    struct kept k;
    struct span s = enter();
    keep(&k, n, q);
    int r = PMPI_Waitall(n, q, status);
    note_kept(&s, &k, n, k.all);
    return r;
}

SHOWN int MPI_Testall(int n, MPI_Request q[], int *flag, MPI_Status *status)
{
    struct kept k;
    struct span s = enter();
    keep(&k, n, q);
    int r = PMPI_Testall(n, q, flag, status);
    note_kept(&s, &k, *flag ? n : 0, k.all);
    return r;
}

SHOWN int MPI_Waitany(int n, MPI_Request q[], int *which, MPI_Status *status)
{
    struct kept k;
    struct span s = enter();
    keep(&k, n, q);
    int r = PMPI_Waitany(n, q, which, status);
    note_kept(&s, &k, chosen(&k, *which == MPI_UNDEFINED ? 0 : 1, which), k.done);
    return r;
}

SHOWN int MPI_Testany(int n, MPI_Request q[], int *which, int *flag, MPI_Status *status)
{
    struct kept k;
    struct span s = enter();
    keep(&k, n, q);
    int r = PMPI_Testany(n, q, which, flag, status);
    note_kept(&s, &k, chosen(&k, *flag && *which != MPI_UNDEFINED, which), k.done);
    return r;
}

SHOWN int MPI_Waitsome(int n, MPI_Request q[], int *many, int which[], MPI_Status *status)
{
    struct kept k;
    struct span s = enter();
    keep(&k, n, q);
    int r = PMPI_Waitsome(n, q, many, which, status);
    note_kept(&s, &k, chosen(&k, *many, which), k.done);
    return r;
}

SHOWN int MPI_Testsome(int n, MPI_Request q[], int *many, int which[], MPI_Status *status)
{
    struct kept k;
    struct span s = enter();
    keep(&k, n, q);
    int r = PMPI_Testsome(n, q, many, which, status);
    note_kept(&s, &k, chosen(&k, *many, which), k.done);
    return r;
}

SHOWN int MPI_Comm_free(MPI_Comm *comm)
{
    struct span s = enter();
    forget_comm(*comm);
    int r = PMPI_Comm_free(comm);
    note_nothing(&s);
    return r;
}

SHOWN int MPI_Comm_disconnect(MPI_Comm *comm)
{
    struct span s = enter();
    forget_comm(*comm);
    int r = PMPI_Comm_disconnect(comm);
    note_nothing(&s);
    return r;
}

/* One-sided: what goes to whom is counted, each way; a skeleton does without. Those with
 * an R return a request, for which nobody waits in a skeleton either. */

#define TARGET int to, MPI_Aint at, int count2, MPI_Datatype type2
#define ONE_SIDED(name, params, args, win, there, back) \
    SHOWN int MPI_##name(UNWRAP params) \
    { \
        struct span s = enter(); \
        int r = PMPI_##name(UNWRAP args); \
        note_onesided(&s, s.counts ? (there) : 0, s.counts ? (back) : 0, to, win); \
        return r; \
    }
#define UNWRAP(...) __VA_ARGS__

/* Waiting for them is no computing. */
#define PASSES(name, params, args) \
    SHOWN int MPI_##name(UNWRAP params) \
    { \
        struct span s = enter(); \
        int r = PMPI_##name(UNWRAP args); \
        note_nothing(&s); \
        return r; \
    }
PASSES(Win_fence, (int how, MPI_Win win), (how, win))
PASSES(Win_lock, (int kind, int to, int how, MPI_Win win), (kind, to, how, win))
PASSES(Win_unlock, (int to, MPI_Win win), (to, win))
PASSES(Win_lock_all, (int how, MPI_Win win), (how, win))
PASSES(Win_unlock_all, (MPI_Win win), (win))
PASSES(Win_flush, (int to, MPI_Win win), (to, win))
PASSES(Win_flush_all, (MPI_Win win), (win))
PASSES(Win_flush_local, (int to, MPI_Win win), (to, win))
PASSES(Win_flush_local_all, (MPI_Win win), (win))
PASSES(Win_start, (MPI_Group group, int how, MPI_Win win), (group, how, win))
PASSES(Win_complete, (MPI_Win win), (win))
PASSES(Win_post, (MPI_Group group, int how, MPI_Win win), (group, how, win))
PASSES(Win_wait, (MPI_Win win), (win))

#define ORIGIN const void *buf, int count, MPI_Datatype type
ONE_SIDED(Put, (ORIGIN, TARGET, MPI_Win win), (buf, count, type, to, at, count2, type2, win), win, length_of(count, type), 0)
ONE_SIDED(Rput, (ORIGIN, TARGET, MPI_Win win, MPI_Request *q), (buf, count, type, to, at, count2, type2, win, q), win, length_of(count, type), 0)
ONE_SIDED(Accumulate, (ORIGIN, TARGET, MPI_Op op, MPI_Win win), (buf, count, type, to, at, count2, type2, op, win), win, length_of(count, type), 0)
ONE_SIDED(Raccumulate, (ORIGIN, TARGET, MPI_Op op, MPI_Win win, MPI_Request *q), (buf, count, type, to, at, count2, type2, op, win, q), win,
          length_of(count, type), 0)
ONE_SIDED(Get, (void *buf, int count, MPI_Datatype type, TARGET, MPI_Win win), (buf, count, type, to, at, count2, type2, win), win, 0,
          length_of(count, type))
ONE_SIDED(Rget, (void *buf, int count, MPI_Datatype type, TARGET, MPI_Win win, MPI_Request *q), (buf, count, type, to, at, count2, type2, win, q), win, 0,
          length_of(count, type))

#define RESULT void *got, int count3, MPI_Datatype type3
ONE_SIDED(Get_accumulate, (ORIGIN, RESULT, TARGET, MPI_Op op, MPI_Win win), (buf, count, type, got, count3, type3, to, at, count2, type2, op, win), win,
          op == MPI_NO_OP ? 0 : length_of(count, type), length_of(count3, type3))
ONE_SIDED(Rget_accumulate, (ORIGIN, RESULT, TARGET, MPI_Op op, MPI_Win win, MPI_Request *q),
          (buf, count, type, got, count3, type3, to, at, count2, type2, op, win, q), win, op == MPI_NO_OP ? 0 : length_of(count, type),
          length_of(count3, type3))
ONE_SIDED(Fetch_and_op, (const void *buf, void *got, MPI_Datatype type, int to, MPI_Aint at, MPI_Op op, MPI_Win win), (buf, got, type, to, at, op, win), win,
          op == MPI_NO_OP ? 0 : length_of(1, type), length_of(1, type))
ONE_SIDED(Compare_and_swap, (const void *buf, const void *like, void *got, MPI_Datatype type, int to, MPI_Aint at, MPI_Win win),
          (buf, like, got, type, to, at, win), win, length_of(2, type), length_of(1, type))
