/* How the functions that stand before MPI's own tell what was called. Each call is
 *
 *     struct span s = enter();
 *     the call itself
 *     note_…(&s, …)
 *
 * and each note ends the span. */
#ifndef GODWIT_CAPTURE_MPI_H
#define GODWIT_CAPTURE_MPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct span {
    bool counts; /* recording is on, and this is no call that MPI makes itself */
    double from, cpu;
};

struct span enter(void);
void note_nothing(struct span *s); /* time went by */
void note_onesided(struct span *s, int64_t there, int64_t back, int target, MPI_Win win); /* no skeleton will do this */
void note_send(struct span *s, int kind, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *begun);
void note_recv(struct span *s, int kind, int peer, int tag, MPI_Comm comm, MPI_Request *begun);
void note_found(struct span *s, MPI_Message message, int from, int tag, MPI_Comm comm);
void note_found_recv(struct span *s, int kind, MPI_Message message, MPI_Request *begun);
void note_sendrecv(struct span *s, int count, MPI_Datatype type, int to, int tag, int from, int tag2, MPI_Comm comm);
void note_prepared(struct span *s, int kind, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request made);
void note_started(struct span *s, int n, const MPI_Request *started);
void note_done(struct span *s, int n, const MPI_Request *done);
void note_freed(struct span *s, MPI_Request freed);
void note_collective(struct span *s, int kind, MPI_Comm comm, int root, int64_t bytes, const int64_t *list, int items, MPI_Request *begun);
void forget_comm(MPI_Comm comm);

int64_t length_of(int count, MPI_Datatype type);
int comm_size(MPI_Comm comm);
int comm_rank(MPI_Comm comm);

void capture_begin(void);
void capture_write(const char *how);

#endif
