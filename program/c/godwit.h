/*
 * What a program that Godwit runs can report, and see. Every call may be made at any time by any
 * thread; none waits for anybody, and none fails: without Godwit they do nothing.
 *
 * From Fortran they are called through ISO_C_BINDING: numbers are passed by value, texts end with
 * C_NULL_CHAR. docs/guides/report.md has an example, docs/program-protocol.md what lies below.
 */
#ifndef GODWIT_H
#define GODWIT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 if somebody listens to what this process reports, else 0. Of the ranks of an MPI program only
 * rank 0 reports; the others can look. */
int godwit_has_agent(void);

/* So many steps of all are done. */
void godwit_set_steps(int64_t done, int64_t all);

/* So many more steps are done; godwit_set_steps has said how many there are. */
void godwit_add_steps(int64_t n);

/* A phase of that name begins. */
void godwit_begin_phase(const char *name);

/* The user of the job is to see a line. */
void godwit_send_message(const char *text);

/* 1 if the program is to save what it wants to keep and end, else 0. */
int godwit_stop_wanted(void);

/* 1, once for each checkpoint that is ordered or due: the program is to save itself. Else 0. */
int godwit_checkpoint_wanted(void);

/* The number of the last checkpoint that was ordered or due; 0: there was none. */
int64_t godwit_checkpoint_number(void);

/* How many processors the program has; 0: nobody has said. */
int godwit_size(void);

/* How many it could have, or is to keep, if that is to change: godwit_accept_size answers. Else 0. */
int godwit_offered_size(void);

/* So many of an offer it will use once they are granted (see godwit_size), or uses no more than so many from now on. */
void godwit_accept_size(int procs);

/* So many it wants to have: more may be offered, fewer are given back at once. */
void godwit_want_size(int procs);

#ifdef __cplusplus
}
#endif

#endif
