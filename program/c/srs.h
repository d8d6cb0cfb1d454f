/*
 * SRS: an MPI program saves the data that it registers when it is told to, ends, and is continued
 * on another number of processes, elsewhere. docs/guides/srs.md shows how; the calls are those of
 * the GrADS project's SRS. Without Godwit every call does nothing, at once, and succeeds.
 *
 * Calls marked "all" are made by all processes of MPI_COMM_WORLD, in the same order. What is wrong
 * is said on standard error, with the name of the array and its shapes, and ends the program as an
 * error of MPI does, unless SRS_Errors_return was called.
 *
 * From Fortran: the same names (see the end of this file), with the error last.
 */
#ifndef GODWIT_SRS_H
#define GODWIT_SRS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SRS_SUCCESS = 0, SRS_ERROR = 1 };

/* Types of elements. */
enum { SRS_BYTE = 1, SRS_INT, SRS_LONG, SRS_FLOAT, SRS_DOUBLE, SRS_COMPLEX, SRS_DOUBLE_COMPLEX };

/* Kinds of distributions. */
enum { SRS_BLOCK, SRS_CYCLIC, SRS_BLOCK_CYCLIC, SRS_GRID, SRS_REPLICATED, SRS_RANGES };

/* How an array lies on the processes, and in the memory of each. All kinds but SRS_GRID divide one
 * dimension: the first one in the order of C, the last one in that of Fortran, so that what a
 * process has of it lies together. SRS_GRID divides both dimensions of a matrix, as ScaLAPACK does. */
typedef struct {
	int64_t kind;
	int64_t block[2];      /* elements of a block: block[0] for SRS_BLOCK_CYCLIC, both for SRS_GRID */
	int64_t grid[2];       /* processes along both dimensions, for SRS_GRID */
	int64_t by_rows;       /* processes of the grid are numbered row by row; 0: column by column */
	int64_t fortran;       /* the first dimension is the one whose neighbours lie together; 0: the last one */
	int64_t leading;       /* elements from one line to the next in memory (ScaLAPACK's LLD); 0: no gap */
	int64_t count;         /* of ranges that this process has, for SRS_RANGES */
	const int64_t *ranges; /* start and length of each, in the order in which they lie in its memory */
} SRS_Distribution;

/* Process k of n has the elements from all*k/n up to all*(k+1)/n. */
SRS_Distribution SRS_Block(void);
SRS_Distribution SRS_Cyclic(void);
SRS_Distribution SRS_Block_cyclic(int64_t block);
/* A matrix of ScaLAPACK: blocks of mb x nb over rows x cols processes, numbered row by row as
 * Cblacs_gridinit(…, "Row", …) does, columns of lld elements. */
SRS_Distribution SRS_Grid(int64_t mb, int64_t nb, int64_t rows, int64_t cols, int64_t lld);
SRS_Distribution SRS_Replicated(void);
SRS_Distribution SRS_Ranges(int64_t count, const int64_t *start_and_length);

/* After MPI_Init; all. */
int SRS_Init(void);

/* Before MPI_Finalize; all. */
int SRS_Finish(void);

/* 1 if the program is continued and reads its data with SRS_Read, 0 if it starts. */
int SRS_Restart_Value(void);

/* 1 if the program is to end now: what is registered has been saved. Else 0; it may have been saved
 * too. Wherever the data are consistent, as between two iterations; all. Nothing is sent at most calls: all
 * processes agree now and then, so an order may take effect a call or two later. */
int SRS_Check_Stop(void);

/* Has an array saved by every checkpoint from now on: name, address of what this process has, type
 * of the elements, number of dimensions and global shape, distribution. A single number has 0
 * dimensions; NULL as distribution is replicated. All. */
int SRS_Register(const char *name, void *address, int type, int dimensions, const int64_t *shape,
		 const SRS_Distribution *distribution);

/* Fills what this process has of a registered array from the checkpoint. The old distribution is
 * known from there; if it is given it must be that. The new one is that of address; NULL: as
 * registered. */
int SRS_Read(const char *name, void *address, const SRS_Distribution *old, const SRS_Distribution *now);

/* Tells, before the first checkpoint, what is registered and how it lies; all. */
int SRS_StoreMap(void);

/* So many steps of all are done. */
int SRS_Progress(int64_t done, int64_t total);

/* The number of processes that the program could have, or is to keep, if that is to change, the same
 * on all; else 0. Of an offer of that kind SRS_Resize_Accept takes so many. */
int SRS_Resize_Value(void);
int SRS_Resize_Accept(int procs);

/* Errors are returned from now on, and do not end the program; the last one in words. */
void SRS_Errors_return(void);
const char *SRS_Error_Text(void);

/*
 * Fortran: character(*) name; integer*8 shape(*), dist(8) = kind, block 1 and 2, grid 1 and 2,
 * by_rows, leading, 0; arrays lie in the order of Fortran.
 *
 *   call SRS_Init(ierr); call SRS_Finish(ierr); call SRS_Restart_Value(flag); call SRS_Check_Stop(flag)
 *   call SRS_Register(name, a, type, dims, shape, dist, ierr); call SRS_Read(name, a, ierr)
 *   call SRS_StoreMap(ierr); call SRS_Progress(done, total, ierr) (integer*8); call SRS_Resize_Value(procs)
 */

#ifdef __cplusplus
}
#endif

#endif
