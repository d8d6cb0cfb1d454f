/* What the parts of the capture library know of each other; capture.c says what it is
 * for. */
#ifndef GODWIT_CAPTURE_H
#define GODWIT_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum kind {
    SEND, SSEND, RECV, ISEND, ISSEND, IRECV, SENDRECV, WAIT, FREE,
    BARRIER, BCAST, REDUCE, ALLREDUCE, SCAN, EXSCAN, GATHER, SCATTER, ALLGATHER, ALLTOALL,
    REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, GATHERV, SCATTERV, ALLGATHERV, ALLTOALLV, KINDS
};

enum { ANYBODY = -1, NOBODY = -2, NO_SLOT = -1 };

/* A call as it is told from others. Ranks are those of the world. Calls with equal
 * ones are the same to a skeleton, so what differs from time to time must not be in
 * it. */
struct call {
    int32_t kind, comm;
    int32_t peer, tag;         /* to whom, or the root */
    int32_t peer2, tag2;       /* from whom, of SENDRECV */
    int32_t slot;              /* which request it begins, if any */
    int32_t items;             /* numbers in the list */
    int64_t bytes;             /* sent to each; who receives takes what comes */
    const int64_t *list;       /* WAIT: the slots; REDUCE_SCATTER, SCATTERV, ALLTOALLV: bytes for each member */
};

/* How long a call and the time before it took, added up over all times. */
struct cost {
    uint64_t times;
    double bytes;
    double cpu, gap;           /* since the call before: processor's time, clock's time */
    double inside;             /* the call */
};

/* sequence.c: the calls in their order, with what repeats written as loops. */
void sequence_add(const struct call *c, const struct cost *what);
void sequence_write(FILE *f);

/* capture.c */
const char *kind_name(int kind);

#endif
